// What torch.empty() and its kin give: memory as it was found, or, on request, a value that shows when it is read.
#pragma once

namespace mt {

extern bool g_fill_uninitialised;  // set by torch.use_deterministic_algorithms

}  // namespace mt
