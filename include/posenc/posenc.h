/* SPDX-License-Identifier: MIT */
/** @file
 * Position information for Transformers on CPUs; includes every public header.
 *
 *   types.h         status codes, data types, tensor views, ranges for threads, the version
 *   isa.h           which instruction set runs, and how to force one
 *
 *   angles.h        frequency tables; cos/sin tables, right at any position; arrays of positions
 *   rope_scaling.h  rotary frequencies: linear, NTK, YaRN, LongRoPE, Llama-3 ...
 *   rope.h          rotary embedding (RoPE)
 *   rope_config.h   RoPE parameters from what models publish
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
 * A header stands behind those that it builds on. "FORMULAS B.14" and the like is a section of docs/formulas.md in the
 * source tree: the mathematics in full, with its sources.
 *
 * Rules that hold for every call:
 *
 *   - The result has the same bits on every instruction set and however the work is split: by rows,
 *     threads, batch or position. Any NaN counts as equal to any NaN. (CPUs without fused multiply-add: but for rare
 *     last places of cosines and sines; big-endian ones differ in more, docs/numerics.md.)
 *   - Bad input returns a status other than POSENC_OK and nothing is written; the pointer to an object that was
 *     to be made becomes NULL.
 *   - Nothing outside the declared extents is read or written. Pointers and strides need the
 *     alignment of their element and no more. Any size may be 0, unless a call says otherwise.
 *   - Calls on data allocate nothing (but for posenc_attention_reference, which says so), lock nothing, start no
 *     thread and leave rounding and flushing as they are; exception flags may be raised. They take up to 64 KB of
 *     stack. They expect the modes that C programs start with: round to nearest, no flush to zero.
 *   - No data is slower than other data, but for denormal numbers in input or result on CPUs that take a detour for
 *     them; a thread that has them flushed is spared it, and gives up the same bits for such numbers. How long
 *     posenc_top_k takes does depend on the scores; it says how much.
 *   - Input and output tensors may overlap only where a call says so. That is checked, except between the tensors of
 *     one posenc_rope_apply_tensors. What is no tensor (positions, slopes, relative biases, bias tables, cos and sin
 *     rows), and masks of bytes, must lie outside them, and be as long as the call says: neither is checked.
 *   - Set-up objects are immutable: any number of threads may share one.
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
