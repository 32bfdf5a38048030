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

template <class T>
void forward(const AxisTaps axes[3], int64_t planes, const T* in, T* out) {
    using A = opmath_t<T>;
    const AxisTaps &z = axes[0], &y = axes[1], &x = axes[2];
    const std::vector<A> wz = as<A>(z.weight), wy = as<A>(y.weight), wx = as<A>(x.weight);
    const int64_t in_size = z.in * y.in * x.in, out_size = z.out * y.out * x.out;
    const bool moves = z.only_moves() && y.only_moves() && x.only_moves();
    parallel_for(planes, grain(axes), [&](int64_t begin, int64_t end) {
        std::vector<A> row(static_cast<size_t>(x.in));
        for (int64_t p = begin; p < end; p++) {
            const T* from = in + p * in_size;
            T* to = out + p * out_size;
            for (int64_t a = 0; a < z.out; a++)
                for (int64_t b = 0; b < y.out; b++, to += x.out) {
                    if (moves) {
                        const T* line = from + (z.index[a] * y.in + y.index[b]) * x.in;
                        for (int64_t c = 0; c < x.out; c++) to[c] = line[x.index[c]];
                        continue;
                    }
                    std::fill(row.begin(), row.end(), A(0));
                    for (int64_t i = a * z.taps; i < (a + 1) * z.taps; i++)
                        for (int64_t j = b * y.taps; j < (b + 1) * y.taps; j++) {
                            const A w = wz[i] * wy[j];
                            if (w == A(0)) continue;
                            const T* line = from + (z.index[i] * y.in + y.index[j]) * x.in;
                            for (int64_t c = 0; c < x.in; c++) row[c] += w * static_cast<A>(line[c]);
                        }
                    for (int64_t c = 0; c < x.out; c++) {
                        A sum(0);
                        for (int64_t k = c * x.taps; k < (c + 1) * x.taps; k++) sum += wx[k] * row[x.index[k]];
                        to[c] = T(sum);
                    }
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

}  // namespace

void resample(const AxisTaps axes[3], int64_t planes, const Tensor& in, Tensor& out, const char* op) {
    if (out.numel() == 0) return;
    const bool moves = axes[0].only_moves() && axes[1].only_moves() && axes[2].only_moves();
    if (moves && !is_floating(in.dtype)) {  // items only move: any dtype of that size
        visit_size(in.itemsize(), [&]<class T>() {
            const AxisTaps &z = axes[0], &y = axes[1], &x = axes[2];
            const int64_t in_size = z.in * y.in * x.in;
            const T* data = in.words<T>();
            T* to = out.words<T>();
            for (int64_t p = 0; p < planes; p++)
                for (int64_t a = 0; a < z.out; a++)
                    for (int64_t b = 0; b < y.out; b++)
                        for (int64_t c = 0; c < x.out; c++)
                            *to++ = data[p * in_size + (z.index[a] * y.in + y.index[b]) * x.in + x.index[c]];
        });
        return;
    }
    visit(Types<float, double, Half, BFloat16, uint8_t>{}, in.dtype, op, [&]<class T>() {
        if constexpr (std::is_same_v<T, uint8_t>) {
            TensorRef wide = contiguous(in, DType::Float32), result = empty(out.sizes(), DType::Float32);
            forward<float>(axes, planes, wide->data<float>(), result->data<float>());
            for (int64_t i = 0; i < out.numel(); i++)
                out.data<uint8_t>()[i] =
                    static_cast<uint8_t>(std::min(255.0f, std::max(0.0f, result->data<float>()[i] + 0.5f)));
        } else {
            forward<T>(axes, planes, in.data<T>(), out.data<T>());
        }
    });
}

void resample_backward(const AxisTaps axes[3], int64_t planes, const Tensor& grad_out, Tensor& grad_in,
                       const char* op) {
    if (grad_in.numel() == 0) return;
    visit(Types<float, double, Half, BFloat16, c64, c128>{}, grad_in.dtype, op,
          [&]<class T>() { backward<T>(axes, planes, grad_out.data<T>(), grad_in.data<T>()); });
}

}  // namespace mt
