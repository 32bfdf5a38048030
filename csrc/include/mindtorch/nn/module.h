// torch::nn::Module: parameters, buffers and modules within, by name; and the holders that layers are used by.
#pragma once

#include <mindtorch/archive.h>
#include <mindtorch/autograd.h>
#include <mindtorch/nn/options.h>

#include <any>
#include <functional>

namespace torch {
namespace nn {

// A value of any type, which is asked for by that type.
class AnyValue {
  public:
    template <class T, class = std::enable_if_t<!std::is_same_v<std::decay_t<T>, AnyValue>>>
    explicit AnyValue(T&& value) : value_(std::forward<T>(value)) {}
    template <class T>
    T* try_get() {
        return std::any_cast<T>(&value_);
    }
    template <class T>
    T get() {
        T* found = try_get<T>();
        TORCH_CHECK(found, "Attempted to cast AnyValue to ", mindtorch::type_text(typeid(T)),
                    ", but its actual type is ", mindtorch::type_text(type_info()));
        return *found;
    }
    const std::type_info& type_info() const noexcept { return value_.type(); }
    const std::any& any() const noexcept { return value_; }

  private:
    std::any value_;
};
// In a module: the values of last arguments of its forward, {place, AnyValue(value)} each, for callers that do not
// know the type.
#define FORWARD_HAS_DEFAULT_ARGS(...)                                                       \
    std::vector<std::pair<size_t, torch::nn::AnyValue>> forward_defaults() const override { \
        using torch::nn::AnyValue;                                                          \
        return {__VA_ARGS__};                                                               \
    }

class Module : public std::enable_shared_from_this<Module> {
    template <class M, class = void>
    struct Held {
        using type = M;
    };
    template <class M>
    struct Held<M, std::void_t<typename M::ContainedType>> {
        using type = typename M::ContainedType;
    };

  public:
    using ModuleApplyFunction = std::function<void(Module&)>;
    using ConstModuleApplyFunction = std::function<void(const Module&)>;
    using NamedModuleApplyFunction = std::function<void(const std::string&, Module&)>;
    using ModulePointerApplyFunction = std::function<void(const std::shared_ptr<Module>&)>;

    explicit Module(std::string name) : name_(std::move(name)) {}
    Module() = default;
    Module(const Module&) = default;
    Module& operator=(const Module&) = default;
    Module(Module&&) noexcept = default;
    Module& operator=(Module&&) noexcept = default;
    virtual ~Module() = default;

    // The name that was given, or that of the class.
    const std::string& name() const noexcept {
        if (!name_) name_ = mindtorch::type_text(typeid(*this));
        return *name_;
    }
    virtual std::shared_ptr<Module> clone(const std::optional<at::Device>& = std::nullopt) const {
        TORCH_CHECK(false, "clone() has not been implemented for ", name(), ". Subclass torch::nn::Cloneable<", name(),
                    "> instead of torch::nn::Module to inherit the ability to clone.");
    }

    void apply(const ModuleApplyFunction& f) {
        for (const auto& m : modules()) f(*m);
    }
    void apply(const ConstModuleApplyFunction& f) const {
        f(*this);
        for (const auto& m : modules(false)) f(*m);
    }
    void apply(const NamedModuleApplyFunction& f, const std::string& prefix = {}) {
        for (auto& m : named_modules(prefix)) f(m.key(), *m.value());
    }

    std::vector<at::Tensor> parameters(bool recurse = true) const { return named_parameters(recurse).values(); }
    OrderedDict<std::string, at::Tensor> named_parameters(bool recurse = true) const {
        return collected(&Module::parameters_, recurse, "");
    }
    std::vector<at::Tensor> buffers(bool recurse = true) const { return named_buffers(recurse).values(); }
    OrderedDict<std::string, at::Tensor> named_buffers(bool recurse = true) const {
        return collected(&Module::buffers_, recurse, "");
    }
    std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const {
        std::vector<std::shared_ptr<Module>> all;
        if (include_self) all.push_back(shared());
        for (const auto& c : children_)
            for (auto& m : c.value()->modules()) all.push_back(m);
        return all;
    }
    OrderedDict<std::string, std::shared_ptr<Module>> named_modules(const std::string& prefix = {},
                                                                    bool include_self = true) const {
        OrderedDict<std::string, std::shared_ptr<Module>> all("Module");
        if (include_self) all.insert(prefix, shared());
        for (const auto& c : children_)
            all.update(c.value()->named_modules(prefix.empty() ? c.key() : prefix + "." + c.key()));
        return all;
    }
    std::vector<std::shared_ptr<Module>> children() const { return children_.values(); }
    OrderedDict<std::string, std::shared_ptr<Module>> named_children() const { return children_; }

    virtual void train(bool on = true) {
        for (auto& c : children_) c.value()->train(on);
        training_ = on;
    }
    void eval() { train(false); }
    virtual bool is_training() const noexcept { return training_; }

    virtual void to(at::Device device, at::ScalarType dtype, bool non_blocking = false) {
        move([&](const at::Tensor& t) {
            return t.to(device, t.is_floating_point() || t.is_complex() ? dtype : t.scalar_type(), non_blocking);
        });
    }
    virtual void to(at::ScalarType dtype, bool non_blocking = false) {
        move([&](const at::Tensor& t) {
            return t.is_floating_point() || t.is_complex() ? t.to(dtype, non_blocking) : t;
        });
    }
    virtual void to(at::Device device, bool non_blocking = false) {
        move([&](const at::Tensor& t) { return t.to(device, t.scalar_type(), non_blocking); });
    }
    virtual void zero_grad(bool set_to_none = true) {
        for (at::Tensor& p : parameters()) {
            at::Tensor grad = p.grad();
            if (!grad.defined()) continue;
            if (set_to_none) {
                p.mutable_grad() = at::Tensor();
            } else {
                grad.detach_();
                grad.zero_();
            }
        }
    }

    virtual void save(serialize::OutputArchive& archive) const { saved(archive, ""); }
    virtual void load(serialize::InputArchive& archive) { loaded(archive, ""); }

    virtual void pretty_print(std::ostream& stream) const { stream << name(); }
    virtual bool is_serializable() const { return true; }
    virtual std::vector<std::pair<size_t, AnyValue>> forward_defaults() const { return {}; }

    // As that class, or as what the holder of that class holds; null if it is none.
    template <class M>
    auto as() noexcept {
        return dynamic_cast<typename Held<M>::type*>(this);
    }
    template <class M>
    auto as() const noexcept {
        return dynamic_cast<const typename Held<M>::type*>(this);
    }

    at::Tensor& register_parameter(std::string name, at::Tensor tensor, bool requires_grad = true) {
        check_name("Parameter", name);
        if (tensor.defined()) tensor.requires_grad_(requires_grad);
        return parameters_.insert(std::move(name), std::move(tensor));
    }
    at::Tensor& register_buffer(std::string name, at::Tensor tensor) {
        check_name("Buffer", name);
        return buffers_.insert(std::move(name), std::move(tensor));
    }
    template <class M>
    std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module) {
        check_name("Submodule", name);
        children_.insert(std::move(name), module);
        return module;
    }
    // Of a holder: the holder.
    template <class Holder, class = typename Holder::ContainedType>
    Holder register_module(std::string name, Holder holder) {
        register_module(std::move(name), holder.ptr());
        return holder;
    }
    template <class M>
    std::shared_ptr<M> replace_module(const std::string& name, std::shared_ptr<M> module) {
        children_[name] = module;
        return module;
    }
    template <class Holder, class = typename Holder::ContainedType>
    Holder replace_module(const std::string& name, Holder holder) {
        replace_module(name, holder.ptr());
        return holder;
    }
    void unregister_module(const std::string& name) { children_.erase(name); }

  protected:
    OrderedDict<std::string, at::Tensor> parameters_{"Parameter"}, buffers_{"Buffer"};
    OrderedDict<std::string, std::shared_ptr<Module>> children_{"Submodule"};

  private:
    using Tensors = OrderedDict<std::string, at::Tensor>;

    static void check_name(const char* what, const std::string& name) {
        TORCH_CHECK(!name.empty(), what, " name must not be empty");
        TORCH_CHECK(name.find('.') == std::string::npos, what, " name must not contain a dot (got '", name, "')");
    }
    std::shared_ptr<Module> shared() const {
        try {
            return const_cast<Module*>(this)->shared_from_this();
        } catch (const std::bad_weak_ptr&) {
            TORCH_CHECK(false,
                        "It looks like you attempted to retrieve your top-level module as a shared_ptr, but it is not "
                        "stored in a shared_ptr. Use std::make_shared<",
                        name(),
                        "> instead of creating your module on the stack, or alternatively do not try to access your "
                        "top-level module at all by passing /*include_self=*/false to modules() or named_modules()");
        }
    }
    Tensors collected(Tensors Module::* which, bool recurse, const std::string& prefix) const {
        Tensors all((this->*which).key_description());
        for (const auto& t : this->*which)
            if (t.value().defined()) all.insert(prefix + t.key(), t.value());
        if (recurse)
            for (const auto& c : children_) all.update(c.value()->collected(which, true, prefix + c.key() + "."));
        return all;
    }
    void move(const std::function<at::Tensor(const at::Tensor&)>& f) {
        for (auto& c : children_) c.value()->move(f);
        for (auto* tensors : {&parameters_, &buffers_})
            for (auto& t : *tensors)
                if (t.value().defined()) t.value().set_data(f(t.value()));
    }
    void saved(serialize::OutputArchive& archive, const std::string& prefix) const {
        for (const auto* tensors : {&parameters_, &buffers_})
            for (const auto& t : *tensors)
                if (t.value().defined()) archive.write(prefix + t.key(), t.value(), tensors == &buffers_);
        for (const auto& c : children_) c.value()->saved(archive, prefix + c.key() + ".");
    }
    void loaded(serialize::InputArchive& archive, const std::string& prefix) {
        c10::NoGradGuard guard;
        for (auto* tensors : {&parameters_, &buffers_})
            for (auto& t : *tensors) {
                if (!t.value().defined()) continue;
                at::Tensor read;
                archive.read(prefix + t.key(), read, tensors == &buffers_);
                t.value().set_data(read);
            }
        for (auto& c : children_) c.value()->loaded(archive, prefix + c.key() + ".");
    }

    // What Cloneable can do: reset(); and to take the place of a copy of another.
    virtual void begin_anew() {}
    virtual void become(const Module&, const std::optional<at::Device>&) {}
    static void check_kind(bool right) {
        TORCH_CHECK(right,
                    "Attempted to clone submodule, but it is of a different type than the submodule "
                    "it was to be cloned into");
    }
    // A copy of this module, given as it is, with parameters of its own.
    std::shared_ptr<Module> filled(Module* fresh, const std::optional<at::Device>& device) const {
        const std::shared_ptr<Module> copy(fresh);
        copy->parameters_.clear();
        copy->buffers_.clear();
        copy->children_.clear();
        copy->begin_anew();
        copy_tensors(copy->parameters_, parameters_, device);
        copy_tensors(copy->buffers_, buffers_, device);
        TORCH_CHECK(
            copy->children_.size() == children_.size(),
            "The cloned module does not have the same number of child modules as the original module after "
            "calling reset(). Are you sure you called register_module() inside reset() and not the constructor?");
        for (const auto& c : children_) copy->children_[c.key()]->become(*c.value(), device);
        return copy;
    }
    static void copy_tensors(Tensors& to, const Tensors& from, const std::optional<at::Device>& device) {
        TORCH_CHECK(to.size() == from.size(),
                    "The cloned module does not have the same number of parameters and buffers as the original module "
                    "after calling reset(). Are you sure you registered them inside reset() and not the constructor?");
        for (const auto& t : from) {
            if (!t.value().defined()) continue;
            const at::Tensor source = t.value().detach();
            to[t.key()].set_data(device ? source.to(*device, source.scalar_type(), false, true) : source.clone());
        }
    }

    mutable std::optional<std::string> name_;
    bool training_ = true;

    template <class Derived>
    friend class Cloneable;
};

inline std::ostream& operator<<(std::ostream& stream, const Module& module) {
    module.pretty_print(stream);
    bool first = true;
    for (const auto& c : module.named_children()) {
        stream << (first ? "(\n" : "\n") << "  (" << c.key() << "): ";
        std::ostringstream inner;
        inner << *c.value();
        for (const char letter : inner.str()) {
            stream << letter;
            if (letter == '\n') stream << "  ";
        }
        first = false;
    }
    if (!first) stream << "\n)";
    return stream;
}

// A module that can be copied: its parameters are made anew by reset(), and then take the values. What does not depend
// on the class stands in Module: each class that is compiled costs little.
template <class Derived>
class Cloneable : public Module {
  public:
    using Module::Module;
    virtual void reset() = 0;
    std::shared_ptr<Module> clone(const std::optional<at::Device>& device = std::nullopt) const override {
        c10::NoGradGuard guard;
        return filled(new Derived(static_cast<const Derived&>(*this)), device);
    }

  private:
    void begin_anew() final { reset(); }
    void become(const Module& other, const std::optional<at::Device>& device) final {
        const std::shared_ptr<Module> made = other.clone(device);
        const auto* copy = dynamic_cast<const Derived*>(made.get());
        check_kind(copy != nullptr);
        static_cast<Derived&>(*this) = *copy;
    }
};

// What a layer is used by: a shared pointer that makes its module, and calls its forward. It holds a Module: a shared
// pointer of each class would take the compiler longer than all else here.
template <class Contained>
class ModuleHolder {
  public:
    using ContainedType = Contained;
    ModuleHolder() : impl_{held(new Contained())} {
        static_assert(
            std::is_default_constructible_v<Contained>,
            "You are trying to default construct a module which has no default constructor. Use = nullptr to give it "
            "the empty state (e.g. `Linear linear = nullptr;` instead of `Linear linear;`).");
    }
    ModuleHolder(std::nullptr_t) {}
    template <class Head, class... Tail,
              class = std::enable_if_t<!(std::is_base_of_v<ModuleHolder, std::decay_t<Head>> && sizeof...(Tail) == 0) &&
                                       !std::is_convertible_v<Head, std::shared_ptr<Contained>>>>
    explicit ModuleHolder(Head&& head, Tail&&... tail)
        : impl_{held(new Contained(std::forward<Head>(head), std::forward<Tail>(tail)...))} {}
    ModuleHolder(std::shared_ptr<Contained> module) : impl_{std::move(module)} {}

    explicit operator bool() const noexcept { return !is_empty(); }
    Contained* operator->() { return get(); }
    const Contained* operator->() const { return get(); }
    Contained& operator*() { return *get(); }
    const Contained& operator*() const { return *get(); }
    std::shared_ptr<Contained> ptr() const { return std::shared_ptr<Contained>(module(), get()); }
    const std::shared_ptr<Module>& module() const {
        TORCH_CHECK(!is_empty(), "Accessing empty ModuleHolder");
        return impl_.module;
    }
    Contained* get() const { return static_cast<Contained*>(module().get()); }
    template <class... A>
    auto operator()(A&&... a) {
        return get()->forward(std::forward<A>(a)...);
    }
    // What a container holds at a place.
    template <class Place>
    decltype(auto) operator[](Place&& place) {
        return (*get())[std::forward<Place>(place)];
    }
    bool is_empty() const noexcept { return impl_.module == nullptr; }

  protected:
    struct Pointer {
        std::shared_ptr<Module> module;
        Contained* operator->() const { return static_cast<Contained*>(module.get()); }
        Contained& operator*() const { return *operator->(); }
        operator std::shared_ptr<Contained>() const { return {module, operator->()}; }
    };
    Pointer impl_;

  private:
    static std::shared_ptr<Module> held(Module* made) { return std::shared_ptr<Module>(made); }
};
template <class Contained>
std::ostream& operator<<(std::ostream& stream, const ModuleHolder<Contained>& holder) {
    return stream << *holder;
}
template <class Contained>
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const ModuleHolder<Contained>& holder) {
    holder.module()->save(archive);
    return archive;
}
template <class Contained>
serialize::InputArchive& operator>>(serialize::InputArchive& archive, ModuleHolder<Contained>& holder) {
    holder.module()->load(archive);
    return archive;
}

}  // namespace nn
}  // namespace torch

#define TORCH_MODULE_IMPL(Name, ImplType)                      \
    class Name : public torch::nn::ModuleHolder<ImplType> {    \
      public:                                                  \
        using torch::nn::ModuleHolder<ImplType>::ModuleHolder; \
        Name() = default;                                      \
        using Impl [[maybe_unused]] = ImplType;                \
    }
#define TORCH_MODULE(Name) TORCH_MODULE_IMPL(Name, Name##Impl)
