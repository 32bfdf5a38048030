// grid_sampler_2d: an image read at given positions, bilinear, nearest or bicubic, and its gradients.
#include <cmath>

#include "core/typed_kernel.h"
#include "cpu/pieces.h"

namespace mt {
namespace {

enum class Mode { Bilinear, Nearest, Bicubic };
enum class Outside { Zeros, Border, Reflection };

struct Settings {
    Mode mode;
    Outside outside;
    bool corners;
};

// From [-1, 1] to positions in the image.
template <class T>
T to_position(T at, int64_t size, bool corners) {
    return corners ? (at + 1) / 2 * static_cast<T>(size - 1) : ((at + 1) * static_cast<T>(size) - 1) / 2;
}

// Brings a position into the image as `outside` says; `slope` is multiplied by the derivative.
template <class T>
T brought_in(T x, int64_t size, const Settings& s, T& slope) {
    if (s.outside == Outside::Zeros) return x;
    if (s.outside == Outside::Reflection) {
        const T low = s.corners ? T(0) : T(-0.5), span = s.corners ? static_cast<T>(size - 1) : static_cast<T>(size);
        if (span == 0) {
            slope = 0;
            return 0;
        }
        T from = x - low;
        if (from < 0) from = -from, slope = -slope;
        const T turns = std::floor(from / span), rest = from - turns * span;
        if (static_cast<int64_t>(turns) % 2 == 0) {
            x = rest + low;
        } else {
            x = span - rest + low;
            slope = -slope;
        }
    }
    if (!(x > 0)) {
        slope = 0;
        return 0;
    }
    const T last = static_cast<T>(size - 1);
    if (x >= last) {
        slope = 0;
        return last;
    }
    return x;
}

// Positions and weights along one axis: up to four taps; `dw` is each weight's derivative by the grid's coordinate.
template <class T>
struct Taps {
    int count;
    int64_t index[4];
    T w[4], dw[4];

    Taps(T coordinate, int64_t size, const Settings& s) {
        T slope = s.corners ? static_cast<T>(size - 1) / 2 : static_cast<T>(size) / 2;
        T x = to_position(coordinate, size, s.corners);
        if (s.mode == Mode::Bicubic) {
            const T base = std::floor(x), t = x - base, a = T(-0.75);
            auto near = [&](T v) { return ((a + 2) * v - (a + 3)) * v * v + 1; };
            auto far = [&](T v) { return ((a * v - 5 * a) * v + 8 * a) * v - 4 * a; };
            auto dnear = [&](T v) { return (3 * (a + 2) * v - 2 * (a + 3)) * v; };
            auto dfar = [&](T v) { return (3 * a * v - 10 * a) * v + 8 * a; };
            count = 4;
            w[0] = far(t + 1), w[1] = near(t), w[2] = near(1 - t), w[3] = far(2 - t);
            dw[0] = dfar(t + 1), dw[1] = dnear(t), dw[2] = -dnear(1 - t), dw[3] = -dfar(2 - t);
            for (int k = 0; k < 4; k++) {
                T ignored = 1;
                index[k] = whole(brought_in(base + static_cast<T>(k - 1), size, s, ignored));
                dw[k] *= slope;
            }
        } else {
            x = brought_in(x, size, s, slope);
            if (s.mode == Mode::Nearest) {
                count = 1;
                index[0] = whole(std::nearbyint(x));
                w[0] = 1, dw[0] = 0;
            } else {
                count = 2;
                const T base = std::floor(x);
                index[0] = whole(base), index[1] = index[0] + 1;
                w[1] = x - base, w[0] = 1 - w[1];
                dw[0] = -slope, dw[1] = slope;
            }
        }
        for (int k = 0; k < count; k++)
            if (index[k] < 0 || index[k] >= size) index[k] = -1;
    }
    // NaN and what no int64 can hold lie outside.
    static int64_t whole(T x) { return x > T(-1e15) && x < T(1e15) ? static_cast<int64_t>(x) : -1; }
};

struct Sizes {
    int64_t batch, channels, height, width, rows, cols;
};

// The taps of a stretch of one row of positions: item k * kStretch + j is tap k of position j. Taps outside of the
// image have place 0 and are told by `inside`, so that a loop over the positions needs no branches.
constexpr int64_t kStretch = 64;
constexpr int kMaxTaps = 16;
template <class T>
struct Stretch {
    int count = 0;  // of taps
    int64_t place[kMaxTaps * kStretch];
    bool inside[kMaxTaps * kStretch];
    T weight[kMaxTaps * kStretch], wx[kMaxTaps * kStretch], wy[kMaxTaps * kStretch];  // and its derivatives by x and y

    void fill(const T* grid, int64_t n, const Sizes& z, const Settings& s) {
        for (int64_t j = 0; j < n; j++) {
            const Taps<T> x(grid[2 * j], z.width, s), y(grid[2 * j + 1], z.height, s);
            count = x.count * y.count;
            for (int p = 0; p < y.count; p++)
                for (int q = 0; q < x.count; q++) {
                    const int64_t to = (p * x.count + q) * kStretch + j;
                    inside[to] = y.index[p] >= 0 && x.index[q] >= 0;
                    place[to] = inside[to] ? y.index[p] * z.width + x.index[q] : 0;
                    weight[to] = y.w[p] * x.w[q];
                    wx[to] = y.w[p] * x.dw[q];
                    wy[to] = y.dw[p] * x.w[q];
                }
        }
    }
};

// A channel after the other, so that what is read lies together.
template <class T>
void forward(const Sizes& z, const Settings& s, const T* image, const T* grid, T* out) {
    const int64_t plane = z.height * z.width, out_plane = z.rows * z.cols;
    parallel_for(z.batch * z.rows, grain_for(z.cols * z.channels * 4), [&](int64_t begin, int64_t end) {
        Stretch<T> t;
        for (int64_t i = begin; i < end; i++)
            for (int64_t j0 = 0; j0 < z.cols; j0 += kStretch) {
                const int64_t n = std::min(kStretch, z.cols - j0);
                t.fill(grid + (i * z.cols + j0) * 2, n, z, s);
                const T* from = image + i / z.rows * z.channels * plane;
                T* to = out + i / z.rows * z.channels * out_plane + i % z.rows * z.cols + j0;
                for (int64_t c = 0; c < z.channels; c++, from += plane, to += out_plane) {
                    T sum[kStretch] = {};
                    for (int k = 0; k < t.count; k++) {
                        const int64_t* place = t.place + k * kStretch;
                        const bool* inside = t.inside + k * kStretch;
                        const T* weight = t.weight + k * kStretch;
                        for (int64_t j = 0; j < n; j++) {
                            const T term = weight[j] * from[place[j]];
                            sum[j] += inside[j] ? term : T(0);
                        }
                    }
                    std::copy(sum, sum + n, to);
                }
            }
    });
}

template <class T>
void backward(const Sizes& z, const Settings& s, const T* grad, const T* image, const T* grid, T* to_image,
              T* to_grid) {
    const int64_t plane = z.height * z.width, out_plane = z.rows * z.cols;
    parallel_for(z.batch, 1, [&](int64_t begin, int64_t end) {
        Stretch<T> t;
        for (int64_t b = begin; b < end; b++)
            for (int64_t i = 0; i < out_plane; i += kStretch) {
                const int64_t n = std::min(kStretch, out_plane - i);
                t.fill(grid + (b * out_plane + i) * 2, n, z, s);
                T dx[kStretch] = {}, dy[kStretch] = {};
                for (int64_t c = b * z.channels; c < (b + 1) * z.channels; c++) {
                    const T *g = grad + c * out_plane + i, *from = image + c * plane;
                    for (int64_t j = 0; to_image && j < n; j++)
                        for (int64_t k = j; k < t.count * kStretch; k += kStretch)
                            if (t.inside[k]) to_image[c * plane + t.place[k]] += g[j] * t.weight[k];
                    for (int64_t k = 0; to_grid && k < t.count * kStretch; k += kStretch)
                        for (int64_t j = 0; j < n; j++) {
                            const T v = g[j] * from[t.place[k + j]], x = v * t.wx[k + j], y = v * t.wy[k + j];
                            dx[j] += t.inside[k + j] ? x : T(0);
                            dy[j] += t.inside[k + j] ? y : T(0);
                        }
                }
                T* to = to_grid ? to_grid + (b * out_plane + i) * 2 : nullptr;
                for (int64_t j = 0; to && j < n; j++) to[2 * j] = dx[j], to[2 * j + 1] = dy[j];
            }
    });
}

void check(const Tensor& image, const Tensor& grid) {
    MT_CHECK(image.ndim == 0 || grid.ndim == 0 || image.size(0) == grid.size(0),
             "grid_sampler(): expected grid and input to have same batch size, but got input with sizes ",
             image.sizes(), " and grid with sizes ", grid.sizes());
    MT_CHECK(image.ndim == 4 && grid.ndim == 4,
             "grid_sampler(): expected 4D input and grid with same number of dimensions, but got input with sizes ",
             image.sizes(), " and grid with sizes ", grid.sizes());
    MT_CHECK(grid.size(3) == 2,
             "grid_sampler(): expected grid to have size 2 in last dimension, but got grid with sizes ", grid.sizes());
    MT_CHECK(image.size(2) > 0 && image.size(3) > 0,
             "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes ",
             image.sizes());
    MT_CHECK(image.dtype == grid.dtype, "grid_sampler(): expected input and grid to have same dtype, but input has ",
             dtype_name(image.dtype), " and grid has ", dtype_name(grid.dtype));
}

Sizes sizes_of(const Tensor& image, const Tensor& grid) {
    return {image.size(0), image.size(1), image.size(2), image.size(3), grid.size(1), grid.size(2)};
}

Settings settings_of(int64_t interpolation_mode, int64_t padding_mode, bool align_corners) {
    MT_CHECK(interpolation_mode >= 0 && interpolation_mode <= 2,
             "grid_sampler(): interpolation_mode must be 0 (bilinear), 1 (nearest) or 2 (bicubic), but got ",
             interpolation_mode);
    MT_CHECK(padding_mode >= 0 && padding_mode <= 2,
             "grid_sampler(): padding_mode must be 0 (zeros), 1 (border) or 2 (reflection), but got ", padding_mode);
    return {static_cast<Mode>(interpolation_mode), static_cast<Outside>(padding_mode), align_corners};
}

// (input, grid, interpolation_mode, padding_mode, align_corners)
void grid_shape(ShapeCall& c, const Tensor& image, const Tensor& grid) {
    check(image, grid);
    c.output(0, {image.size(0), image.size(1), grid.size(1), grid.size(2)}, image.dtype);
}

void grid_cpu(Out out, const Tensor& input, const Tensor& given_grid, int64_t interpolation_mode, int64_t padding_mode,
              bool align_corners) {
    const DType work = wide_type(out->dtype);
    TensorRef image = contiguous(input, work), grid = contiguous(given_grid, work);
    TensorRef to = work == out->dtype ? TensorRef::share(&*out) : empty(out->sizes(), work);
    visit(PlainFloatTypes{}, work, "grid_sampler_2d_cpu", [&]<class T>() {
        forward<T>(sizes_of(*image, *grid), settings_of(interpolation_mode, padding_mode, align_corners),
                   image->data<T>(), grid->data<T>(), to->data<T>());
    });
    if (to.get() != &*out) copy_into(out, *to);
}

// (grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask)
void grid_backward_shape(ShapeCall& c, const Tensor& grad, const Tensor& image, const Tensor& grid,
                         Unread interpolation_mode, Unread padding_mode, Unread align_corners, Span<bool> mask) {
    check(image, grid);
    MT_CHECK(grad.ndim == 4, "TensorAccessor expected 4 dims but tensor has ", grad.ndim);
    MT_CHECK(grad.dtype == image.dtype, "expected scalar type ", dtype_class_name(image.dtype), " but found ",
             dtype_class_name(grad.dtype));
    const int64_t sizes[4] = {image.size(0), image.size(1), grid.size(1), grid.size(2)};
    MT_CHECK(grad.sizes() == IntSpan(sizes, 4), "grid_sampler_2d_backward(): expected grad_output to have size ",
             IntSpan(sizes, 4), ", but got ", grad.sizes());
    mask[0] ? c.output(0, image.sizes(), image.dtype) : c.output_none(0);
    mask[1] ? c.output(1, grid.sizes(), grid.dtype) : c.output_none(1);
}

void grid_backward_cpu(Out out, const Tensor& grad_output, const Tensor& input, const Tensor& given_grid,
                       int64_t interpolation_mode, int64_t padding_mode, bool align_corners, Span<bool> mask) {
    const DType dtype = input.dtype, work = wide_type(dtype);
    TensorRef grad = contiguous(grad_output, work), image = contiguous(input, work),
              grid = contiguous(given_grid, work);
    TensorRef to_image = mask[0] ? zeros(image->sizes(), work) : TensorRef(),
              to_grid = mask[1] ? empty(grid->sizes(), work) : TensorRef();
    visit(PlainFloatTypes{}, work, "grid_sampler_2d_backward_cpu", [&]<class T>() {
        backward<T>(sizes_of(*image, *grid), settings_of(interpolation_mode, padding_mode, align_corners),
                    grad->data<T>(), image->data<T>(), grid->data<T>(), mask[0] ? to_image->data<T>() : nullptr,
                    mask[1] ? to_grid->data<T>() : nullptr);
    });
    if (mask[0]) copy_into(out[0], *to_image);
    if (mask[1]) copy_into(out[1], *to_grid);
}

KERNELS
{
    shape<grid_shape>("grid_sampler_2d");
    shape<grid_backward_shape>("grid_sampler_2d_backward");
    structured<grid_cpu>("grid_sampler_2d", kContiguousOutputs);
    structured<grid_backward_cpu>("grid_sampler_2d_backward", kContiguousOutputs);
}

}  // namespace
}  // namespace mt
