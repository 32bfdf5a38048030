// at::native::cpu_fallback: an operator that a device of a program's own has no kernel for, computed on the CPU.
#pragma once

#include <mindtorch/library.h>

namespace mindtorch MINDTORCH_HIDDEN {

// The same value with each tensor on the CPU; `device` becomes that of the first one that was elsewhere.
inline c10::IValue on_cpu(const c10::IValue& v, std::optional<at::Device>& device) {
    if (v.isTensor()) {
        const at::Tensor& t = v.toTensor();
        if (!t.defined() || t.is_cpu()) return v;
        if (!device) device = t.device();
        return t.cpu();
    }
    if (!v.isList()) return v;
    c10::List<c10::IValue> moved;
    for (const c10::IValue& item : v.toListRef()) moved.push_back(on_cpu(item, device));
    return moved;
}
inline c10::IValue on_device(const c10::IValue& v, at::Device device) {
    if (v.isTensor()) return v.toTensor().defined() ? c10::IValue(v.toTensor().to(device)) : v;
    if (!v.isList()) return v;
    c10::List<c10::IValue> moved;
    for (const c10::IValue& item : v.toListRef()) moved.push_back(on_device(item, device));
    return moved;
}
// What was written on the CPU, into what was given.
inline void write_back(const c10::IValue& given, const c10::IValue& written) {
    if (given.isTensor() && given.toTensor().defined()) {
        at::Tensor to = given.toTensor();
        const at::Tensor& from = written.toTensor();
        if (to.sizes() != from.sizes()) to.resize_(from.sizes());
        to.copy_(from);
    } else if (given.isList()) {
        for (size_t i = 0; i < given.toListRef().size(); i++) write_back(given.toListRef()[i], written.toListRef()[i]);
    }
}

}  // namespace mindtorch MINDTORCH_HIDDEN
namespace at {
namespace native {

// Takes the arguments from the stack and leaves the results, on the device that the tensors came from.
inline void cpu_fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack, bool error_on_views = false,
                         c10::DispatchKey /*key*/ = c10::DispatchKey::CPU) {
    const c10::FunctionSchema schema = op.schema();
    const std::vector<c10::Argument>& arguments = schema.arguments();
    const size_t begin = stack->size() - arguments.size();
    const std::vector<c10::IValue> given(stack->begin() + static_cast<std::ptrdiff_t>(begin), stack->end());
    std::optional<Device> device, asked;
    for (size_t i = 0; i < given.size(); i++) {
        c10::IValue& v = (*stack)[begin + i];
        v = mindtorch::on_cpu(given[i], device);
        if (!given[i].isDevice()) continue;
        asked = given[i].toDevice();
        v = Device(DeviceType::CPU);
    }
    if (asked) device = asked;
    const std::vector<c10::IValue> computed(stack->begin() + static_cast<std::ptrdiff_t>(begin), stack->end());
    op.callBoxed(stack);
    for (size_t i = 0; i < given.size(); i++) {
        const c10::AliasInfo* alias = arguments[i].alias_info();
        if (alias && alias->isWrite()) mindtorch::write_back(given[i], computed[i]);
    }
    const std::vector<c10::Argument>& results = schema.returns();
    const size_t first = stack->size() - results.size();
    for (size_t r = 0; r < results.size(); r++) {
        const c10::AliasInfo* alias = results[r].alias_info();
        bool is_argument = false;
        for (size_t i = 0; alias && alias->isWrite() && i < given.size() && !is_argument; i++) {
            const c10::AliasInfo* of = arguments[i].alias_info();
            is_argument = of && of->isWrite() && of->beforeSets() == alias->beforeSets();
            if (is_argument) (*stack)[first + r] = given[i];
        }
        if (is_argument) continue;
        TORCH_CHECK(!alias || alias->isWrite() || !error_on_views, "The operator ", schema.operator_name(),
                    " appears to be a view operator, but it has no implementation for the backend \"",
                    device.value_or(Device(DeviceType::CPU)),
                    "\". View operators don't support falling back to run on the CPU, since the tensor's storage "
                    "cannot be shared across devices.");
        if (device) (*stack)[first + r] = mindtorch::on_device((*stack)[first + r], *device);
    }
}

}  // namespace native
}  // namespace at
