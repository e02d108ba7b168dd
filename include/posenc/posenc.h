/* SPDX-License-Identifier: MIT */
/** @file
 * Position for Transformers on CPUs: every public header.
 *
 *   types.h         status, data types, tensor views, row ranges, version
 *   isa.h           instruction sets
 *
 *   angles.h        frequencies, cos/sin tables, positions
 *   rope_scaling.h  linear, NTK, YaRN, LongRoPE, Llama-3 ...
 *   rope.h          rotary embedding (RoPE)
 *   rope_config.h   parameters from config.json, GGUF, ggml
 *
 *   encoding.h      absolute encodings: sinusoids, grids, timesteps, Fourier
 *   learned.h       learned tables, convolutions
 *
 *   mask.h          masks
 *   bias.h          ALiBi, T5, KERPLE, Sandwich, Swin
 *   relative.h      Shaw, Transformer-XL, DeBERTa, FIRE, CoPE
 *   softmax.h       attention logits and softmax
 *   attention.h     fused attention, split-KV
 *   step.h          a layer's step: RoPE, KV cache, attention
 *   sparse.h        sparse attention: indexer scores, top-k
 *   backward.h      gradients
 *
 *   analysis.h      of encodings
 *
 * "B.14": docs/formulas.md. Order of arithmetic, error bounds: docs/numerics.md. Examples: docs/recipes.md,
 * docs/embedding.md. Rules for every call:
 *
 *   - Results are bit-identical on every instruction set and for any split of the work. NaNs are alike. (CPUs
 *     without FMA, big-endian CPUs: docs/numerics.md.)
 *   - Bad input returns a status (types.h) and writes nothing but the thread's posenc_last_error(). Pointers to new
 *     objects become NULL.
 *   - Memory-safe: no access outside the declared extents. Alignment: of the element. Any size may be 0, unless a call
 *     says otherwise.
 *   - Thread-safe: no allocation (except posenc_attention_reference), lock, thread or global state in calls on data; up
 *     to 64 KB of stack. Objects are immutable. posenc_*_free takes NULL.
 *   - Calls expect round to nearest without flush to zero.
 *   - Time depends on data only with denormals on some CPUs, and in posenc_top_k.
 *   - Inputs, outputs and scratch must not overlap ("apart") unless a call allows it: checked for views. **Not
 *     seen: arrays shorter than their counts; positions, lengths, pages, keys and masks of other tokens; ropes, tables,
 *     partitions and tensors of another call; work left out or done twice; memory shared by threads.**
 */
#ifndef POSENC_POSENC_H
#define POSENC_POSENC_H

#include <posenc/analysis.h>
#include <posenc/angles.h>
#include <posenc/attention.h>
#include <posenc/backward.h>
#include <posenc/bias.h>
#include <posenc/encoding.h>
#include <posenc/isa.h>
#include <posenc/learned.h>
#include <posenc/mask.h>
#include <posenc/relative.h>
#include <posenc/rope.h>
#include <posenc/rope_config.h>
#include <posenc/rope_scaling.h>
#include <posenc/softmax.h>
#include <posenc/sparse.h>
#include <posenc/step.h>
#include <posenc/types.h>

#endif
