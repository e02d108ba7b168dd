/* SPDX-License-Identifier: MIT */
/* A host that loads the library at run time, from the path it is given: the constructor has chosen a tier. */
#include <dlfcn.h>
#include <stdio.h>

#include <posenc/isa.h>

int main(int argc, char **argv) {
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL) {
        fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage: dlopen LIBRARY");
        return 2;
    }
    posenc_isa_tier (*isa)(void);
    int (*is_supported)(posenc_isa_tier);
    *(void **)&isa = dlsym(library, "posenc_isa");
    *(void **)&is_supported = dlsym(library, "posenc_isa_supported");
    if (isa == NULL || is_supported == NULL)
        return 1;
    int best = POSENC_ISA_SCALAR;
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++)
        if (is_supported((posenc_isa_tier)tier))
            best = tier;
    int is_best = (int)isa() == best;
    return dlclose(library) == 0 && is_best ? 0 : 1;
}
