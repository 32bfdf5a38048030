// Layers of torch::nn that only move elements or put others between them: pads, sizes, pixels and channels.
#pragma once

#include <mindtorch/nn/functional.h>
#include <mindtorch/nn/module.h>
#include <mindtorch/nn/printing.h>

namespace torch {
namespace nn {

// Pads of D dimensions: two numbers for each, of the last one first.
#define MINDTORCH_PAD(Name, D, mode_of)                                                               \
    struct Name##D##dOptions {                                                                        \
        Name##D##dOptions(ExpandingArray<2 * D> padding) : padding_(padding) {}                       \
        TORCH_ARG(ExpandingArray<2 * D>, padding);                                                    \
    };                                                                                                \
    inline void show(Printed& p, const Name##D##dOptions& o) { p.add("padding", o.padding()); }       \
    class Name##D##dImpl : public Cloneable<Name##D##dImpl> {                                         \
      public:                                                                                         \
        Name##D##dImpl(ExpandingArray<2 * D> padding) : Name##D##dImpl(Name##D##dOptions(padding)) {} \
        explicit Name##D##dImpl(const Name##D##dOptions& given) : options(given) {}                   \
        MINDTORCH_PRETTY_PRINT(Name##D##d)                                                            \
        void reset() override {}                                                                      \
        at::Tensor forward(const at::Tensor& x) {                                                     \
            const auto& sides = *options.padding();                                                   \
            std::vector<int64_t> all(sides.begin(), sides.end());                                     \
            return functional::pad(x, functional::PadFuncOptions(all).mode(mode_of));                 \
        }                                                                                             \
        Name##D##dOptions options;                                                                    \
    };                                                                                                \
    TORCH_MODULE(Name##D##d)
MINDTORCH_PAD(ReflectionPad, 1, kReflect);
MINDTORCH_PAD(ReflectionPad, 2, kReflect);
MINDTORCH_PAD(ReflectionPad, 3, kReflect);
MINDTORCH_PAD(ReplicationPad, 1, kReplicate);
MINDTORCH_PAD(ReplicationPad, 2, kReplicate);
MINDTORCH_PAD(ReplicationPad, 3, kReplicate);
MINDTORCH_PAD(ZeroPad, 1, kConstant);
MINDTORCH_PAD(ZeroPad, 2, kConstant);
MINDTORCH_PAD(ZeroPad, 3, kConstant);
#undef MINDTORCH_PAD
#define MINDTORCH_CONSTANT_PAD(D)                                                                                   \
    struct ConstantPad##D##dOptions {                                                                               \
        ConstantPad##D##dOptions(ExpandingArray<2 * D> padding, double value) : padding_(padding), value_(value) {} \
        TORCH_ARG(ExpandingArray<2 * D>, padding);                                                                  \
        TORCH_ARG(double, value);                                                                                   \
    };                                                                                                              \
    inline void show(Printed& p, const ConstantPad##D##dOptions& o) {                                               \
        p.add("padding", o.padding()).add("value", o.value());                                                      \
    }                                                                                                               \
    class ConstantPad##D##dImpl : public Cloneable<ConstantPad##D##dImpl> {                                         \
      public:                                                                                                       \
        ConstantPad##D##dImpl(ExpandingArray<2 * D> padding, double value)                                          \
            : ConstantPad##D##dImpl(ConstantPad##D##dOptions(padding, value)) {}                                    \
        explicit ConstantPad##D##dImpl(const ConstantPad##D##dOptions& given) : options(given) {}                   \
        MINDTORCH_PRETTY_PRINT(ConstantPad##D##d)                                                                   \
        void reset() override {}                                                                                    \
        at::Tensor forward(const at::Tensor& x) {                                                                   \
            const auto& sides = *options.padding();                                                                 \
            std::vector<int64_t> all(sides.begin(), sides.end());                                                   \
            return functional::pad(x, functional::PadFuncOptions(all).mode(kConstant).value(options.value()));      \
        }                                                                                                           \
        ConstantPad##D##dOptions options;                                                                           \
    };                                                                                                              \
    TORCH_MODULE(ConstantPad##D##d)
MINDTORCH_CONSTANT_PAD(1);
MINDTORCH_CONSTANT_PAD(2);
MINDTORCH_CONSTANT_PAD(3);
#undef MINDTORCH_CONSTANT_PAD

struct UpsampleOptions {
    using mode_t = std::variant<enumtype::kNearest, enumtype::kLinear, enumtype::kBilinear, enumtype::kBicubic,
                                enumtype::kTrilinear>;
    TORCH_ARG(std::optional<std::vector<int64_t>>, size) = std::nullopt;
    TORCH_ARG(std::optional<std::vector<double>>, scale_factor) = std::nullopt;
    TORCH_ARG(mode_t, mode) = kNearest;
    TORCH_ARG(std::optional<bool>, align_corners) = std::nullopt;
};
inline void show(Printed& p, const UpsampleOptions& o) {
    if (o.scale_factor())
        p.field("scale_factor") << at::ArrayRef<double>(*o.scale_factor());
    else if (o.size())
        p.field("size") << at::IntArrayRef(*o.size());
    p.field("mode") << enumtype::get_enum_name(o.mode());
}
class UpsampleImpl : public Cloneable<UpsampleImpl> {
  public:
    explicit UpsampleImpl(UpsampleOptions given = {}) : options(std::move(given)) {}
    MINDTORCH_PRETTY_PRINT(Upsample)
    void reset() override {}
    at::Tensor forward(const at::Tensor& x) {
        functional::InterpolateFuncOptions o;
        o.size(options.size()).scale_factor(options.scale_factor()).align_corners(options.align_corners());
        std::visit([&](const auto& choice) { o.mode(choice); }, options.mode());
        return functional::interpolate(x, o);
    }
    UpsampleOptions options;
};
TORCH_MODULE(Upsample);

#define MINDTORCH_PIXELS(Name, function)                                         \
    class Name##Impl : public Cloneable<Name##Impl> {                            \
      public:                                                                    \
        explicit Name##Impl(const Name##Options& given) : options(given) {}      \
        MINDTORCH_PRETTY_PRINT(Name)                                             \
        void reset() override {}                                                 \
        at::Tensor forward(const at::Tensor& x) { return function(x, options); } \
        Name##Options options;                                                   \
    };                                                                           \
    TORCH_MODULE(Name)
MINDTORCH_PIXELS(PixelShuffle, functional::pixel_shuffle);
MINDTORCH_PIXELS(PixelUnshuffle, functional::pixel_unshuffle);
#undef MINDTORCH_PIXELS

struct UnflattenOptions {
    UnflattenOptions(int64_t dim, std::vector<int64_t> sizes) : dim_(dim), sizes_(std::move(sizes)) {}
    TORCH_ARG(int64_t, dim);
    TORCH_ARG(std::vector<int64_t>, sizes);
};
inline void show(Printed& p, const UnflattenOptions& o) {
    std::ostream& stream = p.add("dim", o.dim()).field("unflattened_size");
    const char* before = "{";
    for (int64_t size : o.sizes()) {
        stream << before << size;
        before = ", ";
    }
    stream << '}';
}
class UnflattenImpl : public Cloneable<UnflattenImpl> {
  public:
    UnflattenImpl(int64_t dim, std::vector<int64_t> sizes) : UnflattenImpl(UnflattenOptions(dim, std::move(sizes))) {}
    explicit UnflattenImpl(UnflattenOptions given) : options(std::move(given)) {}
    MINDTORCH_PRETTY_PRINT(Unflatten)
    void reset() override {}
    at::Tensor forward(const at::Tensor& x) { return x.unflatten(options.dim(), options.sizes()); }
    UnflattenOptions options;
};
TORCH_MODULE(Unflatten);

}  // namespace nn
}  // namespace torch
