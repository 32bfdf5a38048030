// Kernels that work on one row at a time hand their loop in here, where one is asked for (core/loops.h): a loop over
// the n elements of a row, whose operands are rows, single elements of rows, or elements for all rows.
//
//     if (record_row_loop({row_loop<Softmax<X>>, &job}, a.n, 1, {{&y, kind, Reach::All}, {&x, kind, Reach::All}}))
//     return;
#pragma once

#include <initializer_list>

#include "core/loops.h"

namespace mt {

struct RowOperand {
    const Tensor* t;
    DType dtype;  // that the loop reads or writes
    Reach reach;
};

// Whether the loop was asked for, and handed in: then nothing is to be computed. Outputs come first; an operand without
// a tensor is left out.
inline bool record_row_loop(const Loop& loop, int64_t n, int outputs, std::initializer_list<RowOperand> operands) {
    LoopRecorder* recorder = LoopRecorder::here();
    if (!recorder) return false;
    std::vector<LoopOperand> found;
    for (const RowOperand& o : operands)
        if (o.t) found.push_back({o.t, Value(), o.dtype, o.reach});
    recorder->add(loop, std::move(found), outputs, n);
    return true;
}

}  // namespace mt
