// at::globalContext(): what of the settings of the process there is here.
#pragma once

#include <mindtorch/functions.h>

namespace at {

class Context {
  public:
    bool deterministicAlgorithms() const {
        return mindtorch::call_python("mindtorch_v2", "are_deterministic_algorithms_enabled", {}).as.boolean != 0;
    }
    bool deterministicAlgorithmsWarnOnly() const {
        return mindtorch::call_python("mindtorch_v2", "is_deterministic_algorithms_warn_only_enabled", {}).as.boolean !=
               0;
    }
    void setDeterministicAlgorithms(bool on, bool) {
        mindtorch::call_python("mindtorch_v2", "use_deterministic_algorithms", {mindtorch::arg(on)});
    }
    // Error or warning of an operator whose results may differ from run to run, if the program asked for that.
    void alertNotDeterministic(const char* caller) {
        if (!deterministicAlgorithms()) return;
        const std::string text = c10::str(caller,
                                          " does not have a deterministic implementation, but you set "
                                          "'torch.use_deterministic_algorithms(True)'.");
        TORCH_CHECK(deterministicAlgorithmsWarnOnly(), text);
        TORCH_WARN(text);
    }
    const Generator& defaultGenerator(Device device) {
        if (device.is_cpu()) return detail::getDefaultCPUGenerator();
        TORCH_CHECK(device.is_privateuseone(), device.type(), " device type not enabled.");
        return detail::getPrivateUse1Hooks().getDefaultGenerator(device.index());
    }
    bool userEnabledCuDNN() const { return false; }
    bool userEnabledMkldnn() const { return true; }
    bool benchmarkCuDNN() const { return false; }
    bool deterministicCuDNN() const { return false; }
    bool allowTF32CuBLAS() const { return false; }
    bool allowTF32CuDNN() const { return false; }
    // Of other devices' libraries: taken, and of no consequence here.
    void setUserEnabledCuDNN(bool) {}
    void setUserEnabledMkldnn(bool) {}
    void setBenchmarkCuDNN(bool) {}
    void setDeterministicCuDNN(bool) {}
    void setAllowTF32CuBLAS(bool) {}
    void setAllowTF32CuDNN(bool) {}
    void setAllowFP16ReductionCuBLAS(bool) {}
    void setAllowBF16ReductionCuBLAS(bool) {}
    bool allowFP16ReductionCuBLAS() const { return true; }
    bool allowBF16ReductionCuBLAS() const { return true; }
    void lazyInitDevice(DeviceType) {}
    void lazyInitCUDA() {}
    bool releaseWeightsWhenPrepacking() const { return false; }
    static bool hasMPS() { return false; }
    static bool hasXPU() { return false; }
    static bool hasHIP() { return false; }
    static bool hasXLA() { return false; }
    static bool hasLAPACK() { return true; }
    static bool hasMKLDNN() { return true; }
    static bool hasCUDA() { return false; }
    static bool hasCuDNN() { return false; }
    static bool hasMKL() { return false; }
    static bool hasOpenMP() { return true; }
};
inline Context& globalContext() {
    static Context context;
    return context;
}
}  // namespace at
