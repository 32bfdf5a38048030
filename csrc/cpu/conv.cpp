// convolution and convolution_backward: shapes, checks, layouts, and the choice of the way to compute.
#include "conv.h"

#include "core/cpp_names.h"
#include "gemm.h"
#include "memory_format.h"

namespace mt {
namespace {

using conv::Geometry;

// Arguments that convolution and its backward pass share, one entry for each spatial dimension.
struct Parameters {
    Dims stride, padding, dilation, output_padding;
    bool transposed;
    int64_t groups;

    Parameters(int64_t spatial, IntSpan strides, IntSpan paddings, IntSpan dilations, bool is_transposed,
               IntSpan output_paddings, int64_t group_count) {
        auto expand = [&](IntSpan given, const char* name) {
            MT_CHECK(given.size == 1 || given.size == spatial, "expected ", name,
                     " to be a single integer value or a list of ", spatial,
                     " values to match the convolution dimensions, but got ", name, "=", given);
            Dims d(spatial, given[0]);
            for (int64_t j = 0; j < given.size && given.size == spatial; j++) d[j] = given[j];
            return d;
        };
        stride = expand(strides, "stride");
        padding = expand(paddings, "padding");
        dilation = expand(dilations, "dilation");
        transposed = is_transposed;
        output_padding = expand(output_paddings, "output_padding");
        groups = group_count;
    }
};

struct Joined {
    IntSpan list;
};
void append(std::string& text, const Joined& j) {
    for (int64_t i = 0; i < j.list.size; i++) text += concat(i ? " x " : "", j.list[i]);
}

void check(const Tensor& input, const Tensor& weight, const Tensor* bias, const Parameters& p) {
    const int64_t spatial = weight.ndim - 2, k = weight.ndim;
    auto all = [](const Dims& d, auto good) { return std::all_of(d.begin(), d.end(), good); };
    MT_CHECK(all(p.padding, [](int64_t v) { return v >= 0; }), "negative padding is not supported");
    MT_CHECK(all(p.output_padding, [](int64_t v) { return v >= 0; }), "negative output_padding is not supported");
    constexpr int64_t kMost = INT64_MAX / 2;
    for (int64_t i = 0; i < spatial; i++)
        MT_CHECK(p.padding[i] <= kMost, "Given padding=", p.padding[i], " at dimension ", i,
                 " , expected padding to be at most ", kMost);
    // What follows multiplies sizes: nothing that fits into memory is near these limits.
    auto small = [](int64_t v) { return v < (int64_t(1) << 31); };
    MT_CHECK(
        (all(p.padding, small) && all(p.stride, small) && all(p.dilation, small) && all(p.output_padding, small)) ||
            input.numel() == 0 || weight.numel() == 0,
        "convolution: stride=", IntSpan(p.stride), ", padding=", IntSpan(p.padding), ", dilation=", IntSpan(p.dilation),
        " and output_padding=", IntSpan(p.output_padding), " must be below 2^31");
    MT_CHECK(all(p.stride, [](int64_t v) { return v > 0; }), "non-positive stride is not supported");
    MT_CHECK(all(p.dilation, [](int64_t v) { return v > 0; }), "dilation should be greater than zero, but got ",
             IntSpan(p.dilation));
    MT_CHECK(p.groups > 0, "non-positive groups is not supported");
    MT_CHECK(input.ndim == k, "Expected ", k, "-dimensional input for ", k, "-dimensional weight ", weight.sizes(),
             ", but got ", input.ndim, "-dimensional input of size ", input.sizes(), " instead");
    MT_CHECK(weight.size(0) >= p.groups, "Given groups=", p.groups, ", expected weight to be at least ", p.groups,
             " at dimension 0, but got weight of size ", weight.sizes(), " instead");
    MT_CHECK(weight.size(0) % p.groups == 0, "Given groups=", p.groups, ", expected weight to be divisible by ",
             p.groups, " at dimension 0, but got weight of size [", weight.sizes(), "] instead");
    if (!p.transposed) {
        MT_CHECK(input.size(1) == weight.size(1) * p.groups, "Given groups=", p.groups, ", weight of size ",
                 weight.sizes(), ", expected input", input.sizes(), " to have ", weight.size(1) * p.groups,
                 " channels, but got ", input.size(1), " channels instead");
        MT_CHECK(!bias || (bias->ndim == 1 && bias->size(0) == weight.size(0)), "Given weight of size ", weight.sizes(),
                 ", expected bias to be 1-dimensional with ", weight.size(0), " elements, but got bias of size ",
                 bias->sizes(), " instead");
        Dims padded, kernel;
        bool fits = true;
        for (int64_t i = 0; i < spatial; i++) {
            padded.push_back(input.size(i + 2) + 2 * p.padding[i]);
            kernel.push_back(p.dilation[i] * (weight.size(i + 2) - 1) + 1);
            fits &= padded[i] >= kernel[i];
        }
        MT_CHECK(fits, "Calculated padded input size per channel: (", Joined{padded}, "). Kernel size: (",
                 Joined{kernel}, "). Kernel size can't be greater than actual input size");
    } else {
        MT_CHECK(input.size(1) == weight.size(0), "Given transposed=1, weight of size ", weight.sizes(),
                 ", expected input", input.sizes(), " to have ", weight.size(0), " channels, but got ", input.size(1),
                 " channels instead");
        MT_CHECK(!bias || (bias->ndim == 1 && bias->size(0) == weight.size(1) * p.groups),
                 "Given transposed=1, weight of size ", weight.sizes(), ", expected bias to be 1-dimensional with ",
                 weight.size(1) * p.groups, " elements, but got bias of size ", bias->sizes(), " instead");
        static const char* const names[3][3] = {{"width"}, {"height", "width"}, {"depth", "height", "width"}};
        for (int64_t i = 0; i < spatial; i++) {
            if (p.output_padding[i] < p.stride[i] || p.output_padding[i] < p.dilation[i]) continue;
            std::string text;
            auto describe = [&](const char* what, const Dims& d) {
                for (int64_t j = 0; j < spatial; j++) text += concat(" ", what, "_", names[spatial - 1][j], ": ", d[j]);
            };
            describe("output_padding", p.output_padding);
            describe("stride", p.stride);
            describe("dilation", p.dilation);
            MT_THROW(Runtime, "output padding must be smaller than either stride or dilation, but got", text);
        }
    }
    if (bias)
        MT_CHECK(input.dtype == bias->dtype, "Input type (", dtype_cpp_name(input.dtype), ") and bias type (",
                 dtype_cpp_name(bias->dtype), ") should be the same");
    MT_CHECK(input.dtype == weight.dtype, "expected scalar type ", dtype_class_name(input.dtype), " but found ",
             dtype_class_name(weight.dtype));
    if (input.dtype == DType::Bool) unsupported_dtype("slow_conv2d_cpu", input.dtype);
    std::string kernel;
    bool good = true;
    for (int64_t i = 0; i < spatial; i++) {
        static const char* const sides[3] = {"kernel_depth", "kernel_height", "kernel_width"};
        good = good && weight.size(i + 2) > 0;
        kernel += concat(" ", sides[3 - spatial + i], ": ", weight.size(i + 2));
    }
    MT_CHECK(good, "kernel size should be greater than zero, but got", spatial == 1 ? " kernel_height: 1" : "", kernel);
}

// Whether PyTorch leaves a transposed convolution of volumes to oneDNN.
bool goes_to_onednn(const Tensor& input, const Tensor& weight, const Parameters& p) {
    for (int64_t i = 0; i < weight.ndim - 2; i++)
        if (p.output_padding[i] >= p.stride[i]) return false;
    if (input.dtype != DType::Float32) return true;
    const int64_t n = weight.ndim;
    return p.groups > 1 || (weight.size(n - 1) > 3 && weight.size(n - 2) > 3) || input.size(0) > 1 ||
           input.size(0) * input.size(1) * input.size(2) * input.size(3) > 20480;
}

// PyTorch's own kernels of volumes know one order only where they are transposed or in double precision.
bool wants_channels_last(const Tensor& input, const Tensor& weight, const Parameters& p) {
    if (input.ndim != 4 && input.ndim != 5) return false;
    if (input.ndim == 5 && input.dtype == DType::Float64) return false;
    if (input.ndim == 5 && p.transposed && !goes_to_onednn(input, weight, p)) return false;
    return suggests_channels_last(input) || suggests_channels_last(weight);
}

Dims output_sizes(const Tensor& input, const Tensor& weight, const Parameters& p) {
    Dims sizes{input.size(0), p.transposed ? weight.size(1) * p.groups : weight.size(0)}, bad;
    for (int64_t i = 0; i < weight.ndim - 2; i++) {
        int64_t kernel = p.dilation[i] * (weight.size(i + 2) - 1) + 1, in = input.size(i + 2);
        int64_t out = p.transposed ? (in - 1) * p.stride[i] - 2 * p.padding[i] + kernel + p.output_padding[i]
                                   : (in + 2 * p.padding[i] - kernel) / p.stride[i] + 1;
        sizes.push_back(out);
        bad.push_back(out);
    }
    if (p.transposed)
        for (int64_t out : Span<int64_t>(bad))
            MT_CHECK(out > 0 || input.size(2) == 0, "Given input size per channel: (",
                     Joined{IntSpan(input.sizes().data + 2, input.ndim - 2)},
                     "). Calculated output size per channel: (", Joined{bad}, "). Output size is too small");
    return sizes;
}

// The plain convolution that is behind, between `image` sizes and `map` sizes (each with batch and channels first).
Geometry geometry(const Parameters& p, IntSpan image, IntSpan map, IntSpan weight) {
    Geometry g;
    g.spatial = static_cast<int>(weight.size - 2);
    g.batch = image[0], g.channels = image[1], g.filters = map[1], g.groups = p.groups;
    auto tail = [](IntSpan s) { return Dims(IntSpan(s.data + 2, s.size - 2)); };
    g.image = tail(image), g.map = tail(map), g.kernel = tail(weight);
    g.stride = p.stride, g.padding = p.padding, g.dilation = p.dilation;
    return g;
}

TensorRef laid_out(const Tensor& t, bool channels_last) {
    if (!channels_last) return contiguous(t);
    Dims strides = channels_last_strides(t.sizes());
    if (is_contiguous_as(t, strides)) return TensorRef::share(&t);
    TensorRef r = empty_strided(t.sizes(), strides, t.dtype);
    copy_into(*r, t);
    return r;
}

// A tensor to compute into: `out` itself where its layout is the one wanted.
TensorRef target_for(Tensor& out, bool channels_last) {
    Dims strides = channels_last ? channels_last_strides(out.sizes()) : contiguous_strides(out.sizes());
    return is_contiguous_as(out, strides) ? TensorRef::share(&out) : empty_strided(out.sizes(), strides, out.dtype);
}

void zero(Tensor& t) {
    if (t.numel()) std::memset(t.raw(), 0, static_cast<size_t>(t.numel() * t.itemsize()));
}

// ---- convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups) ----

void convolution_shape(ShapeCall& c, const Tensor& input, const Tensor& weight, const Tensor* bias, IntSpan stride,
                       IntSpan padding, IntSpan dilation, bool transposed, IntSpan output_padding, int64_t groups) {
    MT_CHECK(weight.ndim > 2 && weight.ndim < 6, "weight should have at least three dimensions");
    Parameters p(weight.ndim - 2, stride, padding, dilation, transposed, output_padding, groups);
    check(input, weight, bias, p);
    Dims sizes = output_sizes(input, weight, p);
    if (wants_channels_last(input, weight, p))
        c.output_strided(0, sizes, channels_last_strides(sizes), input.dtype);
    else
        c.output(0, sizes, input.dtype);
}

void add_bias(Tensor& out, const Tensor& bias) {
    const int64_t channels = out.size(1),
                  inner = out.stride(1) == 1 ? channels : out.numel() / std::max<int64_t>(1, out.size(0) * channels);
    TensorRef dense = contiguous(bias);
    const bool last = out.stride(1) == 1 && !out.is_contiguous();
    visit(NumberTypes{}, out.dtype, "convolution", [&]<class T>() {
        const T* b = dense->data<T>();
        T* data = out.data<T>();
        const int64_t rows = inner ? out.numel() / inner : 0;
        parallel_for(rows, grain_for(inner), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; i++)
                for (int64_t j = 0; j < inner; j++)
                    data[i * inner + j] = static_cast<T>(data[i * inner + j] + b[last ? j : i % channels]);
        });
    });
}

void convolution_cpu(Out out, const Tensor& input, const Tensor& weight, const Tensor* bias, IntSpan stride,
                     IntSpan padding, IntSpan dilation, bool transposed, IntSpan output_padding, int64_t groups) {
    if (out->numel() == 0) return;
    Parameters p(weight.ndim - 2, stride, padding, dilation, transposed, output_padding, groups);
    const bool last = wants_channels_last(input, weight, p);
    TensorRef x = laid_out(input, last), w = laid_out(weight, last && is_channels_last(weight)),
              to = target_for(out, last);
    TensorRef dense_bias = bias ? contiguous(*bias) : TensorRef();
    if (p.transposed) {
        Geometry g = geometry(p, out->sizes(), input.sizes(), weight.sizes());
        if (input.size(1) == 0)
            zero(*to);
        else
            conv::backward_data(g, *x, *w, *to, last);
        if (bias) add_bias(*to, *bias);
    } else {
        conv::forward(geometry(p, input.sizes(), out->sizes(), weight.sizes()), *x, *w, dense_bias.get(), *to, last);
    }
    if (to.get() != &*out) copy_into(out, *to);
}

// ---- convolution_backward(grad_output, input, weight, bias_sizes, stride, ..., groups, output_mask) ----

void convolution_backward_shape(ShapeCall& c, const Tensor& grad, const Tensor& input, const Tensor& weight,
                                Unread bias_sizes, IntSpan stride, IntSpan padding, IntSpan dilation, bool transposed,
                                IntSpan output_padding, int64_t groups, Span<bool> mask) {
    MT_CHECK(weight.ndim > 2 && weight.ndim < 6, "weight should have at least three dimensions");
    Parameters p(weight.ndim - 2, stride, padding, dilation, transposed, output_padding, groups);
    check(input, weight, nullptr, p);
    MT_CHECK(grad.ndim == input.ndim,
             "Expected input and grad_output to have the same number of dimensions, but got: ", input.ndim, " and ",
             grad.ndim);
    Dims sizes = output_sizes(input, weight, p);
    for (int64_t i = 0; i < grad.ndim; i++)
        MT_CHECK(grad.size(i) == sizes[i], "Expected a tensor of dimension ", sizes.size(), " and tensor.size[", i,
                 "] == ", sizes[i], " but got: dimension ", grad.ndim, " and tensor.size[", i, "] = ", grad.size(i));
    MT_CHECK(grad.dtype == weight.dtype, "expected scalar type ", dtype_class_name(weight.dtype), " but found ",
             dtype_class_name(grad.dtype));
    const bool last = wants_channels_last(input, weight, p);
    auto like = [&](int i, const Tensor& t, bool channels_last) {
        if (!mask[i]) return c.output_none(i);
        if (channels_last)
            c.output_strided(i, t.sizes(), channels_last_strides(t.sizes()), t.dtype);
        else
            c.output(i, t.sizes(), t.dtype);
    };
    like(0, input, last);
    like(1, weight, last);
    mask[2] ? c.output(2, {grad.size(1)}, grad.dtype) : c.output_none(2);
}

void bias_gradient(const Tensor& grad, bool channels_last, Tensor& out) {
    const int64_t channels = grad.size(1);
    if (channels_last)
        return column_sums(grad.dtype, grad.raw(), channels ? grad.numel() / channels : 0, channels, channels,
                           out.raw());
    const int64_t inner = grad.numel() / std::max<int64_t>(1, grad.size(0) * channels);
    visit(NumberTypes{}, grad.dtype, "sum", [&]<class T>() {
        using A = opmath_t<T>;
        const T* data = grad.data<T>();
        T* to = out.data<T>();
        parallel_for(channels, grain_for(inner * grad.size(0)), [&](int64_t begin, int64_t end) {
            constexpr int kParts = 16;
            for (int64_t i = begin; i < end; i++) {
                A total(0);
                for (int64_t n = 0; n < grad.size(0); n++) {
                    const T* row = data + (n * channels + i) * inner;
                    A parts[kParts] = {};
                    int64_t j = 0;
                    for (; j + kParts <= inner; j += kParts)
                        for (int q = 0; q < kParts; q++) parts[q] += static_cast<A>(row[j + q]);
                    for (; j < inner; j++) parts[0] += static_cast<A>(row[j]);
                    for (int q = 0; q < kParts; q++) total += parts[q];
                }
                to[i] = T(total);
            }
        });
    });
}

void convolution_backward_cpu(Out out, const Tensor& grad, const Tensor& input, const Tensor& weight,
                              std::optional<IntSpan> bias_sizes, IntSpan stride, IntSpan padding, IntSpan dilation,
                              bool transposed, IntSpan output_padding, int64_t groups, Span<bool> mask) {
    Parameters p(weight.ndim - 2, stride, padding, dilation, transposed, output_padding, groups);
    const bool last = wants_channels_last(input, weight, p);
    TensorRef g = laid_out(grad, last);
    const bool empty_problem = grad.numel() == 0 || input.numel() == 0 || weight.numel() == 0;
    auto conjugate = [](TensorRef t) {
        if (!is_complex(t->dtype)) return t;
        TensorRef r = clone(*t);
        visit(ComplexTypes{}, r->dtype, "conj", [&]<class T>() {
            for (int64_t i = 0; i < r->numel(); i++) r->data<T>()[i] = std::conj(r->data<T>()[i]);
        });
        return r;
    };
    if (mask[0]) {
        TensorRef w = conjugate(laid_out(weight, last && is_channels_last(weight))), to = target_for(out[0], last);
        if (empty_problem)
            zero(*to);
        else if (p.transposed)
            conv::forward(geometry(p, grad.sizes(), input.sizes(), weight.sizes()), *g, *w, nullptr, *to, last);
        else
            conv::backward_data(geometry(p, input.sizes(), grad.sizes(), weight.sizes()), *g, *w, *to, last);
        if (to.get() != &out[0]) copy_into(out[0], *to);
    }
    if (mask[1]) {
        TensorRef x = conjugate(laid_out(input, last)), to = target_for(out[1], last);
        if (empty_problem)
            zero(*to);
        else if (p.transposed)
            conv::backward_weight(geometry(p, grad.sizes(), input.sizes(), weight.sizes()), *g, *x, *to, last);
        else
            conv::backward_weight(geometry(p, input.sizes(), grad.sizes(), weight.sizes()), *x, *g, *to, last);
        if (to.get() != &out[1]) copy_into(out[1], *to);
    }
    // PyTorch gives zeros here too, though the outputs of a convolution of no channels are the bias.
    if (mask[2] && empty_problem) zero(out[2]);
    if (mask[2] && !empty_problem) bias_gradient(*g, last, out[2]);
}

// The dtype that columns and gemm work in is the tensors' own; float16 is widened as a whole.
bool widen(DType t) { return t == DType::Float16 || t == DType::BFloat16; }

}  // namespace

namespace conv {

void forward(const Geometry& g, const Tensor& image, const Tensor& weight, const Tensor* bias, Tensor& map,
             bool channels_last) {
    if (onednn_forward(g, image, weight, bias, map, channels_last)) return;
    DType work = widen(image.dtype) ? DType::Float32 : image.dtype;
    if (work == image.dtype && !channels_last && weight.is_contiguous())
        return columns_forward(g, image, weight, bias, map);
    TensorRef b = bias ? contiguous(*bias, work) : TensorRef(), to = empty(map.sizes(), work);
    forward(g, *contiguous(image, work), *contiguous(weight, work), b.get(), *to, false);
    copy_into(map, *to);
}

void backward_data(const Geometry& g, const Tensor& map, const Tensor& weight, Tensor& image, bool channels_last) {
    if (onednn_backward_data(g, map, weight, image, channels_last)) return;
    DType work = widen(map.dtype) ? DType::Float32 : map.dtype;
    if (work == map.dtype && !channels_last && weight.is_contiguous())
        return columns_backward_data(g, map, weight, image);
    TensorRef to = empty(image.sizes(), work);
    backward_data(g, *contiguous(map, work), *contiguous(weight, work), *to, false);
    copy_into(image, *to);
}

void backward_weight(const Geometry& g, const Tensor& image, const Tensor& map, Tensor& weight, bool channels_last) {
    // A matrix product sums over the pixels faster than the primitive, reorders counted.
    if (g.is_pointwise() && !channels_last && map.dtype == DType::Float32 && weight.is_contiguous())
        return columns_backward_weight(g, image, map, weight);
    if (onednn_backward_weight(g, image, map, weight, channels_last)) return;
    DType work = widen(map.dtype) ? DType::Float32 : map.dtype;
    if (work == map.dtype && !channels_last && weight.is_contiguous())
        return columns_backward_weight(g, image, map, weight);
    TensorRef to = empty(weight.sizes(), work);
    backward_weight(g, *contiguous(image, work), *contiguous(map, work), *to, false);
    copy_into(weight, *to);
}

}  // namespace conv

namespace {

KERNELS
{
    shape<convolution_shape>("convolution");
    shape<convolution_backward_shape>("convolution_backward");
    structured<convolution_cpu>("convolution");
    structured<convolution_backward_cpu>("convolution_backward");
}

}  // namespace
}  // namespace mt
