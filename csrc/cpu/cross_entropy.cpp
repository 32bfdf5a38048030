// Negative log likelihood, and cross entropy with class indices fused with its log-softmax.
#include <vector>

#include "core/registry.h"
#include "cpu/rows.h"

namespace mt {
namespace {

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

// Scores [n, classes, places]; a missing batch dimension counts as n = 1.
struct Scores {
    int64_t n = 1, classes = 0, places = 1;
};
Scores scores_of(const Tensor& self) {
    Scores s;
    s.classes = self.size(self.ndim > 1 ? 1 : 0);
    if (self.ndim > 1) s.n = self.size(0);
    for (int64_t d = 2; d < self.ndim; d++) s.places *= self.size(d);
    return s;
}

struct Targets {
    TensorRef held;
    const int64_t* index;
    Targets(const Tensor& t, int64_t classes, int64_t ignored)
        : held(contiguous(t, DType::Int64)), index(held->data<int64_t>()) {
        for (int64_t i = 0; i < held->numel(); i++)
            MT_CHECK_INDEX(index[i] == ignored || (index[i] >= 0 && index[i] < classes), "Target ", index[i],
                           " is out of bounds.");
    }
};

void check_nll(const Tensor& self, const Tensor& target, const Tensor* weight) {
    MT_CHECK(target.dtype == DType::Int64 || target.dtype == DType::UInt8,
             "expected target dtype to be Long or Byte, but got ", dtype_class_name(target.dtype));
    int64_t classes = self.size(self.ndim > 1 ? 1 : 0);
    MT_CHECK(!weight || (weight->ndim == 1 && weight->numel() == classes),
             "weight tensor should be defined either for all ", classes,
             " classes or no classes but got weight tensor of shape: ", weight ? weight->sizes() : IntSpan());
}

// ---- nll_loss: (self, target, weight, reduction, ignore_index) -> (output, total_weight) ----

void nll_shape(ShapeCall& c) {
    const Tensor &self = c.tensor(c.param(0)), &target = c.tensor(c.param(1));
    const Tensor* weight = c.tensor_or_null(c.param(2));
    MT_CHECK(self.ndim > 0 && self.ndim <= 2, "input tensor should be 1D or 2D");
    MT_CHECK(target.ndim <= 1, "0D or 1D target tensor expected, multi-target not supported");
    bool single = self.ndim == 1 && target.ndim == 0;
    MT_CHECK(single || self.size(0) == target.size(0), "size mismatch (got input: ", self.sizes(),
             ", target: ", target.sizes(), ")");
    check_nll(self, target, weight);
    bool each = c.integer(c.param(3)) == kNone && self.ndim == 2;
    c.output(0, each ? IntSpan(target.sizes()) : IntSpan(), self.dtype);
    c.output(1, IntSpan(), self.dtype);
}

void nll2d_shape(ShapeCall& c) {
    const Tensor &self = c.tensor(c.param(0)), &target = c.tensor(c.param(1));
    MT_CHECK(target.ndim == 3,
             "only batches of spatial targets supported (3D tensors) but got targets of dimension: ", target.ndim);
    MT_CHECK(self.ndim == 4,
             "only batches of spatial inputs supported (4D tensors), but got input of dimension: ", self.ndim);
    MT_CHECK(self.size(0) == target.size(0) && self.size(2) == target.size(1) && self.size(3) == target.size(2),
             "size mismatch (got input: ", self.sizes(), " , target: ", target.sizes());
    check_nll(self, target, c.tensor_or_null(c.param(2)));
    c.output(0, c.integer(c.param(3)) == kNone ? target.sizes() : IntSpan(), self.dtype);
    c.output(1, IntSpan(), self.dtype);
}

void nll_forward_cpu(Call& c) {
    const Tensor& self = c.tensor(0);
    int64_t reduction = c.integer(3), ignored = c.integer(4);
    Scores s = scores_of(self);
    Targets target(c.tensor(1), s.classes, ignored);
    DType wide = broad_type(self.dtype);
    Converted loss(c.out(0), wide), total(c.out(1), wide);
    visit(PlainFloatTypes{}, wide, "nll_loss_out_frame", [&]<class T>() {
        // Few of the scores are read: they are converted one by one.
        TensorRef x = contiguous(self), w = c.is_none(2) ? TensorRef() : contiguous(c.tensor(2), wide);
        bool half = self.dtype == DType::Float16, brain = self.dtype == DType::BFloat16;
        auto score = [&](int64_t at) -> T {
            return half    ? static_cast<T>(static_cast<float>(x->data<Half>()[at]))
                   : brain ? static_cast<T>(static_cast<float>(x->data<BFloat16>()[at]))
                           : x->data<T>()[at];
        };
        const T* weight = w ? w->data<T>() : nullptr;
        T* y = loss.tensor().data<T>();
        double sum = 0, weights = 0;
        for (int64_t i = 0; i < s.n; i++)
            for (int64_t p = 0; p < s.places; p++) {
                int64_t k = i * s.places + p, t = target.index[k];
                T value = 0;
                if (t != ignored) {
                    T factor = weight ? weight[t] : T(1);
                    value = -score((i * s.classes + t) * s.places + p) * factor;
                    weights += factor;
                }
                sum += value;
                if (reduction == kNone) y[k] = value;
            }
        if (reduction != kNone) y[0] = static_cast<T>(reduction == kMean ? sum / weights : sum);
        *total.tensor().data<T>() = static_cast<T>(reduction == kNone ? 0 : weights);
    });
    loss.finish();
    total.finish();
}

// nll_loss_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight)
void nll_backward_cpu(Call& c) {
    const Tensor& self = c.tensor(1);
    int64_t reduction = c.integer(4), ignored = c.integer(5);
    MT_CHECK(self.ndim > 0, c.name(), ": expected scores of at least one dimension");
    Scores s = scores_of(self);
    int64_t graded = c.tensor(0).numel();
    MT_CHECK(c.tensor(2).numel() == s.n * s.places && (graded == 1 || graded == s.n * s.places) &&
                 c.tensor(6).numel() == 1 && (c.is_none(3) || c.tensor(3).numel() == s.classes),
             c.name(), ": gradient, target, weight or total_weight do not fit scores of sizes ", self.sizes());
    Targets target(c.tensor(2), s.classes, ignored);
    DType wide = broad_type(self.dtype);
    Converted result(c.out(), wide);
    Tensor& out = result.tensor();
    if (out.numel()) std::memset(out.raw(), 0, static_cast<size_t>(out.numel() * out.itemsize()));
    visit(PlainFloatTypes{}, wide, "nll_loss_backward_out_frame", [&]<class T>() {
        TensorRef g = contiguous(c.tensor(0), wide), w = c.is_none(3) ? TensorRef() : contiguous(c.tensor(3), wide);
        TensorRef total = contiguous(c.tensor(6), wide);
        const T *grad = g->data<T>(), *weight = w ? w->data<T>() : nullptr;
        T* dx = out.data<T>();
        T scale = reduction == kMean ? T(1) / *total->data<T>() : T(1);
        bool each = reduction == kNone && g->numel() == s.n * s.places && g->ndim > 0;
        for (int64_t i = 0; i < s.n; i++)
            for (int64_t p = 0; p < s.places; p++) {
                int64_t k = i * s.places + p, t = target.index[k];
                if (t != ignored)
                    dx[(i * s.classes + t) * s.places + p] = -grad[each ? k : 0] * (weight ? weight[t] : T(1)) * scale;
            }
    });
    result.finish();
}

// ---- fused: (self, target, weight, reduction, ignore_index, label_smoothing) -> (loss, statistics, total_weight) ----
//
// statistics[0] holds the largest score of each row, statistics[1] the logarithm of the sum of exponentials above it.

void cross_entropy_shape(ShapeCall& c) {
    const Tensor &self = c.tensor(c.param(0)), &target = c.tensor(c.param(1));
    MT_CHECK(self.ndim == 2 && target.ndim == 1 && self.size(0) == target.size(0),
             "size mismatch (got input: ", self.sizes(), ", target: ", target.sizes(), ")");
    check_nll(self, target, c.tensor_or_null(c.param(2)));
    DType wide = wide_type(self.dtype);
    c.output(0, c.integer(c.param(3)) == kNone ? target.sizes() : IntSpan(), self.dtype);
    c.output(1, {2, self.size(0)}, wide);
    c.output(2, IntSpan(), wide);
}

template <class X>
void cross_entropy_forward(Call& c, const Scores& s, const int64_t* target, int64_t ignored) {
    double smoothing = c.real(5);
    int64_t reduction = c.integer(3);
    DType wide = dtype_of<X>::value;
    TensorRef x = contiguous(c.tensor(0)), w = c.is_none(2) ? TensorRef() : contiguous(c.tensor(2), wide);
    const X* weight = w ? w->data<X>() : nullptr;
    X *max = c.out(1).data<X>(), *log_sum = max + s.n;
    std::vector<double> losses(static_cast<size_t>(s.n));
    parallel_for(s.n, grain_for(s.classes), [&](int64_t b, int64_t e) {
        RowIn<X> in(*x, s.classes);
        for (int64_t i = b; i < e; i++) {
            const X* row = in.read(i);
            X m = row_max(row, s.classes);
            double l = std::log(static_cast<double>(exp_sum<X>(row, nullptr, s.classes, m)));
            max[i] = m;
            log_sum[i] = static_cast<X>(l);
            int64_t t = target[i];
            if (t == ignored) {
                losses[static_cast<size_t>(i)] = 0;
                continue;
            }
            double value = (1 - smoothing) * (weight ? weight[t] : X(1)) * (l - (static_cast<double>(row[t]) - m));
            if (smoothing > 0) {
                X lifted = static_cast<X>(l) + m;
                X all = weight ? lane_sum<X>(s.classes, [=](int64_t j) { return weight[j] * (lifted - row[j]); })
                               : lane_sum<X>(s.classes, [=](int64_t j) { return lifted - row[j]; });
                value += smoothing / static_cast<double>(s.classes) * all;
            }
            losses[static_cast<size_t>(i)] = value;
        }
    });
    double sum = 0, weights = 0;
    Converted loss(c.out(0), wide);
    X* y = loss.tensor().data<X>();
    for (int64_t i = 0; i < s.n; i++) {
        sum += losses[static_cast<size_t>(i)];
        if (target[i] != ignored) weights += weight ? weight[target[i]] : X(1);
        if (reduction == kNone) y[i] = static_cast<X>(losses[static_cast<size_t>(i)]);
    }
    if (reduction != kNone) y[0] = static_cast<X>(reduction == kMean ? sum / weights : sum);
    loss.finish();
    *c.out(2).data<X>() = static_cast<X>(weights);
}

void cross_entropy_cpu(Call& c) {
    Scores s = scores_of(c.tensor(0));
    int64_t ignored = c.integer(4);
    Targets target(c.tensor(1), s.classes, ignored);
    visit(PlainFloatTypes{}, c.out(1).dtype, "cross_entropy",
          [&]<class X>() { cross_entropy_forward<X>(c, s, target.index, ignored); });
}

// (grad_output, self, target, weight, reduction, ignore_index, label_smoothing, statistics, total_weight)
template <class X>
void cross_entropy_backward(Call& c, const Scores& s, const int64_t* target, int64_t ignored) {
    X smoothing = static_cast<X>(c.real(6)), classes = static_cast<X>(s.classes);
    int64_t reduction = c.integer(4);
    DType wide = dtype_of<X>::value;
    TensorRef g = contiguous(c.tensor(0), wide), x = contiguous(c.tensor(1)),
              w = c.is_none(3) ? TensorRef() : contiguous(c.tensor(3), wide);
    TensorRef statistics = contiguous(c.tensor(7), wide), total = contiguous(c.tensor(8), wide);
    const X *weight = w ? w->data<X>() : nullptr, *grad = g->data<X>();
    const X *max = statistics->data<X>(), *log_sum = max + s.n;
    X scale = reduction == kMean ? X(1) / *total->data<X>() : X(1);
    X all_weights = classes;
    if (weight) all_weights = lane_sum<X>(s.classes, [=](int64_t j) { return weight[j]; });
    parallel_for(s.n, grain_for(s.classes), [&](int64_t b, int64_t e) {
        RowIn<X> in(*x, s.classes);
        RowOut<X> out(c.out(), s.classes);
        for (int64_t i = b; i < e; i++) {
            X* to = out.at(i);
            int64_t t = target[i];
            if (t == ignored) {
                std::fill(to, to + s.classes, X(0));
                out.done(i);
                continue;
            }
            const X* row = in.read(i);
            X factor = grad[reduction == kNone ? i : 0] * scale, even = factor * smoothing / classes;
            X hit = factor * (1 - smoothing) * (weight ? weight[t] : X(1));
            X share = hit + even * all_weights, m = max[i], l = log_sum[i];
            if (even == X(0))
                for (int64_t j = 0; j < s.classes; j++) to[j] = share * vec::exp(row[j] - m - l);
            else if (weight)
                for (int64_t j = 0; j < s.classes; j++) to[j] = share * vec::exp(row[j] - m - l) - even * weight[j];
            else
                for (int64_t j = 0; j < s.classes; j++) to[j] = share * vec::exp(row[j] - m - l) - even;
            to[t] -= hit;
            out.done(i);
        }
    });
}

void cross_entropy_backward_cpu(Call& c) {
    MT_CHECK(c.tensor(1).ndim == 2, "cross_entropy_backward: expected a matrix of scores");
    Scores s = scores_of(c.tensor(1));
    MT_CHECK(c.tensor(2).numel() == s.n && c.tensor(7).numel() == 2 * s.n && c.tensor(8).numel() == 1 &&
                 c.tensor(0).numel() == (c.integer(4) == kNone ? s.n : 1) &&
                 (c.is_none(3) || c.tensor(3).numel() == s.classes),
             "cross_entropy_backward: the arguments do not fit scores of sizes ", c.tensor(1).sizes());
    int64_t ignored = c.integer(5);
    Targets target(c.tensor(2), s.classes, ignored);
    if (c.out().numel() == 0) return;
    visit(PlainFloatTypes{}, wide_type(c.tensor(1).dtype), "cross_entropy_backward",
          [&]<class X>() { cross_entropy_backward<X>(c, s, target.index, ignored); });
}

}  // namespace

// PyTorch composes cross entropy; the last part gives the node its name.
const char* cross_entropy_node(const Call& c) {
    int64_t dims = c.tensor(0).ndim;
    if (c.real(5) > 0) return "AddBackward0";
    if (dims <= 2) return "NllLossBackward0";
    return c.integer(3) == kNone && dims != 4 ? "ViewBackward0" : "NllLoss2DBackward0";
}

KERNELS
{
    register_node_name("_cross_entropy", cross_entropy_node);
    shape("nll_loss", nll_shape);
    shape("nll_loss2d", nll2d_shape);
    shape("cross_entropy", cross_entropy_shape);
    structured("nll_loss_forward", nll_forward_cpu, kContiguousOutputs);
    structured("nll_loss2d_forward", nll_forward_cpu, kContiguousOutputs);
    structured("nll_loss_backward", nll_backward_cpu, kContiguousOutputs);
    structured("nll_loss2d_backward", nll_backward_cpu, kContiguousOutputs);
    structured("_cross_entropy", cross_entropy_cpu, kContiguousOutputs);
    structured("_cross_entropy_backward", cross_entropy_backward_cpu, kContiguousOutputs);
}

}  // namespace mt
