// Storages of sparse tensors: no memory, but an object that Python keeps its parts in (python/sparse_types.cpp).
#pragma once

#include "tensor.h"

namespace mt {

// The device of such storages; the index is the layout.
constexpr DeviceType kSparse = static_cast<DeviceType>(126);
constexpr int kSparseCoo = 1, kSparseCsr = 3;  // as torch.layout counts

inline bool is_sparse(const Tensor& t) { return !(t.keys & kSparseKeys).empty(); }
inline int layout_of(const Tensor& t) { return is_sparse(t) ? t.storage->device.index : 0; }
const char* sparse_layout_name(int layout);  // as PyTorch's errors say it: "SparseCsr"

}  // namespace mt
