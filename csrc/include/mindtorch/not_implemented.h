// Kernels for operators that have no gradient, which raise in the way back.
#pragma once

#include <mindtorch/autograd.h>
#include <mindtorch/library.h>

namespace mindtorch MINDTORCH_HIDDEN {

// The tensors among the values of a call, those of lists one by one.
inline torch::autograd::variable_list tensors_among(const c10::IValue* first, size_t n) {
    torch::autograd::variable_list all;
    for (size_t i = 0; i < n; i++) {
        if (first[i].isTensor()) {
            all.push_back(first[i].toTensor());
        } else if (first[i].isTensorList()) {
            for (at::Tensor& t : first[i].toTensorVector()) all.push_back(std::move(t));
        } else if (first[i].isOptionalTensorList()) {
            for (std::optional<at::Tensor>& t : first[i].toOptionalTensorVector())
                if (t) all.push_back(std::move(*t));
        }
    }
    return all;
}
inline bool is_among(const at::Tensor& t, const torch::autograd::variable_list& all) {
    for (const at::Tensor& each : all)
        if (each.is_same(t)) return true;
    return false;
}

// The results of one call as those of a function whose backward raises.
struct WithoutGradient {
    std::string op;
    torch::autograd::variable_list results, written;

    static int forward(void* p, mt_object node, mt_value* outputs, int32_t most, int32_t* n) {
        auto* call = static_cast<WithoutGradient*>(p);
        try {
            std::vector<mt_tensor> marked;
            for (const at::Tensor& t : call->written) marked.push_back(t.handle());
            if (!marked.empty()) check(api().node_mark(node, 'd', marked.data(), static_cast<int32_t>(marked.size())));
            *n = give_outputs(call->results, outputs, most);
            call->results.clear();
            call->written.clear();
            return 0;
        } catch (...) {
            return report_exception();
        }
    }
    static int backward(void* p, mt_object, const mt_tensor*, int32_t, mt_tensor*, int32_t) {
        try {
            TORCH_CHECK(false, "derivative for ", static_cast<WithoutGradient*>(p)->op, " is not implemented");
        } catch (...) {
            return report_exception();
        }
    }
    static const mt_function& functions() {
        static const mt_function f{"NotImplemented", forward, backward,
                                   [](void* p) { delete static_cast<WithoutGradient*>(p); }};
        return f;
    }
};

// The tensors that a call may write to.
inline torch::autograd::variable_list written_among(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
    const auto& arguments = op.schema().arguments();
    torch::autograd::variable_list all;
    for (size_t i = 0; i < arguments.size(); i++) {
        const auto* alias = arguments[i].alias_info();
        if (!alias || !alias->isWrite()) continue;
        for (at::Tensor& t : tensors_among(stack.data() + stack.size() - arguments.size() + i, 1))
            if (t.defined()) all.push_back(std::move(t));
    }
    return all;
}

// The core counts writes by the schema, unless an operator has a kernel of its own for that: this one.
inline void run_and_count_writes(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const torch::autograd::variable_list written = written_among(op, *stack);
    op.redispatchBoxed(keys & c10::after_ADInplaceOrView_keyset, stack);
    for (const at::Tensor& t : written) torch::autograd::increment_version(t);
}

inline void run_without_gradient(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const size_t n = op.schema().arguments().size(), before = stack->size() - n;
    const torch::autograd::variable_list given = tensors_among(stack->data() + before, n);
    bool asked = false;
    for (const at::Tensor& t : given) asked = asked || t.requires_grad();
    asked = asked && c10::GradMode::is_enabled();
    const torch::autograd::variable_list may_be_written = written_among(op, *stack);
    for (const at::Tensor& t : may_be_written)
        TORCH_CHECK(!asked || !t.is_leaf() || !t.requires_grad(),
                    "a leaf Variable that requires grad is being used in an in-place operation.");
    // A result that was written to is marked so below, which counts the write.
    bool gives_written = false;
    for (const c10::Argument& result : op.schema().returns())
        gives_written = gives_written || (result.alias_info() && result.alias_info()->isWrite());
    op.redispatchBoxed(keys & (asked && gives_written ? c10::after_ADInplaceOrView_keyset : c10::after_autograd_keyset),
                       stack);
    if (!asked) return;

    const size_t made = stack->size() - before;
    auto* call = new WithoutGradient{c10::toString(op.operator_name()), {}, {}};
    for (at::Tensor& t : tensors_among(stack->data() + before, made)) {
        if (!t.defined() || !(t.is_floating_point() || t.is_complex())) continue;
        if (is_among(t, may_be_written)) call->written.push_back(t);
        call->results.push_back(std::move(t));
    }
    std::vector<mt_tensor> inputs;
    for (const at::Tensor& t : given) inputs.push_back(t.handle());
    mt_value outputs[64];
    int32_t count = 0;
    check(api().function_apply(&WithoutGradient::functions(), call, inputs.data(), static_cast<int32_t>(inputs.size()),
                               outputs, 64, &count));
    torch::autograd::variable_list results;
    take_outputs(results, outputs, count);

    auto next = results.begin();
    const auto replaced = [&](const at::Tensor& t) {
        return t.defined() && (t.is_floating_point() || t.is_complex()) ? *next++ : t;
    };
    for (size_t i = before; i < stack->size(); i++) {
        c10::IValue& value = (*stack)[i];
        if (value.isTensor()) {
            value = replaced(value.toTensor());
        } else if (value.isTensorList()) {
            std::vector<at::Tensor> list = value.toTensorVector();
            for (at::Tensor& t : list) t = replaced(t);
            value = list;
        }
    }
}

}  // namespace mindtorch MINDTORCH_HIDDEN

namespace torch {
namespace autograd {

inline CppFunction autogradNotImplementedFallback() {
    return CppFunction::makeFromBoxedFunction<&mindtorch::run_without_gradient>();
}
inline CppFunction autogradNotImplementedInplaceOrViewFallback() {
    return CppFunction::makeFromBoxedFunction<&mindtorch::run_and_count_writes>();
}

}  // namespace autograd
}  // namespace torch
