// Resampling by taps along each axis: the kernels under upsample_* and the non-constant paddings.
#include "resample.h"

namespace mt {
namespace {

template <class A>
std::vector<A> as(const std::vector<double>& w) {
    return std::vector<A>(w.begin(), w.end());
}

int64_t grain(const AxisTaps axes[3]) {
    int64_t work = 1;
    for (int i = 0; i < 3; i++) work *= axes[i].out * axes[i].taps;
    return grain_for(work);
}

// The longest stretch of positions whose inputs follow one another: what padding leaves as it is.
struct Stretch {
    int64_t begin = 0, end = 0;
    explicit Stretch(const std::vector<int64_t>& index) {
        const int64_t n = static_cast<int64_t>(index.size());
        for (int64_t from = 0, to = 0; from < n; from = to) {
            for (to = from + 1; to < n && index[to] == index[to - 1] + 1;) to++;
            if (to - from > end - begin) begin = from, end = to;
        }
    }
};

// Items that only move.
template <class T>
void move_items(const AxisTaps axes[3], int64_t planes, const T* in, T* out) {
    const AxisTaps &z = axes[0], &y = axes[1], &x = axes[2];
    const int64_t in_size = z.in * y.in * x.in, out_size = z.out * y.out * x.out;
    const Stretch same(x.index);
    parallel_for(planes, grain(axes), [&](int64_t begin, int64_t end) {
        const int64_t* index = x.index.data();
        for (int64_t p = begin; p < end; p++) {
            T* to = out + p * out_size;
            for (int64_t a = 0; a < z.out; a++)
                for (int64_t b = 0; b < y.out; b++, to += x.out) {
                    if (b > 0 && y.index[b] == y.index[b - 1]) {
                        std::copy(to - x.out, to, to);
                        continue;
                    }
                    const T* line = in + p * in_size + (z.index[a] * y.in + y.index[b]) * x.in;
                    for (int64_t c = 0; c < same.begin; c++) to[c] = line[index[c]];
                    std::copy_n(line + index[same.begin], same.end - same.begin, to + same.begin);
                    for (int64_t c = same.end; c < x.out; c++) to[c] = line[index[c]];
                }
        }
    });
}

// to[c] = the sum of K taps of `row`; K == 0: of `taps`.
template <int K, class T, class A>
void weigh(const AxisTaps& x, const A* weight, const A* row, T* to) {
    const int64_t taps = K ? K : x.taps;
    const int64_t* index = x.index.data();
    for (int64_t c = 0; c < x.out; c++) {
        A sum(0);
        for (int64_t k = 0; k < taps; k++) sum += weight[c * taps + k] * row[index[c * taps + k]];
        to[c] = T(sum);
    }
}

template <class T>
void forward(const AxisTaps axes[3], int64_t planes, const T* in, T* out) {
    using A = opmath_t<T>;
    const AxisTaps &z = axes[0], &y = axes[1], &x = axes[2];
    const std::vector<A> wz = as<A>(z.weight), wy = as<A>(y.weight), wx = as<A>(x.weight);
    const int64_t in_size = z.in * y.in * x.in, out_size = z.out * y.out * x.out;
    parallel_for(planes, grain(axes), [&](int64_t begin, int64_t end) {
        std::vector<A> sums(static_cast<size_t>(x.in));
        A* row = sums.data();
        for (int64_t p = begin; p < end; p++) {
            const T* from = in + p * in_size;
            T* to = out + p * out_size;
            for (int64_t a = 0; a < z.out; a++)
                for (int64_t b = 0; b < y.out; b++, to += x.out) {
                    std::fill(sums.begin(), sums.end(), A(0));
                    for (int64_t i = a * z.taps; i < (a + 1) * z.taps; i++)
                        for (int64_t j = b * y.taps; j < (b + 1) * y.taps; j++) {
                            const A w = wz[i] * wy[j];
                            if (w == A(0)) continue;
                            const T* line = from + (z.index[i] * y.in + y.index[j]) * x.in;
                            for (int64_t c = 0; c < x.in; c++) row[c] += w * static_cast<A>(line[c]);
                        }
                    (x.taps == 2   ? weigh<2, T, A>
                     : x.taps == 4 ? weigh<4, T, A>
                                   : weigh<0, T, A>)(x, wx.data(), row, to);
                }
        }
    });
}

template <class T>
void backward(const AxisTaps axes[3], int64_t planes, const T* grad, T* out) {
    using A = opmath_t<T>;
    const AxisTaps &z = axes[0], &y = axes[1], &x = axes[2];
    const std::vector<A> wz = as<A>(z.weight), wy = as<A>(y.weight), wx = as<A>(x.weight);
    const int64_t in_size = z.in * y.in * x.in, out_size = z.out * y.out * x.out;
    parallel_for(planes, grain(axes), [&](int64_t begin, int64_t end) {
        std::vector<A> row(static_cast<size_t>(x.in)), sums(static_cast<size_t>(in_size));
        for (int64_t p = begin; p < end; p++) {
            std::fill(sums.begin(), sums.end(), A(0));
            const T* from = grad + p * out_size;
            for (int64_t a = 0; a < z.out; a++)
                for (int64_t b = 0; b < y.out; b++, from += x.out) {
                    std::fill(row.begin(), row.end(), A(0));
                    for (int64_t c = 0; c < x.out; c++)
                        for (int64_t k = c * x.taps; k < (c + 1) * x.taps; k++)
                            row[x.index[k]] += wx[k] * static_cast<A>(from[c]);
                    for (int64_t i = a * z.taps; i < (a + 1) * z.taps; i++)
                        for (int64_t j = b * y.taps; j < (b + 1) * y.taps; j++) {
                            const A w = wz[i] * wy[j];
                            if (w == A(0)) continue;
                            A* line = sums.data() + (z.index[i] * y.in + y.index[j]) * x.in;
                            for (int64_t c = 0; c < x.in; c++) line[c] += w * row[c];
                        }
                }
            T* to = out + p * in_size;
            for (int64_t i = 0; i < in_size; i++) to[i] = T(sums[i]);
        }
    });
}

// Weights as PyTorch's integers of 16 bits: scaled by the largest power of two that leaves them room, halves away from
// zero. Taps that meet on one position (at the border) are one weight before they are rounded.
struct ByteTaps {
    std::vector<int32_t> weight;
    int precision = 0;

    explicit ByteTaps(const AxisTaps& t) : weight(t.weight.size()) {
        std::vector<double> w = t.weight;
        for (int64_t i = 0; i < t.out; i++)
            for (int64_t k = i * t.taps + 1; k < (i + 1) * t.taps; k++)
                if (t.index[k] == t.index[k - 1]) {
                    w[k] += w[k - 1];
                    w[k - 1] = 0;
                }
        const double largest = w.empty() ? 0 : *std::max_element(w.begin(), w.end());
        while (precision < 22 && static_cast<int>(0.5 + largest * (1 << (precision + 1))) < (1 << 15)) precision++;
        for (size_t i = 0; i < w.size(); i++)
            weight[i] = static_cast<int32_t>((w[i] < 0 ? -0.5 : 0.5) + w[i] * (1 << precision));
    }
    uint8_t round(int32_t sum) const {
        return static_cast<uint8_t>(std::clamp((sum + (1 << (precision - 1))) >> precision, 0, 255));
    }
};

// One axis of bytes: `in` is (outer, t.in, inner), `out` (outer, t.out, inner).
void byte_pass(const AxisTaps& t, int64_t outer, int64_t inner, const uint8_t* in, uint8_t* out) {
    const ByteTaps b(t);
    parallel_for(outer, grain_for(t.out * t.taps * inner), [&](int64_t begin, int64_t end) {
        std::vector<int32_t> sums(static_cast<size_t>(inner));
        for (int64_t o = begin; o < end; o++) {
            const uint8_t* from = in + o * t.in * inner;
            uint8_t* to = out + o * t.out * inner;
            for (int64_t i = 0; i < t.out; i++, to += inner) {
                const int64_t* index = &t.index[i * t.taps];
                const int32_t* weight = &b.weight[i * t.taps];
                if (inner == 1) {
                    int32_t sum = 0;
                    for (int64_t k = 0; k < t.taps; k++) sum += weight[k] * from[index[k]];
                    *to = b.round(sum);
                    continue;
                }
                std::fill(sums.begin(), sums.end(), 0);
                for (int64_t k = 0; k < t.taps; k++) {
                    if (weight[k] == 0) continue;
                    const uint8_t* line = from + index[k] * inner;
                    for (int64_t c = 0; c < inner; c++) sums[c] += weight[k] * line[c];
                }
                for (int64_t c = 0; c < inner; c++) to[c] = b.round(sums[c]);
            }
        }
    });
}

}  // namespace

void resample(const AxisTaps axes[3], int64_t planes, const Tensor& in, Tensor& out, const char* op) {
    if (out.numel() == 0) return;
    if (axes[0].only_moves() && axes[1].only_moves() && axes[2].only_moves())  // any dtype of that size
        return visit_size(in.itemsize(), [&]<class T>() { move_items(axes, planes, in.words<T>(), out.words<T>()); });
    visit(Types<float, double, Half, BFloat16>{}, in.dtype, op,
          [&]<class T>() { forward<T>(axes, planes, in.data<T>(), out.data<T>()); });
}

void resample_bytes(const AxisTaps axes[3], int64_t planes, const Tensor& in, Tensor& out) {
    if (out.numel() == 0) return;
    TensorRef held;
    const uint8_t* from = in.data<uint8_t>();
    int64_t size[3] = {axes[0].in, axes[1].in, axes[2].in};
    int outermost = 0;
    while (outermost < 3 && axes[outermost].only_moves()) outermost++;
    if (outermost == 3) {
        std::copy(from, from + in.numel(), out.data<uint8_t>());
        return;
    }
    // The innermost axis first; each pass rounds to bytes, as PyTorch's does.
    for (int i = 2; i >= outermost; i--) {
        const AxisTaps& t = axes[i];
        if (t.only_moves()) continue;
        int64_t inner = 1, outer = planes;
        for (int k = i + 1; k < 3; k++) inner *= size[k];
        for (int k = 0; k < i; k++) outer *= size[k];
        TensorRef next;
        uint8_t* to = out.data<uint8_t>();
        if (i != outermost) {
            next = empty({outer * t.out * inner}, DType::UInt8);
            to = next->data<uint8_t>();
        }
        byte_pass(t, outer, inner, from, to);
        size[i] = t.out;
        held = std::move(next);
        from = to;
    }
}

void resample_backward(const AxisTaps axes[3], int64_t planes, const Tensor& grad_out, Tensor& grad_in,
                       const char* op) {
    if (grad_in.numel() == 0) return;
    visit(Types<float, double, Half, BFloat16, c64, c128>{}, grad_in.dtype, op,
          [&]<class T>() { backward<T>(axes, planes, grad_out.data<T>(), grad_in.data<T>()); });
}

}  // namespace mt
