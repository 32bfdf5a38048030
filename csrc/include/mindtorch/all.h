// Everything that needs no Python.
#pragma once

// What programs find included with PyTorch's headers.
#include <cassert>
#include <cstdio>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <list>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <unordered_set>

#include <mindtorch/allocator.h>
#include <mindtorch/archive.h>
#include <mindtorch/autograd.h>
#include <mindtorch/config.h>
#include <mindtorch/context.h>
#include <mindtorch/cpu_fallback.h>
#include <mindtorch/custom_class.h>
#include <mindtorch/data/all.h>
#include <mindtorch/dispatch.h>
#include <mindtorch/empty_tensor.h>
#include <mindtorch/expand.h>
#include <mindtorch/functional.h>
#include <mindtorch/functions.h>
#include <mindtorch/generated/spaces.h>
#include <mindtorch/jit.h>
#include <mindtorch/language.h>
#include <mindtorch/library.h>
#include <mindtorch/logging.h>
#include <mindtorch/math.h>
#include <mindtorch/nn/all.h>
#include <mindtorch/operators.h>
#include <mindtorch/optim/all.h>
#include <mindtorch/parallel.h>
#include <mindtorch/record.h>
#include <mindtorch/serialize.h>
#include <mindtorch/stream.h>
#include <mindtorch/symbol.h>

#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 13
#define TORCH_VERSION_PATCH 0
#define TORCH_VERSION "2.13.0"
#define MINDTORCH_VERSION 1

namespace torch {
using namespace at;
using at::Tensor;
using Dtype = at::ScalarType;
using c10::AutoGradMode;
using c10::NoGradGuard;
namespace utils {
using namespace at;
}
namespace indexing = at::indexing;
namespace cuda {
inline bool is_available() { return false; }
inline size_t device_count() { return 0; }
inline bool cudnn_is_available() { return false; }
inline void synchronize(int64_t = -1) {}
inline void manual_seed(uint64_t) {}  // of no device
inline void manual_seed_all(uint64_t) {}
}  // namespace cuda
namespace mps {
inline bool is_available() { return false; }
inline void manual_seed(uint64_t) {}
inline void synchronize() {}
inline void commit() {}
}  // namespace mps
namespace xpu {
inline bool is_available() { return false; }
inline size_t device_count() { return 0; }
inline void synchronize(int64_t = -1) {}
inline void manual_seed(uint64_t) {}
inline void manual_seed_all(uint64_t) {}
}  // namespace xpu
}  // namespace torch
namespace at {
namespace cuda {
inline bool is_available() { return false; }
}  // namespace cuda
}  // namespace at
