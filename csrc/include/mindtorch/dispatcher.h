// Operators by name, called with values of C++; and functions of C++ as the kernels that the core enters.
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
R taken(const mt_value& v) {
    struct Drop {
        const mt_value& v;
        ~Drop() { drop(v); }
    } drop_it{v};
    return Convert<R>::from(v);
}
template <class R>
struct Results {
    static constexpr int count = 1;
    static void give(const R& r, mt_value* rets) { rets[0] = owned(mindtorch::pack(r)); }
    static R take(const mt_value* rets) { return taken<R>(rets[0]); }
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
// A value that is one result even where it is a tuple, as methods of classes have them, and the parts of tuples.
template <class T>
struct Whole {
    T value;
};
template <class T>
struct Results<Whole<T>> {
    static constexpr int count = 1;
    static void give(const Whole<T>& r, mt_value* rets) { rets[0] = owned(mindtorch::pack(r.value)); }
    static std::string schema() { return Convert<T>::schema() + " _0"; }
};
template <class T>
struct Part : Results<T> {};
template <class... T>
struct Part<std::tuple<T...>> {
    static void give(const std::tuple<T...>& r, mt_value* rets) { rets[0] = owned(mindtorch::pack(r)); }
    static std::tuple<T...> take(const mt_value* rets) { return taken<std::tuple<T...>>(rets[0]); }
};
template <class... T>
struct Results<std::tuple<T...>> {
    static constexpr int count = sizeof...(T);
    template <size_t... i>
    static void give_each(std::tuple<T...>&& r, mt_value* rets, std::index_sequence<i...>) {
        (Part<std::decay_t<T>>::give(std::get<i>(std::move(r)), rets + i), ...);
    }
    static void give(std::tuple<T...> r, mt_value* rets) {
        give_each(std::move(r), rets, std::index_sequence_for<T...>());
    }
    template <size_t... i>
    static std::tuple<std::decay_t<T>...> take_each(const mt_value* rets, std::index_sequence<i...>) {
        return std::tuple<std::decay_t<T>...>{Part<std::decay_t<T>>::take(rets + i)...};
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
        const std::string results = Results<R>::schema();
        // A tuple that is the one result would read as several.
        const bool one = Results<R>::count == 1 && results[0] != '(';
        return "(" + args + ") -> " + (one ? results : "(" + results + ")");
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
    bool hasKernelForDispatchKey(DispatchKey key) const {
        const FunctionSchema s = schema();
        const std::string name = s.overload_name().empty() ? s.name() : s.name() + "." + s.overload_name();
        return mindtorch::call_python("mindtorch_v2._C", "_dispatch_has_kernel_for_dispatch_key",
                                      {mindtorch::arg(name), mindtorch::arg(toString(key))})
                   .as.boolean != 0;
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
