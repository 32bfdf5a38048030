// DLPack's structures.
#pragma once

#include <cstdint>

namespace mt::dlpack {

// The protocol's structures, as its specification lays them out.
struct DLDevice {
    int32_t device_type;
    int32_t device_id;
};
struct DLDataType {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
};
struct DLTensor {
    void* data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t* shape;
    int64_t* strides;
    uint64_t byte_offset;
};
struct DLManagedTensor {
    DLTensor dl_tensor;
    void* manager_ctx;
    void (*deleter)(DLManagedTensor*);
};
struct DLPackVersion {
    uint32_t major;
    uint32_t minor;
};
struct DLManagedTensorVersioned {
    DLPackVersion version;
    void* manager_ctx;
    void (*deleter)(DLManagedTensorVersioned*);
    uint64_t flags;
    DLTensor dl_tensor;
};
// Functions that a library calls instead of Python's methods; each gives 0, or another number with Python's error set.
struct DLPackExchangeAPI {
    struct {
        DLPackVersion version;
        void* prev_api;  // of an earlier major version
    } header;
    int (*allocate)(DLTensor* like, DLManagedTensorVersioned** out, void* context,
                    void (*set_error)(void*, const char* kind, const char* text));
    int (*from_object)(void* object, DLManagedTensorVersioned** out);
    int (*to_object)(DLManagedTensorVersioned* tensor, void** out);
    int (*view_of_object)(void* object, DLTensor* out);
    int (*current_stream)(int32_t device_type, int32_t device_id, void** out);
};

}  // namespace mt::dlpack
