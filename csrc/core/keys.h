// Dispatch keys in priority order: the highest set bit of a key set handles a call first.
#pragma once

#include <cstdint>
#include "device.h"

namespace mt {

enum class Key : uint8_t {
    Undefined = 0,
    // back ends
    CPU,
    CUDA,
    NPU,  // PyTorch's PrivateUse1
    XPU,
    Meta,
    SparseCPU,
    SparseCsrCPU,  // every compressed layout
    QuantizedCPU,  // whole numbers in memory, and a quantizer that says what they stand for
    // behaviours, lowest priority first
    MixedDevices,  // tensors of several devices: device_check.h
    BackendSelect,
    Python,
    Functionalize,
    Conjugate,
    Negative,
    ADInplaceOrView,
    AutogradOther,
    AutogradCPU,
    AutogradCUDA,
    AutogradNPU,
    AutogradXPU,
    AutogradMeta,
    Tracer,  // calls that torch.compile puts off: deferred.h
    AutocastCPU,
    AutocastCUDA,
    AutocastNPU,
    Batched,  // PyTorch's FuncTorchBatched
    PythonTLSSnapshot,
    PythonDispatcher,
    Count,
    // aliases: stand for several keys at registration, never appear in a key set
    Autograd,
    CompositeExplicitAutograd,
    CompositeImplicitAutograd,
    CompositeExplicitAutogradNonFunctional,
};
constexpr int kKeyCount = static_cast<int>(Key::Count);

struct KeySet {
    uint64_t bits = 0;
    constexpr KeySet() = default;
    constexpr explicit KeySet(uint64_t b) : bits(b) {}
    constexpr KeySet(Key k) : bits(k == Key::Undefined ? 0 : uint64_t(1) << static_cast<int>(k)) {}
    constexpr bool has(Key k) const { return bits >> static_cast<int>(k) & 1; }
    constexpr bool empty() const { return bits == 0; }
    constexpr KeySet operator|(KeySet o) const { return KeySet(bits | o.bits); }
    constexpr KeySet operator&(KeySet o) const { return KeySet(bits & o.bits); }
    constexpr KeySet operator-(KeySet o) const { return KeySet(bits & ~o.bits); }
    constexpr bool operator==(const KeySet& o) const { return bits == o.bits; }
    Key highest() const { return bits ? static_cast<Key>(63 - __builtin_clzll(bits)) : Key::Undefined; }
    // Every key of lower priority than k.
    static constexpr KeySet below(Key k) { return KeySet((uint64_t(1) << static_cast<int>(k)) - 1); }
};

constexpr KeySet kAutogradKeys = KeySet(Key::AutogradOther) | Key::AutogradCPU | Key::AutogradCUDA | Key::AutogradNPU |
                                 Key::AutogradXPU | Key::AutogradMeta;
constexpr KeySet kAutocastKeys = KeySet(Key::AutocastCPU) | Key::AutocastCUDA | Key::AutocastNPU;
constexpr KeySet kSparseKeys = KeySet(Key::SparseCPU) | Key::SparseCsrCPU;
// Keys of tensors whose memory, if any, does not hold their elements: only kernels that are meant for them may see it.
constexpr KeySet kCodedKeys = kSparseKeys | Key::QuantizedCPU;
// Keys of kernels that work on memory.
constexpr KeySet kMemoryKeys = KeySet(Key::CPU) | Key::CUDA | Key::NPU | Key::XPU;
constexpr KeySet kBackendKeys = kMemoryKeys | Key::Meta | kCodedKeys;
constexpr KeySet kBelowAutograd = KeySet::below(Key::AutogradOther);
constexpr KeySet kBelowADInplaceOrView = KeySet::below(Key::ADInplaceOrView);

// The keys of a device type's kernels and of their gradients.
struct DeviceKeys {
    Key backend, autograd;
};
constexpr DeviceKeys device_keys(DeviceType type) {
    switch (type) {
        case DeviceType::CPU:
            return {Key::CPU, Key::AutogradCPU};
        case DeviceType::CUDA:
            return {Key::CUDA, Key::AutogradCUDA};
        case DeviceType::XPU:
            return {Key::XPU, Key::AutogradXPU};
        case DeviceType::Meta:
            return {Key::Meta, Key::AutogradMeta};
        default:
            return {Key::NPU, Key::AutogradNPU};
    }
}

// The keys of a quantized tensor over memory of the keys `of`. Its gradients, if there were any, would be
// AutogradOther's: what PyTorch composes for memory may have a kernel of its own here.
constexpr KeySet quantized_keys(KeySet of) {
    const KeySet autograd = (of & kAutogradKeys).empty() ? KeySet() : KeySet(Key::AutogradOther);
    return (of - kBackendKeys - kAutogradKeys) | Key::QuantizedCPU | autograd;
}

const char* key_name(Key k);
Key key_from_name(const char* name);  // PyTorch's names too ("PrivateUse1"); Undefined if unknown

}  // namespace mt
