// Dispatch keys, sets of them, and guards that change those of this thread.
#pragma once

#include <mindtorch/tensor.h>

#include <cstring>

namespace c10 {

// clang-format off
#define MINDTORCH_FORALL_KEYS(_)                                                                                    \
    _(Undefined) _(CPU) _(CUDA) _(XPU) _(Meta) _(PrivateUse1) _(SparseCPU) _(SparseCsrCPU) _(BackendSelect)         \
    _(Python) _(Functionalize) _(Conjugate) _(Negative) _(ADInplaceOrView) _(AutogradOther) _(AutogradCPU)          \
    _(AutogradCUDA) _(AutogradPrivateUse1) _(AutogradXPU) _(AutogradMeta) _(Tracer) _(AutocastCPU) _(AutocastCUDA)  \
    _(AutocastPrivateUse1) _(FuncTorchBatched) _(PythonTLSSnapshot) _(PythonDispatcher) _(Autograd)                 \
    _(CompositeImplicitAutograd) _(CompositeExplicitAutograd) _(CompositeExplicitAutogradNonFunctional)
// Those that no tensor has here: kernels may be registered for them, and are not called.
#define MINDTORCH_FORALL_OTHER_BACKENDS(_, kind)                                                                    \
    _(kind##HIP) _(kind##XLA) _(kind##MPS) _(kind##IPU) _(kind##HPU) _(kind##VE) _(kind##Lazy) _(kind##MTIA)        \
    _(kind##MAIA) _(kind##PrivateUse2) _(kind##PrivateUse3)
#define MINDTORCH_FORALL_OTHER_KEYS(_)                                                                              \
    MINDTORCH_FORALL_OTHER_BACKENDS(_, ) MINDTORCH_FORALL_OTHER_BACKENDS(_, Autograd)                               \
    MINDTORCH_FORALL_OTHER_BACKENDS(_, Sparse)                                                                      \
    _(SparseCUDA) _(SparseXPU) _(SparseMeta) _(SparsePrivateUse1)                                                   \
    MINDTORCH_FORALL_OTHER_BACKENDS(_, SparseCsr)                                                                   \
    _(SparseCsrCUDA) _(SparseCsrXPU) _(SparseCsrMeta) _(SparseCsrPrivateUse1)                                       \
    MINDTORCH_FORALL_OTHER_BACKENDS(_, Quantized)                                                                   \
    _(QuantizedCPU) _(QuantizedCUDA) _(QuantizedXPU) _(QuantizedMeta) _(QuantizedPrivateUse1)                       \
    MINDTORCH_FORALL_OTHER_BACKENDS(_, NestedTensor)                                                                \
    _(NestedTensorCPU) _(NestedTensorCUDA) _(NestedTensorXPU) _(NestedTensorMeta) _(NestedTensorPrivateUse1)        \
    _(FPGA) _(Vulkan) _(Metal) _(CustomRNGKeyId) _(MkldnnCPU) _(Fake) _(ZeroTensor) _(AutogradNestedTensor)         \
    _(AutocastMTIA) _(AutocastMAIA) _(AutocastXPU) _(AutocastIPU) _(AutocastHPU) _(AutocastXLA) _(AutocastMPS)      \
    _(BatchedNestedTensor) _(FuncTorchVmapMode) _(FuncTorchGradWrapper) _(FuncTorchDynamicLayerFrontMode)           \
    _(FuncTorchDynamicLayerBackMode) _(DeferredInit) _(PreDispatch) _(CompositeImplicitAutogradNestedTensor)        \
    _(FuncTorchBatchedDecomposition)
// clang-format on
enum class DispatchKey : uint8_t {
#define MINDTORCH_KEY(name) name,
    MINDTORCH_FORALL_KEYS(MINDTORCH_KEY) MINDTORCH_FORALL_OTHER_KEYS(MINDTORCH_KEY)
#undef MINDTORCH_KEY
        CatchAll = CompositeImplicitAutograd,
    DefaultBackend = CompositeExplicitAutograd,
    Autocast = AutocastCUDA,
};
inline const char* toString(DispatchKey k) {
    static const char* const names[] = {
#define MINDTORCH_KEY(name) #name,
        MINDTORCH_FORALL_KEYS(MINDTORCH_KEY) MINDTORCH_FORALL_OTHER_KEYS(MINDTORCH_KEY)
#undef MINDTORCH_KEY
    };
    return names[static_cast<int>(k)];
}
inline std::ostream& operator<<(std::ostream& s, DispatchKey k) { return s << toString(k); }
inline DispatchKey key_of_device(DeviceType d) {
    return d == DeviceType::CPU    ? DispatchKey::CPU
           : d == DeviceType::CUDA ? DispatchKey::CUDA
           : d == DeviceType::XPU  ? DispatchKey::XPU
           : d == DeviceType::Meta ? DispatchKey::Meta
                                   : DispatchKey::PrivateUse1;
}

// The core's bits. A constant of the program's (constexpr) is made before there is a core: it has bits by the places of
// DispatchKey, and says so with the highest, until somebody asks.
class DispatchKeySet {
  public:
    enum Full { FULL };
    enum FullAfter { FULL_AFTER };
    enum Raw { RAW };
    constexpr DispatchKeySet() = default;
    constexpr explicit DispatchKeySet(uint64_t bits) : bits_(bits) {}
    constexpr DispatchKeySet(Full) : bits_(~by_place) {}
    constexpr DispatchKeySet(Raw, uint64_t bits) : bits_(bits) {}
    // Everything of lower priority.
    DispatchKeySet(FullAfter, DispatchKey k) : bits_(lowest(bits_of(k)) - 1) {}
    constexpr DispatchKeySet(DispatchKey k) : bits_(__builtin_is_constant_evaluated() ? place_of(k) : bits_of(k)) {}
    constexpr DispatchKeySet(std::initializer_list<DispatchKey> keys) {
        for (DispatchKey k : keys) bits_ |= DispatchKeySet(k).bits_;
    }
    uint64_t raw_repr() const { return bits(); }
    constexpr bool has(DispatchKey k) const {
        if (bits_ & by_place && __builtin_is_constant_evaluated()) return bits_ & place_of(k) & ~by_place;
        const uint64_t b = bits_of(k);
        return b && (bits() & b) == b;
    }
    constexpr bool has_any(DispatchKeySet o) const { return !(*this & o).empty(); }
    constexpr bool empty() const { return (bits_ & ~by_place) == 0; }
    constexpr DispatchKeySet add(DispatchKey k) const { return *this | DispatchKeySet(k); }
    constexpr DispatchKeySet remove(DispatchKey k) const { return *this - DispatchKeySet(k); }
    constexpr bool has_all(DispatchKeySet o) const { return (*this & o) == o; }
    constexpr bool isSupersetOf(DispatchKeySet o) const { return has_all(o); }
    static DispatchKeySet from_raw_repr(uint64_t bits) { return DispatchKeySet(RAW, bits); }
    constexpr DispatchKeySet operator|(DispatchKeySet o) const {
        return DispatchKeySet(alike(o) ? bits_ | o.bits_ : bits() | o.bits());
    }
    constexpr DispatchKeySet operator&(DispatchKeySet o) const {
        return DispatchKeySet(alike(o) ? bits_ & o.bits_ : bits() & o.bits());
    }
    constexpr DispatchKeySet operator-(DispatchKeySet o) const {
        return DispatchKeySet(alike(o) ? (bits_ & by_place) | (bits_ & ~o.bits_) : bits() & ~o.bits());
    }
    constexpr bool operator==(DispatchKeySet o) const {
        return alike(o) ? ((bits_ ^ o.bits_) & ~by_place) == 0 : bits() == o.bits();
    }
    constexpr bool operator!=(DispatchKeySet o) const { return !(*this == o); }
    // The key whose kernel is called.
    DispatchKey highestPriorityTypeId() const {
        DispatchKey highest = DispatchKey::Undefined;
        uint64_t place = 0;
#define MINDTORCH_KEY(name)                                                                               \
    if (const uint64_t b = bits_of(DispatchKey::name); (b & (b - 1)) == 0 && b > place && (bits() & b)) { \
        highest = DispatchKey::name;                                                                      \
        place = b;                                                                                        \
    }
        MINDTORCH_FORALL_KEYS(MINDTORCH_KEY)
#undef MINDTORCH_KEY
        return highest;
    }

    // The keys of the set one by one, those that are called later first.
    class iterator {
      public:
        using iterator_category = std::input_iterator_tag;
        using value_type = DispatchKey;
        using difference_type = std::ptrdiff_t;
        using reference = DispatchKey;
        using pointer = const DispatchKey*;
        explicit iterator(uint64_t rest) : rest_(rest) {}
        DispatchKey operator*() const { return DispatchKeySet(RAW, lowest(rest_)).highestPriorityTypeId(); }
        iterator& operator++() {
            rest_ &= rest_ - 1;
            return *this;
        }
        iterator operator++(int) {
            const iterator before = *this;
            ++*this;
            return before;
        }
        bool operator==(const iterator& o) const { return rest_ == o.rest_; }
        bool operator!=(const iterator& o) const { return rest_ != o.rest_; }

      private:
        uint64_t rest_;
    };
    iterator begin() const { return iterator(bits() & named()); }
    iterator end() const { return iterator(0); }

  private:
    // The bits that keys have.
    static uint64_t named() {
        static const uint64_t all = [] {
            uint64_t bits = 0;
#define MINDTORCH_KEY(name) \
    if (const uint64_t b = bits_of(DispatchKey::name); (b & (b - 1)) == 0) bits |= b;
            MINDTORCH_FORALL_KEYS(MINDTORCH_KEY)
#undef MINDTORCH_KEY
            return bits;
        }();
        return all;
    }
    static uint64_t bits_of(DispatchKey k) {
        const mt_boundary* t = mindtorch::find_api();
        return t ? t->key_bit(toString(k)) : 0;
    }
    static uint64_t lowest(uint64_t b) { return b & (~b + 1); }
    static constexpr uint64_t by_place = uint64_t(1) << 63;
    // Keys that no tensor has are in no set.
    static constexpr uint64_t place_of(DispatchKey k) {
        const auto place = static_cast<unsigned>(k);
        return by_place | (place && place <= static_cast<unsigned>(DispatchKey::Autograd) ? uint64_t(1) << place : 0);
    }
    constexpr bool alike(DispatchKeySet o) const {
        return ((bits_ ^ o.bits_) & by_place) == 0 || bits_ == 0 || o.bits_ == 0;
    }
    constexpr uint64_t bits() const { return bits_ & by_place ? looked_up(bits_) : bits_; }
    static uint64_t looked_up(uint64_t places) {
        uint64_t found = 0;
        for (uint64_t rest = places & ~by_place; rest; rest &= rest - 1)
            found |= bits_of(static_cast<DispatchKey>(__builtin_ctzll(rest)));
        return found;
    }
    uint64_t bits_ = 0;
};
inline const DispatchKeySet autograd_dispatch_keyset{DispatchKey::Autograd};
inline const DispatchKeySet autograd_dispatch_keyset_with_ADInplaceOrView{DispatchKey::Autograd,
                                                                          DispatchKey::ADInplaceOrView};
inline const DispatchKeySet autocast_dispatch_keyset{DispatchKey::AutocastCPU, DispatchKey::AutocastCUDA,
                                                     DispatchKey::AutocastPrivateUse1};
inline const DispatchKeySet python_ks{DispatchKey::Python, DispatchKey::PythonTLSSnapshot};
inline const DispatchKeySet after_autograd_keyset{DispatchKeySet::FULL_AFTER, DispatchKey::AutogradOther};
inline const DispatchKeySet after_ADInplaceOrView_keyset{DispatchKeySet::FULL_AFTER, DispatchKey::ADInplaceOrView};
inline const DispatchKeySet after_func_keyset{DispatchKeySet::FULL_AFTER, DispatchKey::Functionalize};

inline bool isAliasDispatchKey(DispatchKey k) {
    return k == DispatchKey::Autograd || k == DispatchKey::CompositeImplicitAutograd ||
           k == DispatchKey::CompositeExplicitAutograd || k == DispatchKey::CompositeExplicitAutogradNonFunctional;
}
// The keys of tensors whose calls a kernel for that key serves.
inline DispatchKeySet getRuntimeDispatchKeySet(DispatchKey k) { return DispatchKeySet(k); }
inline bool runtimeDispatchKeySetHas(DispatchKey k, DispatchKey member) {
    return getRuntimeDispatchKeySet(k).has(member);
}
// The backends, as parts of keys.
enum class BackendComponent : uint8_t {
    InvalidBit = 0,
    CPUBit,
    CUDABit,
    HIPBit,
    XLABit,
    MPSBit,
    IPUBit,
    XPUBit,
    HPUBit,
    VEBit,
    LazyBit,
    MTIABit,
    MAIABit,
    PrivateUse1Bit,
    PrivateUse2Bit,
    PrivateUse3Bit,
    MetaBit,
};
inline BackendComponent toBackendComponent(DispatchKey k) {
    const std::string_view name = toString(k);
    static const std::pair<const char*, BackendComponent> all[] = {
        {"CPU", BackendComponent::CPUBit},   {"CUDA", BackendComponent::CUDABit},
        {"XPU", BackendComponent::XPUBit},   {"PrivateUse1", BackendComponent::PrivateUse1Bit},
        {"Meta", BackendComponent::MetaBit},
    };
    for (const auto& [text, component] : all)
        if (name.size() >= std::strlen(text) && name.substr(name.size() - std::strlen(text)) == text) return component;
    return BackendComponent::InvalidBit;
}
inline DispatchKeySet getAutogradRelatedKeySetFromBackend(BackendComponent) {
    return autograd_dispatch_keyset_with_ADInplaceOrView;
}
inline DispatchKey getAutogradKeyFromBackend(BackendComponent k) {
    return k == BackendComponent::CPUBit           ? DispatchKey::AutogradCPU
           : k == BackendComponent::CUDABit        ? DispatchKey::AutogradCUDA
           : k == BackendComponent::XPUBit         ? DispatchKey::AutogradXPU
           : k == BackendComponent::MetaBit        ? DispatchKey::AutogradMeta
           : k == BackendComponent::PrivateUse1Bit ? DispatchKey::AutogradPrivateUse1
                                                   : DispatchKey::AutogradOther;
}
inline DeviceType dispatchKeyToDeviceType(DispatchKey k) {
    const std::string_view name = toString(k);
    return name.find("CUDA") != name.npos          ? DeviceType::CUDA
           : name.find("XPU") != name.npos         ? DeviceType::XPU
           : name.find("Meta") != name.npos        ? DeviceType::Meta
           : name.find("PrivateUse1") != name.npos ? DeviceType::PrivateUse1
                                                   : DeviceType::CPU;
}
// The key that a factory with those options is called by.
inline DispatchKey computeDispatchKey(std::optional<ScalarType>, std::optional<Layout> layout,
                                      std::optional<Device> device) {
    const DispatchKey dense = key_of_device(device_or_default(device).type());
    if (layout_or_default(layout) == Layout::Strided) return dense;
    TORCH_CHECK_NOT_IMPLEMENTED(dense == DispatchKey::CPU, "computeDispatchKey: sparse tensors are on the CPU here");
    return layout_or_default(layout) == Layout::Sparse ? DispatchKey::SparseCPU : DispatchKey::SparseCsrCPU;
}

namespace impl {
struct LocalKeys {
    uint64_t included, excluded;
    LocalKeys() { mindtorch::api().keys_of_thread(&included, &excluded); }
};
class ExcludeDispatchKeyGuard {
  public:
    explicit ExcludeDispatchKeyGuard(DispatchKeySet keys) {
        mindtorch::api().set_keys_of_thread(before_.included, before_.excluded | keys.raw_repr());
    }
    explicit ExcludeDispatchKeyGuard(DispatchKey k) : ExcludeDispatchKeyGuard(DispatchKeySet(k)) {}
    ~ExcludeDispatchKeyGuard() { mindtorch::api().set_keys_of_thread(before_.included, before_.excluded); }
    ExcludeDispatchKeyGuard(const ExcludeDispatchKeyGuard&) = delete;

  private:
    LocalKeys before_;
};
class IncludeDispatchKeyGuard {
  public:
    explicit IncludeDispatchKeyGuard(DispatchKeySet keys) {
        mindtorch::api().set_keys_of_thread(before_.included | keys.raw_repr(), before_.excluded);
    }
    explicit IncludeDispatchKeyGuard(DispatchKey k) : IncludeDispatchKeyGuard(DispatchKeySet(k)) {}
    ~IncludeDispatchKeyGuard() { mindtorch::api().set_keys_of_thread(before_.included, before_.excluded); }
    IncludeDispatchKeyGuard(const IncludeDispatchKeyGuard&) = delete;

  private:
    LocalKeys before_;
};
inline bool tls_is_dispatch_key_excluded(DispatchKey k) {
    return (LocalKeys().excluded & DispatchKeySet(k).raw_repr()) != 0;
}
inline void tls_set_dispatch_key_excluded(DispatchKey k, bool on) {
    const LocalKeys now;
    const uint64_t bits = DispatchKeySet(k).raw_repr();
    mindtorch::api().set_keys_of_thread(now.included, on ? now.excluded | bits : now.excluded & ~bits);
}
inline void tls_set_dispatch_key_included(DispatchKey k, bool on) {
    const LocalKeys now;
    const uint64_t bits = DispatchKeySet(k).raw_repr();
    mindtorch::api().set_keys_of_thread(on ? now.included | bits : now.included & ~bits, now.excluded);
}
inline bool tls_is_dispatch_keyset_excluded(DispatchKeySet k) {
    return (LocalKeys().excluded & k.raw_repr()) == k.raw_repr();
}
inline bool tls_is_dispatch_keyset_included(DispatchKeySet k) {
    return (LocalKeys().included & k.raw_repr()) == k.raw_repr();
}
struct LocalDispatchKeySet {
    DispatchKeySet included_, excluded_;
};
inline LocalDispatchKeySet tls_local_dispatch_key_set() {
    const LocalKeys now;
    return {DispatchKeySet(DispatchKeySet::RAW, now.included), DispatchKeySet(DispatchKeySet::RAW, now.excluded)};
}
// All of a thread's keys for a while.
class ForceDispatchKeyGuard {
  public:
    ForceDispatchKeyGuard() = default;
    ForceDispatchKeyGuard(DispatchKeySet included, DispatchKeySet excluded) {
        mindtorch::api().set_keys_of_thread(included.raw_repr(), excluded.raw_repr());
    }
    explicit ForceDispatchKeyGuard(LocalDispatchKeySet keys) : ForceDispatchKeyGuard(keys.included_, keys.excluded_) {}
    ~ForceDispatchKeyGuard() { mindtorch::api().set_keys_of_thread(before_.included, before_.excluded); }
    ForceDispatchKeyGuard(const ForceDispatchKeyGuard&) = delete;

  private:
    LocalKeys before_;
};
inline bool tls_is_dispatch_key_included(DispatchKey k) {
    return (LocalKeys().included & DispatchKeySet(k).raw_repr()) != 0;
}
}  // namespace impl

struct GradMode {
    static bool is_enabled() { return mindtorch::api().grad_mode() != 0; }
    static void set_enabled(bool on) { mindtorch::api().set_grad_mode(on); }
};
class AutoGradMode {
  public:
    explicit AutoGradMode(bool on) : before_(GradMode::is_enabled()) { GradMode::set_enabled(on); }
    ~AutoGradMode() { GradMode::set_enabled(before_); }
    AutoGradMode(const AutoGradMode&) = delete;

  private:
    bool before_;
};
struct NoGradGuard : AutoGradMode {
    NoGradGuard() : AutoGradMode(false) {}
};
class InferenceMode {
  public:
    explicit InferenceMode(bool on = true) : recorded_(GradMode::is_enabled()), before_(is_enabled()) {
        set(on);
        if (on) GradMode::set_enabled(false);
    }
    ~InferenceMode() {
        set(before_);
        GradMode::set_enabled(recorded_);
    }
    InferenceMode(const InferenceMode&) = delete;
    static bool is_enabled() { return mindtorch::api().inference_mode() != 0; }

  private:
    static void set(bool on) { mindtorch::call_python("mindtorch_v2._C", "_set_inference_mode", {mindtorch::arg(on)}); }
    bool recorded_, before_;
};

inline DispatchKeySet TensorImpl::key_set() const { return DispatchKeySet(mindtorch::api().keys(handle())); }
}  // namespace c10
namespace at {
inline c10::DispatchKeySet TensorBase::key_set() const { return c10::DispatchKeySet(mindtorch::api().keys(need())); }
using AutoGradMode = c10::AutoGradMode;
struct AutoDispatchBelowAutograd {
    AutoDispatchBelowAutograd() : guard_(c10::DispatchKeySet(c10::DispatchKey::Autograd)) {}
    c10::impl::ExcludeDispatchKeyGuard guard_;
};
struct AutoDispatchBelowADInplaceOrView {
    AutoDispatchBelowADInplaceOrView()
        : guard_(c10::DispatchKeySet({c10::DispatchKey::Autograd, c10::DispatchKey::ADInplaceOrView})) {}
    c10::impl::ExcludeDispatchKeyGuard guard_;
};
struct AutoNonVariableTypeMode : AutoDispatchBelowAutograd {
    explicit AutoNonVariableTypeMode(bool = true) {}
};
}  // namespace at
