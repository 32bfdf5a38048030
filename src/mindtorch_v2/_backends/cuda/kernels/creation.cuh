// Sequences of numbers. The words: OUT (element type), WIDE (the type they are computed in).
#pragma once

struct Args {
    int64_t n, columns;
    OUT* out;
    double start, end, step;
    int64_t whole_start, whole_step;
};

KERNEL(arange, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < a.n) a.out[i] = WHOLE ? to<OUT>(a.whole_start + i * a.whole_step) : to<OUT>(static_cast<WIDE>(a.start + static_cast<WIDE>(i) * a.step));
}

// From both ends, so that the last number is the end itself.
KERNEL(linspace, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const WIDE step = static_cast<WIDE>(a.step);
    if (i < a.n)
        a.out[i] = to<OUT>(i < a.n / 2 ? static_cast<WIDE>(a.start) + step * static_cast<WIDE>(i)
                                       : static_cast<WIDE>(a.end) - step * static_cast<WIDE>(a.n - i - 1));
}

KERNEL(eye, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < a.n) a.out[i] = to<OUT>(i / a.columns == i % a.columns);
}
