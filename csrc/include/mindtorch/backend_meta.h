// What a back end keeps of a tensor beside its shape and memory, and how files keep it.
#pragma once

#include <mindtorch/ivalue.h>

#include <array>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace torch {
namespace jit {

// Both are given the tensor and named bits: the first writes them for a file, the second finds what the file had.
using BackendMetaPtr = std::function<void(const at::Tensor&, std::unordered_map<std::string, bool>&)>;

inline std::unordered_set<c10::DeviceType>& GetBackendMetaAllowlist() {
    static std::unordered_set<c10::DeviceType> allowed{c10::DeviceType::PrivateUse1};
    return allowed;
}
inline std::array<std::optional<std::pair<BackendMetaPtr, BackendMetaPtr>>, 64>& GetBackendMetaSerialization() {
    static std::array<std::optional<std::pair<BackendMetaPtr, BackendMetaPtr>>, 64> functions;
    return functions;
}

}  // namespace jit
}  // namespace torch

namespace mindtorch MINDTORCH_HIDDEN {

using Bits = std::unordered_map<std::string, bool>;
inline auto& functions_for(const at::Tensor& t) {
    return torch::jit::GetBackendMetaSerialization()[static_cast<size_t>(t.device().type())];
}
// `call(tensor, None)` gives the bits, `call(tensor, bits)` takes them.
inline int answer_of_bits(void*, mt_call* call) noexcept {
    try {
        const at::Tensor t = at::Tensor::share(call->args[0].as.tensor);
        const c10::IValue given = Convert<c10::IValue>::from(call->args[1]);
        Bits bits;
        call->rets[0] = mt_value{};
        auto& functions = functions_for(t);
        if (!functions) return 0;
        if (given.isNone()) {
            functions->first(t, bits);
            c10::IValue::Entries entries;
            for (const auto& [name, on] : bits) entries.emplace_back(c10::IValue(name), c10::IValue(on));
            const Packed p = pack(c10::IValue::dict(std::move(entries)));
            api().retain(p.v.as.object);
            call->rets[0] = p.v;
        } else {
            for (const auto& [name, on] : given.entries()) bits[name.toStringRef()] = on.toBool();
            functions->second(t, bits);
        }
        return 0;
    } catch (...) {
        return report_exception();
    }
}

}  // namespace mindtorch MINDTORCH_HIDDEN

namespace torch {
namespace jit {

inline std::unordered_map<std::string, bool> getTensorMetadata(const at::Tensor& t) {
    std::unordered_map<std::string, bool> bits;
    if (t.is_conj()) bits["conj"] = true;
    if (t.is_neg()) bits["neg"] = true;
    if (const auto& functions = mindtorch::functions_for(t)) functions->first(t, bits);
    return bits;
}
inline void setTensorMetadata(const at::Tensor& t, std::unordered_map<std::string, bool> bits) {
    for (const char* lazy : {"conj", "neg"})
        TORCH_CHECK(!bits.count(lazy) || !bits[lazy],
                    "setTensorMetadata: a tensor is not made lazily conjugated or negated here; at::conj gives one");
    if (const auto& functions = mindtorch::functions_for(t)) functions->second(t, bits);
}

// Once for a type of device, before its first tensor is saved.
inline void TensorBackendMetaRegistry(c10::DeviceType type, const BackendMetaPtr& get, const BackendMetaPtr& set) {
    TORCH_CHECK(GetBackendMetaAllowlist().count(type), "TensorBackendMetaRegistry: tensors of ", type,
                " are kept by the framework; PrivateUse1 is a program's");
    auto& functions = GetBackendMetaSerialization()[static_cast<size_t>(type)];
    TORCH_CHECK(!functions, "TensorBackendMetaRegistry: the functions for ", type, " are registered already");
    functions.emplace(get, set);
    static const char own = 0;
    static const std::string* const name = [] {
        auto* made = new std::string("bits_" + std::to_string(reinterpret_cast<uintptr_t>(&own)));
        mt_object o = nullptr;
        mindtorch::check(mindtorch::api().library("FRAGMENT", "_own_metadata", nullptr, __FILE__, __LINE__, &o));
        mindtorch::check(mindtorch::api().define(o, (*made + "(Tensor tensor, Any bits) -> Any").c_str(), nullptr, 0));
        mindtorch::check(mindtorch::api().implement(o, made->c_str(), "CompositeImplicitAutograd",
                                                    mindtorch::answer_of_bits, nullptr, nullptr));
        return made;  // the library stays
    }();
    mindtorch::call_python("mindtorch_v2._library.own_metadata", "register", {mindtorch::arg(name->c_str())});
}

}  // namespace jit
}  // namespace torch
