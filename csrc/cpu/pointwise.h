// Element-wise kernels. The author writes one generic lambda; it is compiled once for each type it computes in, as a
// loop over contiguous runs. Everything else (strides, broadcasting, scalars, mixed dtypes, 16-bit floats, threads) is
// done by run_pointwise, which is compiled once: operands that are not contiguous memory of the computing type pass
// through small buffers in the first-level cache.
//
//     void add_cpu(Call& c) { pointwise(c, Numbers{}, {0, 1}, [](auto a, auto b) { return a + b; }); }
//
// The computing type is chosen from the promoted dtype of the arguments: that type itself if the list has it, else
// float for the 16-bit floats and int64_t for the other integers and bool. The lambda's result type may differ (bool).
#pragma once

#include <initializer_list>
#include <tuple>
#include <utility>

#include "core/kernel.h"
#include "core/promotion.h"

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
using LoopFn = void (*)(char* const* p, int64_t n, const void* f);
void run_pointwise(const Operand* operands, int count, int outputs, LoopFn loop, const void* f);
// The same of one output for a loop over float where `narrow`, a 16-bit float, is promoted to: its tensors are widened
// and its results rounded a block at a time. The output is `narrow` where the loop gives float.
void run_narrow(const Operand* operands, int count, DType narrow, LoopFn loop, const void* f);

// Promoted dtype of arguments (tensors and numbers).
inline DType promoted(const Call& c, const int* args, int n) {
    DType first = DType::Undefined;
    bool same = true;
    for (int k = 0; k < n; k++) {
        const Value& v = c.args[args[k]];
        if (v.tag != Tag::Tensor || (first != DType::Undefined && v.t->dtype != first)) {
            same = false;
            break;
        }
        first = v.t->dtype;
    }
    if (same) return first;
    ResultType r;
    for (int k = 0; k < n; k++) r.add(c.args[args[k]]);
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

template <class F, class T, size_t>
using argument = T;

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

// Runs `f` over `args` (positions of tensors or numbers), all converted to the computing type of `dtype`.
template <class... T, size_t N, class F>
void pointwise_as(Call& c, Types<T...> list, DType dtype, const int (&args)[N], const F& f) {
    DType compute = computing_type(list, dtype, c.name());
    Operand operands[N + 1];
    for (size_t k = 0; k < N; k++) {
        const Value& v = c.args[args[k]];
        operands[k + 1] = v.tag == Tag::Tensor ? Operand{v.t, nullptr, compute} : Operand{nullptr, &v, compute};
    }
    visit(list, compute, c.name(), [&]<class U>() {
        using R = decltype(detail::result_of<F, U>(std::make_index_sequence<N>()));
        operands[0] = {&c.out(0), nullptr, dtype_of<R>::value};
        if constexpr (std::is_same_v<U, float>) {
            const bool stored = !std::is_same_v<R, float> || c.out(0).dtype == dtype;
            if (is_reduced_float(dtype) && stored)
                return run_narrow(operands, N + 1, dtype, detail::loop_of<F, U, N>, &f);
        }
        run_pointwise(operands, N + 1, 1, detail::loop_of<F, U, N>, &f);
    });
}

// In the promoted dtype of the arguments.
template <class List, size_t N, class F>
void pointwise(Call& c, List list, const int (&args)[N], const F& f) {
    pointwise_as(c, list, promoted(c, args, N), args, f);
}

// As `pointwise`, integers and bool becoming the default floating dtype.
template <class List, size_t N, class F>
void pointwise_float(Call& c, List list, const int (&args)[N], const F& f) {
    DType t = promoted(c, args, N);
    pointwise_as(c, list, is_differentiable(t) ? t : default_dtype(), args, f);
}

// The same for operators of one tensor, argument 0.
template <class List, class F>
void unary(Call& c, List list, const F& f) {
    pointwise_as(c, list, c.tensor(0).dtype, {0}, f);
}
template <class List, class F>
void unary_float(Call& c, List list, const F& f) {
    pointwise_float(c, list, {0}, f);
}
// An activation's backward: (grad, self, ...) in the dtype of argument 1 or wider.
template <class List, class F>
void binary(Call& c, List list, const F& f) {
    pointwise(c, list, {0, 1}, f);
}

}  // namespace mt
