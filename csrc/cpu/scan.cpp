// Running sums, products and extrema.
#include "cpu/axis.h"
#include "cpu/reduce.h"

namespace mt {
namespace {

// Rows that lie in memory one after another: several at a time, so that one need not wait for the sum of another.
template <class State, class T, class Start, class Step>
void scan_rows(int64_t rows, int64_t n, const T* x, T* y, const Start& start, const Step& step) {
    constexpr int64_t kRows = 8;
    parallel_for((rows + kRows - 1) / kRows, grain_for(n * kRows), [&](int64_t b, int64_t e) {
        for (int64_t k = b * kRows; k < std::min(rows, e * kRows); k += kRows) {
            const T* from = x + k * n;
            T* to = y + k * n;
            auto some = [&](auto count) {
                constexpr int R = decltype(count)::value;
                State state[R];
                for (int r = 0; r < R; r++) state[r] = start();
                for (int64_t i = 0; i < n; i++)
                    for (int r = 0; r < R; r++) to[r * n + i] = step(state[r], from[r * n + i]);
                from += R * n, to += R * n;
            };
            int64_t left = std::min(kRows, rows - k);
            if (left == kRows) {
                some(std::integral_constant<int, kRows>());
                continue;
            }
            for (; left > 0; left--) some(std::integral_constant<int, 1>());
        }
    });
}

// step(state, x) updates the state and gives the element; one state for each column.
template <class State, class T, class Start, class Step>
void scan(const Axis& a, const T* x, T* y, const Start& start, const Step& step) {
    if (a.inner == 1) return scan_rows<State>(a.outer, a.n, x, y, start, step);
    constexpr int64_t kWidth = 64;
    int64_t blocks = (a.inner + kWidth - 1) / kWidth;
    parallel_for(a.outer * blocks, grain_for(a.n * std::min(a.inner, kWidth)), [&](int64_t b, int64_t e) {
        State state[kWidth];
        for (int64_t k = b; k < e; k++) {
            int64_t c0 = k % blocks * kWidth, w = std::min(kWidth, a.inner - c0);
            int64_t base = k / blocks * a.n * a.inner + c0;
            for (int64_t j = 0; j < w; j++) state[j] = start();
            for (int64_t i = 0; i < a.n; i++)
                for (int64_t j = 0; j < w; j++) y[base + i * a.inner + j] = step(state[j], x[base + i * a.inner + j]);
        }
    });
}

template <class T>
using ScanState = std::conditional_t<std::is_same_v<T, double> || is_complex_v<T> || std::is_integral_v<T>,
                                     std::conditional_t<std::is_same_v<T, c64>, c128, T>, double>;

template <class T, class S>
T narrow(S s) {
    if constexpr (is_reduced_v<T>)
        return T(static_cast<float>(s));
    else if constexpr (std::is_same_v<T, c64>)
        return c64(static_cast<float>(s.real()), static_cast<float>(s.imag()));
    else
        return static_cast<T>(s);
}
template <class T, class S>
S widen(T x) {
    if constexpr (is_reduced_v<T>)
        return static_cast<float>(x);
    else
        return S(x);
}

void cumsum_cpu(Call& c) {
    Tensor& out = c.out();
    TensorRef self = contiguous(c.tensor(0), out.dtype);
    Axis a = axis_of(*self, c.integer(1));
    visit(NumberTypes{}, out.dtype, "cumsum_out_cpu", [&]<class T>() {
        using S = ScanState<T>;
        scan<S>(
            a, self->data<T>(), out.data<T>(), [] { return S(0); },
            [](S& s, T x) { return narrow<T>(s = num::add(s, widen<T, S>(x))); });
    });
}

void cumprod_cpu(Call& c) {
    Tensor& out = c.out();
    TensorRef self = contiguous(c.tensor(0), out.dtype);
    Axis a = axis_of(*self, c.integer(1));
    visit(NumberTypes{}, out.dtype, "cumprod_out_cpu", [&]<class T>() {
        using S = ScanState<T>;
        scan<S>(
            a, self->data<T>(), out.data<T>(), [] { return S(1); },
            [](S& s, T x) { return narrow<T>(s = num::mul(s, widen<T, S>(x))); });
    });
}

void logcumsumexp_cpu(Call& c) {
    Tensor& out = c.out();
    TensorRef self = contiguous(c.tensor(0), out.dtype);
    Axis a = axis_of(*self, c.integer(1));
    visit(FloatTypes{}, out.dtype, "logcumsumexp_out_cpu", [&]<class T>() {
        scan<double>(
            a, self->data<T>(), out.data<T>(), [] { return -std::numeric_limits<double>::infinity(); },
            [](double& s, T v) {
                double x = widen<T, double>(v);
                double high = x != x || x > s ? x : s, low = x != x || x > s ? s : x;
                if (s != s) high = s;
                s = high != low || std::isfinite(high) ? high + std::log1p(std::exp(low - high)) : high;
                return narrow<T>(s);
            });
    });
}

// The last of equal extrema is kept; once NaN, always NaN.
template <bool kMax>
void cumulative_extremum_cpu(Call& c) {
    TensorRef self = contiguous(c.tensor(0));
    Axis a = axis_of(*self, c.integer(1));
    visit(RealBoolTypes{}, self->dtype, kMax ? "cummax_helper_cpu" : "cummin_helper_cpu", [&]<class T>() {
        const T* x = self->data<T>();
        T* values = c.out(0).data<T>();
        int64_t* indices = c.out(1).data<int64_t>();
        if (self->numel() == 0) return;
        parallel_for(a.outer * a.inner, grain_for(a.n), [&](int64_t b, int64_t e) {
            for (int64_t k = b; k < e; k++) {
                int64_t base = k / a.inner * a.n * a.inner + k % a.inner, at = 0;
                Compute<T> best = x[base];
                for (int64_t i = 0; i < a.n; i++) {
                    Compute<T> v = x[base + i * a.inner];
                    bool frozen = best != best;
                    if (v != v || (!frozen && (kMax ? v >= best : v <= best))) {
                        best = v;
                        at = i;
                    }
                    values[base + i * a.inner] = T(best);
                    indices[base + i * a.inner] = at;
                }
            }
        });
    });
}

}  // namespace

KERNELS
{
    structured("cumsum", cumsum_cpu, kContiguousOutputs);
    structured("cumprod", cumprod_cpu, kContiguousOutputs);
    structured("logcumsumexp", logcumsumexp_cpu, kContiguousOutputs);
    structured("cummax", cumulative_extremum_cpu<true>, kContiguousOutputs);
    structured("cummin", cumulative_extremum_cpu<false>, kContiguousOutputs);
}

}  // namespace mt
