/* posenc/posenc.h - position information for Transformers on CPUs; includes every public header.
 *
 *   types.h             status codes, data types, tensor views, row ranges
 *   version.h           the version, at compile time and at run time
 *   isa.h               which instruction set runs, and how to force one
 *
 *   angles.h            frequency tables; cos and sin rows, exact at any position
 *   position_ids.h      arrays of positions
 *   rope_scaling.h      rotary frequencies: linear, NTK, YaRN, LongRoPE, Llama-3 ...
 *   rope.h              rotary embedding
 *   rope_config.h       its parameters, from what models publish
 *
 *   encoding.h          absolute encodings: rows written, added, gated, side by side, summed
 *   sinusoidal.h        sinusoids, timestep embedding, grids
 *   fourier.h           random Fourier features
 *   learned.h           learned tables: look-up, gradient, resizing
 *   integer.h           integers, binary and Gray code, Gaussian bumps
 *   random.h            seeded initial values
 *   conv.h              conditional encoding by depth-wise convolution
 *
 *   mask.h              which keys a query sees
 *   line.h              biases by offset, one float per offset and head; T5's buckets
 *   alibi.h             ALiBi: slopes, line and rows
 *   line_functions.h    lines from functions of the offset: KERPLE, Sandwich, cosines
 *   image_bias.h        Swin's bias, decomposed relative positions
 *   relative.h          Shaw, Transformer-XL, DeBERTa: products with a relative table
 *   relative_grad.h     their gradients
 *   fire.h              FIRE: a function of the relative distance
 *   cope.h              CoPE: positions that count gates
 *   softmax.h           scale, soft cap, every bias and mask, sinks and softmax in one call
 *   softmax_backward.h  gradients of scores, biases and their parameters
 *   attention.h         attention, fused; and as a plain reference
 *
 *   analysis.h          similarities, frequencies and costs of encodings
 *
 * A header stands behind those that it builds on. "FORMULAS B.14" and the like is a section of docs/formulas.md in the
 * source tree: the mathematics in full, with its sources.
 *
 * Rules that hold for every call:
 *
 *   - The result has the same bits on every instruction set and however the work is split: by rows,
 *     threads, batch or position. Any NaN counts as equal to any NaN. (CPUs without fused multiply-add and big-endian
 *     ones: but for rare last places of cosines and sines, docs/numerics.md.)
 *   - Bad input returns a status other than POSENC_OK and nothing is written; the pointer to an object that was
 *     to be made becomes NULL.
 *   - Nothing outside the declared extents is read or written. Pointers and strides need the
 *     alignment of their element and no more. Any size may be 0, unless a call says otherwise.
 *   - Calls on data allocate nothing (but for posenc_attention_reference, which says so), lock nothing, start no
 *     thread and leave rounding and flushing as they are; exception flags may be raised. They take up to 64 KB of
 *     stack. They expect the modes that C programs start with: round to nearest, no flush to zero.
 *   - No data is slower than other data, but for denormal numbers in input or result on CPUs that take a detour for
 *     them; a thread that has them flushed is spared it, and gives up the same bits for such numbers.
 *   - Input and output tensors may overlap only where a call says so, and that is checked, but between the tasks of
 *     one call. What is no tensor (positions, slopes, lines, bias tables, cos and sin rows), and masks of bytes, must
 *     lie outside them, and be as long as the call says: neither is checked.
 *   - Set-up objects are immutable: any number of threads may share one.
 */
#ifndef POSENC_POSENC_H
#define POSENC_POSENC_H

#include <posenc/alibi.h>
#include <posenc/analysis.h>
#include <posenc/angles.h>
#include <posenc/attention.h>
#include <posenc/conv.h>
#include <posenc/cope.h>
#include <posenc/encoding.h>
#include <posenc/fire.h>
#include <posenc/fourier.h>
#include <posenc/image_bias.h>
#include <posenc/integer.h>
#include <posenc/isa.h>
#include <posenc/learned.h>
#include <posenc/line.h>
#include <posenc/line_functions.h>
#include <posenc/mask.h>
#include <posenc/position_ids.h>
#include <posenc/random.h>
#include <posenc/relative.h>
#include <posenc/relative_grad.h>
#include <posenc/rope.h>
#include <posenc/rope_config.h>
#include <posenc/rope_scaling.h>
#include <posenc/sinusoidal.h>
#include <posenc/softmax.h>
#include <posenc/softmax_backward.h>
#include <posenc/types.h>
#include <posenc/version.h>

#endif
