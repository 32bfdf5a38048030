// Element types, devices, layouts, and lists of numbers.
#pragma once

#include <mindtorch/counted.h>
#include <mindtorch/numbers.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <typeinfo>
#include <unordered_map>
#include <vector>

namespace c10 {

using std::in_place;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;
using std::string_view;

// A value, or what the function gives where there is none.
template <class T, class F>
T value_or_else(const optional<T>& value, F&& otherwise) {
    return value ? *value : std::forward<F>(otherwise)();
}
template <class T, class F>
T value_or_else(optional<T>&& value, F&& otherwise) {
    return value ? *std::move(value) : std::forward<F>(otherwise)();
}

// ---- element types: C++ type, name, number ----
// The first numbers, which both lists below begin with.
#define MT_FORALL_NUMBERS_AND_BOOL(_)       \
    _(uint8_t, Byte)                        \
    _(int8_t, Char)                         \
    _(int16_t, Short)                       \
    _(int, Int)                             \
    _(int64_t, Long)                        \
    _(at::Half, Half)                       \
    _(float, Float)                         \
    _(double, Double)                       \
    _(c10::complex<c10::Half>, ComplexHalf) \
    _(c10::complex<float>, ComplexFloat)    \
    _(c10::complex<double>, ComplexDouble)  \
    _(bool, Bool)
#define AT_FORALL_SCALAR_TYPES_WITH_COMPLEX(_) \
    MT_FORALL_NUMBERS_AND_BOOL(_)              \
    _(at::BFloat16, BFloat16)                  \
    _(at::Float8_e5m2, Float8_e5m2)            \
    _(at::Float8_e4m3fn, Float8_e4m3fn)        \
    _(at::Float8_e5m2fnuz, Float8_e5m2fnuz)    \
    _(at::Float8_e4m3fnuz, Float8_e4m3fnuz)    \
    _(at::Float8_e8m0fnu, Float8_e8m0fnu)
// All of them, in the order of their numbers.
#define AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(_) \
    MT_FORALL_NUMBERS_AND_BOOL(_)                        \
    _(c10::qint8, QInt8)                                 \
    _(c10::quint8, QUInt8)                               \
    _(c10::qint32, QInt32)                               \
    _(at::BFloat16, BFloat16)                            \
    _(c10::quint4x2, QUInt4x2)                           \
    _(c10::quint2x4, QUInt2x4)                           \
    _(c10::bits1x8, Bits1x8)                             \
    _(c10::bits2x4, Bits2x4)                             \
    _(c10::bits4x2, Bits4x2)                             \
    _(c10::bits8, Bits8)                                 \
    _(c10::bits16, Bits16)                               \
    _(at::Float8_e5m2, Float8_e5m2)                      \
    _(at::Float8_e4m3fn, Float8_e4m3fn)                  \
    _(at::Float8_e5m2fnuz, Float8_e5m2fnuz)              \
    _(at::Float8_e4m3fnuz, Float8_e4m3fnuz)              \
    _(uint16_t, UInt16)                                  \
    _(uint32_t, UInt32)                                  \
    _(uint64_t, UInt64)                                  \
    _(c10::dummy_uint1_7_t<1>, UInt1)                    \
    _(c10::dummy_uint1_7_t<2>, UInt2)                    \
    _(c10::dummy_uint1_7_t<3>, UInt3)                    \
    _(c10::dummy_uint1_7_t<4>, UInt4)                    \
    _(c10::dummy_uint1_7_t<5>, UInt5)                    \
    _(c10::dummy_uint1_7_t<6>, UInt6)                    \
    _(c10::dummy_uint1_7_t<7>, UInt7)                    \
    _(c10::dummy_int1_7_t<1>, Int1)                      \
    _(c10::dummy_int1_7_t<2>, Int2)                      \
    _(c10::dummy_int1_7_t<3>, Int3)                      \
    _(c10::dummy_int1_7_t<4>, Int4)                      \
    _(c10::dummy_int1_7_t<5>, Int5)                      \
    _(c10::dummy_int1_7_t<6>, Int6)                      \
    _(c10::dummy_int1_7_t<7>, Int7)                      \
    _(at::Float8_e8m0fnu, Float8_e8m0fnu)                \
    _(c10::Float4_e2m1fn_x2, Float4_e2m1fn_x2)
#define AT_FORALL_QINT_TYPES(_) \
    _(c10::qint8, QInt8)        \
    _(c10::quint8, QUInt8) _(c10::qint32, QInt32) _(c10::quint4x2, QUInt4x2) _(c10::quint2x4, QUInt2x4)
#define AT_FORALL_FLOAT8_TYPES(_)           \
    _(at::Float8_e5m2, Float8_e5m2)         \
    _(at::Float8_e4m3fn, Float8_e4m3fn)     \
    _(at::Float8_e5m2fnuz, Float8_e5m2fnuz) \
    _(at::Float8_e4m3fnuz, Float8_e4m3fnuz) \
    _(at::Float8_e8m0fnu, Float8_e8m0fnu)
#define AT_FORALL_INT_TYPES(_) _(uint8_t, Byte) _(int8_t, Char) _(int16_t, Short) _(int, Int) _(int64_t, Long)
#define AT_FORALL_SCALAR_TYPES(_) AT_FORALL_INT_TYPES(_) _(float, Float) _(double, Double)
#define AT_FORALL_SCALAR_TYPES_AND(S, _) \
    AT_FORALL_SCALAR_TYPES(_)            \
    _(::c10::impl::ScalarTypeToCPPTypeT<::c10::ScalarType::S>, S)
#define AT_FORALL_COMPLEX_TYPES(_) _(c10::complex<float>, ComplexFloat) _(c10::complex<double>, ComplexDouble)

// Elements without arithmetic: of quantised tensors, of single bits, and of several numbers in one byte.
#define MINDTORCH_RAW(name, T)                  \
    struct name {                               \
        using underlying = T;                   \
        T val_;                                 \
        name() = default;                       \
        explicit name(T value) : val_(value) {} \
    };
MINDTORCH_RAW(qint8, int8_t)
MINDTORCH_RAW(quint8, uint8_t)
MINDTORCH_RAW(qint32, int32_t)
MINDTORCH_RAW(quint4x2, uint8_t)
MINDTORCH_RAW(quint2x4, uint8_t)
MINDTORCH_RAW(bits1x8, uint8_t)
MINDTORCH_RAW(bits2x4, uint8_t)
MINDTORCH_RAW(bits4x2, uint8_t)
MINDTORCH_RAW(bits8, uint8_t)
MINDTORCH_RAW(bits16, uint16_t)
MINDTORCH_RAW(Float4_e2m1fn_x2, uint8_t)
#undef MINDTORCH_RAW
inline bool operator==(const Float4_e2m1fn_x2& a, const Float4_e2m1fn_x2& b) { return a.val_ == b.val_; }
inline bool operator!=(const Float4_e2m1fn_x2& a, const Float4_e2m1fn_x2& b) { return a.val_ != b.val_; }
template <unsigned bits>
struct dummy_uint1_7_t {};
template <unsigned bits>
struct dummy_int1_7_t {};

enum class ScalarType : int8_t {
#define MINDTORCH_TYPE(T, Name) Name,
    AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(MINDTORCH_TYPE)
#undef MINDTORCH_TYPE
        Undefined,
    NumOptions
};
constexpr uint16_t NumScalarTypes = static_cast<uint16_t>(ScalarType::NumOptions);

}  // namespace c10
namespace at {
using namespace c10;
}
namespace c10 {

namespace impl {
template <ScalarType t>
struct ScalarTypeToCPPType;
}  // namespace impl
template <class T>
struct CppTypeToScalarType;
#define MINDTORCH_TYPE(T, Name)                          \
    template <>                                          \
    struct impl::ScalarTypeToCPPType<ScalarType::Name> { \
        using type = T;                                  \
        static type t; /* programs ask for its type */   \
    };                                                   \
    template <>                                          \
    struct CppTypeToScalarType<T> : std::integral_constant<ScalarType, ScalarType::Name> {};
AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(MINDTORCH_TYPE)
#undef MINDTORCH_TYPE
template <>
struct CppTypeToScalarType<long long> : std::integral_constant<ScalarType, ScalarType::Long> {};
namespace impl {
template <ScalarType t>
using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<t>::type;
}

inline const char* toString(ScalarType t) {
    switch (t) {
#define MINDTORCH_NAME(T, Name) \
    case ScalarType::Name:      \
        return #Name;
        AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(MINDTORCH_NAME)
#undef MINDTORCH_NAME
        case ScalarType::Undefined:
            return "Undefined";
        default:
            return "UNKNOWN_SCALAR";
    }
}
inline size_t elementSize(ScalarType t) {
    switch (t) {
        case ScalarType::Short:
        case ScalarType::UInt16:
        case ScalarType::Half:
        case ScalarType::BFloat16:
        case ScalarType::Bits16:
            return 2;
        case ScalarType::Int:
        case ScalarType::UInt32:
        case ScalarType::Float:
        case ScalarType::QInt32:
        case ScalarType::ComplexHalf:
            return 4;
        case ScalarType::Long:
        case ScalarType::UInt64:
        case ScalarType::Double:
        case ScalarType::ComplexFloat:
            return 8;
        case ScalarType::ComplexDouble:
            return 16;
        default:
            return 1;
    }
}
constexpr bool isComplexType(ScalarType t) {
    return t == ScalarType::ComplexHalf || t == ScalarType::ComplexFloat || t == ScalarType::ComplexDouble;
}
constexpr bool isFloat8Type(ScalarType t) {
    return (t >= ScalarType::Float8_e5m2 && t <= ScalarType::Float8_e4m3fnuz) || t == ScalarType::Float8_e8m0fnu;
}
constexpr bool isReducedFloatingType(ScalarType t) {
    return t == ScalarType::Half || t == ScalarType::BFloat16 || isFloat8Type(t) || t == ScalarType::Float4_e2m1fn_x2;
}
constexpr bool isFloatingType(ScalarType t) {
    return t == ScalarType::Float || t == ScalarType::Double || isReducedFloatingType(t);
}
constexpr bool isIntegralType(ScalarType t, bool includeBool = false) {
    return (static_cast<int>(t) >= 0 && static_cast<int>(t) <= 4) ||
           (static_cast<int>(t) >= 27 && static_cast<int>(t) <= 29) || (includeBool && t == ScalarType::Bool);
}
constexpr bool isQIntType(ScalarType t) {
    return t == ScalarType::QInt8 || t == ScalarType::QUInt8 || t == ScalarType::QInt32 || t == ScalarType::QUInt4x2 ||
           t == ScalarType::QUInt2x4;
}
inline ScalarType toUnderlying(ScalarType t) {
    return t == ScalarType::QInt8    ? ScalarType::Char
           : t == ScalarType::QInt32 ? ScalarType::Int
           : isQIntType(t)           ? ScalarType::Byte
                                     : t;
}
constexpr bool isBitsType(ScalarType t) { return t >= ScalarType::Bits1x8 && t <= ScalarType::Bits16; }
constexpr bool isBarebonesUnsignedType(ScalarType t) {
    return t == ScalarType::UInt16 || t == ScalarType::UInt32 || t == ScalarType::UInt64;
}
inline ScalarType toRealValueType(ScalarType t) {
    return t == ScalarType::ComplexHalf     ? ScalarType::Half
           : t == ScalarType::ComplexFloat  ? ScalarType::Float
           : t == ScalarType::ComplexDouble ? ScalarType::Double
                                            : t;
}
inline ScalarType toComplexType(ScalarType t) {
    if (isComplexType(t)) return t;
    if (t == ScalarType::Half) return ScalarType::ComplexHalf;
    if (t == ScalarType::Float || t == ScalarType::BFloat16) return ScalarType::ComplexFloat;
    TORCH_CHECK(t == ScalarType::Double, "Unknown Complex ScalarType for ", toString(t));
    return ScalarType::ComplexDouble;
}
inline std::ostream& operator<<(std::ostream& s, ScalarType t) { return s << toString(t); }

constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte, kU8 = ScalarType::Byte;
constexpr ScalarType kChar = ScalarType::Char, kInt8 = ScalarType::Char, kI8 = ScalarType::Char;
constexpr ScalarType kShort = ScalarType::Short, kInt16 = ScalarType::Short, kI16 = ScalarType::Short;
constexpr ScalarType kInt = ScalarType::Int, kInt32 = ScalarType::Int, kI32 = ScalarType::Int;
constexpr ScalarType kLong = ScalarType::Long, kInt64 = ScalarType::Long, kI64 = ScalarType::Long;
constexpr ScalarType kHalf = ScalarType::Half, kFloat16 = ScalarType::Half, kF16 = ScalarType::Half;
constexpr ScalarType kFloat = ScalarType::Float, kFloat32 = ScalarType::Float, kF32 = ScalarType::Float;
constexpr ScalarType kDouble = ScalarType::Double, kFloat64 = ScalarType::Double, kF64 = ScalarType::Double;
constexpr ScalarType kComplexHalf = ScalarType::ComplexHalf, kComplex32 = ScalarType::ComplexHalf;
constexpr ScalarType kComplexFloat = ScalarType::ComplexFloat, kComplex64 = ScalarType::ComplexFloat;
constexpr ScalarType kComplexDouble = ScalarType::ComplexDouble, kComplex128 = ScalarType::ComplexDouble;
constexpr ScalarType kQInt8 = ScalarType::QInt8, kQUInt8 = ScalarType::QUInt8, kQInt32 = ScalarType::QInt32;
constexpr ScalarType kQUInt4x2 = ScalarType::QUInt4x2, kQUInt2x4 = ScalarType::QUInt2x4;
constexpr ScalarType kBits1x8 = ScalarType::Bits1x8, kBits2x4 = ScalarType::Bits2x4, kBits4x2 = ScalarType::Bits4x2;
constexpr ScalarType kBits8 = ScalarType::Bits8, kBits16 = ScalarType::Bits16;
constexpr ScalarType kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16;
constexpr ScalarType kUInt16 = ScalarType::UInt16, kUInt32 = ScalarType::UInt32, kUInt64 = ScalarType::UInt64;
constexpr ScalarType kFloat8_e5m2 = ScalarType::Float8_e5m2, kFloat8_e4m3fn = ScalarType::Float8_e4m3fn;
constexpr ScalarType kFloat8_e5m2fnuz = ScalarType::Float8_e5m2fnuz, kFloat8_e4m3fnuz = ScalarType::Float8_e4m3fnuz;
constexpr ScalarType kFloat8_e8m0fnu = ScalarType::Float8_e8m0fnu, kFloat4_e2m1fn_x2 = ScalarType::Float4_e2m1fn_x2;

}  // namespace c10

namespace caffe2 {

// What tells one type from another.
class TypeIdentifier {
  public:
    explicit TypeIdentifier(c10::ScalarType t = c10::ScalarType::Undefined) : type_(t) {}
    template <class T>
    static TypeIdentifier Get() {
        return TypeIdentifier(c10::CppTypeToScalarType<T>::value);
    }
    static TypeIdentifier uninitialized() { return TypeIdentifier(); }
    friend bool operator==(TypeIdentifier a, TypeIdentifier b) { return a.type_ == b.type_; }
    friend bool operator!=(TypeIdentifier a, TypeIdentifier b) { return a.type_ != b.type_; }
    friend bool operator<(TypeIdentifier a, TypeIdentifier b) { return a.type_ < b.type_; }
    friend std::ostream& operator<<(std::ostream& s, TypeIdentifier t) { return s << static_cast<int>(t.type_); }

  private:
    c10::ScalarType type_;
};

// The element type as Tensor::dtype() gives it: compares with ScalarType.
class TypeMeta {
  public:
    template <class T>
    static TypeIdentifier Id() {
        return TypeIdentifier::Get<T>();
    }
    TypeIdentifier id() const { return TypeIdentifier(type_); }
    TypeMeta() = default;
    TypeMeta(c10::ScalarType t) : type_(t) {}
    template <class T>
    static TypeMeta Make() {
        return TypeMeta(c10::CppTypeToScalarType<T>::value);
    }
    c10::ScalarType toScalarType() const { return type_; }
    size_t itemsize() const { return c10::elementSize(type_); }
    bool isScalarType() const { return type_ != c10::ScalarType::Undefined; }
    bool isScalarType(c10::ScalarType t) const { return type_ == t; }
    template <class T>
    bool Match() const {
        return type_ == c10::CppTypeToScalarType<T>::value;
    }
    std::string_view name() const {
        switch (type_) {
#define MINDTORCH_NAME(T, Name) \
    case c10::ScalarType::Name: \
        return names<T>();
            AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(MINDTORCH_NAME)
#undef MINDTORCH_NAME
            default:
                return "nullptr (uninitialized)";
        }
    }
    friend bool operator==(TypeMeta a, TypeMeta b) { return a.type_ == b.type_; }
    friend bool operator!=(TypeMeta a, TypeMeta b) { return a.type_ != b.type_; }

  private:
    template <class T>
    static constexpr std::string_view names() {
        return std::is_same<T, uint8_t>::value                ? "unsigned char"
               : std::is_same<T, int8_t>::value               ? "signed char"
               : std::is_same<T, int16_t>::value              ? "short"
               : std::is_same<T, int>::value                  ? "int"
               : std::is_same<T, int64_t>::value              ? "long"
               : std::is_same<T, float>::value                ? "float"
               : std::is_same<T, double>::value               ? "double"
               : std::is_same<T, bool>::value                 ? "bool"
               : std::is_same<T, c10::Half>::value            ? "c10::Half"
               : std::is_same<T, c10::BFloat16>::value        ? "c10::BFloat16"
               : std::is_same<T, c10::complex<float>>::value  ? "c10::complex<float>"
               : std::is_same<T, c10::complex<double>>::value ? "c10::complex<double>"
                                                              : "an element type";
    }
    c10::ScalarType type_ = c10::ScalarType::Undefined;
};
inline std::ostream& operator<<(std::ostream& s, TypeMeta t) { return s << t.name(); }

}  // namespace caffe2

namespace c10 {

inline ScalarType typeMetaToScalarType(caffe2::TypeMeta t) { return t.toScalarType(); }
inline std::optional<ScalarType> optTypeMetaToScalarType(std::optional<caffe2::TypeMeta> t) {
    return t ? std::optional<ScalarType>(t->toScalarType()) : std::nullopt;
}
inline caffe2::TypeMeta scalarTypeToTypeMeta(ScalarType t) { return caffe2::TypeMeta(t); }
inline std::string toString(caffe2::TypeMeta t) { return toString(t.toScalarType()); }
inline bool isFloatingType(caffe2::TypeMeta t) { return isFloatingType(t.toScalarType()); }

// ---- devices ----
// In the order of their numbers.
// clang-format off
#define MINDTORCH_FORALL_DEVICES(_)                                                                                 \
    _(CPU) _(CUDA) _(MKLDNN) _(OPENGL) _(OPENCL) _(IDEEP) _(HIP) _(FPGA) _(MAIA) _(XLA) _(Vulkan) _(Metal) _(XPU)   \
    _(MPS) _(Meta) _(HPU) _(VE) _(Lazy) _(IPU) _(MTIA) _(PrivateUse1)
// clang-format on
enum class DeviceType : int8_t {
#define MINDTORCH_DEVICE(Name) Name,
    MINDTORCH_FORALL_DEVICES(MINDTORCH_DEVICE)
#undef MINDTORCH_DEVICE
        COMPILE_TIME_MAX_DEVICE_TYPES
};
constexpr int COMPILE_TIME_MAX_DEVICE_TYPES = static_cast<int>(DeviceType::COMPILE_TIME_MAX_DEVICE_TYPES);
#define MINDTORCH_DEVICE(Name) constexpr DeviceType k##Name = DeviceType::Name;
MINDTORCH_FORALL_DEVICES(MINDTORCH_DEVICE)
#undef MINDTORCH_DEVICE
using DeviceIndex = int8_t;

}  // namespace c10
namespace mindtorch MINDTORCH_HIDDEN {
// The name of the device PrivateUse1, which a program may give: "npu" where none did.
inline std::string own_device_name() {
    mt_value r{}, text{};
    check(api().call_python("mindtorch_v2._library.own_devices", "name", nullptr, 0, &r));
    const Object name = Object::steal(r.as.object);
    check(api().value_of(name.get(), &text));
    return std::string(text.as.string, text.len);
}
}  // namespace mindtorch MINDTORCH_HIDDEN
namespace c10 {

inline std::string DeviceTypeName(DeviceType t, bool lower_case = false) {
    static const char* const names[] = {"CPU",  "CUDA", "MKLDNN", "OPENGL", "OPENCL", "IDEEP", "HIP",
                                        "FPGA", "MAIA", "XLA",    "VULKAN", "METAL",  "XPU",   "MPS",
                                        "META", "HPU",  "VE",     "LAZY",   "IPU",    "MTIA",  "NPU"};
    const auto number = static_cast<size_t>(t);
    TORCH_CHECK(number < std::size(names), "Unknown device: ", number);
    if (t == DeviceType::PrivateUse1) {
        std::string own = mindtorch::own_device_name();
        if (!lower_case)
            std::transform(own.begin(), own.end(), own.begin(),
                           [](char c) { return static_cast<char>(c >= 'a' && c <= 'z' ? c & ~32 : c); });
        return own;
    }
    std::string s = names[number];
    if (lower_case) std::transform(s.begin(), s.end(), s.begin(), [](char c) { return static_cast<char>(c | 32); });
    return s;
}
inline std::ostream& operator<<(std::ostream& s, DeviceType t) { return s << DeviceTypeName(t, true); }

class Device {
  public:
    using Type = DeviceType;
    Device(DeviceType t, DeviceIndex index = -1) : type_(t), index_(index) {}
    Device(const std::string& text) : type_(DeviceType::CPU), index_(-1) {
        const size_t colon = text.find(':');
        const std::string name = text.substr(0, colon);
        bool found = name == "privateuseone";
        if (found) type_ = DeviceType::PrivateUse1;
        for (int i = 0; !found && i < COMPILE_TIME_MAX_DEVICE_TYPES; i++)
            if (DeviceTypeName(static_cast<DeviceType>(i), true) == name) {
                type_ = static_cast<DeviceType>(i);
                found = true;
            }
        bool number = colon != std::string::npos && colon + 1 < text.size();
        for (size_t i = colon + 1; number && i < text.size(); i++) number = text[i] >= '0' && text[i] <= '9';
        TORCH_CHECK(found && (colon == std::string::npos || number), "Invalid device string: '", text, "'");
        if (number) index_ = static_cast<DeviceIndex>(std::stoi(text.substr(colon + 1)));
    }
    Device(const char* text) : Device(std::string(text)) {}
    DeviceType type() const noexcept { return type_; }
    DeviceIndex index() const noexcept { return index_; }
    bool has_index() const noexcept { return index_ != -1; }
    void set_index(DeviceIndex i) { index_ = i; }
    bool is_cpu() const noexcept { return type_ == DeviceType::CPU; }
    bool is_cuda() const noexcept { return type_ == DeviceType::CUDA; }
    bool is_meta() const noexcept { return type_ == DeviceType::Meta; }
    bool is_mps() const noexcept { return type_ == DeviceType::MPS; }
    bool is_xpu() const noexcept { return type_ == DeviceType::XPU; }
    bool is_privateuseone() const noexcept { return type_ == DeviceType::PrivateUse1; }
    bool is_hip() const noexcept { return type_ == DeviceType::HIP; }
    bool is_xla() const noexcept { return type_ == DeviceType::XLA; }
    bool is_hpu() const noexcept { return type_ == DeviceType::HPU; }
    bool is_mtia() const noexcept { return type_ == DeviceType::MTIA; }
    bool is_maia() const noexcept { return type_ == DeviceType::MAIA; }
    bool is_ve() const noexcept { return type_ == DeviceType::VE; }
    bool is_lazy() const noexcept { return type_ == DeviceType::Lazy; }
    bool is_ipu() const noexcept { return type_ == DeviceType::IPU; }
    bool is_vulkan() const noexcept { return type_ == DeviceType::Vulkan; }
    bool is_metal() const noexcept { return type_ == DeviceType::Metal; }
    bool operator==(const Device& o) const noexcept { return type_ == o.type_ && index_ == o.index_; }
    bool operator!=(const Device& o) const noexcept { return !(*this == o); }
    std::string str() const {
        std::string s = DeviceTypeName(type_, true);
        return has_index() ? s + ":" + std::to_string(index_) : s;
    }

  private:
    DeviceType type_;
    DeviceIndex index_;
};
inline std::ostream& operator<<(std::ostream& s, const Device& d) { return s << d.str(); }

enum class Layout : int8_t { Strided, Sparse, Mkldnn, SparseCsr, SparseCsc, SparseBsr, SparseBsc, Jagged };
constexpr Layout kStrided = Layout::Strided, kSparse = Layout::Sparse, kSparseCsr = Layout::SparseCsr;
inline std::ostream& operator<<(std::ostream& s, Layout l) {
    static const char* const names[] = {"Strided",   "Sparse",    "Mkldnn",    "SparseCsr",
                                        "SparseCsc", "SparseBsr", "SparseBsc", "Jagged"};
    return s << names[static_cast<int>(l) & 7];
}
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
inline MemoryFormat get_contiguous_memory_format() { return MemoryFormat::Contiguous; }
inline std::ostream& operator<<(std::ostream& s, MemoryFormat f) {
    static const char* const names[] = {"Contiguous", "Preserve", "ChannelsLast", "ChannelsLast3d"};
    return s << names[static_cast<int>(f) & 3];
}

// ---- lists ----
// A view of a list that somebody else keeps alive.
template <class T>
class ArrayRef {
  public:
    using value_type = T;
    using iterator = const T*;
    using const_iterator = const T*;
    using size_type = size_t;
    using reverse_iterator = std::reverse_iterator<iterator>;
    constexpr ArrayRef() = default;
    constexpr ArrayRef(std::nullopt_t) = delete;
    constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
    constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
    constexpr ArrayRef(const T* begin, const T* end) : data_(begin), size_(static_cast<size_t>(end - begin)) {}
    template <class Container, class U = decltype(std::declval<const Container&>().data()),
              class = std::enable_if_t<std::is_convertible<U, const T*>::value &&
                                       std::is_integral<decltype(std::declval<const Container&>().size())>::value>>
    ArrayRef(const Container& c) : data_(c.data()), size_(c.size()) {}
    template <size_t n>
    constexpr ArrayRef(const T (&items)[n]) : data_(items), size_(n) {}
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Winit-list-lifetime"  // it lives as long as the call that it is an argument of
#endif
    constexpr ArrayRef(const std::initializer_list<T>& items)
        : data_(items.begin() == items.end() ? nullptr : items.begin()), size_(items.size()) {}
#pragma GCC diagnostic pop
    constexpr const T* data() const { return data_; }
    constexpr size_t size() const { return size_; }
    constexpr bool empty() const { return size_ == 0; }
    constexpr iterator begin() const { return data_; }
    constexpr iterator end() const { return data_ + size_; }
    constexpr iterator cbegin() const { return begin(); }
    constexpr iterator cend() const { return end(); }
    reverse_iterator rbegin() const { return reverse_iterator(end()); }
    reverse_iterator rend() const { return reverse_iterator(begin()); }
    constexpr const T& operator[](size_t i) const { return data_[i]; }
    const T& at(size_t i) const {
        TORCH_CHECK_INDEX(i < size_, "ArrayRef: invalid index Index = ", i, "; Length = ", size_);
        return data_[i];
    }
    const T& front() const { return at(0); }
    const T& back() const { return at(size_ - 1); }
    ArrayRef slice(size_t from, size_t count) const {
        TORCH_CHECK(from + count <= size_, "ArrayRef: invalid slice, N = ", from, "; M = ", count, "; size = ", size_);
        return ArrayRef(data_ + from, count);
    }
    ArrayRef slice(size_t from) const { return slice(from, size_ - from); }
    bool equals(ArrayRef o) const { return size_ == o.size_ && std::equal(begin(), end(), o.begin()); }
    std::vector<T> vec() const { return std::vector<T>(begin(), end()); }

  private:
    const T* data_ = nullptr;
    size_t size_ = 0;
};
template <class T>
bool operator==(ArrayRef<T> a, ArrayRef<T> b) {
    return a.equals(b);
}
template <class T>
bool operator!=(ArrayRef<T> a, ArrayRef<T> b) {
    return !a.equals(b);
}
template <class T>
bool operator==(const std::vector<T>& a, ArrayRef<T> b) {
    return ArrayRef<T>(a).equals(b);
}
template <class T>
bool operator==(ArrayRef<T> a, const std::vector<T>& b) {
    return a.equals(ArrayRef<T>(b));
}
template <class T>
bool operator!=(const std::vector<T>& a, ArrayRef<T> b) {
    return !ArrayRef<T>(a).equals(b);
}
template <class T>
bool operator!=(ArrayRef<T> a, const std::vector<T>& b) {
    return !a.equals(ArrayRef<T>(b));
}
template <class T>
std::ostream& operator<<(std::ostream& s, ArrayRef<T> list) {
    s << '[';
    for (size_t i = 0; i < list.size(); i++) s << (i ? ", " : "") << list[i];
    return s << ']';
}
template <class T>
ArrayRef<T> makeArrayRef(const std::vector<T>& v) {
    return v;
}
template <class T>
ArrayRef<T> makeArrayRef(const T* data, size_t n) {
    return ArrayRef<T>(data, n);
}

using IntArrayRef = ArrayRef<int64_t>;
using IntList = IntArrayRef;
using DoubleArrayRef = ArrayRef<double>;
// A size that tracing could leave open. Here it is a number, laid out like one.
class SymInt {
  public:
    constexpr SymInt() = default;
    constexpr SymInt(int64_t v) : v_(v) {}
    constexpr operator int64_t() const { return v_; }
    int64_t guard_int(const char*, int64_t) const { return v_; }
    int64_t expect_int() const { return v_; }
    int64_t as_int_unchecked() const { return v_; }
    std::optional<int64_t> maybe_as_int() const { return v_; }
    bool is_symbolic() const { return false; }
    bool is_heap_allocated() const { return false; }
    bool has_hint() const { return true; }
    SymInt min(SymInt o) const { return std::min(v_, o.v_); }
    SymInt max(SymInt o) const { return std::max(v_, o.v_); }
    bool sym_eq(SymInt o) const { return v_ == o.v_; }
    bool sym_ne(SymInt o) const { return v_ != o.v_; }
    bool sym_lt(SymInt o) const { return v_ < o.v_; }
    bool sym_le(SymInt o) const { return v_ <= o.v_; }
    bool sym_gt(SymInt o) const { return v_ > o.v_; }
    bool sym_ge(SymInt o) const { return v_ >= o.v_; }
    SymInt& operator+=(SymInt o) { return *this = v_ + o.v_; }
    SymInt& operator-=(SymInt o) { return *this = v_ - o.v_; }
    SymInt& operator*=(SymInt o) { return *this = v_ * o.v_; }
    SymInt& operator/=(SymInt o) { return *this = v_ / o.v_; }

  private:
    int64_t v_ = 0;
};
static_assert(sizeof(SymInt) == sizeof(int64_t), "a list of sizes is a list of numbers");
inline std::ostream& operator<<(std::ostream& s, SymInt v) { return s << static_cast<int64_t>(v); }
// A list of sizes is a list of numbers too, either way.
class SymIntArrayRef : public ArrayRef<SymInt> {
  public:
    using ArrayRef<SymInt>::ArrayRef;
    SymIntArrayRef() = default;
    SymIntArrayRef(ArrayRef<SymInt> list) : ArrayRef<SymInt>(list) {}
    SymIntArrayRef(const std::initializer_list<SymInt>& list) : ArrayRef<SymInt>(list) {}
    SymIntArrayRef(IntArrayRef list) : ArrayRef<SymInt>(reinterpret_cast<const SymInt*>(list.data()), list.size()) {}
    operator IntArrayRef() const { return IntArrayRef(reinterpret_cast<const int64_t*>(data()), size()); }
};
using SymFloat = double;
using SymBool = bool;
// The numbers of a list of sizes. (A macro, as with PyTorch: it would say where it was used.)
#define C10_AS_INTARRAYREF_SLOW(a) ::c10::asIntArrayRefSlow(a, __FILE__, __LINE__)
inline IntArrayRef asIntArrayRefSlow(SymIntArrayRef a, const char* = "", int64_t = 0) { return a; }
inline IntArrayRef asIntArrayRefUnchecked(SymIntArrayRef a) { return a; }
inline std::optional<IntArrayRef> asIntArrayRefSlowOpt(SymIntArrayRef a) { return IntArrayRef(a); }
inline SymIntArrayRef fromIntArrayRefSlow(IntArrayRef a) { return a; }
inline SymIntArrayRef fromIntArrayRefUnchecked(IntArrayRef a) { return a; }
inline SymIntArrayRef fromIntArrayRefKnownNonNegative(IntArrayRef a) { return a; }

template <class T>
class OptionalArrayRef {
  public:
    OptionalArrayRef() = default;
    OptionalArrayRef(std::nullopt_t) {}
    OptionalArrayRef(ArrayRef<T> list) : list_(list) {}
    OptionalArrayRef(const std::optional<ArrayRef<T>>& list) : list_(list) {}
    OptionalArrayRef(const T& one) : list_(ArrayRef<T>(one)) {}
    OptionalArrayRef(const std::initializer_list<T>& list) : list_(ArrayRef<T>(list)) {}
    // Of anything that is a list: a vector, an array of either kind.
    template <class U, class = std::enable_if_t<std::is_constructible<ArrayRef<T>, const U&>::value &&
                                                !std::is_convertible<const U&, T>::value &&
                                                !std::is_same<U, OptionalArrayRef>::value>>
    OptionalArrayRef(const U& list) : list_(ArrayRef<T>(list)) {}
    bool has_value() const { return list_.has_value(); }
    explicit operator bool() const { return has_value(); }
    const ArrayRef<T>& value() const { return list_.value(); }
    const ArrayRef<T>& operator*() const { return *list_; }
    const ArrayRef<T>* operator->() const { return &*list_; }
    ArrayRef<T> value_or(ArrayRef<T> otherwise) const { return list_.value_or(otherwise); }

  private:
    std::optional<ArrayRef<T>> list_;
};
using OptionalIntArrayRef = OptionalArrayRef<int64_t>;
using OptionalSymIntArrayRef = OptionalArrayRef<SymInt>;

// A list that grows; the number says how many items are expected.
template <class T, unsigned n = 8>
class SmallVector : public std::vector<T> {
  public:
    using std::vector<T>::vector;
    SmallVector(ArrayRef<T> list) : std::vector<T>(list.begin(), list.end()) {}
    template <class It, class = typename std::iterator_traits<It>::iterator_category>
    void append(It begin, It end) {
        this->insert(this->end(), begin, end);
    }
    void append(size_t count, const T& value) { this->insert(this->end(), count, value); }
    void append(std::initializer_list<T> list) { append(list.begin(), list.end()); }
    void append(const SmallVector& other) { append(other.begin(), other.end()); }
};
using DimVector = SmallVector<int64_t, 5>;
using SymDimVector = SmallVector<SymInt, 5>;

// Numbers below `end`, for range-based loops.
template <class I>
class IntegerRange {
  public:
    struct iterator {
        using iterator_category = std::input_iterator_tag;
        using value_type = I;
        using difference_type = std::ptrdiff_t;
        using pointer = const I*;
        using reference = I;
        I i;
        I operator*() const { return i; }
        iterator& operator++() {
            ++i;
            return *this;
        }
        bool operator==(const iterator& o) const { return i == o.i; }
        bool operator!=(const iterator& o) const { return i != o.i; }
    };
    IntegerRange(I begin, I end) : begin_(begin), end_(end < begin ? begin : end) {}
    iterator begin() const { return {begin_}; }
    iterator end() const { return {end_}; }

  private:
    I begin_, end_;
};
template <class I>
IntegerRange<I> irange(I end) {
    return {I(), end};
}
template <class I, class J>
IntegerRange<J> irange(I begin, J end) {
    return {static_cast<J>(begin), end};
}

template <class C>
int64_t multiply_integers(const C& list) {
    int64_t n = 1;
    for (auto v : list) n *= v;
    return n;
}
template <class It>
int64_t multiply_integers(It begin, It end) {
    int64_t n = 1;
    for (; begin != end; ++begin) n *= *begin;
    return n;
}

template <class C>
int64_t sum_integers(const C& list) {
    int64_t n = 0;
    for (auto v : list) n += v;
    return n;
}
template <class It>
int64_t sum_integers(It begin, It end) {
    int64_t n = 0;
    for (; begin != end; ++begin) n += *begin;
    return n;
}

}  // namespace c10

namespace at {
template <class T>
struct OpMathType {
    using type = T;
};
#define MINDTORCH_OPMATH(T) \
    template <>             \
    struct OpMathType<T> {  \
        using type = float; \
    };
MINDTORCH_OPMATH(c10::Half)
MINDTORCH_OPMATH(c10::BFloat16)
MINDTORCH_OPMATH(c10::Float8_e5m2)
MINDTORCH_OPMATH(c10::Float8_e4m3fn)
MINDTORCH_OPMATH(c10::Float8_e5m2fnuz)
MINDTORCH_OPMATH(c10::Float8_e4m3fnuz)
#undef MINDTORCH_OPMATH
template <>
struct OpMathType<c10::complex<c10::Half>> {
    using type = c10::complex<float>;
};
template <class T>
using opmath_type = typename OpMathType<T>::type;
// The type that sums are kept in.
template <class T, bool is_cuda>
struct AccumulateType {
    using type = std::conditional_t<
        std::is_same<T, bool>::value, bool,
        std::conditional_t<std::is_integral<T>::value, int64_t,
                           std::conditional_t<std::is_same<T, float>::value && !is_cuda, double, opmath_type<T>>>>;
};
template <class T>
struct AccumulateType<c10::complex<T>, false> {
    using type = c10::complex<typename AccumulateType<T, false>::type>;
};
template <class T, bool is_cuda>
using acc_type = typename AccumulateType<T, is_cuda>::type;
// The same of types that are known when the program runs.
inline ScalarType toOpMathType(ScalarType t) {
    switch (t) {
        case ScalarType::Half:
        case ScalarType::BFloat16:
        case ScalarType::Float8_e5m2:
        case ScalarType::Float8_e4m3fn:
        case ScalarType::Float8_e5m2fnuz:
        case ScalarType::Float8_e4m3fnuz:
            return ScalarType::Float;
        case ScalarType::ComplexHalf:
            return ScalarType::ComplexFloat;
        default:
            return t;
    }
}
inline ScalarType toAccumulateType(ScalarType t, bool is_cuda) {
    if (t == ScalarType::Bool || c10::isFloatingType(t) || c10::isComplexType(t)) {
        if (is_cuda) return toOpMathType(t);
        if (t == ScalarType::Float) return ScalarType::Double;
        if (t == ScalarType::ComplexFloat) return ScalarType::ComplexDouble;
        return toOpMathType(t);
    }
    TORCH_INTERNAL_ASSERT(c10::isIntegralType(t, false), "sums of ", t, " have no type of their own");
    return ScalarType::Long;
}
}  // namespace at

namespace std {
template <>
struct hash<c10::Device> {
    size_t operator()(const c10::Device& d) const {
        return static_cast<size_t>(d.type()) << 8 | static_cast<uint8_t>(d.index());
    }
};
}  // namespace std
