// torch::class_: C++ classes that Python programs hold, with methods that are called like operators.
#pragma once

#include <mindtorch/library.h>

namespace mindtorch MINDTORCH_HIDDEN {

// A method's tuple is one value, even of one part, where an operator's parts are results of their own.
template <class Sig>
struct WholeTuple {
    template <class F>
    static F of(F f) {
        return f;
    }
};
template <class... T, class... A>
struct WholeTuple<std::tuple<T...>(A...)> {
    template <class F>
    static auto of(F f) {
        return [f](A... args) -> Whole<std::tuple<T...>> { return {f(std::forward<A>(args)...)}; };
    }
};

}  // namespace mindtorch MINDTORCH_HIDDEN

namespace torch {

namespace detail {
template <class... A>
struct types {};
inline std::string default_text(const c10::IValue& v) {
    std::ostringstream s;
    if (v.isString())
        s << '"' << v.toStringView() << '"';
    else
        s << v;
    return s.str();
}
}  // namespace detail
template <class... A>
detail::types<A...> init() {
    return {};
}
template <class F>
struct InitLambda {
    F f;
};
template <class F>
InitLambda<std::decay_t<F>> init(F&& f) {
    return {std::forward<F>(f)};
}

template <class T>
class class_ {
    static_assert(std::is_base_of<CustomClassHolder, T>::value,
                  "torch::class_<T> requires T to inherit from CustomClassHolder");
    using Self = c10::intrusive_ptr<T>;

  public:
    class_(const std::string& ns, const std::string& name, const std::string& doc = "")
        : library_(new Library(Library::FRAGMENT, ns, "", "torch::class_", 0)), name_(name) {
        TORCH_CHECK(mindtorch::class_name<T>().empty(), "Custom class with name __torch__.torch.classes.", ns, ".",
                    name, " is already registered. Ensure that registration with torch::class_ is only called once.");
        mindtorch::class_name<T>() = ns + "." + name;
        mindtorch::check(mindtorch::api().define_class(library_->handle(), name.c_str(), doc.c_str()));
    }
    class_(class_&&) = default;

    template <class... A>
    class_& def(detail::types<A...>, std::string doc = "", std::initializer_list<arg> defaults = {}) {
        return add(
            "__init__", 'i', [](A... args) { return c10::make_intrusive<T>(std::forward<A>(args)...); }, doc, defaults,
            0);
    }
    template <class F>
    class_& def(InitLambda<F> init, std::string doc = "", std::initializer_list<arg> defaults = {}) {
        return add("__init__", 'i', init.f, doc, defaults, 0);
    }
    template <class R, class... A>
    class_& def(std::string name, R (T::*f)(A...), std::string doc = "", std::initializer_list<arg> defaults = {}) {
        return add(
            name, 'm', [f](const Self& self, A... args) -> R { return ((*self).*f)(std::forward<A>(args)...); }, doc,
            defaults, 1);
    }
    template <class R, class... A>
    class_& def(std::string name, R (T::*f)(A...) const, std::string doc = "",
                std::initializer_list<arg> defaults = {}) {
        return add(
            name, 'm', [f](const Self& self, A... args) -> R { return ((*self).*f)(std::forward<A>(args)...); }, doc,
            defaults, 1);
    }
    template <class F>
    class_& def(std::string name, F f, std::string doc = "", std::initializer_list<arg> defaults = {}) {
        return add(name, 'm', std::move(f), doc, defaults, 1);
    }
    template <class F>
    class_& def_static(std::string name, F f, std::string doc = "") {
        return add(name, 's', std::move(f), doc, {}, 0);
    }
    template <class F>
    class_& def_property(const std::string& name, F get, std::string doc = "") {
        return property(name, get, doc);
    }
    template <class F, class G>
    class_& def_property(const std::string& name, F get, G set, std::string doc = "") {
        property(name, get, doc);
        return setter(name, set);
    }
    template <class V>
    class_& def_readwrite(const std::string& name, V T::* field) {
        add(name, 'g', [field](const Self& self) -> V { return (*self).*field; }, "", {}, 1);
        return add(name, 'w', [field](const Self& self, V v) { (*self).*field = std::move(v); }, "", {}, 1);
    }
    template <class V>
    class_& def_readonly(const std::string& name, V T::* field) {
        return add(name, 'g', [field](const Self& self) -> V { return (*self).*field; }, "", {}, 1);
    }
    template <class Get, class Set>
    class_& def_pickle(Get get, Set set) {
        add("__getstate__", 'm', std::move(get), "", {}, 1);
        return add("__setstate__", 'p', std::move(set), "", {}, 0);
    }

  private:
    template <class R>
    class_& property(const std::string& name, R (T::*f)() const, const std::string& doc) {
        return add(name, 'g', [f](const Self& self) -> R { return ((*self).*f)(); }, doc, {}, 1);
    }
    template <class R>
    class_& property(const std::string& name, R (T::*f)(), const std::string& doc) {
        return add(name, 'g', [f](const Self& self) -> R { return ((*self).*f)(); }, doc, {}, 1);
    }
    template <class F>
    class_& property(const std::string& name, F f, const std::string& doc) {
        return add(name, 'g', std::move(f), doc, {}, 1);
    }
    template <class A>
    class_& setter(const std::string& name, void (T::*f)(A)) {
        return add(name, 'w', [f](const Self& self, A v) { ((*self).*f)(std::forward<A>(v)); }, "", {}, 1);
    }
    template <class F>
    class_& setter(const std::string& name, F f) {
        return add(name, 'w', std::move(f), "", {}, 1);
    }

    // A method is an operator of a namespace of the class's own.
    template <class F>
    class_& add(const std::string& name, char kind, F f, const std::string& doc, std::initializer_list<arg> defaults,
                size_t own) {
        CppFunction kernel(mindtorch::WholeTuple<mindtorch::signature_of<F>>::of(std::move(f)));
        std::string schema = kernel.schema();
        size_t i = own;
        for (const arg& a : defaults) {
            const std::string from = " _" + std::to_string(i++);
            const size_t at = schema.find(from);
            if (at == std::string::npos) break;
            schema.replace(at, from.size(), " " + a.name + (a.value ? "=" + detail::default_text(*a.value) : ""));
        }
        const std::string full = (kind == 'w' ? "set_" : "") + name;
        auto& methods =
            *new Library(Library::FRAGMENT, "_classes_" + library_->ns() + "_" + name_, "", "torch::class_", 0);
        methods.def((full + schema).c_str());
        methods.implement(full.c_str(), kernel, "CompositeImplicitAutograd");
        mindtorch::check(
            mindtorch::api().define_method(library_->handle(), name_.c_str(), name.c_str(), kind, doc.c_str()));
        return *this;
    }
    Library* library_;  // stays
    std::string name_;
};

template <class T>
torch::class_<T> Library::class_(const std::string& name) {
    return torch::class_<T>(ns_, name);
}

}  // namespace torch
