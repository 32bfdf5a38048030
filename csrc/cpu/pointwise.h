// Element-wise kernels. The author writes one generic lambda; it is compiled once for each type it computes in, as a
// loop over contiguous runs. Everything else (strides, broadcasting, scalars, mixed dtypes, 16-bit floats, threads) is
// done by run_pointwise, which is compiled once: operands that are not contiguous memory of the computing type pass
// through small buffers in the first-level cache.
//
//     void maximum_cpu(Out out, Input self, Input other) {
//         pointwise(out, Reals{}, {self, other}, [](auto a, auto b) { return a > b ? a : b; });
//     }
//
// The computing type is chosen from the promoted dtype of the arguments: that type itself if the list has it, else
// float for the 16-bit floats and int64_t for the other integers and bool. The lambda's result type may differ (bool).
#pragma once

#include <initializer_list>
#include <tuple>
#include <utility>

#include "core/loops.h"
#include "core/promotion.h"
#include "core/typed_kernel.h"

namespace mt {

// Lists of computing types.
using Floats = Types<float, double>;
using FloatsComplex = Types<float, double, c64, c128>;
using Reals = Types<float, double, int64_t>;               // other integers and bool through int64_t
using RealsFast = Types<float, double, int64_t, int32_t>;  // for operators where narrow integers are worth their code
using Numbers = Types<float, double, int64_t, c64, c128>;
using NumbersFast = Types<float, double, int64_t, int32_t, int16_t, int8_t, uint8_t, c64, c128>;
using Integers = Types<int64_t, bool>;

struct Operand {
    const Tensor* t = nullptr;  // null: the scalar
    const Value* scalar = nullptr;
    DType dtype = DType::Undefined;  // that the loop reads or writes
};
// Contiguous runs: outputs first, then inputs.
void run_pointwise(const Operand* operands, int count, int outputs, const Loop& loop);
// The same of one output for a loop over float where `narrow`, a 16-bit float, is promoted to: its tensors are widened
// and its results rounded a block at a time. The output is `narrow` where the loop gives float.
void run_narrow(const Operand* operands, int count, DType narrow, const Loop& loop);
// One element of `dtype` from a number.
void load_number(const Value& v, DType dtype, void* dst);

// Promoted dtype of arguments.
template <size_t N>
DType promoted(const Input (&inputs)[N]) {
    DType first = DType::Undefined;
    bool same = true;
    for (const Input& x : inputs) {
        if (!x.t || (first != DType::Undefined && x.t->dtype != first)) {
            same = false;
            break;
        }
        first = x.t->dtype;
    }
    if (same) return first;
    ResultType r;
    for (const Input& x : inputs) x.t ? r.add(*x.t) : r.add(*x.number);
    return r.get();
}
template <class... T>
constexpr bool lists(Types<T...>, DType d) {
    return ((dtype_of<T>::value == d) || ...);
}

// The type of `list` that a dtype computes in; raises if there is none.
template <class List>
DType computing_type(List list, DType d, const char* name) {
    if (lists(list, d)) return d;
    if (is_reduced_float(d) && lists(list, DType::Float32)) return DType::Float32;
    if (d == DType::Complex32 && lists(list, DType::Complex64)) return DType::Complex64;
    if ((is_integer(d) || is_bool(d)) && lists(list, DType::Int64)) return DType::Int64;
    unsupported_dtype(name, d);
}

namespace detail {

// T, once for each number of a pack.
template <class T, size_t>
struct Repeated {
    using type = T;
};
template <class F, class T, size_t I>
using argument = typename Repeated<T, I>::type;

template <class F, class T, class R, size_t... I>
void loop(char* const* p, int64_t n, const void* fp, std::index_sequence<I...>) {
    const F f = *static_cast<const F*>(fp);
    R* out = reinterpret_cast<R*>(p[0]);
    using Stored = std::conditional_t<std::is_same_v<T, bool>, Bool, T>;
    std::tuple<const argument<F, Stored, I>*...> in{reinterpret_cast<const Stored*>(p[I + 1])...};
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = f(static_cast<T>(std::get<I>(in)[i])...);
}

template <class F, class T, size_t... I>
auto result_of(std::index_sequence<I...>) -> std::invoke_result_t<const F&, argument<F, T, I>...>;

template <class F, class T, size_t N>
void loop_of(char* const* p, int64_t n, const void* fp) {
    using R = decltype(result_of<F, T>(std::make_index_sequence<N>()));
    loop<F, T, R>(p, n, fp, std::make_index_sequence<N>());
}

}  // namespace detail

// Runs `f` over `inputs`, all converted to the computing type of `dtype`.
template <class... T, size_t N, class F>
void pointwise_as(Out out, Types<T...> list, DType dtype, const Input (&inputs)[N], const F& f) {
    DType compute = computing_type(list, dtype, out.name());
    Operand operands[N + 1];
    for (size_t k = 0; k < N; k++) operands[k + 1] = {inputs[k].t, inputs[k].number, compute};
    visit(list, compute, out.name(), [&]<class U>() {
        using R = decltype(detail::result_of<F, U>(std::make_index_sequence<N>()));
        operands[0] = {&*out, nullptr, dtype_of<R>::value};
        if constexpr (std::is_same_v<U, float>) {
            const bool stored = !std::is_same_v<R, float> || out->dtype == dtype;
            if (is_reduced_float(dtype) && stored)
                return run_narrow(operands, N + 1, dtype, {detail::loop_of<F, U, N>, &f});
        }
        run_pointwise(operands, N + 1, 1, {detail::loop_of<F, U, N>, &f});
    });
}

// In the promoted dtype of the inputs.
template <class List, size_t N, class F>
void pointwise(Out out, List list, const Input (&inputs)[N], const F& f) {
    pointwise_as(out, list, promoted(inputs), inputs, f);
}

// As `pointwise`, integers and bool becoming the default floating dtype.
template <class List, size_t N, class F>
void pointwise_float(Out out, List list, const Input (&inputs)[N], const F& f) {
    DType t = promoted(inputs);
    pointwise_as(out, list, is_differentiable(t) ? t : default_dtype(), inputs, f);
}

// The same for one tensor.
template <class List, class F>
void unary(Out out, List list, const Tensor& x, const F& f) {
    pointwise_as(out, list, x.dtype, {x}, f);
}
template <class List, class F>
void unary_float(Out out, List list, const Tensor& x, const F& f) {
    pointwise_float(out, list, {x}, f);
}

}  // namespace mt
