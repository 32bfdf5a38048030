// Element-wise losses with their reduction in the same pass, and their gradients.
#include "cpu/rows.h"

namespace mt {
namespace {

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

// `t` broadcast to `sizes`, contiguous, of type `type`.
TensorRef spread(const Tensor& t, IntSpan sizes, DType type) {
    if (t.sizes() == sizes) return contiguous(t, type);
    MT_CHECK(Dims(broadcast_sizes(t.sizes(), sizes)).size() == sizes.size &&
                 IntSpan(broadcast_sizes(t.sizes(), sizes)) == sizes,
             "a tensor of sizes ", t.sizes(), " does not fit a loss over ", sizes);
    Dims strides(sizes.size, 0);
    for (int64_t d = 0; d < t.ndim; d++)
        if (t.size(d) != 1) strides[sizes.size - t.ndim + d] = t.stride(d);
    return contiguous(*as_strided(t, sizes, strides, t.offset), type);
}

// ---- the losses: value(x, t) and slope(x, t) by x ----

template <class X>
struct Squared {
    explicit Squared(double) {}
    X value(X x, X t) const { return (x - t) * (x - t); }
    X slope(X x, X t) const { return 2 * (x - t); }
};
template <class X>
struct Smooth {  // smooth_l1_loss; beta 0 is the absolute difference
    X beta, inverse;
    explicit Smooth(double b) : beta(static_cast<X>(b)), inverse(b > 0 ? static_cast<X>(1 / b) : X(0)) {}
    X value(X x, X t) const {
        X d = std::abs(x - t);
        return d < beta ? X(0.5) * d * d * inverse : d - X(0.5) * beta;
    }
    X slope(X x, X t) const {
        X d = x - t, sign = X(d > 0) - X(d < 0);
        return std::abs(d) < beta ? d * inverse : (d != d ? d : sign);
    }
};
template <class X>
struct Huber {
    X delta;
    explicit Huber(double d) : delta(static_cast<X>(d)) {}
    X value(X x, X t) const {
        X d = std::abs(x - t);
        return d <= delta ? X(0.5) * d * d : delta * (d - X(0.5) * delta);
    }
    X slope(X x, X t) const {
        X d = x - t;
        return d < -delta ? -delta : d > delta ? delta : d;
    }
};
template <class X>
struct CrossEntropy {  // of probabilities; logarithms are cut off at -100
    explicit CrossEntropy(double) {}
    X value(X x, X t) const {
        X a = vec::log(X(1) - x), b = vec::log(x);
        a = a < X(-100) ? X(-100) : a;
        b = b < X(-100) ? X(-100) : b;
        return (t - X(1)) * a - t * b;
    }
    X slope(X x, X t) const {
        X d = (X(1) - x) * x;
        return (x - t) / (d < X(1e-12) ? X(1e-12) : d);
    }
};

// loss(self, target, [weight]) with `reduction` and a parameter
template <template <class> class Loss>
void forward(Out out, const Tensor& given_self, const Tensor& given_target, const Tensor* weight, int64_t reduction,
             double parameter) {
    TensorRef x = TensorRef::share(&given_self), y = TensorRef::share(&given_target);
    if (reduction != kNone && !weight && x->sizes() == y->sizes() && x->strides() == y->strides() &&
        x->is_non_overlapping_and_dense()) {  // a sum in the order of memory
        Dims one{x->numel()}, step{1};
        x = as_strided(*x, one, step, x->offset);
        y = as_strided(*y, one, step, y->offset);
    }
    const Tensor &self = *x, &target = *y;
    Dims sizes = broadcast_sizes(self.sizes(), target.sizes());
    DType wide = broad_type(out->dtype);
    TensorRef a = spread(self, sizes, wide), b = spread(target, sizes, wide),
              w = weight ? spread(*weight, sizes, wide) : TensorRef();
    Converted result(out, wide);
    int64_t n = numel_of(sizes);
    visit(PlainFloatTypes{}, wide, out.name(), [&]<class X>() {
        Loss<X> loss(parameter);
        const X *x = a->data<X>(), *t = b->data<X>(), *k = w ? w->data<X>() : nullptr;
        X* y = result.tensor().data<X>();
        if (reduction == kNone) {
            parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; i++) y[i] = loss.value(x[i], t[i]);
                if (k)
                    for (int64_t i = begin; i < end; i++) y[i] *= k[i];
            });
            return;
        }
        constexpr int64_t kParts = 64;
        double parts[kParts];
        int64_t step = std::max<int64_t>((n + kParts - 1) / kParts, 1);
        parallel_for(kParts, grain_for(step), [&](int64_t first, int64_t last) {
            for (int64_t p = first; p < last; p++) {
                double sum = 0;
                for (int64_t i = p * step; i < std::min(n, (p + 1) * step); i += kFoldBlock) {
                    const X *xi = x + i, *ti = t + i, *ki = k ? k + i : nullptr;
                    int64_t m = std::min(kFoldBlock, std::min(n, (p + 1) * step) - i);
                    sum += k ? lane_sum<X>(m, [=](int64_t j) { return loss.value(xi[j], ti[j]) * ki[j]; })
                             : lane_sum<X>(m, [=](int64_t j) { return loss.value(xi[j], ti[j]); });
                }
                parts[p] = sum;
            }
        });
        double sum = 0;
        for (double part : parts) sum += part;
        y[0] = static_cast<X>(reduction == kMean ? sum / static_cast<double>(n) : sum);
    });
    result.finish();
}

// loss_backward(grad_output, self, target, ...)
template <template <class> class Loss>
void backward(Out out, const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor* weight,
              int64_t reduction, double parameter) {
    IntSpan sizes = out->sizes();
    DType wide = broad_type(out->dtype);
    TensorRef a = spread(self, sizes, wide), b = spread(target, sizes, wide),
              w = weight ? spread(*weight, sizes, wide) : TensorRef();
    bool single = grad.numel() == 1 && out->numel() != 1;
    TensorRef g = single ? contiguous(grad, wide) : spread(grad, sizes, wide);
    Converted result(out, wide);
    int64_t n = out->numel();
    visit(PlainFloatTypes{}, wide, out.name(), [&]<class X>() {
        Loss<X> loss(parameter);
        const X *x = a->data<X>(), *t = b->data<X>(), *k = w ? w->data<X>() : nullptr, *gs = g->data<X>();
        X* y = result.tensor().data<X>();
        X scale = reduction == kMean ? X(1) / static_cast<X>(n) : X(1);
        if (single) scale *= gs[0];
        parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
            if (single)
                for (int64_t i = begin; i < end; i++) y[i] = loss.slope(x[i], t[i]) * scale;
            else
                for (int64_t i = begin; i < end; i++) y[i] = loss.slope(x[i], t[i]) * scale * gs[i];
            if (k)
                for (int64_t i = begin; i < end; i++) y[i] *= k[i];
        });
    });
    result.finish();
}

// ---- shape rules: words self, target, reduction; or self, target for gradients ----

DType loss_type(const Tensor& self, const Tensor& target) {
    DType t = promote(self.dtype, target.dtype);
    if (self.ndim == 0 && target.ndim > 0 && is_floating(target.dtype)) t = target.dtype;
    if (target.ndim == 0 && self.ndim > 0 && is_floating(self.dtype)) t = self.dtype;
    return t;
}
void loss_output(ShapeCall& c, const Tensor& self, const Tensor& target, bool reduced, DType t) {
    Dims sizes = broadcast_sizes(self.sizes(), target.sizes());
    if (!reduced && IntSpan(sizes) == self.sizes()) return c.output_like(0, self, t);  // element by element
    c.output(0, reduced ? IntSpan() : IntSpan(sizes), t);
}
void loss_shape(ShapeCall& c, const Tensor& self, const Tensor& target, int64_t reduction) {
    DType t = loss_type(self, target);
    if (!is_floating(t)) unsupported_dtype(c.name(), t);
    loss_output(c, self, target, reduction != kNone, t);
}
// Of losses whose result has the input's dtype, whatever the target's.
void loss_like_self_shape(ShapeCall& c, const Tensor& self, const Tensor& target, int64_t reduction) {
    if (!is_floating(self.dtype)) unsupported_dtype(c.name(), self.dtype);
    loss_output(c, self, target, reduction != kNone, self.dtype);
}
void loss_of_one_dtype_shape(ShapeCall& c, const Tensor& self, const Tensor& target, int64_t reduction) {
    MT_CHECK(self.dtype == target.dtype, "Found dtype ", dtype_class_name(target.dtype), " but expected ",
             dtype_class_name(self.dtype));
    loss_like_self_shape(c, self, target, reduction);
}
void loss_backward_shape(ShapeCall& c, const Tensor& self, const Tensor& target) {
    loss_output(c, self, target, false, loss_type(self, target));
}

// ---- kernels ----

void mse_cpu(Out out, const Tensor& self, const Tensor& target, int64_t reduction) {
    forward<Squared>(out, self, target, nullptr, reduction, 0);
}
void mse_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self, const Tensor& target, int64_t reduction) {
    backward<Squared>(out, grad_output, self, target, nullptr, reduction, 0);
}
void smooth_l1_cpu(Out out, const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
    forward<Smooth>(out, self, target, nullptr, reduction, beta);
}
void smooth_l1_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self, const Tensor& target,
                            int64_t reduction, double beta) {
    backward<Smooth>(out, grad_output, self, target, nullptr, reduction, beta);
}
void huber_cpu(Out out, const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
    forward<Huber>(out, self, target, nullptr, reduction, delta);
}
void huber_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self, const Tensor& target, int64_t reduction,
                        double delta) {
    backward<Huber>(out, grad_output, self, target, nullptr, reduction, delta);
}

void binary_cross_entropy_cpu(Out out, const Tensor& self, const Tensor& target, const Tensor* weight,
                              int64_t reduction) {
    TensorRef p = contiguous(self, DType::Float64);
    const double* x = p->data<double>();
    bool inside = true;
    for (int64_t i = 0; i < p->numel(); i++) inside &= x[i] >= 0 && x[i] <= 1;
    MT_CHECK(inside, "all elements of input should be between 0 and 1");
    forward<CrossEntropy>(out, self, target, weight, reduction, 0);
}
void binary_cross_entropy_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self, const Tensor& target,
                                       const Tensor* weight, int64_t reduction) {
    backward<CrossEntropy>(out, grad_output, self, target, weight, reduction, 0);
}

}  // namespace

KERNELS
{
    shape<loss_shape>("loss");
    shape<loss_like_self_shape>("loss_like_self");
    shape<loss_of_one_dtype_shape>("loss_of_one_dtype");
    shape<loss_backward_shape>("loss_backward");
    structured<mse_cpu>("mse_loss", kContiguousOutputs);
    structured<mse_backward_cpu>("mse_loss_backward", kContiguousOutputs);
    structured<smooth_l1_cpu>("smooth_l1_loss", kContiguousOutputs);
    structured<smooth_l1_backward_cpu>("smooth_l1_loss_backward", kContiguousOutputs);
    structured<huber_cpu>("huber_loss", kContiguousOutputs);
    structured<huber_backward_cpu>("huber_loss_backward", kContiguousOutputs);
    structured<binary_cross_entropy_cpu>("binary_cross_entropy", kContiguousOutputs);
    structured<binary_cross_entropy_backward_cpu>("binary_cross_entropy_backward", kContiguousOutputs);
}

}  // namespace mt
