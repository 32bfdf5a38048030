// What torch.empty() and its kin give: memory as it was found, or, on request, a value that shows when it is read.
#pragma once

namespace mt {

struct Tensor;

extern bool g_fill_uninitialised;  // set by torch.use_deterministic_algorithms
void fill_unread(Tensor& t);       // with nan, or the largest number of its type

}  // namespace mt
