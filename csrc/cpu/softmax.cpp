// softmax, log_softmax, their gradients, and logsumexp.
#include "cpu/axis.h"
#include "cpu/rows.h"

namespace mt {
namespace {

constexpr int64_t kColumns = 64;

// f(first element, columns) over blocks of adjacent columns.
template <class F>
void for_columns(const Axis& a, const F& f) {
    int64_t blocks = (a.inner + kColumns - 1) / kColumns;
    parallel_for(a.outer * blocks, grain_for(a.n * std::min(kColumns, a.inner)), [&](int64_t b, int64_t e) {
        for (int64_t k = b; k < e; k++) {
            int64_t c0 = k % blocks * kColumns;
            f(k / blocks * a.n * a.inner + c0, std::min(kColumns, a.inner - c0));
        }
    });
}
template <class F>
void for_rows(const Axis& a, const F& f) {
    parallel_for(a.outer, grain_for(a.n), f);
}

// ---- forward ----

template <bool kLog, class T>
void softmax_rows(const Axis& a, const T* x, T* y) {
    using X = Compute<T>;
    for_rows(a, [&](int64_t b, int64_t e) {
        RowIn<T> in(a.n);
        RowOut<T> out(a.n);
        for (int64_t r = b; r < e; r++) {
            const X* from = in.read(x + r * a.n);
            X* to = out.at(y + r * a.n);
            X max = row_max(from, a.n);
            if (kLog) {
                X shift = static_cast<X>(std::log(exp_sum<X>(from, nullptr, a.n, max)));
                for (int64_t i = 0; i < a.n; i++) to[i] = from[i] - max - shift;
            } else {
                X scale = X(1) / exp_sum<X>(from, to, a.n, max);
                for (int64_t i = 0; i < a.n; i++) to[i] *= scale;
            }
            out.done(y + r * a.n);
        }
    });
}

template <bool kLog, class X>
void softmax_columns(const Axis& a, const X* x, X* y) {
    for_columns(a, [&](int64_t at, int64_t w) {
        X max[kColumns], sum[kColumns];
        ExtremumOp<X, true> larger;
        for (int64_t j = 0; j < w; j++) {
            max[j] = larger.start();
            sum[j] = 0;
        }
        for (int64_t i = 0; i < a.n; i++)
            for (int64_t j = 0; j < w; j++) max[j] = larger.step(max[j], x[at + i * a.inner + j]);
        for (int64_t i = 0; i < a.n; i++)
            for (int64_t j = 0; j < w; j++) {
                X e = vec::exp(x[at + i * a.inner + j] - max[j]);
                sum[j] += e;
                if (!kLog) y[at + i * a.inner + j] = e;
            }
        for (int64_t j = 0; j < w; j++) sum[j] = kLog ? std::log(sum[j]) : X(1) / sum[j];
        for (int64_t i = 0; i < a.n; i++)
            for (int64_t j = 0; j < w; j++) {
                int64_t k = at + i * a.inner + j;
                y[k] = kLog ? x[k] - max[j] - sum[j] : y[k] * sum[j];
            }
    });
}

template <bool kLog>
void softmax_cpu(Call& c) {
    Tensor& out = c.out();
    if (out.numel() == 0) return;
    Axis a = axis_of(c.tensor(0), c.integer(1));
    if (a.inner == 1) {
        TensorRef self = contiguous(c.tensor(0), out.dtype);
        visit(FloatTypes{}, out.dtype, c.name(),
              [&]<class T>() { softmax_rows<kLog>(a, self->data<T>(), out.data<T>()); });
        return;
    }
    Converted result(out, broad_type(out.dtype));
    TensorRef self = contiguous(c.tensor(0), result.tensor().dtype);
    visit(PlainFloatTypes{}, self->dtype, c.name(),
          [&]<class T>() { softmax_columns<kLog>(a, self->data<T>(), result.tensor().data<T>()); });
    result.finish();
}

// ---- backward ----

template <bool kLog, class T>
void softmax_backward_rows(const Axis& a, const T* grad, const T* y, T* dx) {
    using X = Compute<T>;
    for_rows(a, [&](int64_t b, int64_t e) {
        RowIn<T> grad_in(a.n), y_in(a.n);
        RowOut<T> out(a.n);
        for (int64_t r = b; r < e; r++) {
            const X* g = grad_in.read(grad + r * a.n);
            const X* v = y_in.read(y + r * a.n);
            X* to = out.at(dx + r * a.n);
            if (kLog) {
                X sum = lane_sum<X>(a.n, [=](int64_t i) { return g[i]; });
                for (int64_t i = 0; i < a.n; i++) to[i] = g[i] - vec::exp(v[i]) * sum;
            } else {
                X sum = lane_sum<X>(a.n, [=](int64_t i) { return g[i] * v[i]; });
                for (int64_t i = 0; i < a.n; i++) to[i] = (g[i] - sum) * v[i];
            }
            out.done(dx + r * a.n);
        }
    });
}

template <bool kLog, class X>
void softmax_backward_columns(const Axis& a, const X* g, const X* y, X* dx) {
    for_columns(a, [&](int64_t at, int64_t w) {
        X sum[kColumns] = {};
        for (int64_t i = 0; i < a.n; i++)
            for (int64_t j = 0; j < w; j++) {
                int64_t k = at + i * a.inner + j;
                sum[j] += kLog ? g[k] : g[k] * y[k];
            }
        for (int64_t i = 0; i < a.n; i++)
            for (int64_t j = 0; j < w; j++) {
                int64_t k = at + i * a.inner + j;
                dx[k] = kLog ? g[k] - vec::exp(y[k]) * sum[j] : (g[k] - sum[j]) * y[k];
            }
    });
}

// (grad_output, output, dim, input_dtype)
template <bool kLog>
void softmax_backward_cpu(Call& c) {
    Tensor& out = c.out();
    if (out.numel() == 0) return;
    DType type = c.tensor(0).dtype;
    Axis a = axis_of(c.tensor(0), c.integer(2));
    if (a.inner == 1 && out.dtype == type) {
        TensorRef grad = contiguous(c.tensor(0)), y = contiguous(c.tensor(1), type);
        visit(FloatTypes{}, type, c.name(),
              [&]<class T>() { softmax_backward_rows<kLog>(a, grad->data<T>(), y->data<T>(), out.data<T>()); });
        return;
    }
    Converted result(out, broad_type(type));
    TensorRef grad = contiguous(c.tensor(0), broad_type(type)), y = contiguous(c.tensor(1), broad_type(type));
    visit(PlainFloatTypes{}, grad->dtype, c.name(), [&]<class T>() {
        T* dx = result.tensor().data<T>();
        if (a.inner == 1)
            softmax_backward_rows<kLog>(a, grad->data<T>(), y->data<T>(), dx);
        else
            softmax_backward_columns<kLog>(a, grad->data<T>(), y->data<T>(), dx);
    });
    result.finish();
}

// ---- logsumexp ----

void logsumexp_cpu(Call& c) {
    const Tensor& self = c.tensor(0);
    Tensor& out = c.out();
    Converted result(out, broad_type(out.dtype));
    visit(PlainFloatTypes{}, result.tensor().dtype, "logsumexp_cpu", [&]<class T>() {
        Rows v = as_rows(self, reduced_dims(c.args[1], self.ndim), dtype_of<T>::value, true);
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
    structured("_softmax", softmax_cpu<false>, kContiguousOutputs);
    structured("_log_softmax", softmax_cpu<true>, kContiguousOutputs);
    structured("_softmax_backward_data", softmax_backward_cpu<false>, kContiguousOutputs);
    structured("_log_softmax_backward_data", softmax_backward_cpu<true>, kContiguousOutputs);
    structured("logsumexp", logsumexp_cpu, kContiguousOutputs);
}

}  // namespace mt
