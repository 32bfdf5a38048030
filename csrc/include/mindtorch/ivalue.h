// c10::IValue across the boundary, and the stacks of them that boxed kernels work on.
#pragma once

#include <mindtorch/value_class.h>

namespace mindtorch MINDTORCH_HIDDEN {

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
using Stack = std::vector<IValue>;
}  // namespace c10

namespace torch {
using c10::IValue;
namespace jit {
using c10::IValue;
using c10::Stack;
inline void drop(Stack& s, size_t n) { s.erase(s.end() - static_cast<std::ptrdiff_t>(n), s.end()); }
inline void drop(Stack* s, size_t n) { drop(*s, n); }
inline c10::IValue pop(Stack& s) {
    c10::IValue v = std::move(s.back());
    s.pop_back();
    return v;
}
inline c10::IValue pop(Stack* s) { return pop(*s); }
inline std::vector<c10::IValue> pop(Stack& s, size_t n) {
    std::vector<c10::IValue> values(std::make_move_iterator(s.end() - static_cast<std::ptrdiff_t>(n)),
                                    std::make_move_iterator(s.end()));
    drop(s, n);
    return values;
}
template <class... T>
void pop(Stack& s, T&... values) {
    size_t i = 0;
    ((values = std::move(s[s.size() - sizeof...(T) + i++]).template to<T>()), ...);
    drop(s, sizeof...(T));
}
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
inline c10::IValue& peek(Stack* s, size_t i, size_t n) { return peek(*s, i, n); }
inline const c10::IValue& peek(const Stack& s, size_t i, size_t n) { return s[s.size() - n + i]; }
inline c10::ArrayRef<c10::IValue> peekSlice(const Stack& s, size_t i, size_t length, size_t n) {
    return c10::ArrayRef<c10::IValue>(s.data() + s.size() - n + i, length);
}
}  // namespace jit
}  // namespace torch
