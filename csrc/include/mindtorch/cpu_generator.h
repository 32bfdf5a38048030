// at::CPUGeneratorImpl: a Mersenne twister of a program's own, from which it may derive, or a view of a generator of
// the framework's.
#pragma once

#include <mindtorch/functions.h>
#include <mindtorch/own_generator.h>

#include <cstring>

namespace c10 {
namespace detail {
inline uint64_t getNonDeterministicRandom(bool /*is_cuda*/ = false) {
    return static_cast<uint64_t>(
        mindtorch::call_python("secrets", "randbits", {mindtorch::arg(int64_t{53})}).as.integer);
}
}  // namespace detail
}  // namespace c10
namespace at {

struct CPUGeneratorImpl : c10::GeneratorImpl {
    // With no object of Python behind it: threads draw from theirs without the interpreter's lock.
    CPUGeneratorImpl(uint64_t seed = default_rng_seed_val)
        : c10::GeneratorImpl{Device(DeviceType::CPU), c10::DispatchKeySet(c10::DispatchKey::CPU)}, engine_(seed) {}
    // A view of the framework's.
    explicit CPUGeneratorImpl(Generator framework) : CPUGeneratorImpl() { framework_ = std::move(framework); }
    ~CPUGeneratorImpl() override = default;
    std::shared_ptr<CPUGeneratorImpl> clone() const { return std::shared_ptr<CPUGeneratorImpl>(clone_impl()); }
    static DeviceType device_type() { return DeviceType::CPU; }

    void set_current_seed(uint64_t seed) override {
        next_normals_[0] = next_normals_[1] = std::nullopt;
        if (framework_.defined())
            framework_.set_current_seed(seed);
        else
            engine_ = mt19937(seed);
    }
    uint64_t current_seed() const override { return framework_.defined() ? framework_.current_seed() : engine_.seed(); }
    uint64_t seed() override {
        const uint64_t drawn = c10::detail::getNonDeterministicRandom();
        set_current_seed(drawn);
        return drawn;
    }
    void set_offset(uint64_t) override { TORCH_CHECK(false, "CPU Generator does not use offset"); }
    uint64_t get_offset() const override { TORCH_CHECK(false, "CPU Generator does not use offset"); }
    // As bytes, in the layout of Python's get_state().
    void set_state(const c10::TensorImpl& state) override;
    c10::intrusive_ptr<c10::TensorImpl> get_state() const override;

    uint32_t random() { return framework_.defined() ? framework_.random() : engine_(); }
    uint64_t random64() {
        if (framework_.defined()) return framework_.random64();
        const uint64_t high = engine_();
        return high << 32 | engine_();
    }
    mt19937 engine() const;
    void set_engine(mt19937 engine);
    // The second of two normal numbers that were drawn together in C++, of doubles or of floats.
    std::optional<double>& next_normal(bool of_doubles) { return next_normals_[of_doubles]; }
    std::optional<float> next_float_normal_sample() {
        const std::optional<double>& kept = next_normals_[false];
        return kept ? std::optional<float>(static_cast<float>(*kept)) : std::nullopt;
    }
    std::optional<double> next_double_normal_sample() { return next_normals_[true]; }
    void set_next_float_normal_sample(std::optional<float> kept) { next_normals_[false] = kept; }
    void set_next_double_normal_sample(std::optional<double> kept) { next_normals_[true] = kept; }

  protected:
    CPUGeneratorImpl* clone_impl() const override {
        auto made = std::make_unique<CPUGeneratorImpl>();
        made->engine_ = engine();
        made->next_normals_[0] = next_normals_[0];
        made->next_normals_[1] = next_normals_[1];
        return made.release();
    }

  private:
    struct State;
    mt19937 engine_;
    Generator framework_;  // undefined: the engine counts
    std::optional<double> next_normals_[2];
};

// The bytes of a state, in the layout of PyTorch's first releases.
struct CPUGeneratorImpl::State {
    uint64_t seed;
    int32_t left, seeded;
    uint64_t next, words[MERSENNE_STATE_N];
    double normal_x, normal_y, normal_rho;
    int32_t normal_is_valid, padding;
    float next_float;
    bool next_float_is_valid;
};
inline c10::intrusive_ptr<c10::TensorImpl> CPUGeneratorImpl::get_state() const {
    if (framework_.defined()) return framework_.get_state().getIntrusivePtr();
    static_assert(sizeof(State) == 5056, "the size that states have");
    const Tensor bytes = at::zeros({static_cast<int64_t>(sizeof(State))}, kByte);
    auto& s = *static_cast<State*>(bytes.data_ptr());
    const mt19937_data_pod data = engine_.data();
    s.seed = data.seed_;
    s.left = data.left_;
    s.seeded = data.seeded_;
    s.next = data.next_;
    for (int i = 0; i < MERSENNE_STATE_N; i++) s.words[i] = data.state_[static_cast<size_t>(i)];
    s.normal_is_valid = next_normals_[true].has_value();
    s.normal_y = next_normals_[true].value_or(0);
    s.next_float_is_valid = next_normals_[false].has_value();
    s.next_float = static_cast<float>(next_normals_[false].value_or(0));
    return bytes.getIntrusivePtr();
}
inline void CPUGeneratorImpl::set_state(const c10::TensorImpl& state) {
    TORCH_CHECK_TYPE(state.dtype() == kByte && state.device().is_cpu(), "RNG state must be a torch.ByteTensor");
    TORCH_CHECK(state.is_contiguous(), "RNG state must be contiguous");
    TORCH_CHECK(state.numel() == static_cast<int64_t>(sizeof(State)), "Expected a CPUGeneratorImplState of size ",
                sizeof(State), " but found the input RNG state size to be ", state.numel());
    if (framework_.defined()) {
        state.retain_();
        return framework_.set_state(Tensor::steal(reinterpret_cast<mt_tensor>(const_cast<c10::TensorImpl*>(&state))));
    }
    State s;
    std::memcpy(&s, state.data(), sizeof(s));
    mt19937_data_pod data{s.seed, s.left, s.seeded != 0, static_cast<uint32_t>(s.next), {}};
    for (int i = 0; i < MERSENNE_STATE_N; i++) data.state_[static_cast<size_t>(i)] = static_cast<uint32_t>(s.words[i]);
    mt19937 engine;
    engine.set_data(data);
    TORCH_CHECK(engine.is_valid() && s.next + static_cast<uint64_t>(s.left) <= MERSENNE_STATE_N + 1u,
                "Invalid mt19937 state");
    engine_ = engine;
    next_normals_[true] = s.normal_is_valid ? std::optional<double>(s.normal_y) : std::nullopt;
    next_normals_[false] = s.next_float_is_valid ? std::optional<double>(s.next_float) : std::nullopt;
}
inline mt19937 CPUGeneratorImpl::engine() const {
    if (!framework_.defined()) return engine_;
    CPUGeneratorImpl own;
    own.set_state(*get_state());
    return own.engine_;
}
inline void CPUGeneratorImpl::set_engine(mt19937 engine) {
    if (!framework_.defined()) {
        engine_ = engine;
        return;
    }
    CPUGeneratorImpl own;
    own.engine_ = engine;
    set_state(*own.get_state());
}

namespace detail {
// The view of a generator of the framework's, one for all that see it at a time; null where `known` says no more.
inline CPUGeneratorImpl* view_of_generator(mt_object o, GeneratorView& known, bool make) {
    static std::mutex lock;
    static std::unordered_map<mt_object, std::weak_ptr<CPUGeneratorImpl>> views;
    std::shared_ptr<CPUGeneratorImpl>
        fresh;  // before the lock: to count takes Python's, which others hold who wait here
    if (make) fresh = std::make_shared<CPUGeneratorImpl>(Generator(mindtorch::Object::share(o)));
    std::lock_guard<std::mutex> guard(lock);
    if (!known.made && make) {
        known.made = views[o].lock();
        if (!known.made) views[o] = known.made = std::move(fresh);
    }
    return known.made.get();
}
}  // namespace detail
template <class T>
T* Generator::get() const {
    TORCH_CHECK(defined(), "Generator with undefined implementation is not allowed");
    CPUGeneratorImpl* view = detail::view_of_generator(handle(), *view_, false);
    if (c10::GeneratorImpl* own = view ? nullptr : mindtorch::own_impl(handle())) {
        T* const found = dynamic_cast<T*>(own);
        TORCH_CHECK(found, "the generator is not one of ", typeid(T).name());
        return found;
    }
    if (!view) view = detail::view_of_generator(handle(), *view_, true);
    if constexpr (std::is_base_of_v<T, CPUGeneratorImpl>)
        return view;
    else
        TORCH_CHECK(false, "the generator is not one of ", typeid(T).name());
}
inline uint64_t Generator::seed() {
    if (c10::GeneratorImpl* own = mindtorch::own_impl(handle())) return own->seed();
    const uint64_t drawn = c10::detail::getNonDeterministicRandom();
    set_current_seed(drawn);
    return drawn;
}
inline std::mutex& Generator::mutex() const { return unsafeGetGeneratorImpl()->mutex_; }
inline c10::GeneratorImpl* Generator::unsafeGetGeneratorImpl() const { return get<c10::GeneratorImpl>(); }
inline Device Generator::device() const { return unsafeGetGeneratorImpl()->device(); }
inline c10::DispatchKeySet Generator::key_set() const { return unsafeGetGeneratorImpl()->key_set(); }
inline void Generator::set_offset(uint64_t offset) { unsafeGetGeneratorImpl()->set_offset(offset); }
// Of a program's own: the framework's are no objects of C++.
inline c10::intrusive_ptr<c10::GeneratorImpl> Generator::getIntrusivePtr() const {
    c10::GeneratorImpl* own = mindtorch::own_impl(handle());
    TORCH_CHECK(own,
                "getIntrusivePtr: a generator of the framework's is an object of Python here; clone() gives one of "
                "C++");
    return c10::intrusive_ptr<c10::GeneratorImpl>::reclaim_copy(own);
}

}  // namespace at
