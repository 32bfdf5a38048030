// Layers of torch::nn that normalise: batch, instance, layer and group norms.
#pragma once

#include <mindtorch/nn/functional.h>
#include <mindtorch/nn/module.h>
#include <mindtorch/nn/printing.h>

namespace torch {
namespace nn {

struct BatchNormOptions {
    BatchNormOptions(int64_t num_features) : num_features_(num_features) {}
    TORCH_ARG(int64_t, num_features);
    TORCH_ARG(double, eps) = 1e-5;
    TORCH_ARG(std::optional<double>, momentum) = 0.1;
    TORCH_ARG(bool, affine) = true;
    TORCH_ARG(bool, track_running_stats) = true;
};
// Batch and instance norms have the same fields.
template <class Options>
void print_norm(std::ostream& stream, const char* name, const Options& o) {
    Printed p(stream, name);
    p.add(nullptr, o.num_features()).add("eps", o.eps());
    const std::optional<double> momentum = o.momentum();
    momentum ? p.field("momentum") << *momentum : p.field("momentum") << "None";
    p.add("affine", o.affine()).add("track_running_stats", o.track_running_stats());
}
template <class Derived>
class BatchNormBase : public Cloneable<Derived> {
  public:
    explicit BatchNormBase(const BatchNormOptions& given) : options(given) { BatchNormBase::reset(); }
    void reset() override {
        const int64_t n = options.num_features();
        weight = this->register_parameter("weight", options.affine() ? at::ones({n}) : at::Tensor());
        bias = this->register_parameter("bias", options.affine() ? at::zeros({n}) : at::Tensor());
        const bool tracked = options.track_running_stats();
        running_mean = this->register_buffer("running_mean", tracked ? at::zeros({n}) : at::Tensor());
        running_var = this->register_buffer("running_var", tracked ? at::ones({n}) : at::Tensor());
        num_batches_tracked =
            this->register_buffer("num_batches_tracked", tracked ? at::zeros({}, at::ScalarType::Long) : at::Tensor());
    }
    at::Tensor forward(const at::Tensor& x) {
        static_cast<Derived*>(this)->_check_input_dim(x);
        std::optional<double> momentum = options.momentum().value_or(0.0);
        if (this->is_training() && num_batches_tracked.defined()) {
            num_batches_tracked += 1;
            if (!options.momentum()) momentum = 1.0 / num_batches_tracked.template item<double>();
        }
        return functional::batch_norm(x, running_mean, running_var,
                                      functional::BatchNormFuncOptions()
                                          .weight(weight)
                                          .bias(bias)
                                          .training(this->is_training() || !running_mean.defined())
                                          .momentum(momentum)
                                          .eps(options.eps()));
    }
    BatchNormOptions options;
    at::Tensor weight, bias, running_mean, running_var, num_batches_tracked;
};
#define MINDTORCH_BATCH_NORM(D, condition, text)                                                                    \
    using BatchNorm##D##dOptions = BatchNormOptions;                                                                \
    class BatchNorm##D##dImpl : public BatchNormBase<BatchNorm##D##dImpl> {                                         \
      public:                                                                                                       \
        BatchNorm##D##dImpl(const BatchNormOptions& given) : BatchNormBase(given) {}                                \
        void pretty_print(std::ostream& stream) const override { print_norm(stream, "BatchNorm" #D "d", options); } \
        void _check_input_dim(const at::Tensor& x) {                                                                \
            TORCH_CHECK(condition, "expected " text " input (got ", x.dim(), "D input)");                           \
        }                                                                                                           \
    };                                                                                                              \
    TORCH_MODULE(BatchNorm##D##d)
MINDTORCH_BATCH_NORM(1, x.dim() == 2 || x.dim() == 3, "2D or 3D");
MINDTORCH_BATCH_NORM(2, x.dim() == 4, "4D");
MINDTORCH_BATCH_NORM(3, x.dim() == 5, "5D");
#undef MINDTORCH_BATCH_NORM

struct LayerNormOptions {
    LayerNormOptions(std::vector<int64_t> shape) : normalized_shape_(std::move(shape)) {}
    TORCH_ARG(std::vector<int64_t>, normalized_shape);
    TORCH_ARG(double, eps) = 1e-5;
    TORCH_ARG(bool, elementwise_affine) = true;
};
inline void show(Printed& p, const LayerNormOptions& o) {
    p.add(nullptr, at::IntArrayRef(o.normalized_shape())).add("eps", o.eps());
    p.add("elementwise_affine", o.elementwise_affine());
}
class LayerNormImpl : public Cloneable<LayerNormImpl> {
  public:
    LayerNormImpl(std::vector<int64_t> shape) : LayerNormImpl(LayerNormOptions(std::move(shape))) {}
    explicit LayerNormImpl(LayerNormOptions given) : options(std::move(given)) { LayerNormImpl::reset(); }
    MINDTORCH_PRETTY_PRINT(LayerNorm)
    void reset() override {
        const bool on = options.elementwise_affine();
        weight = register_parameter("weight", on ? at::ones(options.normalized_shape()) : at::Tensor());
        bias = register_parameter("bias", on ? at::zeros(options.normalized_shape()) : at::Tensor());
    }
    at::Tensor forward(const at::Tensor& x) {
        return at::layer_norm(x, options.normalized_shape(), functional::given(weight), functional::given(bias),
                              options.eps());
    }
    LayerNormOptions options;
    at::Tensor weight, bias;
};
TORCH_MODULE(LayerNorm);

struct GroupNormOptions {
    GroupNormOptions(int64_t groups, int64_t channels) : num_groups_(groups), num_channels_(channels) {}
    TORCH_ARG(int64_t, num_groups);
    TORCH_ARG(int64_t, num_channels);
    TORCH_ARG(double, eps) = 1e-5;
    TORCH_ARG(bool, affine) = true;
};
inline void show(Printed& p, const GroupNormOptions& o) {
    p.add(nullptr, o.num_groups()).add(nullptr, o.num_channels()).add("eps", o.eps()).add("affine", o.affine());
}
class GroupNormImpl : public Cloneable<GroupNormImpl> {
  public:
    GroupNormImpl(int64_t groups, int64_t channels) : GroupNormImpl(GroupNormOptions(groups, channels)) {}
    explicit GroupNormImpl(const GroupNormOptions& given) : options(given) { GroupNormImpl::reset(); }
    MINDTORCH_PRETTY_PRINT(GroupNorm)
    void reset() override {
        const int64_t n = options.num_channels();
        weight = register_parameter("weight", options.affine() ? at::ones({n}) : at::Tensor());
        bias = register_parameter("bias", options.affine() ? at::zeros({n}) : at::Tensor());
    }
    at::Tensor forward(const at::Tensor& x) {
        return at::group_norm(x, options.num_groups(), functional::given(weight), functional::given(bias),
                              options.eps());
    }
    GroupNormOptions options;
    at::Tensor weight, bias;
};
TORCH_MODULE(GroupNorm);

struct InstanceNormOptions {
    InstanceNormOptions(int64_t num_features) : num_features_(num_features) {}
    TORCH_ARG(int64_t, num_features);
    TORCH_ARG(double, eps) = 1e-5;
    TORCH_ARG(double, momentum) = 0.1;
    TORCH_ARG(bool, affine) = false;
    TORCH_ARG(bool, track_running_stats) = false;
};
namespace functional {
struct InstanceNormFuncOptions {
    TORCH_ARG(at::Tensor, running_mean) = {};
    TORCH_ARG(at::Tensor, running_var) = {};
    TORCH_ARG(at::Tensor, weight) = {};
    TORCH_ARG(at::Tensor, bias) = {};
    TORCH_ARG(bool, use_input_stats) = true;
    TORCH_ARG(double, momentum) = 0.1;
    TORCH_ARG(double, eps) = 1e-5;
};
inline at::Tensor instance_norm(const at::Tensor& x, const InstanceNormFuncOptions& o = {}) {
    return at::instance_norm(x, given(o.weight()), given(o.bias()), given(o.running_mean()), given(o.running_var()),
                             o.use_input_stats(), o.momentum(), o.eps(), false);
}
}  // namespace functional
#define MINDTORCH_INSTANCE_NORM(D, condition, text)                                                                    \
    using InstanceNorm##D##dOptions = InstanceNormOptions;                                                             \
    class InstanceNorm##D##dImpl : public Cloneable<InstanceNorm##D##dImpl> {                                          \
      public:                                                                                                          \
        InstanceNorm##D##dImpl(const InstanceNormOptions& given) : options(given) { InstanceNorm##D##dImpl::reset(); } \
        void pretty_print(std::ostream& stream) const override { print_norm(stream, "InstanceNorm" #D "d", options); } \
        void reset() override {                                                                                        \
            const int64_t n = options.num_features();                                                                  \
            const bool tracked = options.track_running_stats();                                                        \
            weight = register_parameter("weight", options.affine() ? at::ones({n}) : at::Tensor());                    \
            bias = register_parameter("bias", options.affine() ? at::zeros({n}) : at::Tensor());                       \
            running_mean = register_buffer("running_mean", tracked ? at::zeros({n}) : at::Tensor());                   \
            running_var = register_buffer("running_var", tracked ? at::ones({n}) : at::Tensor());                      \
        }                                                                                                              \
        at::Tensor forward(const at::Tensor& x) {                                                                      \
            TORCH_CHECK(condition, "expected " text " input (got ", x.dim(), "D input)");                              \
            return functional::instance_norm(x, functional::InstanceNormFuncOptions()                                  \
                                                    .running_mean(running_mean)                                        \
                                                    .running_var(running_var)                                          \
                                                    .weight(weight)                                                    \
                                                    .bias(bias)                                                        \
                                                    .use_input_stats(is_training() || !options.track_running_stats())  \
                                                    .momentum(options.momentum())                                      \
                                                    .eps(options.eps()));                                              \
        }                                                                                                              \
        InstanceNormOptions options;                                                                                   \
        at::Tensor weight, bias, running_mean, running_var;                                                            \
    };                                                                                                                 \
    TORCH_MODULE(InstanceNorm##D##d)
MINDTORCH_INSTANCE_NORM(1, x.dim() == 3, "3D");
MINDTORCH_INSTANCE_NORM(2, x.dim() == 4, "4D");
MINDTORCH_INSTANCE_NORM(3, x.dim() == 5, "5D");
#undef MINDTORCH_INSTANCE_NORM

// Division by a power of what neighbouring channels have, whose squares' mean or sum is taken over `size` of them.
#define MINDTORCH_CHANNEL_NORM(Name, Number, number)                                            \
    struct Name##Options {                                                                      \
        Name##Options(int64_t size) : size_(size) {}                                            \
        TORCH_ARG(int64_t, size);                                                               \
        TORCH_ARG(double, alpha) = 1e-4;                                                        \
        TORCH_ARG(double, beta) = 0.75;                                                         \
        TORCH_ARG(Number, k) = 1;                                                               \
    };                                                                                          \
    inline void show(Printed& p, const Name##Options& o) {                                      \
        p.add(nullptr, o.size()).add("alpha", o.alpha()).add("beta", o.beta()).add("k", o.k()); \
    }                                                                                           \
    class Name##Impl : public Cloneable<Name##Impl> {                                           \
      public:                                                                                   \
        Name##Impl(int64_t size) : Name##Impl(Name##Options(size)) {}                           \
        explicit Name##Impl(const Name##Options& given) : options(given) {}                     \
        MINDTORCH_PRETTY_PRINT(Name)                                                            \
        void reset() override {}                                                                \
        at::Tensor forward(const at::Tensor& x) { return functional::number(x, options); }      \
        Name##Options options;                                                                  \
    };                                                                                          \
    TORCH_MODULE(Name)
namespace functional {
// The sums of squares of each channel and its neighbours, `before` and `after` it.
inline at::Tensor sums_of_neighbours(const at::Tensor& x, int64_t before, int64_t after) {
    const int64_t window = before + 1 + after;
    const at::Tensor squares = (x * x).flatten(2).permute({0, 2, 1});  // channels last: a window goes over them
    const at::Tensor means = at::avg_pool1d(at::constant_pad_nd(squares, {before, after}), window, 1);
    return means.permute({0, 2, 1}).reshape(x.sizes()) * window;
}
template <class Options>
at::Tensor divided_by(const at::Tensor& x, const at::Tensor& sums, const Options& o) {
    return x / (sums * (o.alpha() / static_cast<double>(o.size())) + o.k()).pow(o.beta());
}
template <class Options>
at::Tensor local_response_norm(const at::Tensor& x, const Options& o) {
    TORCH_CHECK(x.dim() >= 3, "Expected 3D or higher dimensionality input (got ", x.dim(), " dimensions)");
    if (x.numel() == 0) return x;
    return divided_by(x, sums_of_neighbours(x, o.size() / 2, (o.size() - 1) / 2), o);
}
// PyTorch's never leaves the first channel out of the sums once it has come into them.
template <class Options>
at::Tensor cross_map_norm(const at::Tensor& x, const Options& o) {
    TORCH_CHECK(x.dim() == 4, "CrossMapLRN2d: Expected input to be 4D, got ", x.dim(), "D instead.");
    const int64_t side = (o.size() - 1) / 2;
    const at::Tensor stays = at::arange(x.size(1), x.options()).ge(side + 1).to(x.scalar_type()).view({1, -1, 1, 1});
    const at::Tensor first = x.narrow(1, 0, 1);
    return divided_by(x, sums_of_neighbours(x, side, side) + first * first * stays, o);
}
}  // namespace functional
MINDTORCH_CHANNEL_NORM(LocalResponseNorm, double, local_response_norm);
MINDTORCH_CHANNEL_NORM(CrossMapLRN2d, int64_t, cross_map_norm);
#undef MINDTORCH_CHANNEL_NORM
namespace functional {
using LocalResponseNormFuncOptions = LocalResponseNormOptions;
}  // namespace functional

}  // namespace nn
}  // namespace torch
