// Calls whose tensors lie on several devices: the key MixedDevices, above every back end's, checks them before a kernel
// runs.
#pragma once

#include "kernel.h"

namespace mt {

// Whether the tensor arguments of a call lie on more than one device.
bool has_mixed_devices(const Call& c);
// RuntimeError unless the operator's row lets the tensors lie where they do; then the kernel of the device. An implicit
// composite reaches the operators of its body unchecked, which are checked each for itself.
void run_mixed_devices(Call& c);

}  // namespace mt
