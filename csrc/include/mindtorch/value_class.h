// c10::IValue: any value of the schema language.
#pragma once

#include <mindtorch/convert.h>

#include <functional>
#include <iostream>
#include <map>
#include <unordered_set>

namespace torch {
namespace jit {
struct Module;
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
    IValue(SymInt v) : IValue(static_cast<int64_t>(v)) {}
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
    template <class T>
    IValue(const OptionalArrayRef<T>& list) {
        if (list) *this = IValue(*list);
    }
    template <class K, class V>
    IValue(const std::unordered_map<K, V>& map) : tag_(Tag::Dict) {
        Entries entries;
        for (const auto& e : map) entries.emplace_back(IValue(e.first), IValue(e.second));
        shared_ = std::make_shared<Entries>(std::move(entries));
    }
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
    bool isComplexDoubleList() const { return all(Tag::ComplexDouble); }
    bool isOptionalTensorList() const {
        if (!isList()) return false;
        for (const IValue& v : get<Items>())
            if (!v.isTensor() && !v.isNone()) return false;
        return true;
    }
    // Sizes always are numbers here.
    bool isSymInt() const { return false; }
    bool isSymFloat() const { return false; }
    bool isSymBool() const { return false; }
    bool isObject() const { return tag_ == Tag::Object; }
    bool isModule() const;
    bool isPyObject() const { return false; }
    bool isFuture() const { return false; }
    bool isEnum() const { return false; }
    bool isPtrType() const { return isTensor() || shared_ != nullptr; }

    const at::Tensor& toTensor() const& {
        expect(Tag::Tensor, "Tensor");
        return tensor_;
    }
    at::Tensor& toTensor() & {
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
    const std::string& toStringRef() const {
        expect(Tag::String, "String");
        return get<std::string>();
    }
    // As toString()->string() and *toString() take it.
    struct StringView {
        const std::string* text;
        const std::string& string() const { return *text; }
        const StringView* operator->() const { return this; }
        const std::string& operator*() const { return *text; }
    };
    StringView toString() const { return StringView{&toStringRef()}; }
    std::optional<std::reference_wrapper<const std::string>> toOptionalStringRef() const {
        if (isNone()) return std::nullopt;
        return std::cref(toStringRef());
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
    List<std::optional<at::Tensor>> toOptionalTensorList() const {
        return List<std::optional<at::Tensor>>(toOptionalTensorVector());
    }
    std::vector<std::optional<at::Tensor>> toOptionalTensorVector() const {
        return vector_of<std::optional<at::Tensor>>();
    }
    List<c10::complex<double>> toComplexDoubleList() const {
        return List<c10::complex<double>>(vector_of<c10::complex<double>>());
    }
    std::vector<c10::complex<double>> toComplexDoubleVector() const { return vector_of<c10::complex<double>>(); }
    SymInt toSymInt() const { return toInt(); }
    std::vector<SymInt> toSymIntVector() const { return vector_of<SymInt>(); }
    DimVector toDimVector() const {
        const std::vector<int64_t> sizes = toIntVector();
        return DimVector(sizes.begin(), sizes.end());
    }
    torch::jit::Module toModule() const;
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
    void swap(IValue& o) noexcept { std::swap(*this, o); }
    // The type that a schema would give it. Lists whose items are of one kind are lists of that; others of Any.
    TypePtr type() const;
    // Equal values have equal hashes; a value that is no number, text, tensor or tuple of such has none.
    static size_t hash(const IValue& v);
    // A copy that shares nothing: tensors are cloned. What occurs twice is copied once.
    IValue deepcopy() const;
    // Everything within, itself first; `visitor` says true where it shall not be entered.
    bool visit(const std::function<bool(const IValue&)>& visitor) const {
        if (visitor(*this)) return true;
        if (isList() || isTuple())
            for (const IValue& item : items()) item.visit(visitor);
        if (isGenericDict())
            for (const auto& entry : entries()) {
                entry.first.visit(visitor);
                entry.second.visit(visitor);
            }
        return false;
    }
    size_t use_count() const {
        if (isTensor()) return tensor_.defined() ? tensor_.use_count() : 0;
        return shared_ ? static_cast<size_t>(shared_.use_count()) : 1;
    }
    // Where it lies; nothing for numbers and None.
    const void* internalToPointer() const {
        TORCH_CHECK(isPtrType(), "Can't call internalToPointer on ", kind());
        return isTensor() ? static_cast<const void*>(tensor_.handle()) : shared_.get();
    }
    IValue equals(const IValue& o) const;
    std::ostream& repr(std::ostream& s, const std::function<bool(std::ostream&, const IValue&)>& own) const;
    void dump() const;
    bool isStorage() const { return false; }
    bool isStream() const { return false; }
    bool isBlob() const { return false; }
    bool isRRef() const { return false; }
    bool isQuantizer() const { return false; }
    bool isAwait() const { return false; }
    bool isUnsigned() const { return false; }
    bool isSymIntList() const { return isIntList(); }
    bool isIntrusivePtr() const { return isPtrType(); }
    struct HashAliasedIValue {
        size_t operator()(const IValue& v) const {
            return v.isTensor() && v.tensor_.defined() && v.tensor_.has_storage()
                       ? std::hash<const void*>()(v.tensor_.storage().unsafeGetStorageImpl())
                       : std::hash<const void*>()(v.shared_.get());
        }
    };
    struct CompAliasedIValues {
        bool operator()(const IValue& a, const IValue& b) const { return a.isAliasOf(b); }
    };
    struct HashIdentityIValue {
        size_t operator()(const IValue& v) const { return std::hash<const void*>()(v.internalToPointer()); }
    };
    struct CompIdentityIValues {
        bool operator()(const IValue& a, const IValue& b) const { return a.is(b); }
    };
    using HashAliasedIValues = std::unordered_set<IValue, HashAliasedIValue, CompAliasedIValues>;
    using HashAliasedIValueMap = std::unordered_map<IValue, IValue, HashAliasedIValue, CompAliasedIValues>;
    using HashIdentityIValues = std::unordered_set<IValue, HashIdentityIValue, CompIdentityIValues>;
    using HashIdentityIValueMap = std::unordered_map<IValue, IValue, HashIdentityIValue, CompIdentityIValues>;
    void getSubValues(HashAliasedIValues& found) const {
        visit([&](const IValue& v) {
            if (v.isAliasable()) found.insert(v);
            return false;
        });
    }
    // Whether the two have memory in common, at whatever depth.
    bool overlaps(const IValue& o) const {
        HashAliasedIValues own, others;
        getSubValues(own);
        o.getSubValues(others);
        for (const IValue& v : own)
            if (others.count(v)) return true;
        return false;
    }
    bool isAliasOf(const IValue& o) const {
        if (isTensor() && o.isTensor())
            return tensor_.defined() && o.tensor_.defined() && tensor_.is_alias_of(o.tensor_);
        return shared_ != nullptr && shared_ == o.shared_;
    }
    bool is(const IValue& o) const {
        if (tag_ != o.tag_) return false;
        return isTensor()   ? tensor_.is_same(o.tensor_)
               : isDouble() ? real_ == o.real_
                            : integer_ == o.integer_ && shared_ == o.shared_;
    }

  private:
    // Tensors with memory, and containers.
    bool isAliasable() const {
        return isTensor() ? tensor_.defined() : isList() || isTuple() || isGenericDict() || isCustomClass();
    }
    IValue deepcopy(HashIdentityIValueMap& made) const;
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
inline IValue IValue::equals(const IValue& o) const { return *this == o; }

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

namespace c10 {
inline TypePtr IValue::type() const {
    const auto common = [](const auto& each) {
        TypePtr found;
        for (const IValue& v : each) {
            const TypePtr one = v.type();
            if (found && !(*found == *one)) return static_cast<TypePtr>(AnyType::get());
            found = one;
        }
        return found ? found : static_cast<TypePtr>(AnyType::get());
    };
    switch (tag_) {
        case Tag::None:
            return NoneType::get();
        case Tag::Tensor:
            return TensorType::get();
        case Tag::Bool:
            return BoolType::get();
        case Tag::Int:
            return IntType::get();
        case Tag::Double:
            return FloatType::get();
        case Tag::ComplexDouble:
            return ComplexType::get();
        case Tag::String:
            return StringType::get();
        case Tag::Device:
            return DeviceObjType::get();
        case Tag::Generator:
            return GeneratorType::get();
        case Tag::Capsule:
            return CapsuleType::get();
        case Tag::List:
            return ListType::create(common(items()));
        case Tag::Tuple: {
            std::vector<TypePtr> elements;
            for (const IValue& v : items()) elements.push_back(v.type());
            return TupleType::create(std::move(elements));
        }
        case Tag::Dict: {
            Items keys, values;
            for (const auto& e : entries()) {
                keys.push_back(e.first);
                values.push_back(e.second);
            }
            return DictType::create(common(keys), common(values));
        }
        default:
            return AnyType::get();
    }
}
inline IValue IValue::deepcopy(HashIdentityIValueMap& made) const {
    if (!isPtrType()) return *this;
    if (const auto known = made.find(*this); known != made.end()) return known->second;
    IValue copy = *this;
    if (isTensor()) {
        if (tensor_.defined()) copy = IValue(tensor_.detach().clone());
    } else if (isList() || isTuple()) {
        Items fresh;
        for (const IValue& v : items()) fresh.push_back(v.deepcopy(made));
        copy = isList() ? list(std::move(fresh)) : tuple(std::move(fresh));
    } else if (isGenericDict()) {
        Entries fresh;
        for (const auto& e : entries()) fresh.emplace_back(e.first.deepcopy(made), e.second.deepcopy(made));
        copy = dict(std::move(fresh));
    }
    made.emplace(*this, copy);
    return copy;
}
inline IValue IValue::deepcopy() const {
    HashIdentityIValueMap made;
    return deepcopy(made);
}
inline void IValue::dump() const { std::cout << *this << '\n'; }
inline std::ostream& IValue::repr(std::ostream& s, const std::function<bool(std::ostream&, const IValue&)>& own) const {
    if (own(s, *this)) return s;
    if (isString()) return s << '"' << toStringRef() << '"';
    return s << *this;
}
inline size_t IValue::hash(const IValue& v) {
    const auto join = [](size_t seed, size_t more) { return seed ^ (more + 0x9e3779b9 + (seed << 6) + (seed >> 2)); };
    switch (v.tag()) {
        case Tag::None:
            return 0;
        case Tag::Bool:
            return std::hash<bool>()(v.toBool());
        case Tag::Int:
            return std::hash<int64_t>()(v.toInt());
        case Tag::Double:
            return std::hash<double>()(v.toDouble());
        case Tag::String:
            return std::hash<std::string_view>()(v.toStringView());
        case Tag::Tensor:
            return std::hash<const void*>()(v.toTensor().handle());
        case Tag::Device:
            return std::hash<Device>()(v.toDevice());
        case Tag::ComplexDouble:
            return join(std::hash<double>()(v.toComplexDouble().real()),
                        std::hash<double>()(v.toComplexDouble().imag()));
        case Tag::Tuple: {
            size_t all = 0;
            for (const IValue& item : v.items()) all = join(all, hash(item));
            return all;
        }
        default:
            throw std::runtime_error(str("Can't hash IValues with tag '", v.tagKind(), "'"));
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
