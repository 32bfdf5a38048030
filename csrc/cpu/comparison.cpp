// Comparisons, tests of floats, and logical operators; results are bool.
#include "convert.h"
#include "float8.h"
#include "number.h"
#include "pointwise.h"

namespace mt {
namespace {

// Numbers outside the range of an integer tensor's dtype compare as numbers: int8 tensors through int64_t do so
// already.
using Comparable = Types<float, double, int64_t, int32_t, uint8_t>;
using Equatable = Types<float, double, int64_t, int32_t, uint8_t, c64, c128>;

// Bools as bytes. uint8 only when every operand is: through a number such as 300 the promoted dtype would wrap it.
DType comparing(const Input& self, const Input& other) {
    DType t = promoted({self, other});
    bool tensors = self.t && other.t && !self.t->is_wrapped_number() && !other.t->is_wrapped_number();
    return !tensors && is_integer(t) ? DType::Int64 : t == DType::Bool ? DType::UInt8 : t;
}

// Numbers of 8 bits are equal or not; in PyTorch they have no order.
DType equating(const Input& self, const Input& other) { return widened(comparing(self, other)); }

#define MT_COMPARISON(name, list, dtype, expression)                        \
    void name##_cpu(Out out, Input self, Input other) {                     \
        pointwise_as(out, list{}, dtype(self, other), {self, other},        \
                     []<class T>(T a, T b) -> bool { return expression; }); \
    }
MT_COMPARISON(eq, Equatable, equating, a == b)
MT_COMPARISON(ne, Equatable, equating, a != b)
MT_COMPARISON(lt, Comparable, comparing, a < b)
MT_COMPARISON(le, Comparable, comparing, a <= b)
MT_COMPARISON(gt, Comparable, comparing, a > b)
MT_COMPARISON(ge, Comparable, comparing, a >= b)
#undef MT_COMPARISON

template <class T>
T inf() {
    return std::numeric_limits<T>::infinity();
}

// Integers are finite: answered without reading them.
bool answered_for_integers(Tensor& out, const Tensor& self, bool answer) {
    if (is_differentiable(self.dtype)) return false;
    fill(out, Value::of(answer));
    return true;
}

// Of the float8 types only this one has infinities; PyTorch asks the others for none.
DType with_infinities(DType t) { return t == DType::Float8_e5m2 ? widened(t) : t; }

void isnan_cpu(Out out, const Tensor& self) {
    if (answered_for_integers(out, self, false)) return;
    pointwise_as(out, FloatsComplex{}, widened(self.dtype), {self}, [](auto a) -> bool { return a != a; });
}

void isinf_cpu(Out out, const Tensor& self) {
    if (answered_for_integers(out, self, false)) return;
    pointwise_as(out, FloatsComplex{}, with_infinities(self.dtype), {self}, []<class T>(T a) -> bool {
        if constexpr (num::is_cx<T>)
            return std::isinf(a.real()) || std::isinf(a.imag());
        else
            return a == inf<T>() || a == -inf<T>();
    });
}

void isfinite_cpu(Out out, const Tensor& self) {
    if (answered_for_integers(out, self, true)) return;
    pointwise_as(out, FloatsComplex{}, with_infinities(self.dtype), {self}, []<class T>(T a) -> bool {
        if constexpr (num::is_cx<T>)
            return std::isfinite(a.real()) && std::isfinite(a.imag());
        else
            return a - a == T(0);
    });
}

void isneginf_cpu(Out out, const Tensor& self) {
    MT_CHECK(!is_complex(self.dtype), "isneginf does not support complex inputs.");
    if (answered_for_integers(out, self, false)) return;
    unary(out, Floats{}, self, []<class T>(T a) -> bool { return a == -inf<T>(); });
}

void isposinf_cpu(Out out, const Tensor& self) {
    MT_CHECK(!is_complex(self.dtype), "isposinf does not support complex inputs.");
    if (answered_for_integers(out, self, false)) return;
    unary(out, Floats{}, self, []<class T>(T a) -> bool { return a == inf<T>(); });
}

void signbit_cpu(Out out, const Tensor& self) {
    MT_CHECK(!is_complex(self.dtype), "signbit is not implemented for complex tensors.");
    unary(out, Reals{}, self, []<class T>(T a) -> bool {
        if constexpr (num::is_flt<T>)
            return std::signbit(a);
        else
            return a < 0;
    });
}

void logical_and_cpu(Out out, const Tensor& self, const Tensor& other) {
    pointwise_as(out, Types<bool>{}, DType::Bool, {self, other}, [](bool a, bool b) -> bool { return a & b; });
}
void logical_or_cpu(Out out, const Tensor& self, const Tensor& other) {
    pointwise_as(out, Types<bool>{}, DType::Bool, {self, other}, [](bool a, bool b) -> bool { return a | b; });
}
void logical_xor_cpu(Out out, const Tensor& self, const Tensor& other) {
    pointwise_as(out, Types<bool>{}, DType::Bool, {self, other}, [](bool a, bool b) -> bool { return a != b; });
}

// |a - b| <= atol + rtol |b|, equal infinities close, NaN close to NaN if asked.
void isclose_cpu(Out out, const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
    MT_CHECK(a.dtype == b.dtype, dtype_class_name(a.dtype), " did not match ", dtype_class_name(b.dtype));
    MT_CHECK(rtol >= 0, "rtol must be greater than or equal to zero, but got ", rtol);
    MT_CHECK(atol >= 0, "atol must be greater than or equal to zero, but got ", atol);
    if (!is_differentiable(a.dtype))
        return pointwise_as(out, Types<double>{}, DType::Float64, {a, b}, [=](double x, double y) -> bool {
            return x == y || std::fabs(x - y) <= atol + std::fabs(rtol * y);
        });
    pointwise_as(out, FloatsComplex{}, a.dtype, {a, b}, [=]<class T>(T x, T y) -> bool {
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

bool equal_cpu(const Tensor& a, const Tensor& b) {
    bool same = a.sizes() == b.sizes();
    if (same && a.numel()) {
        DType t = a.dtype == b.dtype ? a.dtype : promote(a.dtype, b.dtype);
        if (is_reduced_float(t) || is_float8(t)) t = DType::Float32;
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
    return same;
}

KERNELS
{
    structured<eq_cpu>("eq", kInputMayAlias);
    structured<ge_cpu>("ge", kInputMayAlias);
    structured<gt_cpu>("gt", kInputMayAlias);
    structured<isclose_cpu>("isclose");
    structured<isfinite_cpu>("isfinite");
    structured<isinf_cpu>("isinf");
    structured<isnan_cpu>("isnan");
    structured<isneginf_cpu>("isneginf");
    structured<isposinf_cpu>("isposinf");
    structured<le_cpu>("le", kInputMayAlias);
    structured<logical_and_cpu>("logical_and", kInputMayAlias);
    structured<logical_or_cpu>("logical_or", kInputMayAlias);
    structured<logical_xor_cpu>("logical_xor", kInputMayAlias);
    structured<lt_cpu>("lt", kInputMayAlias);
    structured<ne_cpu>("ne", kInputMayAlias);
    structured<signbit_cpu>("signbit");
    direct<equal_cpu>("equal");
}

}  // namespace
}  // namespace mt
