// Devices and streams of NPUs, by torch_npu's names. What is behind them is asked of the back end, by operators that it
// registers.
#pragma once

#include <acl/acl.h>
#include <mindtorch/npu/ask.h>
#include <mindtorch/own_device.h>

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
inline aclError GetDevice(int32_t* device) {
    *device = current_device();
    return ACL_SUCCESS;
}
inline aclError SetDevice(c10::DeviceIndex device) {
    set_device(device);
    return ACL_SUCCESS;
}

// A queue of work on a device. Its number is the address of the `aclrtStream`.
class NPUStream {
  public:
    NPUStream(c10::DeviceIndex device, aclrtStream stream) : device_(device), stream_(stream) {}
    explicit NPUStream(const c10::Stream& stream)
        : NPUStream(stream.device_index(), reinterpret_cast<aclrtStream>(stream.id())) {}
    // Work is handed to the device by the thread that asks for it, so there is no queue to wait for.
    aclrtStream stream(bool need_empty = true) const {
        (void)need_empty;
        return stream_;
    }
    operator aclrtStream() const { return stream_; }
    operator c10::Stream() const { return unwrap(); }
    c10::Stream unwrap() const { return c10::Stream(c10::Stream::UNSAFE, device(), id()); }
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
// One of the device's pool, of those that go first or of the others.
inline NPUStream getNPUStreamFromPool(c10::DeviceIndex device = -1, bool high_priority = false) {
    if (device < 0) device = current_device();
    const int64_t made = mindtorch::npu::ask<int64_t(int64_t, bool)>("mindtorch_npu::pooled_stream",
                                                                     static_cast<int64_t>(device), high_priority);
    return NPUStream(device, reinterpret_cast<aclrtStream>(made));
}
inline NPUStream getStreamFromPool(bool high_priority = false, c10::DeviceIndex device = -1) {
    return getNPUStreamFromPool(device, high_priority);
}
// This thread's work on the stream's device goes there from here on.
inline void setCurrentNPUStream(NPUStream stream) {
    mindtorch::npu::ask<int64_t(int64_t, int64_t)>("mindtorch_npu::set_stream",
                                                   static_cast<int64_t>(stream.device_index()), stream.id());
}
inline void npuSynchronizeDevice(bool = true) {
    mindtorch::npu::ask<int64_t(int64_t)>("mindtorch_npu::synchronize_device", static_cast<int64_t>(current_device()));
}

}  // namespace c10_npu

namespace torch_npu {
namespace utils {
inline c10::DeviceType get_npu_device_type() { return c10::DeviceType::PrivateUse1; }
inline bool is_npu(const at::Tensor& tensor) { return tensor.device().is_privateuseone(); }
}  // namespace utils
}  // namespace torch_npu

#include <mindtorch/npu/guard.h>
