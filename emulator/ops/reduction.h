// A tensor seen as rows: what is kept counts the rows, what is reduced lies along them.
#pragma once

#include "op.h"

namespace emu {

struct Rows {
    View view;  // kept dimensions first, reduced ones last
    int64_t rows, length;
    Shape result;  // sizes of the output
};
// No dimensions: all of them.
Rows rows_of(const View& v, std::vector<int64_t> dims, bool keep);
// A tensor with one dimension moved to the end, with the place it came from.
View last_dim(const View& v, int64_t dim);
inline int64_t length_of(const View& moved) { return moved.rank ? moved.sizes[moved.rank - 1] : 1; }

// Eight running sums, as a vector unit keeps them.
template <class C>
C sum_of(const C* x, int64_t n) {
    C lanes[8] = {};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++) lanes[k] += x[i + k];
    for (; i < n; i++) lanes[0] += x[i];
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}
template <class C>
C sum_of(const std::vector<C>& x) {
    return sum_of(x.data(), static_cast<int64_t>(x.size()));
}

}  // namespace emu
