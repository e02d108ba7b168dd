/* SPDX-License-Identifier: MIT */
/* A program that links the static library and knows the public headers alone: the constructor must have come along. */
#include <posenc/posenc.h>

#include <stdio.h>

int main(void) {
    int best = POSENC_ISA_SCALAR;
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++)
        if (posenc_isa_supported((posenc_isa_tier)tier))
            best = tier; /* the tiers of one architecture are in rising order */
    printf("%s is in use, %s is the best\n", posenc_isa_name(posenc_isa()), posenc_isa_name((posenc_isa_tier)best));
    return (int)posenc_isa() == best ? 0 : 1;
}
