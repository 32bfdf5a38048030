// Random numbers whose distribution differs by element. An element has a subsequence of Philox to itself, and takes as many numbers
// from it as its draw asks for. The words: OUT (element type), KIND (one of the structs below).
#pragma once

#include "philox.cuh"

struct Args {
    int64_t n;
    uint64_t seed, offset;
    const uint64_t* recorded_seed;
    const uint64_t* recorded_offset;
    OUT* out;
    const OUT *first, *second;
};

struct Stream {
    uint64_t seed, subsequence, counter;
    int left;
    uint4x words;
    DEVICE uint32_t next() {
        if (!left) {
            words = philox(seed, subsequence, counter++);
            left = 4;
        }
        return word(words, 4 - left--);
    }
    DEVICE double uniform() {  // in (0, 1)
        const uint64_t bits = static_cast<uint64_t>(next()) << 21 ^ next();
        return (static_cast<double>(bits & ((uint64_t(1) << 53) - 1)) + 0.5) * 1.1102230246251565e-16;
    }
    DEVICE double normal() {
        const double size = sqrt(-2 * log(uniform()));
        return size * cospi(2 * uniform());
    }
};

// Products of uniform numbers for small rates (Knuth); for large ones rejection of a transformed one (Hoermann 1993, PTRS).
struct Poisson {
    DEVICE static double of(Stream& s, double rate, double) {
        if (!(rate > 0)) return rate == 0 ? 0 : NAN;
        if (rate < 10) {
            const double limit = exp(-rate);
            double product = s.uniform();
            int64_t k = 0;
            for (; product > limit; k++) product *= s.uniform();
            return static_cast<double>(k);
        }
        const double root = sqrt(rate), log_rate = log(rate), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
        const double inverse = 1.1239 + 1.1328 / (b - 3.4), accepted = 0.9277 - 3.6224 / (b - 2);
        while (true) {
            const double u = s.uniform() - 0.5, v = s.uniform(), us = 0.5 - fabs(u);
            const double k = floor((2 * a / us + b) * u + rate + 0.43);
            if (us >= 0.07 && v <= accepted) return k;
            if (k < 0 || (us < 0.013 && v > us)) continue;
            if (log(v) + log(inverse) - log(a / (us * us) + b) <= k * log_rate - rate - lgamma(k + 1)) return k;
        }
    }
};

// What lacks to Stirling's formula for the logarithm of k!.
DEVICE double stirling_tail(double k) { return lgamma(k + 1) - ((k + 0.5) * log(k + 1) - (k + 1) + 0.91893853320467274178); }

// Sums of geometric numbers for few successes; for many rejection of a transformed number (Hoermann 1993, BTRS).
struct Binomial {
    DEVICE static double of(Stream& s, double count, double p) {
        if (count != count || p != p) return NAN;
        if (count <= 0 || p <= 0) return 0;
        if (p >= 1) return count;
        const double chance = p <= 0.5 ? p : 1 - p, found = below_half(s, count, chance);
        return p <= 0.5 ? found : count - found;
    }
    DEVICE static double below_half(Stream& s, double count, double p) {
        if (count * p < 10) {
            const double log_failure = log1p(-p);
            double sum = 0, found = 0;
            while (true) {
                sum += ceil(log(s.uniform()) / log_failure);
                if (sum > count) return found;
                found += 1;
            }
        }
        const double deviation = sqrt(count * p * (1 - p)), b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p;
        const double center = count * p + 0.5, accepted = 0.92 - 4.2 / b, ratio = p / (1 - p);
        const double alpha = (2.83 + 5.1 / b) * deviation, m = floor((count + 1) * p);
        while (true) {
            const double u = s.uniform() - 0.5, v = s.uniform(), us = 0.5 - fabs(u), k = floor((2 * a / us + b) * u + center);
            if (us >= 0.07 && v <= accepted) return k;
            if (k < 0 || k > count) continue;
            const double bound = (m + 0.5) * log((m + 1) / (ratio * (count - m + 1))) +
                                 (count + 1) * log((count - m + 1) / (count - k + 1)) +
                                 (k + 0.5) * log(ratio * (count - k + 1) / (k + 1)) + stirling_tail(m) + stirling_tail(count - m) -
                                 stirling_tail(k) - stirling_tail(count - k);
            if (log(v * alpha / (a / (us * us) + b)) <= bound) return k;
        }
    }
};

// Marsaglia and Tsang 2000; shapes below one are raised by one.
struct Gamma {
    DEVICE static double of(Stream& s, double alpha, double) {
        if (!(alpha > 0)) return alpha == 0 ? 0 : NAN;
        double scale = 1;
        if (alpha < 1) {
            scale = pow(s.uniform(), 1 / alpha);
            alpha += 1;
        }
        const double d = alpha - 1.0 / 3, k = 1 / sqrt(9 * d);
        while (true) {
            const double x = s.normal(), y = 1 + k * x;
            if (y <= 0) continue;
            const double v = y * y * y, u = s.uniform(), xx = x * x;
            if (u < 1 - 0.0331 * xx * xx || log(u) < 0.5 * xx + d * (1 - v + log(v))) return scale * d * v;
        }
    }
};

KERNEL(draw_each, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= a.n) return;
    Stream stream;
    stream.seed = a.recorded_seed ? *a.recorded_seed : a.seed;
    stream.subsequence = static_cast<uint64_t>(i);
    stream.counter = (a.recorded_offset ? *a.recorded_offset + a.offset : a.offset) / 4;
    stream.left = 0;
    a.out[i] = to<OUT>(KIND::of(stream, to<double>(a.first[i]), a.second ? to<double>(a.second[i]) : 0.0));
}
