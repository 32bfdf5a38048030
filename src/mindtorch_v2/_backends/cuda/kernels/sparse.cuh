// A matrix compressed by rows times a dense one: a thread has an element of the result, and adds in the order of the row. The words: T
// (elements) and INDEX (of where rows begin, and of columns).
#pragma once

struct Args {
    int64_t rows, columns;  // of the result
    int64_t height, count;  // rows of the dense matrix; values
    const INDEX *starts, *places;
    const T *values, *mat;
    T* out;
};

KERNEL(weighted_row_sums, Args) {
    typedef math_of<T>::type M;
    const int64_t column = static_cast<int64_t>(blockIdx.y) * 32 + threadIdx.x;
    if (column >= a.columns) return;
    for (int64_t row = static_cast<int64_t>(blockIdx.x) * 8 + threadIdx.y; row < a.rows; row += static_cast<int64_t>(gridDim.x) * 8) {
        M sum = M(0);
        const int64_t first = a.starts[row], last = a.starts[row + 1];  // whatever their maker said
        assert(first >= 0 && last <= a.count && "a compressed sparse tensor: rows beyond its values");
        for (int64_t i = first; i < last; i++) {
            const int64_t place = a.places[i];
            assert(place >= 0 && place < a.height && "a sparse tensor: index out of bounds");
            sum = sum + to<M>(a.values[i]) * to<M>(a.mat[place * a.columns + column]);
        }
        a.out[row * a.columns + column] = to<T>(sum);
    }
}
