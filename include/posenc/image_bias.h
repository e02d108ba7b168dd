/* posenc/image_bias.h - biases by row and column of an image: Swin, MViTv2, SAM (FORMULAS C.20, C.21).
 *
 * Example: the bias of Swin's 7 x 7 windows, table[13 * 13][n_heads]; it serves every window as posenc_score_params'
 * bias
 *
 *     posenc_bias_table table = {table_data, 13 * 13, n_heads, n_heads, 1};
 *     posenc_view bias = posenc_view_dense(bias_data, POSENC_F32, 49, 49, n_heads, 1);
 *     posenc_status status = posenc_swin_bias(7, 7, &table, &bias);
 */
#ifndef POSENC_IMAGE_BIAS_H
#define POSENC_IMAGE_BIAS_H

#include <posenc/line.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Swin (arXiv 2103.14030) ----
 *
 * Windows of height * width tokens, row by row; each 1 .. 1024 (POSENC_ERR_SHAPE). The query at (y, x) and the key at
 * (v, u) take row (y - v + height - 1) (2 width - 1) + (x - u + width - 1) of a table of (2 height - 1)(2 width - 1)
 * rows. */

/* That row for every pair: index[query][key], height * width in a square; at most 2^30 of them (POSENC_ERR_SHAPE). */
POSENC_API posenc_status posenc_swin_index(int64_t height, int64_t width, int32_t *index);

/* The table's value for every pair: bias, f32 [n, n, table->n_heads, 1] with n = height * width, 1 .. 2^20 heads
 * (POSENC_ERR_N_HEADS). */
POSENC_API posenc_status posenc_swin_bias(int64_t height, int64_t width, const posenc_bias_table *table,
                                          const posenc_view *bias);

/* Swin v2 (arXiv 2111.09883) makes the table by a small network from log-spaced coordinates of each row:
 * coords[row][2], first vertical, sign(u) log2(|u| + 1) / 3 with u = 8 * offset / (trained - 1). trained_height and
 * trained_width: the window of training, 2 .. 1024 (POSENC_ERR_SHAPE); the window itself, if it was not changed. Within
 * 1 ulp. */
POSENC_API posenc_status posenc_swin_v2_coords(int64_t height, int64_t width, int64_t trained_height,
                                               int64_t trained_width, float *coords);

/* What follows the network: y = 16 / (1 + e^-x), within 1 ulp; what would be denormal is 0. x and y: [n], the same or
 * apart. */
POSENC_API posenc_status posenc_swin_v2_scale(const float *x, int64_t n, float *y);

/* ---- Decomposed relative positions (MViTv2, arXiv 2112.01526; SAM) ----
 *
 * To the score of query (y, x) and key (v, u) they add q . Rh[y][v] + q . Rw[x][u], q the unscaled query. */

/* The rows of one axis (get_rel_pos): rows, f32 [dim, n_k, n_q, 1], from a learned table, f32 [dim, n_table, 1, 1].
 * Query a and key b take row floor(a max(n_k/n_q, 1) + (n_k - 1 - b) max(n_q/n_k, 1)), exactly, of a table that is
 * first resized, linearly between the centres of its rows, to 2 max(n_q, n_k) - 1 rows where it has another length.
 * n_q, n_k, n_table: 1 .. 2^20. */
POSENC_API posenc_status posenc_decomposed_rows(const posenc_view *table, const posenc_view *rows);

/* scores = (scores + by_row[v]) + by_column[u] for key v * width + u: the products above, added in place. by_row:
 * [height, n_q, n_heads, n_batch], by_column: [width, n_q, n_heads, n_batch], scores: [height * width, n_q, n_heads,
 * n_batch], all f32. A row is one query of one head, as in softmax.h. */
POSENC_API posenc_status posenc_decomposed_add(const posenc_view *by_row, const posenc_view *by_column,
                                               const posenc_view *scores, posenc_rows rows);

#ifdef __cplusplus
}
#endif
#endif
