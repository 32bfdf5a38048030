// Negative log likelihood of scores [samples, classes, places], one thread a target. The words: IN, TARGET, OUT and WEIGHT
// (element types), HAS_WEIGHT, and for the gradient MEAN.
#pragma once

typedef math_of<IN>::type T;

// A target that is no class ends the kernel: the device is lost, as with an assertion.
DEVICE int64_t checked(int64_t target, int64_t classes, int64_t ignored) {
    if (target != ignored && (target < 0 || target >= classes)) __trap();
    return target;
}

#ifndef MEAN
struct Args {
    int64_t n, classes, places, ignored;
    const IN* in;
    const TARGET* target;
    const WEIGHT* weight;
    OUT* out;
    OUT* weights;  // what each target counts
};

KERNEL(nll, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= a.n) return;
    const int64_t t = checked(static_cast<int64_t>(a.target[i]), a.classes, a.ignored);
    T value = 0, weight = 0;
    if (t != a.ignored) {
        weight = HAS_WEIGHT ? to<T>(a.weight[t]) : T(1);
        value = -to<T>(a.in[(i / a.places * a.classes + t) * a.places + i % a.places]) * weight;
    }
    a.out[i] = to<OUT>(value);
    a.weights[i] = to<OUT>(weight);
}
#else
struct Args {
    int64_t n, classes, places, ignored;
    const T* grad;
    const TARGET* target;
    const WEIGHT* weight;
    OUT* out;
    const T* total;
    int64_t single;  // one gradient for all
};

KERNEL(nll_backward, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= a.n) return;
    const int64_t k = i / (a.classes * a.places) * a.places + i % a.places;
    const int64_t t = checked(static_cast<int64_t>(a.target[k]), a.classes, a.ignored);
    T slope = 0;
    if (t != a.ignored && t == i / a.places % a.classes) {
        slope = -a.grad[a.single ? 0 : k] * (HAS_WEIGHT ? to<T>(a.weight[t]) : T(1));
        if (MEAN) slope /= a.total[0];
    }
    a.out[i] = to<OUT>(slope);
}
#endif
