// Comparisons, tests of floats, and logical operators; results are bool.
#include "convert.h"
#include "number.h"
#include "pointwise.h"

namespace mt {
namespace {

// Numbers outside the range of an integer tensor's dtype compare as numbers: int8 tensors through int64_t do so
// already.
using Comparable = Types<float, double, int64_t, int32_t, uint8_t>;
using Equatable = Types<float, double, int64_t, int32_t, uint8_t, c64, c128>;

// Bools as bytes. uint8 only when every operand is: through a number such as 300 the promoted dtype would wrap it.
DType comparing(const Call& c) {
    const int args[2] = {0, 1};
    DType t = promoted(c, args, 2);
    bool tensors = c.args[0].tag == Tag::Tensor && c.args[1].tag == Tag::Tensor && !c.args[0].t->is_wrapped_number() &&
                   !c.args[1].t->is_wrapped_number();
    return !tensors && is_integer(t) ? DType::Int64 : t == DType::Bool ? DType::UInt8 : t;
}

#define MT_COMPARISON(name, list, expression)                                                                \
    void name##_cpu(Call& c) {                                                                               \
        pointwise_as(c, list{}, comparing(c), {0, 1}, []<class T>(T a, T b) -> bool { return expression; }); \
    }
MT_COMPARISON(eq, Equatable, a == b)
MT_COMPARISON(ne, Equatable, a != b)
MT_COMPARISON(lt, Comparable, a < b)
MT_COMPARISON(le, Comparable, a <= b)
MT_COMPARISON(gt, Comparable, a > b)
MT_COMPARISON(ge, Comparable, a >= b)
#undef MT_COMPARISON

template <class T>
T inf() {
    return std::numeric_limits<T>::infinity();
}

// Integers are finite: answered without reading them.
bool answered_for_integers(Call& c, bool answer) {
    if (is_differentiable(c.tensor(0).dtype)) return false;
    fill(c.out(0), Value::of(answer));
    return true;
}

void isnan_cpu(Call& c) {
    if (answered_for_integers(c, false)) return;
    unary(c, FloatsComplex{}, [](auto a) -> bool { return a != a; });
}

void isinf_cpu(Call& c) {
    if (answered_for_integers(c, false)) return;
    unary(c, FloatsComplex{}, []<class T>(T a) -> bool {
        if constexpr (num::is_cx<T>)
            return std::isinf(a.real()) || std::isinf(a.imag());
        else
            return a == inf<T>() || a == -inf<T>();
    });
}

void isfinite_cpu(Call& c) {
    if (answered_for_integers(c, true)) return;
    unary(c, FloatsComplex{}, []<class T>(T a) -> bool {
        if constexpr (num::is_cx<T>)
            return std::isfinite(a.real()) && std::isfinite(a.imag());
        else
            return a - a == T(0);
    });
}

void isneginf_cpu(Call& c) {
    MT_CHECK(!is_complex(c.tensor(0).dtype), "isneginf does not support complex inputs.");
    if (answered_for_integers(c, false)) return;
    unary(c, Floats{}, []<class T>(T a) -> bool { return a == -inf<T>(); });
}

void isposinf_cpu(Call& c) {
    MT_CHECK(!is_complex(c.tensor(0).dtype), "isposinf does not support complex inputs.");
    if (answered_for_integers(c, false)) return;
    unary(c, Floats{}, []<class T>(T a) -> bool { return a == inf<T>(); });
}

void signbit_cpu(Call& c) {
    MT_CHECK(!is_complex(c.tensor(0).dtype), "signbit is not implemented for complex tensors.");
    unary(c, Reals{}, []<class T>(T a) -> bool {
        if constexpr (num::is_flt<T>)
            return std::signbit(a);
        else
            return a < 0;
    });
}

void logical_and_cpu(Call& c) {
    pointwise_as(c, Types<bool>{}, DType::Bool, {0, 1}, [](bool a, bool b) -> bool { return a & b; });
}
void logical_or_cpu(Call& c) {
    pointwise_as(c, Types<bool>{}, DType::Bool, {0, 1}, [](bool a, bool b) -> bool { return a | b; });
}
void logical_xor_cpu(Call& c) {
    pointwise_as(c, Types<bool>{}, DType::Bool, {0, 1}, [](bool a, bool b) -> bool { return a != b; });
}

// |a - b| <= atol + rtol |b|, equal infinities close, NaN close to NaN if asked.
void isclose_cpu(Call& c) {
    const Tensor &a = c.tensor(0), &b = c.tensor(1);
    MT_CHECK(a.dtype == b.dtype, dtype_class_name(a.dtype), " did not match ", dtype_class_name(b.dtype));
    double rtol = c.real(2), atol = c.real(3);
    MT_CHECK(rtol >= 0, "rtol must be greater than or equal to zero, but got ", rtol);
    MT_CHECK(atol >= 0, "atol must be greater than or equal to zero, but got ", atol);
    bool equal_nan = c.boolean(4);
    if (!is_differentiable(a.dtype))
        return pointwise_as(c, Types<double>{}, DType::Float64, {0, 1}, [=](double x, double y) -> bool {
            return x == y || std::fabs(x - y) <= atol + std::fabs(rtol * y);
        });
    pointwise_as(c, FloatsComplex{}, a.dtype, {0, 1}, [=]<class T>(T x, T y) -> bool {
        if (x == y) return true;
        bool nan = x != x && y != y;
        if constexpr (num::is_cx<T>) {
            using R = typename T::value_type;
            R error = std::abs(x - y);
            return (equal_nan && nan) || (std::isfinite(error) && error <= R(atol) + std::abs(R(rtol) * y));
        } else {
            T error = std::fabs(x - y);
            return (equal_nan && nan) || (std::isfinite(error) && error <= T(atol) + std::fabs(T(rtol) * y));
        }
    });
}

template <class T>
bool equal_runs(const T* a, const T* b, int64_t n) {
    for (int64_t i = 0; i < n; i += 1024) {
        int64_t m = std::min<int64_t>(1024, n - i);
        int differ = 0;
        for (int64_t j = 0; j < m; j++) differ |= a[i + j] != b[i + j];
        if (differ) return false;
    }
    return true;
}

// Real and imaginary parts in turn.
template <class T>
const T* parts(const Tensor& complex) {
    return reinterpret_cast<const T*>(complex.data<std::complex<T>>());
}

void equal_cpu(Call& c) {
    const Tensor &a = c.tensor(0), &b = c.tensor(1);
    MT_CHECK(a.dtype == b.dtype, "Expected object of data type ", dtype_class_name(a.dtype), " but got data type ",
             dtype_class_name(b.dtype), " for argument #2 'other' in call to cpu_equal");
    bool same = a.sizes() == b.sizes();
    if (same && a.numel()) {
        DType t = is_reduced_float(a.dtype) || is_float8(a.dtype) ? DType::Float32 : a.dtype;
        auto dense = [&](const Tensor& tensor) {
            TensorRef ref = TensorRef::share(&tensor);
            if (a.strides() == b.strides() && a.is_non_overlapping_and_dense()) {  // in any order
                Dims one{a.numel()}, step{1};
                ref = as_strided(tensor, one, step, tensor.offset);
            }
            return contiguous(*ref, t);
        };
        TensorRef x = dense(a), y = dense(b);
        switch (t) {
            case DType::Bool:
                same = equal_runs(x->data<Bool>(), y->data<Bool>(), a.numel());
                break;
            case DType::Float32:
                same = equal_runs(x->data<float>(), y->data<float>(), a.numel());
                break;
            case DType::Float64:
                same = equal_runs(x->data<double>(), y->data<double>(), a.numel());
                break;
            case DType::Complex64:
                same = equal_runs(parts<float>(*x), parts<float>(*y), 2 * a.numel());
                break;
            case DType::Complex128:
                same = equal_runs(parts<double>(*x), parts<double>(*y), 2 * a.numel());
                break;
            default:
                same = std::memcmp(x->raw(), y->raw(), static_cast<size_t>(a.numel() * x->itemsize())) == 0;
        }
    }
    c.ret_value(0, Value::of(same));
}

KERNELS
{
    structured("eq", eq_cpu, kInputMayAlias);
    structured("ge", ge_cpu, kInputMayAlias);
    structured("gt", gt_cpu, kInputMayAlias);
    structured("isclose", isclose_cpu);
    structured("isfinite", isfinite_cpu);
    structured("isinf", isinf_cpu);
    structured("isnan", isnan_cpu);
    structured("isneginf", isneginf_cpu);
    structured("isposinf", isposinf_cpu);
    structured("le", le_cpu, kInputMayAlias);
    structured("logical_and", logical_and_cpu, kInputMayAlias);
    structured("logical_or", logical_or_cpu, kInputMayAlias);
    structured("logical_xor", logical_xor_cpu, kInputMayAlias);
    structured("lt", lt_cpu, kInputMayAlias);
    structured("ne", ne_cpu, kInputMayAlias);
    structured("signbit", signbit_cpu);
    direct("equal", equal_cpu);
}

}  // namespace
}  // namespace mt
