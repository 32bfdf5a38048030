// Memory of devices other than the CPU: what a back end gives the core, and how the core finds it.
#pragma once

#include "value.h"

namespace mt {

enum class Transfer : int { ToDevice = 1, ToHost = 2, Within = 3 };

struct DeviceMemory {
    void* (*allocate)(size_t nbytes, Device device);  // raises if there is no more
    void (*release)(void* data, Device device);
    // Raw bytes. `host` is the tensor whose memory is read or written on the host side, null for transfers within.
    void (*transfer)(void* to, const void* from, size_t nbytes, Transfer kind, Device device, bool non_blocking,
                     const Tensor* host);
    void (*copy)(Tensor& to, const Tensor& from);  // both on the device: any strides, dtypes and broadcasting
    void (*fill)(Tensor& to, const Value& number);
    // Where it is set, all copies with a tensor of the device, in place of `transfer` and `copy`.
    void (*across)(Tensor& to, const Tensor& from, bool non_blocking) = nullptr;
};

// The name of the device that PyTorch leaves to others, PrivateUse1: "npu" until a program has it renamed.
const std::string& own_device_name();
// RuntimeError if the name is a built-in device's, or if the device has a back end or another name already.
void rename_own_device(const std::string& name);
bool own_device_renamed();

void register_device_memory(DeviceType type, const DeviceMemory* memory);
// The memory of a device type. A back end that has not been asked for yet is loaded; RuntimeError if there is none.
const DeviceMemory& device_memory(Device device);
// The device that this thread means by "npu" without a number; its back end sets it.
int8_t current_device_index(DeviceType type);
void set_current_device_index(DeviceType type, int8_t index);
void load_device(Device device);  // nothing to do for the CPU, meta, and what is loaded
bool has_back_end(DeviceType type);
void set_device_loader(void (*load)(DeviceType type));

// copy_into where one of the tensors is on a device that has its own memory.
void copy_across(Tensor& to, const Tensor& from);

// Whether the copies made in a scope may return before they are done.
class NonBlocking {
  public:
    explicit NonBlocking(bool wanted);
    ~NonBlocking();
    static bool wanted();

  private:
    bool before_;
};

}  // namespace mt
