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
 * A header is listed after the headers that it includes. "FORMULAS B.14" or "B.14" is a section of docs/formulas.md in
 * the source tree. docs/numerics.md has the order of arithmetic and error bounds. docs/embedding.md is a tutorial.
 *
 * Rules for every call:
 *
 *   - Results are bit-identical on every instruction set and for any split of the work by rows, threads, batch or
 *     position. Any NaN equals any NaN. (Exceptions: CPUs without FMA, big-endian CPUs; docs/numerics.md#other-modes.)
 *   - Bad input returns a status other than POSENC_OK and writes nothing. The pointer to a new object becomes NULL.
 *   - Memory-safe: no access outside the declared extents. Pointers and strides need the alignment of their element
 *     only. Any size may be 0, unless a call says otherwise.
 *   - Thread-safe: no allocation (except posenc_attention_reference), lock, thread or global state in calls on data;
 *     up to 64 KB of stack. Objects are immutable; threads may share them.
 *   - The floating-point environment is left alone; exception flags may be raised. Calls expect round to nearest and no
 *     flush to zero, as C programs start.
 *   - Time does not depend on data, except for denormal numbers in input or result on some CPUs, and posenc_top_k.
 *   - Inputs and outputs overlap only where a call allows it. This is checked, except between the tensors of one
 *     posenc_rope_apply_tensors. Arrays that are no views (positions, slopes, relative biases, bias tables, cos/sin
 *     tables) and byte masks must be outside them and as long as the call says; neither is checked.
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
