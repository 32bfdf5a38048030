// Random generators that a program derives from c10::GeneratorImpl. Python has them as torch.Generator; operators draw
// from them by the kernels that the program registers for the key CustomRNGKeyId.
#pragma once

#include <mindtorch/keys.h>

#include <mutex>

namespace c10 {

struct GeneratorImpl : intrusive_ptr_target {
    GeneratorImpl(Device device, DispatchKeySet keys) : device_(device), key_set_(keys) {}
    GeneratorImpl() = delete;
    GeneratorImpl(const GeneratorImpl&) = delete;
    GeneratorImpl& operator=(const GeneratorImpl&) = delete;

    virtual void set_current_seed(uint64_t seed) = 0;
    virtual void set_offset(uint64_t offset) = 0;
    virtual uint64_t get_offset() const = 0;
    virtual uint64_t current_seed() const = 0;
    virtual uint64_t seed() = 0;
    virtual void set_state(const TensorImpl& state) = 0;
    virtual intrusive_ptr<TensorImpl> get_state() const = 0;
    virtual void graphsafe_set_state(const intrusive_ptr<GeneratorImpl>&) {
        TORCH_CHECK_NOT_IMPLEMENTED(false, "graphsafe_set_state is not supported in this Generator");
    }
    virtual intrusive_ptr<GeneratorImpl> graphsafe_get_state() const {
        TORCH_CHECK_NOT_IMPLEMENTED(false, "graphsafe_get_state is not supported in this Generator");
    }
    intrusive_ptr<GeneratorImpl> clone() const { return intrusive_ptr<GeneratorImpl>(clone_impl()); }
    Device device() const { return device_; }
    DispatchKeySet key_set() const { return key_set_; }

    std::mutex mutex_;  // held by whoever draws

  protected:
    virtual GeneratorImpl* clone_impl() const = 0;
    Device device_;
    DispatchKeySet key_set_;
};

}  // namespace c10
namespace at {
using c10::GeneratorImpl;
}
namespace mindtorch MINDTORCH_HIDDEN {

constexpr const char* own_generators = "mindtorch_v2._library.own_generators";

// The Python object of one, which from then on owns it.
inline at::Generator generator_of_own(c10::intrusive_ptr<c10::GeneratorImpl> impl);
// What Python asks of it: `call(what, held, number, state)`.
inline int answer(void*, mt_call* call) noexcept {
    try {
        const char* cls = nullptr;
        auto* impl = static_cast<c10::GeneratorImpl*>(api().object_held(call->args[1].as.object, &cls));
        const std::string_view what(call->args[0].as.string, call->args[0].len);
        const auto number = static_cast<uint64_t>(call->args[2].as.integer);
        mt_value& given = call->rets[0];
        given = mt_value{};
        const auto gives = [&given](uint64_t n) {
            given.tag = MT_INT;
            given.as.integer = static_cast<int64_t>(n);
        };
        if (what == "set_current_seed") {
            impl->set_current_seed(number);
        } else if (what == "current_seed") {
            gives(impl->current_seed());
        } else if (what == "seed") {
            gives(impl->seed());
        } else if (what == "set_offset") {
            impl->set_offset(number);
        } else if (what == "get_offset") {
            gives(impl->get_offset());
        } else if (what == "set_state") {
            impl->set_state(*reinterpret_cast<const c10::TensorImpl*>(call->args[3].as.tensor));
        } else if (what == "get_state") {
            given.tag = MT_TENSOR;
            given.as.tensor = at::Tensor(impl->get_state()).release_handle();
        } else {
            const at::Generator copy = generator_of_own(impl->clone());
            api().retain(copy.handle());
            given.tag = MT_OBJECT;
            given.as.object = copy.handle();
        }
        return 0;
    } catch (...) {
        return report_exception();
    }
}
// The name of the operator through which Python asks this library's, made when the first generator is.
inline const std::string& answering_operator() {
    static const std::string* const name = [] {
        static const char own = 0;
        auto* made = new std::string("answer_" + std::to_string(reinterpret_cast<uintptr_t>(&own)));
        mt_object o = nullptr;
        check(api().library("FRAGMENT", "_own_generators", nullptr, __FILE__, __LINE__, &o));
        check(api().define(o, (*made + "(str what, Any held, int number, Tensor? state) -> Any").c_str(), nullptr, 0));
        check(api().implement(o, made->c_str(), "CompositeImplicitAutograd", answer, nullptr, nullptr));
        return made;  // the library stays
    }();
    return *name;
}
inline at::Generator generator_of_own(c10::intrusive_ptr<c10::GeneratorImpl> impl) {
    const std::string& answering = answering_operator();
    call_python(own_generators, "prepared", {});
    const std::string device = impl->device().str();
    mt_object held = nullptr;
    const auto release = [](void* p) {
        c10::intrusive_ptr<c10::GeneratorImpl>::reclaim(static_cast<c10::GeneratorImpl*>(p));
    };
    check(api().object_new("_own_generators.Held", impl.release(), release, &held));
    const Object kept = Object::steal(held);
    mt_value as_argument{};
    as_argument.tag = MT_OBJECT;
    as_argument.as.object = held;
    const mt_value made =
        call_python(own_generators, "OwnGenerator", {as_argument, arg(answering.c_str()), arg(device.c_str())});
    return at::Generator(Object::steal(made.as.object));
}
// What stands behind a generator, or nullptr where it is one of the framework's.
inline c10::GeneratorImpl* own_impl(mt_object generator) {
    mt_value g{};
    g.tag = MT_OBJECT;
    g.as.object = generator;
    const mt_value held = call_python(own_generators, "held_by", {g});
    if (held.tag != MT_OBJECT) return nullptr;
    const Object kept = Object::steal(held.as.object);
    const char* cls = nullptr;
    return static_cast<c10::GeneratorImpl*>(api().object_held(held.as.object, &cls));  // the generator keeps it
}

}  // namespace mindtorch MINDTORCH_HIDDEN
namespace at {

namespace detail {
inline bool seed_of_own(mt_object generator, uint64_t* seed, bool set) {
    c10::GeneratorImpl* impl = mindtorch::own_impl(generator);
    if (impl && set) impl->set_current_seed(*seed);
    if (impl && !set) *seed = impl->current_seed();
    return impl != nullptr;
}
}  // namespace detail
inline Generator::Generator(c10::intrusive_ptr<c10::GeneratorImpl> impl) {
    TORCH_CHECK(impl, "GeneratorImpl with nullptr is not supported");
    *this = mindtorch::generator_of_own(std::move(impl));
}

}  // namespace at

#include <mindtorch/cpu_generator.h>
