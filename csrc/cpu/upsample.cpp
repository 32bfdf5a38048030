// upsample_*: nearest, linear and cubic interpolation of 1 to 3 spatial dimensions, with and without antialiasing, and
// gradients.
#include <cmath>

#include "memory_format.h"
#include "resample.h"

namespace mt {
namespace {

enum class Mode { Nearest, NearestExact, Linear, Cubic, LinearAntialias, CubicAntialias };

constexpr bool has_corners(Mode m) { return m >= Mode::Linear; }

// Positions are computed in the type in which PyTorch computes them, so that rounding falls the same way.
template <class A>
struct Positions {
    A scale;
    bool corners;

    Positions(int64_t in, int64_t out, double given, bool align_corners, bool nearest) : corners(align_corners) {
        if (align_corners && !nearest)
            scale = out > 1 ? static_cast<A>(in - 1) / static_cast<A>(out - 1) : A(0);
        else
            scale = given > 0 ? static_cast<A>(1.0 / given) : static_cast<A>(in) / static_cast<A>(out);
    }
    A source(int64_t i, bool cubic) const {
        if (corners) return scale * static_cast<A>(i);
        A at = scale * (static_cast<A>(i) + A(0.5)) - A(0.5);
        return !cubic && at < A(0) ? A(0) : at;
    }
};

template <class A>
void cubic_weights(A t, A w[4]) {
    const A a = A(-0.75);
    auto near = [&](A x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
    auto far = [&](A x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
    w[0] = far(t + 1), w[1] = near(t), w[2] = near(1 - t), w[3] = far(2 - t);
}

template <class A>
AxisTaps antialiased(Mode mode, int64_t in, int64_t out, double given, bool corners) {
    Positions<A> p(in, out, given, corners, false);
    const A base = mode == Mode::CubicAntialias ? A(2) : A(1);  // half the filter's width at scale 1
    const A support = p.scale >= 1 ? base * p.scale : base, squeeze = p.scale >= 1 ? 1 / p.scale : A(1);
    auto filter = [&](A x) -> A {
        x = std::abs(x);
        if (mode == Mode::LinearAntialias) return x < 1 ? 1 - x : A(0);
        const A a = A(-0.5);
        if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
        if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
        return A(0);
    };
    AxisTaps t(in, out, static_cast<int64_t>(std::ceil(support)) * 2 + 1);
    for (int64_t i = 0; i < out; i++) {
        const A center = p.scale * (static_cast<A>(i) + A(0.5));
        const int64_t first = std::max<int64_t>(static_cast<int64_t>(center - support + A(0.5)), 0);
        const int64_t count = std::min<int64_t>({static_cast<int64_t>(center + support + A(0.5)), in}) - first;
        A total = 0;
        std::vector<A> w(static_cast<size_t>(t.taps), A(0));
        for (int64_t k = 0; k < std::min(count, t.taps); k++)
            total += w[k] = filter((static_cast<A>(k + first) - center + A(0.5)) * squeeze);
        for (int64_t k = 0; k < t.taps; k++) {
            t.index[i * t.taps + k] = std::min(first + k, in - 1);
            t.weight[i * t.taps + k] = total != 0 ? w[k] / total : w[k];
        }
    }
    return t;
}

AxisTaps same(int64_t size) {
    AxisTaps t(size, size, 1);
    for (int64_t i = 0; i < size; i++) t.index[i] = i;
    return t;
}

template <class A>
AxisTaps taps(Mode mode, int64_t in, int64_t out, double given, bool corners, bool plane = true) {
    if (mode >= Mode::LinearAntialias) return antialiased<A>(mode, in, out, given, corners);
    const bool nearest = mode <= Mode::NearestExact;
    AxisTaps t(in, out, nearest ? 1 : mode == Mode::Linear ? 2 : 4);
    Positions<A> p(in, out, given, corners, nearest);
    for (int64_t i = 0; i < out; i++) {
        if (nearest) {
            // Nearest always works in float. Two-dimensional images keep an axis of the same size, whatever scale was
            // given.
            Positions<float> f(in, out, given, false, true);
            float at =
                mode == Mode::Nearest ? static_cast<float>(i) * f.scale : (static_cast<float>(i) + 0.5f) * f.scale;
            t.index[i] = plane && in == out && mode == Mode::Nearest
                             ? i
                             : std::min(static_cast<int64_t>(std::floor(at)), in - 1);
            continue;
        }
        if (in == out && mode == Mode::Linear) {
            t.index[2 * i] = t.index[2 * i + 1] = i;
            t.weight[2 * i + 1] = 0;
            continue;
        }
        const A at = p.source(i, mode == Mode::Cubic);
        const int64_t first =
            mode == Mode::Linear ? std::min(static_cast<int64_t>(at), in - 1) : static_cast<int64_t>(std::floor(at));
        if (mode == Mode::Linear) {
            const A right = std::min(std::max(at - static_cast<A>(first), A(0)), A(1));
            t.index[2 * i] = first;
            t.index[2 * i + 1] = std::min(first + 1, in - 1);
            t.weight[2 * i] = A(1) - right;
            t.weight[2 * i + 1] = right;
        } else {
            A w[4];
            cubic_weights<A>(at - static_cast<A>(first), w);
            for (int k = 0; k < 4; k++) {
                t.index[4 * i + k] = std::min(std::max<int64_t>(first - 1 + k, 0), in - 1);
                t.weight[4 * i + k] = w[k];
            }
        }
    }
    return t;
}

using Scale = std::optional<double>;

struct Plan {
    AxisTaps axes[3];
    int64_t planes;
    Plan(Mode mode, bool corners, IntSpan in, IntSpan out, DType dtype, std::initializer_list<Scale> scales) {
        planes = in[0] * in[1];
        const int spatial = static_cast<int>(scales.size());
        const bool plane = spatial == 2 || dtype == DType::UInt8;
        for (int i = 0; i < spatial; i++) {
            double given = scales.begin()[i].value_or(0.0);
            int to = 3 - spatial + i;
            // Bytes and antialiasing leave an axis of the same size alone, whatever scale was given.
            if (in[2 + i] == out[2 + i] &&
                (mode >= Mode::LinearAntialias || (dtype == DType::UInt8 && mode >= Mode::Linear)))
                axes[to] = same(in[2 + i]);
            else if (dtype == DType::UInt8)
                axes[to] = taps<double>(mode, in[2 + i], out[2 + i], given, corners);
            else
                axes[to] = dtype == DType::Float64 ? taps<double>(mode, in[2 + i], out[2 + i], given, corners, plane)
                                                   : taps<float>(mode, in[2 + i], out[2 + i], given, corners, plane);
        }
    }
};

void check_sizes(const char* name, IntSpan in, IntSpan out, int spatial) {
    static const char* const letters[3][3] = {{"W"}, {"H", "W"}, {"D", "H", "W"}};
    bool good = true;
    for (int i = 0; i < spatial; i++) good &= in[2 + i] > 0 && out[i] > 0;
    if (good) return;
    std::string a, b;
    for (int i = 0; i < spatial; i++) {
        a += concat(i ? ", " : "", letters[spatial - 1][i], ": ", in[2 + i]);
        b += concat(i ? ", " : "", letters[spatial - 1][i], ": ", out[i]);
    }
    (void)name;
    MT_THROW(Runtime, "Input and output sizes should be greater than 0, but got input (", a, ") output (", b, ")");
}

template <int D>
void forward_shape(ShapeCall& c, const Tensor& x, IntSpan out) {
    MT_CHECK(out.size == D, "It is expected output_size equals to ", D, ", but got size ", out.size);
    MT_CHECK(x.ndim == D + 2, "It is expected input_size equals to ", D + 2, ", but got size ", x.ndim);
    check_sizes(c.name(), x.sizes(), out, D);
    MT_CHECK(x.numel() != 0 || x.size(0) == 0, "Non-empty ", D + 2,
             "D data tensor expected but got a tensor with sizes ", x.sizes());
    Dims sizes{x.size(0), x.size(1)};
    for (int64_t size : out) sizes.push_back(size);
    output_in_format_of(c, 0, x, sizes, x.dtype);
}

template <int D>
void backward_shape(ShapeCall& c, const Tensor& grad, IntSpan out, IntSpan in) {
    MT_CHECK(in.size == D + 2 && out.size == D, "It is expected input_size equals to ", D + 2, ", but got size ",
             in.size);
    check_sizes(c.name(), in, out, D);
    MT_CHECK(grad.ndim == D + 2, "Expected grad_output to be a tensor of dimension ", D + 2, " but got: dimension ",
             grad.ndim);
    for (int i = 0; i < D + 2; i++) {
        int64_t want = i < 2 ? in[i] : out[i - 2];
        MT_CHECK(grad.size(i) == want, "Expected grad_output to have the same shape as output; output.size(", i,
                 ") = ", want, " but got grad_output.size(", i, ") = ", grad.size(i));
    }
    if (D == 2)
        output_in_format_of(c, 0, grad, in, grad.dtype);
    else
        c.output(0, in, grad.dtype);
}

// What PyTorch's message for a dtype without a kernel calls the operator.
template <Mode M, int D>
const char* dispatch_name(Out out) {
    if (M >= Mode::LinearAntialias) return "compute_index_ranges_weights";
    if (M == Mode::Cubic) return "compute_indices_weights_cubic";
    if (M == Mode::Linear) return D == 2 ? "upsample_bilinear2d_channels_last" : "compute_indices_weights_linear";
    return out.name();
}

// S: a scale for each spatial dimension.
template <Mode M, class... S>
void forward_corners_cpu(Out out, const Tensor& self, IntSpan output_size, bool align_corners, S... scales) {
    constexpr int D = sizeof...(S);
    if (M < Mode::Linear && !is_floating(self.dtype) && self.dtype != DType::UInt8)
        MT_THROW(NotImplemented, '"', D == 2 ? "upsample_nearest2d_channels_last" : "compute_indices_weights_nearest",
                 "\" not implemented for '", dtype_class_name(self.dtype), "'");
    TensorRef x = contiguous(self);
    Plan plan(M, align_corners, x->sizes(), out->sizes(), x->dtype, {scales...});
    if (M >= Mode::Linear && D == 2 && x->dtype == DType::UInt8)
        resample_bytes(plan.axes, plan.planes, *x, out);
    else
        resample(plan.axes, plan.planes, *x, out, dispatch_name<M, D>(out));
}
template <Mode M, class... S>
void forward_cpu(Out out, const Tensor& self, IntSpan output_size, S... scales) {
    forward_corners_cpu<M>(out, self, output_size, false, scales...);
}

template <Mode M, class... S>
void backward_corners_cpu(Out out, const Tensor& grad_output, IntSpan output_size, IntSpan input_size,
                          bool align_corners, S... scales) {
    TensorRef grad = contiguous(grad_output);
    Plan plan(M, align_corners, input_size, grad->sizes(), grad->dtype, {scales...});
    resample_backward(plan.axes, plan.planes, *grad, out, out.name());
}
template <Mode M, class... S>
void backward_cpu(Out out, const Tensor& grad_output, IntSpan output_size, IntSpan input_size, S... scales) {
    backward_corners_cpu<M>(out, grad_output, output_size, input_size, false, scales...);
}

template <Mode M, class... S>
void both_with(const char* forward, const char* backward) {
    if constexpr (has_corners(M)) {
        structured<forward_corners_cpu<M, S...>>(forward, kContiguousOutputs);
        structured<backward_corners_cpu<M, S...>>(backward, kContiguousOutputs);
    } else {
        structured<forward_cpu<M, S...>>(forward, kContiguousOutputs);
        structured<backward_cpu<M, S...>>(backward, kContiguousOutputs);
    }
}
template <Mode M, int D>
void both(const char* forward, const char* backward) {
    if constexpr (D == 1)
        both_with<M, Scale>(forward, backward);
    else if constexpr (D == 2)
        both_with<M, Scale, Scale>(forward, backward);
    else
        both_with<M, Scale, Scale, Scale>(forward, backward);
}

KERNELS
{
    shape<forward_shape<1>>("upsample1d");
    shape<forward_shape<2>>("upsample2d");
    shape<forward_shape<3>>("upsample3d");
    shape<backward_shape<1>>("upsample1d_backward");
    shape<backward_shape<2>>("upsample2d_backward");
    shape<backward_shape<3>>("upsample3d_backward");
    both<Mode::Nearest, 1>("upsample_nearest1d", "upsample_nearest1d_backward");
    both<Mode::Nearest, 2>("upsample_nearest2d", "upsample_nearest2d_backward");
    both<Mode::Nearest, 3>("upsample_nearest3d", "upsample_nearest3d_backward");
    both<Mode::NearestExact, 1>("_upsample_nearest_exact1d", "_upsample_nearest_exact1d_backward");
    both<Mode::NearestExact, 2>("_upsample_nearest_exact2d", "_upsample_nearest_exact2d_backward");
    both<Mode::NearestExact, 3>("_upsample_nearest_exact3d", "_upsample_nearest_exact3d_backward");
    both<Mode::Linear, 1>("upsample_linear1d", "upsample_linear1d_backward");
    both<Mode::Linear, 2>("upsample_bilinear2d", "upsample_bilinear2d_backward");
    both<Mode::Linear, 3>("upsample_trilinear3d", "upsample_trilinear3d_backward");
    both<Mode::Cubic, 2>("upsample_bicubic2d", "upsample_bicubic2d_backward");
    both<Mode::LinearAntialias, 2>("_upsample_bilinear2d_aa", "_upsample_bilinear2d_aa_backward");
    both<Mode::CubicAntialias, 2>("_upsample_bicubic2d_aa", "_upsample_bicubic2d_aa_backward");
}

}  // namespace
}  // namespace mt
