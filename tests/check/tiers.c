/* SPDX-License-Identifier: MIT */
#include "tiers.h"

#include <stdlib.h>
#include <string.h>

posenc_isa_tier test_tier_by_name(const char *name) {
    int tier = 0;
    while (tier < POSENC_ISA_COUNT && strcmp(name, posenc_isa_name((posenc_isa_tier)tier)) != 0)
        tier++;
    return (posenc_isa_tier)tier;
}

/* 1 if the comma-separated list has the name. */
static int list_has(const char *list, const char *name) {
    size_t length = strlen(name);
    while (list != NULL) {
        if (strncmp(list, name, length) == 0 && (list[length] == ',' || list[length] == '\0'))
            return 1;
        list = strchr(list, ',');
        list = list != NULL ? list + 1 : NULL;
    }
    return 0;
}

int test_tier_required(posenc_isa_tier tier) {
    return list_has(getenv("POSENC_TEST_REQUIRE"), posenc_isa_name(tier));
}
