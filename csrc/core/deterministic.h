// Operators whose results may differ from run to run, and whether a program wants to be told of them.
#pragma once

namespace mt {

enum class Deterministic { NotAsked, Warn, Raise };
extern Deterministic g_deterministic;  // set by torch.use_deterministic_algorithms

// Raises, or warns, if a program asked for deterministic algorithms. For operators that have none, under PyTorch's
// name.
void alert_not_deterministic(const char* name);

}  // namespace mt
