// Kernels as functions of typed arguments.
//
//     void elu_cpu(Out out, const Tensor& self, double alpha, double scale, double input_scale) { ... }
//     TensorRef nonzero_cpu(const Tensor& self) { ... }
//     KERNELS
//     {
//         structured<elu_cpu>("elu", kInputMayAlias);
//         direct<nonzero_cpu>("nonzero");
//     }
//
// A parameter stands for the schema's argument at its position, but for those of the call itself (Out, OpName). The
// function's type makes the entry that unpacks a call, and a signature that is held against the schema when a row binds
// the kernel: what does not fit raises there, and nothing is checked or looked up during a call.
//
// Shape rules are functions of the same kind. Their parameters stand for the words of the row that names the rule, or,
// where it has no words, for the schema's first arguments:
//
//     void glu_shape(ShapeCall& c, const Tensor& self, int64_t dim) { ... c.output(0, sizes, self.dtype); }
//         shape<glu_shape>("glu");
#pragma once

#include <array>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "arg_kind.h"
#include "kernel.h"

namespace mt {

class Generator;
Generator& generator_of(const Value& argument);

// ---- parameters of the call itself ----

// The outputs of a structured kernel; stands for the first where there is one.
class Out {
  public:
    explicit Out(const Call& call) : call_(call) {}
    operator Tensor&() const { return call_.out(0); }
    Tensor& operator*() const { return call_.out(0); }
    Tensor* operator->() const { return &call_.out(0); }
    Tensor& operator[](int i) const { return call_.out(i); }
    // Null where the shape rule said output_none.
    Tensor* or_null(int i) const { return call_.rets[i].tag == Tag::Tensor ? call_.rets[i].t : nullptr; }
    const char* name() const { return call_.name(); }  // of the operator, for messages

  private:
    const Call& call_;
};

// The operator's name, for messages.
class OpName {
  public:
    explicit OpName(const Call& call) : call_(call) {}
    operator const char*() const { return call_.name(); }

  private:
    const Call& call_;
};

// ---- parameters that stand for arguments, beside the plain types ----

// A tensor or a number: of kernels that serve an overload for each.
struct Input {
    const Tensor* t = nullptr;
    const Value* number = nullptr;
    Input() = default;
    Input(const Tensor& tensor) : t(&tensor) {}
    Input(const Value& v) : t(v.tag == Tag::Tensor ? v.t : nullptr), number(v.tag == Tag::Tensor ? nullptr : &v) {}
    bool is_tensor() const { return t != nullptr; }
};

struct Unread {};      // one argument that says nothing to the kernel (layout, pin_memory)
struct RestUnread {};  // likewise all that follow

// ---- what a parameter takes ----

struct Takes {
    const char* type;  // as the kernel's author writes it
    uint32_t kinds;    // bit k: an argument of ArgKind k
    bool optional = false;
    bool writes = false;
};
template <class... K>
constexpr uint32_t kinds(K... k) {
    return ((uint32_t(1) << static_cast<int>(k)) | ...);
}

// takes: what fits. read: the argument at position i of a call.
template <class T>
struct Parameter;
// Parameters that stand for no argument.
template <class T>
struct CallParameter {
    static constexpr bool kOfCall = true;
    static T read(const Call& c, int) { return T(c); }
};
template <>
struct Parameter<Out> : CallParameter<Out> {};
template <>
struct Parameter<OpName> : CallParameter<OpName> {};
template <>
struct Parameter<RestUnread> {
    static constexpr bool kOfCall = true;
    static RestUnread read(const Call&, int) { return {}; }
};
// A kernel for whatever its schema is: says why where it stands.
template <>
struct Parameter<Call&> {
    static constexpr bool kOfCall = true;
    static Call& read(Call& c, int) { return c; }
};

template <>
struct Parameter<Unread> {
    static constexpr Takes takes{"Unread", ~uint32_t(0), true};
    static Unread read(const Call&, int) { return {}; }
};
template <>
struct Parameter<const Tensor&> {
    static constexpr Takes takes{"const Tensor&", kinds(ArgKind::Tensor)};
    static const Tensor& read(const Call& c, int i) { return c.tensor(i); }
};
template <>
struct Parameter<const Tensor*> {
    static constexpr Takes takes{"const Tensor*", kinds(ArgKind::Tensor), true};
    static const Tensor* read(const Call& c, int i) { return c.tensor_or_null(i); }
};
template <>
struct Parameter<Tensor&> {
    static constexpr Takes takes{"Tensor&", kinds(ArgKind::Tensor), false, true};
    static Tensor& read(const Call& c, int i) { return c.mutable_tensor(i); }
};
template <>
struct Parameter<Tensor*> {
    static constexpr Takes takes{"Tensor*", kinds(ArgKind::Tensor), true, true};
    static Tensor* read(const Call& c, int i) { return const_cast<Tensor*>(c.tensor_or_null(i)); }
};
template <>
struct Parameter<Input> {
    static constexpr Takes takes{"Input", kinds(ArgKind::Tensor, ArgKind::Scalar)};
    static Input read(const Call& c, int i) {
        if (__builtin_expect(c.is_none(i), 0)) c.missing_tensor(i);
        return c.args[i];
    }
};
template <>
struct Parameter<std::optional<Input>> {
    static constexpr Takes takes{"std::optional<Input>", kinds(ArgKind::Tensor, ArgKind::Scalar), true};
    static std::optional<Input> read(const Call& c, int i) {
        return c.is_none(i) ? std::nullopt : std::optional<Input>(c.args[i]);
    }
};
// A number as it was given: bool, int, float or complex.
template <>
struct Parameter<const Value&> {
    static constexpr Takes takes{"const Value&", kinds(ArgKind::Scalar)};
    static const Value& read(const Call& c, int i) { return c.args[i]; }
};
template <>
struct Parameter<const Value*> {
    static constexpr Takes takes{"const Value*", kinds(ArgKind::Scalar), true};
    static const Value* read(const Call& c, int i) { return c.is_none(i) ? nullptr : &c.args[i]; }
};
template <>
struct Parameter<int64_t> {
    static constexpr Takes takes{"int64_t", kinds(ArgKind::Int)};
    static int64_t read(const Call& c, int i) { return c.integer(i); }
};
template <>
struct Parameter<double> {
    static constexpr Takes takes{"double", kinds(ArgKind::Float, ArgKind::Scalar)};
    static double read(const Call& c, int i) { return c.real(i); }
};
template <>
struct Parameter<bool> {
    static constexpr Takes takes{"bool", kinds(ArgKind::Bool)};
    static bool read(const Call& c, int i) { return c.boolean(i); }
};
template <>
struct Parameter<IntSpan> {
    static constexpr Takes takes{"IntSpan", kinds(ArgKind::IntList)};
    static IntSpan read(const Call& c, int i) { return c.ints(i); }
};
template <>
struct Parameter<Span<double>> {
    static constexpr Takes takes{"Span<double>", kinds(ArgKind::FloatList)};
    static Span<double> read(const Call& c, int i) { return c.doubles(i); }
};
template <>
struct Parameter<Span<bool>> {
    static constexpr Takes takes{"Span<bool>", kinds(ArgKind::BoolList)};
    static Span<bool> read(const Call& c, int i) { return c.bools(i); }
};
template <>
struct Parameter<Span<Value>> {
    static constexpr Takes takes{"Span<Value>", kinds(ArgKind::ScalarList)};
    static Span<Value> read(const Call& c, int i) {
        const Value& v = c.args[i];
        return v.tag == Tag::ScalarList ? Span<Value>(v.values, v.len) : Span<Value>();
    }
};
// Items are null where Tensor?[] has None.
template <>
struct Parameter<Span<Tensor*>> {
    static constexpr Takes takes{"Span<Tensor*>", kinds(ArgKind::TensorList, ArgKind::OptionalTensorList)};
    static Span<Tensor*> read(const Call& c, int i) { return c.tensors(i); }
};
template <>
struct Parameter<std::string_view> {
    static constexpr Takes takes{"std::string_view", kinds(ArgKind::Str)};
    static std::string_view read(const Call& c, int i) { return c.string(i); }
};
template <>
struct Parameter<DType> {
    static constexpr Takes takes{"DType", kinds(ArgKind::DType)};
    static DType read(const Call& c, int i) { return c.args[i].dtype; }
};
template <>
struct Parameter<Device> {
    static constexpr Takes takes{"Device", kinds(ArgKind::Device)};
    static Device read(const Call& c, int i) { return c.args[i].device; }
};
template <>
struct Parameter<MemoryFormat> {
    static constexpr Takes takes{"MemoryFormat", kinds(ArgKind::MemoryFormat)};
    static MemoryFormat read(const Call& c, int i) { return static_cast<MemoryFormat>(c.args[i].i); }
};
template <class T>
struct OptionalParameter {
    static constexpr uint32_t kKinds = Parameter<T>::takes.kinds;
    static std::optional<T> read(const Call& c, int i) {
        return c.is_none(i) ? std::nullopt : std::optional<T>(Parameter<T>::read(c, i));
    }
};
#define MT_OPTIONAL_PARAMETER(T)                                             \
    template <>                                                              \
    struct Parameter<std::optional<T>> : OptionalParameter<T> {              \
        static constexpr Takes takes{"std::optional<" #T ">", kKinds, true}; \
    };
MT_OPTIONAL_PARAMETER(int64_t)
MT_OPTIONAL_PARAMETER(double)
MT_OPTIONAL_PARAMETER(bool)
MT_OPTIONAL_PARAMETER(IntSpan)
MT_OPTIONAL_PARAMETER(Span<double>)
MT_OPTIONAL_PARAMETER(Span<bool>)
MT_OPTIONAL_PARAMETER(Span<Tensor*>)
MT_OPTIONAL_PARAMETER(std::string_view)
MT_OPTIONAL_PARAMETER(DType)
MT_OPTIONAL_PARAMETER(Device)
MT_OPTIONAL_PARAMETER(MemoryFormat)
#undef MT_OPTIONAL_PARAMETER
// The generator given, or the default one.
template <>
struct Parameter<Generator&> {
    static constexpr Takes takes{"Generator&", kinds(ArgKind::Generator), true};
    static Generator& read(const Call& c, int i) { return generator_of(c.args[i]); }
};
// Borrowed; null for None.
template <>
struct Parameter<PyObject*> {
    static constexpr Takes takes{"PyObject*", kinds(ArgKind::Any, ArgKind::Storage), true};
    static PyObject* read(const Call& c, int i) { return c.args[i].tag == Tag::Object ? c.args[i].obj : nullptr; }
};

// Shape rules: where the outputs are stated.
template <>
struct Parameter<ShapeCall&> {
    static constexpr bool kOfCall = true;
    static ShapeCall& read(ShapeCall& c, int) { return c; }
};
// Shape rules of any number of words, all taken as T is; the rule reads them by param(k).
template <class T>
struct Each {};
template <class T>
struct Parameter<Each<T>> {
    static constexpr Takes takes = Parameter<T>::takes;
    static Each<T> read(const Call&, int) { return {}; }
};
template <class T>
constexpr bool is_each = false;
template <class T>
constexpr bool is_each<Each<T>> = true;

template <class T>
constexpr bool is_of_call = requires { Parameter<T>::kOfCall; };

// ---- results of direct kernels ----

template <class T>
struct Result;
template <>
struct Result<TensorRef> {  // null: None
    static constexpr Takes takes{"TensorRef", kinds(ArgKind::Tensor), true};
    static void give(Call& c, int i, TensorRef t) { c.ret(i, std::move(t)); }
};
template <>
struct Result<Tensor&> {  // an argument that was written
    static constexpr Takes takes{"Tensor&", kinds(ArgKind::Tensor), false, true};
    static void give(Call& c, int i, Tensor& t) { c.ret(i, t); }
};
template <>
struct Result<std::vector<TensorRef>> {
    static constexpr Takes takes{"std::vector<TensorRef>", kinds(ArgKind::TensorList)};
    static void give(Call& c, int i, std::vector<TensorRef> list) {
        std::vector<Tensor*> items;
        items.reserve(list.size());
        for (TensorRef& t : list) items.push_back(t.release());
        c.ret_list(i, Span<Tensor*>(items.data(), static_cast<int64_t>(items.size())));
    }
};
template <>
struct Result<Value> {  // owned
    static constexpr Takes takes{"Value", ~uint32_t(0), true};
    static void give(Call& c, int i, const Value& v) { c.ret_value(i, v); }
};
template <class T, ArgKind K>
struct PlainResult {
    static constexpr uint32_t kKinds = kinds(K, ArgKind::Scalar);
    static void give(Call& c, int i, T v) { c.ret_value(i, Value::of(v)); }
};
template <>
struct Result<bool> : PlainResult<bool, ArgKind::Bool> {
    static constexpr Takes takes{"bool", kKinds};
};
template <>
struct Result<int64_t> : PlainResult<int64_t, ArgKind::Int> {
    static constexpr Takes takes{"int64_t", kKinds};
};
template <>
struct Result<double> : PlainResult<double, ArgKind::Float> {
    static constexpr Takes takes{"double", kKinds};
};

// All results of a kernel.
template <class T>
struct Results {
    static constexpr std::array<Takes, 1> takes{Result<T>::takes};
    static void give(Call& c, T r) { Result<T>::give(c, 0, std::forward<T>(r)); }
};
template <>
struct Results<void> {
    static constexpr std::array<Takes, 0> takes{};
};
template <>
struct Results<const char*> {  // the name of a call's node: nothing of the schema
    static constexpr std::array<Takes, 0> takes{};
};
template <class... T>
struct Results<std::tuple<T...>> {
    static constexpr std::array<Takes, sizeof...(T)> takes{Result<T>::takes...};
    static void give(Call& c, std::tuple<T...> r) {
        int i = 0;
        std::apply([&](auto&&... one) { (Result<T>::give(c, i++, std::forward<T>(one)), ...); }, std::move(r));
    }
};

// ---- the entry and the signature of a kernel ----

struct Signature {
    const Takes* arguments;
    int nargs;
    const Takes* results;
    int nresults;
    bool complete;  // there are no arguments beyond these
    bool each;      // of a shape rule: all further words are taken as the last
};
// Raises TypeError where a signature does not fit the operator's schema.
void check_signature(const Signature& s, const Operator& op, const char* kernel, bool structured);
// The same for a shape rule and the words of the row: positions of arguments, -1 for one that is left out.
void check_shape_signature(const Signature& s, const Operator& op, const char* rule, const std::vector<int>& words);

template <auto F>
struct TypedKernel;
template <class R, class... P, R (*F)(P...)>
struct TypedKernel<F> {
    static constexpr int kCount = (0 + ... + !is_of_call<P>);
    // The place of each parameter's argument.
    static constexpr std::array<int, sizeof...(P)> kPlaces = [] {
        std::array<int, sizeof...(P)> places{};
        int at = 0;
        size_t k = 0;
        ((places[k++] = is_of_call<P> ? -1 : at++), ...);
        return places;
    }();
    template <class T>
    static constexpr void list(Takes* into, int& at) {
        if constexpr (!is_of_call<T>) into[at++] = Parameter<T>::takes;
    }
    static constexpr std::array<Takes, kCount + 1> kArguments = [] {
        std::array<Takes, kCount + 1> made{};
        int at = 0;
        (list<P>(made.data(), at), ...);
        return made;
    }();
    static constexpr bool kComplete = !(std::is_same_v<P, RestUnread> || ...) && !(std::is_same_v<P, Call&> || ...);
    static constexpr Signature signature{
        kArguments.data(),  kCount, Results<R>::takes.data(), static_cast<int>(Results<R>::takes.size()), kComplete,
        (is_each<P> || ...)};

    static void run(Call& c) { call(c, std::index_sequence_for<P...>()); }
    static void state(ShapeCall& c) { call_shape(c, std::index_sequence_for<P...>()); }
    static const char* name(const Call& c) { return call_name(c, std::index_sequence_for<P...>()); }

  private:
    template <size_t... I>
    static void call(Call& c, std::index_sequence<I...>) {
        if constexpr (std::is_void_v<R>)
            F(Parameter<P>::read(c, kPlaces[I])...);
        else
            Results<R>::give(c, F(Parameter<P>::read(c, kPlaces[I])...));
    }
    template <size_t... I>
    static void call_shape(ShapeCall& c, std::index_sequence<I...>) {
        F(word<P>(c, kPlaces[I])...);
    }
    template <size_t... I>
    static const char* call_name(const Call& c, std::index_sequence<I...>) {
        return F(Parameter<P>::read(c, kPlaces[I])...);
    }
    template <class T>
    static T word(ShapeCall& c, int k) {
        if constexpr (is_of_call<T>) {
            return Parameter<T>::read(c, k);
        } else {
            const int at = c.place(k);
            if constexpr (Parameter<T>::takes.optional && std::is_default_constructible_v<T>)
                if (at < 0) return T{};
            return Parameter<T>::read(c, at);
        }
    }
};

// structured<gelu_cpu>("gelu", flags): the CPU kernel of the row named "gelu" (or "gelu.overload"; exact match first).
template <auto F>
void structured(const char* name, uint32_t flags = 0) {
    register_structured(name, TypedKernel<F>::run, flags, &TypedKernel<F>::signature);
}
// direct<nonzero_cpu>("nonzero"): a CPU kernel that returns results of its own.
template <auto F>
void direct(const char* name) {
    register_direct(name, TypedKernel<F>::run, &TypedKernel<F>::signature);
}
// node_name<linear_node>("linear"): the name of one call's node, of the arguments; the text lives for ever.
template <auto F>
void node_name(const char* op) {
    register_node_name(op, TypedKernel<F>::name, &TypedKernel<F>::signature);
}
// shape<my_rule>("my_rule"): a rule that rows name with meta=rule("my_rule", "arg", ...).
template <auto F>
void shape(const char* name) {
    register_shape(name, TypedKernel<F>::state, &TypedKernel<F>::signature);
}

}  // namespace mt
