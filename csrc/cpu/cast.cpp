// Copies, fills and casts as operators.
#include <atomic>
#include <exception>

#include "core/copy_on_write.h"
#include "core/device_memory.h"
#include "core/lazy_views.h"
#include "core/number_fits.h"
#include "core/overlap.h"
#include "core/python/operator_call.h"
#include "core/python/tensor_new.h"
#include "core/python/types.h"
#include "core/typed_kernel.h"
#include "cpu/memory_format.h"

namespace mt {
namespace {

Dims strides_for(const Tensor& t, MemoryFormat format) {
    check_format_rank(format, t.ndim);
    switch (format) {
        case MemoryFormat::Preserve:
            return preserved_strides(t.sizes(), t.strides());
        case MemoryFormat::ChannelsLast:
        case MemoryFormat::ChannelsLast3d:
            return channels_last_strides(t.sizes());
        default:
            return contiguous_strides(t.sizes());
    }
}

// Once in a process, as PyTorch.
void warn_discarded_imaginary(DType from, DType to) {
    static bool warned = false;
    if (warned || !is_complex(from) || is_complex(to) || is_bool(to)) return;
    warned = true;
    if (PyErr_WarnEx(PyExc_UserWarning, "Casting complex values to real discards the imaginary part", 1) < 0)
        throw PythonError();
}

TensorRef copy_as(const Tensor& self, DType dtype, Device device, MemoryFormat format, bool pinned = false) {
    bool plain = self.is_contiguous() && self.numel_ && format == MemoryFormat::Preserve;
    TensorRef r = plain || format == MemoryFormat::Contiguous
                      ? empty(self.sizes(), dtype, device)
                      : empty_strided(self.sizes(), strides_for(self, format), dtype, device);
    if (pinned) {
        PyObject* made = pinned_when_made(r.release()->py());
        if (!made) throw PythonError();
        r = TensorRef::steal(&as_tensor(made));
    }
    if (!device.is_meta()) {
        warn_discarded_imaginary(self.dtype, dtype);
        copy_into(*r, self);
    }
    return r;
}

TensorRef to_copy_cpu(const Tensor& self, std::optional<DType> dtype, Unread layout, std::optional<Device> given_device,
                      std::optional<bool> pin_memory, bool non_blocking, std::optional<MemoryFormat> memory_format) {
    Device device = given_device.value_or(self.device);
    MT_CHECK_AS(NotImplemented, !self.is_meta() || device.is_meta(), "Cannot copy out of meta tensor; no data!");
    NonBlocking scope(non_blocking);
    // Only to pinned memory can a device copy beside the program.
    const bool pinned = non_blocking && device.is_cpu() && self.device.type == DeviceType::NPU;
    return copy_as(self, dtype.value_or(self.dtype), device, memory_format.value_or(MemoryFormat::Preserve), pinned);
}

TensorRef clone_cpu(const Tensor& self, std::optional<MemoryFormat> memory_format) {
    return copy_as(self, self.dtype, self.device, memory_format.value_or(MemoryFormat::Preserve));
}

Tensor& copy_cpu(Tensor& self, const Tensor& src, bool non_blocking) {
    MT_CHECK_AS(NotImplemented, self.is_meta() || !src.is_meta(), "Cannot copy out of meta tensor; no data!");
    if (&self == &src) return self;
    if (!self.is_meta()) {
        warn_discarded_imaginary(src.dtype, self.dtype);
        check_overlap(self);
        check_apart(src, self);
    }
    NonBlocking scope(non_blocking);
    copy_into(self, src);
    return self;
}

Tensor& fill_scalar_cpu(Tensor& self, const Value& value) {
    if (!self.is_meta()) {
        Value number = value;
        if (self.numel() == 1 && self.is_cpu())
            number = as_element(self.dtype, number);
        else
            check_number_fits(self.dtype, number);
        fill(self, number);
    }
    return self;
}

Tensor& fill_tensor_cpu(Tensor& self, const Tensor& value) {
    MT_CHECK(value.ndim == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", value.ndim,
             " dimensions.");
    if (!self.is_meta()) {
        check_overlap(self);
        copy_into(self, value);
    }
    return self;
}

Tensor& zero_cpu(Tensor& self) {
    if (!self.is_meta()) fill(self, Value::of(int64_t(0)));
    return self;
}

// ---- composites: the tensor itself where nothing would change, else the operator that copies ----

bool laid_out_as(const Tensor& t, MemoryFormat format) {
    switch (format) {
        case MemoryFormat::Contiguous:
            return t.is_contiguous();
        case MemoryFormat::ChannelsLast:
            return t.ndim == 4 && is_contiguous_as(t, channels_last_strides(t.sizes()));
        case MemoryFormat::ChannelsLast3d:
            return t.ndim == 5 && is_contiguous_as(t, channels_last_strides(t.sizes()));
        default:
            return true;
    }
}

bool same_device(Device have, Device wanted) {
    return have.type == wanted.type && (have.index < 0 || wanted.index < 0 || have.index == wanted.index);
}

Value value_of(std::optional<Device> d) {
    Value v;
    if (!d) return v;
    v.tag = Tag::Device;
    v.device = *d;
    return v;
}
Value value_of(std::optional<MemoryFormat> format) {
    Value v;
    if (!format) return v;
    v.tag = Tag::MemoryFormat;
    v.i = static_cast<int64_t>(*format);
    return v;
}

TensorRef convert_to(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device, bool non_blocking,
                     bool copy, std::optional<MemoryFormat> format) {
    static OperatorName to_copy("aten::_to_copy");
    const bool same_type = dtype.value_or(self.dtype) == self.dtype;
    bool stays = same_type && (!device || same_device(self.device, *device)) &&
                 laid_out_as(self, format.value_or(MemoryFormat::Preserve));
    if (stays && !copy) return TensorRef::share(&self);
    Value none, self_value = Value::of(const_cast<Tensor*>(&self));
    return to_copy({self_value, same_type ? none : Value::of(*dtype), none, value_of(device), none,
                    Value::of(non_blocking), value_of(format)});
}

TensorRef to_device_cpu(const Tensor& self, std::optional<Device> device, std::optional<DType> dtype, bool non_blocking,
                        bool copy, std::optional<MemoryFormat> memory_format) {
    return convert_to(self, dtype, device, non_blocking, copy, memory_format);
}
TensorRef to_dtype_cpu(const Tensor& self, DType dtype, bool non_blocking, bool copy,
                       std::optional<MemoryFormat> memory_format) {
    return convert_to(self, dtype, std::nullopt, non_blocking, copy, memory_format);
}
TensorRef to_dtype_layout_cpu(const Tensor& self, std::optional<DType> dtype, Unread layout,
                              std::optional<Device> device, Unread pin_memory, bool non_blocking, bool copy,
                              std::optional<MemoryFormat> memory_format) {
    return convert_to(self, dtype, device, non_blocking, copy, memory_format);
}

TensorRef to_other_cpu(const Tensor& self, const Tensor& other, bool non_blocking, bool copy,
                       std::optional<MemoryFormat> memory_format) {
    return convert_to(self, other.dtype, other.device, non_blocking, copy, memory_format);
}

TensorRef type_as_cpu(const Tensor& self, const Tensor& other) {
    static OperatorName to_copy("aten::_to_copy");
    if (self.dtype == other.dtype && same_device(self.device, other.device)) return TensorRef::share(&self);
    Value none;
    return to_copy({Value::of(const_cast<Tensor*>(&self)), Value::of(other.dtype), none, value_of(other.device)});
}

TensorRef lazy_clone_cpu(const Tensor& self) {
    static OperatorName clone("aten::clone");
    Storage* storage = lazy_clone(self.storage);
    if (!storage) return clone({Value::of(const_cast<Tensor*>(&self))});
    TensorRef r = from_storage(storage, self.offset, self.sizes(), self.strides(), self.dtype);
    storage->drop();
    r->keys = r->keys | (self.keys & kLazyKeys);
    return r;
}

TensorRef test_parallel_materialize_cpu(const Tensor& self, int64_t num_parallel, bool skip_first) {
    std::atomic<bool> failed{false};
    std::exception_ptr error;  // no exception leaves a parallel region
    parallel_for(num_parallel, 1, [&](int64_t begin, int64_t end) {
        if (skip_first && begin == 0 && end == 1) return;
        try {
            before_write(self.storage);
        } catch (...) {
            if (!failed.exchange(true)) error = std::current_exception();
        }
    });
    if (error) std::rethrow_exception(error);
    return TensorRef::share(&self);
}

template <DType kTo>
TensorRef method_cpu(const Tensor& self, std::optional<MemoryFormat> memory_format) {
    return convert_to(self, kTo, std::nullopt, false, false, memory_format);
}

TensorRef cpu_cpu(const Tensor& self, std::optional<MemoryFormat> memory_format) {
    return convert_to(self, std::nullopt, Device(), false, false, memory_format);
}

TensorRef contiguous_cpu(const Tensor& self, MemoryFormat format) {
    static OperatorName clone("aten::clone");
    bool preserve = format == MemoryFormat::Preserve;
    if (laid_out_as(self, preserve ? MemoryFormat::Contiguous : format)) return TensorRef::share(&self);
    MT_CHECK(!preserve, "preserve memory format is unsupported by the contiguous operator");
    return clone({Value::of(const_cast<Tensor*>(&self)), value_of(format)});
}

KERNELS
{
    direct<to_copy_cpu>("_to_copy");
    direct<method_cpu<DType::BFloat16>>("bfloat16");
    direct<method_cpu<DType::Bool>>("bool");
    direct<method_cpu<DType::UInt8>>("byte");
    direct<method_cpu<DType::Complex128>>("cdouble");
    direct<method_cpu<DType::Complex64>>("cfloat");
    direct<method_cpu<DType::Complex32>>("chalf");
    direct<method_cpu<DType::Int8>>("char");
    direct<clone_cpu>("clone");
    direct<lazy_clone_cpu>("_lazy_clone");
    direct<test_parallel_materialize_cpu>("_test_parallel_materialize");
    direct<contiguous_cpu>("contiguous");
    direct<copy_cpu>("copy_");
    direct<cpu_cpu>("cpu");
    direct<method_cpu<DType::Float64>>("double");
    direct<fill_scalar_cpu>("fill_.Scalar");
    direct<fill_tensor_cpu>("fill_.Tensor");
    direct<method_cpu<DType::Float32>>("float");
    direct<method_cpu<DType::Float16>>("half");
    direct<method_cpu<DType::Int32>>("int");
    direct<method_cpu<DType::Int64>>("long");
    direct<method_cpu<DType::Int16>>("short");
    direct<to_device_cpu>("to.device");
    direct<to_dtype_cpu>("to.dtype");
    direct<to_dtype_layout_cpu>("to.dtype_layout");
    direct<to_other_cpu>("to.other");
    direct<to_device_cpu>("to.prim_Device");
    direct<type_as_cpu>("type_as");
    direct<zero_cpu>("zero_");
}

}  // namespace
}  // namespace mt
