// Bags of rows of a table, reduced. A thread has one column of a bag. The words: ELEMENT, MODE (0 sum, 1 mean, 2 the
// largest), WEIGHTED.
#pragma once

typedef math_of<ELEMENT>::type T;

struct Args {
    int64_t bags, width, indices, offsets, rows, padding;
    const ELEMENT* table;
    const int64_t *row, *start;
    const ELEMENT* scale;
    ELEMENT* out;
    int64_t *size, *bag_of, *winner;
};

KERNEL(embedding_bag, Args) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, width = a.width > 0 ? a.width : 1;
    if (i >= a.bags * width) return;
    const int64_t bag = i / width, column = i % width;
    const int64_t first = a.start[bag], last = bag + 1 < a.offsets ? a.start[bag + 1] : a.indices;
    assert((bag > 0 || first == 0) && first >= 0 && first <= last && last <= a.indices && "embedding_bag: offsets");
    T value = T(0);
    int64_t taken = 0, winner = 0;
    for (int64_t k = first; k < last; k++) {
        const int64_t row = a.row[k];
        assert(row >= 0 && row < a.rows && "embedding_bag: index out of bounds");
        if (column == 0) a.bag_of[k] = bag;
        if (row == a.padding) continue;
        const T x = a.width ? to<T>(a.table[row * a.width + column]) : T(0);
        if (MODE == 2) {
            if (taken == 0 || x > value) value = x, winner = row;
        } else {
            value += WEIGHTED ? x * to<T>(a.scale[k]) : x;
        }
        taken++;
    }
    if (column == 0) a.size[bag] = taken;
    if (!a.width) return;
    a.out[i] = to<ELEMENT>(MODE == 1 && taken ? value / static_cast<T>(taken) : value);
    if (MODE == 2) a.winner[i] = winner;
}
