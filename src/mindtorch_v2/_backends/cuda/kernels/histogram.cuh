// Counts of elements in equal bins, from `low` to `high`. The word: IN.
#pragma once

struct Args {
    int64_t n, bins;
    const IN* in;
    unsigned long long* counts;
    double low, high;
};

KERNEL(histogram, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= a.n) return;
    const double x = to<double>(a.in[i]);
    if (!(x >= a.low && x <= a.high)) return;
    const int64_t bin = static_cast<int64_t>((x - a.low) * static_cast<double>(a.bins) / (a.high - a.low));
    atomicAdd(a.counts + (bin < a.bins ? bin : a.bins - 1), 1ull);
}
