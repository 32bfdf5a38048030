// What c10 adds to the language: traits of functions, hashes, references to functions, what runs at the end of a scope.
#pragma once

#include <mindtorch/types.h>

#include <cxxabi.h>

#include <complex>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <tuple>
#include <typeinfo>
#include <utility>

namespace c10 {

// The name of a type, as programs write it.
inline std::string demangle(const char* name) {
    int status = 0;
    char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
    std::string found = text ? text : name;
    std::free(text);
    return found;
}
template <class T>
const char* demangle_type() {
    // Not PyTorch's name for it: the linker would make one variable of both in a process that has both.
    static const std::string demangled = demangle(typeid(T).name());
    return demangled.c_str();
}

template <class To, class From>
To bit_cast(const From& from) noexcept {
    static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<From> && std::is_trivially_copyable_v<To>);
    To to;
    std::memcpy(static_cast<void*>(&to), &from, sizeof(To));
    return to;
}
template <class C>
constexpr auto ssize(const C& c) -> std::common_type_t<std::ptrdiff_t, std::make_signed_t<decltype(c.size())>> {
    return static_cast<std::common_type_t<std::ptrdiff_t, std::make_signed_t<decltype(c.size())>>>(c.size());
}

// A value of any type in memory; of bool also where the byte is neither 0 nor 1.
template <class T>
T load(const void* from) {
    if constexpr (std::is_same_v<T, bool>)
        return *static_cast<const unsigned char*>(from) != 0;
    else
        return *static_cast<const T*>(from);
}
template <class T>
T load(const T* from) {
    return load<T>(static_cast<const void*>(from));
}

// Between numbers of any types: the real part of a complex one where the other is not.
template <class To, class From>
To convert(From value) {
    constexpr bool loses = is_complex<From>::value && !is_complex<To>::value;
    if constexpr (loses && std::is_same_v<To, bool>)
        return value.real() != 0 || value.imag() != 0;
    else if constexpr (loses)
        return static_cast<To>(value.real());
    else if constexpr (std::is_same_v<To, uint8_t>)
        return static_cast<uint8_t>(static_cast<int64_t>(value));
    else
        return static_cast<To>(value);
}
// Convert, or RuntimeError where the type has no such number.
template <class To, class From>
To checked_convert(From value, const char* name) {
    if constexpr (std::is_arithmetic_v<To> && std::is_arithmetic_v<From> && !std::is_same_v<To, bool>) {
        using limits = std::numeric_limits<To>;
        bool fits = true;
        if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
            fits = static_cast<From>(static_cast<To>(value)) == value && (static_cast<To>(value) < 0) == (value < 0);
        } else if (value == value && (std::is_integral_v<To> || value - value == 0)) {
            fits = static_cast<long double>(value) >= static_cast<long double>(limits::lowest()) &&
                   static_cast<long double>(value) <= static_cast<long double>(limits::max());
        } else {
            fits = !std::is_integral_v<To>;
        }
        TORCH_CHECK(fits, "value cannot be converted to type ", name, " without overflow");
    }
    return convert<To, From>(value);
}

namespace utils {
inline std::optional<std::string> get_env(const char* name) noexcept {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
}
inline bool has_env(const char* name) noexcept { return std::getenv(name) != nullptr; }
inline void set_env(const char* name, const char* value, bool overwrite = true) { setenv(name, value, overwrite); }
// "1" and "0"; of anything else it is warned.
inline std::optional<bool> check_env(const char* name) {
    const std::optional<std::string> value = get_env(name);
    if (value == "0" || value == "1") return *value == "1";
    if (value) TORCH_WARN("Ignoring invalid value for boolean flag ", name, ": ", *value, "valid values are 0 or 1.");
    return std::nullopt;
}
}  // namespace utils

// Several functions as one.
template <class... F>
struct overloaded_t : F... {
    using F::operator()...;
};
template <class... F>
overloaded_t<std::decay_t<F>...> overloaded(F&&... f) {
    return {std::forward<F>(f)...};
}

// ---- hashes ----
inline size_t hash_combine(size_t seed, size_t value) {
    return seed ^ (value + 0x9e3779b9 + (seed << 6U) + (seed >> 2U));
}
template <class T>
struct hash;
template <class... T>
size_t get_hash(const T&... values) {
    size_t seed = 0;
    ((seed = hash_combine(seed, hash<T>()(values))), ...);
    return seed;
}
template <class T>
struct hash {
    size_t operator()(const T& value) const {
        if constexpr (std::is_enum_v<T>)
            return std::hash<std::underlying_type_t<T>>()(static_cast<std::underlying_type_t<T>>(value));
        else
            return std::hash<T>()(value);
    }
};
template <class T>
struct hash<std::vector<T>> {
    size_t operator()(const std::vector<T>& values) const {
        size_t seed = 0;
        for (const T& v : values) seed = hash_combine(seed, hash<T>()(v));
        return seed;
    }
};
template <class T>
struct hash<ArrayRef<T>> {
    size_t operator()(ArrayRef<T> values) const { return hash<std::vector<T>>()(values.vec()); }
};
template <class... T>
struct hash<std::tuple<T...>> {
    size_t operator()(const std::tuple<T...>& values) const {
        return std::apply([](const auto&... v) { return get_hash(v...); }, values);
    }
};
template <class A, class B>
struct hash<std::pair<A, B>> {
    size_t operator()(const std::pair<A, B>& v) const { return get_hash(v.first, v.second); }
};
template <class T>
struct hash<std::complex<T>> {
    size_t operator()(const std::complex<T>& v) const { return get_hash(v.real(), v.imag()); }
};

// ---- functions ----
// A function that is only borrowed, for as long as a call lasts.
template <class Sig>
class function_ref;
template <class R, class... A>
class function_ref<R(A...)> {
  public:
    function_ref() = default;
    function_ref(std::nullptr_t) {}
    template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, function_ref>>>
    function_ref(F&& f)
        : held_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))), call_([](void* held, A... a) -> R {
              return (*static_cast<std::remove_reference_t<F>*>(held))(std::forward<A>(a)...);
          }) {}
    R operator()(A... a) const { return call_(held_, std::forward<A>(a)...); }
    explicit operator bool() const { return call_ != nullptr; }

  private:
    void* held_ = nullptr;
    R (*call_)(void*, A...) = nullptr;
};
template <class F>
class scope_exit {
  public:
    explicit scope_exit(F&& f) : f_(std::move(f)) {}
    scope_exit(scope_exit&& o) noexcept : f_(std::move(o.f_)), on_(std::exchange(o.on_, false)) {}
    scope_exit(const scope_exit&) = delete;
    scope_exit& operator=(const scope_exit&) = delete;
    ~scope_exit() {
        if (on_) f_();
    }
    void release() { on_ = false; }

  private:
    F f_;
    bool on_ = true;
};
template <class F>
scope_exit<std::decay_t<F>> make_scope_exit(F&& f) {
    return scope_exit<std::decay_t<F>>(std::forward<F>(f));
}

template <class F, class T>
auto fmap(const T& inputs, const F& f) -> std::vector<decltype(f(*inputs.begin()))> {
    std::vector<decltype(f(*inputs.begin()))> all;
    all.reserve(inputs.size());
    for (const auto& i : inputs) all.push_back(f(i));
    return all;
}
template <class R, class T>
std::vector<R> fmap(const T& inputs) {
    std::vector<R> all;
    all.reserve(inputs.size());
    for (const auto& i : inputs) all.push_back(R(i));
    return all;
}
template <class F, class T>
std::vector<T> filter(ArrayRef<T> inputs, const F& f) {
    std::vector<T> all;
    for (const T& i : inputs)
        if (f(i)) all.push_back(i);
    return all;
}
template <class F, class T>
std::vector<T> filter(const std::vector<T>& inputs, const F& f) {
    return filter<F, T>(ArrayRef<T>(inputs), f);
}

namespace guts {

using std::apply;
using std::conjunction;
using std::disjunction;
using std::index_sequence;
using std::make_index_sequence;
using std::negation;
using std::to_string;
using std::void_t;
template <class T>
using remove_cvref_t = std::remove_cv_t<std::remove_reference_t<T>>;

namespace typelist {
template <class... T>
struct typelist final {
    typelist() = delete;
};
template <class L>
struct size;
template <class... T>
struct size<typelist<T...>> : std::integral_constant<size_t, sizeof...(T)> {};
template <size_t i, class L>
struct element;
template <size_t i, class... T>
struct element<i, typelist<T...>> : std::tuple_element<i, std::tuple<T...>> {};
template <size_t i, class L>
using element_t = typename element<i, L>::type;
template <class L>
struct to_tuple;
template <class... T>
struct to_tuple<typelist<T...>> {
    using type = std::tuple<T...>;
};
template <class L>
using to_tuple_t = typename to_tuple<L>::type;
}  // namespace typelist

template <class F>
struct function_traits;
template <class R, class... A>
struct function_traits<R(A...)> {
    using func_type = R(A...);
    using return_type = R;
    using parameter_types = typelist::typelist<A...>;
    static constexpr size_t number_of_parameters = sizeof...(A);
};
namespace detail {
template <class F>
struct member;
template <class C, class R, class... A>
struct member<R (C::*)(A...)> : function_traits<R(A...)> {};
template <class C, class R, class... A>
struct member<R (C::*)(A...) const> : function_traits<R(A...)> {};
}  // namespace detail
template <class F>
struct infer_function_traits : detail::member<decltype(&F::operator())> {};
template <class R, class... A>
struct infer_function_traits<R (*)(A...)> : function_traits<R(A...)> {};
template <class R, class... A>
struct infer_function_traits<R(A...)> : function_traits<R(A...)> {};
template <class F>
using infer_function_traits_t = infer_function_traits<F>;

}  // namespace guts
}  // namespace c10
