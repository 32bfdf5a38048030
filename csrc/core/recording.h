// How many profilers take down what this process does: compiled libraries look before they note a range of theirs.
#pragma once

#include <atomic>

namespace mt {

inline std::atomic<int> g_recorders{0};

}  // namespace mt
