/* SPDX-License-Identifier: MIT */
/* The structures behind a loadable ggml backend as far as this plugin goes, for ggml's installed headers, which name
 * them but do not lay them out. Members have the names that ggml's own sources call them by, so that the header of a
 * checkout can take the place of this one. Members that the plugin leaves to ggml are counted, not named. */
#ifndef POSENC_GGML_LAYOUT_H
#define POSENC_GGML_LAYOUT_H

#include <ggml-backend.h>
#include <ggml.h>

typedef void (*unused_member)(void);

struct ggml_backend_reg {
    int api_version;
    struct {
        const char *(*get_name)(ggml_backend_reg_t);
        size_t (*get_device_count)(ggml_backend_reg_t);
        ggml_backend_dev_t (*get_device)(ggml_backend_reg_t, size_t);
        void *(*get_proc_address)(ggml_backend_reg_t, const char *);
    } iface;
    void *context;
};

struct ggml_backend_device {
    struct {
        const char *(*get_name)(ggml_backend_dev_t);
        const char *(*get_description)(ggml_backend_dev_t);
        void (*get_memory)(ggml_backend_dev_t, size_t *, size_t *);
        enum ggml_backend_dev_type (*get_type)(ggml_backend_dev_t);
        void (*get_props)(ggml_backend_dev_t, struct ggml_backend_dev_props *);
        ggml_backend_t (*init_backend)(ggml_backend_dev_t, const char *);
        ggml_backend_buffer_type_t (*get_buffer_type)(ggml_backend_dev_t);
        unused_member host_buffer_type;
        ggml_backend_buffer_t (*buffer_from_host_ptr)(ggml_backend_dev_t, void *, size_t, size_t);
        bool (*supports_op)(ggml_backend_dev_t, const struct ggml_tensor *);
        bool (*supports_buft)(ggml_backend_dev_t, ggml_backend_buffer_type_t);
        unused_member offload_and_events[4];
    } iface;
    ggml_backend_reg_t reg;
    void *context;
};

struct ggml_backend {
    ggml_guid_t guid;
    struct {
        const char *(*get_name)(ggml_backend_t);
        void (*free)(ggml_backend_t);
        unused_member copies_and_plans[10];
        enum ggml_status (*graph_compute)(ggml_backend_t, struct ggml_cgraph *);
        unused_member events_and_optimize[3];
    } iface;
    ggml_backend_dev_t device;
    void *context;
};

#endif
