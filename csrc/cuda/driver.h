// CUDA's driver as far as launches need it: found at run time, so that nothing of CUDA is needed to build or to import.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mt::cuda {

constexpr int kMostDevices = 16;

// Makes a device's context current on this thread, unless it is. RuntimeError for a device that nobody told of.
void activate(int device);
// The handle of the stream that this thread's work on a device goes to; null is the default stream.
void* current_stream(int device);
// Enqueues a kernel whose one parameter is a struct at `arguments`. Raises what the back end makes of an error.
void launch(int device, void* function, const unsigned grid[3], const unsigned block[3], unsigned shared,
            void* arguments);

}  // namespace mt::cuda
