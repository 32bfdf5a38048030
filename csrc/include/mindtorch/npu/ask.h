// Questions to the back end for NPUs, as operators that it registers.
#pragma once

#include <mindtorch/functions.h>
#include <mindtorch/library.h>

#include <string>

namespace mindtorch {
namespace npu MINDTORCH_HIDDEN {

template <class F, class... A>
auto ask(const char* name, A... arguments) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<F>().call(arguments...);
}
// The same of torch_npu's own operators, which Python defines when somebody first asks for one.
template <class F, class... A>
auto ask_own(const char* name, const char* overload, A... arguments) {
    static const int64_t defined = ask<int64_t()>("mindtorch_npu::define_own_operators");
    (void)defined;
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload).typed<F>().call(arguments...);
}
// The current stream of a device (of the current one for -1), which is made this thread's device.
inline int64_t stream(int64_t device) { return ask<int64_t(int64_t)>("mindtorch_npu::stream", device); }
// The address of a function of CANN or of an operator package; 0 if nobody has it.
inline void* symbol(const std::string& name) {
    return reinterpret_cast<void*>(ask<int64_t(std::string)>("mindtorch_npu::symbol", name));
}
// Tells the back end of work that was enqueued, or raises its error for what came of it.
inline void enqueued(const std::string& name, int64_t device, int64_t code) {
    ask<int64_t(std::string, int64_t, int64_t)>("mindtorch_npu::enqueued", name, device, code);
}

}  // namespace npu MINDTORCH_HIDDEN
}  // namespace mindtorch
