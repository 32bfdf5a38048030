// All steps of one direction of an LSTM layer, forward and backward: a product of a matrix and one pass over the gates
// a step, instead of a dozen operators.
#include <cmath>

#include "gemm.h"
#include "vecmath.h"

namespace mt {
namespace {

// (gates, hx, cx, w_hh): (T, N, 4H), (N, H), (N, H), (4H, H). The gates are the input's part and all biases.
struct Sizes {
    int64_t steps, batch, hidden;
    DType dtype;
    int64_t state() const { return batch * hidden; }
};

Sizes check_layer(const Tensor& gates, const Tensor& hx, const Tensor& cx, const Tensor& w, const char* op) {
    MT_CHECK(gates.ndim == 3 && hx.ndim == 2, op, ": expected gates of 3 dimensions and a state of 2, got ", gates.ndim,
             " and ", hx.ndim);
    const Sizes s{gates.size(0), hx.size(0), hx.size(1), gates.dtype};
    MT_CHECK(s.dtype == DType::Float32 || s.dtype == DType::Float64, op, ": not implemented for '",
             dtype_class_name(s.dtype), "'");
    MT_CHECK(hx.dtype == s.dtype && cx.dtype == s.dtype && w.dtype == s.dtype, op, ": expected one dtype for all, got ",
             dtype_class_name(s.dtype), ", ", dtype_class_name(hx.dtype), ", ", dtype_class_name(cx.dtype), " and ",
             dtype_class_name(w.dtype));
    MT_CHECK(s.steps > 0, op, ": expected at least one step");
    MT_CHECK(gates.size(1) == s.batch && gates.size(2) == 4 * s.hidden, op, ": expected gates of ", s.batch,
             " rows of ", 4 * s.hidden, ", got ", gates.sizes());
    MT_CHECK(cx.sizes() == hx.sizes(), op, ": expected both states of size ", hx.sizes(), ", got ", cx.sizes());
    MT_CHECK(w.sizes() == IntSpan(Dims{4 * s.hidden, s.hidden}), op, ": expected a weight of ", 4 * s.hidden, " x ",
             s.hidden, ", got ", w.sizes());
    return s;
}

// c = a b + beta c for dense matrices; b, or a, may be meant transposed.
void product(DType dtype, int64_t m, int64_t n, int64_t k, const void* a, bool turn_a, const void* b, bool turn_b,
             double beta, void* c) {
    Product p{dtype, 1, m, n, k, a, 0, turn_a ? 1 : k, turn_a ? m : 1, b, 0, turn_b ? 1 : n, turn_b ? k : 1, c, 0, n};
    p.beta = beta;
    gemm(p, "lstm");
}

// One row of a step: gates i, f, g, o before and after their functions, in place.
template <class T>
void forward_row(T* __restrict gates, const T* __restrict before, T* __restrict cell, T* __restrict h, int64_t n) {
    T *i = gates, *f = i + n, *g = f + n, *o = g + n;
    for (int64_t j = 0; j < 2 * n; j++) gates[j] = vec::sigmoid(gates[j]);
    for (int64_t j = 0; j < n; j++) g[j] = vec::tanh(g[j]);
    for (int64_t j = 0; j < n; j++) o[j] = vec::sigmoid(o[j]);
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) cell[j] = f[j] * before[j] + i[j] * g[j];
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) h[j] = o[j] * vec::tanh(cell[j]);
}

template <class T>
void forward(const Sizes& s, const Tensor& hx, const Tensor& cx, const Tensor& w, bool reverse, T* gates, T* output,
             T* cells) {
    const T *h = hx.data<T>(), *c = cx.data<T>();
    for (int64_t k = 0; k < s.steps; k++) {
        const int64_t t = reverse ? s.steps - 1 - k : k;
        T *own = gates + t * 4 * s.state(), *cell = cells + t * s.state(), *out = output + t * s.state();
        product(s.dtype, s.batch, 4 * s.hidden, s.hidden, h, false, w.raw(), true, 1, own);
        parallel_for(s.batch, grain_for(32 * s.hidden), [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; r++)
                forward_row<T>(own + r * 4 * s.hidden, c + r * s.hidden, cell + r * s.hidden, out + r * s.hidden,
                               s.hidden);
        });
        h = out, c = cell;
    }
}

// _lstm_scan(gates, hx, cx, w_hh, reverse) -> (output, last cell, cells, gates after their functions)
void scan_shape(ShapeCall& c, const Tensor& gates, const Tensor& hx, const Tensor& cx, const Tensor& w_hh) {
    const Sizes s = check_layer(gates, hx, cx, w_hh, "_lstm_scan");
    c.output(0, {s.steps, s.batch, s.hidden}, s.dtype);
    c.output(1, {s.batch, s.hidden}, s.dtype);
    c.output(2, {s.steps, s.batch, s.hidden}, s.dtype);
    c.output(3, {s.steps, s.batch, 4 * s.hidden}, s.dtype);
}

void scan_cpu(Out out, const Tensor& gates, const Tensor& given_hx, const Tensor& given_cx, const Tensor& w_hh,
              bool reverse) {
    const Sizes s = check_layer(gates, given_hx, given_cx, w_hh, "_lstm_scan");
    TensorRef hx = contiguous(given_hx), cx = contiguous(given_cx), w = contiguous(w_hh);
    copy_into(out[3], gates);
    if (s.state() == 0) return;
    visit(PlainFloatTypes{}, s.dtype, "lstm", [&]<class T>() {
        T* cells = out[2].data<T>();
        forward<T>(s, *hx, *cx, *w, reverse, out[3].data<T>(), out[0].data<T>(), cells);
        const T* last = cells + (reverse ? 0 : (s.steps - 1) * s.state());
        std::copy(last, last + s.state(), out[1].data<T>());
    });
}

// One row of a step back. dh: of the output and of the next step; dc: of the cell, in and out.
template <class T>
void backward_row(const T* __restrict gates, const T* __restrict before, const T* __restrict cell,
                  const T* __restrict dh, T* __restrict dc, T* __restrict slopes, int64_t n) {
    const T *i = gates, *f = i + n, *g = f + n, *o = g + n;
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) {
        const T tanh_c = vec::tanh(cell[j]);
        const T slope = dc[j] + dh[j] * o[j] * (T(1) - tanh_c * tanh_c);
        slopes[j] = slope * g[j] * i[j] * (T(1) - i[j]);
        slopes[n + j] = slope * before[j] * f[j] * (T(1) - f[j]);
        slopes[2 * n + j] = slope * i[j] * (T(1) - g[j] * g[j]);
        slopes[3 * n + j] = dh[j] * tanh_c * o[j] * (T(1) - o[j]);
        dc[j] = slope * f[j];
    }
}

template <class T>
void backward(const Sizes& s, const Tensor* grad_output, const Tensor& cx, const Tensor& w, bool reverse,
              const T* gates, const T* cells, T* slopes, T* dh, T* dc) {
    TensorRef sums = empty({s.batch, s.hidden}, s.dtype);
    T* total = sums->data<T>();
    std::fill(dh, dh + s.state(), T(0));
    for (int64_t k = s.steps - 1; k >= 0; k--) {
        const int64_t t = reverse ? s.steps - 1 - k : k, earlier = reverse ? t + 1 : t - 1;
        const T* given = grad_output ? grad_output->data<T>() + t * s.state() : nullptr;
        const T* before = k == 0 ? cx.data<T>() : cells + earlier * s.state();
        const T *own = gates + t * 4 * s.state(), *cell = cells + t * s.state();
        T* to = slopes + t * 4 * s.state();
        for (int64_t j = 0; j < s.state(); j++) total[j] = given ? dh[j] + given[j] : dh[j];
        parallel_for(s.batch, grain_for(32 * s.hidden), [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; r++) {
                const int64_t at = r * s.hidden;
                backward_row<T>(own + 4 * at, before + at, cell + at, total + at, dc + at, to + 4 * at, s.hidden);
            }
        });
        product(s.dtype, s.batch, s.hidden, 4 * s.hidden, to, false, w.raw(), false, 0, dh);
    }
}

// _lstm_scan_backward(grad_output?, grad_cell?, hx, cx, w_hh, output, cells, gates, reverse)
//     -> gradients of gates, hx, cx, w_hh
void scan_backward_shape(ShapeCall& c, Unread grad_output, Unread grad_cell, const Tensor& hx, const Tensor& cx,
                         const Tensor& w_hh, Unread output, Unread cells, const Tensor& gates) {
    const Sizes s = check_layer(gates, hx, cx, w_hh, "_lstm_scan_backward");
    c.output(0, gates.sizes(), s.dtype);
    c.output(1, hx.sizes(), s.dtype);
    c.output(2, cx.sizes(), s.dtype);
    c.output(3, w_hh.sizes(), s.dtype);
}

void scan_backward_cpu(Out out, const Tensor* grad_output, const Tensor* grad_cell, const Tensor& given_hx,
                       const Tensor& given_cx, const Tensor& w_hh, const Tensor& given_output,
                       const Tensor& given_cells, const Tensor& given_gates, bool reverse) {
    const Sizes s = check_layer(given_gates, given_hx, given_cx, w_hh, "_lstm_scan_backward");
    TensorRef hx = contiguous(given_hx), cx = contiguous(given_cx), w = contiguous(w_hh),
              output = contiguous(given_output), cells = contiguous(given_cells), gates = contiguous(given_gates), grad;
    if (const Tensor* given = grad_output) {
        MT_CHECK(given->sizes() == output->sizes(), "_lstm_scan_backward: expected a gradient of size ",
                 output->sizes(), ", got ", given->sizes());
        grad = contiguous(*given, s.dtype);
    }
    Tensor &slopes = out[0], &dh = out[1], &dc = out[2], &dw = out[3];
    if (const Tensor* given = grad_cell) {
        MT_CHECK(given->sizes() == cx->sizes(), "_lstm_scan_backward: expected a gradient of size ", cx->sizes(),
                 ", got ", given->sizes());
        copy_into(dc, *given);
    } else if (dc.numel() > 0) {
        std::memset(dc.raw(), 0, static_cast<size_t>(dc.numel() * dc.itemsize()));
    }
    if (s.state() == 0) {
        if (dw.numel() > 0) std::memset(dw.raw(), 0, static_cast<size_t>(dw.numel() * dw.itemsize()));
        return;
    }
    visit(PlainFloatTypes{}, s.dtype, "lstm", [&]<class T>() {
        backward<T>(s, grad.get(), *cx, *w, reverse, gates->data<T>(), cells->data<T>(), slopes.data<T>(), dh.data<T>(),
                    dc.data<T>());
        // Step by step the slopes meet the state before; all but the first state are outputs, one step apart.
        const int64_t rows = (s.steps - 1) * s.batch;
        const T *later = slopes.data<T>() + (reverse ? 0 : 4 * s.state()),
                *earlier = output->data<T>() + (reverse ? s.state() : 0),
                *first = slopes.data<T>() + (reverse ? rows * 4 * s.hidden : 0);
        product(s.dtype, 4 * s.hidden, s.hidden, s.batch, first, true, hx->raw(), false, 0, dw.raw());
        if (rows > 0) product(s.dtype, 4 * s.hidden, s.hidden, rows, later, true, earlier, false, 1, dw.raw());
    });
}

KERNELS
{
    shape<scan_shape>("lstm_scan");
    shape<scan_backward_shape>("lstm_scan_backward");
    structured<scan_cpu>("_lstm_scan", kContiguousOutputs);
    structured<scan_backward_cpu>("_lstm_scan_backward", kContiguousOutputs);
}

}  // namespace
}  // namespace mt
