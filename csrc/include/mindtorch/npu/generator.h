// `NPUGeneratorImpl`: the generator of an NPU, of which plug-ins take seeds and offsets for kernels that draw
// themselves.
#pragma once

#include <mindtorch/npu/stream.h>

#include <array>
#include <utility>

namespace at_npu {

struct NPUGeneratorImpl : c10::GeneratorImpl {
    explicit NPUGeneratorImpl(c10::DeviceIndex device = -1)
        : c10::GeneratorImpl(c10::Device(c10::DeviceType::PrivateUse1, device < 0 ? c10_npu::current_device() : device),
                             c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {}
    static c10::DeviceType device_type() { return c10::DeviceType::PrivateUse1; }
    // Seed and offset, after which `increment` numbers belong to the caller.
    std::pair<uint64_t, uint64_t> philox_engine_inputs(uint64_t increment) {
        const std::vector<int64_t> drawn = ask("draw", static_cast<int64_t>(increment));
        return {static_cast<uint64_t>(drawn.at(0)), static_cast<uint64_t>(drawn.at(1))};
    }
    void set_current_seed(uint64_t seed) override { ask("seed", static_cast<int64_t>(seed)); }
    uint64_t current_seed() const override { return static_cast<uint64_t>(ask("draw", 0).at(0)); }
    uint64_t seed() override {
        const uint64_t drawn = c10::detail::getNonDeterministicRandom();
        set_current_seed(drawn);
        return drawn;
    }
    void set_offset(uint64_t offset) override { ask("offset", static_cast<int64_t>(offset)); }
    uint64_t get_offset() const override { return static_cast<uint64_t>(ask("draw", 0).at(1)); }
    void set_philox_offset_per_thread(uint64_t offset) { set_offset(offset); }
    uint64_t philox_offset_per_thread() const { return get_offset(); }
    void set_state(const c10::TensorImpl&) override { by_python("set_state"); }
    c10::intrusive_ptr<c10::TensorImpl> get_state() const override { by_python("get_state"); }

  protected:
    c10::GeneratorImpl* clone_impl() const override { by_python("clone"); }

  private:
    [[noreturn]] static void by_python(const char* what) {
        TORCH_CHECK_NOT_IMPLEMENTED(false, "NPUGeneratorImpl::", what, ": ask torch.npu.default_generators in Python");
    }
    std::vector<int64_t> ask(const std::string& what, int64_t number) const {
        return mindtorch::npu::ask<std::vector<int64_t>(int64_t, std::string, int64_t)>(
            "mindtorch_npu::generator", static_cast<int64_t>(device_.index()), what, number);
    }
};

namespace detail {
// Of each device one, as in torch_npu; it belongs to nobody.
inline const at::Generator& getDefaultNPUGenerator(c10::DeviceIndex device = -1) {
    static std::array<at::Generator, 64> known;
    const auto index = static_cast<size_t>(device < 0 ? c10_npu::current_device() : device);
    TORCH_CHECK(index < known.size(), "getDefaultNPUGenerator: there is no device ", index);
    if (!known[index].defined())
        known[index] = at::Generator(c10::make_intrusive<NPUGeneratorImpl>(static_cast<c10::DeviceIndex>(index)));
    return known[index];
}
}  // namespace detail
}  // namespace at_npu
