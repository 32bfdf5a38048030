// Pooling: maximum (with indices) and average over windows, regular and adaptive, and gradients, for 1 to 3 spatial
// dimensions.
#include <atomic>
#include <cstring>
#include <limits>
#include <vector>

#include "core/typed_kernel.h"
#include "cpu/memory_format.h"
#include "cpu/narrow.h"
#include "cpu/reduce.h"

namespace mt {
namespace {

// One spatial dimension: where each window begins and ends in the input.
struct Axis {
    int64_t in = 1, out = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
    bool adaptive = false;

    static Axis adapting(int64_t in, int64_t out) {
        Axis a;
        a.in = in, a.out = out, a.adaptive = true;
        return a;
    }
    int64_t begin(int64_t o) const {
        if (adaptive) return o * in / out;
        int64_t start = o * stride - padding;
        return start >= 0 ? start : start + (-start + dilation - 1) / dilation * dilation;
    }
    int64_t end(int64_t o) const {
        if (adaptive) return ((o + 1) * in + out - 1) / out;
        return std::min(o * stride - padding + (kernel - 1) * dilation + 1, in);
    }
    // Items of the window with the padding counted in.
    int64_t padded_count(int64_t o) const {
        if (adaptive) return end(o) - begin(o);
        int64_t start = o * stride - padding;
        return std::min(start + kernel, in + padding) - start;
    }
    // Windows whose k-th item lies inside the input: [first, last).
    void inside(int64_t k, int64_t& first, int64_t& last) const {
        int64_t shift = k * dilation - padding;  // position = o * stride + shift
        first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
        last = in - shift <= 0 ? 0 : std::min(out, (in - shift + stride - 1) / stride);
        first = std::min(first, last);
    }
};

struct Windows {
    Axis axes[3];
    int64_t planes = 1, in_size = 1, out_size = 1;
    int spatial;

    void finish(IntSpan sizes, int spatial_) {
        spatial = spatial_;
        for (int64_t i = 0; i < sizes.size - spatial; i++) planes *= sizes[i];
        for (const Axis& a : axes) in_size *= a.in, out_size *= a.out;
    }
    int64_t grain() const {
        int64_t work = out_size;
        for (const Axis& a : axes) work *= a.adaptive ? (a.in + a.out - 1) / std::max<int64_t>(1, a.out) : a.kernel;
        return grain_for(work);
    }
};

// The windows are counted in int, as PyTorch's are: sums of what fits cannot overflow.
void check_int(IntSpan list) {
    for (int64_t v : list)
        MT_CHECK(v >= INT32_MIN && v <= INT32_MAX, "value cannot be converted to type int without overflow");
}

int64_t expanded(IntSpan list, int i) { return list.size == 1 ? list[0] : list[i]; }

void check_list(const char* name, const char* what, IntSpan list, int spatial) {
    static const char* const described[3] = {"a single int", "either be a single int, or a tuple of two ints",
                                             "either be a single int, or a tuple of three ints"};
    MT_CHECK(list.size == 1 || list.size == spatial, name, ": ", what, " must ", described[spatial - 1]);
}

// The regular poolings; those of averages have no dilation.
Windows windows_of(int spatial, IntSpan sizes, const char* name, IntSpan kernel, IntSpan stride, IntSpan padding,
                   std::optional<IntSpan> given_dilation, bool ceil) {
    const int64_t one = 1;
    IntSpan dilation = given_dilation.value_or(IntSpan(&one, 1));
    if (stride.empty()) stride = kernel;
    for (IntSpan list : {kernel, stride, padding, dilation}) check_int(list);
    check_list(name, "kernel_size", kernel, spatial);
    check_list(name, "stride", stride, spatial);
    check_list(name, "padding", padding, spatial);
    check_list(name, "dilation", dilation, spatial);
    Windows w;
    for (int i = 0; i < spatial; i++) {
        Axis& a = w.axes[3 - spatial + i];
        a.in = sizes[sizes.size - spatial + i];
        a.kernel = expanded(kernel, i), a.stride = expanded(stride, i), a.padding = expanded(padding, i),
        a.dilation = expanded(dilation, i);
        MT_CHECK(a.stride != 0, "stride should not be zero");
        MT_CHECK(a.kernel > 0, "kernel size should be greater than zero, but got ", a.kernel);
        MT_CHECK(a.stride > 0, "stride should be greater than zero, but got ", a.stride);
        MT_CHECK(a.dilation > 0, "dilation should be greater than zero, but got ", a.dilation);
        MT_CHECK(a.padding >= 0, "pad must be non-negative, but got pad: ", a.padding);
        MT_CHECK(a.padding <= ((a.kernel - 1) * a.dilation + 1) / 2,
                 "pad should be at most half of effective kernel size, but got pad=", a.padding,
                 ", kernel_size=", a.kernel, " and dilation=", a.dilation);
        const int64_t room = a.in + 2 * a.padding - a.dilation * (a.kernel - 1) - 1 + (ceil ? a.stride - 1 : 0);
        a.out = (room >= 0 ? room / a.stride : -((-room + a.stride - 1) / a.stride)) + 1;
        if (ceil && (a.out - 1) * a.stride >= a.in + a.padding) a.out--;
    }
    w.finish(sizes, spatial);
    return w;
}

Windows adaptive_windows(IntSpan sizes, IntSpan out, int spatial) {
    Windows w;
    for (int i = 0; i < spatial; i++)
        w.axes[3 - spatial + i] = Axis::adapting(sizes[sizes.size - spatial + i], expanded(out, i));
    w.finish(sizes, spatial);
    return w;
}

void check_rank(const Tensor& x, int spatial) {
    MT_CHECK(x.ndim == spatial + 1 || x.ndim == spatial + 2, "non-empty ", spatial + 1, "D or ", spatial + 2,
             "D (batch mode) tensor expected for input");
}

void check_input(const Tensor& x, int spatial) {
    check_rank(x, spatial);
    const int64_t batch_dims = spatial + 2;
    for (int64_t i = x.ndim == batch_dims ? 1 : 0; i < x.ndim; i++)
        MT_CHECK(x.size(i) != 0 || spatial != 3,
                 "max_pool3d_with_indices_out_cpu_template(): Expected input's non-batch dimensions to have positive "
                 "length, but input has a shape of ",
                 x.sizes(), " and non-batch dimension ", i - (x.ndim == batch_dims), " has length zero!");
    for (int64_t i = x.ndim == batch_dims ? 1 : 0; i < x.ndim; i++)
        MT_CHECK(x.size(i) != 0, "Expected ", spatial + 1, "D or ", batch_dims,
                 "D (batch mode) tensor with optional 0 dim batch size for input, but got:", x.sizes());
}

Dims result_sizes(const Windows& w, const Tensor& x) {
    Dims sizes(x.sizes());
    bool good = true;
    std::string in, out;
    for (int i = 0; i < w.spatial; i++) {
        const Axis& a = w.axes[3 - w.spatial + i];
        sizes[x.ndim - w.spatial + i] = a.out;
        good &= a.out >= 1;
        in += concat("x", a.in);
        out += concat("x", a.out);
    }
    const int64_t channels = x.size(x.ndim - w.spatial - 1);
    MT_CHECK(good, "Given input size: (", channels, in, "). Calculated output size: (", channels, out,
             "). Output size is too small");
    return sizes;
}

// In the order of the input, if that is a batch of pictures. Of volumes max_pool3d alone keeps it, as PyTorch's does.
void set_result(ShapeCall& c, int i, const Tensor& x, IntSpan sizes, DType dtype, int spatial) {
    if (x.ndim == spatial + 2)
        output_in_format_of(c, i, x, sizes, dtype);
    else
        c.output(i, sizes, dtype);
}

// In the order of the input, if that is a batch of pictures; volumes are row-major.
template <int D>
void set_pictures(ShapeCall& c, int i, const Tensor& x, IntSpan sizes, DType dtype) {
    if (D == 2 && x.ndim == 4)
        output_in_format_of(c, i, x, sizes, dtype);
    else
        c.output(i, sizes, dtype);
}

// ---- maximum ----

// `lowest`: the maximum of nothing.
template <class T>
void max_row(const Windows& w, const T* plane, int64_t a, int64_t b, const int32_t* begins, T lowest, T* best,
             int32_t* where) {
    const Axis &z = w.axes[0], &y = w.axes[1], &x = w.axes[2];
    const int64_t z0 = z.begin(a), z1 = z.end(a), y0 = y.begin(b), y1 = y.end(b);
    const int64_t width = x.out;
    const int32_t line = static_cast<int32_t>((z0 * y.in + y0) * x.in);
    for (int64_t o = 0; o < width; o++) where[o] = line + begins[o];
    std::fill_n(best, width, lowest);
    for (int64_t i = z0; i < z1; i += z.dilation)
        for (int64_t j = y0; j < y1; j += y.dilation) {
            const int64_t base = (i * y.in + j) * x.in;
            for (int64_t k = 0; k < x.kernel; k++) {
                int64_t first, last;
                x.inside(k, first, last);
                const int64_t shift = base + k * x.dilation - x.padding;
                auto pass = [&](auto stride) {
                    for (int64_t o = first; o < last; o++) {
                        const int64_t at = shift + o * stride;
                        const T v = plane[at];
                        const bool take = v > best[o] || v != v;
                        best[o] = take ? v : best[o];
                        where[o] = take ? static_cast<int32_t>(at) : where[o];
                    }
                };
                if (x.stride == 1)
                    pass(std::integral_constant<int64_t, 1>());
                else if (x.stride == 2)
                    pass(std::integral_constant<int64_t, 2>());
                else
                    pass(x.stride);
            }
        }
}

// Windows of any place and length along x, from begins[o] to ends[o].
template <class T>
void max_adaptive_row(const Windows& w, const T* plane, int64_t a, int64_t b, const int32_t* begins,
                      const int32_t* ends, T* best, int32_t* where) {
    const Axis &z = w.axes[0], &y = w.axes[1], &x = w.axes[2];
    const int64_t z0 = z.begin(a), z1 = z.end(a), y0 = y.begin(b), y1 = y.end(b);
    for (int64_t o = 0; o < x.out; o++) {
        int64_t at = (z0 * y.in + y0) * x.in + begins[o];
        T top = plane[at];
        for (int64_t i = z0; i < z1; i++)
            for (int64_t j = y0; j < y1; j++) {
                const int64_t base = (i * y.in + j) * x.in;
                for (int64_t k = base + begins[o]; k < base + ends[o]; k++)
                    if (plane[k] > top || plane[k] != plane[k]) top = plane[k], at = k;
            }
        best[o] = top;
        where[o] = static_cast<int32_t>(at);
    }
}

// 16-bit floats are compared as floats, row buffers included.
template <class T>
void max_forward(const Windows& w, double lowest, const T* in, T* out, int64_t* indices) {
    using A = opmath_t<T>;
    const Axis &z = w.axes[0], &y = w.axes[1], &x = w.axes[2];
    parallel_for(w.planes, w.grain(), [&](int64_t begin, int64_t end) {
        std::vector<A> best(static_cast<size_t>(x.out)), widened;
        std::vector<int32_t> where(static_cast<size_t>(x.out));
        std::vector<int32_t> begins, ends;
        for (int64_t o = 0; o < x.out; o++) {
            begins.push_back(static_cast<int32_t>(x.begin(o)));
            ends.push_back(static_cast<int32_t>(x.end(o)));
        }
        if constexpr (!std::is_same_v<A, T>) widened.resize(static_cast<size_t>(w.in_size));
        for (int64_t p = begin; p < end; p++) {
            const A* plane;
            if constexpr (std::is_same_v<A, T>) {
                plane = in + p * w.in_size;
            } else {
                widen(in + p * w.in_size, widened.data(), w.in_size);
                plane = widened.data();
            }
            for (int64_t a = 0; a < z.out; a++)
                for (int64_t b = 0; b < y.out; b++) {
                    if (x.adaptive)
                        max_adaptive_row<A>(w, plane, a, b, begins.data(), ends.data(), best.data(), where.data());
                    else
                        max_row<A>(w, plane, a, b, begins.data(), static_cast<A>(lowest), best.data(), where.data());
                    const int64_t n = x.out;
                    T* to = out + p * w.out_size + (a * y.out + b) * n;
                    int64_t* to_index = indices + (to - out);
                    if constexpr (std::is_same_v<A, T>)
                        std::copy_n(best.data(), n, to);
                    else
                        narrow(best.data(), to, n);
                    std::copy_n(where.data(), n, to_index);
                }
        }
    });
}

void max_into(Out result, const Tensor& self, const Windows& w, const char* name) {
    MT_CHECK(w.in_size <= INT32_MAX, name, ": a plane of more than 2^31 items is not supported");
    const DType type = self.dtype;
    double lowest = -std::numeric_limits<double>::infinity();
    visit(RealTypes{}, type, name, [&]<class T>() {
        if constexpr (std::is_integral_v<T>) lowest = static_cast<double>(std::numeric_limits<T>::lowest());
    });
    Converted out(result[0], is_integer(type) ? DType::Int64 : type);
    TensorRef x = contiguous(self, out.tensor().dtype);
    visit(Types<float, double, Half, BFloat16, int64_t>{}, x->dtype, name, [&]<class T>() {
        max_forward<T>(w, lowest, x->data<T>(), out.tensor().data<T>(), result[1].data<int64_t>());
    });
    out.finish();
}

// One item (C, D, H, W) whose batch of one would have the channels last: PyTorch's max_pool3d keeps that order.
bool is_item_in_channels_last_3d(const Tensor& x) {
    if (x.ndim != 4 || x.is_contiguous()) return false;
    const int64_t channels = x.size(0);
    return is_contiguous_as(x, Dims{1, x.size(2) * x.size(3) * channels, x.size(3) * channels, channels});
}

template <int D>
constexpr const char* max_name() {
    return D == 2 ? "max_pool2d" : "max_pool3d";
}

template <int D>
void max_shape(ShapeCall& c, const Tensor& x, IntSpan kernel_size, IntSpan stride, IntSpan padding, IntSpan dilation,
               bool ceil_mode) {
    Windows w = windows_of(D, x.ndim >= D ? x.sizes() : IntSpan{1, 1, 1, 1}, max_name<D>(), kernel_size, stride,
                           padding, dilation, ceil_mode);
    check_input(x, D);
    Dims sizes = result_sizes(w, x);
    if (D == 3 && is_item_in_channels_last_3d(x)) {
        const Dims strides{1, sizes[2] * sizes[3] * sizes[0], sizes[3] * sizes[0], sizes[0]};
        c.output_strided(0, sizes, strides, x.dtype);
        c.output_strided(1, sizes, strides, DType::Int64);
        return;
    }
    set_result(c, 0, x, sizes, x.dtype, D);
    set_result(c, 1, x, sizes, DType::Int64, D);
}

template <int D>
void max_cpu(Out out, const Tensor& self, IntSpan kernel_size, IntSpan stride, IntSpan padding, IntSpan dilation,
             bool ceil_mode) {
    max_into(out, self, windows_of(D, self.sizes(), max_name<D>(), kernel_size, stride, padding, dilation, ceil_mode),
             max_name<D>());
}

// (grad_output, self, ..., indices) with the indices at argument `at`
void max_backward(Tensor& out, const Tensor& grad_output, const Tensor& given_indices, int spatial, const char* name) {
    TensorRef grad = contiguous(grad_output), indices = contiguous(given_indices);
    MT_CHECK(grad->sizes() == indices->sizes(), name, ": expected sizes of grad_output and indices to match, but got ",
             grad->sizes(), " and ", indices->sizes());
    MT_CHECK(indices->dtype == DType::Int64, name, ": expected indices of int64, but got ", dtype_name(indices->dtype));
    MT_CHECK(out.ndim == spatial + 1 || out.ndim == spatial + 2, name, ": expected an input of ", spatial + 1, " or ",
             spatial + 2, " dimensions, but got ", out.sizes());
    bool fits = grad->ndim == out.ndim;
    for (int64_t i = 0; fits && i < out.ndim - spatial; i++) fits = grad->size(i) == out.size(i);
    MT_CHECK(fits, name, ": expected a grad_output for an input of size ", out.sizes(), ", but got ", grad->sizes());
    int64_t in_size = 1, out_size = 1, planes = 1;
    for (int64_t i = 0; i < out.ndim; i++)
        if (i >= out.ndim - spatial)
            in_size *= out.size(i), out_size *= grad->size(i);
        else
            planes *= out.size(i);
    if (!out.numel()) return;
    std::memset(out.raw(), 0, static_cast<size_t>(out.numel() * out.itemsize()));
    std::atomic<bool> bad{false};
    visit(RealTypes{}, out.dtype, name, [&]<class T>() {
        const T* g = grad->data<T>();
        const int64_t* at_index = indices->data<int64_t>();
        T* to = out.data<T>();
        parallel_for(planes, grain_for(out_size), [&](int64_t begin, int64_t end) {
            for (int64_t p = begin; p < end; p++)
                for (int64_t i = p * out_size; i < (p + 1) * out_size; i++) {
                    const int64_t k = at_index[i];
                    if (k < 0 || k >= in_size) {
                        bad = true;
                        continue;
                    }
                    to[p * in_size + k] = static_cast<T>(to[p * in_size + k] + g[i]);
                }
        });
    });
    MT_CHECK(!bad, name, ": an index lies outside of the input's plane");
}

template <int D>
void max_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self, IntSpan kernel_size, IntSpan stride,
                      IntSpan padding, IntSpan dilation, bool ceil_mode, const Tensor& indices) {
    max_backward(out, grad_output, indices, D,
                 D == 2 ? "max_pool2d_with_indices_backward" : "max_pool3d_with_indices_backward");
}
template <int D>
void adaptive_max_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self, const Tensor& indices) {
    max_backward(out, grad_output, indices, D,
                 D == 2 ? "adaptive_max_pool2d_backward" : "adaptive_max_pool3d_backward");
}

void like_input_shape(ShapeCall& c, const Tensor& grad_output, const Tensor& x) {
    output_in_format_of(c, 0, x, x.sizes(), grad_output.dtype);
}

template <int D>
void adaptive_max_backward_shape(ShapeCall& c, const Tensor& grad, const Tensor& x) {
    for (int64_t i = std::max<int64_t>(0, grad.ndim - D); i < grad.ndim; i++)
        MT_CHECK(
            grad.size(i) > 0, "adaptive_max_pool", D,
            "d_backward(): Expected grad_output to have non-zero size for non-batch dimensions, but grad_output has "
            "sizes ",
            grad.sizes(), " with dimension ", i, " being empty");
    like_input_shape(c, grad, x);
}

// ---- average ----

struct Divisor {
    bool include_pad = true;
    int64_t fixed = 0;  // 0: the window's size
    int64_t of(const Windows& w, int64_t a, int64_t b, int64_t o) const {
        if (fixed) return fixed;
        const Axis &z = w.axes[0], &y = w.axes[1], &x = w.axes[2];
        if (include_pad) return z.padded_count(a) * y.padded_count(b) * x.padded_count(o);
        return std::max<int64_t>(0, z.end(a) - z.begin(a)) * std::max<int64_t>(0, y.end(b) - y.begin(b)) *
               std::max<int64_t>(0, x.end(o) - x.begin(o));
    }
};

// One window for each plane.
template <class T>
void plane_means(const Windows& w, const T* in, T* out) {
    using A = opmath_t<T>;
    parallel_for(w.planes, w.grain(), [&](int64_t begin, int64_t end) {
        constexpr int kParts = 16;
        for (int64_t p = begin; p < end; p++) {
            const T* plane = in + p * w.in_size;
            A parts[kParts] = {}, total(0);
            int64_t i = 0;
            for (; i + kParts <= w.in_size; i += kParts)
                for (int q = 0; q < kParts; q++) parts[q] += static_cast<A>(plane[i + q]);
            for (; i < w.in_size; i++) total += static_cast<A>(plane[i]);
            for (int q = 0; q < kParts; q++) total += parts[q];
            out[p] = static_cast<T>(total / static_cast<A>(w.in_size));
        }
    });
}

template <class T>
void average(const Windows& w, const Divisor& divisor, const T* in, T* out) {
    using A = opmath_t<T>;
    const Axis &z = w.axes[0], &y = w.axes[1], &x = w.axes[2];
    if (w.out_size == 1 && x.adaptive) return plane_means<T>(w, in, out);
    parallel_for(w.planes, w.grain(), [&](int64_t begin, int64_t end) {
        std::vector<A> lines(static_cast<size_t>(x.in));
        for (int64_t p = begin; p < end; p++)
            for (int64_t a = 0; a < z.out; a++)
                for (int64_t b = 0; b < y.out; b++) {
                    std::fill(lines.begin(), lines.end(), A(0));
                    for (int64_t i = z.begin(a); i < z.end(a); i++)
                        for (int64_t j = y.begin(b); j < y.end(b); j++) {
                            const T* line = in + p * w.in_size + (i * y.in + j) * x.in;
                            for (int64_t k = 0; k < x.in; k++) lines[k] += static_cast<A>(line[k]);
                        }
                    T* to = out + p * w.out_size + (a * y.out + b) * x.out;
                    for (int64_t o = 0; o < x.out; o++) {
                        A sum(0);
                        for (int64_t k = x.begin(o); k < x.end(o); k++) sum += lines[k];
                        to[o] = static_cast<T>(sum / static_cast<A>(divisor.of(w, a, b, o)));
                    }
                }
    });
}

template <class T>
void plane_means_backward(const Windows& w, const T* grad, T* out) {
    using A = opmath_t<T>;
    parallel_for(w.planes, w.grain(), [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; p++)
            std::fill_n(out + p * w.in_size, w.in_size,
                        static_cast<T>(static_cast<A>(grad[p]) / static_cast<A>(w.in_size)));
    });
}

template <class T>
void average_backward(const Windows& w, const Divisor& divisor, const T* grad, T* out) {
    using A = opmath_t<T>;
    const Axis &z = w.axes[0], &y = w.axes[1], &x = w.axes[2];
    if (w.out_size == 1 && x.adaptive) return plane_means_backward<T>(w, grad, out);
    parallel_for(w.planes, w.grain(), [&](int64_t begin, int64_t end) {
        std::vector<A> lines(static_cast<size_t>(x.in)), sums(static_cast<size_t>(w.in_size));
        for (int64_t p = begin; p < end; p++) {
            std::fill(sums.begin(), sums.end(), A(0));
            for (int64_t a = 0; a < z.out; a++)
                for (int64_t b = 0; b < y.out; b++) {
                    std::fill(lines.begin(), lines.end(), A(0));
                    const T* from = grad + p * w.out_size + (a * y.out + b) * x.out;
                    for (int64_t o = 0; o < x.out; o++) {
                        const A share = static_cast<A>(from[o]) / static_cast<A>(divisor.of(w, a, b, o));
                        for (int64_t k = x.begin(o); k < x.end(o); k++) lines[k] += share;
                    }
                    for (int64_t i = z.begin(a); i < z.end(a); i++)
                        for (int64_t j = y.begin(b); j < y.end(b); j++) {
                            A* line = sums.data() + (i * y.in + j) * x.in;
                            for (int64_t k = 0; k < x.in; k++) line[k] += lines[k];
                        }
                }
            T* to = out + p * w.in_size;
            for (int64_t i = 0; i < w.in_size; i++) to[i] = static_cast<T>(sums[i]);
        }
    });
}

template <int D>
constexpr const char* avg_name() {
    return D == 2 ? "avg_pool2d" : "avg_pool3d";
}

// ceil_mode is argument `at`, count_include_pad and divisor_override follow.
Divisor divisor_of(bool count_include_pad, std::optional<int64_t> divisor_override) {
    Divisor d;
    d.include_pad = count_include_pad;
    MT_CHECK(!divisor_override || *divisor_override != 0, "divisor must be not zero");
    d.fixed = divisor_override.value_or(0);
    return d;
}

template <int D>
void avg_shape(ShapeCall& c, const Tensor& x, IntSpan kernel_size, IntSpan stride, IntSpan padding, bool ceil_mode,
               bool count_include_pad, std::optional<int64_t> divisor_override) {
    if (D == 3) check_rank(x, D);
    MT_CHECK_INDEX(x.ndim > 0, "Dimension specified as -", D + 1, " but tensor has no dimensions");
    MT_CHECK_INDEX(x.ndim > D, "Dimension out of range (expected to be in range of [", -std::max<int64_t>(1, x.ndim),
                   ", ", std::max<int64_t>(1, x.ndim) - 1, "], but got ", -(D + 1), ")");
    Windows w = windows_of(D, x.sizes(), avg_name<D>(), kernel_size, stride, padding, std::nullopt, ceil_mode);
    divisor_of(count_include_pad, !divisor_override ? std::nullopt : std::optional(*divisor_override));
    check_input(x, D);
    set_pictures<D>(c, 0, x, result_sizes(w, x), x.dtype);
}

template <int D>
void avg_cpu(Out out, const Tensor& self, IntSpan kernel_size, IntSpan stride, IntSpan padding, bool ceil_mode,
             bool count_include_pad, std::optional<int64_t> divisor_override) {
    TensorRef x = contiguous(self);
    Windows w = windows_of(D, x->sizes(), avg_name<D>(), kernel_size, stride, padding, std::nullopt, ceil_mode);
    Divisor divisor = divisor_of(count_include_pad, divisor_override);
    visit(Types<float, double, Half, BFloat16, int64_t>{}, x->dtype, avg_name<D>(),
          [&]<class T>() { average<T>(w, divisor, x->data<T>(), out->data<T>()); });
}

template <int D>
void avg_backward_cpu(Out out, const Tensor& grad_output, const Tensor& x, IntSpan kernel_size, IntSpan stride,
                      IntSpan padding, bool ceil_mode, bool count_include_pad,
                      std::optional<int64_t> divisor_override) {
    TensorRef grad = contiguous(grad_output);
    check_input(x, D);
    Windows w = windows_of(D, x.sizes(), avg_name<D>(), kernel_size, stride, padding, std::nullopt, ceil_mode);
    Divisor divisor = divisor_of(count_include_pad, divisor_override);
    MT_CHECK(grad->numel() == w.planes * w.out_size, "avg_pool", D, "d_backward: grad_output has the wrong sizes ",
             grad->sizes());
    visit(Types<float, double, Half, BFloat16, int64_t>{}, grad->dtype, avg_name<D>(),
          [&]<class T>() { average_backward<T>(w, divisor, grad->data<T>(), out->data<T>()); });
}

// ---- adaptive ----

template <int D>
Dims adaptive_sizes(const Tensor& x, IntSpan out, const char* name, const char* shown_prefix) {
    MT_CHECK(x.ndim == D + 1 || x.ndim == D + 2, name, "(): Expected ", D + 1, "D or ", D + 2, "D tensor, but got",
             shown_prefix, " ", x.sizes());
    for (int64_t i = x.ndim - D; i < x.ndim; i++)
        MT_CHECK(x.size(i) > 0, name,
                 "(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ", x.sizes(),
                 " with dimension ", i, " being empty");
    const bool of_maximum = std::strstr(name, "max") != nullptr;
    MT_CHECK(out.size == 1 || out.size == D, name,
             of_maximum ? "(): internal error: output_size.size() must be " : ": output_size must be ", D);
    Dims sizes(x.sizes());
    for (int i = 0; i < D; i++) {
        sizes[x.ndim - D + i] = expanded(out, i);
        MT_CHECK(of_maximum || expanded(out, i) >= 0, name,
                 ": elements of output_size must be greater than or equal to 0 but received {", expanded(out, 0), ", ",
                 expanded(out, D - 1), "}");
    }
    for (int64_t size : sizes)
        MT_CHECK(size >= 0, "Trying to create tensor with negative dimension ", size, ": ",
                 static_cast<IntSpan>(sizes));
    return sizes;
}

template <int D>
void adaptive_avg_shape(ShapeCall& c, const Tensor& x, IntSpan output_size) {
    const char* name = D == 2 ? "adaptive_avg_pool2d" : "adaptive_avg_pool3d";
    set_pictures<D>(c, 0, x, adaptive_sizes<D>(x, output_size, name, ""), x.dtype);
}

template <int D>
void adaptive_avg_cpu(Out out, const Tensor& self, IntSpan output_size) {
    TensorRef x = contiguous(self);
    if (out->numel() == 0) return;
    Windows w = adaptive_windows(x->sizes(), output_size, D);
    visit(FloatTypes{}, x->dtype, D == 2 ? "adaptive_avg_pool2d" : "adaptive_avg_pool3d",
          [&]<class T>() { average<T>(w, Divisor(), x->data<T>(), out->data<T>()); });
}

// (grad_output, self): what the forward pass would have given is the gradient's size.
template <int D>
void adaptive_avg_backward_shape(ShapeCall& c, const Tensor& grad, const Tensor& x) {
    const std::string name = concat("adaptive_avg_pool", D, "d_backward");
    MT_CHECK(x.ndim == D + 1 || x.ndim == D + 2, name, "(): Expected ", D + 1, "D or ", D + 2, "D tensor, but got ",
             x.sizes());
    MT_CHECK(grad.ndim == x.ndim, name, "_out_cpu_template: Expected dimensions ", x.ndim, " for `",
             D == 2 ? "grad_output" : "gradOutput_", "` but got dimensions ", grad.ndim);
    MT_CHECK(grad.dtype == x.dtype, name, "_out_cpu_template: Expected dtype ", dtype_name(x.dtype), " for `",
             D == 2 ? "grad_output" : "gradOutput_", "` but got dtype ", dtype_name(grad.dtype));
    for (int64_t i = grad.ndim - D; i < grad.ndim; i++)
        MT_CHECK(grad.size(i) > 0, name,
                 "(): Expected grad_output to have non-zero size for non-batch dimensions, but grad_output has sizes ",
                 grad.sizes(), " with dimension ", i, " being empty");
    for (int64_t i = 0; i < x.ndim - D; i++)
        MT_CHECK(grad.size(i) == x.size(i), name, "(): Expected grad_output to have the size of the input, ", x.size(i),
                 ", at dimension ", i, ", but got ", grad.sizes());
    like_input_shape(c, grad, x);
}

template <int D>
void adaptive_avg_backward_cpu(Out out, const Tensor& grad_output, const Tensor& x) {
    TensorRef grad = contiguous(grad_output);
    Windows w = adaptive_windows(x.sizes(), IntSpan(grad->sizes().data + grad->ndim - D, D), D);
    visit(FloatTypes{}, grad->dtype, "adaptive_avg_pool_backward",
          [&]<class T>() { average_backward<T>(w, Divisor(), grad->data<T>(), out->data<T>()); });
}

template <int D>
void adaptive_max_shape(ShapeCall& c, const Tensor& x, IntSpan output_size) {
    constexpr const char* name = D == 2 ? "adaptive_max_pool2d" : "adaptive_max_pool3d";
    Dims sizes = adaptive_sizes<D>(x, output_size, name, ":");
    for (int64_t i = 1; i < x.ndim; i++)
        MT_CHECK(x.size(i) > 0, name,
                 "(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ", x.sizes(),
                 " with dimension ", i, " being empty");
    set_pictures<D>(c, 0, x, sizes, x.dtype);
    set_pictures<D>(c, 1, x, sizes, DType::Int64);
}

template <int D>
void adaptive_max_cpu(Out out, const Tensor& self, IntSpan output_size) {
    if (!is_floating(self.dtype))
        MT_THROW(NotImplemented, '"', D == 2 ? "adaptive_max_pool2d" : "adaptive_max_pool3d_cpu",
                 "\" not implemented for '", dtype_class_name(self.dtype), "'");
    if (out[0].numel() == 0) return;
    max_into(out, self, adaptive_windows(self.sizes(), output_size, D),
             D == 2 ? "adaptive_max_pool2d" : "adaptive_max_pool3d");
}

KERNELS
{
    shape<max_shape<2>>("max_pool2d");
    shape<max_shape<3>>("max_pool3d");
    shape<avg_shape<2>>("avg_pool2d");
    shape<avg_shape<3>>("avg_pool3d");
    shape<adaptive_avg_shape<2>>("adaptive_avg_pool2d");
    shape<adaptive_avg_shape<3>>("adaptive_avg_pool3d");
    shape<adaptive_max_shape<2>>("adaptive_max_pool2d");
    shape<adaptive_max_shape<3>>("adaptive_max_pool3d");
    shape<adaptive_max_backward_shape<2>>("adaptive_max_pool2d_backward");
    shape<adaptive_max_backward_shape<3>>("adaptive_max_pool3d_backward");
    shape<like_input_shape>("pool_backward");
    shape<adaptive_avg_backward_shape<2>>("adaptive_avg_pool2d_backward");
    shape<adaptive_avg_backward_shape<3>>("adaptive_avg_pool3d_backward");
    structured<max_cpu<2>>("max_pool2d_with_indices", kContiguousOutputs);
    structured<max_cpu<3>>("max_pool3d_with_indices", kContiguousOutputs);
    structured<max_backward_cpu<2>>("max_pool2d_with_indices_backward", kContiguousOutputs);
    structured<max_backward_cpu<3>>("max_pool3d_with_indices_backward", kContiguousOutputs);
    structured<avg_cpu<2>>("avg_pool2d", kContiguousOutputs);
    structured<avg_cpu<3>>("avg_pool3d", kContiguousOutputs);
    structured<avg_backward_cpu<2>>("avg_pool2d_backward", kContiguousOutputs);
    structured<avg_backward_cpu<3>>("avg_pool3d_backward", kContiguousOutputs);
    structured<adaptive_avg_cpu<2>>("_adaptive_avg_pool2d", kContiguousOutputs);
    structured<adaptive_avg_cpu<3>>("_adaptive_avg_pool3d", kContiguousOutputs);
    structured<adaptive_avg_backward_cpu<2>>("_adaptive_avg_pool2d_backward", kContiguousOutputs);
    structured<adaptive_avg_backward_cpu<3>>("_adaptive_avg_pool3d_backward", kContiguousOutputs);
    structured<adaptive_max_cpu<2>>("adaptive_max_pool2d", kContiguousOutputs);
    structured<adaptive_max_cpu<3>>("adaptive_max_pool3d", kContiguousOutputs);
    structured<adaptive_max_backward_cpu<2>>("adaptive_max_pool2d_backward", kContiguousOutputs);
    structured<adaptive_max_backward_cpu<3>>("adaptive_max_pool3d_backward", kContiguousOutputs);
}

}  // namespace
}  // namespace mt
