// Running sums, products and extrema.
#include "cpu/axis.h"
#include "cpu/reduce.h"
#include "log_sum.h"

namespace mt {
namespace {

// Rows that lie in memory one after another: several at a time, so that one need not wait for the sum of another.
// 16-bit floats are widened and narrowed by blocks.
template <class State, class T, class Start, class Step>
void scan_rows(int64_t rows, int64_t n, const T* x, T* y, const Start& start, const Step& step) {
    constexpr int64_t kRows = 8, kBlock = 128;
    parallel_for((rows + kRows - 1) / kRows, grain_for(n * kRows), [&](int64_t b, int64_t e) {
        for (int64_t k = b * kRows; k < std::min(rows, e * kRows); k += kRows) {
            const T* from = x + k * n;
            T* to = y + k * n;
            auto some = [&](auto count) {
                constexpr int R = decltype(count)::value;
                State state[R];
                for (int r = 0; r < R; r++) state[r] = start();
                if constexpr (is_reduced_v<T>) {
                    float block[R][kBlock];
                    for (int64_t i = 0; i < n; i += kBlock) {
                        const int64_t m = std::min(kBlock, n - i);
                        for (int r = 0; r < R; r++) widen(from + r * n + i, block[r], m);
                        for (int64_t j = 0; j < m; j++)
                            for (int r = 0; r < R; r++) block[r][j] = step(state[r], block[r][j]);
                        for (int r = 0; r < R; r++) narrow(block[r], to + r * n + i, m);
                    }
                } else {
                    for (int64_t i = 0; i < n; i++)
                        for (int r = 0; r < R; r++) to[r * n + i] = step(state[r], from[r * n + i]);
                }
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
            for (int64_t i = 0; i < a.n; i++) {
                const T* from = x + base + i * a.inner;
                T* to = y + base + i * a.inner;
                if constexpr (is_reduced_v<T>) {
                    float row[kWidth];
                    widen(from, row, w);
                    for (int64_t j = 0; j < w; j++) row[j] = step(state[j], row[j]);
                    narrow(row, to, w);
                } else {
                    for (int64_t j = 0; j < w; j++) to[j] = step(state[j], from[j]);
                }
            }
        }
    });
}

// What a running sum is kept in, as PyTorch does: float for 16-bit floats, double for float.
template <class T>
using ScanState = std::conditional_t<is_reduced_v<T>, float, std::conditional_t<std::is_same_v<T, float>, double, T>>;

// Runs step(state, x) in float for floats, in int64_t for integers (its last bits are theirs) and in c128 for complex
// numbers.
template <class Step>
void scan_numbers(Tensor& result, const Tensor& given, int64_t dim, const char* op, int start, const Step& step) {
    const DType type = result.dtype;
    visit(NumberTypes{}, type, op, []<class T>() {});
    Converted out(result, is_floating(type) ? type : broad_type(type));
    TensorRef self = contiguous(*contiguous(given, type), out.tensor().dtype);
    Axis a = axis_of(*self, dim);
    visit(Types<float, double, Half, BFloat16, int64_t, c128>{}, self->dtype, op, [&]<class T>() {
        using S = ScanState<T>;
        scan<S>(
            a, self->data<T>(), out.tensor().data<T>(), [=] { return S(start); },
            [&](S& s, Compute<T> x) { return static_cast<Compute<T>>(s = step(s, S(x))); });
    });
    out.finish();
}

void cumsum_cpu(Out out, const Tensor& self, int64_t dim, std::optional<DType> dtype) {
    scan_numbers(out, self, dim, "cumsum_out_cpu", 0, [](auto s, auto x) { return num::add(s, x); });
}
void cumprod_cpu(Out out, const Tensor& self, int64_t dim, std::optional<DType> dtype) {
    scan_numbers(out, self, dim, "cumprod_out_cpu", 1, [](auto s, auto x) { return num::mul(s, x); });
}

void logcumsumexp_cpu(Out out, const Tensor& given_self, int64_t dim) {
    TensorRef self = contiguous(given_self, out->dtype);
    Axis a = axis_of(*self, dim);
    if (is_complex(out->dtype)) {
        visit(ComplexTypes{}, out->dtype, "logcumsumexp_out_cpu", [&]<class T>() {
            scan<T>(
                a, self->data<T>(), out->data<T>(),
                [] { return T(-std::numeric_limits<typename T::value_type>::infinity()); },
                [](T& s, T v) { return s = log_of_sum(s, v); });
        });
        return;
    }
    visit(FloatTypes{}, out->dtype, "logcumsumexp_out_cpu", [&]<class T>() {
        scan<double>(
            a, self->data<T>(), out->data<T>(), [] { return -std::numeric_limits<double>::infinity(); },
            [](double& s, Compute<T> v) {
                double x = static_cast<double>(v);
                double high = x != x || x > s ? x : s, low = x != x || x > s ? s : x;
                if (s != s) high = s;
                s = high != low || std::isfinite(high) ? high + std::log1p(std::exp(low - high)) : high;
                return static_cast<Compute<T>>(s);
            });
    });
}

// The last of equal extrema is kept; once NaN, always NaN.
template <bool kMax>
void cumulative_extremum_cpu(Out out, const Tensor& given_self, int64_t dim) {
    const char* op = kMax ? "cummax_helper_cpu" : "cummin_helper_cpu";
    const DType type = given_self.dtype;
    visit(RealBoolTypes{}, type, op, []<class T>() {});
    Converted result(out[0], is_floating(type) || type == DType::Int32 ? type : DType::Int64);
    TensorRef self = contiguous(given_self, result.tensor().dtype);
    Axis a = axis_of(*self, dim);
    visit(Types<float, double, Half, BFloat16, int32_t, int64_t>{}, self->dtype, op, [&]<class T>() {
        const T* x = self->data<T>();
        T* values = result.tensor().data<T>();
        int64_t* indices = out[1].data<int64_t>();
        if (self->numel() == 0) return;
        using X = Compute<T>;
        auto better = [](X v, X best) { return (kMax ? v >= best : v <= best) | (v != v); };
        if (a.inner == 1)  // a row: new extrema are rare, and a branch guesses so
            return parallel_for(a.outer, grain_for(a.n), [&](int64_t b, int64_t e) {
                for (int64_t k = b * a.n; k < e * a.n; k += a.n) {
                    int64_t at = 0;
                    T best = x[k];
                    for (int64_t i = 0; i < a.n; i++) {
                        if (better(x[k + i], best)) best = x[k + i], at = i;
                        values[k + i] = best;
                        indices[k + i] = at;
                    }
                }
            });
        constexpr int64_t kWidth = 64;
        int64_t blocks = (a.inner + kWidth - 1) / kWidth;
        parallel_for(a.outer * blocks, grain_for(a.n * std::min(a.inner, kWidth)), [&](int64_t b, int64_t e) {
            X best[kWidth];
            int64_t at[kWidth];
            for (int64_t k = b; k < e; k++) {
                int64_t c0 = k % blocks * kWidth, w = std::min(kWidth, a.inner - c0);
                int64_t base = k / blocks * a.n * a.inner + c0;
                for (int64_t j = 0; j < w; j++) best[j] = x[base + j], at[j] = 0;
                for (int64_t i = 0; i < a.n; i++, base += a.inner)
                    for (int64_t j = 0; j < w; j++) {
                        X v = x[base + j];
                        bool take = better(v, best[j]);
                        best[j] = take ? v : best[j];
                        at[j] = take ? i : at[j];
                        values[base + j] = T(best[j]);
                        indices[base + j] = at[j];
                    }
            }
        });
    });
    result.finish();
}

}  // namespace

KERNELS
{
    structured<cumsum_cpu>("cumsum", kContiguousOutputs);
    structured<cumprod_cpu>("cumprod", kContiguousOutputs);
    structured<logcumsumexp_cpu>("logcumsumexp", kContiguousOutputs);
    structured<cumulative_extremum_cpu<true>>("cummax", kContiguousOutputs);
    structured<cumulative_extremum_cpu<false>>("cummin", kContiguousOutputs);
}

}  // namespace mt
