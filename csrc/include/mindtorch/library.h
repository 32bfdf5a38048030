// Operators: defining them, registering kernels, and calling any by name.
#pragma once

#include <mindtorch/ivalue.h>
#include <mindtorch/keys.h>
#include <mindtorch/schema.h>

namespace at {
enum class Tag {
    core,
    data_dependent_output,
    dynamic_output_shape,
    flexible_layout,
    generated,
    inplace_view,
    maybe_aliasing_or_mutating,
    needs_exact_strides,
    needs_contiguous_strides,
    needs_fixed_stride_order,
    nondeterministic_bitwise,
    nondeterministic_seeded,
    out,
    pointwise,
    pt2_compliant_tag,
    view_copy,
    reduction
};
}

namespace mindtorch MINDTORCH_HIDDEN {

inline const char* tag_name(at::Tag t) {
    static const char* const names[] = {"core",
                                        "data_dependent_output",
                                        "dynamic_output_shape",
                                        "flexible_layout",
                                        "generated",
                                        "inplace_view",
                                        "maybe_aliasing_or_mutating",
                                        "needs_exact_strides",
                                        "needs_contiguous_strides",
                                        "needs_fixed_stride_order",
                                        "nondeterministic_bitwise",
                                        "nondeterministic_seeded",
                                        "out",
                                        "pointwise",
                                        "pt2_compliant_tag",
                                        "view_copy",
                                        "reduction"};
    return names[static_cast<int>(t)];
}

// ---- function types ----
template <class F>
struct Signature : Signature<decltype(&std::decay_t<F>::operator())> {};
template <class R, class... A>
struct Signature<R(A...)> {
    using type = R(A...);
};
template <class R, class... A>
struct Signature<R (*)(A...)> : Signature<R(A...)> {};
template <class R, class... A>
struct Signature<R (&)(A...)> : Signature<R(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : Signature<R(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R(A...)> {};
#if __cpp_noexcept_function_type
template <class R, class... A>
struct Signature<R (*)(A...) noexcept> : Signature<R(A...)> {};
#endif
template <class F>
using signature_of = typename Signature<F>::type;

// ---- arguments of a kernel: a value of the boundary held as the parameter's type wants it ----
template <class A>
struct Held {
    std::decay_t<A> value;
    explicit Held(const mt_value& v) : value(Convert<std::decay_t<A>>::from(v)) {}
    A&& get() { return static_cast<A&&>(value); }
};
// Lent for the call: no reference is counted.
struct LentTensor {
    at::Tensor value;
    explicit LentTensor(const mt_value& v) : value(at::Tensor::steal(v.tag == MT_TENSOR ? v.as.tensor : nullptr)) {
        if (MINDTORCH_UNLIKELY(v.tag > MT_TENSOR)) wrong_type("Tensor", v);
    }
    ~LentTensor() { value.release_handle(); }
    LentTensor(const LentTensor&) = delete;
};
template <>
struct Held<const at::Tensor&> : LentTensor {
    using LentTensor::LentTensor;
    const at::Tensor& get() { return value; }
};
template <>
struct Held<at::Tensor&> : LentTensor {
    using LentTensor::LentTensor;
    at::Tensor& get() { return value; }
};
template <class T>
struct HeldArray {
    std::vector<std::conditional_t<std::is_same<T, bool>::value, uint8_t, T>> items;
    c10::ArrayRef<T> list;
    explicit HeldArray(const mt_value& v) {
        if constexpr (std::is_same<T, int64_t>::value) {
            if (v.tag == MT_INT_LIST) list = c10::ArrayRef<T>(v.as.ints, v.len);
        } else if constexpr (std::is_same<T, double>::value) {
            if (v.tag == MT_DOUBLE_LIST) list = c10::ArrayRef<T>(v.as.doubles, v.len);
        } else if constexpr (std::is_same<T, at::Tensor>::value) {
            if (v.tag == MT_TENSOR_LIST)
                list = c10::ArrayRef<T>(reinterpret_cast<const at::Tensor*>(v.as.tensors), v.len);
        }
        if (list.data() || v.tag == MT_NONE) return;
        each_item<T>(v, [&](T item) { items.push_back(std::move(item)); });
        list = c10::ArrayRef<T>(reinterpret_cast<const T*>(items.data()), items.size());
    }
};
struct HeldSizes : HeldArray<int64_t> {
    c10::SymIntArrayRef sizes;
    explicit HeldSizes(const mt_value& v) : HeldArray<int64_t>(v), sizes(list) {}
};
template <>
struct Held<c10::SymIntArrayRef> : HeldSizes {
    using HeldSizes::HeldSizes;
    c10::SymIntArrayRef get() { return sizes; }
};
template <>
struct Held<const c10::SymIntArrayRef&> : HeldSizes {
    using HeldSizes::HeldSizes;
    const c10::SymIntArrayRef& get() { return sizes; }
};
template <>
struct Held<c10::OptionalArrayRef<c10::SymInt>> : HeldSizes {
    bool given;
    explicit Held(const mt_value& v) : HeldSizes(v), given(v.tag != MT_NONE) {}
    c10::OptionalArrayRef<c10::SymInt> get() {
        return given ? c10::OptionalArrayRef<c10::SymInt>(c10::ArrayRef<c10::SymInt>(sizes))
                     : c10::OptionalArrayRef<c10::SymInt>();
    }
};
template <class T>
struct Held<c10::ArrayRef<T>> : HeldArray<T> {
    using HeldArray<T>::HeldArray;
    c10::ArrayRef<T> get() { return this->list; }
};
template <class T>
struct Held<const c10::ArrayRef<T>&> : HeldArray<T> {
    using HeldArray<T>::HeldArray;
    const c10::ArrayRef<T>& get() { return this->list; }
};
template <class T>
struct Held<c10::OptionalArrayRef<T>> : HeldArray<T> {
    bool given;
    explicit Held(const mt_value& v) : HeldArray<T>(v), given(v.tag != MT_NONE) {}
    c10::OptionalArrayRef<T> get() { return given ? c10::OptionalArrayRef<T>(this->list) : c10::OptionalArrayRef<T>(); }
};
template <class T>
struct Held<std::optional<c10::ArrayRef<T>>> : HeldArray<T> {
    bool given;
    explicit Held(const mt_value& v) : HeldArray<T>(v), given(v.tag != MT_NONE) {}
    std::optional<c10::ArrayRef<T>> get() { return given ? std::optional<c10::ArrayRef<T>>(this->list) : std::nullopt; }
};

// ---- results ----
template <class R>
struct Results {
    static constexpr int count = 1;
    static void give(const R& r, mt_value* rets) { rets[0] = owned(mindtorch::pack(r)); }
    static R take(const mt_value* rets) {
        const mt_value& v = rets[0];
        struct Drop {
            const mt_value& v;
            ~Drop() { drop(v); }
        } drop_it{v};
        return Convert<R>::from(v);
    }
    static std::string schema() { return Convert<R>::schema() + " _0"; }
};
template <>
struct Results<at::Tensor> {
    static constexpr int count = 1;
    static void give(at::Tensor r, mt_value* rets) {
        rets[0].tag = r.defined() ? MT_TENSOR : MT_NONE;
        rets[0].as.tensor = r.release_handle();
    }
    static at::Tensor take(const mt_value* rets) { return tensor_of(rets[0]); }
    static std::string schema() { return "Tensor _0"; }
};
// A ScalarType, a layout or a memory format is a number to whom it is given, as with PyTorch.
template <class R>
struct NumberResult {
    static constexpr int count = 1;
    static void give(R r, mt_value* rets) { rets[0] = arg(static_cast<int64_t>(r)); }
    static R take(const mt_value* rets) { return Convert<R>::from(rets[0]); }
    static std::string schema() { return Convert<R>::schema() + " _0"; }
};
template <>
struct Results<c10::ScalarType> : NumberResult<c10::ScalarType> {};
template <>
struct Results<c10::Layout> : NumberResult<c10::Layout> {};
template <>
struct Results<c10::MemoryFormat> : NumberResult<c10::MemoryFormat> {};
template <class R>
struct Results<R&> : Results<std::decay_t<R>> {};
template <class... T>
struct Results<std::tuple<T...>> {
    static constexpr int count = sizeof...(T);
    template <size_t... i>
    static void give_each(std::tuple<T...>&& r, mt_value* rets, std::index_sequence<i...>) {
        (Results<std::decay_t<T>>::give(std::get<i>(std::move(r)), rets + i), ...);
    }
    static void give(std::tuple<T...> r, mt_value* rets) {
        give_each(std::move(r), rets, std::index_sequence_for<T...>());
    }
    template <size_t... i>
    static std::tuple<std::decay_t<T>...> take_each(const mt_value* rets, std::index_sequence<i...>) {
        return std::tuple<std::decay_t<T>...>{Results<std::decay_t<T>>::take(rets + i)...};
    }
    static std::tuple<std::decay_t<T>...> take(const mt_value* rets) {
        return take_each(rets, std::index_sequence_for<T...>());
    }
    static std::string schema() {
        std::string s;
        int i = 0;
        ((s += (i ? ", " : "") + Convert<std::decay_t<T>>::schema() + " _" + std::to_string(i), i++), ...);
        return s;
    }
};
template <>
struct Results<void> {
    static constexpr int count = 0;
    static std::string schema() { return ""; }
};

template <class F>
struct SchemaOf;
template <class R, class... A>
struct SchemaOf<R(A...)> {
    static std::string text() {
        std::string args;
        int i = 0;
        ((args += (i ? ", " : "") + Convert<std::decay_t<A>>::schema() + " _" + std::to_string(i), i++), ...);
        return "(" + args + ") -> " +
               (Results<R>::count == 1 ? Results<R>::schema() : "(" + Results<R>::schema() + ")");
    }
};
template <class R, class... A>
struct SchemaOf<R(c10::DispatchKeySet, A...)> : SchemaOf<R(A...)> {};

// ---- kernels ----
template <class F, class Sig>
struct Unboxed;
template <class F, class R, class... A>
struct Unboxed<F, R(A...)> {
    F f;
    template <class... Extra, size_t... i>
    static void call(F& f, mt_call* c, std::index_sequence<i...>, Extra... extra) {
        std::tuple<Held<A>...> held(c->args[i]...);
        (void)held;
        if constexpr (std::is_void<R>::value)
            f(extra..., std::get<i>(held).get()...);
        else if constexpr (std::is_reference<R>::value)
            Results<std::decay_t<R>>::give(std::decay_t<R>(f(extra..., std::get<i>(held).get()...)), c->rets);
        else
            Results<R>::give(f(extra..., std::get<i>(held).get()...), c->rets);
    }
    static void check_counts(const mt_call* c) {
        if (MINDTORCH_UNLIKELY(c->nargs != static_cast<int>(sizeof...(A)) || c->nrets != Results<R>::count)) {
            const char* text = "";
            int32_t nargs, nrets;
            api().schema(c->op, &text, &nargs, &nrets);
            fail(MT_ERROR_RUNTIME, "", "a kernel in C++ has ", sizeof...(A), " parameters and ", Results<R>::count,
                 " results, its operator is ", text);
        }
    }
    static int run(void* context, mt_call* c) {
        try {
            check_counts(c);
            call(static_cast<Unboxed*>(context)->f, c, std::index_sequence_for<A...>());
            return 0;
        } catch (...) {
            return report_exception();
        }
    }
};
// A kernel that is told the keys of its call.
template <class F, class R, class... A>
struct Unboxed<F, R(c10::DispatchKeySet, A...)> {
    F f;
    static int run(void* context, mt_call* c) {
        using Plain = Unboxed<F, R(A...)>;
        try {
            Plain::check_counts(c);
            Plain::call(static_cast<Unboxed*>(context)->f, c, std::index_sequence_for<A...>(),
                        c10::DispatchKeySet(c->keys));
            return 0;
        } catch (...) {
            return report_exception();
        }
    }
};

}  // namespace mindtorch MINDTORCH_HIDDEN

namespace c10 {

template <class F>
class TypedOperatorHandle;

class OperatorHandle {
  public:
    explicit OperatorHandle(mt_operator op) : op_(op) {}
    mt_operator handle() const { return op_; }
    FunctionSchema schema() const {
        const char* text;
        int32_t nargs, nrets;
        mindtorch::check(mindtorch::api().schema(op_, &text, &nargs, &nrets));
        return FunctionSchema(std::string(text));
    }
    // The results that the schema names.
    size_t named_results() const {
        const char* text;
        int32_t nargs, nrets;
        mindtorch::check(mindtorch::api().schema(op_, &text, &nargs, &nrets));
        return static_cast<size_t>(nrets);
    }
    // Calls with arguments by position and by name; the results.
    torch::jit::Stack call_with_args(const torch::FunctionArgs& given) const {
        torch::jit::Stack stack = given.args();
        schema().checkAndNormalizeInputs(stack, given.named_args());
        callBoxed(&stack);
        return stack;
    }
    bool hasSchema() const { return true; }
    OperatorName operator_name() const {
        const FunctionSchema s = schema();
        return OperatorName(s.name(), s.overload_name());
    }
    template <class F>
    TypedOperatorHandle<F> typed() const;
    void callBoxed(torch::jit::Stack* stack) const { boxed(stack, nullptr); }
    void callBoxed(torch::jit::Stack& stack) const { boxed(&stack, nullptr); }
    void redispatchBoxed(DispatchKeySet keys, torch::jit::Stack* stack) const { boxed(stack, &keys); }

  private:
    void boxed(torch::jit::Stack* stack, const DispatchKeySet* keys) const {
        const char* text;
        int32_t nargs, nrets;
        mindtorch::check(mindtorch::api().schema(op_, &text, &nargs, &nrets));
        TORCH_CHECK(stack->size() >= static_cast<size_t>(nargs), "the stack holds fewer values than ", text,
                    " has arguments");
        // "..." takes all that is there; more results than the schema names come as a list.
        const std::string_view shown(text);
        const bool varret = shown.rfind("...") + 4 >= shown.size();
        if (shown.find("...) -> ") != shown.npos) nargs = static_cast<int32_t>(stack->size());
        nrets += varret;
        std::vector<mindtorch::Packed> packed;
        std::vector<mt_value> args, rets(static_cast<size_t>(nrets));
        for (size_t i = stack->size() - static_cast<size_t>(nargs); i < stack->size(); i++)
            packed.push_back(mindtorch::pack((*stack)[i]));
        for (const mindtorch::Packed& p : packed) args.push_back(p.v);
        const mt_boundary& t = mindtorch::api();
        mindtorch::check(keys ? t.redispatch(op_, keys->raw_repr(), args.data(), nargs, rets.data(), nrets)
                              : t.call(op_, args.data(), nargs, rets.data(), nrets));
        torch::jit::drop(stack, static_cast<size_t>(nargs));
        for (size_t i = 0; i < rets.size(); i++) {
            IValue result = mindtorch::from<IValue>(rets[i]);
            mindtorch::drop(rets[i]);
            if (varret && i + 1 == rets.size())
                for (const IValue& more : result.toListRef()) stack->push_back(more);
            else
                stack->push_back(std::move(result));
        }
    }
    mt_operator op_;
};

template <class R, class... A>
class TypedOperatorHandle<R(A...)> : public OperatorHandle {
  public:
    using OperatorHandle::OperatorHandle;
    R call(A... args) const { return go(nullptr, args...); }
    R redispatch(DispatchKeySet keys, A... args) const { return go(&keys, args...); }

  private:
    R go(const DispatchKeySet* keys, const A&... args) const {
        using mindtorch::Packed;
        const std::array<Packed, sizeof...(A)> packed{mindtorch::pack<std::decay_t<A>>(args)...};
        mt_value values[sizeof...(A) + 1];
        for (size_t i = 0; i < sizeof...(A); i++) values[i] = packed[i].v;
        constexpr int nrets = mindtorch::Results<R>::count;
        mt_value rets[nrets + 1] = {};
        const mt_boundary& t = mindtorch::api();
        const int nargs = static_cast<int>(sizeof...(A));
        mindtorch::check(keys ? t.redispatch(handle(), keys->raw_repr(), values, nargs, rets, nrets)
                              : t.call(handle(), values, nargs, rets, nrets));
        if constexpr (returns_arguments<R>::value) {
            for (int i = 0; i < nrets; i++) mindtorch::drop(rets[i]);
            std::vector<const at::Tensor*> written, given;
            (note<A>(args, written, given), ...);
            return returns_arguments<R>::of(written.empty() ? given : written);
        } else if constexpr (!std::is_void<R>::value) {
            return mindtorch::Results<R>::take(rets);
        }
    }

    // An operator that returns references returns its arguments: those that are written, which in C++ are no constants.
    template <class T>
    struct returns_arguments : std::false_type {};
    template <class T>
    struct returns_arguments<T&> : std::true_type {
        static T& of(const std::vector<const at::Tensor*>& all) { return const_cast<at::Tensor&>(*all.at(0)); }
    };
    template <class... T>
    struct returns_arguments<std::tuple<T&...>> : std::bool_constant<(sizeof...(T) > 0)> {
        static std::tuple<T&...> of(const std::vector<const at::Tensor*>& all) {
            return of(all, std::index_sequence_for<T...>());
        }
        template <size_t... I>
        static std::tuple<T&...> of(const std::vector<const at::Tensor*>& all, std::index_sequence<I...>) {
            return std::tuple<T&...>(const_cast<at::Tensor&>(*all.at(I))...);
        }
    };
    template <class Declared, class Given>
    static void note(const Given& arg, std::vector<const at::Tensor*>& written, std::vector<const at::Tensor*>& given) {
        if constexpr (std::is_same<std::decay_t<Declared>, at::Tensor>::value) {
            given.push_back(&arg);
            if (std::is_same<Declared, at::Tensor&>::value) written.push_back(&arg);
        }
    }
};
template <class F>
TypedOperatorHandle<F> OperatorHandle::typed() const {
    return TypedOperatorHandle<F>(op_);
}

class Dispatcher {
  public:
    static Dispatcher& singleton() {
        static Dispatcher d;
        return d;
    }
    std::optional<OperatorHandle> findSchema(const OperatorName& name) const {
        mt_operator op = mindtorch::api().find(name.name.c_str(), name.overload_name.c_str());
        return op ? std::optional<OperatorHandle>(OperatorHandle(op)) : std::nullopt;
    }
    std::optional<OperatorHandle> findOp(const OperatorName& name) const { return findSchema(name); }
    OperatorHandle findSchemaOrThrow(const char* name, const char* overload) const {
        mt_operator op = mindtorch::api().find(name, overload);
        TORCH_CHECK(op, "Could not find schema for ", name, ".", overload);
        return OperatorHandle(op);
    }
};

}  // namespace c10

namespace torch {

template <class F, F* f>
struct CompileTimeFunction {
    using type = F;
    template <class... A>
    decltype(auto) operator()(A&&... args) const {
        return f(std::forward<A>(args)...);
    }
};
}  // namespace torch
namespace mindtorch MINDTORCH_HIDDEN {
template <class F, F* f>
struct Signature<torch::CompileTimeFunction<F, f>> : Signature<F> {};
}  // namespace mindtorch MINDTORCH_HIDDEN
namespace torch {

// A kernel of any kind.
class CppFunction {
  public:
    template <class F, class = std::enable_if_t<!std::is_same<std::decay_t<F>, CppFunction>::value>>
    CppFunction(F&& f) {
        using Functor = std::decay_t<F>;
        using Sig = mindtorch::signature_of<Functor>;
        using Kernel = mindtorch::Unboxed<Functor, Sig>;
        kernel_ = Kernel::run;
        context_ =
            std::shared_ptr<void>(new Kernel{std::forward<F>(f)}, [](void* p) { delete static_cast<Kernel*>(p); });
        schema_ = [] { return mindtorch::SchemaOf<Sig>::text(); };
    }
    static CppFunction makeFallthrough() { return CppFunction(); }
    static CppFunction makeNamedNotSupported() { return CppFunction(); }
    template <void (*f)(const c10::OperatorHandle&, torch::jit::Stack*)>
    static CppFunction makeFromBoxedFunction() {
        return boxed([](const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* s) { f(op, s); });
    }
    template <void (*f)(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack*)>
    static CppFunction makeFromBoxedFunction() {
        return boxed([](const c10::OperatorHandle& op, c10::DispatchKeySet k, torch::jit::Stack* s) { f(op, k, s); });
    }
    template <class F>
    static CppFunction makeFromUnboxedFunction(F* f) {
        return CppFunction(f);
    }
    template <class F>
    static CppFunction makeUnboxedOnly(F* f) {
        return CppFunction(f);
    }
    CppFunction& debug(std::string) & { return *this; }
    CppFunction&& debug(std::string) && { return std::move(*this); }
    CppFunction with_key(c10::DispatchKey k) && {
        key_ = k;
        return std::move(*this);
    }
    std::optional<c10::DispatchKey> key() const { return key_; }
    mt_kernel kernel() const { return kernel_; }
    // A reference for the core, given back by `release`.
    void* context() const { return context_ ? new std::shared_ptr<void>(context_) : nullptr; }
    static void release(void* p) { delete static_cast<std::shared_ptr<void>*>(p); }
    bool has_schema() const { return schema_ != nullptr; }
    std::string schema() const {
        TORCH_CHECK(schema_, "a schema cannot be inferred from a boxed function or a fallthrough");
        return schema_();
    }

    // What the core enters: the context is a pointer to the shared one.
    static int enter(void* context, mt_call* c) {
        Entry* e = static_cast<Entry*>(context);
        return e->kernel(e->context.get(), c);
    }
    struct Entry {
        mt_kernel kernel;
        std::shared_ptr<void> context;
    };
    Entry* entry() const { return new Entry{kernel_, context_}; }
    static void release_entry(void* p) { delete static_cast<Entry*>(p); }

  private:
    CppFunction() = default;
    using Boxed = void (*)(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack*);
    static CppFunction boxed(Boxed f) {
        CppFunction k;
        k.kernel_ = run_boxed;
        k.context_ = std::shared_ptr<void>(new Boxed(f), [](void* p) { delete static_cast<Boxed*>(p); });
        return k;
    }
    static int run_boxed(void* context, mt_call* c) {
        try {
            torch::jit::Stack stack;
            for (int i = 0; i < c->nargs; i++) stack.push_back(mindtorch::from<c10::IValue>(c->args[i]));
            (*static_cast<Boxed*>(context))(c10::OperatorHandle(c->op), c10::DispatchKeySet(c->keys), &stack);
            const size_t named = c10::OperatorHandle(c->op).named_results();
            const bool more = named < static_cast<size_t>(c->nrets);  // the schema says "..."
            TORCH_CHECK(more ? stack.size() >= named : stack.size() == named, "a boxed kernel left ", stack.size(),
                        " values on the stack, its operator has ", named, more ? " results or more" : " results");
            for (size_t i = 0; i < named; i++) c->rets[i] = mindtorch::owned(mindtorch::pack(stack[i]));
            if (more) {
                const auto first = stack.begin() + static_cast<std::ptrdiff_t>(named);
                c->rets[named] = mindtorch::owned(mindtorch::pack(c10::IValue::list({first, stack.end()})));
            }
            return 0;
        } catch (...) {
            return mindtorch::report_exception();
        }
    }
    mt_kernel kernel_ = nullptr;
    std::shared_ptr<void> context_;
    std::string (*schema_)() = nullptr;
    std::optional<c10::DispatchKey> key_;
};
template <class F>
CppFunction dispatch(c10::DispatchKey key, F&& f) {
    return CppFunction(std::forward<F>(f)).with_key(key);
}
template <class F>
CppFunction dispatch(c10::DeviceType d, F&& f) {
    return dispatch(c10::key_of_device(d), std::forward<F>(f));
}
inline const char* schema(const char* text) { return text; }

template <class T>
class class_;

enum class _RegisterOrVerify { REGISTER, VERIFY };

// A schema as an object. What it tells of aliases stands in its text.
inline c10::FunctionSchema schema(const char* text, c10::AliasAnalysisKind = c10::AliasAnalysisKind::FROM_SCHEMA,
                                  bool = false) {
    return c10::FunctionSchema(std::string(text));
}
inline c10::FunctionSchema schema(const char* text, bool) { return c10::FunctionSchema(std::string(text)); }

class Library {
  public:
    enum Kind { DEF, IMPL, FRAGMENT };
    Library(Kind kind, std::string ns, const char* key, const char* file, int line) : ns_(std::move(ns)), key_(key) {
        static const char* const kinds[] = {"DEF", "IMPL", "FRAGMENT"};
        mt_object o = nullptr;
        mindtorch::check(
            mindtorch::api().library(kinds[kind], ns_.c_str(), key_.empty() ? nullptr : key, file, line, &o));
        object_ = mindtorch::Object::steal(o);
    }
    Library(Kind kind, std::string ns, std::optional<c10::DispatchKey> key, const char* file, uint32_t line)
        : Library(kind, std::move(ns), key ? c10::toString(*key) : "", file, static_cast<int>(line)) {}
    Library(const Library&) = delete;
    Library(Library&&) = default;

    Library& def(const char* text, const std::vector<at::Tag>& tags = {},
                 _RegisterOrVerify rv = _RegisterOrVerify::REGISTER) & {
        check_registers(rv);
        std::vector<const char*> names;
        for (at::Tag t : tags) names.push_back(mindtorch::tag_name(t));
        mindtorch::check(
            mindtorch::api().define(object_.get(), text, names.data(), static_cast<int32_t>(names.size())));
        return *this;
    }
    Library& def(const std::string& text, const std::vector<at::Tag>& tags = {},
                 _RegisterOrVerify rv = _RegisterOrVerify::REGISTER) & {
        return def(text.c_str(), tags, rv);
    }
    Library& def(const c10::FunctionSchema& schema, const std::vector<at::Tag>& tags = {}) & {
        return def(schema.text().c_str(), tags);
    }
    // A schema, or a name: then the schema follows from the function's type.
    template <class F>
    Library& def(const char* text, F&& f, const std::vector<at::Tag>& tags = {}) & {
        CppFunction kernel(std::forward<F>(f));
        std::string schema = text;
        if (schema.find('(') == std::string::npos) {
            schema += kernel.schema();
        } else if (kernel.has_schema()) {
            const c10::FunctionSchema given(schema), own("kernel" + kernel.schema());
            TORCH_CHECK(given.arguments().size() == own.arguments().size() &&
                            (given.returns().size() == own.returns().size() || given.is_varret()),
                        "def(\"", text, "\"): the function of C++ does not match, it is ", own);
        }
        def(schema.c_str(), tags);
        const std::string name = schema.substr(0, schema.find('('));
        return implement(name.c_str(), kernel, "CompositeImplicitAutograd");
    }
    template <class F>
    Library& def(const std::string& text, F&& f, const std::vector<at::Tag>& tags = {}) & {
        return def(text.c_str(), std::forward<F>(f), tags);
    }
    template <class F>
    Library& impl(const char* name, F&& f, _RegisterOrVerify rv = _RegisterOrVerify::REGISTER) & {
        check_registers(rv);
        return implement(name, CppFunction(std::forward<F>(f)), nullptr);
    }
    template <class F>
    Library& impl(const std::string& name, F&& f) & {
        return impl(name.c_str(), std::forward<F>(f));
    }
    template <class F>
    Library& impl(const char* name, c10::DispatchKey key, F&& f) & {
        return implement(name, CppFunction(std::forward<F>(f)), c10::toString(key));
    }
    template <class F>
    Library& impl_UNBOXED(const char* name, F* f) & {
        return impl(name, f);
    }
    template <class F>
    Library& fallback(F&& f) & {
        CppFunction k(std::forward<F>(f));
        mindtorch::check(mindtorch::api().fallback(object_.get(), key_of(k, nullptr),
                                                   k.kernel() ? CppFunction::enter : nullptr,
                                                   k.kernel() ? k.entry() : nullptr, CppFunction::release_entry));
        return *this;
    }
    // Where the operator's fake kernel is in Python: PyTorch looks there; here it is found in the same registry.
    Library& set_python_module(const char*, const char* = "") & { return *this; }
    template <class T>
    torch::class_<T> class_(const std::string& name);
    const std::string& ns() const { return ns_; }
    mt_object handle() const { return object_.get(); }

    Library& implement(const char* name, const CppFunction& k, const char* key) {
        mindtorch::check(mindtorch::api().implement(object_.get(), name, key_of(k, key),
                                                    k.kernel() ? CppFunction::enter : nullptr,
                                                    k.kernel() ? k.entry() : nullptr, CppFunction::release_entry));
        return *this;
    }

  private:
    static void check_registers(_RegisterOrVerify rv) {
        TORCH_CHECK_NOT_IMPLEMENTED(rv == _RegisterOrVerify::REGISTER,
                                    "Library: registrations are made here, not only verified");
    }
    const char* key_of(const CppFunction& k, const char* key) const {
        if (k.key()) return c10::toString(*k.key());
        return key ? key : key_.empty() ? nullptr : key_.c_str();
    }
    std::string ns_, key_;
    mindtorch::Object object_;
};

namespace detail {
struct TorchLibraryInit {
    template <class F>
    TorchLibraryInit(Library::Kind kind, F* init, const char* ns, const char* key, const char* file, int line) {
        mindtorch::registering([&] {
            Library library(kind, ns, key, file, line);  // the core keeps it
            init(library);
        });
    }
};
}  // namespace detail

// The oldest form: an operator of a function, its schema inferred where none is given.
class RegisterOperators {
  public:
    class Options {
      public:
        Options&& schema(const std::string& text) && {
            schema_ = text;
            return std::move(*this);
        }
        template <class F, F* f>
        Options&& kernel(c10::DispatchKey key) && {
            kernels_.emplace_back(torch::dispatch(key, f));
            return std::move(*this);
        }
        template <class F>
        Options&& kernel(c10::DispatchKey key, F&& f) && {
            kernels_.emplace_back(torch::dispatch(key, std::forward<F>(f)));
            return std::move(*this);
        }
        template <class F, F* f>
        Options&& catchAllKernel() && {
            kernels_.emplace_back(CppFunction(f));
            return std::move(*this);
        }
        template <class F>
        Options&& catchAllKernel(F&& f) && {
            kernels_.emplace_back(CppFunction(std::forward<F>(f)));
            return std::move(*this);
        }

      private:
        friend class RegisterOperators;
        std::string schema_;
        std::vector<CppFunction> kernels_;
    };
    static Options options() { return Options(); }

    RegisterOperators() = default;
    template <class... A>
    explicit RegisterOperators(A&&... args) {
        add(std::forward<A>(args)...);
    }
    template <class F, class = std::enable_if_t<!std::is_same<std::decay_t<F>, Options>::value>>
    RegisterOperators&& op(const std::string& text, F&& f) && {
        add(text, std::forward<F>(f));
        return std::move(*this);
    }
    RegisterOperators&& op(const std::string& text, Options&& o = Options()) && {
        add(text, std::move(o));
        return std::move(*this);
    }
    RegisterOperators&& op(Options&& o) && {
        const std::string text = o.schema_;
        add(text, std::move(o));
        return std::move(*this);
    }

  private:
    template <class F, class = std::enable_if_t<!std::is_same<std::decay_t<F>, Options>::value>>
    void add(const std::string& text, F&& f) {
        Options o;
        o.kernels_.emplace_back(CppFunction(std::forward<F>(f)));
        add(text, std::move(o));
    }
    void add(const std::string& given, Options&& o) {
        mindtorch::registering([&] {
            std::string text = given;
            const size_t colons = text.find("::");
            TORCH_CHECK(colons != std::string::npos, "an operator's name has a namespace, 'ns::name', got ", text);
            if (text.find('(') == std::string::npos) {
                TORCH_CHECK(!o.kernels_.empty(), "no schema can be inferred for ", text, " without a kernel");
                text += o.kernels_[0].schema();
            }
            auto library =
                std::make_unique<Library>(Library::FRAGMENT, text.substr(0, colons), "", "RegisterOperators", 0);
            library->def(text.c_str());
            const std::string name = text.substr(0, text.find('('));
            for (const CppFunction& k : o.kernels_)
                library->implement(name.c_str(), k, k.key() ? nullptr : "CompositeImplicitAutograd");
        });
    }
};
namespace jit {
using torch::RegisterOperators;
}

}  // namespace torch
namespace c10 {
using torch::RegisterOperators;
}

#define TORCH_FN_TYPE(f) ::torch::CompileTimeFunction<std::remove_pointer_t<std::remove_reference_t<decltype(f)>>, f>
#define TORCH_FN(f) TORCH_FN_TYPE(f)()
#define TORCH_SELECTIVE_NAME(x) x
#define TORCH_SELECTIVE_SCHEMA(x) x
#define TORCH_SELECTIVE_CLASS(x) x

#define TORCH_LIBRARY(ns, m)                                                         \
    static void TORCH_LIBRARY_init_##ns(torch::Library&);                            \
    static const torch::detail::TorchLibraryInit TORCH_LIBRARY_static_init_##ns(     \
        torch::Library::DEF, &TORCH_LIBRARY_init_##ns, #ns, "", __FILE__, __LINE__); \
    void TORCH_LIBRARY_init_##ns([[maybe_unused]] torch::Library& m)
#define MINDTORCH_LIBRARY_BLOCK(kind, ns, key, m, id)                                                             \
    static void C10_CONCATENATE(TORCH_LIBRARY_##kind##_init_##ns##_, id)(torch::Library&);                        \
    static const torch::detail::TorchLibraryInit C10_CONCATENATE(TORCH_LIBRARY_##kind##_static_init_##ns##_, id)( \
        torch::Library::kind, &C10_CONCATENATE(TORCH_LIBRARY_##kind##_init_##ns##_, id), #ns, key, __FILE__,      \
        __LINE__);                                                                                                \
    void C10_CONCATENATE(TORCH_LIBRARY_##kind##_init_##ns##_, id)([[maybe_unused]] torch::Library & m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) MINDTORCH_LIBRARY_BLOCK(FRAGMENT, ns, "", m, C10_UID)
#define TORCH_LIBRARY_IMPL(ns, k, m) MINDTORCH_LIBRARY_BLOCK(IMPL, ns, #k, m, C10_UID)
