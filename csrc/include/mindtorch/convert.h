// How C++ types become values of the boundary and come back; and what a schema calls them.
#pragma once

#include <mindtorch/containers.h>

namespace torch {
// The base of C++ classes that Python programs hold: torch::class_.
struct CustomClassHolder : c10::intrusive_ptr_target {};
namespace jit {
using CustomClassHolder = torch::CustomClassHolder;
}
}  // namespace torch

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
struct Convert<c10::Storage> {
    static Packed pack(const c10::Storage& s) {
        Packed p;
        if (!s) return p;
        mt_storage core = s.unsafeGetStorageImpl()->share_core();
        mt_object o = nullptr;
        const int failed = api().object_of_storage(core, &o);
        api().storage_release(core);
        check(failed);
        p.keep = Object::steal(o);
        p.v = object_value(p.keep);
        return p;
    }
    static c10::Storage from(const mt_value& v) {
        if (v.tag != MT_OBJECT) wrong_type("Storage", v);
        mt_storage s = nullptr;
        check(api().storage_of_object(v.as.object, &s));
        return c10::Storage(c10::intrusive_ptr<c10::StorageImpl>(c10::StorageImpl::of(s)));
    }
    static std::string schema() { return "Storage"; }
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

}  // namespace mindtorch MINDTORCH_HIDDEN
