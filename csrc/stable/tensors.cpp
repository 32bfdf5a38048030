// Tensors: handles, what they are, tensors over memory of somebody else's.
#include <algorithm>
#include <memory>
#include <type_traits>

#include <mindtorch/fits.h>

#include "stable/abi.h"

using namespace mt::stable;

namespace {

constexpr int32_t kUndefinedType = 46;  // what stands for the type of the undefined tensor
const int64_t g_no_sizes[1] = {0};      // it has one dimension without elements

int64_t dim_of(mt_tensor t) { return t ? core().dim(t) : 1; }
const int64_t* sizes_of(mt_tensor t) { return t ? core().sizes(t) : g_no_sizes; }
const int64_t* strides_of(mt_tensor t) {
    if (!t) fail("strides() called on an undefined Tensor");
    return core().strides(t);
}

int64_t at(const int64_t* p, int64_t n, int64_t d) {
    const int64_t low = n ? -n : -1, high = n ? n - 1 : 0;
    if (d < low || d > high || (!n && d))
        fail("Dimension out of range (expected to be in range of [", low, ", ", high, "], but got ", d, ")");
    if (!n) fail("Dimension specified as ", d, " but tensor has no dimensions");
    return p[d < 0 ? d + n : d];
}

mt_tensor with_storage(AtenTensorHandle h) {
    mt_tensor t = tensor(h);
    if (!t) fail("Cannot access storage of UndefinedTensorImpl");
    return t;
}

AOTITorchError address(AtenTensorHandle h, void** ret) {
    return guarded(ret, [&] {
        mt_tensor t = tensor(h);
        if (!t) fail("Cannot access data pointer of Tensor that doesn't have storage");
        check(core().data(t, ret));
    });
}

struct Deleter {
    void (*function)(void*, void*);
    void *data, *context;
};
void run_deleter(void* p) {
    std::unique_ptr<Deleter> d(static_cast<Deleter*>(p));
    // A tensor may end anywhere: there is nobody to raise what it throws to.
    if (guarded([&] { d->function(d->data, d->context); }) != AOTI_TORCH_SUCCESS)
        core().warn(("a deleter of torch_from_blob threw: " + kept_text()).c_str(), "RuntimeWarning", __FILE__,
                    __LINE__);
}

void from_blob(void* data, int64_t ndim, const int64_t* sizes, const int64_t* strides, int64_t offset, int32_t dtype,
               int32_t device_type, int32_t device_index, AtenTensorHandle* ret, int32_t layout, int64_t metadata_size,
               void (*deleter)(void*, void*), void* context) {
    if (layout != 0 || metadata_size != 0)
        fail("torch_from_blob: a strided tensor without metadata was expected, got layout ", layout);
    if (offset < 0) fail("torch_from_blob: the storage offset is ", offset);
    expect_list(sizes, ndim);
    const uint8_t type = known_dtype(dtype);
    const mt_device device = device_of_new(device_type, device_index);
    mt_tensor made = nullptr;
    if (!data) {  // as PyTorch: memory of its own
        check(core().empty(static_cast<int32_t>(ndim), sizes, strides, type, device, &made));
        *ret = own(made);
        return;
    }
    auto held = deleter ? std::make_unique<Deleter>(Deleter{deleter, data, context}) : nullptr;
    if (offset == 0) {
        check(core().from_blob(data, static_cast<int32_t>(ndim), sizes, strides, type, device, held.get(),
                               held ? run_deleter : nullptr, &made));
        held.release();
        *ret = own(made);
        return;
    }
    // The storage begins at `data`: all of it as one dimension first.
    int64_t last = offset, elements = 1, step = 1, span = 0;
    for (int64_t i = ndim; i-- > 0;) {
        const int64_t stride = strides ? strides[i] : step;
        if (sizes[i] < 0 || stride < 0)
            fail("torch_from_blob: sizes and strides must be non-negative, got ", sizes[i], " and ", stride);
        if (__builtin_mul_overflow(std::max<int64_t>(sizes[i] - 1, 0), stride, &span) ||
            __builtin_add_overflow(last, span, &last) || __builtin_mul_overflow(elements, sizes[i], &elements) ||
            __builtin_mul_overflow(step, std::max<int64_t>(sizes[i], 1), &step) || last == INT64_MAX)
            fail("torch_from_blob: the sizes and strides are beyond 63 bits");
    }
    const int64_t all[1] = {elements ? last + 1 : offset};
    check(core().from_blob(data, 1, all, nullptr, type, device, held.get(), held ? run_deleter : nullptr, &made));
    held.release();
    std::vector<int64_t> steps(static_cast<size_t>(ndim));
    step = 1;
    for (int64_t i = ndim; i-- > 0;) {
        steps[static_cast<size_t>(i)] = strides ? strides[i] : step;
        step *= sizes[i];
    }
    mt_tensor view = nullptr;
    const int64_t nothing[1] = {0};
    Keeper keeper;
    keeper.keep(made);
    check(core().empty(1, nothing, nullptr, type, device, &view));
    keeper.keep(view);
    *ret = call_for_tensor("aten::set_", "source_Tensor_storage_offset",
                           {value(view), value(made), value(offset), ints(sizes, ndim), ints(steps.data(), ndim)});
}

}  // namespace

// ---- handles ----

AOTITorchError aoti_torch_new_uninitialized_tensor(AtenTensorHandle* ret) {
    return guarded(ret, [&] { *ret = own(nullptr); });
}
AOTITorchError aoti_torch_new_tensor_handle(AtenTensorHandle orig_handle, AtenTensorHandle* new_handle) {
    return guarded(new_handle, [&] {
        mt_tensor t = tensor(orig_handle);
        core().retain(t);
        *new_handle = own(t);
    });
}
AOTITorchError aoti_torch_delete_tensor_object(AtenTensorHandle h) {
    return guarded([&] { core().release(take_handle(number(h), Kind::Tensor)); });
}
AOTITorchError aoti_torch_assign_tensors_out(AtenTensorHandle src, AtenTensorHandle* ret_dst) {
    return aoti_torch_new_tensor_handle(src, ret_dst);
}

// ---- what they are ----

AOTITorchError aoti_torch_is_defined(AtenTensorHandle h, bool* ret) {
    return guarded(ret, [&] { *ret = tensor(h) != nullptr; });
}
AOTITorchError aoti_torch_get_data_ptr(AtenTensorHandle h, void** ret) { return address(h, ret); }
AOTITorchError torch_get_mutable_data_ptr(AtenTensorHandle h, void** ret) { return address(h, ret); }
AOTITorchError torch_get_const_data_ptr(AtenTensorHandle h, const void** ret) {
    return address(h, const_cast<void**>(ret));
}
AOTITorchError aoti_torch_get_device_type(AtenTensorHandle h, int32_t* ret) {
    return guarded(ret, [&] {
        mt_tensor t = tensor(h);
        if (!t) fail("tensor does not have a device");
        *ret = core().device(t).type;
    });
}
AOTITorchError aoti_torch_get_device_index(AtenTensorHandle h, int32_t* ret) {
    return guarded(ret, [&] {
        mt_tensor t = tensor(h);
        if (!t) fail("tensor does not have a device");
        const mt_device d = core().device(t);
        *ret = d.type == 0 ? -1 : d.index;
    });
}
AOTITorchError aoti_torch_get_dim(AtenTensorHandle h, int64_t* ret) {
    return guarded(ret, [&] { *ret = dim_of(tensor(h)); });
}
AOTITorchError aoti_torch_get_numel(AtenTensorHandle h, int64_t* ret) {
    return guarded(ret, [&] {
        mt_tensor t = tensor(h);
        *ret = t ? core().numel(t) : 0;
    });
}
AOTITorchError aoti_torch_get_dtype(AtenTensorHandle h, int32_t* ret) {
    return guarded(ret, [&] {
        mt_tensor t = tensor(h);
        *ret = t ? core().dtype(t) : kUndefinedType;
    });
}
AOTITorchError aoti_torch_get_layout(AtenTensorHandle h, int32_t* ret) {
    return guarded(ret, [&] {
        mt_tensor t = tensor(h);
        *ret = t ? static_cast<int32_t>(layout_number(core().layout(t))) : 0;
    });
}
AOTITorchError aoti_torch_get_sizes(AtenTensorHandle h, int64_t** ret) {
    return guarded(ret, [&] { *ret = const_cast<int64_t*>(sizes_of(tensor(h))); });
}
AOTITorchError aoti_torch_get_strides(AtenTensorHandle h, int64_t** ret) {
    return guarded(ret, [&] { *ret = const_cast<int64_t*>(strides_of(tensor(h))); });
}
AOTITorchError aoti_torch_get_size(AtenTensorHandle h, int64_t d, int64_t* ret) {
    return guarded(ret, [&] { *ret = at(sizes_of(tensor(h)), dim_of(tensor(h)), d); });
}
AOTITorchError aoti_torch_get_stride(AtenTensorHandle h, int64_t d, int64_t* ret) {
    return guarded(ret, [&] { *ret = at(strides_of(tensor(h)), dim_of(tensor(h)), d); });
}
AOTITorchError aoti_torch_is_contiguous(AtenTensorHandle h, bool* ret) {
    return guarded(ret, [&] {
        mt_tensor t = tensor(h);
        *ret = !t || (core().flags(t) & MT_FLAG_CONTIGUOUS);
    });
}
AOTITorchError aoti_torch_get_storage_offset(AtenTensorHandle h, int64_t* ret) {
    return guarded(ret, [&] {
        mt_tensor t = tensor(h);
        *ret = t ? core().offset(t) : 0;
    });
}
AOTITorchError aoti_torch_get_storage_size(AtenTensorHandle h, int64_t* ret) {
    return guarded(ret, [&] {
        void* data;
        check(core().storage(with_storage(h), &data, ret));
    });
}
AOTITorchError aoti_torch_get_storage_numel(AtenTensorHandle h, int64_t* ret) {
    return guarded(ret, [&] {
        void* data;
        mt_tensor t = with_storage(h);
        check(core().storage(t, &data, ret));
        *ret /= static_cast<int64_t>(aoti_torch_dtype_element_size(core().dtype(t)));
    });
}
AOTITorchError torch_has_storage(AtenTensorHandle h, bool* ret) {
    return guarded(ret, [&] {
        mt_tensor t = tensor(h);
        *ret = t && core().layout(t) == 0;
    });
}
AOTITorchError torch_set_requires_grad(AtenTensorHandle h, bool requires_grad) {
    return guarded([&] { check(core().set_requires_grad(defined(h), requires_grad)); });
}

// ---- new ones ----

AOTITorchError torch_from_blob(void* data, int64_t ndim, const int64_t* sizes_ptr, const int64_t* strides_ptr,
                               int64_t storage_offset, int32_t dtype, int32_t device_type, int32_t device_index,
                               AtenTensorHandle* ret, int32_t layout, const uint8_t* opaque_metadata,
                               int64_t opaque_metadata_size, void (*deleter)(void* data, void* ctx),
                               void* deleter_ctx) {
    return guarded(ret, [&] {
        from_blob(data, ndim, sizes_ptr, strides_ptr, storage_offset, dtype, device_type, device_index, ret, layout,
                  opaque_metadata_size, deleter, deleter_ctx);
    });
}
AOTITorchError aoti_torch_create_tensor_from_blob_v2(void* data, int64_t ndim, const int64_t* sizes_ptr,
                                                     const int64_t* strides_ptr, int64_t storage_offset, int32_t dtype,
                                                     int32_t device_type, int32_t device_index, AtenTensorHandle* ret,
                                                     int32_t layout, const uint8_t* opaque_metadata,
                                                     int64_t opaque_metadata_size) {
    return torch_from_blob(data, ndim, sizes_ptr, strides_ptr, storage_offset, dtype, device_type, device_index, ret,
                           layout, opaque_metadata, opaque_metadata_size, nullptr, nullptr);
}
AOTITorchError aoti_torch_create_tensor_from_blob(void* data, int64_t ndim, const int64_t* sizes_ptr,
                                                  const int64_t* strides_ptr, int64_t storage_offset, int32_t dtype,
                                                  int32_t device_type, int32_t device_index, AtenTensorHandle* ret) {
    return torch_from_blob(data, ndim, sizes_ptr, strides_ptr, storage_offset, dtype, device_type, device_index, ret, 0,
                           nullptr, 0, nullptr, nullptr);
}
AOTITorchError aoti_torch_empty_strided(int64_t ndim, const int64_t* sizes_ptr, const int64_t* strides_ptr,
                                        int32_t dtype, int32_t device_type, int32_t device_index,
                                        AtenTensorHandle* ret) {
    return guarded(ret, [&] {
        mt_tensor made = nullptr;
        expect_list(sizes_ptr, ndim);
        check(core().empty(static_cast<int32_t>(ndim), sizes_ptr, strides_ptr, known_dtype(dtype),
                           device_of_new(device_type, device_index), &made));
        *ret = own(made);
    });
}
AOTITorchError aoti_torch__reinterpret_tensor(AtenTensorHandle self, int64_t ndim, const int64_t* sizes_ptr,
                                              const int64_t* strides_ptr, int64_t storage_offset,
                                              AtenTensorHandle* ret) {
    return guarded(ret, [&] {
        mt_tensor t = defined(self);
        int64_t offset;
        if (__builtin_add_overflow(core().offset(t), storage_offset, &offset))
            fail("the storage offset ", storage_offset, " is beyond 63 bits");
        *ret = call_for_tensor("aten::as_strided", "",
                               {value(t), ints(sizes_ptr, ndim), ints(strides_ptr, ndim), value(offset)});
    });
}

// ---- numbers ----

namespace {

// A number of a tensor as the type that was asked for; what does not fit raises as PyTorch's `item<T>()` does.
template <class T>
T number_as(const mt_value& v) {
    if (v.tag == MT_BOOL) return static_cast<T>(v.as.boolean != 0);
    if (v.tag == MT_INT && mt::fits<T>(v.as.integer)) return static_cast<T>(v.as.integer);
    const double real = v.tag == MT_COMPLEX ? v.as.complex[0] : v.as.real;
    if (std::is_same_v<T, bool> && v.tag == MT_COMPLEX) return real != 0 || v.as.complex[1] != 0;
    if (v.tag == MT_INT || (v.tag == MT_COMPLEX && v.as.complex[1] != 0) || !mt::fits<T>(real))
        fail("value cannot be converted to type ", mt::type_name<T>(), " without overflow");
    return static_cast<T>(real);
}
template <class T>
T number_of(mt_tensor t) {
    const mt_value v = call_hook("item", {value(t)});
    // Half of the largest unsigned numbers have no form but their bits.
    const bool beyond = core().dtype(t) == aoti_torch_dtype_uint64() && v.tag == MT_INT && v.as.integer < 0;
    if (!beyond) return number_as<T>(v);
    const uint64_t bits = static_cast<uint64_t>(v.as.integer);
    if (std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, uint64_t>)
        fail("value cannot be converted to type ", mt::type_name<T>(), " without overflow");
    return static_cast<T>(bits);
}

}  // namespace

#define ITEM(name, type)                                                   \
    AOTITorchError aoti_torch_item_##name(AtenTensorHandle h, type* ret) { \
        return guarded(ret, [&] { *ret = number_of<type>(defined(h)); });  \
    }
ITEM(bool, bool)
ITEM(int8, int8_t)
ITEM(int16, int16_t)
ITEM(int32, int32_t)
ITEM(int64, int64_t)
ITEM(uint8, uint8_t)
ITEM(uint16, uint16_t)
ITEM(uint32, uint32_t)
ITEM(uint64, uint64_t)
ITEM(float32, float)
ITEM(float64, double)
#undef ITEM

#define SCALAR_TO_TENSOR(name, type, number)                                           \
    AOTITorchError aoti_torch_scalar_to_tensor_##name(type v, AtenTensorHandle* ret) { \
        return guarded(ret, [&] {                                                      \
            mt_tensor made = nullptr;                                                  \
            check(core().empty(0, nullptr, nullptr, number, {0, -1}, &made));          \
            void* data = nullptr;                                                      \
            Keeper keeper;                                                             \
            keeper.keep(made);                                                         \
            check(core().data(made, &data));                                           \
            *static_cast<type*>(data) = v;                                             \
            core().retain(made);                                                       \
            *ret = own(made);                                                          \
        });                                                                            \
    }
SCALAR_TO_TENSOR(uint8, uint8_t, 0)
SCALAR_TO_TENSOR(int8, int8_t, 1)
SCALAR_TO_TENSOR(int16, int16_t, 2)
SCALAR_TO_TENSOR(int32, int32_t, 3)
SCALAR_TO_TENSOR(int64, int64_t, 4)
SCALAR_TO_TENSOR(float32, float, 6)
SCALAR_TO_TENSOR(float64, double, 7)
SCALAR_TO_TENSOR(bool, bool, 11)
SCALAR_TO_TENSOR(uint16, uint16_t, 27)
SCALAR_TO_TENSOR(uint32, uint32_t, 28)
SCALAR_TO_TENSOR(uint64, uint64_t, 29)
#undef SCALAR_TO_TENSOR
