/* Every kernel of kernels.def on every tier, from L1 to DRAM. A kernel without a race does not link. */
#include <stdio.h>

#include "kernel_race.h"
#include "view.h"

/* Memory that one call touches, at most. */
static const size_t working_sets[] = {4 << 10, 16 << 10, 256 << 10, 4 << 20, 128 << 20};

/* The same with a 16-bit type: in DRAM they are all alike. */
#define MOST_WITH_16_BITS ((size_t)4 << 20)

#define KERNEL(name, type)                                                                                             \
    void run_##name(bench_job *base) {                                                                                 \
        base->kernels->name(&((kernel_job *)base)->args.name);                                                         \
    }
#include "kernels/kernels.def"
#undef KERNEL

kernel_job *kernel_start(bench_job *base, double elements, double bytes) {
    kernel_job *job = (kernel_job *)base;
    job->shape = *(const kernel_shape *)base->shape;
    job->n = job->shape.n;
    base->elements = elements * (double)job->n;
    base->bytes = bytes * (double)job->n;
    return job;
}

static size_t bytes_of_unit(const kernel_race *k, const kernel_shape *shape) {
    int64_t element = posenc_dtype_size(shape->x_type) + (shape->in_place ? 0 : posenc_dtype_size(shape->y_type));
    return k->bytes_per_unit + k->elements_per_unit * (size_t)element;
}

/* The largest power of two that fits, so that names are round. */
static size_t units_in(size_t bytes, size_t bytes_per_unit) {
    size_t n = 1;
    while (2 * n * bytes_per_unit <= bytes)
        n *= 2;
    return n;
}

static int is_all_f32(const kernel_shape *shape) {
    return shape->x_type == POSENC_F32 && shape->y_type == POSENC_F32;
}

/* On every tier; the types are named unless they are float32. */
static void register_shape(const char *kernel, const kernel_race *k, const kernel_shape *shape) {
    int is_f32 = is_all_f32(shape);
    posenc_isa_tier tier;
    for (int t = 0; (tier = bench_tier(t)) != POSENC_ISA_COUNT; t++) {
        char name[128];
        snprintf(name, sizeof name, "%s/%s/%s%s%s:%zu", kernel, posenc_isa_name(tier),
                 is_f32 ? "" : bench_type_name(shape->x_type, shape->y_type), is_f32 ? "" : "/", k->unit, shape->n);
        bench_register(&k->race, shape, tier, name);
    }
}

static void register_kernel(const char *kernel, const kernel_race *k) {
    static const kernel_types f32 = {POSENC_F32, POSENC_F32};
    const kernel_types *types = k->types != NULL ? k->types : &f32;
    for (size_t i = 0; i < (k->types != NULL ? k->n_types : 1); i++) {
        kernel_shape shape = {0, types[i].x, types[i].y, !k->apart && types[i].x == types[i].y};
        for (size_t w = 0; w < sizeof working_sets / sizeof working_sets[0]; w++) {
            if (working_sets[w] > MOST_WITH_16_BITS && !is_all_f32(&shape))
                continue;
            shape.n = units_in(working_sets[w], bytes_of_unit(k, &shape));
            register_shape(kernel, k, &shape);
        }
    }
}

void bench_register_kernels(void) {
#define KERNEL(name, type) register_kernel(#name, &race_##name);
#include "kernels/kernels.def"
#undef KERNEL
}
