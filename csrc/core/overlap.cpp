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

void check_apart(const Tensor& read, const Tensor& written) {
    if (read.storage != written.storage || read.numel_ == 0 || written.numel_ == 0) return;
    if (!read.is_non_overlapping_and_dense() || !written.is_non_overlapping_and_dense()) return;
    const int64_t r0 = read.offset * read.itemsize(), w0 = written.offset * written.itemsize();
    const int64_t r1 = r0 + read.numel_ * read.itemsize(), w1 = w0 + written.numel_ * written.itemsize();
    const bool shared = r0 == w0 && r1 == w1 ? !(read.strides() == written.strides()) : r0 < w1 && w0 < r1;
    MT_CHECK(
        !shared,
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
        "location. Please clone() the tensor before performing the operation.");
}

}  // namespace mt
