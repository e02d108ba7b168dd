/* What a loadable ggml backend has to look like. ggml's installed headers name these structures but do not lay them
 * out, so this file does, as far as this plugin goes: members it leaves to ggml's defaults are counted, not declared.
 *
 * The layout belongs to an interface version. ggml refuses a plugin that states another than its own, so a wrong guess
 * here is a message at load time and nothing worse. */
#ifndef POSENC_GGML_INTERFACE_H
#define POSENC_GGML_INTERFACE_H

#include <ggml-backend.h>
#include <ggml.h>

#ifndef POSENC_GGML_INTERFACE_VERSION
#define POSENC_GGML_INTERFACE_VERSION 3 /* ggml 0.27 */
#endif

typedef void (*unused_member)(void);

struct ggml_backend_reg {
    int version;
    const char *(*name)(ggml_backend_reg_t);
    size_t (*n_devices)(ggml_backend_reg_t);
    ggml_backend_dev_t (*device)(ggml_backend_reg_t, size_t index);
    void *(*function)(ggml_backend_reg_t, const char *name);
    void *own;
};

struct ggml_backend_device {
    const char *(*name)(ggml_backend_dev_t);
    const char *(*description)(ggml_backend_dev_t);
    void (*memory)(ggml_backend_dev_t, size_t *free, size_t *total);
    enum ggml_backend_dev_type (*type)(ggml_backend_dev_t);
    void (*properties)(ggml_backend_dev_t, struct ggml_backend_dev_props *);
    ggml_backend_t (*open)(ggml_backend_dev_t, const char *parameters);
    ggml_backend_buffer_type_t (*buffer_type)(ggml_backend_dev_t);
    unused_member host_buffer_type;
    ggml_backend_buffer_t (*buffer_from_pointer)(ggml_backend_dev_t, void *memory, size_t size, size_t max_tensor_size);
    bool (*takes)(ggml_backend_dev_t, const struct ggml_tensor *op);
    bool (*reads_buffer)(ggml_backend_dev_t, ggml_backend_buffer_type_t);
    unused_member offload_and_events[4];
    ggml_backend_reg_t reg;
    void *own;
};

struct ggml_backend {
    ggml_guid_t guid;
    const char *(*name)(ggml_backend_t);
    void (*close)(ggml_backend_t);
    unused_member copies_and_plans[10];
    enum ggml_status (*compute)(ggml_backend_t, struct ggml_cgraph *);
    unused_member events_and_optimize[3];
    ggml_backend_dev_t device;
    void *own;
};

#endif
