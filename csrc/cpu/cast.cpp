// Copies, fills and casts as operators.
#include "core/device_memory.h"
#include "core/kernel.h"
#include "core/number_fits.h"
#include "core/overlap.h"
#include "core/python/operator_call.h"
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

TensorRef copy_as(const Tensor& self, DType dtype, Device device, MemoryFormat format) {
    bool plain = self.is_contiguous() && self.numel_ && format == MemoryFormat::Preserve;
    TensorRef r = plain || format == MemoryFormat::Contiguous
                      ? empty(self.sizes(), dtype, device)
                      : empty_strided(self.sizes(), strides_for(self, format), dtype, device);
    if (!device.is_meta()) {
        warn_discarded_imaginary(self.dtype, dtype);
        copy_into(*r, self);
    }
    return r;
}

// _to_copy(self, *, dtype, layout, device, pin_memory, non_blocking, memory_format)
void to_copy_cpu(Call& c) {
    const Tensor& self = c.tensor(0);
    Device device = c.device_or(3, self.device);
    MT_CHECK_AS(NotImplemented, !self.is_meta() || device.is_meta(), "Cannot copy out of meta tensor; no data!");
    NonBlocking scope(c.boolean(5));
    c.ret(0, copy_as(self, c.dtype_or(1, self.dtype), device, c.memory_format_or(6, MemoryFormat::Preserve)));
}

// clone(self, *, memory_format)
void clone_cpu(Call& c) {
    const Tensor& self = c.tensor(0);
    c.ret(0, copy_as(self, self.dtype, self.device, c.memory_format_or(1, MemoryFormat::Preserve)));
}

void copy_cpu(Call& c) {
    Tensor& self = c.mutable_tensor(0);
    const Tensor& src = c.tensor(1);
    if (!self.is_meta()) {
        MT_CHECK_AS(NotImplemented, !src.is_meta(), "Cannot copy out of meta tensor; no data!");
        warn_discarded_imaginary(src.dtype, self.dtype);
        NonBlocking scope(c.boolean(2));
        if (&self != &src) {
            check_overlap(self);
            copy_into(self, src);
        }
    }
    c.ret(0, self);
}

void fill_scalar_cpu(Call& c) {
    Tensor& self = c.mutable_tensor(0);
    if (!self.is_meta()) {
        check_number_fits(self.dtype, c.scalar(1));
        fill(self, c.scalar(1));
    }
    c.ret(0, self);
}

void fill_tensor_cpu(Call& c) {
    Tensor& self = c.mutable_tensor(0);
    const Tensor& value = c.tensor(1);
    MT_CHECK(value.ndim == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", value.ndim,
             " dimensions.");
    if (!self.is_meta()) {
        check_overlap(self);
        copy_into(self, value);
    }
    c.ret(0, self);
}

void zero_cpu(Call& c) {
    Tensor& self = c.mutable_tensor(0);
    if (!self.is_meta()) fill(self, Value::of(int64_t(0)));
    c.ret(0, self);
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

// The positions of the arguments that say what to convert to; -1: not one of this operator's.
struct ToArguments {
    int dtype, device, non_blocking, copy, format;
};

void convert_to(Call& c, DType dtype, const Value& device, ToArguments at) {
    static OperatorName to_copy("aten::_to_copy");
    const Tensor& self = c.tensor(0);
    bool copy = at.copy >= 0 && c.boolean(at.copy);
    bool stays = dtype == self.dtype && (device.tag != Tag::Device || same_device(self.device, device.device)) &&
                 laid_out_as(self, c.memory_format_or(at.format, MemoryFormat::Preserve));
    if (stays && !copy) return c.ret(0, self);
    Value none, self_value = Value::of(const_cast<Tensor*>(&self));
    Value non_blocking = at.non_blocking >= 0 ? c.args[at.non_blocking] : Value::of(false);
    c.ret(0, to_copy({self_value, dtype == self.dtype ? none : Value::of(dtype), none, device, none, non_blocking,
                      c.args[at.format]}));
}

template <int kDtype, int kDevice, int kNonBlocking, int kCopy, int kFormat>
void to_cpu(Call& c) {
    DType dtype = kDtype >= 0 ? c.dtype_or(kDtype, c.tensor(0).dtype) : c.tensor(0).dtype;
    convert_to(c, dtype, kDevice >= 0 ? c.args[kDevice] : Value(), {kDtype, kDevice, kNonBlocking, kCopy, kFormat});
}

Value device_value(Device d) {
    Value v;
    v.tag = Tag::Device;
    v.device = d;
    return v;
}

void to_other_cpu(Call& c) {
    const Tensor& other = c.tensor(1);
    convert_to(c, other.dtype, device_value(other.device), {-1, -1, 2, 3, 4});
}

void type_as_cpu(Call& c) {
    const Tensor &self = c.tensor(0), &other = c.tensor(1);
    static OperatorName to_copy("aten::_to_copy");
    if (self.dtype == other.dtype && same_device(self.device, other.device)) return c.ret(0, self);
    Value none;
    c.ret(0,
          to_copy({Value::of(const_cast<Tensor*>(&self)), Value::of(other.dtype), none, device_value(other.device)}));
}

template <DType kTo>
void method_cpu(Call& c) {
    convert_to(c, kTo, Value(), {-1, -1, -1, -1, 1});
}

void cpu_cpu(Call& c) { convert_to(c, c.tensor(0).dtype, device_value(Device()), {-1, -1, -1, -1, 1}); }

// contiguous(self, *, memory_format)
void contiguous_cpu(Call& c) {
    static OperatorName clone("aten::clone");
    const Tensor& self = c.tensor(0);
    MemoryFormat format = c.memory_format_or(1, MemoryFormat::Contiguous);
    MT_CHECK(format != MemoryFormat::Preserve, "preserve memory format is unsupported by the contiguous operator");
    if (laid_out_as(self, format)) return c.ret(0, self);
    c.ret(0, clone({Value::of(const_cast<Tensor*>(&self)), c.args[1]}));
}

KERNELS
{
    direct("_to_copy", to_copy_cpu);
    direct("bfloat16", method_cpu<DType::BFloat16>);
    direct("bool", method_cpu<DType::Bool>);
    direct("byte", method_cpu<DType::UInt8>);
    direct("cdouble", method_cpu<DType::Complex128>);
    direct("cfloat", method_cpu<DType::Complex64>);
    direct("chalf", method_cpu<DType::Complex32>);
    direct("char", method_cpu<DType::Int8>);
    direct("clone", clone_cpu);
    direct("contiguous", contiguous_cpu);
    direct("copy_", copy_cpu);
    direct("cpu", cpu_cpu);
    direct("double", method_cpu<DType::Float64>);
    direct("fill_.Scalar", fill_scalar_cpu);
    direct("fill_.Tensor", fill_tensor_cpu);
    direct("float", method_cpu<DType::Float32>);
    direct("half", method_cpu<DType::Float16>);
    direct("int", method_cpu<DType::Int32>);
    direct("long", method_cpu<DType::Int64>);
    direct("short", method_cpu<DType::Int16>);
    direct("to.device", to_cpu<2, 1, 3, 4, 5>);
    direct("to.dtype", to_cpu<1, -1, 2, 3, 4>);
    direct("to.dtype_layout", to_cpu<1, 3, 5, 6, 7>);
    direct("to.other", to_other_cpu);
    direct("to.prim_Device", to_cpu<2, 1, 3, 4, 5>);
    direct("type_as", type_as_cpu);
    direct("zero_", zero_cpu);
}

}  // namespace
}  // namespace mt
