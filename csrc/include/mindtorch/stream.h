// c10::Stream and its guards. Work on the CPU is done when a call returns: it has one stream, the default one. What
// streams of a program's own device do, its guard says: own_device.h. NPUs have c10_npu::NPUStream.
#pragma once

#include <mindtorch/types.h>

#include <optional>
#include <vector>

namespace c10 {

using StreamId = int64_t;

// Three numbers that say which stream it is, for those who keep them.
struct StreamData3 {
    StreamId stream_id;
    DeviceIndex device_index;
    DeviceType device_type;
};

class Stream final {
  public:
    enum Unsafe { UNSAFE };
    enum Default { DEFAULT };
    Stream(Default, Device device) : device_(device), id_(0) {}
    Stream(Unsafe, Device device, StreamId id) : device_(device), id_(id) {}

    Device device() const noexcept { return device_; }
    DeviceType device_type() const noexcept { return device_.type(); }
    DeviceIndex device_index() const noexcept { return device_.index(); }
    StreamId id() const noexcept { return id_; }
    bool operator==(const Stream& o) const noexcept { return device_ == o.device_ && id_ == o.id_; }
    bool operator!=(const Stream& o) const noexcept { return !(*this == o); }
    bool query() const;
    void synchronize() const;
    void* native_handle() const;
    template <class Event>
    void wait(const Event& event) const {
        event.block(*this);
    }
    uint64_t hash() const noexcept {
        return (static_cast<uint64_t>(device_.type()) << 56) | ((static_cast<uint64_t>(device_.index()) & 0xff) << 48) |
               (static_cast<uint64_t>(id_) & 0xffffffffffff);
    }
    StreamData3 pack3() const { return {id_, device_.index(), device_.type()}; }
    static Stream unpack3(StreamId id, DeviceIndex index, DeviceType type) {
        return Stream(UNSAFE, Device(type, index), id);
    }

  private:
    Device device_;
    StreamId id_;
};
inline std::ostream& operator<<(std::ostream& o, const Stream& s) {
    return o << "stream " << s.id() << " on device " << s.device();
}

// A stream is the current one for the life of these. The CPU has no other.
class StreamGuard {
  public:
    explicit StreamGuard(Stream stream);
    StreamGuard(const StreamGuard&) = delete;
    StreamGuard& operator=(const StreamGuard&) = delete;
    ~StreamGuard();
    void reset_stream(Stream stream);
    Stream original_stream() const { return original_; }
    Stream current_stream() const { return current_; }
    Device original_device() const { return original_.device(); }
    Device current_device() const { return current_.device(); }

  private:
    Stream original_, current_;
};
class OptionalStreamGuard {
  public:
    OptionalStreamGuard() = default;
    explicit OptionalStreamGuard(Stream stream) { reset_stream(stream); }
    explicit OptionalStreamGuard(std::optional<Stream> stream) {
        if (stream) reset_stream(*stream);
    }
    OptionalStreamGuard(const OptionalStreamGuard&) = delete;
    OptionalStreamGuard& operator=(const OptionalStreamGuard&) = delete;
    void reset_stream(Stream stream) {
        reset();
        guard_.emplace(stream);
    }
    void reset() { guard_.reset(); }
    std::optional<Stream> original_stream() const {
        return guard_ ? std::optional<Stream>(guard_->original_stream()) : std::nullopt;
    }
    std::optional<Stream> current_stream() const {
        return guard_ ? std::optional<Stream>(guard_->current_stream()) : std::nullopt;
    }

  private:
    std::optional<StreamGuard> guard_;
};
class MultiStreamGuard {
  public:
    explicit MultiStreamGuard(ArrayRef<Stream> streams);
    MultiStreamGuard(const MultiStreamGuard&) = delete;
    MultiStreamGuard& operator=(const MultiStreamGuard&) = delete;
    ~MultiStreamGuard();

  private:
    std::vector<Stream> before_;
};

}  // namespace c10
namespace at {
using c10::Stream;
}
namespace std {
template <>
struct hash<c10::Stream> {
    size_t operator()(const c10::Stream& s) const noexcept { return s.hash(); }
};
}  // namespace std

#include <mindtorch/own_device.h>
