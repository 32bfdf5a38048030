// Storages of sparse tensors: no memory, but an object that Python keeps its parts in (python/sparse_types.cpp).
#pragma once

#include "tensor.h"

namespace mt {

// The device of such storages; the index holds the layout and where the parts are.
constexpr DeviceType kSparse = static_cast<DeviceType>(126);
constexpr int kSparseDevices = 16, kSparsePlaces = 2 + 2 * kSparseDevices;  // the CPU, GPUs, NPUs, meta
constexpr int kSparseCoo = 1, kSparseCsr = 3;                               // as torch.layout counts

inline bool is_sparse(const Tensor& t) { return !(t.keys & kSparseKeys).empty(); }
inline int sparse_layout(Device d) { return static_cast<uint8_t>(d.index) / kSparsePlaces; }
inline int layout_of(const Tensor& t) { return is_sparse(t) ? sparse_layout(t.storage->device) : 0; }
Device sparse_device(int layout, Device parts);  // raises where no sparse tensor can be
Device device_of_parts(Device sparse);
const char* sparse_layout_name(int layout);  // as PyTorch's errors say it: "SparseCsr"

}  // namespace mt
