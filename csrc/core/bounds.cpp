#include "bounds.h"

#include "copy_on_write.h"
#include "registry.h"

namespace mt {
namespace {

inline bool within(const Tensor& t) {
    int64_t elements = t.numel_;
    if (__builtin_expect(!t.is_contiguous(), 0) && elements) {
        elements = 1;
        for (int64_t d = 0; d < t.ndim; d++) elements += (t.size(d) - 1) * t.stride(d);
    }
    return !elements || static_cast<size_t>((t.offset + elements) * t.itemsize()) <= t.storage->nbytes;
}

[[noreturn]] void out_of_bounds(const Tensor& t) {
    MT_CHECK(t.storage->data, "The tensor has a non-zero number of elements, but its data is not allocated yet.");
    MT_THROW(Runtime, "setStorage: sizes ", t.sizes(), ", strides ", t.strides(), ", storage offset ", t.offset,
             ", and itemsize ", t.itemsize(), " requiring a storage size of ",
             storage_bytes_needed(t.sizes(), t.strides(), t.itemsize(), t.offset),
             " are out of bounds for storage of size ", t.storage->nbytes);
}

}  // namespace

void check_bounds(const Tensor& t) {
    if (__builtin_expect(!within(t), 0)) out_of_bounds(t);
}

void check_bounds(const Call& c) {
    for (uint64_t m = c.op->tensor_args; m; m &= m - 1) {
        const int i = __builtin_ctzll(m);
        const Value& v = c.args[i];
        if (v.tag == Tag::Tensor) {
            if (__builtin_expect(!within(*v.t), 0) && c.op->reads_elements) out_of_bounds(*v.t);
        } else if (v.tag == Tag::TensorList) {
            for (uint32_t k = 0; k < v.len; k++)
                if (v.tensors[k] && __builtin_expect(!within(*v.tensors[k]), 0) && c.op->reads_elements)
                    out_of_bounds(*v.tensors[k]);
        } else if (!c.op->schema.args[i].optional) {
            c.missing_tensor(i);
        }
    }
    if (has_lazy_copies()) before_write(c);
}

void before_write(const Call& c) {
    if (c.op->inplace_view) return;
    for (uint64_t m = c.op->tensor_args; m; m &= m - 1) {
        const int i = __builtin_ctzll(m);
        if (!c.op->schema.args[static_cast<size_t>(i)].writes && !c.op->excused) continue;
        const Value& v = c.args[i];
        if (v.tag == Tag::Tensor) own_bytes(v.t->storage);
        for (uint32_t k = 0; v.tag == Tag::TensorList && k < v.len; k++)
            if (v.tensors[k]) own_bytes(v.tensors[k]->storage);
    }
}

}  // namespace mt
