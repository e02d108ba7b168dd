/* SPDX-License-Identifier: MIT */
/** @file
 * Position information for Transformers on CPUs: includes every public header.
 *
 *   types.h         status, data types, tensor views, row ranges, version
 *   isa.h           instruction sets
 *
 *   angles.h        frequencies, cos/sin tables, positions
 *   rope_scaling.h  RoPE scaling: linear, NTK, YaRN, LongRoPE, Llama-3 ...
 *   rope.h          rotary embedding (RoPE)
 *   rope_config.h   parameters from config.json, GGUF, ggml
 *
 *   encoding.h      absolute encodings: sinusoids, grids, timesteps, Fourier features
 *   learned.h       learned tables; conditional encoding by convolution
 *
 *   mask.h          masks
 *   bias.h          relative biases: ALiBi, T5, KERPLE, Sandwich, Swin
 *   relative.h      query-dependent terms: Shaw, Transformer-XL, DeBERTa, FIRE, CoPE
 *   softmax.h       attention logits and softmax in one call
 *   attention.h     fused attention, split-KV
 *   step.h          a layer's step: RoPE, KV cache, attention
 *   sparse.h        sparse attention: indexer scores, top-k
 *   backward.h      gradients of softmax, biases and relative terms
 *
 *   analysis.h      analysis of encodings
 *
 * "B.14": docs/formulas.md. Order of arithmetic, error bounds: docs/numerics.md. Examples: docs/recipes.md,
 * docs/embedding.md. Rules for every call:
 *
 *   - Results are bit-identical on every instruction set and for any split of the work. Any NaN equals any NaN. (CPUs
 *     without FMA, big-endian CPUs: docs/numerics.md.)
 *   - Bad input returns a status (types.h) and writes nothing but the thread's posenc_last_error(). Pointers to new
 *     objects become NULL.
 *   - Memory-safe: no access outside the declared extents. Alignment: of the element. Any size may be 0, unless a call
 *     says otherwise.
 *   - Thread-safe: no allocation (except posenc_attention_reference), lock, thread or global state in calls on data; up
 *     to 64 KB of stack. Objects are immutable: threads may share them. posenc_*_free takes NULL.
 *   - Calls expect round to nearest and no flush to zero, and leave both alone.
 *   - Time does not depend on data, except for denormal numbers on some CPUs, and posenc_top_k.
 *   - Inputs and outputs must not overlap ("apart") unless a call allows it: checked for views. **Arrays must be as
 *     long as their counts say: not seen.**
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
