// A number of any kind, and the options of new tensors.
#pragma once

#include <mindtorch/fits.h>
#include <mindtorch/types.h>

#include <stdexcept>

namespace c10 {

class Scalar {
  public:
    Scalar() : Scalar(int64_t(0)) {}
    Scalar(double v) { set(v); }
    Scalar(float v) { set(static_cast<double>(v)); }
    Scalar(Half v) { set(static_cast<double>(static_cast<float>(v))); }
    Scalar(BFloat16 v) { set(static_cast<double>(static_cast<float>(v))); }
    Scalar(Float8_e5m2 v) { set(static_cast<double>(static_cast<float>(v))); }
    Scalar(Float8_e4m3fn v) { set(static_cast<double>(static_cast<float>(v))); }
    template <class T, class = std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value>>
    Scalar(T v) {
        v_.tag = MT_INT;
        v_.as.integer = static_cast<int64_t>(v);
    }
    // Not from pointers, which C++ would take for true.
    template <class T, class = std::enable_if_t<std::is_same<T, bool>::value>, class = void>
    Scalar(T v) {
        v_.tag = MT_BOOL;
        v_.as.boolean = v;
    }
    template <class T>
    Scalar(const c10::complex<T>& z) {
        v_.tag = MT_COMPLEX;
        v_.as.complex[0] = static_cast<double>(z.real());
        v_.as.complex[1] = static_cast<double>(z.imag());
    }
    static Scalar of(const mt_value& v) {
        Scalar s;
        s.v_ = v;
        return s;
    }
    const mt_value& value() const { return v_; }

    bool isFloatingPoint() const { return v_.tag == MT_DOUBLE; }
    bool isComplex() const { return v_.tag == MT_COMPLEX; }
    bool isBoolean() const { return v_.tag == MT_BOOL; }
    bool isIntegral(bool includeBool = false) const { return v_.tag == MT_INT || (includeBool && isBoolean()); }
    bool isSymbolic() const { return false; }
    ScalarType type() const {
        return isFloatingPoint() ? ScalarType::Double
               : isComplex()     ? ScalarType::ComplexDouble
               : isBoolean()     ? ScalarType::Bool
                                 : ScalarType::Long;
    }
    template <class T>
    T to() const {
        static_assert(std::is_constructible<T, float>::value && !std::is_same<T, Scalar>::value,
                      "at::Scalar::to, at::Tensor::item: this C++ type is no type of a number");
        if constexpr (c10::is_complex<T>::value) {
            return isComplex() ? T(static_cast<typename T::value_type>(v_.as.complex[0]),
                                   static_cast<typename T::value_type>(v_.as.complex[1]))
                               : T(static_cast<typename T::value_type>(to<double>()));
        } else {
            if (isComplex()) {
                if (std::is_same<T, bool>::value) return v_.as.complex[0] != 0 || v_.as.complex[1] != 0;
                if (v_.as.complex[1] != 0) refuse<T>();
                return from(v_.as.complex[0], static_cast<T*>(nullptr));
            }
            if (isFloatingPoint()) return from(v_.as.real, static_cast<T*>(nullptr));
            if (isBoolean()) return from(static_cast<int64_t>(v_.as.boolean != 0), static_cast<T*>(nullptr));
            return from(v_.as.integer, static_cast<T*>(nullptr));
        }
    }
    double toDouble() const { return to<double>(); }
    float toFloat() const { return to<float>(); }
    int64_t toLong() const { return to<int64_t>(); }
    int toInt() const { return to<int>(); }
    int16_t toShort() const { return to<int16_t>(); }
    int8_t toChar() const { return to<int8_t>(); }
    uint8_t toByte() const { return to<uint8_t>(); }
    uint16_t toUInt16() const { return to<uint16_t>(); }
    uint32_t toUInt32() const { return to<uint32_t>(); }
    uint64_t toUInt64() const { return to<uint64_t>(); }
    bool toBool() const { return to<bool>(); }
    Half toHalf() const { return to<Half>(); }
    BFloat16 toBFloat16() const { return to<BFloat16>(); }
    complex<double> toComplexDouble() const { return to<complex<double>>(); }
    int64_t toSymInt() const { return toLong(); }
    template <class T>
    bool equal(T v) const {
        return isComplex()         ? (v_.as.complex[0] == static_cast<double>(v) && v_.as.complex[1] == 0)
               : isFloatingPoint() ? v_.as.real == static_cast<double>(v)
                                   : to<int64_t>() == static_cast<int64_t>(v);
    }
    Scalar conj() const { return isComplex() ? Scalar(complex<double>(v_.as.complex[0], -v_.as.complex[1])) : *this; }
    Scalar log() const {
        if (isComplex()) {
            const std::complex<double> z = std::log(std::complex<double>(v_.as.complex[0], v_.as.complex[1]));
            return Scalar(complex<double>(z.real(), z.imag()));
        }
        return Scalar(std::log(toDouble()));
    }
    template <class T>
    bool equal(const c10::complex<T>& v) const {
        return toComplexDouble() == complex<double>(static_cast<double>(v.real()), static_cast<double>(v.imag()));
    }
    Scalar operator-() const {
        if (isFloatingPoint()) return Scalar(-v_.as.real);
        if (isComplex()) return Scalar(complex<double>(-v_.as.complex[0], -v_.as.complex[1]));
        return Scalar(-toLong());
    }

  private:
    void set(double v) {
        v_.tag = MT_DOUBLE;
        v_.as.real = v;
    }
    template <class T>
    [[noreturn]] static void refuse() {
        throw std::runtime_error(str("value cannot be converted to type ", mt::type_name<T>(), " without overflow"));
    }
    template <class From, class T>
    static T from(From v, T*) {
        using Wide = std::conditional_t<std::is_integral<T>::value, T,
                                        std::conditional_t<std::is_same<T, double>::value, double, float>>;
        if (std::is_arithmetic<T>::value && !mt::fits<T>(v)) refuse<T>();
        return T(static_cast<Wide>(v));
    }
    mt_value v_{};
};
inline std::ostream& operator<<(std::ostream& s, const Scalar& v) {
    if (v.isFloatingPoint()) return s << v.toDouble();
    if (v.isComplex()) return s << v.toComplexDouble();
    if (v.isBoolean()) return s << (v.toBool() ? "true" : "false");
    return s << v.toLong();
}

class TensorOptions {
  public:
    TensorOptions() = default;
    TensorOptions(ScalarType t) : dtype_(t) {}
    TensorOptions(caffe2::TypeMeta t) : dtype_(t.toScalarType()) {}
    TensorOptions(Device d) : device_(d) {}
    TensorOptions(DeviceType d) : device_(Device(d)) {}
    TensorOptions(DeviceType d, DeviceIndex index) : device_(Device(d, index)) {}
    TensorOptions(const char* device) : device_(Device(device)) {}
    TensorOptions(Layout l) : layout_(l) {}
    TensorOptions(MemoryFormat f) : memory_format_(f) {}

    TensorOptions dtype(std::optional<ScalarType> t) const { return with(&TensorOptions::dtype_, t); }
    TensorOptions dtype(ScalarType t) const { return dtype(std::optional<ScalarType>(t)); }
    TensorOptions dtype(caffe2::TypeMeta t) const {
        return with(&TensorOptions::dtype_, std::optional<ScalarType>(t.toScalarType()));
    }
    template <class T>
    TensorOptions dtype() const {
        return dtype(CppTypeToScalarType<T>::value);
    }
    TensorOptions device(std::optional<Device> d) const { return with(&TensorOptions::device_, d); }
    TensorOptions device(DeviceType t, DeviceIndex i = -1) const { return device(Device(t, i)); }
    TensorOptions device_index(DeviceIndex i) const { return device(Device(DeviceType::CUDA, i)); }
    TensorOptions layout(std::optional<Layout> l) const { return with(&TensorOptions::layout_, l); }
    TensorOptions requires_grad(std::optional<bool> v) const { return with(&TensorOptions::requires_grad_, v); }
    TensorOptions pinned_memory(std::optional<bool> v) const { return with(&TensorOptions::pinned_memory_, v); }
    TensorOptions memory_format(std::optional<MemoryFormat> v) const { return with(&TensorOptions::memory_format_, v); }

    caffe2::TypeMeta dtype() const {
        return caffe2::TypeMeta(dtype_ ? *dtype_ : static_cast<ScalarType>(mindtorch::api().default_dtype()));
    }
    Device device() const { return device_.value_or(Device(DeviceType::CPU)); }
    DeviceIndex device_index() const { return device().index(); }
    Layout layout() const { return layout_.value_or(Layout::Strided); }
    bool requires_grad() const { return requires_grad_.value_or(false); }
    bool pinned_memory() const { return pinned_memory_.value_or(false); }
    bool has_dtype() const { return dtype_.has_value(); }
    bool has_device() const { return device_.has_value(); }
    bool has_layout() const { return layout_.has_value(); }
    bool has_requires_grad() const { return requires_grad_.has_value(); }
    bool has_memory_format() const { return memory_format_.has_value(); }
    bool has_pinned_memory() const { return pinned_memory_.has_value(); }
    bool is_sparse() const { return layout() == Layout::Sparse; }
    bool is_sparse_csr() const { return layout() == Layout::SparseCsr; }
    bool is_sparse_compressed() const {
        return layout() == Layout::SparseCsr || layout() == Layout::SparseCsc || layout() == Layout::SparseBsr ||
               layout() == Layout::SparseBsc;
    }
    bool type_equal(const TensorOptions& o) const {
        return device().type() == o.device().type() && layout() == o.layout() && dtype() == o.dtype();
    }
    std::optional<ScalarType> dtype_opt() const { return dtype_; }
    std::optional<Device> device_opt() const { return device_; }
    std::optional<Layout> layout_opt() const { return layout_; }
    std::optional<bool> requires_grad_opt() const { return requires_grad_; }
    std::optional<bool> pinned_memory_opt() const { return pinned_memory_; }
    std::optional<MemoryFormat> memory_format_opt() const { return memory_format_; }
    TensorOptions merge_in(const TensorOptions& o) const {
        TensorOptions r = *this;
        if (o.dtype_) r.dtype_ = o.dtype_;
        if (o.device_) r.device_ = o.device_;
        if (o.layout_) r.layout_ = o.layout_;
        if (o.requires_grad_) r.requires_grad_ = o.requires_grad_;
        if (o.pinned_memory_) r.pinned_memory_ = o.pinned_memory_;
        if (o.memory_format_) r.memory_format_ = o.memory_format_;
        return r;
    }
    TensorOptions merge_memory_format(std::optional<MemoryFormat> f) const { return f ? memory_format(f) : *this; }

  private:
// GCC takes the copy of an empty std::optional for a use of what it would hold.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
    template <class T>
    TensorOptions with(std::optional<T> TensorOptions::* field, std::optional<T> value) const {
        TensorOptions r = *this;
        r.*field = value;
        return r;
    }
#pragma GCC diagnostic pop
    std::optional<ScalarType> dtype_;
    std::optional<Device> device_;
    std::optional<Layout> layout_;
    std::optional<bool> requires_grad_, pinned_memory_;
    std::optional<MemoryFormat> memory_format_;
};
inline std::ostream& operator<<(std::ostream& s, const TensorOptions& o) {
    const auto told = [&](const char* label, const auto& value, bool given) {
        s << label << value << (given ? "" : " (default)");
    };
    told("TensorOptions(dtype=", o.dtype(), o.has_dtype());
    told(", device=", o.device(), o.has_device());
    told(", layout=", o.layout(), o.has_layout());
    told(", requires_grad=", o.requires_grad() ? "true" : "false", o.has_requires_grad());
    told(", pinned_memory=", o.pinned_memory() ? "true" : "false", o.pinned_memory_opt().has_value());
    s << ", memory_format=";
    if (o.has_memory_format())
        s << *o.memory_format_opt();
    else
        s << "(nullopt)";
    return s << ')';
}
inline TensorOptions dtype(ScalarType t) { return TensorOptions().dtype(t); }
inline TensorOptions dtype(caffe2::TypeMeta t) { return TensorOptions().dtype(t); }
template <class T>
TensorOptions dtype() {
    return dtype(CppTypeToScalarType<T>::value);
}
inline TensorOptions device(Device d) { return TensorOptions().device(d); }
inline TensorOptions device_index(DeviceIndex i) { return TensorOptions().device_index(i); }
inline TensorOptions layout(Layout l) { return TensorOptions().layout(l); }
inline TensorOptions requires_grad(bool v = true) { return TensorOptions().requires_grad(v); }
inline TensorOptions memory_format(MemoryFormat f) { return TensorOptions().memory_format(f); }
inline caffe2::TypeMeta get_default_dtype() {
    return caffe2::TypeMeta(static_cast<ScalarType>(mindtorch::api().default_dtype()));
}
inline ScalarType get_default_dtype_as_scalartype() { return get_default_dtype().toScalarType(); }
inline caffe2::TypeMeta get_default_complex_dtype() {
    return caffe2::TypeMeta(toComplexType(get_default_dtype_as_scalartype()));
}
// What the four optional parts of options mean where they are not given.
inline ScalarType dtype_or_default(std::optional<ScalarType> t) { return t ? *t : get_default_dtype_as_scalartype(); }
inline caffe2::TypeMeta dtype_or_default(std::optional<caffe2::TypeMeta> t) { return t ? *t : get_default_dtype(); }
inline Layout layout_or_default(std::optional<Layout> l) { return l.value_or(Layout::Strided); }
inline Device device_or_default(std::optional<Device> d) { return d.value_or(Device(DeviceType::CPU)); }
inline bool pinned_memory_or_default(std::optional<bool> v) { return v.value_or(false); }

}  // namespace c10
