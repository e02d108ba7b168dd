/* SPDX-License-Identifier: MIT */
/* libggml-posenc.so: posenc as a ggml backend that works on host memory, beside ggml's own for the CPU. ggml hands it
 * the operations of ops.h and keeps the rest. */
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <omp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interface.h"
#include "ops.h"
#include "options.h"
#include "probe.h"
#include "stats.h"

/* Below this a second thread costs more than it saves; measured with libgomp's threads awake. */
#define MIN_ELEMENTS_PER_THREAD 16384

/* Words 0 and 3 of ROPE are unused by ggml and 0. FLASH_ATTN_EXT has two hints that leave the result as it is: the
 * precision of sums, and how many keys of a query are unmasked. */
static const operation operations[] = {
    {GGML_OP_ROPE, "ROPE", 0xfff6, 3, check_rope, check_rope_arguments, ggml_nelements, compute_rope},
    {GGML_OP_ROPE_BACK, "ROPE_BACK", 0xfff6, 3, check_rope, check_rope_arguments, ggml_nelements, compute_rope_back},
    {GGML_OP_SOFT_MAX, "SOFT_MAX", 0x3, 3, check_soft_max, NULL, ggml_nelements, compute_soft_max},
    {GGML_OP_DIAG_MASK_INF, "DIAG_MASK_INF", 0x1, 1, check_diag_mask_inf, NULL, ggml_nelements, compute_diag_mask_inf},
    {GGML_OP_FLASH_ATTN_EXT, "FLASH_ATTN_EXT", 0x1f, 5, check_flash_attn, NULL, work_of_flash_attn, compute_flash_attn},
};

#define N_OPERATIONS (sizeof operations / sizeof operations[0])

/* Operations whose arguments were found in the expected places when the plugin was loaded. */
static bool is_usable[N_OPERATIONS];

static bool has_only_known_arguments(const operation *found, const struct ggml_tensor *node) {
    for (int i = 0; i < OP_WORDS; i++)
        if (node->op_params[i] != 0 && !(found->known_words >> i & 1))
            return false;
    for (int i = found->n_sources; i < GGML_MAX_SRC; i++)
        if (node->src[i] != NULL)
            return false;
    return true;
}

/* NULL: the plugin does not have it. */
static const operation *operation_named(enum ggml_op op) {
    for (size_t i = 0; i < N_OPERATIONS; i++)
        if (operations[i].op == op)
            return &operations[i];
    return NULL;
}

/* The operation of a node; NULL if the plugin does not have it, or not with these arguments. */
static const operation *find_operation(const struct ggml_tensor *node) {
    const operation *found = operation_named(node->op);
    return found != NULL && is_usable[found - operations] && has_only_known_arguments(found, node) ? found : NULL;
}

/* Nodes that only look at memory in another way. */
static bool computes_nothing(const struct ggml_tensor *node) {
    switch (node->op) {
    case GGML_OP_NONE:
    case GGML_OP_RESHAPE:
    case GGML_OP_VIEW:
    case GGML_OP_PERMUTE:
    case GGML_OP_TRANSPOSE: return true;
    default: return ggml_is_empty(node);
    }
}

void log_error(const char *format, ...) {
    char line[320];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    log_line(line);
}

/* ---- Computing ---- */

/* OpenMP, because ggml's CPU backend uses it too: its threads, which wait for work between two nodes, do ours, where
 * threads of our own would have to take the cores from them. All of them or one: of a smaller team libgomp lets the
 * surplus threads end, and ggml would have to create them again. */
posenc_status run_parts(const backend_state *state, part_of_node part, const void *node, int64_t work) {
    int64_t worth = work / MIN_ELEMENTS_PER_THREAD;
    if (worth <= 1 || state->n_threads <= 1)
        return part(node, 0, 1);
    stats_team(worth < state->n_threads ? (int)worth : state->n_threads);
    int worst = POSENC_OK;
#pragma omp parallel num_threads(state->n_threads) reduction(max : worst)
    {
        int thread = omp_get_thread_num(), team = omp_get_num_threads(), n_parts = worth < team ? (int)worth : team;
        worst = thread < n_parts ? (int)part(node, thread, n_parts) : POSENC_OK;
    }
    return (posenc_status)worst;
}

/* Computes a node. Returns what is wrong with it, or NULL. */
static const char *compute_node(backend_state *state, struct ggml_tensor *node) {
    const operation *found = find_operation(node);
    if (found == NULL)
        return "this backend does not have the operation, or not with these arguments";
    double begin = stats_now();
    posenc_status status = found->check(node);
    if (status == POSENC_OK)
        status = found->compute(state, node);
    stats_computed((size_t)(found - operations), node, begin);
    return status == POSENC_OK ? NULL : posenc_status_string(status);
}

static enum ggml_status compute_graph(ggml_backend_t backend, struct ggml_cgraph *graph) {
    stats_split();
    probe_end();
    for (int i = 0; i < ggml_graph_n_nodes(graph); i++) {
        struct ggml_tensor *node = ggml_graph_node(graph, i);
        if (computes_nothing(node) || !is_wanted(node))
            continue;
        const char *problem = compute_node(backend->context, node);
        if (problem != NULL) {
            log_error("posenc: %s '%s': %s\n", ggml_op_name(node->op), node->name, problem);
            return GGML_STATUS_FAILED;
        }
    }
    return GGML_STATUS_SUCCESS;
}

/* ---- A backend ---- */

char *scratch_of(backend_state *state, size_t needed) {
    if (needed > state->scratch_size) {
        free(state->scratch);
        state->scratch = aligned_alloc(64, whole_lines(needed));
        state->scratch_size = state->scratch != NULL ? needed : 0;
    }
    return state->scratch;
}

static const char *backend_name(ggml_backend_t backend) {
    (void)backend;
    return "POSENC";
}

static void close_backend(ggml_backend_t backend) {
    backend_state *state = backend->context;
    free_ropes(state);
    free(state->scratch);
    free(state);
    free(backend);
}

static void set_n_threads(ggml_backend_t backend, int n_threads) {
    ((backend_state *)backend->context)->n_threads = n_threads > 1 ? n_threads : 1;
}

static ggml_backend_t open_backend(ggml_backend_dev_t device, const char *parameters) {
    static ggml_guid guid = {'p', 'o', 's', 'e', 'n', 'c', '-', 'g', 'g', 'm', 'l', '-', '0', '0', '0', '1'};
    (void)parameters;
    ggml_backend_t backend = calloc(1, sizeof *backend);
    backend_state *state = calloc(1, sizeof *state);
    if (backend == NULL || state == NULL) {
        free(backend);
        free(state);
        return NULL;
    }
    state->n_threads = 1;
    backend->guid = &guid;
    backend->iface.get_name = backend_name;
    backend->iface.free = close_backend;
    backend->iface.graph_compute = compute_graph;
    backend->device = device;
    backend->context = state;
    probe_expect();
    return backend;
}

/* ---- The device ---- */

static const char *device_name(ggml_backend_dev_t device) {
    (void)device;
    return "POSENC";
}

static const char *device_description(ggml_backend_dev_t device) {
    (void)device;
    return "posenc: position information on the CPU";
}

/* Memory of ggml's device for the CPU, which this one works on. */
static void device_memory(ggml_backend_dev_t device, size_t *free_bytes, size_t *total) {
    (void)device;
    ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    *free_bytes = *total = 0;
    if (cpu != NULL)
        ggml_backend_dev_memory(cpu, free_bytes, total);
}

static enum ggml_backend_dev_type device_type(ggml_backend_dev_t device) {
    (void)device;
    return GGML_BACKEND_DEVICE_TYPE_ACCEL;
}

static void device_properties(ggml_backend_dev_t device, struct ggml_backend_dev_props *properties) {
    *properties = (struct ggml_backend_dev_props){
        .name = device_name(device),
        .description = device_description(device),
        .type = device_type(device),
        .caps = {.buffer_from_host_ptr = true},
    };
}

static ggml_backend_buffer_type_t device_buffer_type(ggml_backend_dev_t device) {
    (void)device;
    return ggml_backend_cpu_buffer_type();
}

static ggml_backend_buffer_t buffer_from_pointer(ggml_backend_dev_t device, void *memory, size_t size,
                                                 size_t max_tensor_size) {
    (void)device;
    (void)max_tensor_size;
    return ggml_backend_cpu_buffer_from_ptr(memory, size);
}

/* Why a node of a known operation stays with ggml. */
static decline why_declined(const operation *found, const struct ggml_tensor *node) {
    if (!is_usable[found - operations] || !has_only_known_arguments(found, node))
        return UNKNOWN_ARGUMENTS;
    if (found->work(node) < options.min_elements)
        return TOO_SMALL;
    /* In this order: a rope's arguments take microseconds, and a lone token's are most that ggml asks about. */
    posenc_status status = found->check(node);
    if (status == POSENC_OK && found->check_arguments != NULL)
        status = found->check_arguments(node);
    if (status != POSENC_OK)
        return status == POSENC_ERR_DTYPE ? TYPES : OTHER_SHAPE;
    return node->op == GGML_OP_FLASH_ATTN_EXT && probe_asks(node) ? PROBE : TAKEN;
}

static bool device_takes(ggml_backend_dev_t device, const struct ggml_tensor *node) {
    (void)device;
    if (computes_nothing(node))
        return true;
    const operation *found = operation_named(node->op);
    if (found == NULL)
        return false;
    decline why = why_declined(found, node);
    stats_asked((size_t)(found - operations), why);
    return why == TAKEN;
}

static bool device_reads_buffer(ggml_backend_dev_t device, ggml_backend_buffer_type_t type) {
    (void)device;
    return ggml_backend_buft_is_host(type);
}

/* ---- Interface that ggml calls ---- */

static const char *reg_name(ggml_backend_reg_t reg) {
    (void)reg;
    return "POSENC";
}

static size_t reg_n_devices(ggml_backend_reg_t reg) {
    (void)reg;
    return 1;
}

static ggml_backend_dev_t reg_device(ggml_backend_reg_t reg, size_t index);

static void *reg_function(ggml_backend_reg_t reg, const char *name) {
    (void)reg;
    return strcmp(name, "ggml_backend_set_n_threads") == 0 ? (void *)(uintptr_t)set_n_threads : NULL;
}

static struct ggml_backend_reg registration = {
    .api_version = POSENC_GGML_INTERFACE_VERSION,
    .iface =
        {
            .get_name = reg_name,
            .get_device_count = reg_n_devices,
            .get_device = reg_device,
            .get_proc_address = reg_function,
        },
};

static struct ggml_backend_device the_device = {
    .iface =
        {
            .get_name = device_name,
            .get_description = device_description,
            .get_memory = device_memory,
            .get_type = device_type,
            .get_props = device_properties,
            .init_backend = open_backend,
            .get_buffer_type = device_buffer_type,
            .buffer_from_host_ptr = buffer_from_pointer,
            .supports_op = device_takes,
            .supports_buft = device_reads_buffer,
        },
    .reg = &registration,
};

static ggml_backend_dev_t reg_device(ggml_backend_reg_t reg, size_t index) {
    (void)reg;
    return index == 0 ? &the_device : NULL;
}

/* ggml's own backends are registered before any that is loaded. 0: none is. */
static int interface_of_host(void) {
    return ggml_backend_reg_count() > 0 ? ggml_backend_reg_get(0)->api_version : 0;
}

static bool tensors_are_alike(void) {
    static const size_t object_header = 32; /* what ggml keeps before each tensor */
    return ggml_tensor_overhead() == object_header + sizeof(struct ggml_tensor);
}

static bool names_are_alike(void) {
    for (size_t i = 0; i < N_OPERATIONS; i++)
        if (strcmp(ggml_op_name(operations[i].op), operations[i].name) != 0)
            return false;
    return true;
}

/* ggml refuses another interface version too, but does not say what to do. It renumbers its operations and grows its
 * tensors without changing that version, so both are compared with the headers that this file was compiled with. */
static bool host_is_known(void) {
    int interface = interface_of_host();
    char difference[96] = "";
    if (interface != 0 && interface != POSENC_GGML_INTERFACE_VERSION)
        snprintf(difference, sizeof difference, "has backend interface %d and the plugin was built for %d", interface,
                 POSENC_GGML_INTERFACE_VERSION);
    else if (!tensors_are_alike())
        snprintf(difference, sizeof difference, "lays out tensors otherwise than the headers of the plugin");
    else if (!names_are_alike())
        snprintf(difference, sizeof difference, "numbers operations otherwise than the headers of the plugin");
    else
        return true;
    log_error("posenc: ggml %s %s: build the plugin for it, with -Dggml_source=FOLDER of its source or with its "
              "installed headers\n",
              ggml_version(), difference);
    return false;
}

static void find_usable_operations(void) {
    for (size_t i = 0; i < N_OPERATIONS; i++) {
        is_usable[i] = arguments_are_known(operations[i].op);
        if (!is_usable[i])
            log_error("posenc: ggml %s keeps the arguments of %s in other places than the plugin knows: "
                      "ggml computes it; a newer posenc may know them\n",
                      ggml_version(), operations[i].name);
    }
}

static void begin_stats(void) {
    const char *names[N_OPERATIONS];
    for (size_t i = 0; i < N_OPERATIONS; i++)
        names[i] = operations[i].name;
    stats_begin(options.has_stats, names, N_OPERATIONS);
}

/* The one symbol that ggml looks for. NULL makes it go on without this backend. */
__attribute__((visibility("default"))) ggml_backend_reg_t ggml_backend_init(void);

ggml_backend_reg_t ggml_backend_init(void) {
    read_options();
    begin_stats();
    if (!host_is_known())
        return NULL;
    find_usable_operations();
    return &registration;
}
