// How layers of torch::nn are printed: their name, and the options that PyTorch shows.
#pragma once

#include <mindtorch/nn/functional.h>

namespace torch {
namespace nn {

// Writes `torch::nn::Name(`, fields with commas between, and `)` at its end.
class Printed {
  public:
    Printed(std::ostream& stream, const char* name)
        : stream_(stream << std::boolalpha << "torch::nn::" << name << '(') {}
    ~Printed() { stream_ << ')'; }
    Printed(const Printed&) = delete;
    Printed& operator=(const Printed&) = delete;

    // The stream, for a value that follows `name=`, or stands alone.
    std::ostream& field(const char* name = nullptr) {
        stream_ << (first_ ? "" : ", ");
        first_ = false;
        return name ? stream_ << name << '=' : stream_;
    }
    Printed& add(const char* name, double value) { return field(name) << value, *this; }
    Printed& add(const char* name, int64_t value) { return field(name) << value, *this; }
    Printed& add(const char* name, bool value) { return field(name) << value, *this; }
    Printed& add(const char* name, at::IntArrayRef value) { return field(name) << value, *this; }
    template <size_t D>
    Printed& add(const char* name, const ExpandingArray<D>& value) {
        return D == 1 ? add(name, (*value)[0]) : add(name, at::IntArrayRef(*value));
    }
    template <size_t D>
    Printed& add(const char* name, const ExpandingArrayWithOptionalElem<D>& value) {
        const char* before = "[";
        std::ostream& stream = field(name);
        for (const std::optional<int64_t>& size : *value) {
            stream << before;
            size ? stream << *size : stream << "None";
            before = ", ";
        }
        stream << ']';
        return *this;
    }
    // Only where it is not as it is by itself.
    Printed& if_on(const char* name, bool value) { return value ? add(name, value) : *this; }
    template <class T>
    Printed& if_given(const char* name, const std::optional<T>& value) {
        return value ? add(name, *value) : *this;
    }
    // Of an array: whether all are `usual`.
    template <size_t D>
    Printed& unless(const char* name, const ExpandingArray<D>& value, int64_t usual) {
        for (int64_t v : *value)
            if (v != usual) return add(name, value);
        return *this;
    }

  private:
    std::ostream& stream_;
    bool first_ = true;
};

// The fields of options; those without a function of their own show none.
template <class Options>
void show(Printed&, const Options&) {}
template <size_t D>
void show(Printed& p, const MaxPoolOptions<D>& o) {
    p.add("kernel_size", o.kernel_size()).add("stride", o.stride()).add("padding", o.padding());
    p.add("dilation", o.dilation()).add("ceil_mode", o.ceil_mode());
}
template <size_t D>
void show(Printed& p, const AvgPoolOptions<D>& o) {
    p.add("kernel_size", o.kernel_size()).add("stride", o.stride()).add("padding", o.padding());
}
template <size_t D>
void show(Printed& p, const AdaptivePoolOptions<D>& o) {
    p.add("output_size", o.output_size());
}
inline void show(Printed& p, const FoldOptions& o) {
    p.add("output_size", o.output_size()).add("kernel_size", o.kernel_size()).add("dilation", o.dilation());
    p.add("padding", o.padding()).add("stride", o.stride());
}
inline void show(Printed& p, const UnfoldOptions& o) {
    p.add("kernel_size", o.kernel_size()).add("dilation", o.dilation());
    p.add("padding", o.padding()).add("stride", o.stride());
}
inline void show(Printed& p, const DropoutOptions& o) { p.add("p", o.p()).add("inplace", o.inplace()); }
inline void show(Printed& p, const SoftmaxOptions& o) { p.add("dim", o.dim()); }
inline void show(Printed& p, const ReLUOptions& o) { p.if_on("inplace", o.inplace()); }
inline void show(Printed& p, const ReLU6Options& o) { p.if_on("inplace", o.inplace()); }
inline void show(Printed& p, const SELUOptions& o) { p.if_on("inplace", o.inplace()); }
inline void show(Printed& p, const ELUOptions& o) { p.add("alpha", o.alpha()).if_on("inplace", o.inplace()); }
inline void show(Printed& p, const CELUOptions& o) { p.add("alpha", o.alpha()).if_on("inplace", o.inplace()); }
inline void show(Printed& p, const LeakyReLUOptions& o) {
    p.add("negative_slope", o.negative_slope()).if_on("inplace", o.inplace());
}
inline void show(Printed& p, const RReLUOptions& o) {
    p.add("lower", o.lower()).add("upper", o.upper()).if_on("inplace", o.inplace());
}
inline void show(Printed& p, const HardtanhOptions& o) {
    p.add("min_val", o.min_val()).add("max_val", o.max_val()).if_on("inplace", o.inplace());
}
inline void show(Printed& p, const GLUOptions& o) { p.add("dim", o.dim()); }
inline void show(Printed& p, const SoftplusOptions& o) { p.add("beta", o.beta()).add("threshold", o.threshold()); }
inline void show(Printed& p, const HardshrinkOptions& o) { p.add(nullptr, o.lambda()); }
inline void show(Printed& p, const SoftshrinkOptions& o) { p.add(nullptr, o.lambda()); }
inline void show(Printed& p, const ThresholdOptions& o) {
    p.add("threshold", o.threshold()).add("value", o.value()).if_on("inplace", o.inplace());
}
inline void show(Printed& p, const PixelShuffleOptions& o) { p.add("upscale_factor", o.upscale_factor()); }
inline void show(Printed& p, const PixelUnshuffleOptions& o) { p.add("downscale_factor", o.downscale_factor()); }
inline void show(Printed& p, const CosineSimilarityOptions& o) { p.add("dim", o.dim()).add("eps", o.eps()); }
inline void show(Printed& p, const PairwiseDistanceOptions& o) {
    p.add("p", o.p()).add("eps", o.eps()).add("keepdim", o.keepdim());
}

template <class Options>
void print(std::ostream& stream, const char* name, const Options& options) {
    Printed p(stream, name);
    show(p, options);
}
// PyTorch's have no brackets.
inline void print(std::ostream& stream, const char* name, const SmoothL1LossOptions&) {
    stream << "torch::nn::" << name;
}
inline void print(std::ostream& stream, const char* name, const HuberLossOptions&) { stream << "torch::nn::" << name; }
// What layers with options print.
#define MINDTORCH_PRETTY_PRINT(Name) \
    void pretty_print(std::ostream& stream) const override { torch::nn::print(stream, #Name, options); }

}  // namespace nn
}  // namespace torch
