// Operators that fill tensors with random numbers, as templates over the generator that makes them: the checks and
// shapes of at::native::templates, and beside them its kernels for the CPU.
#pragma once

#include <mindtorch/dispatch.h>
#include <mindtorch/distributions.h>
#include <mindtorch/functions.h>
#include <mindtorch/iterator.h>

#include <cmath>
#include <limits>
#include <mutex>

namespace at {
namespace native {
namespace templates {

// The nearest whole number to a bound that T holds too: above it, or below.
template <class T>
int64_t update_from(int64_t from) {
    for (int64_t step = 1; static_cast<int64_t>(static_cast<T>(from)) < from; step *= 2) from += step;
    return static_cast<int64_t>(static_cast<T>(from));
}
template <class T>
int64_t update_to(int64_t to) {
    for (int64_t step = 1; static_cast<int64_t>(static_cast<T>(to - 1)) >= to; step *= 2) to -= step;
    return to;
}
template <class T>
void check_bound(T value, const char* name, double least, double most, const caffe2::TypeMeta& type) {
    TORCH_CHECK(static_cast<double>(value) >= least && static_cast<double>(value) <= most, name,
                " is out of bounds for ", type);
}
inline void check_from_to_in_range(int64_t from, int64_t to, caffe2::TypeMeta type) {
    const ScalarType t = type.toScalarType();
    if (c10::isFloatingType(t)) {
        AT_DISPATCH_FLOATING_TYPES_AND2(kHalf, kBFloat16, t, "check_random_fp_bounds", [&] {
            const auto least = static_cast<double>(std::numeric_limits<scalar_t>::lowest());
            const auto most = static_cast<double>(std::numeric_limits<scalar_t>::max());
            check_bound(from, "from", least, most, type);
            check_bound(to, "to - 1", least, most, type);
            constexpr int digits = std::numeric_limits<scalar_t>::digits;
            for (const auto& bound : {std::pair<const char*, int64_t>{"from", from}, {"to - 1", to}})
                if (bound.second < -(int64_t(1) << digits) || bound.second > int64_t(1) << digits)
                    TORCH_WARN(bound.first, " is out of bounds [-(2^", digits, "), 2^", digits,
                               "]. Due to precision limitations ", type,
                               " can support discrete uniform distribution only within this range. This warning will "
                               "become an error in version 1.7 release, please fix the code in advance");
        });
    } else {
        TORCH_CHECK(c10::isIntegralType(t, true),
                    "check_random_bounds handles only integral, floating-point and boolean types");
        AT_DISPATCH_INTEGRAL_TYPES_AND(kBool, t, "check_random_integral_bounds", [&] {
            const auto least = static_cast<int64_t>(std::numeric_limits<scalar_t>::lowest());
            const auto most = static_cast<int64_t>(std::numeric_limits<scalar_t>::max());
            TORCH_CHECK(from >= least && from <= most, "from is out of bounds for ", type);
            TORCH_CHECK(to >= least && to <= most, "to - 1 is out of bounds for ", type);
        });
    }
}

template <template <class> class Kernel, class G>
Tensor& random_impl(Tensor& self, const std::optional<Generator>& generator) {
    if (self.numel() == 0) return self;
    auto iter = TensorIterator::borrowing_nullary_op(self);
    Kernel<G>()(iter, generator);
    return self;
}
template <template <class> class Kernel, class G>
Tensor& random_from_to_impl(Tensor& self, int64_t from, std::optional<int64_t> to_opt,
                            const std::optional<Generator>& generator) {
    auto iter = TensorIterator::borrowing_nullary_op(self);
    const ScalarType type = self.scalar_type();
    if (to_opt) {  // [from, to)
        int64_t to = *to_opt;
        TORCH_CHECK(from < to, "random_ expects 'from' to be less than 'to', but got from=", from, " >= to=", to);
        if (c10::isFloatingType(type)) {
            AT_DISPATCH_FLOATING_TYPES_AND2(kHalf, kBFloat16, type, "random_update_from_to", [&] {
                from = update_from<scalar_t>(from);
                to = update_to<scalar_t>(to);
                TORCH_CHECK(from < to,
                            "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
                            "from=",
                            from, " >= to=", to);
            });
        }
        check_from_to_in_range(from, to - 1, self.dtype());
        if (self.numel() == 0) return self;
        Kernel<G>()(iter, static_cast<uint64_t>(to) - static_cast<uint64_t>(from), from, generator);
    } else if (from != std::numeric_limits<int64_t>::lowest()) {  // as far up as the type goes
        int64_t last = 0;
        if (c10::isFloatingType(type)) {
            AT_DISPATCH_FLOATING_TYPES_AND2(kHalf, kBFloat16, type, "random_from_to_range_calc", [&] {
                last = int64_t(1) << std::numeric_limits<scalar_t>::digits;
                from = update_from<scalar_t>(from);
                TORCH_CHECK(from < last,
                            "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to "
                            "dtype, but got from=",
                            from, " > to_inc=", last);
            });
        } else {
            TORCH_CHECK(c10::isIntegralType(type, true),
                        "random_from_to_impl handles only integral, floating-point and boolean types");
            AT_DISPATCH_INTEGRAL_TYPES_AND(kBool, type, "random_from_to_range_calc",
                                           [&] { last = static_cast<int64_t>(std::numeric_limits<scalar_t>::max()); });
        }
        check_from_to_in_range(from, last, self.dtype());
        if (self.numel() == 0) return self;
        Kernel<G>()(iter, static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1, from, generator);
    } else {  // all of 64 bits
        if (self.numel() == 0) return self;
        Kernel<G>()(iter, generator);
    }
    return self;
}

template <template <class> class Kernel, class G>
Tensor& normal_impl_(Tensor& self, double mean, double std, std::optional<Generator> generator) {
    TORCH_CHECK(std >= 0.0, "normal expects std >= 0.0, but found std ", std);
    if (self.numel() == 0) return self;
    if (self.is_complex()) {
        Tensor parts = at::view_as_real(self);
        Kernel<G>()(parts, mean, std / std::sqrt(2.0), generator);  // half the variance each
    } else {
        Kernel<G>()(self, mean, std, generator);
    }
    return self;
}
inline void check_deviations(const Tensor& std) {
    TORCH_CHECK(!std.is_complex(), "normal expects standard deviation to be non-complex");
    TORCH_CHECK(std.numel() == 0 || std.is_meta() || std.min().ge(0).item<bool>(),
                "normal expects all elements of std >= 0.0");
}
template <template <class> class Kernel, class G>
Tensor& normal_out_impl(Tensor& output, const Tensor& mean, double std, std::optional<Generator> generator) {
    TORCH_CHECK(std >= 0.0, "normal expects std >= 0.0, but found std ", std);
    output.resize_(at::infer_size(mean.sizes(), output.numel() ? output.sizes() : mean.sizes()));
    return normal_impl_<Kernel, G>(output, 0, std, generator).add_(mean);
}
template <template <class> class Kernel, class G>
Tensor& normal_out_impl(Tensor& output, double mean, const Tensor& std, std::optional<Generator> generator) {
    check_deviations(std);
    output.resize_(std.sizes());
    return normal_impl_<Kernel, G>(output, 0, 1, generator).mul_(std).add_(mean);
}
template <template <class> class Kernel, class G>
Tensor& normal_out_impl(Tensor& output, const Tensor& mean, const Tensor& std, std::optional<Generator> generator) {
    check_deviations(std);
    output.resize_(at::infer_size(mean.sizes(), std.sizes()));
    return normal_impl_<Kernel, G>(output, 0, 1, generator).mul_(std).add_(mean);
}
template <template <class> class Kernel, class G>
Tensor normal_impl(const Tensor& mean, double std, std::optional<Generator> generator) {
    Tensor made = at::empty_like(mean, MemoryFormat::Contiguous);
    return normal_out_impl<Kernel, G>(made, mean, std, generator);
}
template <template <class> class Kernel, class G>
Tensor normal_impl(double mean, const Tensor& std, std::optional<Generator> generator) {
    Tensor made = at::empty_like(std, MemoryFormat::Contiguous);
    return normal_out_impl<Kernel, G>(made, mean, std, generator);
}
template <template <class> class Kernel, class G>
Tensor normal_impl(const Tensor& mean, const Tensor& std, std::optional<Generator> generator) {
    Tensor made = at::empty(at::infer_size(mean.sizes(), std.sizes()), mean.options());
    return normal_out_impl<Kernel, G>(made, mean, std, generator);
}

template <template <class> class Kernel, class G>
Tensor& uniform_impl_(Tensor& self, double from, double to, std::optional<Generator> generator) {
    if (self.is_complex()) {
        Tensor parts = at::view_as_real(self);
        uniform_impl_<Kernel, G>(parts, from, to, generator);
        return self;
    }
    AT_DISPATCH_FLOATING_TYPES_AND2(kHalf, kBFloat16, self.scalar_type(), "check_uniform_bounds", [&] {
        const auto least = static_cast<double>(std::numeric_limits<scalar_t>::lowest());
        const auto most = static_cast<double>(std::numeric_limits<scalar_t>::max());
        check_bound(from, "from", least, most, self.dtype());
        check_bound(to, "to", least, most, self.dtype());
        TORCH_CHECK(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
        TORCH_CHECK(to - from <= most, "uniform_ expects to-from <= std::numeric_limits<",
                    c10::toString(self.scalar_type()), ">::max(), but found to=", to, " and from=", from,
                    " which result in to-from to exceed the limit");
    });
    if (self.numel() == 0) return self;
    auto iter = TensorIterator::borrowing_nullary_op(self);
    Kernel<G>()(iter, from, to, generator);
    return self;
}
template <template <class> class Kernel, class G>
Tensor& log_normal_impl_(Tensor& self, double mean, double std, std::optional<Generator> generator) {
    TORCH_CHECK(std > 0.0, "log_normal_ expects std > 0.0, but found std=", std);
    if (self.numel() == 0) return self;
    auto iter = TensorIterator::borrowing_nullary_op(self);
    Kernel<G>()(iter, mean, std, generator);
    return self;
}
template <template <class> class Kernel, class G>
Tensor& geometric_impl_(Tensor& self, double p, std::optional<Generator> generator) {
    TORCH_CHECK(0 < p && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
    if (self.numel() == 0) return self;
    auto iter = TensorIterator::borrowing_nullary_op(self);
    Kernel<G>()(iter, p, generator);
    return self;
}
template <template <class> class Kernel, class G>
Tensor& exponential_impl_(Tensor& self, double lambda, std::optional<Generator> generator) {
    TORCH_CHECK(lambda > 0.0, "exponential_ expects lambda > 0.0, but found lambda=", lambda);
    if (self.numel() == 0) return self;
    auto iter = TensorIterator::borrowing_nullary_op(self);
    Kernel<G>()(iter, lambda, generator);
    return self;
}
template <template <class> class Kernel, class G>
Tensor& cauchy_impl_(Tensor& self, double median, double sigma, std::optional<Generator> generator) {
    TORCH_CHECK(sigma > 0.0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
    TORCH_CHECK(c10::isFloatingType(self.scalar_type()),
                "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you "
                "specified ",
                self.dtype());
    if (self.numel() == 0) return self;
    auto iter = TensorIterator::borrowing_nullary_op(self);
    Kernel<G>()(iter, median, sigma, generator);
    return self;
}
template <template <class> class Kernel, class G>
Tensor& bernoulli_impl_(Tensor& self, const Tensor& p, std::optional<Generator> generator) {
    if (self.numel() == 0) return self;
    Kernel<G>()(self, p, generator);
    return self;
}
template <template <class> class Kernel, class G>
Tensor& bernoulli_impl_(Tensor& self, double p, std::optional<Generator> generator) {
    TORCH_CHECK(0 <= p && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
    if (self.numel() == 0) return self;
    Kernel<G>()(self, p, generator);
    return self;
}
template <template <class> class Kernel, class G>
Tensor& bernoulli_out_impl(Tensor& result, const Tensor& self, std::optional<Generator> generator) {
    result.resize_(self.sizes());
    return bernoulli_impl_<Kernel, G>(result, self, generator);
}

namespace cpu {

// A number for each element in turn, drawn by `make(generator)`, while no one else draws.
template <class T, class G, class Make>
void fill_serially(TensorIterator& iter, G* generator, Make make) {
    std::lock_guard<std::mutex> lock(generator->mutex_);
    cpu_serial_kernel(iter, [&]() -> T { return static_cast<T>(make(generator)); });
}

#define MINDTORCH_ALL_BUT_COMPLEX(type, name, ...) \
    AT_DISPATCH_ALL_TYPES_AND3(kBool, kHalf, kBFloat16, type, name, __VA_ARGS__)
#define MINDTORCH_FLOATS(type, name, ...) AT_DISPATCH_FLOATING_TYPES_AND2(kHalf, kBFloat16, type, name, __VA_ARGS__)

template <class G>
struct RandomKernel {
    void operator()(TensorIterator& iter, const std::optional<Generator>& given) {
        G* generator = check_generator<G>(given);
        MINDTORCH_ALL_BUT_COMPLEX(iter.dtype(), "random_kernel_cpu", [&] {
            uniform_int_distribution<scalar_t> whole;
            fill_serially<scalar_t>(iter, generator, whole);
        });
    }
};
template <class G>
struct RandomFromToKernel {
    void operator()(TensorIterator& iter, uint64_t range, int64_t base, const std::optional<Generator>& given) {
        G* generator = check_generator<G>(given);
        MINDTORCH_ALL_BUT_COMPLEX(iter.dtype(), "random_from_to_kernel_cpu", [&] {
            uniform_int_from_to_distribution<scalar_t> whole(range, base);
            fill_serially<scalar_t>(iter, generator, whole);
        });
    }
    void operator()(TensorIterator& iter, const std::optional<Generator>& given) {
        G* generator = check_generator<G>(given);
        AT_DISPATCH_V2(iter.dtype(), "random_full_64_bits_range_kernel_cpu", AT_WRAP([&] {
                           uniform_int_full_range_distribution<scalar_t> whole;
                           fill_serially<scalar_t>(iter, generator, whole);
                       }),
                       kLong, kDouble, kFloat, kBFloat16);
    }
};
template <class G>
struct UniformKernel {
    void operator()(TensorIterator& iter, double from, double to, const std::optional<Generator>& given) {
        G* generator = check_generator<G>(given);
        MINDTORCH_FLOATS(iter.dtype(), "uniform_kernel_cpu", [&] {
            using Wide = opmath_type<scalar_t>;
            uniform_real_distribution<Wide> uniform(static_cast<Wide>(from), static_cast<Wide>(to));
            // What rounds up to the end of the half-open range becomes its beginning.
            const auto first = static_cast<scalar_t>(from), end = static_cast<scalar_t>(to);
            fill_serially<scalar_t>(iter, generator, [&](G* g) {
                const auto one = static_cast<scalar_t>(uniform(g));
                return one == end ? first : one;
            });
        });
    }
};
template <class G>
struct NormalKernel {
    void operator()(Tensor& self, double mean, double std, const std::optional<Generator>& given) {
        G* generator = check_generator<G>(given);
        MINDTORCH_FLOATS(self.scalar_type(), "normal_kernel_cpu", [&] {
            if (self.numel() >= 16 && self.is_contiguous()) {
                fill_by_sixteens<scalar_t>(self, mean, std, generator);
            } else {
                normal_distribution<double> normal(mean, std);
                auto iter = TensorIterator::borrowing_nullary_op(self);
                fill_serially<scalar_t>(iter, generator, normal);
            }
        });
    }

  private:
    // Eight pairs at a time, from sixteen uniform numbers; where some are left over, the last sixteen once more.
    template <class T>
    static void fill_by_sixteens(const Tensor& self, double mean, double std, G* generator) {
        using Wide = opmath_type<T>;
        std::lock_guard<std::mutex> lock(generator->mutex_);
        T* data = self.data_ptr<T>();
        const int64_t n = self.numel();
        uniform_real_distribution<Wide> uniform(0, 1);
        const auto draw = [&] { return static_cast<Wide>(uniform(generator)); };
        const auto sixteen = [&](T* to) {
            Wide drawn[16];
            for (Wide& one : drawn) one = draw();
            for (int j = 0; j < 8; j++) {
                const Wide radius = std::sqrt(Wide(-2) * std::log(1 - drawn[j]));
                const Wide angle = Wide(2) * static_cast<Wide>(3.14159265358979323846) * drawn[j + 8];
                to[j] = static_cast<T>(radius * std::cos(angle) * static_cast<Wide>(std) + static_cast<Wide>(mean));
                to[j + 8] = static_cast<T>(radius * std::sin(angle) * static_cast<Wide>(std) + static_cast<Wide>(mean));
            }
        };
        for (int64_t i = 0; i + 16 <= n; i += 16) sixteen(data + i);
        if (n % 16 == 0) return;
        if (std::is_same_v<T, Wide>)
            for (int64_t i = 0; i < n % 16; i++) draw();  // those that the last sixteen replace
        sixteen(data + n - 16);
    }
};
template <class G>
struct LogNormalKernel {
    void operator()(TensorIterator& iter, double mean, double std, const std::optional<Generator>& given) {
        G* generator = check_generator<G>(given);
        MINDTORCH_FLOATS(iter.dtype(), "log_normal_cpu", [&] {
            lognormal_distribution<double> one(mean, std);
            fill_serially<scalar_t>(iter, generator, one);
        });
    }
};
template <class G>
struct CauchyKernel {
    void operator()(TensorIterator& iter, double median, double sigma, const std::optional<Generator>& given) {
        G* generator = check_generator<G>(given);
        MINDTORCH_FLOATS(iter.dtype(), "cauchy_cpu", [&] {
            cauchy_distribution<double> one(median, sigma);
            fill_serially<scalar_t>(iter, generator, one);
        });
    }
};
template <class G>
struct GeometricKernel {
    void operator()(TensorIterator& iter, double p, const std::optional<Generator>& given) {
        G* generator = check_generator<G>(given);
        MINDTORCH_ALL_BUT_COMPLEX(iter.dtype(), "geometric_cpu", [&] {
            geometric_distribution<double> one(p);
            fill_serially<scalar_t>(iter, generator, one);
        });
    }
};
template <class G>
struct ExponentialKernel {
    void operator()(TensorIterator& iter, double lambda, const std::optional<Generator>& given) {
        G* generator = check_generator<G>(given);
        TORCH_CHECK(c10::isFloatingType(iter.dtype()),
                    "Exponential distribution is a continuous probability distribution. dtype must be a floating point "
                    "but you specified ",
                    iter.dtype());
        MINDTORCH_FLOATS(iter.dtype(), "exponential_cpu", [&] {
            exponential_distribution<double> one(lambda);
            fill_serially<scalar_t>(iter, generator, one);
        });
    }
};
template <class G>
struct BernoulliKernel {
    void operator()(const TensorBase& self, const TensorBase& p, const std::optional<Generator>& given) {
        G* generator = check_generator<G>(given);
        const Tensor out(self), chance = Tensor(p).expand(self.sizes()).to(kDouble);
        MINDTORCH_ALL_BUT_COMPLEX(self.scalar_type(), "bernoulli_tensor_cpu", [&] {
            std::lock_guard<std::mutex> lock(generator->mutex_);
            auto iter = TensorIteratorConfig()
                            .add_output(out)
                            .add_input(chance)
                            .check_all_same_dtype(false)
                            .resize_outputs(false)
                            .build();
            cpu_serial_kernel(iter, [&](double one) -> scalar_t {
                return static_cast<scalar_t>(bernoulli_distribution<double>(one)(generator));
            });
        });
    }
    void operator()(const TensorBase& self, double p, const std::optional<Generator>& given) {
        G* generator = check_generator<G>(given);
        MINDTORCH_ALL_BUT_COMPLEX(self.scalar_type(), "bernoulli_scalar_cpu", [&] {
            bernoulli_distribution<double> one(p);
            const Tensor out(self);
            auto iter = TensorIterator::borrowing_nullary_op(out);
            fill_serially<scalar_t>(iter, generator, one);
        });
    }
};
#undef MINDTORCH_ALL_BUT_COMPLEX
#undef MINDTORCH_FLOATS

}  // namespace cpu
}  // namespace templates
}  // namespace native
}  // namespace at
