// Padding: with a constant, by reflection, by repeating the edge.
#include "core/number_fits.h"
#include "core/saturating.h"
#include "memory_format.h"
#include "resample.h"

namespace mt {
namespace {

// ---- constant_pad_nd(self, pad, value): pad is (last dimension's start, end, the one before's start, end, ...) ----

void constant_shape(ShapeCall& c, const Tensor& x, IntSpan pad) {
    MT_CHECK(pad.size % 2 == 0, "Length of pad must be even but instead it equals ", pad.size);
    MT_CHECK(x.ndim * 2 >= pad.size,
             "Length of pad should be no more than twice the number of dimensions of the input. Pad length is ",
             pad.size, " while the input has ", x.ndim, " dimensions.");
    Dims sizes(x.sizes());
    for (int64_t i = 0; i < pad.size / 2; i++) {
        int64_t& size = sizes[x.ndim - 1 - i];
        const int64_t was = size;
        const int64_t cut = saturating_add(std::min<int64_t>(pad[2 * i], 0), std::min<int64_t>(pad[2 * i + 1], 0));
        MT_CHECK(saturating_add(was, cut) >= 0, "narrow(): length must be non-negative.");
        size = saturating_add(was, saturating_add(pad[2 * i], pad[2 * i + 1]));
        MT_CHECK(size >= 0, "The input size ", was, ", plus negative padding ", pad[2 * i], " and ", pad[2 * i + 1],
                 " resulted in a negative output size, which is invalid. Check dimension ", x.ndim - 1 - i,
                 " of your input.");
    }
    output_in_format_of(c, 0, x, sizes, x.dtype);
}

void constant_cpu(Out out, const Tensor& x, IntSpan pad, const Value& value) {
    if (out->numel() == 0) return;
    check_number_fits(out->dtype, value);
    fill(out, value);
    Dims sizes(x.sizes());
    int64_t from = x.offset, to = out->offset;
    for (int64_t i = 0; i < pad.size / 2; i++) {
        const int64_t d = x.ndim - 1 - i, before = pad[2 * i], after = pad[2 * i + 1];
        sizes[d] += std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
        if (before < 0) from += -before * x.stride(d);
        if (before > 0) to += before * out->stride(d);
    }
    if (numel_of(sizes) == 0) return;
    copy_into(*as_strided(out, sizes, out->strides(), to), *as_strided(x, sizes, x.strides(), from));
}

// ---- reflection_padNd and replication_padNd(self, padding) ----

enum class Edge { Reflect, Repeat };

AxisTaps axis(Edge edge, int64_t in, int64_t before, int64_t after) {
    AxisTaps t(in, in + before + after, 1);
    for (int64_t i = 0; i < t.out; i++) {
        int64_t at = i - before;
        if (edge == Edge::Repeat)
            at = std::min(std::max<int64_t>(at, 0), in - 1);
        else if (at < 0)
            at = -at;
        else if (at >= in)
            at = 2 * (in - 1) - at;
        t.index[i] = at;
    }
    return t;
}

struct Plan {
    AxisTaps axes[3];
    int64_t planes = 1;
    Plan(Edge edge, IntSpan sizes, IntSpan pad) {
        const int64_t spatial = pad.size / 2;
        for (int64_t i = 0; i < spatial; i++)
            axes[2 - i] = axis(edge, sizes[sizes.size - 1 - i], pad[2 * i], pad[2 * i + 1]);
        for (int64_t i = 0; i < sizes.size - spatial; i++) planes *= sizes[i];
    }
};

template <Edge E, int D>
Dims padded_sizes(const Tensor& x, IntSpan pad) {
    MT_CHECK(pad.size == 2 * D, "padding size is expected to be ", 2 * D, ", but got: ", pad.size);
    bool valid = x.ndim == D + 1 || x.ndim == D + 2;
    for (int64_t i = x.ndim - D - 1; valid && i < x.ndim; i++) valid = x.size(i) != 0;
    MT_CHECK(valid, "Expected ", D + 1, "D or ", D + 2,
             "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: ",
             x.sizes());
    Dims sizes(x.sizes());
    for (int i = 0; i < D; i++) {
        const int64_t d = x.ndim - 1 - i, before = pad[2 * i], after = pad[2 * i + 1];
        if (E == Edge::Reflect)
            MT_CHECK(before < x.size(d) && after < x.size(d), "Argument #", 4 + 2 * i,
                     ": Padding size should be less than the corresponding input dimension, but got: padding (", before,
                     ", ", after, ") at dimension ", d, " of input ", x.sizes());
        sizes[d] = saturating_add(sizes[d], saturating_add(before, after));
        MT_CHECK(sizes[d] >= 1, "input (size: ", x.size(d), ") is too small. Calculated output size: ", sizes[d]);
    }
    return sizes;
}

template <Edge E, int D>
void edge_shape(ShapeCall& c, const Tensor& self, IntSpan padding) {
    output_in_format_of(c, 0, self, padded_sizes<E, D>(self, padding), self.dtype);
}

template <Edge E, int D>
void edge_cpu(Out out, const Tensor& self, IntSpan padding) {
    TensorRef x = contiguous(self);
    Plan plan(E, x->sizes(), padding);
    resample(plan.axes, plan.planes, *x, out, out.name());
}

// (grad_output, self, padding)
template <Edge E, int D>
void edge_backward_shape(ShapeCall& c, const Tensor& grad, const Tensor& x, IntSpan padding) {
    Dims sizes = padded_sizes<E, D>(x, padding);
    MT_CHECK(grad.sizes() == IntSpan(sizes), "grad_output sizes ", grad.sizes(), " do not match the padded sizes ",
             IntSpan(sizes));
    if (x.ndim == D + 2)
        output_in_format_of(c, 0, x, x.sizes(), grad.dtype);
    else
        c.output(0, x.sizes(), grad.dtype);
}

template <Edge E, int D>
void edge_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self, IntSpan padding) {
    TensorRef grad = contiguous(grad_output);
    Plan plan(E, self.sizes(), padding);
    resample_backward(plan.axes, plan.planes, *grad, out, out.name());
}

template <Edge E, int D>
void both(const char* forward, const char* backward) {
    shape<edge_shape<E, D>>(forward);
    shape<edge_backward_shape<E, D>>(backward);
    structured<edge_cpu<E, D>>(forward, kContiguousOutputs);
    structured<edge_backward_cpu<E, D>>(backward, kContiguousOutputs);
}

KERNELS
{
    shape<constant_shape>("constant_pad_nd");
    structured<constant_cpu>("constant_pad_nd");
    both<Edge::Reflect, 1>("reflection_pad1d", "reflection_pad1d_backward");
    both<Edge::Reflect, 2>("reflection_pad2d", "reflection_pad2d_backward");
    both<Edge::Reflect, 3>("reflection_pad3d", "reflection_pad3d_backward");
    both<Edge::Repeat, 1>("replication_pad1d", "replication_pad1d_backward");
    both<Edge::Repeat, 2>("replication_pad2d", "replication_pad2d_backward");
    both<Edge::Repeat, 3>("replication_pad3d", "replication_pad3d_backward");
}

}  // namespace
}  // namespace mt
