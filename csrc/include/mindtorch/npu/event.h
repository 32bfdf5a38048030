// `NPUEvent`: a mark in a stream of an NPU, made when it is first recorded.
#pragma once

#include <mindtorch/npu/exception.h>
#include <mindtorch/npu/stream.h>

#include <utility>

namespace c10_npu {

class NPUEvent {
  public:
    explicit NPUEvent(unsigned int flags = ACL_EVENT_SYNC) : flags_(flags) {}
    NPUEvent(NPUEvent&& o) noexcept { *this = std::move(o); }
    NPUEvent& operator=(NPUEvent&& o) noexcept {
        std::swap(event_, o.event_);
        std::swap(flags_, o.flags_);
        std::swap(device_, o.device_);
        return *this;
    }
    ~NPUEvent() {
        if (event_ != nullptr) call<aclError(aclrtEvent)>("aclrtDestroyEvent")(event_);
    }
    operator aclrtEvent() const { return event_; }
    aclrtEvent event() const { return event_; }
    bool isCreated() const { return event_ != nullptr; }
    c10::DeviceIndex device_index() const { return device_; }
    c10::Device device() const { return c10::Device(c10::DeviceType::PrivateUse1, device_); }

    void record() { record(getCurrentNPUStream()); }
    void recordOnce(const NPUStream& stream) {
        if (!isCreated()) record(stream);
    }
    void record(const NPUStream& stream) {
        const NPUGuard guard(stream.device_index());
        if (!isCreated()) {
            device_ = stream.device_index();
            NPU_CHECK_ERROR(call<aclError(aclrtEvent*, uint32_t)>("aclrtCreateEventWithFlag")(&event_, flags_));
        }
        TORCH_CHECK(device_ == stream.device_index(), "NPUEvent: made on device ", static_cast<int>(device_),
                    ", recorded on a stream of device ", static_cast<int>(stream.device_index()));
        NPU_CHECK_ERROR(call<aclError(aclrtEvent, aclrtStream)>("aclrtRecordEvent")(event_, stream.stream()));
    }
    // What is enqueued on the stream from here on waits for the mark.
    void block(const NPUStream& stream) const {
        if (!isCreated()) return;
        const NPUGuard guard(stream.device_index());
        NPU_CHECK_ERROR(call<aclError(aclrtStream, aclrtEvent)>("aclrtStreamWaitEvent")(stream.stream(), event_));
    }
    bool query() const {
        if (!isCreated()) return true;
        int status = 0;
        NPU_CHECK_ERROR(call<aclError(aclrtEvent, int*)>("aclrtQueryEventStatus")(event_, &status));
        return status == 1;
    }
    void synchronize() const {
        if (isCreated()) NPU_CHECK_ERROR(call<aclError(aclrtEvent)>("aclrtSynchronizeEvent")(event_));
    }
    float elapsed_time(const NPUEvent& later) const {
        TORCH_CHECK(isCreated() && later.isCreated(),
                    "NPUEvent: both events must be recorded before their time is asked");
        float milliseconds = 0;
        NPU_CHECK_ERROR(call<aclError(float*, aclrtEvent, aclrtEvent)>("aclrtEventElapsedTime")(&milliseconds, event_,
                                                                                                later.event_));
        return milliseconds;
    }

  private:
    template <class F>
    static F* call(const char* name) {
        void* found = mindtorch::npu::symbol(name);
        TORCH_CHECK_NOT_IMPLEMENTED(found != nullptr, name, " is in none of CANN's libraries");
        return reinterpret_cast<F*>(found);
    }
    aclrtEvent event_ = nullptr;
    unsigned int flags_ = 0;
    c10::DeviceIndex device_ = -1;
};

}  // namespace c10_npu
