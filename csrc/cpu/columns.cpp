// im2col and col2im: sliding blocks of an image as columns, and columns summed back into an image.
#include "conv.h"

namespace mt {
namespace {

using conv::Geometry;

struct Pair {
    int64_t h, w;
    Pair(IntSpan list, const char* name) : h(list.size ? list[0] : 0), w(list.size > 1 ? list[1] : h) {
        MT_CHECK(list.size == 2, "It is expected ", name, " equals to 2, but got size ", list.size);
        for (int64_t v : list)
            MT_CHECK(v >= INT32_MIN && v <= INT32_MAX, "value cannot be converted to type int without overflow");
    }
};
void append(std::string& text, const Pair& p) { text += concat("(", p.h, ", ", p.w, ")"); }

// kernel_size, dilation, padding, stride from argument `at` on.
struct Blocks {
    Pair kernel, dilation, padding, stride;
    Blocks(IntSpan kernel_size, IntSpan dilations, IntSpan paddings, IntSpan strides)
        : kernel(kernel_size, "kernel_size"),
          dilation(dilations, "dilation"),
          padding(paddings, "padding"),
          stride(strides, "stride") {
        MT_CHECK(kernel.h > 0 && kernel.w > 0,
                 "kernel size should be greater than zero, but got kernel_height: ", kernel.h,
                 " kernel_width: ", kernel.w);
        MT_CHECK(dilation.h > 0 && dilation.w > 0,
                 "dilation should be greater than zero, but got dilation_height: ", dilation.h,
                 " dilation_width: ", dilation.w);
        MT_CHECK(padding.h >= 0 && padding.w >= 0, "padding should be non-negative, but got pad_height: ", padding.h,
                 " pad_width: ", padding.w);
        MT_CHECK(stride.h > 0 && stride.w > 0, "stride should be greater than zero, but got stride_height: ", stride.h,
                 " stride_width: ", stride.w);
    }
    // Blocks in a height or a width; none, or less, where not one fits.
    int64_t rows(int64_t height) const {
        return steps(height + 2 * padding.h - dilation.h * (kernel.h - 1) - 1, stride.h) + 1;
    }
    int64_t cols(int64_t width) const {
        return steps(width + 2 * padding.w - dilation.w * (kernel.w - 1) - 1, stride.w) + 1;
    }
    static int64_t steps(int64_t room, int64_t step) { return room >= 0 ? room / step : -((step - 1 - room) / step); }
    Geometry geometry(int64_t batch, int64_t channels, int64_t height, int64_t width) const {
        Geometry g;
        g.spatial = 2, g.batch = batch, g.channels = channels, g.filters = 1;
        g.image = {height, width}, g.map = {rows(height), cols(width)}, g.kernel = {kernel.h, kernel.w};
        g.stride = {stride.h, stride.w}, g.padding = {padding.h, padding.w}, g.dilation = {dilation.h, dilation.w};
        return g;
    }
};

void im2col_shape(ShapeCall& c, const Tensor& x, IntSpan kernel_size, IntSpan dilation, IntSpan padding,
                  IntSpan stride) {
    Blocks b(kernel_size, dilation, padding, stride);
    MT_CHECK(
        (x.ndim == 3 && x.size(0) && x.size(1) && x.size(2)) || (x.ndim == 4 && x.size(1) && x.size(2) && x.size(3)),
        "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but "
        "got: ",
        x.sizes());
    const int64_t channels = x.size(x.ndim - 3), height = x.size(x.ndim - 2), width = x.size(x.ndim - 1);
    const int64_t rows = b.rows(height), cols = b.cols(width);
    MT_CHECK(rows >= 1 && cols >= 1, "Given input with spatial size (", height, ", ", width,
             "), kernel_size=", b.kernel, ", dilation=", b.dilation, ", padding=", b.padding,
             ", calculated shape of the array of sliding blocks as (", rows, ", ", cols,
             "), but its components must be at least one.");
    Dims sizes;
    if (x.ndim == 4) sizes.push_back(x.size(0));
    sizes.push_back(channels * b.kernel.h * b.kernel.w);
    sizes.push_back(rows * cols);
    c.output(0, sizes, x.dtype);
}

void im2col_cpu(Out out, const Tensor& self, IntSpan kernel_size, IntSpan dilation, IntSpan padding, IntSpan stride) {
    TensorRef x = contiguous(self);
    Blocks b(kernel_size, dilation, padding, stride);
    conv::image_to_columns(
        b.geometry(x->ndim == 4 ? x->size(0) : 1, x->size(x->ndim - 3), x->size(x->ndim - 2), x->size(x->ndim - 1)), *x,
        out);
}

// (self, output_size, kernel_size, dilation, padding, stride)
void col2im_shape(ShapeCall& c, const Tensor& x, IntSpan output_size, IntSpan kernel_size, IntSpan dilation,
                  IntSpan padding, IntSpan stride) {
    Pair out(output_size, "output_size");
    Blocks b(kernel_size, dilation, padding, stride);
    MT_CHECK((x.ndim == 2 && x.size(0) && x.size(1)) || (x.ndim == 3 && x.size(1) && x.size(2)),
             "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
             "input, but got: ",
             x.sizes());
    const int64_t d = x.ndim - 2, planes = x.size(d), area = b.kernel.h * b.kernel.w;
    MT_CHECK(
        planes % area == 0,
        "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)=",
        planes, " and kernel_size=", b.kernel, ".");
    const int64_t rows = b.rows(out.h), cols = b.cols(out.w);
    MT_CHECK(x.size(d + 1) == rows * cols, "Given output_size=", out, ", kernel_size=", b.kernel,
             ", dilation=", b.dilation, ", padding=", b.padding, ", stride=", b.stride,
             ", expected size of input's dimension 2 to match the calculated number of sliding blocks ", rows, " * ",
             cols, " = ", rows * cols, ", but got input.size(2)=", x.size(d + 1), ".");
    MT_CHECK(rows >= 1 && cols >= 1, "Given output_size=", out, ", kernel_size=", b.kernel, ", dilation=", b.dilation,
             ", padding=", b.padding, ", stride=", b.stride, ", calculated shape of the array of sliding blocks as (",
             rows, ", ", cols, "), which is too small (non-positive)");
    Dims sizes;
    if (x.ndim == 3) sizes.push_back(x.size(0));
    for (int64_t n : {planes / area, out.h, out.w}) sizes.push_back(n);
    c.output(0, sizes, x.dtype);
}

void col2im_cpu(Out out, const Tensor& self, IntSpan output_size, IntSpan kernel_size, IntSpan dilation,
                IntSpan padding, IntSpan stride) {
    TensorRef x = contiguous(self);
    Blocks b(kernel_size, dilation, padding, stride);
    conv::columns_to_image(b.geometry(out->ndim == 4 ? out->size(0) : 1, out->size(out->ndim - 3),
                                      out->size(out->ndim - 2), out->size(out->ndim - 1)),
                           *x, out);
}

KERNELS
{
    shape<im2col_shape>("im2col");
    shape<col2im_shape>("col2im");
    structured<im2col_cpu>("im2col", kContiguousOutputs);
    structured<col2im_cpu>("col2im", kContiguousOutputs);
}

}  // namespace
}  // namespace mt
