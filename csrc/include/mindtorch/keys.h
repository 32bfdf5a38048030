// Dispatch keys, sets of them, and guards that change those of this thread.
#pragma once

#include <mindtorch/tensor.h>

namespace c10 {

// clang-format off
#define MINDTORCH_FORALL_KEYS(_)                                                                                    \
    _(Undefined) _(CPU) _(CUDA) _(Meta) _(PrivateUse1) _(SparseCPU) _(SparseCsrCPU) _(BackendSelect) _(Python)      \
    _(Functionalize) _(Conjugate) _(Negative) _(ADInplaceOrView) _(AutogradOther) _(AutogradCPU) _(AutogradCUDA)    \
    _(AutogradPrivateUse1) _(AutogradMeta) _(Tracer) _(AutocastCPU) _(AutocastCUDA) _(AutocastPrivateUse1)          \
    _(FuncTorchBatched) _(PythonTLSSnapshot) _(PythonDispatcher) _(Autograd) _(CompositeImplicitAutograd)           \
    _(CompositeExplicitAutograd) _(CompositeExplicitAutogradNonFunctional)
// clang-format on
enum class DispatchKey : uint8_t {
#define MINDTORCH_KEY(name) name,
    MINDTORCH_FORALL_KEYS(MINDTORCH_KEY)
#undef MINDTORCH_KEY
        CatchAll = CompositeImplicitAutograd,
    Autocast = AutocastCUDA,
};
inline const char* toString(DispatchKey k) {
    static const char* const names[] = {
#define MINDTORCH_KEY(name) #name,
        MINDTORCH_FORALL_KEYS(MINDTORCH_KEY)
#undef MINDTORCH_KEY
    };
    return names[static_cast<int>(k)];
}
inline std::ostream& operator<<(std::ostream& s, DispatchKey k) { return s << toString(k); }
inline DispatchKey key_of_device(DeviceType d) {
    return d == DeviceType::CPU    ? DispatchKey::CPU
           : d == DeviceType::CUDA ? DispatchKey::CUDA
           : d == DeviceType::Meta ? DispatchKey::Meta
                                   : DispatchKey::PrivateUse1;
}

class DispatchKeySet {
  public:
    enum Full { FULL };
    enum FullAfter { FULL_AFTER };
    enum Raw { RAW };
    DispatchKeySet() = default;
    explicit DispatchKeySet(uint64_t bits) : bits_(bits) {}
    DispatchKeySet(Full) : bits_(~uint64_t(0)) {}
    DispatchKeySet(Raw, uint64_t bits) : bits_(bits) {}
    // Everything of lower priority.
    DispatchKeySet(FullAfter, DispatchKey k) : bits_(lowest(bits_of(k)) - 1) {}
    DispatchKeySet(DispatchKey k) : bits_(bits_of(k)) {}
    DispatchKeySet(std::initializer_list<DispatchKey> keys) {
        for (DispatchKey k : keys) bits_ |= bits_of(k);
    }
    uint64_t raw_repr() const { return bits_; }
    bool has(DispatchKey k) const {
        const uint64_t b = bits_of(k);
        return b && (bits_ & b) == b;
    }
    bool has_any(DispatchKeySet o) const { return (bits_ & o.bits_) != 0; }
    bool empty() const { return bits_ == 0; }
    DispatchKeySet add(DispatchKey k) const { return DispatchKeySet(bits_ | bits_of(k)); }
    DispatchKeySet remove(DispatchKey k) const { return DispatchKeySet(bits_ & ~bits_of(k)); }
    DispatchKeySet operator|(DispatchKeySet o) const { return DispatchKeySet(bits_ | o.bits_); }
    DispatchKeySet operator&(DispatchKeySet o) const { return DispatchKeySet(bits_ & o.bits_); }
    DispatchKeySet operator-(DispatchKeySet o) const { return DispatchKeySet(bits_ & ~o.bits_); }
    bool operator==(DispatchKeySet o) const { return bits_ == o.bits_; }
    bool operator!=(DispatchKeySet o) const { return bits_ != o.bits_; }
    // The key whose kernel is called.
    DispatchKey highestPriorityTypeId() const {
        DispatchKey highest = DispatchKey::Undefined;
        uint64_t place = 0;
#define MINDTORCH_KEY(name)                                                                              \
    if (const uint64_t b = bits_of(DispatchKey::name); (b & (b - 1)) == 0 && b > place && (bits_ & b)) { \
        highest = DispatchKey::name;                                                                     \
        place = b;                                                                                       \
    }
        MINDTORCH_FORALL_KEYS(MINDTORCH_KEY)
#undef MINDTORCH_KEY
        return highest;
    }

  private:
    static uint64_t bits_of(DispatchKey k) {
        const mt_boundary* t = mindtorch::find_api();
        return t ? t->key_bit(toString(k)) : 0;
    }
    static uint64_t lowest(uint64_t b) { return b & (~b + 1); }
    uint64_t bits_ = 0;
};
inline const DispatchKeySet autograd_dispatch_keyset{DispatchKey::Autograd};
inline const DispatchKeySet after_autograd_keyset{DispatchKeySet::FULL_AFTER, DispatchKey::AutogradOther};
inline const DispatchKeySet after_ADInplaceOrView_keyset{DispatchKeySet::FULL_AFTER, DispatchKey::ADInplaceOrView};
inline const DispatchKeySet after_func_keyset{DispatchKeySet::FULL_AFTER, DispatchKey::Functionalize};

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
