// c10::List and c10::Dict: containers that are shared when they are copied.
#pragma once

#include <mindtorch/ordered_map.h>
#include <mindtorch/tensor.h>

namespace c10 {

enum class TypeKind {
    AnyType,
    AnyEnumType,
    TensorType,
    StorageType,
    TupleType,
    ListType,
    DictType,
    NumberType,
    FloatType,
    ComplexType,
    FutureType,
    AwaitType,
    RRefType,
    IntType,
    NoneType,
    StringType,
    GeneratorType,
    QuantizerType,
    BoolType,
    OptionalType,
    VarType,
    DeviceObjType,
    StreamObjType,
    ClassType,
    CapsuleType,
    QSchemeType,
    ScalarTypeType,
    LayoutType,
    MemoryFormatType,
    AnyClassType,
    SymIntType,
    SymBoolType,
    UnionType
};
inline const std::array<const char*, 33>& type_kind_names() {
    static const std::array<const char*, 33> names = {
        "AnyType",     "AnyEnumType",  "TensorType",     "StorageType",   "TupleType",        "ListType",
        "DictType",    "NumberType",   "FloatType",      "ComplexType",   "FutureType",       "AwaitType",
        "RRefType",    "IntType",      "NoneType",       "StringType",    "GeneratorType",    "QuantizerType",
        "BoolType",    "OptionalType", "VarType",        "DeviceObjType", "StreamObjType",    "ClassType",
        "CapsuleType", "QSchemeType",  "ScalarTypeType", "LayoutType",    "MemoryFormatType", "AnyClassType",
        "SymIntType",  "SymBoolType",  "UnionType"};
    return names;
}
inline TypeKind type_kind(const std::string& text) {
    int kind = 0;
    for (const char* name : type_kind_names()) {
        if (text == name) return static_cast<TypeKind>(kind);
        kind++;
    }
    TORCH_CHECK(false, "unknown type of a schema: ", text);
}

// A type of the schema language: "Tensor?", "int[]", "(Tensor, Tensor)".
class Type;
using TypePtr = std::shared_ptr<Type>;
using ConstTypePtr = TypePtr;
class Type : public std::enable_shared_from_this<Type> {
  public:
    Type(TypeKind kind, std::string text, std::string annotation, std::vector<TypePtr> contained = {})
        : kind_(kind), text_(std::move(text)), annotation_(std::move(annotation)), contained_(std::move(contained)) {}
    virtual ~Type() = default;
    // One of the class that the kind has below.
    static TypePtr make(TypeKind kind, std::string text, std::string annotation, std::vector<TypePtr> contained = {});
    TypeKind kind() const { return kind_; }
    const std::string& str() const { return text_; }
    std::string repr_str() const { return annotation_; }
    std::string annotation_str() const { return annotation_; }
    const std::vector<TypePtr>& containedTypes() const { return contained_; }
    const TypePtr& containedType(size_t i) const { return contained_.at(i); }
    size_t containedTypeSize() const { return contained_.size(); }
    bool equals(const Type& o) const { return kind_ == o.kind_ && text_ == o.text_; }
    bool requires_grad() const { return false; }
    bool hasFreeVariables() const { return kind_ == TypeKind::VarType; }
    bool isUnionType() const { return kind_ == TypeKind::UnionType; }
    // Whether a value of this type is one of the other.
    bool isSubtypeOf(const Type& o) const {
        if (equals(o) || o.kind_ == TypeKind::AnyType) return true;
        if (o.kind_ == TypeKind::NumberType)
            return kind_ == TypeKind::IntType || kind_ == TypeKind::FloatType || kind_ == TypeKind::ComplexType;
        if (kind_ == TypeKind::UnionType || (kind_ == TypeKind::OptionalType && o.kind_ != TypeKind::OptionalType)) {
            for (const TypePtr& each : contained_)
                if (!each->isSubtypeOf(o)) return false;
            return kind_ == TypeKind::UnionType;
        }
        if (o.kind_ == TypeKind::OptionalType)
            return kind_ == TypeKind::NoneType ||
                   (kind_ == TypeKind::OptionalType ? *contained_[0] : *this).isSubtypeOf(*o.contained_[0]);
        if (o.kind_ == TypeKind::UnionType) {
            for (const TypePtr& each : o.contained_)
                if (isSubtypeOf(*each)) return true;
            return false;
        }
        if (kind_ == TypeKind::TupleType && o.kind_ == kind_ && contained_.size() == o.contained_.size()) {
            for (size_t i = 0; i < contained_.size(); i++)
                if (!contained_[i]->isSubtypeOf(*o.contained_[i])) return false;
            return true;
        }
        return false;
    }
    bool isSubtypeOf(const TypePtr& o) const { return isSubtypeOf(*o); }
    // As that class, or null where it is of another kind.
    template <class T>
    std::shared_ptr<T> cast() const {
        return std::dynamic_pointer_cast<T>(std::const_pointer_cast<Type>(shared_from_this()));
    }
    template <class T>
    const T* castRaw() const {
        return dynamic_cast<const T*>(this);
    }
    template <class T>
    std::shared_ptr<T> expect() const {
        std::shared_ptr<T> found = cast<T>();
        TORCH_CHECK(found, "expected a type of another kind than ", text_);
        return found;
    }
    template <class T>
    const T& expectRef() const {
        const T* found = castRaw<T>();
        TORCH_CHECK(found, "expected a type of another kind than ", text_);
        return *found;
    }

  private:
    TypeKind kind_;
    std::string text_, annotation_;
    std::vector<TypePtr> contained_;
};
inline bool operator==(const Type& a, const Type& b) { return a.equals(b); }
inline bool operator!=(const Type& a, const Type& b) { return !a.equals(b); }
inline std::ostream& operator<<(std::ostream& out, const Type& type) { return out << type.str(); }
// Types without parts: one object each.
// clang-format off
// (its own result is not stable here: formatted twice, the list moves twice.)
#define MINDTORCH_FORALL_PLAIN_TYPES(_) \
    _(AnyType, "Any") \
    _(TensorType, "Tensor") \
    _(IntType, "int") \
    _(FloatType, "float") \
    _(BoolType, "bool") \
    _(StringType, "str") \
    _(NoneType, "NoneType") \
    _(NumberType, "Scalar") \
    _(ComplexType, "complex") \
    _(DeviceObjType, "Device") \
    _(GeneratorType, "Generator") \
    _(StorageType, "Storage") \
    _(QSchemeType, "QScheme") \
    _(ScalarTypeType, "ScalarType") \
    _(LayoutType, "Layout") \
    _(MemoryFormatType, "MemoryFormat") \
    _(CapsuleType, "Capsule") \
    _(SymIntType, "SymInt") \
    _(SymBoolType, "SymBool") \
    _(StreamObjType, "Stream") \
    _(QuantizerType, "Quantizer") \
    _(AnyClassType, "AnyClassType") \
    _(AnyEnumType, "AnyEnumType")
// clang-format on
#define MINDTORCH_TYPE_NAMED(Name, text)                                                    \
    struct Name : Type {                                                                    \
        static constexpr TypeKind Kind = TypeKind::Name;                                    \
        using Type::Type;                                                                   \
        static const TypePtr& get() {                                                       \
            static const TypePtr type = std::make_shared<Name>(TypeKind::Name, text, text); \
            return type;                                                                    \
        }                                                                                   \
    };                                                                                      \
    using Name##Ptr = std::shared_ptr<Name>;
MINDTORCH_FORALL_PLAIN_TYPES(MINDTORCH_TYPE_NAMED)
#undef MINDTORCH_TYPE_NAMED
struct ListType : Type {
    static constexpr TypeKind Kind = TypeKind::ListType;
    using Type::Type;
    static std::shared_ptr<ListType> create(const TypePtr& of) {
        return std::make_shared<ListType>(Kind, of->str() + "[]", "List[" + of->annotation_str() + "]",
                                          std::vector<TypePtr>{of});
    }
    static std::shared_ptr<ListType> get(const std::string&, const TypePtr& of) { return create(of); }
    const TypePtr& getElementType() const { return containedType(0); }
    static std::shared_ptr<ListType> ofTensors() { return create(TensorType::get()); }
    static std::shared_ptr<ListType> ofInts() { return create(IntType::get()); }
    static std::shared_ptr<ListType> ofFloats() { return create(FloatType::get()); }
    static std::shared_ptr<ListType> ofComplexDoubles() { return create(ComplexType::get()); }
    static std::shared_ptr<ListType> ofBools() { return create(BoolType::get()); }
    static std::shared_ptr<ListType> ofStrings() { return create(StringType::get()); }
    static std::shared_ptr<ListType> ofNumbers() { return create(NumberType::get()); }
};
struct OptionalType : Type {
    static constexpr TypeKind Kind = TypeKind::OptionalType;
    using Type::Type;
    static std::shared_ptr<OptionalType> create(const TypePtr& of) {
        return std::make_shared<OptionalType>(Kind, of->str() + "?", "Optional[" + of->annotation_str() + "]",
                                              std::vector<TypePtr>{of});
    }
    static std::shared_ptr<OptionalType> get(const TypePtr& of) { return create(of); }
    static std::shared_ptr<OptionalType> ofTensor() { return create(TensorType::get()); }
    const TypePtr& getElementType() const { return containedType(0); }
};
struct DictType : Type {
    static constexpr TypeKind Kind = TypeKind::DictType;
    using Type::Type;
    static std::shared_ptr<DictType> create(const TypePtr& key, const TypePtr& value) {
        return std::make_shared<DictType>(Kind, "Dict(" + key->str() + ", " + value->str() + ")",
                                          "Dict[" + key->annotation_str() + ", " + value->annotation_str() + "]",
                                          std::vector<TypePtr>{key, value});
    }
    const TypePtr& getKeyType() const { return containedType(0); }
    const TypePtr& getValueType() const { return containedType(1); }
};
struct TupleType : Type {
    static constexpr TypeKind Kind = TypeKind::TupleType;
    using Type::Type;
    static std::shared_ptr<TupleType> create(std::vector<TypePtr> elements) {
        std::string text = "(", annotation = "Tuple[";
        for (size_t i = 0; i < elements.size(); i++) {
            text += (i ? ", " : "") + elements[i]->str();
            annotation += (i ? ", " : "") + elements[i]->annotation_str();
        }
        return std::make_shared<TupleType>(Kind, text + ")", annotation + (elements.empty() ? "()]" : "]"),
                                           std::move(elements));
    }
    const std::vector<TypePtr>& elements() const { return containedTypes(); }
};
struct FutureType : Type {
    static constexpr TypeKind Kind = TypeKind::FutureType;
    using Type::Type;
    static std::shared_ptr<FutureType> create(const TypePtr& of) {
        return std::make_shared<FutureType>(Kind, "Future(" + of->str() + ")", "Future[" + of->annotation_str() + "]",
                                            std::vector<TypePtr>{of});
    }
    const TypePtr& getElementType() const { return containedType(0); }
};
struct UnionType : Type {
    static constexpr TypeKind Kind = TypeKind::UnionType;
    using Type::Type;
};
struct VarType : Type {
    static constexpr TypeKind Kind = TypeKind::VarType;
    using Type::Type;
};
struct ClassType : Type {
    static constexpr TypeKind Kind = TypeKind::ClassType;
    using Type::Type;
};
using ListTypePtr = std::shared_ptr<ListType>;
using OptionalTypePtr = std::shared_ptr<OptionalType>;
using DictTypePtr = std::shared_ptr<DictType>;
using TupleTypePtr = std::shared_ptr<TupleType>;
using FutureTypePtr = std::shared_ptr<FutureType>;
using ClassTypePtr = std::shared_ptr<ClassType>;
inline TypePtr Type::make(TypeKind kind, std::string text, std::string annotation, std::vector<TypePtr> contained) {
    const auto as = [&](auto* named) -> TypePtr {
        return std::make_shared<std::remove_pointer_t<decltype(named)>>(kind, std::move(text), std::move(annotation),
                                                                        std::move(contained));
    };
    switch (kind) {
#define MINDTORCH_TYPE_NAMED(Name, text) \
    case TypeKind::Name:                 \
        return as(static_cast<Name*>(nullptr));
        MINDTORCH_FORALL_PLAIN_TYPES(MINDTORCH_TYPE_NAMED)
#undef MINDTORCH_TYPE_NAMED
        case TypeKind::ListType:
            return as(static_cast<ListType*>(nullptr));
        case TypeKind::OptionalType:
            return as(static_cast<OptionalType*>(nullptr));
        case TypeKind::DictType:
            return as(static_cast<DictType*>(nullptr));
        case TypeKind::TupleType:
            return as(static_cast<TupleType*>(nullptr));
        case TypeKind::FutureType:
            return as(static_cast<FutureType*>(nullptr));
        case TypeKind::UnionType:
            return as(static_cast<UnionType*>(nullptr));
        case TypeKind::VarType:
            return as(static_cast<VarType*>(nullptr));
        case TypeKind::ClassType:
            return as(static_cast<ClassType*>(nullptr));
        default:
            return as(static_cast<Type*>(nullptr));
    }
}
inline const char* typeKindToString(TypeKind kind) { return type_kind_names()[static_cast<int>(kind)]; }

template <class T>
class List {
  public:
    using value_type = T;
    using size_type = size_t;
    using iterator = typename std::vector<T>::iterator;
    using const_iterator = iterator;
    using reverse_iterator = std::reverse_iterator<iterator>;
    List() : items_(std::make_shared<std::vector<T>>()) {}
    List(std::initializer_list<T> items) : items_(std::make_shared<std::vector<T>>(items)) {}
    explicit List(ArrayRef<T> items) : items_(std::make_shared<std::vector<T>>(items.begin(), items.end())) {}
    explicit List(std::vector<T> items) : items_(std::make_shared<std::vector<T>>(std::move(items))) {}
    // The same list as another holder's.
    explicit List(std::shared_ptr<std::vector<T>> items) : items_(std::move(items)) {}
    explicit List(const TypePtr&) : List() {}
    const std::shared_ptr<std::vector<T>>& shared() const { return items_; }
    typename std::vector<T>::reference operator[](size_t i) const { return items_->at(i); }
    T get(size_t i) const { return at(i); }
    T extract(size_t i) const { return at(i); }
    void set(size_t i, T v) const {
        at(i);
        (*items_)[i] = std::move(v);
    }
    size_t size() const { return items_->size(); }
    bool empty() const { return items_->empty(); }
    void reserve(size_t n) const { items_->reserve(n); }
    void clear() const { items_->clear(); }
    void push_back(T v) const { items_->push_back(std::move(v)); }
    template <class... A>
    void emplace_back(A&&... args) const {
        items_->emplace_back(std::forward<A>(args)...);
    }
    void pop_back() const { items_->pop_back(); }
    iterator insert(iterator before, T v) const { return items_->insert(before, std::move(v)); }
    iterator erase(iterator it) const { return items_->erase(it); }
    iterator erase(iterator first, iterator last) const { return items_->erase(first, last); }
    void append(const List& o) const { items_->insert(items_->end(), o.begin(), o.end()); }
    void resize(size_t n) const { items_->resize(n); }
    iterator begin() const { return items_->begin(); }
    iterator end() const { return items_->end(); }
    std::vector<T> vec() const { return *items_; }
    List copy() const { return List(*items_); }
    bool is(const List& o) const { return items_ == o.items_; }
    friend bool operator==(const List& a, const List& b) { return *a.items_ == *b.items_; }
    friend bool operator!=(const List& a, const List& b) { return !(a == b); }
    size_t use_count() const { return static_cast<size_t>(items_.use_count()); }
    template <class... A>
    iterator emplace(iterator before, A&&... args) const {
        return items_->emplace(before, std::forward<A>(args)...);
    }
    void resize(size_t n, const T& v) const { items_->resize(n, v); }
    const std::vector<T>& items() const { return *items_; }

  private:
    T at(size_t i) const {
        TORCH_CHECK_INDEX(i < items_->size(), "list index out of range");
        return (*items_)[i];
    }
    std::shared_ptr<std::vector<T>> items_;
};

}  // namespace c10
namespace mindtorch MINDTORCH_HIDDEN {
// Keys of a dict: a tensor by being the same.
template <class K>
struct KeyHash : std::hash<K> {};
template <class K>
struct KeyEqual : std::equal_to<K> {};
template <>
struct KeyHash<at::Tensor> {
    size_t operator()(const at::Tensor& t) const { return std::hash<void*>()(t.handle()); }
};
template <>
struct KeyEqual<at::Tensor> {
    bool operator()(const at::Tensor& a, const at::Tensor& b) const { return a.is_same(b); }
};
}  // namespace mindtorch MINDTORCH_HIDDEN
namespace c10 {
// Keys keep the order in which they came.
template <class K, class V>
class Dict {
  public:
    class Entry {
      public:
        Entry(K k, V v) : key_(std::move(k)), value_(std::move(v)) {}
        const K& key() const { return key_; }
        const V& value() const { return value_; }
        void setValue(V v) { value_ = std::move(v); }

      private:
        K key_;
        V value_;
    };
    using iterator = typename std::vector<Entry>::iterator;
    using key_type = K;
    using mapped_type = V;
    Dict() : all_(std::make_shared<Content>()) {}
    Dict(const TypePtr&, const TypePtr&) : Dict() {}
    bool contains(const K& k) const { return all_->places.count(k) != 0; }
    V at(const K& k) const {
        auto found = all_->places.find(k);
        TORCH_CHECK_INDEX(found != all_->places.end(), "Argument passed to at() was not in the map.");
        return all_->entries[found->second].value();
    }
    iterator find(const K& k) const {
        auto found = all_->places.find(k);
        return found == all_->places.end() ? end() : begin() + static_cast<std::ptrdiff_t>(found->second);
    }
    std::pair<iterator, bool> insert(K k, V v) const {
        if (contains(k)) return {find(k), false};
        all_->places.emplace(k, all_->entries.size());
        all_->entries.emplace_back(std::move(k), std::move(v));
        return {end() - 1, true};
    }
    std::pair<iterator, bool> insert_or_assign(K k, V v) const {
        iterator found = find(k);
        if (found == end()) return insert(std::move(k), std::move(v));
        found->setValue(std::move(v));
        return {found, false};
    }
    size_t erase(const K& k) const {
        auto found = all_->places.find(k);
        if (found == all_->places.end()) return 0;
        const size_t at = found->second;
        all_->entries.erase(all_->entries.begin() + static_cast<std::ptrdiff_t>(at));
        all_->places.erase(found);
        for (auto& p : all_->places)
            if (p.second > at) p.second--;
        return 1;
    }
    void clear() const {
        all_->entries.clear();
        all_->places.clear();
    }
    void reserve(size_t n) const { all_->entries.reserve(n); }
    size_t size() const { return all_->entries.size(); }
    bool empty() const { return size() == 0; }
    iterator begin() const { return all_->entries.begin(); }
    iterator end() const { return all_->entries.end(); }
    void erase(iterator it) const { erase(it->key()); }
    Dict copy() const {
        Dict other;
        *other.all_ = *all_;
        return other;
    }
    bool is(const Dict& o) const { return all_ == o.all_; }
    size_t use_count() const { return static_cast<size_t>(all_.use_count()); }
    // By content, in whatever order it came.
    friend bool operator==(const Dict& a, const Dict& b) {
        if (a.size() != b.size()) return false;
        for (const Entry& e : a) {
            const auto found = b.find(e.key());
            if (found == b.end() || !(found->value() == e.value())) return false;
        }
        return true;
    }
    friend bool operator!=(const Dict& a, const Dict& b) { return !(a == b); }

  private:
    struct Content {
        std::vector<Entry> entries;
        std::unordered_map<K, size_t, mindtorch::KeyHash<K>, mindtorch::KeyEqual<K>> places;
    };
    std::shared_ptr<Content> all_;
};

}  // namespace c10

namespace mindtorch MINDTORCH_HIDDEN {
// A missing tensor is a null handle: exactly what an undefined tensor holds; so the list is copied.
inline std::vector<mt_tensor>& kept_tensors() {
    thread_local std::vector<std::vector<mt_tensor>> kept(8);
    thread_local size_t next = 0;
    return kept[next++ % 8];
}
inline mt_value arg(const c10::List<std::optional<at::Tensor>>& list) {
    std::vector<mt_tensor>& handles = kept_tensors();
    handles.clear();
    for (const std::optional<at::Tensor>& t : list.items()) handles.push_back(t ? t->handle() : nullptr);
    mt_value v{};
    v.tag = MT_TENSOR_LIST;
    v.as.tensors = handles.data();
    v.len = static_cast<uint32_t>(handles.size());
    return v;
}
}  // namespace mindtorch MINDTORCH_HIDDEN

namespace torch {
template <class T>
using List = c10::List<T>;
template <class K, class V>
using Dict = c10::Dict<K, V>;
}  // namespace torch
