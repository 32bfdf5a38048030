// Transforms of many rows at once: mixed radix for smooth lengths, Bluestein's for the others.
//
// Real and imaginary parts lie apart, and point i of row r lies at i * rows + r, so that loops run over adjacent
// numbers. Each pass reads one buffer and writes the other in an order that leaves the result sorted (Stockham's).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace mt::fft {

template <class R>
struct Split {
    R *re, *im;
    Split swapped() const { return {im, re}; }
};

struct Root {
    double re, im;
};
// e^(-2 pi i k / n). Reduced to an eighth of a turn: exact at its quarters, and the same numbers in every octant.
inline Root root(int64_t k, int64_t n) {
    constexpr double kHalfPi = 1.57079632679489661923;
    const int64_t quarter = 4 * k / n, rest = 4 * k % n;  // in quarters of a turn, and in n-ths of one
    auto part = [n](int64_t j) { return kHalfPi * static_cast<double>(j) / static_cast<double>(n); };
    const double c = 2 * rest <= n ? std::cos(part(rest)) : std::sin(part(n - rest));
    const double s = 2 * rest <= n ? std::sin(part(rest)) : std::cos(part(n - rest));
    const double turned[4][2] = {{c, s}, {-s, c}, {-c, -s}, {s, -c}};
    return {turned[quarter % 4][0], -turned[quarter % 4][1]};
}

// Above this prime factor a butterfly of that many terms costs more than a convolution.
constexpr int64_t kLargestRadix = 31;

template <class R>
class Plan {
  public:
    explicit Plan(int64_t n) : n_(n) {
        int64_t rest = n;
        std::vector<int64_t> radices;
        for (int64_t p : {int64_t(4), int64_t(2)})
            for (; rest % p == 0; rest /= p) radices.push_back(p);
        for (int64_t p = 3; p * p <= rest; p += 2)
            for (; rest % p == 0; rest /= p) radices.push_back(p);
        if (rest > 1) radices.push_back(rest);
        for (int64_t k = 0; k <= n; k++) {
            const Root w = root(k, 2 * n);
            half_re_.push_back(static_cast<R>(w.re)), half_im_.push_back(static_cast<R>(w.im));
        }
        if (!radices.empty() && *std::max_element(radices.begin(), radices.end()) > kLargestRadix) {
            prepare_convolution();
            return;
        }
        rest = n;
        for (int64_t p : radices) {
            passes_.push_back(pass_of(p, rest));
            rest /= p;
        }
    }

    int64_t size() const { return n_; }
    // e^(-pi i k / n) for k up to n: for real signals of 2 n numbers.
    Split<const R> half_turns() const { return {half_re_.data(), half_im_.data()}; }
    // Points of a row that each of the two buffers must hold.
    int64_t room() const { return inner_ ? inner_->room() : n_; }

    // Transforms what `x` holds; either buffer may be the one that is returned with the result.
    Split<R> run(Split<R> x, Split<R> y, int64_t rows) const {
        if (inner_) return convolve(x, y, rows);
        int64_t width = rows;
        for (const Pass& pass : passes_) {
            step(pass, x, y, width);
            std::swap(x, y);
            width *= pass.radix;
        }
        return x;
    }

  private:
    struct Pass {
        int64_t radix, groups;
        std::vector<R> turns;         // for k = 1 .. radix - 1: `groups` real parts, then as many imaginary ones
        std::vector<R> cosine, sine;  // of an odd radix: at (j, k), both from 1 to half of it
    };

    static Pass pass_of(int64_t p, int64_t n) {
        Pass pass{p, n / p, {}, {}, {}};
        const int64_t m = n / p, half = p / 2;
        pass.turns.resize(static_cast<size_t>(2 * (p - 1) * m));
        for (int64_t k = 1; k < p; k++)
            for (int64_t g = 0; g < m; g++) {
                const Root w = root(k * g % n, n);
                R* at = pass.turns.data() + 2 * (k - 1) * m;
                at[g] = static_cast<R>(w.re), at[m + g] = static_cast<R>(w.im);
            }
        for (int64_t j = 1; p % 2 && j <= half; j++)
            for (int64_t k = 1; k <= half; k++) {
                const Root w = root(j * k % p, p);
                pass.cosine.push_back(static_cast<R>(w.re)), pass.sine.push_back(static_cast<R>(w.im));
            }
        return pass;
    }

    static void step(const Pass& pass, Split<R> x, Split<R> y, int64_t width) {
        if (pass.radix == 4) {
            if (width == 1) return four_across(pass, x, y);
            return width == 4 ? four<4>(pass, x, y, 4) : four<0>(pass, x, y, width);
        }
        if (pass.radix == 2) return two(pass, x, y, width);
        if (pass.radix == 3) return odd<3>(pass, x, y, width);
        if (pass.radix == 5) return odd<5>(pass, x, y, width);
        any_odd(pass, x, y, width);
    }

#define MT_FOUR(in, out, w1r, w1i, w2r, w2i, w3r, w3i, o0, o1, o2, o3)                                \
    const R sr = ar[in] + cr[in], si = ai[in] + ci[in], dr_ = ar[in] - cr[in], di_ = ai[in] - ci[in]; \
    const R tr = br[in] + dr[in], ti = bi[in] + di[in], ur = br[in] - dr[in], ui = bi[in] - di[in];   \
    const R er = sr - tr, ei = si - ti, fr = dr_ + ui, fi = di_ - ur, gr = dr_ - ui, gi = di_ + ur;   \
    yr[o0] = sr + tr, yi[o0] = si + ti;                                                               \
    yr[o1] = fr * (w1r) - fi * (w1i), yi[o1] = fr * (w1i) + fi * (w1r);                               \
    yr[o2] = er * (w2r) - ei * (w2i), yi[o2] = er * (w2i) + ei * (w2r);                               \
    yr[o3] = gr * (w3r) - gi * (w3i), yi[o3] = gr * (w3i) + gi * (w3r);

    // One number a group: the loop runs over the groups.
    static void four_across(const Pass& pass, Split<R> x, Split<R> y) {
        const int64_t m = pass.groups;
        const R* w = pass.turns.data();
        const R *ar = x.re, *br = ar + m, *cr = br + m, *dr = cr + m;
        const R *ai = x.im, *bi = ai + m, *ci = bi + m, *di = ci + m;
        R* __restrict yr = y.re, * __restrict yi = y.im;
#pragma GCC ivdep
        for (int64_t g = 0; g < m; g++) {
            MT_FOUR(g, g, w[g], w[m + g], w[2 * m + g], w[3 * m + g], w[4 * m + g], w[5 * m + g], 4 * g, 4 * g + 1,
                    4 * g + 2, 4 * g + 3)
        }
    }

    template <int kWidth>
    static void four(const Pass& pass, Split<R> x, Split<R> y, int64_t given) {
        const int64_t m = pass.groups, width = kWidth ? kWidth : given, far = m * width;
        const R* w = pass.turns.data();
        for (int64_t g = 0; g < m; g++) {
            const R *ar = x.re + g * width, *br = ar + far, *cr = br + far, *dr = cr + far;
            const R *ai = x.im + g * width, *bi = ai + far, *ci = bi + far, *di = ci + far;
            R* __restrict yr = y.re + 4 * g * width, * __restrict yi = y.im + 4 * g * width;
            const R w1r = w[g], w1i = w[m + g], w2r = w[2 * m + g], w2i = w[3 * m + g], w3r = w[4 * m + g],
                    w3i = w[5 * m + g];
#pragma GCC ivdep
            for (int64_t q = 0; q < width; q++) {
                MT_FOUR(q, q, w1r, w1i, w2r, w2i, w3r, w3i, q, width + q, 2 * width + q, 3 * width + q)
            }
        }
    }
#undef MT_FOUR

    static void two(const Pass& pass, Split<R> x, Split<R> y, int64_t width) {
        const int64_t m = pass.groups, far = m * width;
        for (int64_t g = 0; g < m; g++) {
            const R *ar = x.re + g * width, *ai = x.im + g * width, *br = ar + far, *bi = ai + far;
            R* __restrict yr = y.re + 2 * g * width, * __restrict yi = y.im + 2 * g * width;
            const R wr = pass.turns[static_cast<size_t>(g)], wi = pass.turns[static_cast<size_t>(m + g)];
#pragma GCC ivdep
            for (int64_t q = 0; q < width; q++) {
                const R dr = ar[q] - br[q], di = ai[q] - bi[q];
                yr[q] = ar[q] + br[q], yi[q] = ai[q] + bi[q];
                yr[width + q] = dr * wr - di * wi, yi[width + q] = dr * wi + di * wr;
            }
        }
    }

    // Terms j and p - j meet the same cosine and opposite sines.
    template <int P>
    static void odd(const Pass& pass, Split<R> x, Split<R> y, int64_t width) {
        constexpr int H = P / 2;
        const int64_t m = pass.groups, far = m * width;
        R c[H][H], s[H][H];
        for (int j = 0; j < H; j++)
            for (int k = 0; k < H; k++) {
                c[j][k] = pass.cosine[static_cast<size_t>(j * H + k)];
                s[j][k] = pass.sine[static_cast<size_t>(j * H + k)];
            }
        for (int64_t g = 0; g < m; g++) {
            const R *xr = x.re + g * width, *xi = x.im + g * width;
            R* __restrict yr = y.re + P * g * width, * __restrict yi = y.im + P * g * width;
            R wr[P], wi[P];
            for (int k = 1; k < P; k++) {
                wr[k] = pass.turns[static_cast<size_t>(2 * (k - 1) * m + g)];
                wi[k] = pass.turns[static_cast<size_t>((2 * k - 1) * m + g)];
            }
#pragma GCC ivdep
            for (int64_t q = 0; q < width; q++) {
                R pr[H], pi[H], mr[H], mi[H];
                R total_r = xr[q], total_i = xi[q];
#pragma GCC unroll 2
                for (int j = 0; j < H; j++) {
                    const R lr = xr[(j + 1) * far + q], li = xi[(j + 1) * far + q];
                    const R hr = xr[(P - 1 - j) * far + q], hi = xi[(P - 1 - j) * far + q];
                    pr[j] = lr + hr, pi[j] = li + hi, mr[j] = lr - hr, mi[j] = li - hi;
                    total_r += pr[j], total_i += pi[j];
                }
                yr[q] = total_r, yi[q] = total_i;
#pragma GCC unroll 2
                for (int k = 0; k < H; k++) {
                    R er = xr[q], ei = xi[q], or_ = 0, oi = 0;
#pragma GCC unroll 2
                    for (int j = 0; j < H; j++) {
                        er += c[j][k] * pr[j], ei += c[j][k] * pi[j];
                        or_ -= s[j][k] * mi[j], oi += s[j][k] * mr[j];
                    }
                    const R ur = er + or_, ui = ei + oi, vr = er - or_, vi = ei - oi;
                    const int u = k + 1, v = P - 1 - k;
                    yr[u * width + q] = ur * wr[u] - ui * wi[u], yi[u * width + q] = ur * wi[u] + ui * wr[u];
                    yr[v * width + q] = vr * wr[v] - vi * wi[v], yi[v * width + q] = vr * wi[v] + vi * wr[v];
                }
            }
        }
    }

    static void any_odd(const Pass& pass, Split<R> x, Split<R> y, int64_t width) {
        constexpr int64_t kBlock = 32;
        const int64_t p = pass.radix, m = pass.groups, far = m * width, half = p / 2;
        R sums[4][kLargestRadix / 2 + 1][kBlock], even[2][kBlock], odd[2][kBlock];
        for (int64_t g = 0; g < m; g++)
            for (int64_t from = 0; from < width; from += kBlock) {
                const int64_t n = std::min(kBlock, width - from);
                const R *xr = x.re + g * width + from, *xi = x.im + g * width + from;
                R *yr = y.re + p * g * width + from, *yi = y.im + p * g * width + from;
                for (int64_t q = 0; q < n; q++) yr[q] = xr[q], yi[q] = xi[q];
                for (int64_t j = 1; j <= half; j++) {
                    const R *lr = xr + j * far, *li = xi + j * far, *hr = xr + (p - j) * far, *hi = xi + (p - j) * far;
                    for (int64_t q = 0; q < n; q++) {
                        sums[0][j][q] = lr[q] + hr[q], sums[1][j][q] = li[q] + hi[q];
                        sums[2][j][q] = lr[q] - hr[q], sums[3][j][q] = li[q] - hi[q];
                        yr[q] += sums[0][j][q], yi[q] += sums[1][j][q];
                    }
                }
                for (int64_t k = 1; k <= half; k++) {
                    for (int64_t q = 0; q < n; q++) even[0][q] = xr[q], even[1][q] = xi[q], odd[0][q] = odd[1][q] = 0;
                    for (int64_t j = 1; j <= half; j++) {
                        const size_t at = static_cast<size_t>((j - 1) * half + k - 1);
                        const R c = pass.cosine[at], s = pass.sine[at];
                        for (int64_t q = 0; q < n; q++) {
                            even[0][q] += c * sums[0][j][q], even[1][q] += c * sums[1][j][q];
                            odd[0][q] -= s * sums[3][j][q], odd[1][q] += s * sums[2][j][q];
                        }
                    }
                    for (int64_t side = 0; side < 2; side++) {
                        const int64_t u = side ? p - k : k;
                        const R sign = side ? R(-1) : R(1), wr = pass.turns[static_cast<size_t>(2 * (u - 1) * m + g)],
                                wi = pass.turns[static_cast<size_t>((2 * u - 1) * m + g)];
                        for (int64_t q = 0; q < n; q++) {
                            const R ur = even[0][q] + sign * odd[0][q], ui = even[1][q] + sign * odd[1][q];
                            yr[u * width + q] = ur * wr - ui * wi, yi[u * width + q] = ur * wi + ui * wr;
                        }
                    }
                }
            }
    }

    // w^(jk) = w^(j^2/2) w^(k^2/2) / w^((k-j)^2/2): a convolution, made by transforms of a smooth length.
    void prepare_convolution() {
        int64_t wide = 1;
        while (wide < 2 * n_ - 1) wide *= 2;
        for (int64_t odd : {3, 5, 9, 15}) {  // a shorter one may do
            int64_t other = odd;
            while (other < 2 * n_ - 1) other *= 2;
            wide = std::min(wide, other);
        }
        inner_ = std::make_unique<Plan>(wide);
        const size_t n = static_cast<size_t>(n_), w = static_cast<size_t>(wide);
        for (auto* part : {&chirp_re_, &chirp_im_}) part->resize(n);
        std::vector<R> re(w), im(w), re2(w), im2(w);
        for (int64_t i = 0; i < n_; i++) {
            const Root r = root(i * i % (2 * n_), 2 * n_);
            const size_t at = static_cast<size_t>(i), mirrored = static_cast<size_t>(i ? wide - i : 0);
            chirp_re_[at] = static_cast<R>(r.re), chirp_im_[at] = static_cast<R>(r.im);
            re[at] = re[mirrored] = static_cast<R>(r.re / static_cast<double>(wide));
            im[at] = im[mirrored] = static_cast<R>(-r.im / static_cast<double>(wide));
        }
        const Split<R> spectrum = inner_->run({re.data(), im.data()}, {re2.data(), im2.data()}, 1);
        kernel_re_.assign(spectrum.re, spectrum.re + wide);
        kernel_im_.assign(spectrum.im, spectrum.im + wide);
    }

    // x times w, a number for each point.
    static void multiply(Split<R> x, const R* wr, const R* wi, int64_t n, int64_t rows) {
        for (int64_t i = 0; i < n; i++)
            for (int64_t r = i * rows; r < (i + 1) * rows; r++) {
                const R re = x.re[r], im = x.im[r];
                x.re[r] = re * wr[i] - im * wi[i], x.im[r] = re * wi[i] + im * wr[i];
            }
    }

    Split<R> convolve(Split<R> x, Split<R> y, int64_t rows) const {
        const int64_t wide = inner_->size();
        multiply(x, chirp_re_.data(), chirp_im_.data(), n_, rows);
        for (R* part : {x.re, x.im}) std::fill(part + n_ * rows, part + wide * rows, R(0));
        const Split<R> there = inner_->run(x, y, rows), free = there.re == x.re ? y : x;
        multiply(there, kernel_re_.data(), kernel_im_.data(), wide, rows);
        // The way back is the way there with the parts exchanged.
        const Split<R> back = inner_->run(there.swapped(), free.swapped(), rows).swapped();
        multiply(back, chirp_re_.data(), chirp_im_.data(), n_, rows);
        return back;
    }

    int64_t n_;
    std::vector<Pass> passes_;
    std::unique_ptr<Plan> inner_;
    std::vector<R> half_re_, half_im_, chirp_re_, chirp_im_, kernel_re_, kernel_im_;
};

// The plan for a length, kept for the next call: its roots cost more than a transform.
template <class R>
std::shared_ptr<const Plan<R>> plan_for(int64_t n) {
    static std::mutex mutex;
    static std::unordered_map<int64_t, std::shared_ptr<const Plan<R>>> plans;
    static int64_t kept = 0;
    constexpr int64_t kMostKept = int64_t(1) << 21;  // points, of all plans
    {
        std::lock_guard<std::mutex> lock(mutex);
        auto found = plans.find(n);
        if (found != plans.end()) return found->second;
    }
    auto plan = std::make_shared<const Plan<R>>(n);
    std::lock_guard<std::mutex> lock(mutex);
    if (kept + plan->room() > kMostKept) plans.clear(), kept = 0;
    if (plan->room() <= kMostKept && plans.emplace(n, plan).second) kept += plan->room();
    return plan;
}

}  // namespace mt::fft
