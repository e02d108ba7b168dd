/* SPDX-License-Identifier: MIT */
/* Tensors as the library's checks see them. */
#include "ops.h"
#include "core/view.h"

static const struct ggml_tensor *root_of(const struct ggml_tensor *tensor) {
    return tensor->view_src != NULL ? tensor->view_src : tensor;
}

/* A sixteenth of all addresses for each tensor that the node's may be views of: more than the checks let one reach. */
static uintptr_t stand_in_address(const struct ggml_tensor *node, const struct ggml_tensor *root) {
    const uintptr_t sixteenth = UINTPTR_MAX / 16 + 1;
    for (int i = 0; i < GGML_MAX_SRC && root != root_of(node); i++)
        if (node->src[i] != NULL && root == root_of(node->src[i]))
            return (uintptr_t)(i + 2) * sixteenth;
    return sixteenth;
}

static uintptr_t address_of(const struct ggml_tensor *node, const struct ggml_tensor *tensor) {
    const struct ggml_tensor *root = root_of(tensor);
    if (tensor->data != NULL)
        return (uintptr_t)tensor->data;
    uintptr_t address = root->data != NULL ? (uintptr_t)root->data : stand_in_address(node, root);
    return tensor != root ? address + tensor->view_offs : address;
}

posenc_view view_to_check(const struct ggml_tensor *node, const struct ggml_tensor *tensor) {
    posenc_view view = view_of(tensor);
    view.data = (void *)address_of(node, tensor);
    return view;
}

posenc_status check_list(const struct ggml_tensor *node, const struct ggml_tensor *list, enum ggml_type type,
                         int64_t n) {
    posenc_view view = view_to_check(node, list);
    posenc_status status = list->type == type ? posenc_check_input(&view) : POSENC_ERR_DTYPE;
    if (status != POSENC_OK)
        return status;
    return ggml_is_contiguous(list) && ggml_nelements(list) >= n ? POSENC_OK : POSENC_ERR_SHAPE;
}
