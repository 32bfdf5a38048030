// c10::List and c10::Dict: containers that are shared when they are copied.
#pragma once

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
inline TypeKind type_kind(const std::string& text) {
    static const char* const names[] = {
        "AnyType",     "AnyEnumType",  "TensorType",     "StorageType",   "TupleType",        "ListType",
        "DictType",    "NumberType",   "FloatType",      "ComplexType",   "FutureType",       "AwaitType",
        "RRefType",    "IntType",      "NoneType",       "StringType",    "GeneratorType",    "QuantizerType",
        "BoolType",    "OptionalType", "VarType",        "DeviceObjType", "StreamObjType",    "ClassType",
        "CapsuleType", "QSchemeType",  "ScalarTypeType", "LayoutType",    "MemoryFormatType", "AnyClassType",
        "SymIntType",  "SymBoolType",  "UnionType"};
    int kind = 0;
    for (const char* name : names) {
        if (text == name) return static_cast<TypeKind>(kind);
        kind++;
    }
    TORCH_CHECK(false, "unknown type of a schema: ", text);
}

// A type of the schema language: "Tensor?", "int[]", "(Tensor, Tensor)".
class Type;
using TypePtr = std::shared_ptr<Type>;
class Type {
  public:
    Type(TypeKind kind, std::string text, std::string annotation, std::vector<TypePtr> contained = {})
        : kind_(kind), text_(std::move(text)), annotation_(std::move(annotation)), contained_(std::move(contained)) {}
    TypeKind kind() const { return kind_; }
    const std::string& str() const { return text_; }
    std::string repr_str() const { return annotation_; }
    std::string annotation_str() const { return annotation_; }
    const std::vector<TypePtr>& containedTypes() const { return contained_; }

  private:
    TypeKind kind_;
    std::string text_, annotation_;
    std::vector<TypePtr> contained_;
};
inline std::ostream& operator<<(std::ostream& out, const Type& type) { return out << type.str(); }
// Those that programs name where they make lists of values.
#define MINDTORCH_TYPE_NAMED(Name, text)                                                    \
    struct Name {                                                                           \
        static TypePtr get() {                                                              \
            static const TypePtr type = std::make_shared<Type>(TypeKind::Name, text, text); \
            return type;                                                                    \
        }                                                                                   \
    };
MINDTORCH_TYPE_NAMED(AnyType, "Any")
MINDTORCH_TYPE_NAMED(TensorType, "Tensor")
MINDTORCH_TYPE_NAMED(IntType, "int")
MINDTORCH_TYPE_NAMED(FloatType, "float")
MINDTORCH_TYPE_NAMED(BoolType, "bool")
MINDTORCH_TYPE_NAMED(StringType, "str")
MINDTORCH_TYPE_NAMED(NoneType, "NoneType")
#undef MINDTORCH_TYPE_NAMED

template <class T>
class List {
  public:
    using value_type = T;
    using size_type = size_t;
    using iterator = typename std::vector<T>::iterator;
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
    const std::vector<T>& items() const { return *items_; }

  private:
    T at(size_t i) const {
        TORCH_CHECK_INDEX(i < items_->size(), "list index out of range");
        return (*items_)[i];
    }
    std::shared_ptr<std::vector<T>> items_;
};

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

  private:
    struct Content {
        std::vector<Entry> entries;
        std::unordered_map<K, size_t> places;
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
