// Classes that programs derive from: storages and generators; and kernels that call the framework's own. Compiled
// against our headers and, with --live, against PyTorch's, unchanged.
#include <torch/extension.h>
#include <torch/library.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/NativeFunctions.h>
#include <ATen/cpu/Utils.h>
#include <ATen/ops/as_strided_cpu_dispatch.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/Storage.h>
#include <c10/core/StorageImpl.h>
#include <torch/csrc/Device.h>

#include "expect.h"

static int64_t alive = 0, allocations = 0, in_use = 0;

// Memory that is counted.
struct Counting final : c10::Allocator {
    c10::DataPtr allocate(size_t bytes) override {
        allocations++;
        in_use++;
        void* memory = std::malloc(bytes + 1);
        return c10::DataPtr(memory, memory, &give_back, c10::Device(c10::DeviceType::CPU));
    }
    c10::DeleterFnPtr raw_deleter() const override { return &give_back; }
    void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
    static void give_back(void* memory) {
        in_use--;
        std::free(memory);
    }
};
static Counting counting;

struct Marked : c10::StorageImpl {
    Marked(c10::SymInt bytes, int mark, bool resizable)
        : c10::StorageImpl(use_byte_size_t(), bytes, counting.allocate(static_cast<size_t>(bytes.as_int_unchecked())),
                           &counting, resizable),
          mark(mark) {
        alive++;
    }
    ~Marked() override { alive--; }
    int mark;
};

static at::Tensor over(c10::intrusive_ptr<c10::StorageImpl> memory, at::IntArrayRef sizes) {
    at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(std::move(memory)), c10::DispatchKeySet(c10::DispatchKey::CPU), caffe2::TypeMeta::Make<float>());
    EXPECT(made.numel() == 0 && made.dim() == 1 && made.scalar_type() == at::kFloat);
    made.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
    return made;
}
static c10::intrusive_ptr<Marked> marked(int64_t bytes, bool resizable = false) {
    return c10::make_intrusive<Marked>(c10::SymInt(bytes), 7, resizable);
}

static void storages() {
    const int64_t before = alive, used = in_use;
    {
        auto memory = marked(24);
        EXPECT(alive == before + 1 && memory->nbytes() == 24 && memory.use_count() == 1 && !memory->resizable());
        at::Tensor t = over(memory, {2, 3});
        t.fill_(2);
        EXPECT(static_cast<const float*>(memory->data())[5] == 2 && t.sum().item<float>() == 12);
        EXPECT(t.data_ptr() == memory->mutable_data() && t.storage().unsafeGetStorageImpl() == memory.get());
        const auto* found = dynamic_cast<Marked*>(t.storage().unsafeGetStorageImpl());
        EXPECT(found && found->mark == 7 && t.storage().allocator() == &counting);
        EXPECT(t.storage().data_ptr().get() == memory->data() && t.storage().nbytes() == 24);
        // Another tensor has the same memory, also when the first is gone.
        at::Tensor second = over(memory, {6});
        EXPECT(second.is_alias_of(t) && second.storage().is_alias_of(t.storage()));
        t.reset();
        EXPECT(second[3].item<float>() == 2);
        memory.reset();
        EXPECT(alive == before + 1 && second.sum().item<float>() == 12);
        memory =
            c10::intrusive_ptr<Marked>::reclaim_copy(static_cast<Marked*>(second.storage().unsafeGetStorageImpl()));
        second.reset();
        EXPECT(alive == before + 1 && memory.use_count() == 1 && memory->mark == 7);
        // After the last tensor there may be one again.
        EXPECT(over(memory, {6}).sum().item<float>() == 12);
        c10::weak_intrusive_ptr<c10::StorageImpl> watched((c10::intrusive_ptr<c10::StorageImpl>(memory)));
        EXPECT(!watched.expired());
        memory.reset();
        EXPECT(watched.expired());
    }
    EXPECT(alive == before && in_use == used);
}

// A storage as an operator has it.
static c10::Storage second_half(c10::Storage storage) {
    const size_t half = storage.nbytes() / 2;
    c10::DataPtr data = c10::GetCPUAllocator()->allocate(half);
    std::memcpy(data.get(), static_cast<const char*>(storage.data()) + half, half);
    return c10::Storage(c10::Storage::use_byte_size_t(), half, std::move(data));
}
TORCH_LIBRARY_FRAGMENT(bases, m) {
    m.def("bytes(Storage s) -> int", [](c10::Storage s) { return static_cast<int64_t>(s.nbytes()); });
}

// Sets of keys that are made when the program is compiled.
static void keys() {
    using c10::DispatchKey;
    using c10::DispatchKeySet;
    constexpr DispatchKeySet cpu(DispatchKey::CPU), both = cpu | DispatchKeySet(DispatchKey::AutogradCPU);
    constexpr DispatchKeySet listed{DispatchKey::CPU, DispatchKey::AutogradCPU}, none;
    constexpr DispatchKeySet rest = both - cpu, common = both & cpu;
    EXPECT(both == listed && both.has(DispatchKey::CPU) && !cpu.has(DispatchKey::AutogradCPU));
    EXPECT(rest.has(DispatchKey::AutogradCPU) && common == cpu && none.empty() && !cpu.empty());
    const at::Tensor t = at::ones({1});
    const DispatchKeySet of_tensor = t.key_set();
    EXPECT(of_tensor.has_all(cpu) && (of_tensor | cpu) == of_tensor && (of_tensor & both).has(DispatchKey::CPU));
    EXPECT(!(of_tensor - cpu).has(DispatchKey::CPU) && (cpu | none) == cpu && (cpu - none) == cpu);
    EXPECT(cpu == DispatchKeySet(DispatchKey::CPU) && cpu.highestPriorityTypeId() == DispatchKey::CPU);
    EXPECT(cpu.raw_repr() == DispatchKeySet(DispatchKey::CPU).raw_repr() && (cpu & none).empty());
    EXPECT(at::detail::empty_generic({3}, c10::GetCPUAllocator(), cpu, at::kFloat, {}).numel() == 3);
}

static void of_the_framework() {
    at::Tensor x = at::arange(4, at::kFloat);
    c10::Storage storage = x.storage();
    EXPECT(storage && storage.nbytes() == 16 && storage.device().is_cpu() && storage.allocator() != nullptr);
    EXPECT(x.storage().unsafeGetStorageImpl() == storage.unsafeGetStorageImpl());
    EXPECT(x.view({2, 2}).storage().unsafeGetStorageImpl() == storage.unsafeGetStorageImpl());
    EXPECT(at::empty({4}).storage().unsafeGetStorageImpl() != storage.unsafeGetStorageImpl());
    EXPECT(storage.use_count() == 2 && !storage.unique());
    x.reset();
    EXPECT(storage.unique() && static_cast<const float*>(storage.data())[3] == 3);
    at::Tensor again = at::empty({0}).set_(storage, 1, {3});
    EXPECT(at::equal(again, at::arange(1, 4)));
    EXPECT(again.storage().unsafeGetStorageImpl() == storage.unsafeGetStorageImpl());
    c10::weak_intrusive_ptr<c10::StorageImpl> watched = storage.getWeakStorageImpl();
    storage = c10::Storage();
    EXPECT(watched.lock().defined());
    again.reset();
    EXPECT(watched.expired() && !storage);
    at::Tensor half = at::empty({0}).set_(second_half(at::arange(4, at::kFloat).storage()), 0, {2});
    EXPECT(at::equal(half, at::arange(2, 4)));
}

static void other_memory() {
    const int64_t used = in_use;
    {
        at::Tensor x = at::zeros({4}), view = x.slice(0, 2);
        void* const former = x.data_ptr();
        c10::DataPtr fresh = counting.allocate(16);
        for (int i = 0; i < 4; i++) static_cast<float*>(fresh.get())[i] = static_cast<float>(i);
        c10::DataPtr had = x.storage().set_data_ptr(std::move(fresh));
        EXPECT(had.get() == former && x.data_ptr() != former && at::equal(x, at::arange(4)));
        EXPECT(at::equal(view, at::arange(2, 4)));
        x.storage().set_data_ptr_noswap(counting.allocate(32));
        x.storage().unsafeGetStorageImpl()->set_nbytes(32);
        EXPECT(x.storage().nbytes() == 32 && in_use == used + 1);
        auto memory = marked(8);
        at::Tensor t = over(memory, {2});
        memory->set_data_ptr_noswap(counting.allocate(8));
        t.fill_(5);
        EXPECT(static_cast<const float*>(memory->data())[1] == 5 && in_use == used + 2);
    }
    EXPECT(in_use == used);
    EXPECT_THROW(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), c10::SymInt(4),
                                                       counting.allocate(4), nullptr, true),
                 c10::Error, "For resizable storage, allocator must be provided");
}

static void resizing() {
    const int64_t used = in_use;
    {
        auto memory = marked(8, true);
        at::Tensor t = over(memory, {2});
        t.fill_(3);
        const int64_t made = allocations;
        t.resize_({5});
        EXPECT(allocations == made + 1 && in_use == used + 1 && memory->nbytes() == 20);
        EXPECT(t.data_ptr() == memory->data() && t.slice(0, 0, 2).sum().item<float>() == 6);
        t.resize_({1});
        EXPECT(allocations == made + 1);
        at::Tensor fixed = over(marked(8), {2});
        EXPECT_THROW(fixed.resize_({5}), c10::Error, "Trying to resize storage that is not resizable");
    }
    EXPECT(in_use == used);
}

// The framework's generator with a name, and a seed that begins elsewhere.
struct Named : at::CPUGeneratorImpl {
    explicit Named(uint64_t seed) : at::CPUGeneratorImpl(seed), name("named") { alive++; }
    ~Named() override { alive--; }
    uint64_t seed() override {
        set_current_seed(1000);
        return 1000;
    }
    std::string name;
};

static void generators() {
    const int64_t before = alive;
    {
        at::Generator g = at::make_generator<Named>(5);
        EXPECT(g.current_seed() == 5 && g.device().is_cpu() && g.get<Named>()->name == "named");
        EXPECT(g.key_set().has(c10::DispatchKey::CPU));
        at::mt19937 engine(5);
        auto* plain = at::check_generator<at::CPUGeneratorImpl>(g);
        EXPECT(plain == g.unsafeGetGeneratorImpl() && plain->random() == engine());
        const uint64_t high = engine();
        EXPECT(plain->random64() == (high << 32 | engine()));
        EXPECT(g.seed() == 1000 && g.current_seed() == 1000);
        // A state, and a copy that goes on by itself.
        plain->set_current_seed(9);
        at::Tensor state = g.get_state();
        auto copy = plain->clone();
        const uint32_t first = plain->random();
        EXPECT(copy->random() == first && copy->current_seed() == 9);
        g.set_state(state);
        EXPECT(plain->random() == first);
        plain->set_engine(at::mt19937(5));
        EXPECT(plain->random() == at::mt19937(5)() && plain->engine().data().next_ == 1);
        plain->set_next_float_normal_sample(0.5f);
        EXPECT(plain->next_float_normal_sample() == 0.5f && !plain->next_double_normal_sample());
        plain->set_current_seed(1);
        EXPECT(!plain->next_float_normal_sample());
        EXPECT_THROW(g.set_offset(1), c10::Error, "CPU Generator does not use offset");
        EXPECT_THROW(g.set_state(at::zeros({3}, at::kByte)), c10::Error, "state");
    }
    EXPECT(alive == before);
    // What the framework made is one of these, too.
    at::Generator of_framework = at::detail::createCPUGenerator(5);
    c10::GeneratorImpl* impl = of_framework.unsafeGetGeneratorImpl();
    EXPECT(dynamic_cast<at::CPUGeneratorImpl*>(impl) && impl->current_seed() == 5);
    EXPECT(of_framework.get<at::CPUGeneratorImpl>()->engine()() == at::mt19937(5)());
}

// ---- kernels that call the framework's own ----

static int64_t rolled = 0, strided = 0;
static at::Tensor roll(const at::Tensor& self, at::IntArrayRef shifts, at::IntArrayRef dims) {
    TORCH_CHECK(++rolled < 10, "the kernel calls itself");
    return at::native::roll(self, shifts, dims).add(1);
}
static at::Tensor as_strided(const at::Tensor& self, at::IntArrayRef size, at::IntArrayRef stride,
                             std::optional<int64_t> offset) {
    TORCH_CHECK(++strided < 100, "the kernel calls itself");
    return at::cpu::as_strided(self, size, stride, offset);
}
static void own_kernels() {
    at::Tensor x = at::arange(4);
    at::Tensor expected = at::roll(x, {1}, {0}) + 1;
    EXPECT(at::equal(at::native::roll(x, {1}, {0}) + 1, expected));
    EXPECT(at::equal(at::cpu::as_strided(x, {2}, {2}, 1), at::tensor({1, 3})));
    {
        torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::CPU, __FILE__, __LINE__);
        library.impl("roll", roll);
        library.impl("as_strided", as_strided);
        rolled = 0;
        EXPECT(at::equal(at::roll(x, {1}, {0}), expected) && rolled == 1);
        EXPECT(at::equal(at::native::roll(x, {1}, {0}) + 1, expected) && rolled == 1);
        const int64_t before = strided;
        const at::Tensor odd = at::as_strided(x, {2}, {2}, 1);
        EXPECT(strided == before + 1 && at::equal(odd, at::tensor({1, 3})));
    }
    EXPECT(at::equal(at::roll(x, {1}, {0}) + 1, expected) && rolled == 1);
}

static py::object next_device(const py::object& given) {
    TORCH_CHECK_TYPE(THPDevice_Check(given.ptr()), "a torch.device was expected");
    const at::Device d = reinterpret_cast<THPDevice*>(given.ptr())->device;
    return py::reinterpret_steal<py::object>(
        THPDevice_New(at::Device(d.type(), static_cast<at::DeviceIndex>(d.index() + 1))));
}
static std::unordered_map<std::string, bool> processor() {
    std::unordered_map<std::string, bool> said{{"vnni", at::cpu::is_avx512_vnni_supported()}};
    for (const auto& [name, value] : at::cpu::get_cpu_capabilities())
        if (value.isBool()) said[name] = value.toBool();
    return said;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("storages", storages);
    m.def("of_the_framework", of_the_framework);
    m.def("other_memory", other_memory);
    m.def("resizing", resizing);
    m.def("generators", generators);
    m.def("own_kernels", own_kernels);
    m.def("keys", keys);
    m.def("alive", [] { return alive; });
    m.def("marked", [](int64_t n) { return over(marked(4 * n), {n}); });
    m.def("named", [](uint64_t seed) { return at::make_generator<Named>(seed); });
    m.def("drawn", [](const at::Generator& g) { return g.get<at::CPUGeneratorImpl>()->random(); });
    m.def("next_device", next_device);
    m.def("same_stream", [](c10::Stream s) { return s; });
    m.def("stream_on", [](at::Device d) { return c10::Stream(c10::Stream::DEFAULT, d); });
    m.def("processor", processor);
}
