// A device of a program's own at the key PrivateUse1: guards, streams, events, hooks and a maker of generators.
// Python's side is _library/own_devices.py, which asks through one operator for each of them.
#pragma once

#include <mindtorch/data_pointer.h>
#include <mindtorch/registry.h>
#include <mindtorch/scalar.h>
#include <mindtorch/stream.h>
#include <mindtorch/tensor.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace c10 {

enum class EventFlag { PYTORCH_DEFAULT, BACKEND_DEFAULT, INVALID };

// Which types of elements a device has, a bit for each.
struct DeviceCapability {
    struct {
        uint64_t capability_bits = ~uint64_t(0);
    } capability_data;
};

namespace impl {

// What there is to ask a device, and to tell it. A program derives from it and registers one object.
struct DeviceGuardImplInterface {
    virtual ~DeviceGuardImplInterface() = default;
    virtual DeviceType type() const = 0;
    virtual Device exchangeDevice(Device) const = 0;
    virtual Device getDevice() const = 0;
    virtual void setDevice(Device) const = 0;
    virtual void uncheckedSetDevice(Device) const noexcept = 0;
    virtual Stream getStream(Device) const = 0;
    virtual Stream getDefaultStream(Device) const {
        TORCH_CHECK(false, "Backend doesn't support acquiring a default stream.");
    }
    virtual Stream getStreamFromGlobalPool(Device, bool /*high_priority*/ = false) const {
        TORCH_CHECK(false, "Backend doesn't support acquiring a stream from pool.");
    }
    virtual Stream getNewStream(Device, int /*priority*/ = 0) const {
        TORCH_CHECK(false, "Backend doesn't support create a new Stream.");
    }
    virtual Stream exchangeStream(Stream) const = 0;
    virtual void* getStreamNativeHandle(const Stream) const {
        TORCH_CHECK(false, "Backend doesn't support getting stream native handle.");
    }
    virtual void destroyEvent(void* /*event*/, const DeviceIndex) const noexcept {}
    virtual void record(void** /*event*/, const Stream&, const DeviceIndex, const EventFlag) const {
        TORCH_CHECK(false, "Backend doesn't support events.");
    }
    virtual void block(void* /*event*/, const Stream&) const { TORCH_CHECK(false, "Backend doesn't support events."); }
    virtual bool queryEvent(void* /*event*/) const { TORCH_CHECK(false, "Backend doesn't support events."); }
    virtual DeviceIndex deviceCount() const noexcept = 0;
    virtual DeviceCapability getDeviceCapability(Device) const {
        TORCH_CHECK(false, "Backend doesn't support getting device capabilities.");
    }
    virtual bool queryStream(const Stream&) const { TORCH_CHECK(false, "Backend doesn't support querying streams."); }
    virtual void synchronizeStream(const Stream&) const {
        TORCH_CHECK(false, "Backend doesn't support synchronizing streams.");
    }
    virtual bool isStreamCapturing(const Stream&) const { return false; }
    virtual void synchronizeEvent(void* /*event*/) const {
        TORCH_CHECK(false, "Backend doesn't support synchronizing events.");
    }
    virtual void synchronizeDevice(const DeviceIndex) const {
        TORCH_CHECK(false, "Backend doesn't support synchronizing all streams on device.");
    }
    virtual void recordDataPtrOnStream(const DataPtr&, const Stream&) const {}
    virtual double elapsedTime(void* /*first*/, void* /*second*/, const DeviceIndex) const {
        TORCH_CHECK(false, "Backend doesn't support elapsedTime.");
    }
};

// Of a device that is one, without streams.
template <DeviceType D>
struct NoOpDeviceGuardImpl : DeviceGuardImplInterface {
    DeviceType type() const override { return D; }
    Device exchangeDevice(Device) const override { return Device(D, -1); }
    Device getDevice() const override { return Device(D, -1); }
    void setDevice(Device) const override {}
    void uncheckedSetDevice(Device) const noexcept override {}
    Stream getStream(Device) const noexcept override { return Stream(Stream::DEFAULT, Device(D, -1)); }
    Stream getNewStream(Device, int = 0) const override { return Stream(Stream::DEFAULT, Device(D, -1)); }
    Stream exchangeStream(Stream) const noexcept override { return Stream(Stream::DEFAULT, Device(D, -1)); }
    DeviceIndex deviceCount() const noexcept override { return 1; }
    DeviceCapability getDeviceCapability(Device) const override { return {}; }
    void record(void**, const Stream&, const DeviceIndex, const EventFlag) const override { no_events(); }
    void block(void*, const Stream&) const override { no_events(); }
    bool queryEvent(void*) const override { no_events(); }
    bool queryStream(const Stream&) const override { return true; }
    void synchronizeStream(const Stream&) const override {}

  private:
    [[noreturn]] static void no_events() { TORCH_CHECK(false, D, " backend doesn't support events."); }
};

}  // namespace impl
}  // namespace c10
namespace mindtorch MINDTORCH_HIDDEN {

constexpr const char* own_devices = "mindtorch_v2._library.own_devices";

// A question of Python's: two numbers and a value come with it.
struct Question {
    std::string_view what;
    int64_t a, b;
    const mt_value* given;
};
inline int64_t given_int(const Question& q) {
    mt_value v = *q.given;
    if (v.tag == MT_OBJECT) check(api().value_of(q.given->as.object, &v));
    return v.as.integer;
}
inline mt_value answer_int(int64_t n) {
    mt_value v{};
    v.tag = MT_INT;
    v.as.integer = n;
    return v;
}
using Answering = mt_value (*)(const Question&);
inline int answer_question(void* context, mt_call* call) noexcept {
    try {
        const mt_value* a = call->args;
        const Question q{{a[0].as.string, a[0].len}, a[1].as.integer, a[2].as.integer, &a[3]};
        call->rets[0] = reinterpret_cast<Answering>(context)(q);
        return 0;
    } catch (...) {
        return report_exception();
    }
}
// Register `object` as the device's `part`, for which `answering` speaks.
inline void register_own(const char* part, const void* object, Answering answering) {
    const auto address = static_cast<int64_t>(reinterpret_cast<intptr_t>(object));
    const std::string name = c10::str(part, "_", address);
    mt_object library = nullptr;
    check(api().library("FRAGMENT", "_own_devices", nullptr, __FILE__, __LINE__, &library));
    check(api().define(library, (name + "(str what, int a, int b, Any given) -> Any").c_str(), nullptr, 0));
    check(api().implement(library, name.c_str(), "CompositeImplicitAutograd", answer_question,
                          reinterpret_cast<void*>(answering), nullptr));
    call_python(own_devices, "register", {arg(part), arg(name.c_str()), arg(address)});
}
// What any library of the process registered, or null.
template <class T>
T* own_part(const char* part) {
    return reinterpret_cast<T*>(static_cast<intptr_t>(call_python(own_devices, "pointer", {arg(part)}).as.integer));
}

// ---- guards ----

using GuardImpl = c10::impl::DeviceGuardImplInterface;
inline std::array<std::atomic<const GuardImpl*>, 32>& guards() {
    static std::array<std::atomic<const GuardImpl*>, 32> all{};
    return all;
}
inline const GuardImpl* guard_of(c10::DeviceType type) {
    std::atomic<const GuardImpl*>& known = guards()[static_cast<size_t>(type) & 31];
    if (const GuardImpl* impl = known.load()) return impl;
    if (type != c10::DeviceType::PrivateUse1) return nullptr;
    const auto* impl = own_part<const GuardImpl>("guard");
    if (impl) known.store(impl);
    return impl;
}
inline c10::Device own_device(int64_t index) {
    return c10::Device(c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(index));
}
inline c10::Stream own_stream(int64_t id, int64_t index) {
    return c10::Stream(c10::Stream::UNSAFE, own_device(index), id);
}
inline mt_value answer_of_guard(const Question& q) {
    const GuardImpl& guard = *guard_of(c10::DeviceType::PrivateUse1);
    const auto pair = [](const c10::Stream& s) {
        const mt_value both[] = {answer_int(s.id()), answer_int(s.device_index())};
        mt_value v{};
        v.tag = MT_OBJECT;
        check(api().tuple(both, 2, &v.as.object));
        return v;
    };
    const auto event = [&q] { return reinterpret_cast<void*>(static_cast<intptr_t>(q.a)); };
    if (q.what == "device_count") return answer_int(guard.deviceCount());
    if (q.what == "current_device") return answer_int(guard.getDevice().index());
    if (q.what == "exchange_device") return answer_int(guard.exchangeDevice(own_device(q.a)).index());
    if (q.what == "set_device") return guard.setDevice(own_device(q.a)), mt_value{};
    if (q.what == "current_stream") return pair(guard.getStream(own_device(q.a)));
    if (q.what == "default_stream") return pair(guard.getDefaultStream(own_device(q.a)));
    if (q.what == "new_stream") return pair(guard.getNewStream(own_device(q.a), static_cast<int>(q.b)));
    if (q.what == "exchange_stream") return pair(guard.exchangeStream(own_stream(q.a, q.b)));
    if (q.what == "query_stream") return answer_int(guard.queryStream(own_stream(q.a, q.b)));
    if (q.what == "synchronize_stream") return guard.synchronizeStream(own_stream(q.a, q.b)), mt_value{};
    if (q.what == "synchronize_device") return guard.synchronizeDevice(static_cast<c10::DeviceIndex>(q.a)), mt_value{};
    if (q.what == "record_event" || q.what == "record_timed_event") {  // given: the index of the stream's device
        void* recorded = event();
        const int64_t index = given_int(q);
        guard.record(&recorded, own_stream(q.b, index), static_cast<c10::DeviceIndex>(index),
                     q.what == "record_event" ? c10::EventFlag::PYTORCH_DEFAULT : c10::EventFlag::BACKEND_DEFAULT);
        return answer_int(static_cast<int64_t>(reinterpret_cast<intptr_t>(recorded)));
    }
    if (q.what == "block_event") return guard.block(event(), own_stream(q.b, given_int(q))), mt_value{};
    if (q.what == "query_event") return answer_int(!q.a || guard.queryEvent(event()));
    if (q.what == "synchronize_event") return guard.synchronizeEvent(event()), mt_value{};
    if (q.what == "elapsed_time") {
        mt_value v{};
        v.tag = MT_DOUBLE;
        v.as.real = guard.elapsedTime(event(), reinterpret_cast<void*>(static_cast<intptr_t>(q.b)),
                                      static_cast<c10::DeviceIndex>(given_int(q)));
        return v;
    }
    if (q.what == "destroy_event") return guard.destroyEvent(event(), static_cast<c10::DeviceIndex>(q.b)), mt_value{};
    TORCH_CHECK(false, "no guard of a device answers '", std::string(q.what), "'");
}

}  // namespace mindtorch MINDTORCH_HIDDEN
namespace c10 {
namespace impl {

inline void registerDeviceGuard(DeviceType type, const DeviceGuardImplInterface* impl) {
    mindtorch::guards()[static_cast<size_t>(type) & 31].store(impl);
    if (type == DeviceType::PrivateUse1) mindtorch::register_own("guard", impl, mindtorch::answer_of_guard);
}
struct DeviceGuardImplRegistrar {
    DeviceGuardImplRegistrar(DeviceType type, const DeviceGuardImplInterface* impl) noexcept {
        mindtorch::registering([&] { registerDeviceGuard(type, impl); });
    }
};
inline const DeviceGuardImplInterface* getDeviceGuardImpl(DeviceType type) {
    const DeviceGuardImplInterface* impl = mindtorch::guard_of(type);
    TORCH_CHECK(impl, "PyTorch is not linked with support for ", type, " devices");
    return impl;
}
inline bool hasDeviceGuardImpl(DeviceType type) { return mindtorch::guard_of(type) != nullptr; }
inline void ensureCUDADeviceGuardSet() {}

// The guard of a type of devices that is known when the program runs.
class VirtualGuardImpl final : public DeviceGuardImplInterface {
  public:
    VirtualGuardImpl(DeviceType type) : impl_(getDeviceGuardImpl(type)) {}
    VirtualGuardImpl(const DeviceGuardImplInterface* impl) : impl_(impl) {}
    DeviceType type() const override { return impl_->type(); }
    Device exchangeDevice(Device d) const override { return impl_->exchangeDevice(d); }
    Device getDevice() const override { return impl_->getDevice(); }
    void setDevice(Device d) const override { impl_->setDevice(d); }
    void uncheckedSetDevice(Device d) const noexcept override { impl_->uncheckedSetDevice(d); }
    Stream getStream(Device d) const override { return impl_->getStream(d); }
    Stream getDefaultStream(Device d) const override { return impl_->getDefaultStream(d); }
    Stream getStreamFromGlobalPool(Device d, bool high = false) const override {
        return impl_->getStreamFromGlobalPool(d, high);
    }
    Stream getNewStream(Device d, int priority = 0) const override { return impl_->getNewStream(d, priority); }
    Stream exchangeStream(Stream s) const override { return impl_->exchangeStream(s); }
    void* getStreamNativeHandle(const Stream s) const override { return impl_->getStreamNativeHandle(s); }
    void destroyEvent(void* e, const DeviceIndex i) const noexcept override { impl_->destroyEvent(e, i); }
    void record(void** e, const Stream& s, const DeviceIndex i, const EventFlag f) const override {
        impl_->record(e, s, i, f);
    }
    void block(void* e, const Stream& s) const override { impl_->block(e, s); }
    bool queryEvent(void* e) const override { return impl_->queryEvent(e); }
    DeviceIndex deviceCount() const noexcept override { return impl_->deviceCount(); }
    DeviceCapability getDeviceCapability(Device d) const override { return impl_->getDeviceCapability(d); }
    bool queryStream(const Stream& s) const override { return impl_->queryStream(s); }
    void synchronizeStream(const Stream& s) const override { impl_->synchronizeStream(s); }
    bool isStreamCapturing(const Stream& s) const override { return impl_->isStreamCapturing(s); }
    void synchronizeEvent(void* e) const override { impl_->synchronizeEvent(e); }
    void synchronizeDevice(const DeviceIndex i) const override { impl_->synchronizeDevice(i); }
    void recordDataPtrOnStream(const DataPtr& p, const Stream& s) const override { impl_->recordDataPtrOnStream(p, s); }
    double elapsedTime(void* a, void* b, const DeviceIndex i) const override { return impl_->elapsedTime(a, b, i); }

  private:
    const DeviceGuardImplInterface* impl_;
};

// A device is the current one for a scope; T knows how it is made so.
template <class T>
class InlineDeviceGuard {
  public:
    explicit InlineDeviceGuard(Device device) : InlineDeviceGuard(device, T(device.type())) {}
    InlineDeviceGuard(Device device, const T& impl)
        : impl_(impl),
          original_(device.has_index() ? impl_.exchangeDevice(device) : impl_.getDevice()),
          current_(device.has_index() ? device : original_) {}
    template <class U = T, class = decltype(U::static_type)>
    explicit InlineDeviceGuard(DeviceIndex index) : InlineDeviceGuard(Device(U::static_type, index), T()) {}
    template <class U = T, class = decltype(U::static_type)>
    explicit InlineDeviceGuard(std::optional<Device> device)
        : InlineDeviceGuard(device ? *device : Device(U::static_type, -1), T()) {}
    InlineDeviceGuard(const InlineDeviceGuard&) = delete;
    InlineDeviceGuard& operator=(const InlineDeviceGuard&) = delete;
    ~InlineDeviceGuard() { impl_.uncheckedSetDevice(original_); }
    void reset_device(Device device) { set_device(device); }
    void set_device(Device device) {
        if (!device.has_index() || device == current_) return;
        impl_.setDevice(device);
        current_ = device;
    }
    void set_index(DeviceIndex index) { set_device(Device(original_.type(), index)); }
    Device original_device() const { return original_; }
    Device current_device() const { return current_; }

  private:
    T impl_;
    Device original_, current_;
};
template <class T>
class InlineOptionalDeviceGuard {
  public:
    InlineOptionalDeviceGuard() = default;
    template <class... A>
    explicit InlineOptionalDeviceGuard(std::optional<Device> device, A&&... more) {
        if (device) guard_.emplace(*device, std::forward<A>(more)...);
    }
    InlineOptionalDeviceGuard(const InlineOptionalDeviceGuard&) = delete;
    InlineOptionalDeviceGuard& operator=(const InlineOptionalDeviceGuard&) = delete;
    void set_device(Device device) { guard_ ? guard_->set_device(device) : void(guard_.emplace(device)); }
    void reset_device(Device device) { set_device(device); }
    std::optional<Device> original_device() const {
        return guard_ ? std::optional<Device>(guard_->original_device()) : std::nullopt;
    }
    std::optional<Device> current_device() const {
        return guard_ ? std::optional<Device>(guard_->current_device()) : std::nullopt;
    }
    void reset() { guard_.reset(); }

  private:
    std::optional<InlineDeviceGuard<T>> guard_;
};

}  // namespace impl

inline bool Stream::query() const {
    if (device_.is_cpu()) return true;
    return impl::getDeviceGuardImpl(device_.type())->queryStream(*this);
}
inline void Stream::synchronize() const {
    if (!device_.is_cpu()) impl::getDeviceGuardImpl(device_.type())->synchronizeStream(*this);
}
inline void* Stream::native_handle() const {
    return impl::getDeviceGuardImpl(device_.type())->getStreamNativeHandle(*this);
}
inline Stream exchange_stream(Stream s) {
    if (s.device_type() == DeviceType::CPU) return Stream(Stream::DEFAULT, s.device());
    return impl::getDeviceGuardImpl(s.device_type())->exchangeStream(s);
}
inline StreamGuard::StreamGuard(Stream stream) : original_(exchange_stream(stream)), current_(stream) {}
inline StreamGuard::~StreamGuard() {
    if (const auto* impl = mindtorch::guard_of(current_.device_type())) impl->exchangeStream(original_);
}
inline void StreamGuard::reset_stream(Stream stream) {
    exchange_stream(stream);
    current_ = stream;
}
inline MultiStreamGuard::MultiStreamGuard(ArrayRef<Stream> streams) {
    for (const Stream& stream : streams) before_.push_back(exchange_stream(stream));
}
inline MultiStreamGuard::~MultiStreamGuard() {
    for (const Stream& stream : before_)
        if (const auto* impl = mindtorch::guard_of(stream.device_type())) impl->exchangeStream(stream);
}

// A mark in a stream of a device that has them.
class Event {
  public:
    Event(DeviceType type, EventFlag flag = EventFlag::PYTORCH_DEFAULT)
        : impl_(impl::getDeviceGuardImpl(type)), type_(type), flag_(flag) {}
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    ~Event() {
        if (event_) impl_->destroyEvent(event_, index_);
    }
    Device device() const noexcept { return Device(type_, index_); }
    DeviceType device_type() const noexcept { return type_; }
    DeviceIndex device_index() const noexcept { return index_; }
    EventFlag flag() const noexcept { return flag_; }
    bool was_marked_for_recording() const noexcept { return recorded_; }
    void recordOnce(const Stream& stream) {
        if (!recorded_) record(stream);
    }
    void record(const Stream& stream) {
        impl_->record(&event_, stream, stream.device_index(), flag_);
        index_ = stream.device_index();
        recorded_ = true;
    }
    void block(const Stream& stream) const {
        if (recorded_) impl_->block(event_, stream);
    }
    bool query() const { return !recorded_ || impl_->queryEvent(event_); }
    void synchronize() const {
        if (recorded_) impl_->synchronizeEvent(event_);
    }
    double elapsedTime(const Event& later) const { return impl_->elapsedTime(event_, later.event_, index_); }
    void* eventId() const { return event_; }

  private:
    const impl::DeviceGuardImplInterface* impl_;
    void* event_ = nullptr;
    DeviceType type_;
    DeviceIndex index_ = -1;
    EventFlag flag_;
    bool recorded_ = false;
};

}  // namespace c10
#define C10_REGISTER_GUARD_IMPL(DevType, Impl)                                               \
    static const ::c10::impl::DeviceGuardImplRegistrar C10_ANONYMOUS_VARIABLE(g_DeviceType)( \
        ::c10::DeviceType::DevType, new Impl())

namespace at {

// The device that is current for a scope. On the CPU, and where nobody registered a guard, there is nothing to choose.
class DeviceGuard {
  public:
    explicit DeviceGuard(Device d) : impl_(mindtorch::guard_of(d.type())), original_(d), current_(d) {
        if (!impl_) return;
        original_ = d.has_index() ? impl_->exchangeDevice(d) : impl_->getDevice();
        if (!d.has_index()) current_ = original_;
    }
    DeviceGuard(Device d, const c10::impl::DeviceGuardImplInterface* impl)
        : impl_(impl), original_(d.has_index() ? impl->exchangeDevice(d) : impl->getDevice()), current_(d) {}
    DeviceGuard(const DeviceGuard&) = delete;
    DeviceGuard& operator=(const DeviceGuard&) = delete;
    ~DeviceGuard() {
        if (impl_) impl_->uncheckedSetDevice(original_);
    }
    void reset_device(Device d) { set_device(d); }
    void set_device(Device d) {
        if (impl_ && d.has_index()) impl_->setDevice(d);
        current_ = d;
    }
    void set_index(c10::DeviceIndex i) { set_device(Device(current_.type(), i)); }
    Device current_device() const { return current_; }
    Device original_device() const { return original_; }

  private:
    const c10::impl::DeviceGuardImplInterface* impl_;
    Device original_, current_;
};
class OptionalDeviceGuard {
  public:
    OptionalDeviceGuard() = default;
    explicit OptionalDeviceGuard(std::optional<Device> d) {
        if (d) guard_.emplace(*d);
    }
    explicit OptionalDeviceGuard(Device d) : OptionalDeviceGuard(std::optional<Device>(d)) {}
    OptionalDeviceGuard(const OptionalDeviceGuard&) = delete;
    OptionalDeviceGuard& operator=(const OptionalDeviceGuard&) = delete;
    void reset_device(Device d) { guard_.emplace(d); }
    std::optional<Device> original_device() const {
        return guard_ ? std::optional<Device>(guard_->original_device()) : std::nullopt;
    }
    std::optional<Device> current_device() const {
        return guard_ ? std::optional<Device>(guard_->current_device()) : std::nullopt;
    }

  private:
    std::optional<DeviceGuard> guard_;
};

}  // namespace at
namespace c10 {
using at::DeviceGuard;
using at::OptionalDeviceGuard;
}  // namespace c10

// ---- allocators ----

namespace mindtorch MINDTORCH_HIDDEN {

// The memory that the core took, by its address.
struct OwnMemory {
    c10::Allocator* allocator = nullptr;
    std::mutex lock;
    std::unordered_map<void*, c10::DataPtr> blocks;
};
inline OwnMemory& own_memory() {
    static auto* const memory = new OwnMemory;  // outlives every tensor
    return *memory;
}
inline mt_value answer_of_allocator(const Question& q) {
    OwnMemory& m = own_memory();
    void* const address = reinterpret_cast<void*>(static_cast<intptr_t>(q.a));
    if (q.what == "allocate") {
        const at::DeviceGuard guard(own_device(q.b));
        c10::DataPtr block = m.allocator->allocate(static_cast<size_t>(q.a));
        void* const at = block.get();
        const std::lock_guard<std::mutex> held(m.lock);
        m.blocks.insert_or_assign(at, std::move(block));
        return answer_int(static_cast<int64_t>(reinterpret_cast<intptr_t>(at)));
    }
    if (q.what == "release") {
        std::unique_lock<std::mutex> held(m.lock);
        const auto found = m.blocks.find(address);
        if (found == m.blocks.end()) return mt_value{};
        const c10::DataPtr block = std::move(found->second);
        m.blocks.erase(found);
        held.unlock();  // what gives it back may call
        return mt_value{};
    }
    if (q.what == "copy") {  // given: how many bytes
        m.allocator->copy_data(address, reinterpret_cast<void*>(static_cast<intptr_t>(q.b)),
                               static_cast<size_t>(given_int(q)));
        return mt_value{};
    }
    TORCH_CHECK(false, "no allocator answers '", std::string(q.what), "'");
}

}  // namespace mindtorch MINDTORCH_HIDDEN
namespace c10 {

inline void SetAllocator(DeviceType type, Allocator* allocator, uint8_t /*priority*/ = 0) {
    TORCH_CHECK(type == DeviceType::PrivateUse1, "SetAllocator: memory of ", type, " is the framework's");
    mindtorch::own_memory().allocator = allocator;
    mindtorch::register_own("allocator", allocator, mindtorch::answer_of_allocator);
}
inline Allocator* GetAllocator(const DeviceType& type) {
    if (type == DeviceType::CPU) return GetCPUAllocator();
    auto* allocator = type == DeviceType::PrivateUse1 ? mindtorch::own_part<Allocator>("allocator")
                                                      : static_cast<Allocator*>(nullptr);
    TORCH_CHECK(allocator, "Allocator for ", type, " is not set.");
    return allocator;
}
template <DeviceType t>
struct AllocatorRegisterer {
    explicit AllocatorRegisterer(Allocator* allocator) noexcept {
        mindtorch::registering([&] { SetAllocator(t, allocator); });
    }
};

}  // namespace c10
#define REGISTER_ALLOCATOR(type, allocator) \
    static const ::c10::AllocatorRegisterer<type> C10_ANONYMOUS_VARIABLE(g_allocator)(allocator)

// ---- generators and hooks ----

namespace at {

using GeneratorFuncType = std::function<at::Generator(c10::DeviceIndex)>;
inline std::optional<GeneratorFuncType>& GetGeneratorPrivate() {
    static std::optional<GeneratorFuncType> made_by;
    return made_by;
}
inline at::Generator GetGeneratorForPrivateuse1(c10::DeviceIndex index) {
    TORCH_CHECK(GetGeneratorPrivate().has_value(),
                "Please register a generator to the PrivateUse1 dispatch key, using the "
                "REGISTER_GENERATOR_PRIVATEUSE1 macro.");
    return (*GetGeneratorPrivate())(index);
}

// What an accelerator is asked beside kernels.
struct AcceleratorHooksInterface {
    virtual ~AcceleratorHooksInterface() = default;
    virtual bool isBuilt() const { return false; }
    virtual bool isAvailable() const { return false; }
    virtual bool hasPrimaryContext(c10::DeviceIndex) const = 0;
    virtual void init() const { TORCH_CHECK(false, "Backend doesn`t support init()"); }
    virtual c10::DeviceIndex deviceCount() const { return 0; }
    virtual void setCurrentDevice(c10::DeviceIndex) const {
        TORCH_CHECK(false, "Backend doesn't support setCurrentDevice()");
    }
    virtual c10::DeviceIndex getCurrentDevice() const {
        TORCH_CHECK(false, "Backend doesn't support getCurrentDevice()");
    }
    virtual c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const {
        TORCH_CHECK(false, "Backend doesn't support exchangeDevice()");
    }
    virtual c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const {
        TORCH_CHECK(false, "Backend doesn't support maybeExchangeDevice()");
    }
    virtual bool isPinnedPtr(const void*) const { return false; }
    virtual Allocator* getPinnedMemoryAllocator() const {
        TORCH_CHECK(false, "Backend doesn't support getPinnedMemoryAllocator()");
    }
    virtual Device getDeviceFromPtr(void*) const { TORCH_CHECK(false, "Backend doesn't support getDeviceFromPtr()"); }
    virtual const Generator& getDefaultGenerator(c10::DeviceIndex = -1) const {
        TORCH_CHECK(false, "Backend doesn`t support getDefaultGenerator()");
    }
    virtual Generator getNewGenerator(c10::DeviceIndex = -1) const {
        TORCH_CHECK(false, "Backend doesn`t support getNewGenerator()");
    }
};
struct PrivateUse1HooksInterface : AcceleratorHooksInterface {
    bool isBuilt() const override { lacks(__func__); }
    bool isAvailable() const override { lacks(__func__); }
    const Generator& getDefaultGenerator(c10::DeviceIndex = -1) const override { lacks(__func__); }
    Generator getNewGenerator(c10::DeviceIndex index = -1) const override {
        if (GetGeneratorPrivate()) return GetGeneratorForPrivateuse1(index);
        lacks(__func__);
    }
    Device getDeviceFromPtr(void*) const override { lacks(__func__); }
    Allocator* getPinnedMemoryAllocator() const override { lacks(__func__); }
    bool hasPrimaryContext(c10::DeviceIndex) const override { lacks(__func__); }
    void init() const override {}
    virtual void resizePrivateUse1Bytes(const c10::Storage&, size_t) const { lacks(__func__); }

  private:
    [[noreturn]] static void lacks(const char* function) {
        mindtorch::fail(MT_ERROR_NOT_IMPLEMENTED, "",
                        "You should register `PrivateUse1HooksInterface`by `RegisterPrivateUse1HooksInterface` and "
                        "implement `",
                        function, "` at the same time for PrivateUse1.");
    }
};
struct PrivateUse1HooksArgs {};

}  // namespace at
namespace mindtorch MINDTORCH_HIDDEN {

inline at::PrivateUse1HooksInterface* hooks() { return own_part<at::PrivateUse1HooksInterface>("hooks"); }
inline mt_value answer_of_generator(const at::Generator& made) {
    api().retain(made.handle());
    mt_value v{};
    v.tag = MT_OBJECT;
    v.as.object = made.handle();
    return v;
}
// A tensor of bytes in page-locked memory of the device's; the memory is released with it.
inline mt_value answer_of_pinned(c10::Allocator* allocator, int64_t bytes) {
    auto* const block = new c10::DataPtr(allocator->allocate(static_cast<size_t>(bytes)));
    mt_value v{};
    v.tag = MT_TENSOR;
    check(api().from_blob(
        block->get(), 1, &bytes, nullptr, static_cast<uint8_t>(c10::ScalarType::Byte), mt_device{0, -1}, block,
        [](void* p) { delete static_cast<c10::DataPtr*>(p); }, &v.as.tensor));
    return v;
}
inline mt_value answer_of_hooks(const Question& q) {
    const at::PrivateUse1HooksInterface& h = *hooks();
    const auto index = static_cast<c10::DeviceIndex>(q.a);
    if (q.what == "new_generator") return answer_of_generator(h.getNewGenerator(index));
    if (q.what == "default_generator") return answer_of_generator(h.getDefaultGenerator(index));
    if (q.what == "is_pinned") return answer_int(h.isPinnedPtr(reinterpret_cast<void*>(static_cast<intptr_t>(q.a))));
    if (q.what == "pin") return answer_of_pinned(h.getPinnedMemoryAllocator(), q.a);
    if (q.what == "is_available") return answer_int(h.isAvailable());
    if (q.what == "device_count") return answer_int(h.deviceCount());
    if (q.what == "has_primary_context") return answer_int(h.hasPrimaryContext(index));
    if (q.what == "init") return h.init(), mt_value{};
    TORCH_CHECK(false, "no hooks answer '", std::string(q.what), "'");
}
inline mt_value answer_of_maker(const Question& q) {
    return answer_of_generator(at::GetGeneratorForPrivateuse1(static_cast<c10::DeviceIndex>(q.a)));
}

}  // namespace mindtorch MINDTORCH_HIDDEN
namespace at {

class _GeneratorRegister {
  public:
    explicit _GeneratorRegister(const GeneratorFuncType& maker) {
        mindtorch::register_own("generator", &GetGeneratorPrivate(), mindtorch::answer_of_maker);
        GetGeneratorPrivate() = maker;
    }
};
inline void RegisterPrivateUse1HooksInterface(PrivateUse1HooksInterface* made) {
    mindtorch::register_own("hooks", made, mindtorch::answer_of_hooks);
}
inline bool isPrivateUse1HooksRegistered() { return mindtorch::hooks() != nullptr; }
namespace detail {
inline const PrivateUse1HooksInterface& getPrivateUse1Hooks() {
    const PrivateUse1HooksInterface* h = mindtorch::hooks();
    TORCH_CHECK(h, "Please register PrivateUse1HooksInterface by `RegisterPrivateUse1HooksInterface` first.");
    return *h;
}
}  // namespace detail
inline PrivateUse1HooksInterface* GetPrivateUse1HooksInterface() {
    return const_cast<PrivateUse1HooksInterface*>(&detail::getPrivateUse1Hooks());
}

inline void Tensor::record_stream(c10::Stream s) const {
    const mt_value stream =
        mindtorch::call_python("mindtorch_v2._library.own_streams", "stream_at",
                               {mindtorch::arg(s.id()), mindtorch::arg(static_cast<int64_t>(s.device_index())),
                                mindtorch::arg(static_cast<int64_t>(s.device_type()))});
    const mindtorch::Object kept = mindtorch::Object::steal(stream.as.object);
    mindtorch::drop(mindtorch::call_method(*this, "record_stream", {stream}));
}

}  // namespace at
#define REGISTER_GENERATOR_PRIVATEUSE1(maker) static const at::_GeneratorRegister C10_CONCATENATE(temp, maker)(maker);
