// Further pools of torch::nn: by a power's mean, over drawn windows, and what undoes a pool by its indices.
#pragma once

#include <mindtorch/nn/functional.h>
#include <mindtorch/nn/module.h>
#include <mindtorch/nn/printing.h>

namespace torch {
namespace nn {

template <size_t D>
struct LPPoolOptions {
    LPPoolOptions(double norm_type, ExpandingArray<D> size)
        : norm_type_(norm_type), kernel_size_(size), stride_(size) {}
    TORCH_ARG(double, norm_type);
    TORCH_ARG(ExpandingArray<D>, kernel_size);
    TORCH_ARG(ExpandingArray<D>, stride);
    TORCH_ARG(bool, ceil_mode) = false;
};
template <size_t D>
struct MaxUnpoolOptions {
    MaxUnpoolOptions(ExpandingArray<D> size) : kernel_size_(size), stride_(size) {}
    TORCH_ARG(ExpandingArray<D>, kernel_size);
    TORCH_ARG(ExpandingArray<D>, stride);
    TORCH_ARG(ExpandingArray<D>, padding) = 0;
};
template <size_t D>
struct FractionalMaxPoolOptions {
    using ExpandingArrayDouble = ExpandingArray<D, double>;
    FractionalMaxPoolOptions(ExpandingArray<D> size) : kernel_size_(size) {}
    TORCH_ARG(ExpandingArray<D>, kernel_size);
    TORCH_ARG(std::optional<ExpandingArray<D>>, output_size) = std::nullopt;
    TORCH_ARG(std::optional<ExpandingArrayDouble>, output_ratio) = std::nullopt;
    TORCH_ARG(at::Tensor, _random_samples) = {};
};

namespace functional {

template <size_t D>
struct MaxUnpoolFuncOptions {
    MaxUnpoolFuncOptions(ExpandingArray<D> size) : kernel_size_(size), stride_(size) {}
    TORCH_ARG(ExpandingArray<D>, kernel_size);
    TORCH_ARG(ExpandingArray<D>, stride);
    TORCH_ARG(ExpandingArray<D>, padding) = 0;
    TORCH_ARG(std::optional<std::vector<int64_t>>, output_size) = std::nullopt;
};

// The mean of powers in each window, given by their sum, and its root.
template <size_t D>
at::Tensor root_of_sum(const at::Tensor& mean, const LPPoolOptions<D>& o) {
    double count = 1;
    for (int64_t k : *o.kernel_size()) count *= static_cast<double>(k);
    return (mean.sign() * mean.abs().relu() * count).pow(1.0 / o.norm_type());
}
#define MINDTORCH_LP_POOL(D)                                                                                        \
    using LPPool##D##dFuncOptions = LPPoolOptions<D>;                                                               \
    inline at::Tensor lp_pool##D##d(const at::Tensor& x, const LPPool##D##dFuncOptions& o) {                        \
        return root_of_sum(at::avg_pool##D##d(x.pow(o.norm_type()), o.kernel_size(), o.stride(), 0, o.ceil_mode()), \
                           o);                                                                                      \
    }                                                                                                               \
    using MaxUnpool##D##dFuncOptions = MaxUnpoolFuncOptions<D>;
MINDTORCH_LP_POOL(1)
MINDTORCH_LP_POOL(2)
MINDTORCH_LP_POOL(3)
#undef MINDTORCH_LP_POOL

// What an unpool of `x` gives, or the size asked for if a pool could have made `x` of it.
template <size_t D>
std::vector<int64_t> unpooled_size(const at::Tensor& x, const MaxUnpoolFuncOptions<D>& o) {
    std::vector<int64_t> least(D);
    for (size_t d = 0; d < D; d++)
        least[d] = (x.size(static_cast<int64_t>(d) - static_cast<int64_t>(D)) - 1) * o.stride()[d] +
                   o.kernel_size()[d] - 2 * o.padding()[d];
    if (!o.output_size()) return least;
    std::vector<int64_t> asked = *o.output_size();
    if (asked.size() == D + 2) asked.erase(asked.begin(), asked.begin() + 2);
    TORCH_CHECK(asked.size() == D, "output_size should be a sequence containing ", D, " or ", D + 2,
                " elements, but it has a length of '", o.output_size()->size(), "'");
    for (size_t d = 0; d < D; d++)
        TORCH_CHECK(least[d] - o.stride()[d] < asked[d] && asked[d] < least[d] + o.stride()[d], "invalid output_size ",
                    at::IntArrayRef(asked), " (dim ", d, " must be between ", least[d] - o.stride()[d], " and ",
                    least[d] + o.stride()[d], ")");
    return asked;
}
inline at::Tensor max_unpool1d(const at::Tensor& x, const at::Tensor& indices, const MaxUnpool1dFuncOptions& o) {
    std::vector<int64_t> size = unpooled_size(x, o);
    size.push_back(1);
    return at::max_unpool2d(x.unsqueeze(-1), indices.unsqueeze(-1), size).squeeze(-1);
}
inline at::Tensor max_unpool2d(const at::Tensor& x, const at::Tensor& indices, const MaxUnpool2dFuncOptions& o) {
    return at::max_unpool2d(x, indices, unpooled_size(x, o));
}
inline at::Tensor max_unpool3d(const at::Tensor& x, const at::Tensor& indices, const MaxUnpool3dFuncOptions& o) {
    return at::max_unpool3d(x, indices, unpooled_size(x, o), o.stride(), o.padding());
}

#define MINDTORCH_FRACTIONAL(D)                                                                                     \
    using FractionalMaxPool##D##dFuncOptions = FractionalMaxPoolOptions<D>;                                         \
    inline std::tuple<at::Tensor, at::Tensor> fractional_max_pool##D##d_with_indices(                               \
        const at::Tensor& x, const FractionalMaxPool##D##dFuncOptions& o) {                                         \
        TORCH_CHECK(o.output_size() || o.output_ratio(), "fractional_max_pool" #D "d requires specifying ",         \
                    "either an output_size or an output_ratio");                                                    \
        ExpandingArray<D> size(0);                                                                                  \
        if (o.output_size()) size = *o.output_size();                                                               \
        for (int64_t d = 0; !o.output_size() && d < D; d++)                                                         \
            size[d] = static_cast<int64_t>(static_cast<double>(x.size(d - D)) * (*o.output_ratio())[d]);            \
        at::Tensor samples = o._random_samples();                                                                   \
        const bool batch = x.dim() == D + 2;                                                                        \
        if (!samples.defined())                                                                                     \
            samples = at::rand({batch ? x.size(0) : 1, x.size(-1 - D), D},                                          \
                               at::TensorOptions().dtype(x.scalar_type()).device(x.device()));                      \
        return at::fractional_max_pool##D##d(x, o.kernel_size(), size, samples);                                    \
    }                                                                                                               \
    inline at::Tensor fractional_max_pool##D##d(const at::Tensor& x, const FractionalMaxPool##D##dFuncOptions& o) { \
        return std::get<0>(fractional_max_pool##D##d_with_indices(x, o));                                           \
    }
MINDTORCH_FRACTIONAL(2)
MINDTORCH_FRACTIONAL(3)
#undef MINDTORCH_FRACTIONAL

}  // namespace functional

template <size_t D>
void show(Printed& p, const LPPoolOptions<D>& o) {
    p.add("norm_type", o.norm_type()).add("kernel_size", o.kernel_size()).add("stride", o.stride());
    p.add("ceil_mode", o.ceil_mode());
}
template <size_t D>
void show(Printed& p, const MaxUnpoolOptions<D>& o) {
    p.add("kernel_size", o.kernel_size()).add("stride", o.stride()).add("padding", o.padding());
}
#define MINDTORCH_POOLS(D)                                                                                   \
    using LPPool##D##dOptions = LPPoolOptions<D>;                                                            \
    class LPPool##D##dImpl : public Cloneable<LPPool##D##dImpl> {                                            \
      public:                                                                                                \
        LPPool##D##dImpl(double norm_type, ExpandingArray<D> size)                                           \
            : LPPool##D##dImpl(LPPoolOptions<D>(norm_type, size)) {}                                         \
        explicit LPPool##D##dImpl(const LPPoolOptions<D>& given) : options(given) {}                         \
        MINDTORCH_PRETTY_PRINT(LPPool##D##d)                                                                 \
        void reset() override {}                                                                             \
        at::Tensor forward(const at::Tensor& x) { return functional::lp_pool##D##d(x, options); }            \
        LPPoolOptions<D> options;                                                                            \
    };                                                                                                       \
    TORCH_MODULE(LPPool##D##d);                                                                              \
    using MaxUnpool##D##dOptions = MaxUnpoolOptions<D>;                                                      \
    class MaxUnpool##D##dImpl : public Cloneable<MaxUnpool##D##dImpl> {                                      \
      public:                                                                                                \
        MaxUnpool##D##dImpl(ExpandingArray<D> size) : MaxUnpool##D##dImpl(MaxUnpoolOptions<D>(size)) {}      \
        explicit MaxUnpool##D##dImpl(const MaxUnpoolOptions<D>& given) : options(given) {}                   \
        MINDTORCH_PRETTY_PRINT(MaxUnpool##D##d)                                                              \
        void reset() override {}                                                                             \
        at::Tensor forward(const at::Tensor& x, const at::Tensor& indices,                                   \
                           const std::optional<std::vector<int64_t>>& output_size = std::nullopt) {          \
            functional::MaxUnpoolFuncOptions<D> o(options.kernel_size());                                    \
            return functional::max_unpool##D##d(                                                             \
                x, indices, o.stride(options.stride()).padding(options.padding()).output_size(output_size)); \
        }                                                                                                    \
        MaxUnpoolOptions<D> options;                                                                         \
                                                                                                             \
      protected:                                                                                             \
        FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(std::optional<std::vector<int64_t>>())})                       \
    };                                                                                                       \
    TORCH_MODULE(MaxUnpool##D##d)
MINDTORCH_POOLS(1);
MINDTORCH_POOLS(2);
MINDTORCH_POOLS(3);
#undef MINDTORCH_POOLS
#define MINDTORCH_FRACTIONAL(D)                                                                               \
    using FractionalMaxPool##D##dOptions = FractionalMaxPoolOptions<D>;                                       \
    class FractionalMaxPool##D##dImpl : public Cloneable<FractionalMaxPool##D##dImpl> {                       \
      public:                                                                                                 \
        FractionalMaxPool##D##dImpl(ExpandingArray<D> size)                                                   \
            : FractionalMaxPool##D##dImpl(FractionalMaxPoolOptions<D>(size)) {}                               \
        explicit FractionalMaxPool##D##dImpl(FractionalMaxPoolOptions<D> given) : options(std::move(given)) { \
            FractionalMaxPool##D##dImpl::reset();                                                             \
        }                                                                                                     \
        MINDTORCH_PRETTY_PRINT(FractionalMaxPool##D##d)                                                       \
        void reset() override {                                                                               \
            const auto& size = options.output_size();                                                         \
            const auto& ratio = options.output_ratio();                                                       \
            TORCH_CHECK(size || ratio, "FractionalMaxPool" #D                                                 \
                                       "d requires specifying either an output size, or a "                   \
                                       "pooling ratio");                                                      \
            TORCH_CHECK(!size || !ratio, "only one of output_size and output_ratio may be specified");        \
            for (size_t d = 0; ratio && d < D; d++)                                                           \
                TORCH_CHECK((*ratio)[d] > 0 && (*ratio)[d] < 1, "output_ratio must be between 0 and 1 (got ", \
                            at::ArrayRef<double>(*ratio), ")");                                               \
            _random_samples = register_buffer("_random_samples", options._random_samples());                  \
        }                                                                                                     \
        at::Tensor forward(const at::Tensor& x) { return std::get<0>(forward_with_indices(x)); }              \
        std::tuple<at::Tensor, at::Tensor> forward_with_indices(const at::Tensor& x) {                        \
            return functional::fractional_max_pool##D##d_with_indices(                                        \
                x, FractionalMaxPoolOptions<D>(options)._random_samples(_random_samples));                    \
        }                                                                                                     \
        FractionalMaxPoolOptions<D> options;                                                                  \
        at::Tensor _random_samples;                                                                           \
    };                                                                                                        \
    TORCH_MODULE(FractionalMaxPool##D##d)
MINDTORCH_FRACTIONAL(2);
MINDTORCH_FRACTIONAL(3);
#undef MINDTORCH_FRACTIONAL

}  // namespace nn
}  // namespace torch
