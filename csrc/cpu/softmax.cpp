// softmax, log_softmax, their gradients, and logsumexp.
#include <algorithm>

#include "cpu/axis.h"
#include "cpu/pieces.h"
#include "cpu/row_loop.h"
#include "cpu/rows.h"

namespace mt {
namespace {

constexpr int64_t kColumns = 256;

// f(first element, columns) over blocks of adjacent columns: wide, as memory likes it, but some for each thread.
template <class F>
void for_columns(const Axis& a, const F& f) {
    const int64_t width = std::clamp<int64_t>(a.inner * a.outer / num_threads(), 64, kColumns);
    const int64_t blocks = (a.inner + width - 1) / width;
    parallel_for(a.outer * blocks, grain_for(a.n * std::min(width, a.inner)), [&](int64_t b, int64_t e) {
        for (int64_t k = b; k < e; k++) {
            int64_t c0 = k % blocks * width;
            f(k / blocks * a.n * a.inner + c0, std::min(width, a.inner - c0));
        }
    });
}
template <class F>
void for_rows(const Axis& a, const F& f) {
    parallel_for(a.outer, grain_for(a.n), f);
}

// ---- forward ----

// p: result, row
template <bool kLog, class X>
void softmax_row(char* const* p, int64_t n, const void*) {
    X* to = reinterpret_cast<X*>(p[0]);
    const X* from = reinterpret_cast<const X*>(p[1]);
    X max = row_max(from, n);
    if (kLog) {
        X shift = static_cast<X>(std::log(exp_sum<X>(from, nullptr, n, max)));
        for (int64_t i = 0; i < n; i++) to[i] = from[i] - max - shift;
    } else {
        X scale = X(1) / exp_sum<X>(from, to, n, max);
        for (int64_t i = 0; i < n; i++) to[i] *= scale;
    }
}

template <bool kLog, class X>
void softmax_rows(const Axis& a, const Tensor& x, const Tensor& y) {
    constexpr DType kType = dtype_of<X>::value;
    if (record_row_loop(softmax_row<kLog, X>, a.n, 1, {{&y, kType, Reach::All}, {&x, kType, Reach::All}})) return;
    for_rows(a, [&](int64_t b, int64_t e) {
        const RowIn<X> in(x, a.n);
        const RowOut<X> out(y, a.n);
        for (int64_t r = b; r < e; r++) {
            char* p[2] = {reinterpret_cast<char*>(out.at(r)),
                          const_cast<char*>(reinterpret_cast<const char*>(in.read(r)))};
            softmax_row<kLog, X>(p, a.n, nullptr);
            out.done(r);
        }
    });
}

// The maximum of each column and the sum of e^(x - maximum).
template <class X>
[[gnu::noinline]] void column_sums(const Axis& a, const Reader<X>& in, int64_t at, int64_t w, X* max, X* sum) {
    X buffer[kColumns];
    ExtremumOp<X, true> larger;
    std::fill(max, max + w, larger.start());
    std::fill(sum, sum + w, X(0));
    for (int64_t i = 0; i < a.n; i++) {
        const X* row = in.read(at + i * a.inner, w, buffer);
        for (int64_t j = 0; j < w; j++) max[j] = larger.step(max[j], row[j]);
    }
    for (int64_t i = 0; i < a.n; i++) {
        const X* row = in.read(at + i * a.inner, w, buffer);
        for (int64_t j = 0; j < w; j++) sum[j] += vec::exp(row[j] - max[j]);
    }
}

template <bool kLog, class X>
void softmax_columns(const Axis& a, const Tensor& x, const Tensor& y) {
    const Reader<X> in(x);
    const Writer<X> out(y);
    for_columns(a, [&](int64_t at, int64_t w) {
        X max[kColumns], sum[kColumns], in_buffer[kColumns], out_buffer[kColumns];
        column_sums(a, in, at, w, max, sum);
        for (int64_t j = 0; j < w; j++) sum[j] = kLog ? std::log(sum[j]) : X(1) / sum[j];
        for (int64_t k = at, i = 0; i < a.n; i++, k += a.inner) {
            const X* row = in.read(k, w, in_buffer);
            X* to = out.place(k, out_buffer);
            for (int64_t j = 0; j < w; j++)
                to[j] = kLog ? row[j] - max[j] - sum[j] : vec::exp(row[j] - max[j]) * sum[j];
            out.done(k, w, to);
        }
    });
}

template <bool kLog>
void softmax_cpu(Out out, const Tensor& given_self, int64_t dim, bool half_to_float) {
    if (out->numel() == 0) return;
    Axis a = axis_of(given_self, dim);
    TensorRef self = contiguous(given_self, out->dtype);
    visit(PlainFloatTypes{}, broad_type(out->dtype), out.name(), [&]<class X>() {
        if (a.inner == 1)
            softmax_rows<kLog, X>(a, *self, out);
        else
            softmax_columns<kLog, X>(a, *self, out);
    });
}

// ---- backward ----

// p: gradient of the input, gradient of the result, result
template <bool kLog, class X>
void softmax_backward_row(char* const* p, int64_t n, const void*) {
    X* to = reinterpret_cast<X*>(p[0]);
    const X *g = reinterpret_cast<const X*>(p[1]), *v = reinterpret_cast<const X*>(p[2]);
    if (kLog) {
        X sum = lane_sum<X>(n, [=](int64_t i) { return g[i]; });
        for (int64_t i = 0; i < n; i++) to[i] = g[i] - exp_or_zero(v[i]) * sum;
    } else {
        X sum = lane_sum<X>(n, [=](int64_t i) { return g[i] * v[i]; });
        for (int64_t i = 0; i < n; i++) to[i] = (g[i] - sum) * v[i];
    }
}

template <bool kLog, class X>
void softmax_backward_rows(const Axis& a, const Tensor& grad, const Tensor& y, const Tensor& dx) {
    constexpr DType kType = dtype_of<X>::value;
    if (record_row_loop(softmax_backward_row<kLog, X>, a.n, 1,
                        {{&dx, kType, Reach::All}, {&grad, kType, Reach::All}, {&y, kType, Reach::All}}))
        return;
    for_rows(a, [&](int64_t b, int64_t e) {
        const RowIn<X> grad_in(grad, a.n), y_in(y, a.n);
        const RowOut<X> out(dx, a.n);
        for (int64_t r = b; r < e; r++) {
            char* p[3] = {reinterpret_cast<char*>(out.at(r)),
                          const_cast<char*>(reinterpret_cast<const char*>(grad_in.read(r))),
                          const_cast<char*>(reinterpret_cast<const char*>(y_in.read(r)))};
            softmax_backward_row<kLog, X>(p, a.n, nullptr);
            out.done(r);
        }
    });
}

template <bool kLog, class X>
void softmax_backward_columns(const Axis& a, const Tensor& grad, const Tensor& y, const Tensor& dx) {
    const Reader<X> grad_in(grad), y_in(y);
    const Writer<X> out(dx);
    for_columns(a, [&](int64_t at, int64_t w) {
        X sum[kColumns] = {}, g_buffer[kColumns], y_buffer[kColumns], out_buffer[kColumns];
        for (int64_t k = at, i = 0; i < a.n; i++, k += a.inner) {
            const X *g = grad_in.read(k, w, g_buffer), *v = kLog ? g : y_in.read(k, w, y_buffer);
            for (int64_t j = 0; j < w; j++) sum[j] += kLog ? g[j] : g[j] * v[j];
        }
        for (int64_t k = at, i = 0; i < a.n; i++, k += a.inner) {
            const X *g = grad_in.read(k, w, g_buffer), *v = y_in.read(k, w, y_buffer);
            X* to = out.place(k, out_buffer);
            for (int64_t j = 0; j < w; j++) to[j] = kLog ? g[j] - vec::exp(v[j]) * sum[j] : (g[j] - sum[j]) * v[j];
            out.done(k, w, to);
        }
    });
}

template <bool kLog>
void softmax_backward_cpu(Out out, const Tensor& grad_output, const Tensor& output, int64_t dim, DType input_dtype) {
    if (out->numel() == 0) return;
    Axis a = axis_of(grad_output, dim);
    TensorRef grad = contiguous(grad_output), y = contiguous(output, grad->dtype);
    const DType wide = broad_type(grad->dtype);
    Converted result(out, broad_type(out->dtype) == wide ? out->dtype : wide);
    visit(PlainFloatTypes{}, wide, out.name(), [&]<class X>() {
        if (a.inner == 1)
            softmax_backward_rows<kLog, X>(a, *grad, *y, result.tensor());
        else
            softmax_backward_columns<kLog, X>(a, *grad, *y, result.tensor());
    });
    result.finish();
}

// ---- logsumexp ----

// Of complex numbers: the largest real part is taken out.
void logsumexp_of_complex(Tensor& out, const Tensor& self, ReducedDims dim) {
    visit(ComplexTypes{}, out.dtype, "logsumexp_cpu", [&]<class T>() {
        using Real = typename T::value_type;
        Rows v = as_rows(self, dim.mask(self.ndim), dtype_of<T>::value, true);
        T* y = out.data<T>();
        const T* x = v.data<T>();
        for (int64_t o = 0; o < v.outer; o++) {
            const T* row = x + o * v.red;
            Real max = -std::numeric_limits<Real>::infinity();
            for (int64_t i = 0; i < v.red; i++) max = num::maximum(max, row[i].real());
            if (std::isinf(max)) max = 0;
            T sum = 0;
            for (int64_t i = 0; i < v.red; i++) sum += std::exp(row[i] - max);
            y[o] = std::log(sum) + max;
        }
    });
}

void logsumexp_cpu(Out out, const Tensor& self, ReducedDims dim, bool keepdim) {
    if (is_complex(out->dtype)) return logsumexp_of_complex(out, self, dim);
    Converted result(out, broad_type(out->dtype));
    visit(PlainFloatTypes{}, result.tensor().dtype, "logsumexp_cpu", [&]<class T>() {
        Rows v = as_rows(self, dim.mask(self.ndim), dtype_of<T>::value, true);
        T* y = result.tensor().data<T>();
        const T* x = v.data<T>();
        parallel_for(v.outer, grain_for(v.red), [&](int64_t b, int64_t e) {
            for (int64_t o = b; o < e; o++) {
                const T* row = x + o * v.red;
                T max = row_max(row, v.red);
                T shift = std::isinf(max) ? T(0) : max;
                y[o] = v.red == 0 ? -std::numeric_limits<T>::infinity()
                                  : std::log(exp_sum<T>(row, nullptr, v.red, shift)) + shift;
                if (max == std::numeric_limits<T>::infinity()) y[o] = max;
            }
        });
    });
    result.finish();
}

}  // namespace

KERNELS
{
    structured<softmax_cpu<false>>("_softmax", kContiguousOutputs);
    structured<softmax_cpu<true>>("_log_softmax", kContiguousOutputs);
    structured<softmax_backward_cpu<false>>("_softmax_backward_data", kContiguousOutputs);
    structured<softmax_backward_cpu<true>>("_log_softmax_backward_data", kContiguousOutputs);
    structured<logsumexp_cpu>("logsumexp", kContiguousOutputs);
}

}  // namespace mt
