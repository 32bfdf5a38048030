// Variances and vector norms.
#include "cpu/reduce.h"

namespace mt {
namespace {

// ---- variance ----

template <class T>
using RealOf = std::conditional_t<std::is_same_v<T, c128>, double, T>;

// Squares of distances from a centre near the mean.
template <class T>
struct SpreadOp {
    using X = Compute<T>;
    using Lane = RealOf<T>;
    using Total = double;
    X centre;
    Lane start() const { return Lane(0); }
    Lane step(Lane a, X x) const {
        if constexpr (is_complex_v<X>) {
            X d = x - centre;
            return a + d.real() * d.real() + d.imag() * d.imag();
        } else {
            X d = x - centre;
            return a + d * d;
        }
    }
    Lane join(Lane a, Lane b) const { return a + b; }
    Total lift(Lane a) const { return a; }
    Total merge(Total a, Total b) const { return a + b; }
};

template <class Total>
double square_of_abs(Total z) {
    if constexpr (is_complex_v<Total>)
        return std::norm(z);
    else
        return z * z;
}

// Two passes over each row: its mean, then the spread about it. `root`: standard deviation.
template <class T>
void variance_rows(const Rows& v, double correction, bool root, RealOf<T>* spread, Compute<T>* centre) {
    using Mean = typename SumOp<T>::Total;
    using X = Compute<T>;
    double n = static_cast<double>(v.red), freedom = std::max(n - correction, 0.0);
    auto finish = [&](int64_t o, Mean mean, X m, double total) {
        total = std::max(total - n * square_of_abs(mean - static_cast<Mean>(m)), 0.0);
        if (total != total) total = std::numeric_limits<double>::quiet_NaN();
        double value = total / freedom;
        spread[o] = static_cast<RealOf<T>>(root ? std::sqrt(value) : value);
        if (centre) centre[o] = static_cast<X>(mean);
    };
    const T* x = v.data<T>();
    // Squares of floats beyond 1e19 or below 1e-19 are no floats: such a row is gone through again, in doubles.
    auto checked = [&](const T* row, X m, double total) {
        if constexpr (!std::is_same_v<T, float>)
            return total;
        else {
            if (total > 1e-30 && total < 1e37) return total;
            double again = 0;
            for (int64_t i = 0; i < v.red; i++) again += (double(row[i]) - m) * (double(row[i]) - m);
            return again;
        }
    };
    auto spread_of_row = [&](int64_t o, Mean mean) {
        X m = static_cast<X>(mean);
        const T* row = x + o * v.red;
        double total = checked(row, m, fold_row(SpreadOp<T>{m}, row, v.red));
        // NaN must survive the max above.
        if (total != total || square_of_abs(mean) != square_of_abs(mean)) {
            spread[o] = std::numeric_limits<RealOf<T>>::quiet_NaN();
            if (centre) centre[o] = m;
            return;
        }
        finish(o, mean, m, total);
    };
    if (v.outer == 1) {
        Mean mean{};
        fold<T>(v, SumOp<T>(), [&](int64_t, Mean t) { mean = t / n; });
        X m = static_cast<X>(mean);
        double total = 0;
        fold<T>(v, SpreadOp<T>{m}, [&](int64_t, double t) { total = checked(x, m, t); });
        if (total != total) {
            spread[0] = std::numeric_limits<RealOf<T>>::quiet_NaN();
            if (centre) centre[0] = m;
        } else {
            finish(0, mean, m, total);
        }
        return;
    }
    parallel_for(v.outer, grain_for(v.red), [&](int64_t b, int64_t e) {
        for (int64_t o = b; o < e; o++) spread_of_row(o, fold_row(SumOp<T>(), x + o * v.red, v.red) / n);
    });
}

void variance_into(const Tensor& self, uint64_t mask, double correction, bool root, Tensor& spread, Tensor* centre) {
    DType type = broad_type(self.dtype);
    Converted spreads(spread, to_real(type)), centres(centre ? *centre : spread, centre ? type : spread.dtype);
    visit(Types<float, double, c128>{}, type, "std_var", [&]<class T>() {
        variance_rows<T>(as_rows(self, mask, type, true), correction, root, spreads.tensor().data<RealOf<T>>(),
                         centre ? centres.tensor().data<T>() : nullptr);
    });
    spreads.finish();
    centres.finish();
}

// Before a result that is infinite or no number.
void warn_without_freedom(const char* name, const Tensor& self, const Tensor& spread, double correction) {
    if (!spread.numel() || static_cast<double>(self.numel() / spread.numel()) > correction) return;
    const std::string text = concat(name,
                                    "(): degrees of freedom is <= 0. Correction should be strictly less than the "
                                    "reduction factor (input numel divided by output numel).");
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw PythonError();
}

// var.correction(self, dim, *, correction, keepdim)
template <bool kRoot>
void var_cpu(Out out, const Tensor& self, ReducedDims dim, std::optional<double> correction, bool keepdim) {
    warn_without_freedom(kRoot ? "std" : "var", self, *out, correction.value_or(1));
    variance_into(self, dim.mask(self.ndim), correction.value_or(1), kRoot, out, nullptr);
}
template <bool kRoot>
void var_mean_cpu(Out out, const Tensor& self, ReducedDims dim, std::optional<double> correction, bool keepdim) {
    warn_without_freedom(kRoot ? "std_mean" : "var_mean", self, out[0], correction.value_or(1));
    variance_into(self, dim.mask(self.ndim), correction.value_or(1), kRoot, out[0], &out[1]);
}

// ---- vector norms ----

// Absolute values of complex numbers.
TensorRef magnitudes(const Tensor& self) {
    TensorRef z = contiguous(self, DType::Complex128), r = empty(self.sizes(), DType::Float64);
    const c128* from = z->data<c128>();
    double* to = r->data<double>();
    parallel_for(r->numel(), kGrain / 8, [=](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; i++) to[i] = std::abs(from[i]);
    });
    return r;
}

// T: what is computed in; 16-bit floats are widened by `fold`.
template <class T>
struct NormBase {
    using X = Compute<T>;
    using Lane = RealOf<T>;
    using Total = double;
    Lane start() const { return Lane(0); }
    Lane join(Lane a, Lane b) const { return a + b; }
    Total lift(Lane a) const { return a; }
    Total merge(Total a, Total b) const { return a + b; }
};
template <class T>
struct Norm1Op : NormBase<T> {
    T step(T a, T x) const { return a + std::abs(x); }
};
template <class T>
struct Norm2Op : NormBase<T> {
    using Lane = RealOf<T>;
    Lane step(Lane a, Compute<T> x) const {
        if constexpr (is_complex_v<T>)
            return a + x.real() * x.real() + x.imag() * x.imag();
        else
            return a + x * x;
    }
};
template <class T>
struct Norm0Op : NormBase<T> {
    T step(T a, T x) const { return a + (x != T(0) ? T(1) : T(0)); }
};
template <class T>
struct NormPOp : NormBase<T> {
    T p;
    T step(T a, T x) const { return a + std::pow(std::abs(x), p); }
};
template <class T, bool kMax>
struct NormExtremumOp {
    using X = T;
    using Lane = T;
    using Total = T;
    ExtremumOp<T, kMax> of;
    T start() const { return kMax ? T(0) : std::numeric_limits<T>::infinity(); }
    T step(T a, T x) const { return of.step(a, std::abs(x)); }
    T join(T a, T b) const { return of.step(a, b); }
    T lift(T a) const { return a; }
    T merge(T a, T b) const { return of.step(a, b); }
};

void check_identity(const Tensor& self, uint64_t mask, const Value& dim, double order, const Value& spelled) {
    if (self.numel() != 0 || (order >= 0 && !std::isinf(order))) return;
    std::string text = spelled.tag == Tag::Int ? concat(spelled.i) : concat(order);
    bool given = dim.tag == Tag::IntList && dim.len > 0;
    MT_CHECK(given, "linalg.vector_norm cannot compute the ", text,
             " norm on an empty tensor because the operation does not have an identity");
    for (int64_t d = 0; d < self.ndim; d++)
        MT_CHECK(!(mask >> d & 1) || self.size(d) != 0, "linalg.vector_norm cannot compute the ", text,
                 " norm on the dimension ", d,
                 "because this dimension is empty and the operation does not have an identity");
}

// linalg_vector_norm(self, ord, dim, keepdim, *, dtype)
void vector_norm_cpu(Out out, const Tensor& self, const Value& ord, ReducedDims dim, bool keepdim,
                     std::optional<DType> dtype) {
    MT_CHECK(ord.tag != Tag::Complex, "linalg.vector_norm: Expected a non-complex scalar as the order of norm.");
    const double order = ord.as_double();
    uint64_t mask = dim.mask(self.ndim);
    check_identity(self, mask, dim.given, order, ord);
    DType type = broad_type(dtype.value_or(self.dtype));
    Converted result(out, to_real(type));
    double root = order == 2 ? 2 : order == 0 || order == 1 || std::isinf(order) ? 1 : order;
    auto to = [&]<class R>(R* out) {
        return [=](int64_t o, double t) {
            out[o] = static_cast<R>(root == 1 ? t : root == 2 ? std::sqrt(t) : std::pow(t, 1 / root));
        };
    };
    if (order == 2 && type == DType::Float32 && is_reduced_float(self.dtype)) {
        auto plain = to(result.tensor().data<float>());
        visit(Types<Half, BFloat16>{}, self.dtype, "linalg_vector_norm_cpu",
              [&]<class T>() { fold<T>(as_rows(self, mask, self.dtype), Norm2Op<float>(), plain); });
        return result.finish();
    }
    if (order == 2) {
        visit(Types<float, double, c128>{}, type, "linalg_vector_norm_cpu", [&]<class T>() {
            fold<T>(as_rows(self, mask, type), Norm2Op<T>(), to(result.tensor().data<RealOf<T>>()));
        });
        return result.finish();
    }
    Rows v = is_complex(type) ? as_rows(*magnitudes(self), mask, DType::Float64) : as_rows(self, mask, type);
    visit(PlainFloatTypes{}, v.x->dtype, "linalg_vector_norm_cpu", [&]<class T>() {
        auto plain = to(result.tensor().data<T>());
        if (order == 1)
            fold<T>(v, Norm1Op<T>(), plain);
        else if (order == 0)
            fold<T>(v, Norm0Op<T>(), plain);
        else if (order == std::numeric_limits<double>::infinity())
            fold<T>(v, NormExtremumOp<T, true>(), plain);
        else if (order == -std::numeric_limits<double>::infinity())
            fold<T>(v, NormExtremumOp<T, false>(), plain);
        else
            fold<T>(v, NormPOp<T>{{}, static_cast<T>(order)}, plain);
    });
    result.finish();
}

}  // namespace

KERNELS
{
    structured<var_cpu<false>>("var.correction", kContiguousOutputs);
    structured<var_cpu<true>>("std.correction", kContiguousOutputs);
    structured<var_mean_cpu<false>>("var_mean.correction", kContiguousOutputs);
    structured<var_mean_cpu<true>>("std_mean.correction", kContiguousOutputs);
    structured<vector_norm_cpu>("linalg_vector_norm", kContiguousOutputs);
}

}  // namespace mt
