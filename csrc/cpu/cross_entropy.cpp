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
    MT_CHECK(!weight || weight->dtype == self.dtype, "expected scalar type ", dtype_class_name(self.dtype),
             " but found ", dtype_class_name(weight ? weight->dtype : self.dtype));
    MT_CHECK(!weight || (weight->ndim == 1 && weight->numel() == classes),
             "weight tensor should be defined either for all ", classes,
             " classes or no classes but got weight tensor of shape: ", weight ? weight->sizes() : IntSpan());
}

// ---- nll_loss: (self, target, weight, reduction, ignore_index) -> (output, total_weight) ----

void nll_shape(ShapeCall& c, const Tensor& self, const Tensor& target, const Tensor* weight, int64_t reduction) {
    MT_CHECK(self.ndim > 0 && self.ndim <= 2, "input tensor should be 1D or 2D");
    MT_CHECK(target.ndim <= 1, "0D or 1D target tensor expected, multi-target not supported");
    bool single = self.ndim == 1;
    MT_CHECK_VALUE(!single || target.numel() == 1,
                   "For 1D input, 1D target must have size 1, but got target size: ", target.numel());
    MT_CHECK(single || self.size(0) == target.size(0), "size mismatch (got input: ", self.sizes(),
             ", target: ", target.sizes(), ")");
    check_nll(self, target, weight);
    bool each = reduction == kNone && self.ndim == 2;
    c.output(0, each ? IntSpan(target.sizes()) : IntSpan(), self.dtype);
    c.output(1, IntSpan(), self.dtype);
}

void nll2d_shape(ShapeCall& c, const Tensor& self, const Tensor& target, const Tensor* weight, int64_t reduction) {
    MT_CHECK(target.ndim == 3,
             "only batches of spatial targets supported (3D tensors) but got targets of dimension: ", target.ndim);
    MT_CHECK(self.ndim == 4,
             "only batches of spatial inputs supported (4D tensors), but got input of dimension: ", self.ndim);
    MT_CHECK(self.size(0) == target.size(0) && self.size(2) == target.size(1) && self.size(3) == target.size(2),
             "size mismatch (got input: ", self.sizes(), " , target: ", target.sizes());
    check_nll(self, target, weight);
    c.output(0, reduction == kNone ? target.sizes() : IntSpan(), self.dtype);
    c.output(1, IntSpan(), self.dtype);
}

void nll_forward_cpu(Out out, const Tensor& self, const Tensor& given_target, const Tensor* weight, int64_t reduction,
                     int64_t ignored) {
    Scores s = scores_of(self);
    Targets target(given_target, s.classes, ignored);
    DType wide = broad_type(self.dtype);
    Converted loss(out[0], wide), total(out[1], wide);
    visit(PlainFloatTypes{}, wide, "nll_loss_out_frame", [&]<class T>() {
        // Few of the scores are read: they are converted one by one.
        TensorRef x = contiguous(self), w = !weight ? TensorRef() : contiguous(*weight, wide);
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

void nll_backward_cpu(Out output, const Tensor& grad_output, const Tensor& self, const Tensor& given_target,
                      const Tensor* given_weight, int64_t reduction, int64_t ignored, const Tensor& total_weight) {
    MT_CHECK(self.ndim > 0, output.name(), ": expected scores of at least one dimension");
    Scores s = scores_of(self);
    int64_t graded = grad_output.numel();
    MT_CHECK(given_target.numel() == s.n * s.places && (graded == 1 || graded == s.n * s.places) &&
                 total_weight.numel() == 1 && (!given_weight || given_weight->numel() == s.classes),
             output.name(), ": gradient, target, weight or total_weight do not fit scores of sizes ", self.sizes());
    Targets target(given_target, s.classes, ignored);
    DType wide = broad_type(self.dtype);
    Converted result(output, wide);
    Tensor& out = result.tensor();
    if (out.numel()) std::memset(out.raw(), 0, static_cast<size_t>(out.numel() * out.itemsize()));
    visit(PlainFloatTypes{}, wide, "nll_loss_backward_out_frame", [&]<class T>() {
        TensorRef g = contiguous(grad_output, wide), w = !given_weight ? TensorRef() : contiguous(*given_weight, wide);
        TensorRef total = contiguous(total_weight, wide);
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

void cross_entropy_shape(ShapeCall& c, const Tensor& self, const Tensor& target, const Tensor* weight,
                         int64_t reduction) {
    MT_CHECK(self.ndim == 2 && target.ndim == 1 && self.size(0) == target.size(0),
             "size mismatch (got input: ", self.sizes(), ", target: ", target.sizes(), ")");
    check_nll(self, target, weight);
    DType wide = wide_type(self.dtype);
    c.output(0, reduction == kNone ? target.sizes() : IntSpan(), self.dtype);
    c.output(1, {2, self.size(0)}, wide);
    c.output(2, IntSpan(), wide);
}

template <class X>
void cross_entropy_forward(Out out, const Tensor& self, const Scores& s, const int64_t* target,
                           const Tensor* given_weight, int64_t reduction, int64_t ignored, double smoothing) {
    DType wide = dtype_of<X>::value;
    TensorRef x = contiguous(self), w = given_weight ? contiguous(*given_weight, wide) : TensorRef();
    const X* weight = w ? w->data<X>() : nullptr;
    X *max = out[1].data<X>(), *log_sum = max + s.n;
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
    Converted loss(out[0], wide);
    X* y = loss.tensor().data<X>();
    for (int64_t i = 0; i < s.n; i++) {
        sum += losses[static_cast<size_t>(i)];
        if (target[i] != ignored) weights += weight ? weight[target[i]] : X(1);
        if (reduction == kNone) y[i] = static_cast<X>(losses[static_cast<size_t>(i)]);
    }
    if (reduction != kNone) y[0] = static_cast<X>(reduction == kMean ? sum / weights : sum);
    loss.finish();
    *out[2].data<X>() = static_cast<X>(weights);
}

void cross_entropy_cpu(Out out, const Tensor& self, const Tensor& given_target, const Tensor* weight, int64_t reduction,
                       int64_t ignored, double label_smoothing) {
    Scores s = scores_of(self);
    Targets target(given_target, s.classes, ignored);
    visit(PlainFloatTypes{}, out[1].dtype, "cross_entropy", [&]<class X>() {
        cross_entropy_forward<X>(out, self, s, target.index, weight, reduction, ignored, label_smoothing);
    });
}

template <class X>
void cross_entropy_backward(Tensor& result, const Tensor& grad_output, const Tensor& self, const Scores& s,
                            const int64_t* target, const Tensor* given_weight, int64_t reduction, int64_t ignored,
                            double label_smoothing, const Tensor& given_statistics, const Tensor& total_weight) {
    X smoothing = static_cast<X>(label_smoothing), classes = static_cast<X>(s.classes);
    DType wide = dtype_of<X>::value;
    TensorRef g = contiguous(grad_output, wide), x = contiguous(self),
              w = given_weight ? contiguous(*given_weight, wide) : TensorRef();
    TensorRef statistics = contiguous(given_statistics, wide), total = contiguous(total_weight, wide);
    const X *weight = w ? w->data<X>() : nullptr, *grad = g->data<X>();
    const X *max = statistics->data<X>(), *log_sum = max + s.n;
    X scale = reduction == kMean ? X(1) / *total->data<X>() : X(1);
    X all_weights = classes;
    if (weight) all_weights = lane_sum<X>(s.classes, [=](int64_t j) { return weight[j]; });
    parallel_for(s.n, grain_for(s.classes), [&](int64_t b, int64_t e) {
        RowIn<X> in(*x, s.classes);
        RowOut<X> out(result, s.classes);
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
                for (int64_t j = 0; j < s.classes; j++) to[j] = share * exp_or_zero(row[j] - m - l);
            else if (weight)
                for (int64_t j = 0; j < s.classes; j++) to[j] = share * exp_or_zero(row[j] - m - l) - even * weight[j];
            else
                for (int64_t j = 0; j < s.classes; j++) to[j] = share * exp_or_zero(row[j] - m - l) - even;
            to[t] -= hit;
            out.done(i);
        }
    });
}

void cross_entropy_backward_cpu(Out out, const Tensor& grad_output, const Tensor& self, const Tensor& given_target,
                                const Tensor* weight, int64_t reduction, int64_t ignored, double label_smoothing,
                                const Tensor& statistics, const Tensor& total_weight) {
    MT_CHECK(self.ndim == 2, "cross_entropy_backward: expected a matrix of scores");
    Scores s = scores_of(self);
    MT_CHECK(given_target.numel() == s.n && statistics.numel() == 2 * s.n && total_weight.numel() == 1 &&
                 grad_output.numel() == (reduction == kNone ? s.n : 1) && (!weight || weight->numel() == s.classes),
             "cross_entropy_backward: the arguments do not fit scores of sizes ", self.sizes());
    Targets target(given_target, s.classes, ignored);
    if (out->numel() == 0) return;
    visit(PlainFloatTypes{}, wide_type(self.dtype), "cross_entropy_backward", [&]<class X>() {
        cross_entropy_backward<X>(out, grad_output, self, s, target.index, weight, reduction, ignored, label_smoothing,
                                  statistics, total_weight);
    });
}

}  // namespace

// PyTorch composes cross entropy; the last part gives the node its name.
const char* cross_entropy_node(const Tensor& self, const Tensor& target, const Tensor* weight, int64_t reduction,
                               int64_t ignored, double label_smoothing) {
    const int64_t dims = self.ndim;
    if (label_smoothing > 0) return "AddBackward0";
    if (dims <= 2) return "NllLossBackward0";
    return reduction == kNone && dims != 4 ? "ViewBackward0" : "NllLoss2DBackward0";
}

KERNELS
{
    node_name<cross_entropy_node>("_cross_entropy");
    shape<nll_shape>("nll_loss");
    shape<nll2d_shape>("nll_loss2d");
    shape<cross_entropy_shape>("cross_entropy");
    structured<nll_forward_cpu>("nll_loss_forward", kContiguousOutputs);
    structured<nll_forward_cpu>("nll_loss2d_forward", kContiguousOutputs);
    structured<nll_backward_cpu>("nll_loss_backward", kContiguousOutputs);
    structured<nll_backward_cpu>("nll_loss2d_backward", kContiguousOutputs);
    structured<cross_entropy_cpu>("_cross_entropy", kContiguousOutputs);
    structured<cross_entropy_backward_cpu>("_cross_entropy_backward", kContiguousOutputs);
}

}  // namespace mt
