// Connectionist temporal classification (Graves et al. 2006): forward variables and the gradient, in log space.
#include <vector>

#include "cpu/reduce.h"

namespace mt {
namespace {

template <class X>
constexpr X kNever = -std::numeric_limits<X>::infinity();

template <class X>
X log_add(X a, X b) {
    X high = std::max(a, b), low = std::min(a, b);
    return low == kNever<X> ? high : high + std::log1p(std::exp(low - high));
}

template <class X>
X log_sum(X a, X b, X c) {
    const X high = std::max({a, b, c});
    return high == kNever<X> ? high : high + std::log(std::exp(a - high) + std::exp(b - high) + std::exp(c - high));
}

std::vector<int64_t> lengths_of(const Tensor& t) {
    TensorRef l = contiguous(t, DType::Int64);
    return {l->data<int64_t>(), l->data<int64_t>() + l->numel()};
}
std::vector<int64_t> lengths_of(IntSpan l) { return {l.begin(), l.end()}; }

// One call's view of its arguments; log_probs is [time, batch, classes].
struct Problem {
    int64_t time, batch, classes, longest = 0;
    TensorRef targets;
    std::vector<int64_t> input_lengths, target_lengths, offsets;
    int64_t blank;

    Problem(const Tensor& log_probs, const Tensor& target, std::vector<int64_t> inputs, std::vector<int64_t> lengths,
            int64_t blank)
        : targets(contiguous(target, DType::Int64)),
          input_lengths(std::move(inputs)),
          target_lengths(std::move(lengths)),
          blank(blank) {
        MT_CHECK(log_probs.numel() > 0, "log_probs tensor must not be empty");
        MT_CHECK(log_probs.ndim == 3, "ctc_loss: expected log_probs of 3 dimensions, got ", log_probs.ndim);
        time = log_probs.size(0);
        batch = log_probs.size(1);
        classes = log_probs.size(2);
        MT_CHECK(blank >= 0 && blank < classes, "blank must be in label range");
        MT_CHECK(static_cast<int64_t>(input_lengths.size()) == batch, "input_lengths must be of size batch_size");
        MT_CHECK(static_cast<int64_t>(target_lengths.size()) == batch, "target_lengths must be of size batch_size");
        const int64_t row = target.ndim == 2 ? target.size(1) : 0;
        int64_t sum = 0;
        for (int64_t b = 0; b < batch; b++) {
            int64_t length = target_lengths[static_cast<size_t>(b)], frames = input_lengths[static_cast<size_t>(b)];
            MT_CHECK(length >= 0, "Expected target_lengths to have value at least 0, but got value ", length,
                     " (while checking arguments for ctc_loss_allocate_outputs)");
            MT_CHECK(frames >= 0 && frames <= time, "Expected input_lengths to have value at most ", time,
                     ", but got value ", frames, " (while checking arguments for ctc_loss_allocate_outputs)");
            // before they are added up: a sum that wraps round could look right
            MT_CHECK(length <= target.numel(), "Expected target_lengths to have value at most ", target.numel(),
                     ", but got value ", length, " (while checking arguments for ctc_loss_allocate_outputs)");
            longest = std::max(longest, length);
            offsets.push_back(target.ndim == 1 ? sum : b * row);
            sum += length;
        }
        if (target.ndim == 1)
            MT_CHECK(target.size(0) == sum, "Expected tensor to have size ", sum, " at dimension 0, but got size ",
                     target.size(0),
                     " for argument #2 'targets' (while checking arguments for ctc_loss_allocate_outputs)");
        else {
            MT_CHECK(target.ndim == 2 && target.size(0) == batch, "Expected tensor to have size ", batch,
                     " at dimension 0, but got size ", target.size(0),
                     " for argument #2 'targets' (while checking arguments for ctc_loss_allocate_outputs)");
            MT_CHECK(target.size(1) >= longest, "Expected tensor to have size at least ", longest,
                     " at dimension 1, but got size ", target.size(1),
                     " for argument #2 'targets' (while checking arguments for ctc_loss_allocate_outputs)");
        }
        for (int64_t b = 0; b < batch; b++)
            for (int64_t s = 1; s < states(b); s += 2)
                MT_CHECK_INDEX(label(b, s) >= 0 && label(b, s) < classes, "Target ", label(b, s), " is out of bounds.");
    }
    int64_t states(int64_t b) const { return 2 * target_lengths[static_cast<size_t>(b)] + 1; }
    // The label of extended state s: blanks stand between and around the target's labels.
    int64_t label(int64_t b, int64_t s) const {
        return s % 2 == 0 ? blank : targets->data<int64_t>()[offsets[static_cast<size_t>(b)] + s / 2];
    }
};

// _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity) -> (neg_log_likelihood, log_alpha)
// Lengths: IntSpan or const Tensor&
template <class Lengths>
std::tuple<TensorRef, TensorRef> ctc_loss_cpu(const Tensor& given_log_probs, const Tensor& targets,
                                              Lengths input_lengths, Lengths target_lengths, int64_t blank,
                                              bool zero_infinity) {
    TensorRef log_probs = contiguous(given_log_probs);
    Problem p(*log_probs, targets, lengths_of(input_lengths), lengths_of(target_lengths), blank);
    int64_t width = 2 * p.longest + 1;
    TensorRef loss = empty(IntSpan(&p.batch, 1), log_probs->dtype);
    TensorRef alphas = empty(Dims{p.batch, p.time, width}, log_probs->dtype);
    visit(PlainFloatTypes{}, log_probs->dtype, "ctc_loss_cpu", [&]<class X>() {
        const X* y = log_probs->data<X>();
        parallel_for(p.batch, 1, [&](int64_t first, int64_t end) {
            for (int64_t b = first; b < end; b++) {
                X* alpha = alphas->data<X>() + b * p.time * width;
                std::fill(alpha, alpha + p.time * width, kNever<X>);
                int64_t frames = p.input_lengths[static_cast<size_t>(b)], states = p.states(b);
                if (frames == 0) {
                    loss->data<X>()[b] = states == 1 ? X(0) : -kNever<X>;
                    continue;
                }
                auto emit = [&](int64_t t, int64_t s) { return y[(t * p.batch + b) * p.classes + p.label(b, s)]; };
                alpha[0] = emit(0, 0);
                if (states > 1) alpha[1] = emit(0, 1);
                for (int64_t t = 1; t < frames; t++)
                    for (int64_t s = 0; s < states; s++) {
                        const X* before = alpha + (t - 1) * width;
                        const bool skips = s > 1 && p.label(b, s) != p.label(b, s - 2);
                        alpha[t * width + s] = emit(t, s) + log_sum(before[s], s > 0 ? before[s - 1] : kNever<X>,
                                                                    skips ? before[s - 2] : kNever<X>);
                    }
                const X* last = alpha + (frames - 1) * width;
                loss->data<X>()[b] = -(states == 1 ? last[0] : log_add(last[states - 1], last[states - 2]));
            }
        });
    });
    return {std::move(loss), std::move(alphas)};
}

// _ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha, blank,
// zero_infinity)
template <class Lengths>
TensorRef ctc_loss_backward_cpu(const Tensor& given_grad, const Tensor& given_log_probs, const Tensor& targets,
                                Lengths input_lengths, Lengths target_lengths, const Tensor& neg_log_likelihood,
                                const Tensor& log_alpha, int64_t blank, bool zero_infinity) {
    TensorRef log_probs = contiguous(given_log_probs);
    Problem p(*log_probs, targets, lengths_of(input_lengths), lengths_of(target_lengths), blank);
    DType type = log_probs->dtype;
    TensorRef grad = contiguous(given_grad, type), loss = contiguous(neg_log_likelihood),
              alphas = contiguous(log_alpha);
    TensorRef result = zeros(log_probs->sizes(), type);
    const int64_t width = 2 * p.longest + 1;
    MT_CHECK(loss->dtype == type && loss->numel() == p.batch && alphas->dtype == type &&
                 alphas->sizes() == IntSpan(Dims{p.batch, p.time, width}) &&
                 (grad->numel() == 1 || grad->numel() == p.batch),
             "ctc_loss_backward: grad, neg_log_likelihood and log_alpha are not those of these arguments");
    visit(PlainFloatTypes{}, type, "ctc_loss_backward_cpu", [&]<class X>() {
        const X* y = log_probs->data<X>();
        X* dy = result->data<X>();
        parallel_for(p.batch, 1, [&](int64_t first, int64_t end) {
            std::vector<X> beta(static_cast<size_t>(width)), next(beta.size()),
                occupied(static_cast<size_t>(p.classes));
            for (int64_t b = first; b < end; b++) {
                const X* alpha = alphas->data<X>() + b * p.time * width;
                int64_t frames = p.input_lengths[static_cast<size_t>(b)], states = p.states(b);
                X negative = loss->data<X>()[b], g = grad->data<X>()[grad->numel() == 1 ? 0 : b];
                if (zero_infinity && negative == -kNever<X>) continue;
                for (int64_t t = frames - 1; t >= 0; t--) {
                    const X* row = y + (t * p.batch + b) * p.classes;
                    for (int64_t s = states - 1; s >= 0; s--) {
                        size_t k = static_cast<size_t>(s);
                        X total;
                        if (t == frames - 1) {
                            total = s >= states - 2 ? X(0) : kNever<X>;
                        } else {
                            const bool skips = s + 2 < states && p.label(b, s) != p.label(b, s + 2);
                            total = log_sum(beta[k], s + 1 < states ? beta[k + 1] : kNever<X>,
                                            skips ? beta[k + 2] : kNever<X>);
                        }
                        next[k] = total + row[p.label(b, s)];
                    }
                    std::swap(beta, next);
                    // Probability (log) that label l is emitted at t, emission counted twice.
                    std::fill(occupied.begin(), occupied.end(), kNever<X>);
                    for (int64_t s = 0; s < states; s++) {
                        X& total = occupied[static_cast<size_t>(p.label(b, s))];
                        total = log_add(total, alpha[t * width + s] + beta[static_cast<size_t>(s)]);
                    }
                    X* to = dy + (t * p.batch + b) * p.classes;
                    for (int64_t l = 0; l < p.classes; l++)
                        to[l] = (std::exp(row[l]) - std::exp(occupied[static_cast<size_t>(l)] + negative - row[l])) * g;
                }
            }
        });
    });
    return result;
}

}  // namespace

KERNELS
{
    direct<ctc_loss_cpu<IntSpan>>("_ctc_loss");
    direct<ctc_loss_cpu<const Tensor&>>("_ctc_loss.Tensor");
    direct<ctc_loss_backward_cpu<IntSpan>>("_ctc_loss_backward");
    direct<ctc_loss_backward_cpu<const Tensor&>>("_ctc_loss_backward.Tensor");
}

}  // namespace mt
