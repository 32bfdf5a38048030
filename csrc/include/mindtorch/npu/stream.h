// Devices and streams of NPUs, by torch_npu's names. What is behind them is asked of the back end, by operators that it
// registers.
#pragma once

#include <acl/acl.h>
#include <mindtorch/functions.h>
#include <mindtorch/library.h>

#include <string>

namespace mindtorch {
namespace npu MINDTORCH_HIDDEN {

template <class F, class... A>
auto ask(const char* name, A... arguments) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<F>().call(arguments...);
}
// The current stream of a device (of the current one for -1), which is made this thread's device.
inline int64_t stream(int64_t device) { return ask<int64_t(int64_t)>("mindtorch_npu::stream", device); }
// The address of a function of CANN or of an operator package; 0 if nobody has it.
inline void* symbol(const std::string& name) {
    return reinterpret_cast<void*>(ask<int64_t(std::string)>("mindtorch_npu::symbol", name));
}
// Tells the back end of work that was enqueued, or raises its error for what came of it.
inline void enqueued(const std::string& name, int64_t device, int64_t code) {
    ask<int64_t(std::string, int64_t, int64_t)>("mindtorch_npu::enqueued", name, device, code);
}

}  // namespace npu MINDTORCH_HIDDEN
}  // namespace mindtorch

namespace c10_npu {

inline c10::DeviceIndex current_device() {
    return static_cast<c10::DeviceIndex>(mindtorch::npu::ask<int64_t()>("mindtorch_npu::current_device"));
}
inline c10::DeviceIndex device_count() {
    return static_cast<c10::DeviceIndex>(mindtorch::npu::ask<int64_t()>("mindtorch_npu::device_count"));
}
inline void set_device(c10::DeviceIndex device) {
    mindtorch::npu::ask<int64_t(int64_t)>("mindtorch_npu::set_device", static_cast<int64_t>(device));
}

// A queue of work on a device: the current one, as programs can only ask for that.
class NPUStream {
  public:
    NPUStream(c10::DeviceIndex device, aclrtStream stream) : device_(device), stream_(stream) {}
    // Work is handed to the device by the thread that asks for it, so there is no queue to wait for.
    aclrtStream stream(bool need_empty = true) const {
        (void)need_empty;
        return stream_;
    }
    operator aclrtStream() const { return stream_; }
    c10::DeviceIndex device_index() const { return device_; }
    c10::DeviceType device_type() const { return c10::DeviceType::PrivateUse1; }
    c10::Device device() const { return c10::Device(device_type(), device_); }
    int64_t id() const { return reinterpret_cast<int64_t>(stream_); }
    void synchronize() const {
        mindtorch::npu::ask<int64_t(int64_t, int64_t)>("mindtorch_npu::synchronize", static_cast<int64_t>(device_),
                                                       id());
    }
    bool operator==(const NPUStream& o) const noexcept { return device_ == o.device_ && stream_ == o.stream_; }
    bool operator!=(const NPUStream& o) const noexcept { return !(*this == o); }

  private:
    c10::DeviceIndex device_;
    aclrtStream stream_;
};

inline NPUStream getCurrentNPUStream(c10::DeviceIndex device = -1) {
    if (device < 0) device = current_device();
    return NPUStream(device, reinterpret_cast<aclrtStream>(mindtorch::npu::stream(device)));
}
inline NPUStream getDefaultNPUStream(c10::DeviceIndex device = -1) {
    return NPUStream(device < 0 ? current_device() : device, nullptr);
}

// The current device for the life of this object.
class NPUGuard {
  public:
    explicit NPUGuard(c10::DeviceIndex device) : before_(current_device()) { set_device(device); }
    explicit NPUGuard(c10::Device device) : NPUGuard(device.index()) {}
    NPUGuard(const NPUGuard&) = delete;
    NPUGuard& operator=(const NPUGuard&) = delete;
    ~NPUGuard() { set_device(before_); }

  private:
    c10::DeviceIndex before_;
};
class OptionalNPUGuard {
  public:
    OptionalNPUGuard() = default;
    explicit OptionalNPUGuard(c10::Device device) { guard_.emplace(device); }
    explicit OptionalNPUGuard(std::optional<c10::Device> device) {
        if (device) guard_.emplace(*device);
    }

  private:
    std::optional<NPUGuard> guard_;
};

}  // namespace c10_npu

namespace torch_npu {
namespace utils {
inline c10::DeviceType get_npu_device_type() { return c10::DeviceType::PrivateUse1; }
inline bool is_npu(const at::Tensor& tensor) { return tensor.device().is_privateuseone(); }
}  // namespace utils
}  // namespace torch_npu
