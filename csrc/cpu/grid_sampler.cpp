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

// Brings a position into the image as `outside` says; `slope` is multiplied by the derivative. Without branches on the
// position, so that loops over positions become vectors.
template <Outside outside, class T>
T brought_in(T x, int64_t size, bool corners, T& slope) {
    if constexpr (outside == Outside::Zeros) return x;
    if constexpr (outside == Outside::Reflection) {
        const T low = corners ? T(0) : T(-0.5), span = corners ? static_cast<T>(size - 1) : static_cast<T>(size);
        const T from = x - low, away = std::abs(from), turns = span > 0 ? std::floor(away / span) : T(0),
                rest = span > 0 ? away - turns * span : T(0);
        const bool odd = turns - 2 * std::floor(turns / 2) == 1;
        x = odd ? span - rest + low : rest + low;
        slope = span > 0 ? (odd != (from < 0) ? -slope : slope) : T(0);
    }
    const T last = static_cast<T>(size - 1);
    slope = x > 0 && x < last ? slope : T(0);
    x = x > 0 ? x : T(0);  // NaN too
    return x < last ? x : last;
}

// A stretch of positions is looked up at a time.
constexpr int64_t kStretch = 64;
constexpr int taps_along(Mode mode) { return mode == Mode::Nearest ? 1 : mode == Mode::Bilinear ? 2 : 4; }

// Where along one axis each position of a stretch reads, and with what weights: `index` is -1 for what lies outside of
// the image; `dw` is each weight's derivative by the grid's coordinate.
template <class T, class Place, Mode mode>
struct Axis {
    static constexpr int kCount = taps_along(mode);
    Place index[kCount][kStretch];
    T w[kCount][kStretch], dw[kCount][kStretch];

    // `coordinates`: every second number of the grid.
    void fill(const T* coordinates, int64_t n, int64_t size, const Settings& s) {
        if (s.outside == Outside::Zeros) return fill<Outside::Zeros>(coordinates, n, size, s.corners);
        if (s.outside == Outside::Border) return fill<Outside::Border>(coordinates, n, size, s.corners);
        fill<Outside::Reflection>(coordinates, n, size, s.corners);
    }

    template <Outside outside>
    void fill(const T* coordinates, int64_t n, int64_t size, bool corners) {
        const T step = corners ? static_cast<T>(size - 1) / 2 : static_cast<T>(size) / 2;
        for (int64_t j = 0; j < n; j++) {
            T slope = step, x = to_position(coordinates[2 * j], size, corners);
            if constexpr (mode == Mode::Bicubic) {
                const T base = std::floor(x), t = x - base, a = T(-0.75);
                auto near = [&](T v) { return ((a + 2) * v - (a + 3)) * v * v + 1; };
                auto far = [&](T v) { return ((a * v - 5 * a) * v + 8 * a) * v - 4 * a; };
                auto dnear = [&](T v) { return (3 * (a + 2) * v - 2 * (a + 3)) * v; };
                auto dfar = [&](T v) { return (3 * a * v - 10 * a) * v + 8 * a; };
                w[0][j] = far(t + 1), w[1][j] = near(t), w[2][j] = near(1 - t), w[3][j] = far(2 - t);
                dw[0][j] = slope * dfar(t + 1), dw[1][j] = slope * dnear(t), dw[2][j] = -slope * dnear(1 - t),
                dw[3][j] = -slope * dfar(2 - t);
                for (int k = 0; k < kCount; k++) {
                    T ignored = 1;
                    const T at = brought_in<outside>(base + static_cast<T>(k - 1), size, corners, ignored);
                    index[k][j] = inside(whole(at, size), size);
                }
            } else if constexpr (mode == Mode::Bilinear) {
                x = brought_in<outside>(x, size, corners, slope);
                const T base = std::floor(x);
                const Place first = whole(base, size);
                index[0][j] = inside(first, size), index[1][j] = inside(first + 1, size);
                w[1][j] = x - base, w[0][j] = 1 - (x - base);
                dw[0][j] = -slope, dw[1][j] = slope;
            } else {
                x = brought_in<outside>(x, size, corners, slope);
                index[0][j] = inside(whole(std::nearbyint(x), size), size);
            }
        }
    }

    // Numbers far off (and NaN) become some that are outside too, and which `Place` can hold.
    static Place whole(T x, int64_t size) {
        x = x > T(-2) ? x : T(-2);
        const T end = static_cast<T>(size) + 1;
        return static_cast<Place>(x < end ? x : end);
    }
    static Place inside(Place i, int64_t size) { return i >= 0 && i < static_cast<Place>(size) ? i : Place(-1); }
};

struct Sizes {
    int64_t batch, channels, height, width, rows, cols;
};

// The taps of a stretch of positions, those of both axes together. Taps outside of the image have place 0 and are told
// by `inside`, so that a loop over the positions needs no branches.
template <class T, class Place, Mode mode>
struct Stretch {
    static constexpr int kAlong = taps_along(mode), kCount = kAlong * kAlong;
    Place place[kCount][kStretch], inside[kCount][kStretch];
    T weight[kCount][kStretch], wx[kCount][kStretch], wy[kCount][kStretch];  // and its derivatives by x and y

    template <bool with_derivatives>
    void fill(const T* grid, int64_t n, const Sizes& z, const Settings& s) {
        Axis<T, Place, mode> x, y;
        x.fill(grid, n, z.width, s);
        y.fill(grid + 1, n, z.height, s);
        const Place width = static_cast<Place>(z.width);
        for (int p = 0; p < kAlong; p++)
            for (int q = 0; q < kAlong; q++) {
                const int k = p * kAlong + q;
                for (int64_t j = 0; j < n; j++) {
                    const Place row = y.index[p][j], column = x.index[q][j];
                    const bool both = (row | column) >= 0;
                    inside[k][j] = both;
                    place[k][j] = both ? row * width + column : Place(0);
                }
                if constexpr (mode != Mode::Nearest)
                    for (int64_t j = 0; j < n; j++) {
                        weight[k][j] = y.w[p][j] * x.w[q][j];
                        if constexpr (with_derivatives) {
                            wx[k][j] = y.w[p][j] * x.dw[q][j];
                            wy[k][j] = y.dw[p][j] * x.w[q][j];
                        }
                    }
            }
    }
};

// A channel after the other, so that what is read lies together.
template <class T, class Place, Mode mode>
void forward(const Sizes& z, const Settings& s, const T* image, const T* grid, T* out) {
    const int64_t plane = z.height * z.width, out_plane = z.rows * z.cols;
    const int64_t stretches = (out_plane + kStretch - 1) / kStretch;
    parallel_for(z.batch * stretches, grain_for(kStretch * z.channels * 4), [&](int64_t begin, int64_t end) {
        Stretch<T, Place, mode> t;
        for (int64_t i = begin; i < end; i++) {
            const int64_t batch = i / stretches, j0 = i % stretches * kStretch, n = std::min(kStretch, out_plane - j0);
            t.template fill<false>(grid + (batch * out_plane + j0) * 2, n, z, s);
            const T* from = image + batch * z.channels * plane;
            T* to = out + batch * z.channels * out_plane + j0;
            for (int64_t c = 0; c < z.channels; c++, from += plane, to += out_plane) {
                // What is read first, then what is computed: the second loop is one of vectors, and no store is between
                // reads (one that lies 4 KiB from what is read next would hold that up).
                T there[kStretch], sums[kStretch] = {};
                for (int k = 0; k < t.kCount; k++) {
                    for (int64_t j = 0; j < n; j++) there[j] = from[t.place[k][j]];
                    for (int64_t j = 0; j < n; j++) {
                        const T value = t.inside[k][j] ? there[j] : T(0);
                        sums[j] = mode == Mode::Nearest ? value : sums[j] + t.weight[k][j] * value;
                    }
                }
                std::copy(sums, sums + n, to);
            }
        }
    });
}

template <class T, class Place, Mode mode>
void backward(const Sizes& z, const Settings& s, const T* grad, const T* image, const T* grid, T* to_image,
              T* to_grid) {
    const int64_t plane = z.height * z.width, out_plane = z.rows * z.cols;
    parallel_for(z.batch, 1, [&](int64_t begin, int64_t end) {
        Stretch<T, Place, mode> t;
        for (int64_t b = begin; b < end; b++)
            for (int64_t i = 0; i < out_plane; i += kStretch) {
                const int64_t n = std::min(kStretch, out_plane - i);
                t.template fill<true>(grid + (b * out_plane + i) * 2, n, z, s);
                T dx[kStretch] = {}, dy[kStretch] = {};
                for (int64_t c = b * z.channels; c < (b + 1) * z.channels; c++) {
                    const T *g = grad + c * out_plane + i, *from = image + c * plane;
                    for (int64_t j = 0; to_image && j < n; j++)
                        for (int k = 0; k < t.kCount; k++)
                            if (t.inside[k][j])
                                to_image[c * plane + t.place[k][j]] +=
                                    mode == Mode::Nearest ? g[j] : g[j] * t.weight[k][j];
                    if constexpr (mode == Mode::Nearest) continue;
                    for (int k = 0; to_grid && k < t.kCount; k++)
                        for (int64_t j = 0; j < n; j++) {
                            const T there = from[t.place[k][j]], v = g[j] * (t.inside[k][j] ? there : T(0));
                            dx[j] += v * t.wx[k][j];
                            dy[j] += v * t.wy[k][j];
                        }
                }
                T* to = to_grid ? to_grid + (b * out_plane + i) * 2 : nullptr;
                for (int64_t j = 0; to && j < n; j++) to[2 * j] = dx[j], to[2 * j + 1] = dy[j];
            }
    });
}

// Calls `f` with types for the numbers, for places in an image of `plane` numbers, and with the mode.
template <class F>
void by_mode(DType work, int64_t plane, Mode mode, const char* what, F&& f) {
    visit(PlainFloatTypes{}, work, what, [&]<class T>() {
        auto with = [&]<class Place>(Place) {
            if (mode == Mode::Bilinear) return f.template operator()<T, Place, Mode::Bilinear>();
            if (mode == Mode::Nearest) return f.template operator()<T, Place, Mode::Nearest>();
            f.template operator()<T, Place, Mode::Bicubic>();
        };
        plane < (int64_t(1) << 30) ? with(int32_t{}) : with(int64_t{});
    });
}

void check(const Tensor& image, const Tensor& grid) {
    MT_CHECK(image.ndim == 0 || grid.ndim == 0 || image.size(0) == grid.size(0),
             "grid_sampler(): expected grid and input to have same batch size, but got input with sizes ",
             image.sizes(), " and grid with sizes ", grid.sizes());
    MT_CHECK(grid.ndim == 0 || grid.size(grid.ndim - 1) == image.ndim - 2,
             "grid_sampler(): expected grid to have size ", image.ndim - 2,
             " in last dimension, but got grid with sizes ", grid.sizes());
    MT_CHECK(image.ndim == 4 && grid.ndim == 4,
             "grid_sampler(): expected 4D input and grid with same number of dimensions, but got input with sizes ",
             image.sizes(), " and grid with sizes ", grid.sizes());
    for (int64_t d : {2, 3})
        MT_CHECK(image.size(d) > 0,
                 "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes ",
                 image.sizes(), " with dimension ", d, " being empty");
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
    const Settings s = settings_of(interpolation_mode, padding_mode, align_corners);
    const Sizes z = sizes_of(*image, *grid);
    by_mode(work, z.height * z.width, s.mode, "grid_sampler_2d_cpu", [&]<class T, class Place, Mode mode>() {
        forward<T, Place, mode>(z, s, image->data<T>(), grid->data<T>(), to->data<T>());
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
    const Settings s = settings_of(interpolation_mode, padding_mode, align_corners);
    const Sizes z = sizes_of(*image, *grid);
    by_mode(work, z.height * z.width, s.mode, "grid_sampler_2d_backward_cpu", [&]<class T, class Place, Mode mode>() {
        backward<T, Place, mode>(z, s, grad->data<T>(), image->data<T>(), grid->data<T>(),
                                 mask[0] ? to_image->data<T>() : nullptr, mask[1] ? to_grid->data<T>() : nullptr);
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
