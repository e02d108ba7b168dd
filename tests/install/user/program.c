/* SPDX-License-Identifier: MIT */
/* A user's program, in C11 and in C++17: the best tier of this CPU must be in use, and a rotation must be right. */
#include <posenc/posenc.h>

#include <math.h>
#include <stdio.h>

static int best_tier(void) {
    int best = POSENC_ISA_SCALAR;
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++)
        if (posenc_isa_supported((posenc_isa_tier)tier))
            best = tier; /* the tiers of one architecture are in rising order */
    return best;
}

int main(void) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = params.n_rot = 2;
    posenc_rope *rope;
    if (posenc_rope_create(&params, &rope) != POSENC_OK)
        return 1;
    float x[2] = {1.0f, 0.0f};
    int32_t position = 3;
    posenc_view view = posenc_view_dense(x, POSENC_F32, 2, 1, 1, 1);
    posenc_status status = posenc_rope_apply(rope, &view, &position, &view, POSENC_FORWARD, posenc_range_all());
    posenc_rope_free(rope);

    printf("posenc %s, %s in use, %s is the best\n", POSENC_VERSION, posenc_isa_name(posenc_isa()),
           posenc_isa_name((posenc_isa_tier)best_tier()));
    int is_right = status == POSENC_OK && fabs(x[0] - cos(3.0)) < 1e-7 && fabs(x[1] - sin(3.0)) < 1e-7;
    return is_right && (int)posenc_isa() == best_tier() ? 0 : 1;
}
