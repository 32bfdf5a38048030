// What the emulated libraries (cuBLAS, cuBLASLt, NCCL) ask of the emulated driver.
#pragma once

#include "driver.h"

// Runs `run(data)` when the stream comes to it, then `drop(data)`; `name` is told in errors.
EMULATED_API int emulated_enqueue(CUstream stream, const char* name, void (*run)(void*), void* data,
                                  void (*drop)(void*));
// The error that a test asked for at a call of this function, or 0.
EMULATED_API int emulated_injected(const char* function);
EMULATED_API CUresult cuCtxGetCurrent(CUcontext* context);
EMULATED_API CUresult cuCtxGetDevice(CUdevice* device);
