// STABLE_TORCH_LIBRARY: operators and kernels of a library that runs with every version.
#pragma once

#include <mindtorch/stable/values.h>

#include <cstdlib>
#include <iostream>

// Each library has its own: none may take another one's, made with other headers.
#pragma GCC visibility push(hidden)

namespace torch::stable::detail {

// What a kernel's parameter is kept as while it runs: lists and texts are views elsewhere.
template <class T>
struct Kept {
    using type = T;
};
template <class T>
struct Kept<headeronly::HeaderOnlyArrayRef<T>> {
    using type = std::vector<T>;
};
template <class T>
struct Kept<std::optional<headeronly::HeaderOnlyArrayRef<T>>> {
    using type = std::optional<std::vector<T>>;
};
template <>
struct Kept<std::string_view> {
    using type = std::string;
};
template <class T>
using kept_t = typename Kept<std::remove_cv_t<std::remove_reference_t<T>>>::type;

template <class R>
struct Results {
    static constexpr size_t count = 1;
    static void give(StableIValue* stack, const R& value) { stack[0] = from(value); }
};
template <class... R>
struct Results<std::tuple<R...>> {
    static constexpr size_t count = sizeof...(R);
    static void give(StableIValue* stack, const std::tuple<R...>& values) {
        each(stack, values, std::index_sequence_for<R...>());
    }
    template <size_t... i>
    static void each(StableIValue* stack, const std::tuple<R...>& values, std::index_sequence<i...>) {
        ((stack[i] = from(std::get<i>(values))), ...);
    }
};

template <auto function, class Type = std::remove_pointer_t<decltype(function)>>
struct Boxed;
template <auto function, class R, class... A>
struct Boxed<function, R(A...)> {
    static void boxed_fn(StableIValue* stack, uint64_t num_args, uint64_t num_outputs) {
        STD_TORCH_CHECK(num_args == sizeof...(A), "Registered schema has ", num_args,
                        " args, but the kernel to box has ", sizeof...(A));
        run(stack, num_outputs, std::index_sequence_for<A...>());
    }
    template <size_t... i>
    static void run(StableIValue* stack, uint64_t num_outputs, std::index_sequence<i...>) {
        std::tuple<kept_t<A>...> args{to<kept_t<A>>(stack[i])...};
        if constexpr (std::is_void_v<R>) {
            STD_TORCH_CHECK(num_outputs == 0, "Registered schema has ", num_outputs,
                            " outputs, but the kernel to box has 0");
            function(std::get<i>(args)...);
        } else {
            STD_TORCH_CHECK(num_outputs == Results<R>::count, "Registered schema has ", num_outputs,
                            " outputs, but the kernel to box has ", Results<R>::count);
            Results<R>::give(stack, function(std::get<i>(args)...));
        }
    }
};

// A block of registrations, which ends with the library.
class StableLibrary {
  public:
    enum class Kind { DEF, IMPL, FRAGMENT };
    StableLibrary(Kind kind, const char* ns, const char* key, const char* file, uint32_t line) {
        if (kind == Kind::IMPL)
            STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_library_init_impl(ns, key, file, line, &library_));
        else if (kind == Kind::DEF)
            STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_library_init_def(ns, file, line, &library_));
        else
            STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_library_init_fragment(ns, file, line, &library_));
    }
    StableLibrary(const StableLibrary&) = delete;
    StableLibrary& operator=(const StableLibrary&) = delete;
    ~StableLibrary() {
        if (library_) (void)aoti_torch_delete_library_object(library_);
    }
    StableLibrary& def(const char* schema) {
        STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_library_def(library_, schema));
        return *this;
    }
    StableLibrary& impl(const char* name, void (*fn)(StableIValue*, uint64_t, uint64_t)) {
        STABLE_TORCH_ERROR_CODE_CHECK(torch_library_impl(library_, name, fn, TORCH_ABI_VERSION));
        return *this;
    }
#if MINDTORCH_STABLE_SINCE(13)
    StableLibrary& set_python_module(const char* module, const char* context = "") {
        STABLE_TORCH_ERROR_CODE_CHECK(torch_library_set_python_module(library_, module, context));
        return *this;
    }
#endif

  private:
    TorchLibraryHandle library_ = nullptr;
};

class StableTorchLibraryInit {
  public:
    StableTorchLibraryInit(StableLibrary::Kind kind, void (*fill)(StableLibrary&), const char* ns, const char* key,
                           const char* file, uint32_t line)
        : library_(kind, ns, key, file, line) {
        fill(library_);
    }

  private:
    StableLibrary library_;
};

}  // namespace torch::stable::detail

#define TORCH_BOX(function) (&::torch::stable::detail::Boxed<+(function)>::boxed_fn)

#define MINDTORCH_STABLE_BLOCK(kind, name, ns, key, m)                                                  \
    static void name##_fill(::torch::stable::detail::StableLibrary&);                                   \
    static const ::torch::stable::detail::StableTorchLibraryInit name##_init(                           \
        ::torch::stable::detail::StableLibrary::Kind::kind, &name##_fill, ns, key, __FILE__, __LINE__); \
    void name##_fill(::torch::stable::detail::StableLibrary& m)
#define STABLE_TORCH_LIBRARY(ns, m) MINDTORCH_STABLE_BLOCK(DEF, STABLE_TORCH_LIBRARY_##ns, #ns, nullptr, m)
#define STABLE_TORCH_LIBRARY_FRAGMENT(ns, m) \
    MINDTORCH_STABLE_UNIQUE(FRAGMENT, STABLE_TORCH_LIBRARY_FRAGMENT_##ns##_, #ns, nullptr, m, __COUNTER__)
#define STABLE_TORCH_LIBRARY_IMPL(ns, key, m) \
    MINDTORCH_STABLE_UNIQUE(IMPL, STABLE_TORCH_LIBRARY_IMPL_##ns##_##key##_, #ns, #key, m, __COUNTER__)
#define MINDTORCH_STABLE_UNIQUE(kind, name, ns, key, m, n) MINDTORCH_STABLE_UNIQUE_(kind, name, ns, key, m, n)
#define MINDTORCH_STABLE_UNIQUE_(kind, name, ns, key, m, n) MINDTORCH_STABLE_BLOCK(kind, name##n, ns, key, m)

#pragma GCC visibility pop
