// Stubs of kernels that other files define: DECLARE_DISPATCH, DEFINE_DISPATCH, REGISTER_DISPATCH.
#pragma once

#include <mindtorch/tensor.h>

namespace at {
namespace native {

// One kernel for each kind of device. It is compiled once, for the instructions that the file is compiled for.
template <class Function, class Name>
struct DispatchStub;
template <class R, class Name, class... A>
struct DispatchStub<R (*)(A...), Name> {
    using FnPtr = R (*)(A...);
    R operator()(c10::DeviceType device, A... a) {
        const FnPtr kernel = kernels_[static_cast<size_t>(device)];
        TORCH_CHECK(kernel, "DispatchStub: missing kernel for ", device);
        return kernel(std::forward<A>(a)...);
    }
    void set(c10::DeviceType device, FnPtr kernel) { kernels_[static_cast<size_t>(device)] = kernel; }
    bool is_device_supported(c10::DeviceType device) const { return kernels_[static_cast<size_t>(device)] != nullptr; }

  private:
    FnPtr kernels_[32] = {};
};
template <class Stub>
struct RegisterDispatch {
    RegisterDispatch(Stub& stub, c10::DeviceType device, typename Stub::FnPtr kernel) { stub.set(device, kernel); }
};

}  // namespace native
}  // namespace at

#define DECLARE_DISPATCH(fn, name)                                                                       \
    struct name##_DECLARE_DISPATCH_type : at::native::DispatchStub<fn, name##_DECLARE_DISPATCH_type> {}; \
    extern struct name##_DECLARE_DISPATCH_type name
#define DEFINE_DISPATCH(name) struct name##_DECLARE_DISPATCH_type name
#define REGISTER_DISPATCH_FOR(name, device, fn)                                                     \
    static const at::native::RegisterDispatch<struct name##_DECLARE_DISPATCH_type> C10_CONCATENATE( \
        name, _on_##device)(name, c10::DeviceType::device, fn)
#define REGISTER_DISPATCH(name, fn) REGISTER_DISPATCH_FOR(name, CPU, fn)
#define REGISTER_ALL_CPU_DISPATCH(name, fn) REGISTER_DISPATCH_FOR(name, CPU, fn)
#define REGISTER_NO_CPU_DISPATCH(name) static_assert(true, "")
#define REGISTER_PRIVATEUSE1_DISPATCH(name, fn) REGISTER_DISPATCH_FOR(name, PrivateUse1, fn)
