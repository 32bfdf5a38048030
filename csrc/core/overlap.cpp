#include "overlap.h"

#include "error.h"

namespace mt {

bool shows_elements_twice(const Tensor& t) {
    if (t.is_non_overlapping_and_dense()) return false;
    for (int64_t i = 0; i < t.ndim; i++)
        if (t.stride(i) == 0 && t.size(i) > 1) return true;
    return false;
}

void check_overlap(const Tensor& t) {
    MT_CHECK(!shows_elements_twice(t),
             "unsupported operation: more than one element of the written-to tensor refers to a single memory "
             "location. Please clone() the tensor before performing the operation.");
}

}  // namespace mt
