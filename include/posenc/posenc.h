/* SPDX-License-Identifier: MIT */
/** @file
 * Position information for Transformers on CPUs: includes every public header.
 *
 *   types.h         status codes, data types, tensor views, ranges for threads, the version
 *   isa.h           instruction sets: which tier runs, and how to force one
 *
 *   angles.h        frequency tables; cos/sin tables, exact at any position; arrays of positions
 *   rope_scaling.h  rotary frequencies: linear, NTK, YaRN, LongRoPE, Llama-3 ...
 *   rope.h          rotary embedding (RoPE)
 *   rope_config.h   RoPE parameters from config.json, GGUF and ggml
 *
 *   encoding.h      absolute encodings: sinusoidal, grids, timesteps, Fourier, integer, binary, Gray; added or written
 *   learned.h       learned tables: look-up, gradients, resizing, initial values; conditional encoding by convolution
 *
 *   mask.h          masks: causal, sliding window, chunked, padding
 *   bias.h          relative biases: ALiBi, T5, KERPLE, Sandwich, Swin
 *   relative.h      query-dependent terms: Shaw, Transformer-XL, DeBERTa, FIRE, CoPE
 *   softmax.h       attention logits: scale, soft cap, bias, mask, sinks and softmax in one call
 *   attention.h     fused attention: prefill, decode, KV caches, split-KV; and a plain reference
 *   sparse.h        sparse attention: scores of an indexer, and the keys of the k largest
 *   backward.h      gradients of softmax, biases, relative terms and their parameters
 *
 *   analysis.h      similarities, frequencies and costs of encodings
 *
 * Headers follow those that they include. "FORMULAS B.14" or "B.14": docs/formulas.md in the source tree. Order of
 * arithmetic, error bounds: docs/numerics.md. Longer examples: docs/recipes.md, docs/embedding.md.
 *
 * Rules for every call:
 *
 *   - Results are bit-identical on every instruction set and for any split of the work. Any NaN equals any NaN. (CPUs
 *     without FMA, big-endian CPUs: docs/numerics.md#other-modes.)
 *   - Bad input returns a status other than POSENC_OK and writes nothing. Pointers to new objects become NULL.
 *   - Memory-safe: no access outside the declared extents. Alignment: of the element. Any size may be 0, unless a call
 *     says otherwise.
 *   - Thread-safe: no allocation (except posenc_attention_reference), lock, thread or global state in calls on data; up
 *     to 64 KB of stack. Objects are immutable, so threads may share them. posenc_*_free takes NULL; queries of a NULL
 *     object return 0.
 *   - Calls expect round to nearest and no flush to zero, and leave both alone. Exception flags may be raised.
 *   - Time does not depend on data, except for denormal numbers on some CPUs, and posenc_top_k.
 *   - Inputs and outputs overlap only where a call allows it ("apart": no overlap). This is checked for
 *     views. Other arrays (positions, slopes, relative biases, tables, byte masks) must be apart and long enough;
 *     neither is checked.
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
#include <posenc/types.h>

#endif
