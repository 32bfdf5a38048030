// NPUs as at::DeviceGuard, c10::Stream and their kin see them, and torch_npu's guards of devices and streams.
#pragma once

#include <mindtorch/npu/stream.h>

namespace c10_npu {

// The current device for the life of this object.
class NPUGuard {
  public:
    explicit NPUGuard(c10::DeviceIndex device) : before_(current_device()) { c10_npu::set_device(device); }
    explicit NPUGuard(c10::Device device) : NPUGuard(device.index()) {}
    NPUGuard(const NPUGuard&) = delete;
    NPUGuard& operator=(const NPUGuard&) = delete;
    ~NPUGuard() { c10_npu::set_device(before_); }
    void set_device(c10::Device device) { c10_npu::set_device(device.index()); }
    void set_index(c10::DeviceIndex device) { c10_npu::set_device(device); }
    c10::Device original_device() const { return c10::Device(c10::DeviceType::PrivateUse1, before_); }

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

namespace impl {

struct NPUGuardImpl : c10::impl::DeviceGuardImplInterface {
    static constexpr c10::DeviceType static_type = c10::DeviceType::PrivateUse1;
    c10::DeviceType type() const override { return static_type; }
    c10::Device exchangeDevice(c10::Device d) const override {
        const c10::Device before = getDevice();
        if (before.index() != d.index()) set_device(d.index());
        return before;
    }
    c10::Device getDevice() const override { return c10::Device(static_type, current_device()); }
    void setDevice(c10::Device d) const override { set_device(d.index()); }
    void uncheckedSetDevice(c10::Device d) const noexcept override {
        try {
            set_device(d.index());
        } catch (...) {  // as PyTorch's: a guard that ends says nothing
        }
    }
    c10::Stream getStream(c10::Device d) const override { return getCurrentNPUStream(d.index()); }
    c10::Stream getDefaultStream(c10::Device d) const override { return getDefaultNPUStream(d.index()); }
    c10::Stream getStreamFromGlobalPool(c10::Device d, bool high_priority = false) const override {
        return getNPUStreamFromPool(d.index(), high_priority);
    }
    c10::Stream getNewStream(c10::Device d, int priority = 0) const override {
        return getNPUStreamFromPool(d.index(), priority < 0);
    }
    c10::Stream exchangeStream(c10::Stream s) const override {
        const c10::Stream before = getStream(s.device());
        setCurrentNPUStream(NPUStream(s));
        return before;
    }
    void* getStreamNativeHandle(const c10::Stream s) const override { return NPUStream(s).stream(); }
    c10::DeviceIndex deviceCount() const noexcept override { return device_count(); }
    void synchronizeStream(const c10::Stream& s) const override { NPUStream(s).synchronize(); }
    void synchronizeDevice(const c10::DeviceIndex index) const override {
        mindtorch::npu::ask<int64_t(int64_t)>("mindtorch_npu::synchronize_device", static_cast<int64_t>(index));
    }
    // The memory is not used anew before the stream has passed this place.
    void recordDataPtrOnStream(const c10::DataPtr& memory, const c10::Stream& s) const override {
        if (memory.get() == nullptr) return;
        mindtorch::npu::ask<int64_t(int64_t, int64_t, int64_t)>(
            "mindtorch_npu::used_on_stream", static_cast<int64_t>(s.device_index()),
            static_cast<int64_t>(reinterpret_cast<intptr_t>(memory.get())), s.id());
    }
};

// Known to this library from its start; a guard that the program registers itself takes its place.
inline const bool guard_is_known = [] {
    static const NPUGuardImpl impl;
    auto& known = mindtorch::guards()[static_cast<size_t>(c10::DeviceType::PrivateUse1)];
    const mindtorch::GuardImpl* none = nullptr;
    return known.compare_exchange_strong(none, &impl);
}();

}  // namespace impl

// This thread's work goes to the stream for the life of this object.
class NPUStreamGuard : public c10::StreamGuard {
  public:
    explicit NPUStreamGuard(const c10::Stream& stream) : c10::StreamGuard(stream) {}
    explicit NPUStreamGuard(const NPUStream& stream) : c10::StreamGuard(stream.unwrap()) {}
};
using SecondaryStreamGuard = NPUStreamGuard;

}  // namespace c10_npu
