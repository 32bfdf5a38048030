// Which of the libraries of CPU kernels the processor runs.
#pragma once

#include <string>
#include <vector>

namespace mt {

// The names of the sets of instructions that this processor has, best first: CMakeLists.txt says what each is.
std::vector<std::string> kernel_sets();

}  // namespace mt
