// Storages of functional tensors: what is behind them is a value that Python keeps (python/functional_types.cpp).
#pragma once

#include "tensor.h"

namespace mt {

// The device of such storages; that of the tensors over them is in its index.
constexpr DeviceType kFunctional = static_cast<DeviceType>(127);

inline bool is_functional(const Storage* s) { return s->device.type == kFunctional; }
Device functional_device(Device shown);  // the device of a storage whose tensors say that they are on `shown`
Device shown_device(Device d);           // the device that tensors over a storage on `d` say they are on
void refresh_keys(Tensor& t);            // after the tensor got another storage: keys and device follow from it

}  // namespace mt
