// Random numbers of a distribution, drawn from a generator of the CPU: the words that PyTorch draws, in its order.
#pragma once

#include <mindtorch/tensor.h>

#include <cmath>
#include <limits>

namespace at {

namespace transformation {
// A whole number in [base, base + range).
template <class T>
T uniform_int_from_to(uint64_t word, uint64_t range, int64_t base) {
    return static_cast<T>(static_cast<int64_t>((word % range) + static_cast<uint64_t>(base)));
}
// A number in [from, to) of as many bits of a word as T has digits.
template <class T, class Word>
T uniform_real(Word word, T from, T to) {
    constexpr int digits = std::numeric_limits<T>::digits;
    constexpr auto mask = static_cast<uint64_t>((static_cast<uint64_t>(1) << digits) - 1);
    constexpr T step = static_cast<T>(1) / static_cast<T>(static_cast<uint64_t>(1) << digits);
    return static_cast<T>(static_cast<uint64_t>(word) & mask) * step * (to - from) + from;
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
struct uniform_real_distribution {
    uniform_real_distribution(T from, T to) : from_(from), to_(to) {
        TORCH_CHECK(from <= to && to - from <= std::numeric_limits<T>::max(), "uniform_real_distribution: from ", from,
                    " to ", to);
    }
    template <class G>
    T operator()(G generator) {
        if constexpr (std::is_same_v<T, double>)
            return transformation::uniform_real<T>(generator->random64(), from_, to_);
        else
            return transformation::uniform_real<T>(generator->random(), from_, to_);
    }

  private:
    T from_, to_;
};

// By Box and Muller's way two numbers come at once: the generator keeps the other.
template <class T>
struct normal_distribution {
    normal_distribution(T mean, T stdv) : mean_(mean), stdv_(stdv) {
        TORCH_CHECK_INDEX(stdv >= 0, "stdv_in must be positive: ", stdv);
    }
    template <class G>
    T operator()(G generator) {
        std::optional<double>& kept = generator->next_normal(std::is_same_v<T, double>);
        if (kept) {
            const double other = *std::exchange(kept, std::nullopt);
            return static_cast<T>(other * stdv_ + mean_);
        }
        uniform_real_distribution<T> uniform(0.0, 1.0);
        const T first = uniform(generator), second = uniform(generator);
        const T radius = std::sqrt(static_cast<T>(-2.0) * std::log1p(-second));
        const T angle = static_cast<T>(2.0) * static_cast<T>(3.14159265358979323846) * first;
        kept = radius * std::sin(angle);
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
        return static_cast<T>(-1.0) / lambda_ * std::log1p(-uniform(generator));
    }

  private:
    T lambda_;
};

}  // namespace at
