// The core's table as these headers use it, and its errors as C++ exceptions.
#pragma once

#include <mindtorch/boundary.h>
#include <mindtorch/stable/check.h>

#include <dlfcn.h>

#include <exception>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#define MINDTORCH_LIKELY(x) __builtin_expect(!!(x), 1)
#define MINDTORCH_UNLIKELY(x) __builtin_expect(!!(x), 0)

// What is in this namespace is each library's own, also where two libraries were compiled with different headers.
#define MINDTORCH_HIDDEN __attribute__((visibility("hidden")))

namespace mindtorch MINDTORCH_HIDDEN {

// A counted reference to an object of the core.
class Object {
  public:
    Object() = default;
    static Object steal(mt_object h);
    static Object share(mt_object h);
    Object(const Object& o);
    Object(Object&& o) noexcept : h_(std::exchange(o.h_, nullptr)) {}
    Object& operator=(Object o) noexcept {
        std::swap(h_, o.h_);
        return *this;
    }
    ~Object();
    mt_object get() const { return h_; }
    mt_object release() { return std::exchange(h_, nullptr); }
    explicit operator bool() const { return h_ != nullptr; }

  private:
    mt_object h_ = nullptr;
};

}  // namespace mindtorch MINDTORCH_HIDDEN

namespace c10 {

// A place in a source file.
struct SourceLocation {
    const char* function;
    const char* file;
    uint32_t line;
};

// The base of what TORCH_CHECK throws. Python sees the exception class of `kind`, or the exception that it came from.
class Error : public std::exception {
  public:
    explicit Error(std::string text, int kind = MT_ERROR_RUNTIME) : text_(std::move(text)), kind_(kind) {}
    Error(SourceLocation, std::string text) : Error(std::move(text)) {}
    Error(std::string text, mindtorch::Object exception)
        : text_(std::move(text)), kind_(MT_ERROR_PYTHON), exception_(std::move(exception)) {}
    const char* what() const noexcept override { return text_.c_str(); }
    const char* what_without_backtrace() const noexcept { return text_.c_str(); }
    const std::string& msg() const { return text_; }
    // What was known where it passed, below the message.
    void add_context(const std::string& more) {
        context_.push_back(more);
        text_ += "\n  " + more;
    }
    const std::vector<std::string>& context() const { return context_; }
    std::string backtrace() const { return ""; }
    int kind() const { return kind_; }
    const mindtorch::Object& exception() const { return exception_; }

  private:
    std::string text_;
    int kind_;
    mindtorch::Object exception_;
    std::vector<std::string> context_;
};

#define MINDTORCH_ERROR(Name, kind)                                       \
    class Name : public Error {                                           \
      public:                                                             \
        explicit Name(std::string text) : Error(std::move(text), kind) {} \
        Name(SourceLocation, std::string text) : Name(std::move(text)) {} \
    };
MINDTORCH_ERROR(IndexError, MT_ERROR_INDEX)
MINDTORCH_ERROR(ValueError, MT_ERROR_VALUE)
MINDTORCH_ERROR(TypeError, MT_ERROR_TYPE)
MINDTORCH_ERROR(NotImplementedError, MT_ERROR_NOT_IMPLEMENTED)
MINDTORCH_ERROR(OutOfMemoryError, MT_ERROR_MEMORY)
MINDTORCH_ERROR(LinAlgError, MT_ERROR_LINALG)
MINDTORCH_ERROR(EnforceFiniteError, MT_ERROR_RUNTIME)
MINDTORCH_ERROR(AcceleratorError, MT_ERROR_RUNTIME)
MINDTORCH_ERROR(DistError, MT_ERROR_RUNTIME)
MINDTORCH_ERROR(DistBackendError, MT_ERROR_RUNTIME)
MINDTORCH_ERROR(DistStoreError, MT_ERROR_RUNTIME)
MINDTORCH_ERROR(DistNetworkError, MT_ERROR_RUNTIME)
MINDTORCH_ERROR(OnnxfiBackendSystemError, MT_ERROR_RUNTIME)
#undef MINDTORCH_ERROR

}  // namespace c10

namespace mindtorch MINDTORCH_HIDDEN {

// The file of the library that this is part of, for the core's messages.
inline const char* library_name() {
    static const char own = 0;
    Dl_info info;
    return dladdr(&own, &info) && info.dli_fname ? info.dli_fname : "an operator library";
}
inline const mt_boundary* find_api() {
    static const mt_boundary* const table =
        mindtorch_boundary(MT_BOUNDARY_VERSION, sizeof(mt_boundary), library_name());
    return table;
}
inline const mt_boundary& api() {
    static const mt_boundary* const table = find_api();
    if (MINDTORCH_UNLIKELY(!table))
        throw c10::Error(std::string(library_name()) +
                         " was compiled for a later mindtorch_v2 than the one that is installed");
    return *table;
}

inline Object Object::steal(mt_object h) {
    Object o;
    o.h_ = h;
    return o;
}
inline Object Object::share(mt_object h) {
    api().retain(h);
    return steal(h);
}
inline Object::Object(const Object& o) : h_(o.h_) {
    if (h_) api().retain(h_);
}
inline Object::~Object() {
    if (h_) find_api()->release(h_);
}

[[noreturn]] inline void throw_error(std::string text, int kind) {
    switch (kind) {
        case MT_ERROR_INDEX:
            throw c10::IndexError(std::move(text));
        case MT_ERROR_VALUE:
            throw c10::ValueError(std::move(text));
        case MT_ERROR_TYPE:
            throw c10::TypeError(std::move(text));
        case MT_ERROR_NOT_IMPLEMENTED:
            throw c10::NotImplementedError(std::move(text));
        case MT_ERROR_MEMORY:
            throw c10::OutOfMemoryError(std::move(text));
        case MT_ERROR_LINALG:
            throw c10::LinAlgError(std::move(text));
        default:
            throw c10::Error(std::move(text), kind);
    }
}
// The error that the core has just reported.
[[noreturn]] inline void throw_reported() {
    const char* text;
    size_t length;
    mt_object exception;
    const int kind = api().take_error(&text, &length, &exception);
    std::string copy(text, length);
    if (exception) throw c10::Error(std::move(copy), Object::steal(exception));
    throw_error(std::move(copy), kind);
}
inline void check(int status) {
    if (MINDTORCH_UNLIKELY(status != 0)) throw_reported();
}

// Inside catch (...): hands the exception in flight to the core. Always 1.
inline int report_exception() noexcept {
    const mt_boundary& t = api();
    try {
        throw;
    } catch (const c10::Error& e) {
        t.set_error(e.kind(), e.msg().data(), e.msg().size(), e.exception().get());
    } catch (const std::bad_alloc& e) {
        t.set_error(MT_ERROR_MEMORY, e.what(), std::char_traits<char>::length(e.what()), nullptr);
    } catch (const std::exception& e) {
        t.set_error(MT_ERROR_RUNTIME, e.what(), std::char_traits<char>::length(e.what()), nullptr);
    } catch (...) {
        static const char text[] = "a C++ exception that is no std::exception";
        t.set_error(MT_ERROR_RUNTIME, text, sizeof(text) - 1, nullptr);
    }
    return 1;
}

// Runs what a static initialiser registers: it cannot throw, so that loading the library fails instead.
template <class F>
void registering(F&& body) noexcept {
    const mt_boundary* t = find_api();
    if (!t) return;  // the core has said why
    try {
        body();
    } catch (const c10::Error& e) {
        t->load_failed(e.kind(), e.what());
    } catch (const std::exception& e) {
        t->load_failed(MT_ERROR_RUNTIME, e.what());
    }
}

}  // namespace mindtorch MINDTORCH_HIDDEN

namespace c10 {

namespace detail {
inline void stream_all(std::ostream&) {}
template <class T, class... A>
void stream_all(std::ostream& s, const T& first, const A&... rest) {
    s << first;
    stream_all(s, rest...);
}
}  // namespace detail

template <class... A>
std::string str(const A&... parts) {
    if constexpr (sizeof...(A) == 0) {
        return std::string();
    } else {
        std::ostringstream s;
        detail::stream_all(s, parts...);
        return s.str();
    }
}
// The items of a list with `between` between them.
template <class Container>
std::string Join(const std::string& between, const Container& items) {
    std::ostringstream s;
    bool first = true;
    for (const auto& item : items) {
        s << (first ? "" : between) << item;
        first = false;
    }
    return s.str();
}
// Puts `to` where `from` stands; how often it did.
inline size_t ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
    if (from.empty()) return 0;
    size_t count = 0;
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()), count++)
        text.replace(at, from.size(), to);
    return count;
}
inline std::string str(const char* text) { return text; }
inline std::string str(const std::string& text) { return text; }

}  // namespace c10

namespace mindtorch MINDTORCH_HIDDEN {

template <class... A>
[[noreturn, gnu::cold, gnu::noinline]] void fail(int kind, const char* condition, const A&... parts) {
    std::string text = c10::str(parts...);
    if constexpr (sizeof...(A) == 0)
        text = c10::str("Expected ", condition,
                        " to be true, but got false.  (Could this error message be improved?  If so, please report an "
                        "enhancement request to PyTorch.)");
    throw_error(std::move(text), kind);
}
// The same with an exception class of C++.
template <class E, class... A>
[[noreturn, gnu::cold, gnu::noinline]] void fail_as(const char* condition, const A&... parts) {
    try {
        fail(MT_ERROR_RUNTIME, condition, parts...);
    } catch (const c10::Error& e) {
        throw E(e.msg());
    }
}
template <class... A>
[[noreturn, gnu::cold, gnu::noinline]] void fail_internally(const char* condition, const char* file, int line,
                                                            const A&... parts) {
    throw_error(c10::str(condition, " INTERNAL ASSERT FAILED at \"", file, "\":", line,
                         ", please report a bug to PyTorch. ", parts...),
                MT_ERROR_RUNTIME);
}

}  // namespace mindtorch MINDTORCH_HIDDEN

namespace c10 {
// A warning as an object, and who is told.
class Warning {
  public:
    struct UserWarning {};
    struct DeprecationWarning {};
    enum class Category { User, Deprecation };
    template <class Kind>
    Warning(Kind, const SourceLocation& place, std::string text, bool verbatim = false)
        : category_(std::is_same<Kind, DeprecationWarning>::value ? Category::Deprecation : Category::User),
          place_(place),
          text_(std::move(text)),
          verbatim_(verbatim) {}
    const char* category() const { return category_ == Category::User ? "UserWarning" : "DeprecationWarning"; }
    Category type() const { return category_; }
    const SourceLocation& source_location() const { return place_; }
    const std::string& msg() const { return text_; }
    bool verbatim() const { return verbatim_; }

  private:
    Category category_;
    SourceLocation place_;
    std::string text_;
    bool verbatim_;
};
class WarningHandler {
  public:
    virtual ~WarningHandler() = default;
    virtual void process(const Warning& w) {
        const std::string text = w.msg();
        mindtorch::check(mindtorch::api().warn(text.c_str(), w.category(), w.source_location().file,
                                               static_cast<int>(w.source_location().line)));
    }
};
namespace WarningUtils {
namespace detail {
inline WarningHandler*& handler_of_thread() {
    thread_local WarningHandler* handler = nullptr;
    return handler;
}
inline bool& warns_always() {
    static bool on = false;
    return on;
}
}  // namespace detail
inline WarningHandler* get_warning_handler() noexcept {
    static WarningHandler plain;
    return detail::handler_of_thread() ? detail::handler_of_thread() : &plain;
}
inline void set_warning_handler(WarningHandler* handler) noexcept { detail::handler_of_thread() = handler; }
inline void set_warnAlways(bool on) noexcept { detail::warns_always() = on; }
inline bool get_warnAlways() noexcept { return detail::warns_always(); }
class WarningHandlerGuard {
  public:
    explicit WarningHandlerGuard(WarningHandler* handler) : before_(detail::handler_of_thread()) {
        set_warning_handler(handler);
    }
    ~WarningHandlerGuard() { set_warning_handler(before_); }
    WarningHandlerGuard(const WarningHandlerGuard&) = delete;
    WarningHandlerGuard& operator=(const WarningHandlerGuard&) = delete;

  private:
    WarningHandler* before_;
};
struct WarnAlways {
    explicit WarnAlways(bool on = true) : before_(get_warnAlways()) { set_warnAlways(on); }
    ~WarnAlways() { set_warnAlways(before_); }
    const bool before_;
};
}  // namespace WarningUtils
inline void warn(const Warning& w) { WarningUtils::get_warning_handler()->process(w); }
}  // namespace c10
namespace mindtorch MINDTORCH_HIDDEN {
template <class... A>
void warn(const char* category, const char* file, int line, const A&... parts) {
    const c10::SourceLocation place{"", file, static_cast<uint32_t>(line)};
    std::string text = c10::str(parts...);
    if (category[0] == 'D')
        c10::warn(c10::Warning(c10::Warning::DeprecationWarning(), place, std::move(text)));
    else
        c10::warn(c10::Warning(c10::Warning::UserWarning(), place, std::move(text)));
}
}  // namespace mindtorch MINDTORCH_HIDDEN

#define C10_LIKELY(x) MINDTORCH_LIKELY(x)
#define C10_UNLIKELY(x) MINDTORCH_UNLIKELY(x)
#define C10_UNLIKELY_OR_CONST(x) MINDTORCH_UNLIKELY(x)
#define C10_ALWAYS_INLINE __attribute__((always_inline)) inline
#define C10_NOINLINE __attribute__((noinline))
#define C10_EXPORT __attribute__((visibility("default")))
#define C10_HIDDEN __attribute__((visibility("hidden")))
#define C10_IMPORT C10_EXPORT
#define C10_API C10_EXPORT
#define TORCH_API C10_EXPORT
#define TORCH_PYTHON_API C10_EXPORT
#define C10_HOST_DEVICE
#define C10_HOST
#define C10_DEVICE
#define C10_UNUSED [[maybe_unused]]
#define C10_NODISCARD [[nodiscard]]
#define C10_RESTRICT __restrict
#define C10_CONCATENATE_IMPL(a, b) a##b
#define C10_CONCATENATE(a, b) C10_CONCATENATE_IMPL(a, b)
#define C10_UID __COUNTER__
#define C10_ANONYMOUS_VARIABLE(x) C10_CONCATENATE(x, C10_UID)
#define C10_STRINGIZE_IMPL(x) #x
#define C10_STRINGIZE(x) C10_STRINGIZE_IMPL(x)

// As PyTorch writes them: an `if` with a block, so that they also stand without a semicolon.
#define MINDTORCH_CHECK_AS(kind, condition, ...)            \
    if (MINDTORCH_UNLIKELY(!(condition))) {                 \
        ::mindtorch::fail(kind, #condition, ##__VA_ARGS__); \
    }
#define TORCH_CHECK(condition, ...) MINDTORCH_CHECK_AS(MT_ERROR_RUNTIME, condition, ##__VA_ARGS__)
#define TORCH_CHECK_INDEX(condition, ...) MINDTORCH_CHECK_AS(MT_ERROR_INDEX, condition, ##__VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...) MINDTORCH_CHECK_AS(MT_ERROR_VALUE, condition, ##__VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...) MINDTORCH_CHECK_AS(MT_ERROR_TYPE, condition, ##__VA_ARGS__)
#define TORCH_CHECK_LINALG(condition, ...) MINDTORCH_CHECK_AS(MT_ERROR_LINALG, condition, ##__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) \
    MINDTORCH_CHECK_AS(MT_ERROR_NOT_IMPLEMENTED, condition, ##__VA_ARGS__)
#define TORCH_CHECK_ARG(condition, n, ...) TORCH_CHECK(condition, "invalid argument " #n ": ", ##__VA_ARGS__)
#define TORCH_CHECK_IF_NOT_ON_CUDA(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define MINDTORCH_CHECK_OP(a, b, op, ...)                                                                          \
    do {                                                                                                           \
        const auto& mindtorch_a = (a);                                                                             \
        const auto& mindtorch_b = (b);                                                                             \
        if (MINDTORCH_UNLIKELY(!(mindtorch_a op mindtorch_b)))                                                     \
            ::mindtorch::fail(MT_ERROR_RUNTIME, "", "Check failed: " #a " " #op " " #b " (", mindtorch_a, " vs. ", \
                              mindtorch_b, "). ", ##__VA_ARGS__);                                                  \
    } while (false)
#define TORCH_CHECK_EQ(a, b, ...) MINDTORCH_CHECK_OP(a, b, ==, ##__VA_ARGS__)
#define TORCH_CHECK_NE(a, b, ...) MINDTORCH_CHECK_OP(a, b, !=, ##__VA_ARGS__)
#define TORCH_CHECK_LT(a, b, ...) MINDTORCH_CHECK_OP(a, b, <, ##__VA_ARGS__)
#define TORCH_CHECK_LE(a, b, ...) MINDTORCH_CHECK_OP(a, b, <=, ##__VA_ARGS__)
#define TORCH_CHECK_GT(a, b, ...) MINDTORCH_CHECK_OP(a, b, >, ##__VA_ARGS__)
#define TORCH_CHECK_GE(a, b, ...) MINDTORCH_CHECK_OP(a, b, >=, ##__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...)                                        \
    if (MINDTORCH_UNLIKELY(!(condition))) {                                          \
        ::mindtorch::fail_internally(#condition, __FILE__, __LINE__, ##__VA_ARGS__); \
    }
#ifdef NDEBUG
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) \
    while (false) TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#else
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#endif
#define TORCH_CHECK_WITH(Kind, condition, ...)                        \
    if (MINDTORCH_UNLIKELY(!(condition))) {                           \
        ::mindtorch::fail_as<::c10::Kind>(#condition, ##__VA_ARGS__); \
    }
#define TORCH_CHECK_WITH_MSG(Kind, condition, type, ...) TORCH_CHECK_WITH(Kind, condition, ##__VA_ARGS__)
#define AT_ASSERT(...) TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#define AT_ASSERTM(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define AT_ERROR(...) ::mindtorch::fail(MT_ERROR_RUNTIME, "", ::c10::str(__VA_ARGS__))
#define C10_THROW_ERROR(Kind, text) throw ::c10::Kind(text)
#define TORCH_WARN(...) ::mindtorch::warn("UserWarning", __FILE__, __LINE__, ##__VA_ARGS__)
#define TORCH_WARN_DEPRECATION(...) ::mindtorch::warn("DeprecationWarning", __FILE__, __LINE__, ##__VA_ARGS__)
#define TORCH_WARN_ONCE(...)                                              \
    do {                                                                  \
        static bool mindtorch_warned = false;                             \
        if (!mindtorch_warned || ::c10::WarningUtils::get_warnAlways()) { \
            mindtorch_warned = true;                                      \
            TORCH_WARN(__VA_ARGS__);                                      \
        }                                                                 \
    } while (false)
#define TORCH_WARN_WITH(Kind, ...) \
    ::c10::warn(::c10::Warning(::c10::Kind(), {__func__, __FILE__, __LINE__}, ::c10::str(__VA_ARGS__)))
#define AT_WARN(...) TORCH_WARN(__VA_ARGS__)
