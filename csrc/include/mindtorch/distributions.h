// Random numbers of a distribution, drawn from a generator of the CPU: the words that PyTorch draws, in its order.
#pragma once

#include <mindtorch/tensor.h>

#include <cmath>
#include <limits>

namespace at {

namespace transformation {
// Any whole number that T counts to from zero; of a kind of float as far as it holds all of them.
template <class T, class Word>
T uniform_int(Word word) {
    if constexpr (std::is_same_v<T, bool>)
        return static_cast<bool>(word & 1);
    else if constexpr (std::is_integral_v<T>)
        return static_cast<T>(word % (static_cast<uint64_t>(std::numeric_limits<T>::max()) + 1));
    else
        return static_cast<T>(word % static_cast<uint64_t>((uint64_t(1) << std::numeric_limits<T>::digits) + 1));
}
// A whole number in [base, base + range).
template <class T>
T uniform_int_from_to(uint64_t word, uint64_t range, int64_t base) {
    return static_cast<T>(static_cast<int64_t>((word % range) + static_cast<uint64_t>(base)));
}
// A number in [from, to) of as many bits of a word as T has digits, in the type that sums of T are kept in.
template <class T, class Word>
acc_type<T, false> uniform_real(Word word, T from, T to) {
    using Wide = acc_type<T, false>;
    constexpr int digits = std::numeric_limits<T>::digits;
    constexpr auto mask = static_cast<uint64_t>((static_cast<uint64_t>(1) << digits) - 1);
    constexpr Wide step = Wide(1) / static_cast<Wide>(static_cast<uint64_t>(1) << digits);
    return static_cast<Wide>(static_cast<uint64_t>(word) & mask) * step * static_cast<Wide>(to - from) +
           static_cast<Wide>(from);
}
}  // namespace transformation

template <class T>
struct uniform_int_from_to_distribution {
    uniform_int_from_to_distribution(uint64_t range, int64_t base) : range_(range), base_(base) {}
    template <class G>
    T operator()(G generator) {
        const bool wide = range_ >= (static_cast<uint64_t>(1) << 28);
        return transformation::uniform_int_from_to<T>(wide ? generator->random64() : generator->random(), range_,
                                                      base_);
    }

  private:
    uint64_t range_;
    int64_t base_;
};

template <class T>
struct uniform_int_full_range_distribution {
    template <class G>
    T operator()(G generator) {
        return static_cast<T>(static_cast<int64_t>(generator->random64()));
    }
};
template <class T>
struct uniform_int_distribution {
    template <class G>
    T operator()(G generator) {
        if constexpr (std::is_same_v<T, double> || std::is_same_v<T, int64_t>)
            return transformation::uniform_int<T>(generator->random64());
        else
            return transformation::uniform_int<T>(generator->random());
    }
};

template <class T>
struct uniform_real_distribution {
    uniform_real_distribution(T from, T to) : from_(from), to_(to) {
        TORCH_CHECK(from <= to && to - from <= std::numeric_limits<T>::max(), "uniform_real_distribution: from ", from,
                    " to ", to);
    }
    template <class G>
    acc_type<T, false> operator()(G generator) {
        if constexpr (std::is_same_v<T, double>)
            return transformation::uniform_real<T>(generator->random64(), from_, to_);
        else
            return transformation::uniform_real<T>(generator->random(), from_, to_);
    }

  private:
    T from_, to_;
};

namespace detail {
template <class G, class = void>
struct KeepsNormals : std::false_type {};
template <class G>
struct KeepsNormals<G, std::void_t<decltype(std::declval<G&>().next_normal(true))>> : std::true_type {};
}  // namespace detail
// By Box and Muller's way two numbers come at once: a generator of the framework's keeps the other.
template <class T>
struct normal_distribution {
    normal_distribution(T mean, T stdv) : mean_(mean), stdv_(stdv) {
        TORCH_CHECK_INDEX(stdv >= 0, "stdv_in must be positive: ", stdv);
    }
    template <class G>
    T operator()(G generator) {
        std::optional<double> dropped, *kept = &dropped;
        if constexpr (detail::KeepsNormals<std::remove_reference_t<decltype(*generator)>>::value)
            kept = &generator->next_normal(std::is_same_v<T, double>);
        if (*kept) {
            const double other = *std::exchange(*kept, std::nullopt);
            return static_cast<T>(other * stdv_ + mean_);
        }
        uniform_real_distribution<T> uniform(0.0, 1.0);
        const auto first = static_cast<T>(uniform(generator)), second = static_cast<T>(uniform(generator));
        const T radius = std::sqrt(static_cast<T>(-2.0) * std::log1p(-second));
        const T angle = static_cast<T>(2.0) * static_cast<T>(3.14159265358979323846) * first;
        *kept = radius * std::sin(angle);
        return radius * std::cos(angle) * static_cast<T>(stdv_) + static_cast<T>(mean_);
    }

  private:
    T mean_, stdv_;
};

template <class T>
struct bernoulli_distribution {
    explicit bernoulli_distribution(T p) : p_(p) {
        TORCH_CHECK_INDEX(p >= 0 && p <= 1, "bernoulli_distribution: p is ", p);
    }
    template <class G>
    T operator()(G generator) {
        uniform_real_distribution<T> uniform(0.0, 1.0);
        return uniform(generator) < p_;
    }

  private:
    T p_;
};

template <class T>
struct exponential_distribution {
    explicit exponential_distribution(T lambda) : lambda_(lambda) {}
    template <class G>
    T operator()(G generator) {
        uniform_real_distribution<T> uniform(0.0, 1.0);
        return static_cast<T>(-1.0) / lambda_ * std::log1p(-static_cast<T>(uniform(generator)));
    }

  private:
    T lambda_;
};

template <class T>
struct geometric_distribution {
    explicit geometric_distribution(T p) : p_(p) {
        TORCH_CHECK_INDEX(p > 0 && p < 1, "geometric_distribution: p is ", p);
    }
    template <class G>
    T operator()(G generator) {
        uniform_real_distribution<T> uniform(0.0, 1.0);
        return std::ceil(std::log(static_cast<T>(uniform(generator))) / std::log1p(-p_));
    }

  private:
    T p_;
};

template <class T>
struct cauchy_distribution {
    cauchy_distribution(T median, T sigma) : median_(median), sigma_(sigma) {}
    template <class G>
    T operator()(G generator) {
        uniform_real_distribution<T> uniform(0.0, 1.0);
        auto u = static_cast<T>(uniform(generator));
        if constexpr (std::is_same_v<T, float>) {  // near 0 and 1 the tangent has no float
            constexpr T step = std::numeric_limits<T>::epsilon();
            u = std::min(std::max(u, step), 1 - step);
        }
        return median_ + sigma_ * std::tan(static_cast<T>(3.14159265358979323846) * (u - static_cast<T>(0.5)));
    }

  private:
    T median_, sigma_;
};

template <class T>
struct lognormal_distribution {
    lognormal_distribution(T mean, T stdv) : normal_(mean, stdv) {}
    template <class G>
    T operator()(G generator) {
        return std::exp(normal_(generator));
    }

  private:
    normal_distribution<T> normal_;
};

}  // namespace at
