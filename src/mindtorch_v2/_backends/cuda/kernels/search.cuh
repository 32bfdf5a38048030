// Where values belong among numbers in order. The words: IN (double or int64_t), OUT, RIGHT (behind those that are equal).
// NaN is above everything.
#pragma once

struct Args {
    int64_t total, n, per_row;  // member: per_row is whether the answer is turned
    const IN *ordered, *wanted;
    const int64_t* order;
    OUT* out;
};

DEVICE bool below(IN x, IN y) { return is_nan(x) ? false : is_nan(y) ? true : x < y; }

// How many of a row are below a value, or not above it.
DEVICE int64_t rank_of(IN x, const IN* row, const int64_t* order, int64_t n) {
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        int64_t at = middle;
        if (order) {
            at = order[middle];
            assert(at >= 0 && at < n && "searchsorted: sorter index out of range");
        }
        const IN there = row[at];
        if (RIGHT ? !below(x, there) : below(there, x))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

KERNEL(search, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= a.total) return;
    const int64_t row = i / a.per_row * a.n;
    a.out[i] = to<OUT>(rank_of(a.wanted[i], a.ordered + row, a.order ? a.order + row : a.order, a.n));
}

KERNEL(member, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= a.total) return;
    const int64_t at = rank_of(a.wanted[i], a.ordered, a.order, a.n);
    a.out[i] = to<OUT>((at < a.n && a.ordered[at] == a.wanted[i]) != (a.per_row != 0));
}
