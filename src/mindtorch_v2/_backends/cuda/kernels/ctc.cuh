// Connectionist temporal classification (Graves et al. 2006) in log space. A block has a sequence of the batch, a thread states of
// the labels with blanks between them. The word: ELEMENT (float or double).
#pragma once

typedef ELEMENT T;
struct Args {
    int64_t time, batch, classes, longest, blank, zero_infinity, grads;
    const T* log_probs;
    const int64_t *targets, *inputs, *lengths, *offsets;
    T *loss, *alpha;
    const T* grad;
    T *beta, *out;
};

DEVICE T never() { return static_cast<T>(-INFINITY); }
DEVICE T log_add(T a, T b) {
    const T high = a > b ? a : b, low = a > b ? b : a;
    return low == never() ? high : high + log1p(exp(low - high));
}
DEVICE T log_sum(T a, T b, T c) {
    const T two = a > b ? a : b, high = two > c ? two : c;
    return high == never() ? high : high + log(exp(a - high) + exp(b - high) + exp(c - high));
}

struct Sequence {
    int64_t frames, states, width;
    const T* row;  // of log_probs, for the first frame
    const int64_t* labels;
    int64_t blank, step;
    DEVICE Sequence(const Args& a, int64_t b)
        : frames(a.inputs[b]), states(2 * a.lengths[b] + 1), width(2 * a.longest + 1), row(a.log_probs + b * a.classes),
          labels(a.targets + a.offsets[b]), blank(a.blank), step(a.batch * a.classes) {}
    DEVICE int64_t label(int64_t s) const { return s % 2 ? labels[s / 2] : blank; }
    DEVICE T emits(int64_t t, int64_t s) const { return row[t * step + label(s)]; }
};

KERNEL(ctc_alpha, Args) {
    const int64_t b = blockIdx.x;
    const Sequence q(a, b);
    T* alpha = a.alpha + b * a.time * q.width;
    for (int64_t i = threadIdx.x; i < a.time * q.width; i += blockDim.x) alpha[i] = never();
    __syncthreads();
    for (int64_t t = 0; t < q.frames; t++) {
        const T* before = alpha + (t - 1) * q.width;
        for (int64_t s = threadIdx.x; s < q.states; s += blockDim.x) {
            T sum = s < 2 ? T(0) : never();
            if (t) {
                const bool skips = s > 1 && q.label(s) != q.label(s - 2);
                sum = log_sum(before[s], s ? before[s - 1] : never(), skips ? before[s - 2] : never());
            }
            alpha[t * q.width + s] = sum + q.emits(t, s);
        }
        __syncthreads();
    }
    if (threadIdx.x) return;
    const T* last = alpha + (q.frames - 1) * q.width;
    if (!q.frames) a.loss[b] = q.states == 1 ? T(0) : -never();
    else a.loss[b] = -(q.states == 1 ? last[0] : log_add(last[q.states - 1], last[q.states - 2]));
}

KERNEL(ctc_slopes, Args) {
    const int64_t b = blockIdx.x;
    const Sequence q(a, b);
    const T loss = a.loss[b], g = a.grad[a.grads == 1 ? 0 : b];
    if (a.zero_infinity && loss == -never()) return;  // the results begin as zeros
    const T* alpha = a.alpha + b * a.time * q.width;
    T* beta = a.beta + b * 2 * q.width;
    for (int64_t t = q.frames - 1; t >= 0; t--) {
        T *now = beta + t % 2 * q.width, *after = beta + (t + 1) % 2 * q.width;
        for (int64_t s = threadIdx.x; s < q.states; s += blockDim.x) {
            T sum = s >= q.states - 2 ? T(0) : never();
            if (t < q.frames - 1) {
                const bool skips = s + 2 < q.states && q.label(s) != q.label(s + 2);
                sum = log_sum(after[s], s + 1 < q.states ? after[s + 1] : never(), skips ? after[s + 2] : never());
            }
            now[s] = sum + q.emits(t, s);
        }
        __syncthreads();
        for (int64_t l = threadIdx.x; l < a.classes; l += blockDim.x) {
            T occupied = never();
            for (int64_t s = l == a.blank ? 0 : 1; s < q.states; s++)
                if (q.label(s) == l) occupied = log_add(occupied, alpha[t * q.width + s] + now[s]);
            const T emitted = q.row[t * q.step + l];
            a.out[(t * a.batch + b) * a.classes + l] = (exp(emitted) - exp(occupied + loss - emitted)) * g;
        }
        __syncthreads();
    }
}
