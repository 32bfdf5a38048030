// c10::IValue: any value of the schema language; and how C++ types become values of the boundary and come back.
#pragma once

#include <mindtorch/containers.h>

#include <functional>
#include <map>

namespace torch {
// The base of C++ classes that Python programs hold: torch::class_.
struct CustomClassHolder : c10::intrusive_ptr_target {};
namespace jit {
using CustomClassHolder = torch::CustomClassHolder;
}
}  // namespace torch

namespace c10 {

class IValue {
  public:
    enum class Tag {
        None,
        Tensor,
        Bool,
        Int,
        Double,
        ComplexDouble,
        String,
        Device,
        List,
        Tuple,
        Dict,
        Generator,
        Capsule,
        Object
    };
    using Items = std::vector<IValue>;
    using Entries = std::vector<std::pair<IValue, IValue>>;

    IValue() = default;
    IValue(std::nullopt_t) {}
    IValue(at::Tensor t) : tag_(Tag::Tensor), tensor_(std::move(t)) {}
    IValue(bool v) : tag_(Tag::Bool), integer_(v) {}
    IValue(int32_t v) : tag_(Tag::Int), integer_(v) {}
    IValue(int64_t v) : tag_(Tag::Int), integer_(v) {}
    IValue(double v) : tag_(Tag::Double), real_(v) {}
    IValue(float v) : IValue(static_cast<double>(v)) {}
    IValue(c10::complex<double> v) : tag_(Tag::ComplexDouble), shared_(std::make_shared<c10::complex<double>>(v)) {}
    IValue(std::string v) : tag_(Tag::String), shared_(std::make_shared<std::string>(std::move(v))) {}
    IValue(const char* v) : IValue(std::string(v)) {}
    IValue(std::string_view v) : IValue(std::string(v)) {}
    IValue(Device d) : tag_(Tag::Device), shared_(std::make_shared<Device>(d)) {}
    IValue(ScalarType t) : IValue(static_cast<int64_t>(t)) {}
    IValue(Layout v) : IValue(static_cast<int64_t>(v)) {}
    IValue(MemoryFormat v) : IValue(static_cast<int64_t>(v)) {}
    IValue(const Scalar& s) {
        if (s.isFloatingPoint())
            *this = IValue(s.toDouble());
        else if (s.isBoolean())
            *this = IValue(s.toBool());
        else if (s.isComplex())
            *this = IValue(s.toComplexDouble());
        else
            *this = IValue(s.toLong());
    }
    IValue(at::Generator g) : tag_(Tag::Generator), shared_(std::make_shared<at::Generator>(std::move(g))) {}
    IValue(mindtorch::Object o) : tag_(Tag::Object), shared_(std::make_shared<mindtorch::Object>(std::move(o))) {}
    template <class T>
    IValue(const std::optional<T>& o) {
        if (o) *this = IValue(*o);
    }
    template <class T>
    IValue(const std::vector<T>& list) : IValue(ArrayRef<T>(list.data(), list.size())) {}
    IValue(const std::vector<bool>& list) : tag_(Tag::List) {
        Items items;
        for (bool b : list) items.emplace_back(b);
        shared_ = std::make_shared<Items>(std::move(items));
    }
    template <class T>
    IValue(ArrayRef<T> list) : tag_(Tag::List), shared_(std::make_shared<Items>(list.begin(), list.end())) {}
    template <class T>
    IValue(const List<T>& list) : IValue(list.vec()) {}
    IValue(const List<IValue>& list) : tag_(Tag::List), shared_(list.shared()) {}
    template <class T, size_t n>
    IValue(const std::array<T, n>& list) : IValue(ArrayRef<T>(list.data(), n)) {}
    template <class K, class V>
    IValue(const Dict<K, V>& dict) : tag_(Tag::Dict) {
        Entries entries;
        for (const auto& e : dict) entries.emplace_back(IValue(e.key()), IValue(e.value()));
        shared_ = std::make_shared<Entries>(std::move(entries));
    }
    template <class... T>
    IValue(const std::tuple<T...>& t)
        : tag_(Tag::Tuple),
          shared_(std::apply([](const auto&... v) { return std::make_shared<Items>(Items{IValue(v)...}); }, t)) {}
    template <class T, class = std::enable_if_t<std::is_base_of<intrusive_ptr_target, T>::value>>
    IValue(intrusive_ptr<T> p);
    static IValue tuple(Items items) { return of(Tag::Tuple, std::make_shared<Items>(std::move(items))); }
    static IValue list(Items items) { return of(Tag::List, std::make_shared<Items>(std::move(items))); }
    static IValue dict(Entries entries) { return of(Tag::Dict, std::make_shared<Entries>(std::move(entries))); }
    template <class T>
    static IValue make_capsule(intrusive_ptr<T> p) {
        return IValue(std::move(p));
    }

    Tag tag() const { return tag_; }
    bool isNone() const { return tag_ == Tag::None; }
    bool isTensor() const { return tag_ == Tag::Tensor; }
    bool isBool() const { return tag_ == Tag::Bool; }
    bool isInt() const { return tag_ == Tag::Int; }
    bool isDouble() const { return tag_ == Tag::Double; }
    bool isComplexDouble() const { return tag_ == Tag::ComplexDouble; }
    bool isScalar() const { return isBool() || isInt() || isDouble() || isComplexDouble(); }
    bool isString() const { return tag_ == Tag::String; }
    bool isDevice() const { return tag_ == Tag::Device; }
    bool isList() const { return tag_ == Tag::List; }
    bool isTuple() const { return tag_ == Tag::Tuple; }
    bool isGenericDict() const { return tag_ == Tag::Dict; }
    bool isGenerator() const { return tag_ == Tag::Generator; }
    bool isCapsule() const { return tag_ == Tag::Capsule; }
    bool isCustomClass() const { return tag_ == Tag::Capsule || tag_ == Tag::Object; }
    bool isIntList() const { return all(Tag::Int); }
    bool isDoubleList() const { return all(Tag::Double); }
    bool isBoolList() const { return all(Tag::Bool); }
    bool isTensorList() const { return all(Tag::Tensor); }

    const at::Tensor& toTensor() const& {
        expect(Tag::Tensor, "Tensor");
        return tensor_;
    }
    at::Tensor toTensor() && {
        expect(Tag::Tensor, "Tensor");
        return std::move(tensor_);
    }
    bool toBool() const {
        expect(Tag::Bool, "Bool");
        return integer_ != 0;
    }
    int64_t toInt() const {
        expect(Tag::Int, "Int");
        return integer_;
    }
    double toDouble() const {
        if (isInt()) return static_cast<double>(integer_);
        expect(Tag::Double, "Double");
        return real_;
    }
    c10::complex<double> toComplexDouble() const {
        expect(Tag::ComplexDouble, "ComplexDouble");
        return get<c10::complex<double>>();
    }
    std::string toStringRef() const {
        expect(Tag::String, "String");
        return get<std::string>();
    }
    std::string_view toStringView() const {
        expect(Tag::String, "String");
        return get<std::string>();
    }
    Device toDevice() const {
        if (isString()) return Device(toStringRef());
        expect(Tag::Device, "Device");
        return get<Device>();
    }
    ScalarType toScalarType() const { return static_cast<ScalarType>(toInt()); }
    Layout toLayout() const { return static_cast<Layout>(toInt()); }
    MemoryFormat toMemoryFormat() const { return static_cast<MemoryFormat>(toInt()); }
    Scalar toScalar() const {
        if (isDouble()) return real_;
        if (isBool()) return toBool();
        if (isComplexDouble()) return toComplexDouble();
        return toInt();
    }
    at::Generator toGenerator() const {
        expect(Tag::Generator, "Generator");
        return get<at::Generator>();
    }
    const Items& toListRef() const {
        expect(Tag::List, "List");
        return get<Items>();
    }
    const Items& items() const {
        TORCH_CHECK(isList() || isTuple(), "Expected a list or tuple but got ", kind());
        return get<Items>();
    }
    const Items& toTupleElements() const {
        expect(Tag::Tuple, "Tuple");
        return get<Items>();
    }
    const Entries& entries() const {
        expect(Tag::Dict, "Dict");
        return get<Entries>();
    }
    struct TupleView {
        const IValue* value;
        const Items& elements() const { return value->toTupleElements(); }
        const TupleView* operator->() const { return this; }
    };
    TupleView toTuple() const { return TupleView{this}; }
    const mindtorch::Object& object() const {
        expect(Tag::Object, "Object");
        return get<mindtorch::Object>();
    }
    List<IValue> toList() const {
        expect(Tag::List, "List");
        return List<IValue>(std::static_pointer_cast<Items>(shared_));
    }
    Dict<IValue, IValue> toGenericDict() const;
    TupleView toTupleRef() const { return toTuple(); }
    std::vector<int64_t> toIntVector() const { return vector_of<int64_t>(); }
    List<int64_t> toIntList() const { return List<int64_t>(vector_of<int64_t>()); }
    List<double> toDoubleList() const { return List<double>(vector_of<double>()); }
    std::vector<double> toDoubleVector() const { return vector_of<double>(); }
    List<bool> toBoolList() const { return List<bool>(vector_of<bool>()); }
    List<at::Tensor> toTensorList() const { return List<at::Tensor>(vector_of<at::Tensor>()); }
    std::vector<at::Tensor> toTensorVector() const { return vector_of<at::Tensor>(); }
    template <class T>
    intrusive_ptr<T> toCustomClass() const;
    intrusive_ptr<torch::CustomClassHolder> toCapsule() const;
    template <class T>
    T to() const;
    template <class T>
    std::optional<T> toOptional() const {
        return isNone() ? std::nullopt : std::optional<T>(to<T>());
    }
    std::string tagKind() const { return kind(); }
    template <class T>
    std::vector<T> vector_of() const {
        std::vector<T> all;
        for (const IValue& v : items()) all.push_back(v.to<T>());
        return all;
    }
    bool is(const IValue& o) const {
        if (tag_ != o.tag_) return false;
        return isTensor()   ? tensor_.is_same(o.tensor_)
               : isDouble() ? real_ == o.real_
                            : integer_ == o.integer_ && shared_ == o.shared_;
    }

  private:
    static IValue of(Tag t, std::shared_ptr<void> p) {
        IValue v;
        v.tag_ = t;
        v.shared_ = std::move(p);
        return v;
    }
    template <class T>
    const T& get() const {
        return *static_cast<const T*>(shared_.get());
    }
    bool all(Tag t) const {
        if (!isList()) return false;
        for (const IValue& v : get<Items>())
            if (v.tag_ != t) return false;
        return true;
    }
    const char* kind() const {
        static const char* const names[] = {"None",          "Tensor",    "Bool",    "Int",         "Double",
                                            "ComplexDouble", "String",    "Device",  "GenericList", "Tuple",
                                            "GenericDict",   "Generator", "Capsule", "Object"};
        return names[static_cast<int>(tag_)];
    }
    void expect(Tag t, const char* name) const { TORCH_CHECK(tag_ == t, "Expected ", name, " but got ", kind()); }
    Tag tag_ = Tag::None;
    int64_t integer_ = 0;
    double real_ = 0;
    at::Tensor tensor_;
    std::shared_ptr<void> shared_;
};

// By content; tensors and objects by being the same.
inline bool operator==(const IValue& a, const IValue& b) {
    if (a.tag() != b.tag()) return false;
    switch (a.tag()) {
        case IValue::Tag::String:
            return a.toStringView() == b.toStringView();
        case IValue::Tag::List:
        case IValue::Tag::Tuple:
            return a.items() == b.items();
        case IValue::Tag::Device:
            return a.toDevice() == b.toDevice();
        case IValue::Tag::ComplexDouble:
            return a.toComplexDouble() == b.toComplexDouble();
        default:
            return a.is(b);
    }
}
inline bool operator!=(const IValue& a, const IValue& b) { return !(a == b); }

namespace ivalue {
struct Tuple {
    static IValue create(IValue::Items items) { return IValue::tuple(std::move(items)); }
    template <class... A>
    static IValue create(A&&... items) {
        return IValue::tuple(IValue::Items{IValue(std::forward<A>(items))...});
    }
};
}  // namespace ivalue
namespace impl {
using GenericList = List<IValue>;
using GenericDict = Dict<IValue, IValue>;
// The same items, of the given types or of any.
template <class T>
List<T> toTypedList(const GenericList& list) {
    List<T> typed;
    for (size_t i = 0; i < list.size(); i++) typed.push_back(IValue(list.get(i)).template to<T>());
    return typed;
}
template <class K, class V>
Dict<K, V> toTypedDict(const GenericDict& dict) {
    Dict<K, V> typed;
    for (const auto& e : dict) typed.insert(e.key().template to<K>(), e.value().template to<V>());
    return typed;
}
template <class T>
GenericList toList(const List<T>& list) {
    GenericList any;
    for (size_t i = 0; i < list.size(); i++) any.push_back(IValue(list.get(i)));
    return any;
}
template <class K, class V>
GenericDict toGenericDict(const Dict<K, V>& dict) {
    GenericDict any;
    for (const auto& e : dict) any.insert(IValue(e.key()), IValue(e.value()));
    return any;
}
}  // namespace impl

inline std::ostream& operator<<(std::ostream& s, const IValue& v) {
    auto list = [&](const char* open, const IValue::Items& items, const char* close) {
        s << open;
        for (size_t i = 0; i < items.size(); i++) s << (i ? ", " : "") << items[i];
        s << close;
    };
    switch (v.tag()) {
        case IValue::Tag::None:
            return s << "None";
        case IValue::Tag::Tensor:
            return s << v.toTensor();
        case IValue::Tag::Bool:
            return s << (v.toBool() ? "True" : "False");
        case IValue::Tag::Int:
            return s << v.toInt();
        case IValue::Tag::Double: {
            const double d = v.toDouble();
            return d == std::floor(d) && std::abs(d) < 1e15 ? s << static_cast<int64_t>(d) << "." : s << d;
        }
        case IValue::Tag::ComplexDouble:
            return s << v.toComplexDouble();
        case IValue::Tag::String:
            return s << v.toStringRef();
        case IValue::Tag::Device:
            return s << v.toDevice();
        case IValue::Tag::List:
            list("[", v.items(), "]");
            return s;
        case IValue::Tag::Tuple:
            list("(", v.items(), v.items().size() == 1 ? ",)" : ")");
            return s;
        case IValue::Tag::Dict: {
            s << "{";
            bool first = true;
            for (const auto& e : v.entries()) {
                s << (first ? "" : ", ") << e.first << ": " << e.second;
                first = false;
            }
            return s << "}";
        }
        default:
            return s << "<" << v.tagKind() << ">";
    }
}

}  // namespace c10

// What a dict takes as keys.
template <>
struct std::hash<c10::IValue> {
    size_t operator()(const c10::IValue& v) const {
        if (v.isString()) return std::hash<std::string_view>()(v.toStringView());
        if (v.isInt()) return std::hash<int64_t>()(v.toInt());
        if (v.isDouble()) return std::hash<double>()(v.toDouble());
        if (v.isBool()) return v.toBool();
        return static_cast<size_t>(v.tag());
    }
};
namespace c10 {
inline Dict<IValue, IValue> IValue::toGenericDict() const {
    Dict<IValue, IValue> dict;
    for (const auto& e : entries()) dict.insert(e.first, e.second);
    return dict;
}
}  // namespace c10

namespace mindtorch MINDTORCH_HIDDEN {

// ---- a C++ type as a value of the boundary ----

// A value that borrows from the C++ object, or from `keep`.
struct Packed {
    mt_value v{};
    Object keep;
    std::shared_ptr<void> memory;
};
// The name of a class that torch::class_ registered, "ns.Name"; empty before.
template <class T>
std::string& class_name() {
    static std::string name;
    return name;
}
inline mt_value object_value(const Object& o) {
    mt_value v{};
    v.tag = MT_OBJECT;
    v.as.object = o.get();
    return v;
}
template <class T>
struct Convert {  // pack(const T&), from(const mt_value&), schema()
    static_assert(sizeof(T) == 0,
                  "mindtorch_v2: no operator takes or gives a value of this C++ type; "
                  "docs/cpp-operators.md lists the types that cross");
    static Packed pack(const T&);
    static T from(const mt_value&);
    static std::string schema();
};
template <class T>
struct Convert<const T> : Convert<T> {};
template <class T>
Packed pack(const T& v) {
    return Convert<std::decay_t<T>>::pack(v);
}
template <class T>
T from(const mt_value& v) {
    return Convert<T>::from(v);
}
// For a result: what is given away.
inline mt_value owned(Packed p) {
    mt_value v = p.v;
    if (v.tag == MT_TENSOR) {
        api().retain(v.as.tensor);
    } else if (v.tag >= MT_INT_LIST && v.tag <= MT_STRING) {
        mt_object o = nullptr;
        check(api().object_of(&v, &o));
        v = mt_value{};
        v.tag = MT_OBJECT;
        v.as.object = o;
    } else if (v.tag == MT_OBJECT || v.tag == MT_GENERATOR) {
        if (p.keep)
            p.keep.release();
        else
            api().retain(v.as.object);
    }
    return v;
}
template <class Range>
Packed pack_list(const Range& items) {
    std::vector<Packed> packed;
    std::vector<mt_value> values;
    for (const auto& item : items) packed.push_back(mindtorch::pack(item));
    for (const Packed& p : packed) values.push_back(p.v);
    mt_object list = nullptr;
    check(api().list(values.data(), static_cast<int64_t>(values.size()), &list));
    Packed p;
    p.keep = Object::steal(list);
    p.v = object_value(p.keep);
    return p;
}
[[noreturn]] inline void wrong_type(const char* expected, const mt_value& v) {
    static const char* const names[] = {"None",
                                        "Tensor",
                                        "bool",
                                        "int",
                                        "float",
                                        "complex",
                                        "list of int",
                                        "list of float",
                                        "list of bool",
                                        "list of Tensor",
                                        "list of numbers",
                                        "str",
                                        "dtype",
                                        "device",
                                        "layout",
                                        "memory format",
                                        "Generator",
                                        "object"};
    throw_error(c10::str("a C++ kernel takes ", expected, " where the call gives ",
                         v.tag <= MT_OBJECT ? names[v.tag] : "?", ": the schema and the function's parameters differ"),
                MT_ERROR_RUNTIME);
}
// A value that is an object as what it stands for; lists and dicts stay objects.
inline mt_value plain(const mt_value& v) {
    if (v.tag != MT_OBJECT) return v;
    mt_value r{};
    check(api().value_of(v.as.object, &r));
    return r;
}

#define MINDTORCH_CONVERT(T, text, tag_, expression)                    \
    template <>                                                         \
    struct Convert<T> {                                                 \
        static Packed pack(const T& x) {                                \
            Packed p;                                                   \
            p.v = arg(x);                                               \
            return p;                                                   \
        }                                                               \
        static T from(const mt_value& given) {                          \
            const mt_value v = plain(given);                            \
            if (MINDTORCH_UNLIKELY(v.tag != tag_)) wrong_type(text, v); \
            return expression;                                          \
        }                                                               \
        static std::string schema() { return text; }                    \
    };
MINDTORCH_CONVERT(int64_t, "int", MT_INT, v.as.integer)
MINDTORCH_CONVERT(bool, "bool", MT_BOOL, v.as.boolean != 0)
MINDTORCH_CONVERT(c10::Device, "Device", MT_DEVICE,
                  c10::Device(static_cast<c10::DeviceType>(v.as.device.type), v.as.device.index))
MINDTORCH_CONVERT(c10::Layout, "Layout", MT_LAYOUT, static_cast<c10::Layout>(v.as.integer))
MINDTORCH_CONVERT(c10::MemoryFormat, "MemoryFormat", MT_MEMORY_FORMAT, static_cast<c10::MemoryFormat>(v.as.integer))
MINDTORCH_CONVERT(std::string_view, "str", MT_STRING, std::string_view(v.as.string, v.len))
MINDTORCH_CONVERT(std::string, "str", MT_STRING, std::string(v.as.string, v.len))
#undef MINDTORCH_CONVERT
template <>
struct Convert<int> {
    static Packed pack(int x) { return mindtorch::pack(static_cast<int64_t>(x)); }
    static int from(const mt_value& v) { return static_cast<int>(Convert<int64_t>::from(v)); }
    static std::string schema() { return "int"; }
};
template <>
struct Convert<c10::SymInt> {
    static Packed pack(c10::SymInt x) { return mindtorch::pack(static_cast<int64_t>(x)); }
    static c10::SymInt from(const mt_value& v) { return Convert<int64_t>::from(v); }
    static std::string schema() { return "SymInt"; }
};
template <>
struct Convert<float> {
    static Packed pack(float x) { return mindtorch::pack(static_cast<double>(x)); }
    static float from(const mt_value& v) { return static_cast<float>(mindtorch::from<double>(v)); }
    static std::string schema() { return "float"; }
};
template <>
struct Convert<double> {
    static Packed pack(double x) {
        Packed p;
        p.v = arg(x);
        return p;
    }
    static double from(const mt_value& given) {
        const mt_value v = plain(given);
        if (MINDTORCH_UNLIKELY(v.tag != MT_DOUBLE)) {
            if (v.tag == MT_INT) return static_cast<double>(v.as.integer);
            wrong_type("float", v);
        }
        return v.as.real;
    }
    static std::string schema() { return "float"; }
};
template <>
struct Convert<c10::complex<double>> {
    static Packed pack(const c10::complex<double>& x) {
        Packed p;
        p.v = c10::Scalar(x).value();
        return p;
    }
    static c10::complex<double> from(const mt_value& v) { return c10::Scalar::of(plain(v)).toComplexDouble(); }
    static std::string schema() { return "complex"; }
};
template <>
struct Convert<c10::ScalarType> {
    static Packed pack(c10::ScalarType x) {
        Packed p;
        p.v = arg(x);
        return p;
    }
    static c10::ScalarType from(const mt_value& given) {
        const mt_value v = plain(given);
        if (v.tag == MT_INT) return static_cast<c10::ScalarType>(v.as.integer);
        if (v.tag != MT_DTYPE) wrong_type("ScalarType", v);
        return static_cast<c10::ScalarType>(v.as.dtype);
    }
    static std::string schema() { return "ScalarType"; }
};
template <>
struct Convert<c10::Scalar> {
    static Packed pack(const c10::Scalar& x) {
        Packed p;
        p.v = x.value();
        return p;
    }
    static c10::Scalar from(const mt_value& given) {
        const mt_value v = plain(given);
        if (v.tag < MT_BOOL || v.tag > MT_COMPLEX) wrong_type("Scalar", v);
        return c10::Scalar::of(v);
    }
    static std::string schema() { return "Scalar"; }
};
template <>
struct Convert<at::Tensor> {
    static Packed pack(const at::Tensor& t) {
        Packed p;
        p.v = arg(t);
        return p;
    }
    static at::Tensor from(const mt_value& given) {
        const mt_value v = plain(given);
        if (v.tag == MT_NONE) return at::Tensor();
        if (v.tag != MT_TENSOR) wrong_type("Tensor", v);
        return at::Tensor::share(v.as.tensor);
    }
    static std::string schema() { return "Tensor"; }
};
template <>
struct Convert<at::Generator> {
    static Packed pack(const at::Generator& g) {
        Packed p;
        p.v = arg(g);
        return p;
    }
    static at::Generator from(const mt_value& v) {
        if (v.tag == MT_NONE) return at::Generator();
        if (v.tag != MT_GENERATOR && v.tag != MT_OBJECT) wrong_type("Generator", v);
        return at::Generator(Object::share(v.as.object));
    }
    static std::string schema() { return "Generator"; }
};
template <>
struct Convert<const char*> {
    static Packed pack(const char* s) { return mindtorch::pack(std::string_view(s)); }
};
template <class T>
struct Convert<std::optional<T>> {
    static Packed pack(const std::optional<T>& o) { return o ? mindtorch::pack(*o) : Packed(); }
    static std::optional<T> from(const mt_value& v) {
        if (plain(v).tag == MT_NONE) return std::nullopt;
        return Convert<T>::from(v);
    }
    static std::string schema() { return Convert<T>::schema() + "?"; }
};

// The items of a list of any form.
template <class T, class Each>
void each_item(const mt_value& v, Each each) {
    mt_value item{};
    switch (v.tag) {
        case MT_INT_LIST:
            item.tag = MT_INT;
            for (uint32_t i = 0; i < v.len; i++) {
                item.as.integer = v.as.ints[i];
                each(Convert<T>::from(item));
            }
            return;
        case MT_DOUBLE_LIST:
            item.tag = MT_DOUBLE;
            for (uint32_t i = 0; i < v.len; i++) {
                item.as.real = v.as.doubles[i];
                each(Convert<T>::from(item));
            }
            return;
        case MT_BOOL_LIST:
            item.tag = MT_BOOL;
            for (uint32_t i = 0; i < v.len; i++) {
                item.as.boolean = v.as.bools[i];
                each(Convert<T>::from(item));
            }
            return;
        case MT_TENSOR_LIST:
            for (uint32_t i = 0; i < v.len; i++) {
                item.tag = v.as.tensors[i] ? MT_TENSOR : MT_NONE;
                item.as.tensor = v.as.tensors[i];
                each(Convert<T>::from(item));
            }
            return;
        case MT_SCALAR_LIST:
            for (uint32_t i = 0; i < v.len; i++) each(Convert<T>::from(v.as.values[i]));
            return;
        case MT_OBJECT: {
            const int64_t n = api().length(v.as.object);
            for (int64_t i = 0; i < n; i++) {
                check(api().item(v.as.object, i, &item));
                each(Convert<T>::from(item));
            }
            return;
        }
        default:
            wrong_type("a list", v);
    }
}
template <class T>
struct Convert<std::vector<T>> {
    static Packed pack(const std::vector<T>& list) {
        if constexpr (std::is_same<T, int64_t>::value || std::is_same<T, double>::value ||
                      std::is_same<T, at::Tensor>::value) {
            Packed p;
            p.v = arg(c10::ArrayRef<T>(list));
            return p;
        } else if constexpr (std::is_same<T, bool>::value) {
            return pack_list(std::vector<c10::Scalar>(list.begin(), list.end()));
        } else {
            return pack_list(list);
        }
    }
    static std::vector<T> from(const mt_value& v) {
        std::vector<T> all;
        each_item<T>(v, [&](T item) { all.push_back(std::move(item)); });
        return all;
    }
    static std::string schema() { return Convert<T>::schema() + "[]"; }
};
template <class T>
struct Convert<c10::List<T>> {
    static Packed pack(const c10::List<T>& list) {
        if constexpr (std::is_same<T, std::optional<at::Tensor>>::value) {
            Packed p;
            p.v = arg(list);
            return p;
        } else {
            return Convert<std::vector<T>>::pack(list.items());
        }
    }
    static c10::List<T> from(const mt_value& v) { return c10::List<T>(Convert<std::vector<T>>::from(v)); }
    static std::string schema() { return Convert<T>::schema() + "[]"; }
};
template <class T, size_t n>
struct Convert<std::array<T, n>> {
    static Packed pack(const std::array<T, n>& list) { return pack_list(list); }
    static std::array<T, n> from(const mt_value& v) {
        std::array<T, n> all{};
        size_t i = 0;
        each_item<T>(v, [&](T item) {
            TORCH_CHECK(i < n, "a list of ", n, " items was expected");
            all[i++] = std::move(item);
        });
        TORCH_CHECK(i == n, "a list of ", n, " items was expected, got ", i);
        return all;
    }
    static std::string schema() { return Convert<T>::schema() + "[" + std::to_string(n) + "]"; }
};
template <class T>
struct Convert<c10::ArrayRef<T>> {
    static Packed pack(c10::ArrayRef<T> list) {
        if constexpr (std::is_same<T, int64_t>::value || std::is_same<T, double>::value ||
                      std::is_same<T, at::Tensor>::value) {
            Packed p;
            p.v = arg(list);
            return p;
        } else {
            return pack_list(list);
        }
    }
    static std::string schema() { return Convert<T>::schema() + "[]"; }
};
template <>
struct Convert<c10::SymIntArrayRef> {
    static Packed pack(c10::SymIntArrayRef list) { return mindtorch::pack(static_cast<c10::IntArrayRef>(list)); }
    static std::string schema() { return "SymInt[]"; }
};
template <class T>
struct Convert<c10::OptionalArrayRef<T>> {
    static Packed pack(const c10::OptionalArrayRef<T>& list) {
        return list ? Convert<c10::ArrayRef<T>>::pack(*list) : Packed();
    }
    static std::string schema() { return Convert<T>::schema() + "[]?"; }
};
template <class K, class V>
struct Convert<c10::Dict<K, V>> {
    static Packed pack(const c10::Dict<K, V>& d) {
        std::vector<Packed> packed;
        std::vector<mt_value> keys, values;
        packed.reserve(2 * d.size());
        for (const auto& e : d) {
            packed.push_back(mindtorch::pack(e.key()));
            keys.push_back(packed.back().v);
            packed.push_back(mindtorch::pack(e.value()));
            values.push_back(packed.back().v);
        }
        mt_object o = nullptr;
        check(api().dict(keys.data(), values.data(), static_cast<int64_t>(keys.size()), &o));
        Packed p;
        p.keep = Object::steal(o);
        p.v = object_value(p.keep);
        return p;
    }
    static c10::Dict<K, V> from(const mt_value& v) {
        if (v.tag != MT_OBJECT) wrong_type("Dict", v);
        mt_object list = nullptr;
        check(api().entries(v.as.object, &list));
        Object held = Object::steal(list);
        c10::Dict<K, V> d;
        const int64_t n = api().length(list);
        for (int64_t i = 0; i + 1 < n; i += 2) {
            mt_value key{}, value{};
            check(api().item(list, i, &key));
            check(api().item(list, i + 1, &value));
            d.insert(Convert<K>::from(key), Convert<V>::from(value));
        }
        return d;
    }
    static std::string schema() { return "Dict(" + Convert<K>::schema() + ", " + Convert<V>::schema() + ")"; }
};
template <class K, class V>
struct Convert<std::unordered_map<K, V>> {
    static Packed pack(const std::unordered_map<K, V>& m) {
        c10::Dict<K, V> d;
        for (const auto& e : m) d.insert(e.first, e.second);
        return mindtorch::pack(d);
    }
    static std::unordered_map<K, V> from(const mt_value& v) {
        std::unordered_map<K, V> m;
        for (const auto& e : Convert<c10::Dict<K, V>>::from(v)) m.emplace(e.key(), e.value());
        return m;
    }
    static std::string schema() { return Convert<c10::Dict<K, V>>::schema(); }
};
template <class... T>
struct Convert<std::tuple<T...>> {
    static Packed pack(const std::tuple<T...>& t) {
        const std::array<Packed, sizeof...(T)> parts =
            std::apply([](const auto&... v) { return std::array<Packed, sizeof...(T)>{mindtorch::pack(v)...}; }, t);
        mt_value values[sizeof...(T)];
        for (size_t i = 0; i < sizeof...(T); i++) values[i] = parts[i].v;
        mt_object o = nullptr;
        check(api().tuple(values, static_cast<int64_t>(sizeof...(T)), &o));
        Packed p;
        p.keep = Object::steal(o);
        p.v = object_value(p.keep);
        return p;
    }
    template <size_t... i>
    static std::tuple<T...> each(mt_object o, std::index_sequence<i...>) {
        TORCH_CHECK(api().length(o) == static_cast<int64_t>(sizeof...(T)), "a tuple of ", sizeof...(T),
                    " items was expected");
        mt_value items[sizeof...(T)] = {};
        (check(api().item(o, static_cast<int64_t>(i), &items[i])), ...);
        return std::tuple<T...>(Convert<T>::from(items[i])...);
    }
    static std::tuple<T...> from(const mt_value& v) {
        if (v.tag != MT_OBJECT) wrong_type("a tuple", v);
        return each(v.as.object, std::index_sequence_for<T...>());
    }
    static std::string schema() {
        std::string s;
        ((s += (s.empty() ? "" : ", ") + Convert<T>::schema()), ...);
        return "(" + s + ")";
    }
};

// ---- custom classes ----
inline void release_holder(void* p) {
    c10::intrusive_ptr<torch::CustomClassHolder>::reclaim(static_cast<torch::CustomClassHolder*>(p));
}
template <class T>
struct Convert<c10::intrusive_ptr<T>> {
    static Packed pack(const c10::intrusive_ptr<T>& p) {
        if (!p) return Packed();
        TORCH_CHECK(!class_name<T>().empty(),
                    "Trying to instantiate a class that isn't a registered custom class: ", typeid(T).name());
        torch::CustomClassHolder* holder = p.get();
        holder->retain_();
        mt_object o = nullptr;
        check(api().object_new(class_name<T>().c_str(), holder, release_holder, &o));
        Packed r;
        r.keep = Object::steal(o);
        r.v = object_value(r.keep);
        return r;
    }
    static c10::intrusive_ptr<T> from(const mt_value& v) {
        if (v.tag != MT_OBJECT) wrong_type("an object of a custom class", v);
        const char* cls = nullptr;
        void* held = api().object_held(v.as.object, &cls);
        TORCH_CHECK_TYPE(held && cls && class_name<T>() == cls, "an object of the class ", class_name<T>(),
                         " was expected, got ", cls ? cls : "another object");
        return c10::intrusive_ptr<T>(static_cast<T*>(static_cast<torch::CustomClassHolder*>(held)));
    }
    static std::string schema() {
        const std::string& name = class_name<T>();
        TORCH_CHECK(!name.empty(),
                    "a function takes or gives a class that was not registered with torch::class_: ", typeid(T).name());
        return "__torch__.torch.classes." + name;
    }
};

// ---- IValue ----
template <>
struct Convert<c10::IValue> {
    static Packed tuple(const c10::IValue::Items& items, bool list) {
        std::vector<Packed> packed;
        std::vector<mt_value> values;
        for (const c10::IValue& i : items) packed.push_back(pack(i));
        for (const Packed& p : packed) values.push_back(p.v);
        mt_object o = nullptr;
        check((list ? api().list : api().tuple)(values.data(), static_cast<int64_t>(values.size()), &o));
        Packed p;
        p.keep = Object::steal(o);
        p.v = object_value(p.keep);
        return p;
    }
    static Packed pack(const c10::IValue& v) {
        using Tag = c10::IValue::Tag;
        switch (v.tag()) {
            case Tag::Tensor:
                return mindtorch::pack(v.toTensor());
            case Tag::Bool:
                return mindtorch::pack(v.toBool());
            case Tag::Int:
                return mindtorch::pack(v.toInt());
            case Tag::Double:
                return mindtorch::pack(v.toDouble());
            case Tag::ComplexDouble:
                return mindtorch::pack(v.toComplexDouble());
            case Tag::String: {
                Packed p;
                const std::string_view s = v.toStringView();
                p.v = arg(s);
                return p;
            }
            case Tag::Device:
                return mindtorch::pack(v.toDevice());
            case Tag::Generator:
                return mindtorch::pack(v.toGenerator());
            case Tag::List:
                return tuple(v.items(), true);
            case Tag::Tuple:
                return tuple(v.items(), false);
            case Tag::Dict: {
                std::vector<Packed> packed;
                std::vector<mt_value> keys, values;
                for (const auto& e : v.entries()) {
                    packed.push_back(pack(e.first));
                    keys.push_back(packed.back().v);
                    packed.push_back(pack(e.second));
                    values.push_back(packed.back().v);
                }
                mt_object o = nullptr;
                check(api().dict(keys.data(), values.data(), static_cast<int64_t>(keys.size()), &o));
                Packed p;
                p.keep = Object::steal(o);
                p.v = object_value(p.keep);
                return p;
            }
            case Tag::Object: {
                Packed p;
                p.v = object_value(v.object());
                return p;
            }
            default:
                return Packed();
        }
    }
    static c10::IValue from(const mt_value& given) {
        const mt_value v = plain(given);
        switch (v.tag) {
            case MT_NONE:
                return c10::IValue();
            case MT_TENSOR:
                return at::Tensor::share(v.as.tensor);
            case MT_BOOL:
                return v.as.boolean != 0;
            case MT_INT:
            case MT_LAYOUT:
            case MT_MEMORY_FORMAT:
                return v.as.integer;
            case MT_DOUBLE:
                return v.as.real;
            case MT_COMPLEX:
                return c10::complex<double>(v.as.complex[0], v.as.complex[1]);
            case MT_STRING:
                return std::string(v.as.string, v.len);
            case MT_DTYPE:
                return static_cast<int64_t>(v.as.dtype);
            case MT_DEVICE:
                return Convert<c10::Device>::from(v);
            case MT_GENERATOR:
                return at::Generator(Object::share(v.as.object));
            case MT_OBJECT: {
                const char kind = api().kind_of(v.as.object);
                if (kind == 'd') {
                    c10::IValue::Entries entries;
                    mt_object list = nullptr;
                    check(api().entries(v.as.object, &list));
                    Object held = Object::steal(list);
                    for (int64_t i = 0, n = api().length(list); i + 1 < n; i += 2) {
                        mt_value key{}, value{};
                        check(api().item(list, i, &key));
                        check(api().item(list, i + 1, &value));
                        entries.emplace_back(from(key), from(value));
                    }
                    return c10::IValue::dict(std::move(entries));
                }
                if (kind != 'l' && kind != 't') return Object::share(v.as.object);
                c10::IValue::Items items;
                each_item<c10::IValue>(v, [&](c10::IValue i) { items.push_back(std::move(i)); });
                return kind == 'l' ? c10::IValue::list(std::move(items)) : c10::IValue::tuple(std::move(items));
            }
            default: {
                c10::IValue::Items items;
                each_item<c10::IValue>(v, [&](c10::IValue i) { items.push_back(std::move(i)); });
                return c10::IValue::list(std::move(items));
            }
        }
    }
    static std::string schema() { return "Any"; }
};

}  // namespace mindtorch MINDTORCH_HIDDEN

namespace c10 {
template <class T, class>
IValue::IValue(intrusive_ptr<T> p) {
    mindtorch::Packed packed = mindtorch::pack(p);
    if (packed.keep) *this = IValue(packed.keep);
}
template <class T>
intrusive_ptr<T> IValue::toCustomClass() const {
    return mindtorch::from<intrusive_ptr<T>>(mindtorch::object_value(object()));
}
template <class T>
T IValue::to() const {
    if constexpr (std::is_same<T, IValue>::value) {
        return *this;
    } else {
        const mindtorch::Packed p = mindtorch::pack(*this);
        return mindtorch::from<T>(p.v);
    }
}
}  // namespace c10

namespace torch {
using c10::IValue;
namespace jit {
using c10::IValue;
using Stack = std::vector<c10::IValue>;
inline void drop(Stack& s, size_t n) { s.erase(s.end() - static_cast<std::ptrdiff_t>(n), s.end()); }
inline void drop(Stack* s, size_t n) { drop(*s, n); }
inline c10::IValue pop(Stack& s) {
    c10::IValue v = std::move(s.back());
    s.pop_back();
    return v;
}
inline c10::IValue pop(Stack* s) { return pop(*s); }
template <class... T>
void push(Stack& s, T&&... v) {
    (s.emplace_back(std::forward<T>(v)), ...);
}
template <class... T>
void push(Stack* s, T&&... v) {
    push(*s, std::forward<T>(v)...);
}
inline c10::ArrayRef<c10::IValue> last(const Stack& s, size_t n) {
    return c10::ArrayRef<c10::IValue>(s.data() + s.size() - n, n);
}
inline c10::IValue& peek(Stack& s, size_t i, size_t n) { return s[s.size() - n + i]; }
}  // namespace jit
}  // namespace torch
