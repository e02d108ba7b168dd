// SPDX-License-Identifier: MIT
// The memory layout of DLPack's tensors (version 0.x, what `__dlpack__` returns when no version is asked for).
#pragma once

#include <cstdint>

namespace binding {

enum { dl_cpu = 1 };
enum { dl_int = 0, dl_uint = 1, dl_float = 2, dl_bfloat = 4, dl_bool = 6 };

struct DataType {
    uint8_t code, bits;
    uint16_t lanes;
};

struct DlTensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    DataType type;
    int64_t *shape, *strides; // strides in elements; NULL: dense
    uint64_t byte_offset;
};

struct ManagedTensor {
    DlTensor tensor;
    void *context;
    void (*deleter)(ManagedTensor *);
};

} // namespace binding
