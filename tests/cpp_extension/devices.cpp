// A device of a program's own, `shelf`, whose memory is the host's: what a back end at PrivateUse1 is made of.
#include <ATen/EmptyTensor.h>
#include <ATen/core/GeneratorForPrivateuseone.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/core/impl/alloc_cpu.h>
#include <torch/csrc/jit/serialization/pickler.h>
#include <torch/extension.h>
#include <torch/library.h>

#include <cstring>

namespace {

constexpr c10::DeviceType kShelf = c10::DeviceType::PrivateUse1;
thread_local c10::DeviceIndex current = 0;
thread_local c10::StreamId current_streams[2] = {0, 0};
int64_t live_blocks = 0, allocations = 0, adds = 0, events_alive = 0, synchronized = 0;

struct Guard final : c10::impl::DeviceGuardImplInterface {
    c10::DeviceType type() const override { return kShelf; }
    c10::Device exchangeDevice(c10::Device d) const override {
        const c10::Device before = getDevice();
        setDevice(d);
        return before;
    }
    c10::Device getDevice() const override { return c10::Device(kShelf, current); }
    void setDevice(c10::Device d) const override {
        TORCH_CHECK(d.type() == kShelf && d.index() >= 0 && d.index() < 2, "shelf: no device ", d.index());
        current = d.index();
    }
    void uncheckedSetDevice(c10::Device d) const noexcept override { current = d.index(); }
    c10::Stream getStream(c10::Device d) const override {
        const c10::DeviceIndex i = d.has_index() ? d.index() : current;
        return c10::Stream(c10::Stream::UNSAFE, c10::Device(kShelf, i), current_streams[i]);
    }
    c10::Stream getNewStream(c10::Device d, int priority) const override {
        const c10::DeviceIndex i = d.has_index() ? d.index() : current;
        return c10::Stream(c10::Stream::UNSAFE, c10::Device(kShelf, i), 100 + priority);
    }
    c10::Stream exchangeStream(c10::Stream s) const override {
        const c10::Stream before = getStream(s.device());
        current_streams[s.device_index()] = s.id();
        return before;
    }
    c10::DeviceIndex deviceCount() const noexcept override { return 2; }
    bool queryStream(const c10::Stream& s) const override { return s.id() != 7; }
    void synchronizeStream(const c10::Stream&) const override { synchronized++; }
    void synchronizeDevice(const c10::DeviceIndex) const override { synchronized += 10; }
    void record(void** event, const c10::Stream& s, const c10::DeviceIndex, const c10::EventFlag) const override {
        if (!*event) {
            *event = new int64_t;
            events_alive++;
        }
        *static_cast<int64_t*>(*event) = s.id();
    }
    void block(void*, const c10::Stream&) const override { synchronized += 100; }
    bool queryEvent(void* event) const override { return *static_cast<int64_t*>(event) != 7; }
    void synchronizeEvent(void*) const override { synchronized += 1000; }
    void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
        delete static_cast<int64_t*>(event);
        events_alive--;
    }
    double elapsedTime(void* a, void* b, const c10::DeviceIndex) const override {
        return static_cast<double>(*static_cast<int64_t*>(b) - *static_cast<int64_t*>(a));
    }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

struct ShelfAllocator final : c10::Allocator {
    static void give_back(void* p) {
        if (!p) return;
        live_blocks--;
        c10::free_cpu(p);
    }
    c10::DataPtr allocate(size_t bytes) override {
        void* const p = c10::alloc_cpu(bytes);
        allocations++;
        if (p) live_blocks++;
        return {p, p, &give_back, c10::Device(kShelf, current)};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &give_back; }
    void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
};
ShelfAllocator allocator;
REGISTER_ALLOCATOR(c10::DeviceType::PrivateUse1, &allocator);

at::Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                 std::optional<at::Device> device, std::optional<bool>, std::optional<at::MemoryFormat> format) {
    const c10::OptionalDeviceGuard guard(device);
    return at::detail::empty_generic(size, &allocator, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                     c10::dtype_or_default(dtype), format);
}
at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>) {
    const c10::OptionalDeviceGuard guard(device);
    return at::detail::empty_strided_generic(
        size, stride, &allocator, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), c10::dtype_or_default(dtype));
}
// The same elements as a tensor of the host, over the same memory.
at::Tensor on_host(const at::Tensor& t) {
    return at::from_blob(t.data_ptr(), t.sizes(), t.strides(), t.options().device(at::kCPU));
}
at::Tensor copy_from(const at::Tensor& self, const at::Tensor& dst, bool) {
    (dst.is_cpu() ? dst : on_host(dst)).copy_(self.is_cpu() ? self : on_host(self));
    return dst;
}
at::Tensor& fill(at::Tensor& self, const at::Scalar& value) {
    on_host(self).fill_(value);
    return self;
}
at::Tensor add(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
    adds++;
    at::Tensor sum = at::empty_like(self);
    on_host(sum).copy_(at::add(on_host(self), other.is_cpu() ? other : on_host(other), alpha));
    return sum;
}
void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) { at::native::cpu_fallback(op, stack); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("empty.memory_format", &empty);
    m.impl("empty_strided", &empty_strided);
    m.impl("_copy_from", &copy_from);
    m.impl("fill_.Scalar", &fill);
    m.impl("add.Tensor", &add);
    m.impl("sub.Tensor", torch::CppFunction::makeFromBoxedFunction<&fallback>());
    m.impl("mul_.Tensor", torch::CppFunction::makeFromBoxedFunction<&fallback>());
    m.impl("cat", torch::CppFunction::makeFromBoxedFunction<&fallback>());
    m.impl("sort", torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

struct Dice : c10::GeneratorImpl {
    explicit Dice(c10::DeviceIndex index)
        : c10::GeneratorImpl(c10::Device(kShelf, index), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {}
    void set_current_seed(uint64_t seed) override { seed_ = seed; }
    void set_offset(uint64_t) override {}
    uint64_t get_offset() const override { return 0; }
    uint64_t current_seed() const override { return seed_; }
    uint64_t seed() override { return seed_ = 4; }
    void set_state(const c10::TensorImpl&) override {}
    c10::intrusive_ptr<c10::TensorImpl> get_state() const override { return at::zeros({1}).getIntrusivePtr(); }
    c10::GeneratorImpl* clone_impl() const override { return new Dice(device_.index()); }
    uint64_t seed_ = 1;
};
at::Generator make_dice(c10::DeviceIndex index) { return at::make_generator<Dice>(index); }

bool pinning = false;
struct Hooks : at::PrivateUse1HooksInterface {
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return true; }
    c10::DeviceIndex deviceCount() const override { return 2; }
    bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
    const at::Generator& getDefaultGenerator(c10::DeviceIndex index) const override {
        static const at::Generator one = make_dice(index);
        return one;
    }
    at::Generator getNewGenerator(c10::DeviceIndex index) const override { return make_dice(index); }
    bool isPinnedPtr(const void*) const override { return pinning; }
    c10::Allocator* getPinnedMemoryAllocator() const override {
        pinning = true;
        return c10::GetCPUAllocator();
    }
};
void register_hooks() { at::RegisterPrivateUse1HooksInterface(new Hooks()); }

// What guards, streams and events of C++ do, as a list of texts.
std::vector<std::string> guards() {
    std::vector<std::string> seen;
    const auto say = [&seen](auto&&... parts) { seen.push_back(c10::str(parts...)); };
    say(c10::impl::hasDeviceGuardImpl(kShelf), c10::impl::getDeviceGuardImpl(kShelf)->deviceCount());
    {
        const c10::DeviceGuard guard(c10::Device(kShelf, 1));
        say(guard.original_device().index(), guard.current_device().index(), current);
    }
    say(current);
    {
        c10::OptionalDeviceGuard guard;
        say(guard.current_device().has_value());
        guard.reset_device(c10::Device(kShelf, 1));
        say(current);
    }
    say(current);
    const c10::impl::VirtualGuardImpl impl(kShelf);
    say(impl.getDevice(), impl.deviceCount());
    const c10::Stream fresh = impl.getNewStream(c10::Device(kShelf, 1), -1);
    say(fresh.id(), fresh.device(), fresh.query());
    impl.exchangeStream(fresh);
    say(impl.getStream(c10::Device(kShelf, 1)).id());
    fresh.synchronize();
    c10::Event event(kShelf);
    say(event.query(), event.was_marked_for_recording());
    event.record(fresh);
    event.block(fresh);
    event.synchronize();
    say(event.query(), event.device_index(), synchronized, events_alive);
    impl.exchangeStream(c10::Stream(c10::Stream::UNSAFE, c10::Device(kShelf, 1), 0));
    try {
        const c10::DeviceGuard guard(c10::Device(kShelf, 5));
    } catch (const c10::Error& e) {
        say(e.what_without_backtrace());
    }
    say(c10::DeviceTypeName(kShelf, true), c10::Device(kShelf, 1), c10::Device("shelf:1") == c10::Device(kShelf, 1));
    say(c10::GetAllocator(kShelf) == &allocator);
    return seen;
}
// What the device knows of a tensor beside its memory.
struct Label final : c10::BackendMeta {
    explicit Label(int64_t number, int64_t copies = 0) : number(number), copies(copies) { alive++; }
    ~Label() override { alive--; }
    c10::intrusive_ptr<c10::BackendMeta> clone(const c10::intrusive_ptr<c10::BackendMeta>&) const override {
        return c10::make_intrusive<Label>(number, copies + 1);
    }
    int64_t number, copies;
    static int64_t alive;
};
int64_t Label::alive = 0;
void label(const at::Tensor& t, int64_t number) {
    t.unsafeGetTensorImpl()->set_backend_meta(c10::make_intrusive<Label>(number));
}
// Its number and how often it was copied; none without one.
std::optional<std::pair<int64_t, int64_t>> label_of(const at::Tensor& t) {
    const auto kept = t.unsafeGetTensorImpl()->get_backend_meta_intrusive_ptr();
    TORCH_CHECK(kept.get() == t.unsafeGetTensorImpl()->get_backend_meta());
    const auto* own = dynamic_cast<const Label*>(kept.get());
    return own ? std::make_optional(std::make_pair(own->number, own->copies)) : std::nullopt;
}
void register_labels() {
    torch::jit::TensorBackendMetaRegistry(
        kShelf,
        [](const at::Tensor& t, std::unordered_map<std::string, bool>& bits) {
            if (const auto known = label_of(t)) {
                bits["label"] = true;
                bits["odd"] = known->first % 2 == 1;
            }
        },
        [](const at::Tensor& t, std::unordered_map<std::string, bool>& bits) {
            if (bits.count("label")) label(t, bits["odd"] ? 1 : 2);
        });
}

std::vector<int64_t> counts() { return {live_blocks, allocations, adds, events_alive, synchronized}; }

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("device", [](int index) { return c10::Device(kShelf, static_cast<c10::DeviceIndex>(index)); });
    m.def("current", [] { return static_cast<int>(current); });
    m.def("set_current", [](int index) { current = static_cast<c10::DeviceIndex>(index); });
    m.def("register_hooks", &register_hooks);
    m.def("guards", &guards);
    m.def("label", &label);
    m.def("label_of", &label_of);
    m.def("labels", [] { return Label::alive; });
    m.def("register_labels", &register_labels);
    m.def("counts", &counts);
    m.def("seed_of", [](const at::Generator& g) { return g.get<Dice>()->seed_; });
    m.def("default_seed", [] { return at::globalContext().defaultGenerator(c10::Device(kShelf, 0)).current_seed(); });
}
