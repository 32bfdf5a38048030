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

namespace {
enum class Overlap { None, Same, Partial };
// Of two dense views; others are taken to lie apart, as PyTorch does.
Overlap overlap_of(const Tensor& read, const Tensor& written) {
    if (read.storage != written.storage || read.numel_ == 0 || written.numel_ == 0) return Overlap::None;
    if (!read.is_non_overlapping_and_dense() || !written.is_non_overlapping_and_dense()) return Overlap::None;
    const int64_t r0 = read.offset * read.itemsize(), w0 = written.offset * written.itemsize();
    const int64_t r1 = r0 + read.numel_ * read.itemsize(), w1 = w0 + written.numel_ * written.itemsize();
    if (r0 == w0 && r1 == w1) return read.strides() == written.strides() ? Overlap::Same : Overlap::Partial;
    return r0 < w1 && w0 < r1 ? Overlap::Partial : Overlap::None;
}
void refuse(bool shared) {
    MT_CHECK(
        !shared,
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
        "location. Please clone() the tensor before performing the operation.");
}
}  // namespace

void check_apart(const Tensor& read, const Tensor& written) { refuse(overlap_of(read, written) == Overlap::Partial); }
void check_disjoint(const Tensor& read, const Tensor& written) { refuse(overlap_of(read, written) != Overlap::None); }

}  // namespace mt
