// torch::jit::Module: Modules of TorchScript's archives, read, called and written from C++. They are Python's objects.
#pragma once

#include <mindtorch/archive.h>

namespace mindtorch MINDTORCH_HIDDEN {

// A function of the Python module that stands behind this header.
template <class... A>
c10::IValue call_jit(const char* name, const A&... args) {
    const std::array<Packed, sizeof...(A)> packed{pack(args)...};
    std::array<mt_value, sizeof...(A)> values;
    for (size_t i = 0; i < sizeof...(A); i++) values[i] = packed[i].v;
    mt_value result{};
    check(api().call_python("mindtorch_v2.jit._cpp_module", name, values.data(), sizeof...(A), &result));
    return taken(result);
}

}  // namespace mindtorch MINDTORCH_HIDDEN

namespace torch {
namespace jit {

using ExtraFilesMap = std::unordered_map<std::string, std::string>;
using Kwargs = std::unordered_map<std::string, c10::IValue>;
struct Module;

// A method of a Module, with the Module.
struct Method {
    Method(mindtorch::Object owner, std::string name) : owner_(std::move(owner)), name_(std::move(name)) {}
    c10::IValue operator()(std::vector<c10::IValue> stack, const Kwargs& kwargs = {}) const {
        return mindtorch::call_jit("call", c10::IValue(owner_), name_, c10::IValue::list(std::move(stack)),
                                   c10::IValue(kwargs));
    }
    // The arguments on the stack give way to the result.
    void run(Stack& stack) const { stack = {(*this)(std::move(stack))}; }
    void run(Stack* stack) const { run(*stack); }
    const std::string& name() const { return name_; }
    Module owner() const;

  private:
    mindtorch::Object owner_;
    std::string name_;
};

// A member of a Module and its name: "weight", or that of a Module in it before, "linear.weight".
template <class Value>
struct NameValue {
    std::string name;
    Value value;
};
template <class Item>
class Members {
  public:
    explicit Members(std::vector<Item> items) : items_(std::move(items)) {}
    using const_iterator = typename std::vector<Item>::const_iterator;
    const_iterator begin() const { return items_.begin(); }
    const_iterator end() const { return items_.end(); }
    size_t size() const { return items_.size(); }

  private:
    std::vector<Item> items_;
};

// Copies of it are the same Module.
struct Module {
    Module() = default;
    explicit Module(mindtorch::Object object) : object_(std::move(object)) {}

    c10::IValue forward(std::vector<c10::IValue> inputs, const Kwargs& kwargs = {}) const {
        return method("forward")(std::move(inputs), kwargs);
    }
    c10::IValue operator()(std::vector<c10::IValue> inputs) const { return forward(std::move(inputs)); }
    template <class... Inputs>
    c10::IValue run_method(const std::string& name, Inputs&&... inputs) const {
        return get_method(name)({c10::IValue(std::forward<Inputs>(inputs))...});
    }
    std::optional<Method> find_method(const std::string& name) const {
        for (const Method& m : get_methods())
            if (m.name() == name) return m;
        return std::nullopt;
    }
    Method get_method(const std::string& name) const {
        const std::optional<Method> found = find_method(name);
        TORCH_CHECK(found, "Method '", name, "' is not defined.");
        return *found;
    }
    std::vector<Method> get_methods() const {
        std::vector<Method> all;
        const c10::IValue names = call("methods");
        for (const c10::IValue& name : names.items()) all.push_back(method(name.toStringRef()));
        return all;
    }

    bool hasattr(const std::string& name) const { return call("has_attribute", name).toBool(); }
    c10::IValue attr(const std::string& name) const { return call("attribute", name); }
    c10::IValue attr(const std::string& name, c10::IValue otherwise) const {
        return hasattr(name) ? attr(name) : otherwise;
    }
    void setattr(const std::string& name, const c10::IValue& value) { call("set_attribute", name, value); }
    void register_parameter(const std::string& name, const at::Tensor& value, bool is_buffer) {
        call(is_buffer ? "register_buffer" : "register_parameter", name, value);
    }
    void register_buffer(const std::string& name, const at::Tensor& value) { register_parameter(name, value, true); }
    void register_module(const std::string& name, const Module& module) {
        call("register_module", name, module._ivalue());
    }

    Members<at::Tensor> parameters(bool recurse = true) const { return values<at::Tensor>("parameters", recurse); }
    Members<at::Tensor> buffers(bool recurse = true) const { return values<at::Tensor>("buffers", recurse); }
    Members<Module> children() const { return values<Module>("children", false); }
    Members<Module> modules() const { return values<Module>("modules", true); }
    Members<c10::IValue> attributes(bool recurse = true) const { return values<c10::IValue>("attributes", recurse); }
    Members<NameValue<at::Tensor>> named_parameters(bool recurse = true) const {
        return named<at::Tensor>("parameters", recurse);
    }
    Members<NameValue<at::Tensor>> named_buffers(bool recurse = true) const {
        return named<at::Tensor>("buffers", recurse);
    }
    Members<NameValue<Module>> named_children() const { return named<Module>("children", false); }
    Members<NameValue<Module>> named_modules() const { return named<Module>("modules", true); }
    Members<NameValue<c10::IValue>> named_attributes(bool recurse = true) const {
        return named<c10::IValue>("attributes", recurse);
    }

    void to(at::Device device, at::ScalarType dtype, bool non_blocking = false) { moved(device, dtype, non_blocking); }
    void to(at::ScalarType dtype, bool non_blocking = false) { moved({}, dtype, non_blocking); }
    void to(at::Device device, bool non_blocking = false) { moved(device, {}, non_blocking); }
    void train(bool on = true) { call("train", on); }
    void eval() { train(false); }
    bool is_training() const { return attr("training", true).toBool(); }
    bool is_optimized() const { return true; }

    // `copy` has the same tensors and Modules, which can be set apart; an in-place `clone` has the same tensors only.
    Module copy() const { return made(call("copied", false)); }
    Module clone(bool inplace = false) const { return inplace ? made(call("copied", true)) : deepcopy(); }
    Module deepcopy() const { return made(call("deep_copy")); }

    void save(const std::string& path, const ExtraFilesMap& extra = {}) const {
        call("save_to_path", path, c10::IValue(extra));
    }
    void save(std::ostream& stream, const ExtraFilesMap& extra = {}) const {
        stream << mindtorch::bytes_of(call("saved", c10::IValue(extra)).toStringRef());
    }

    c10::IValue _ivalue() const { return c10::IValue(object_); }
    bool operator==(const Module& o) const { return object_.get() == o.object_.get(); }
    bool operator!=(const Module& o) const { return !(*this == o); }

  private:
    Method method(const std::string& name) const { return Method(object_, name); }
    template <class... A>
    c10::IValue call(const char* function, const A&... args) const {
        TORCH_CHECK(object_, "torch::jit::Module: it is empty; torch::jit::load gives Modules");
        return mindtorch::call_jit(function, _ivalue(), args...);
    }
    void moved(std::optional<at::Device> device, std::optional<at::ScalarType> dtype, bool non_blocking) {
        call("moved", device, dtype, non_blocking);
    }
    static Module made(const c10::IValue& value) { return Module(value.object()); }
    template <class Value>
    static Value value_of(const c10::IValue& value) {
        if constexpr (std::is_same_v<Value, Module>)
            return made(value);
        else
            return value.to<Value>();
    }
    template <class Value>
    Members<NameValue<Value>> named(const std::string& kind, bool recurse) const {
        std::vector<NameValue<Value>> all;
        const c10::IValue members = call("members", kind, recurse);
        for (const c10::IValue& member : members.items())
            all.push_back({member.items()[0].toStringRef(), value_of<Value>(member.items()[1])});
        return Members<NameValue<Value>>(std::move(all));
    }
    template <class Value>
    Members<Value> values(const std::string& kind, bool recurse) const {
        std::vector<Value> all;
        for (const auto& member : named<Value>(kind, recurse)) all.push_back(member.value);
        return Members<Value>(std::move(all));
    }
    mindtorch::Object object_;
};
inline Module Method::owner() const { return Module(owner_); }

// A Module that torch.jit.save wrote, here or in PyTorch. The records that `extra` names are filled in.
inline Module load(const std::string& path, std::optional<at::Device> device, ExtraFilesMap& extra,
                   bool /*load_debug_files*/ = true) {
    const c10::IValue read = mindtorch::call_jit("load_path", path, device, c10::IValue(extra));
    for (const auto& record : read.items()[1].entries())
        extra[record.first.toStringRef()] = record.second.toStringRef();
    return Module(read.items()[0].object());
}
inline Module load(const std::string& path, std::optional<at::Device> device = std::nullopt,
                   bool load_debug_files = true) {
    ExtraFilesMap none;
    return load(path, device, none, load_debug_files);
}
inline Module load(std::istream& stream, std::optional<at::Device> device, ExtraFilesMap& extra,
                   bool /*load_debug_files*/ = true) {
    const std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    const c10::IValue read = mindtorch::call_jit("load_bytes", mindtorch::text_of(bytes), device, c10::IValue(extra));
    for (const auto& record : read.items()[1].entries())
        extra[record.first.toStringRef()] = record.second.toStringRef();
    return Module(read.items()[0].object());
}
inline Module load(std::istream& stream, std::optional<at::Device> device = std::nullopt,
                   bool load_debug_files = true) {
    ExtraFilesMap none;
    return load(stream, device, none, load_debug_files);
}

// As torch.jit.freeze and torch.jit.optimize_for_inference: a Module in evaluation mode.
inline Module freeze(const Module& module) { return Module(mindtorch::call_jit("frozen", module._ivalue()).object()); }
inline Module optimize_for_inference(const Module& module) { return freeze(module); }

namespace script {
using torch::jit::ExtraFilesMap;
using torch::jit::Method;
using torch::jit::Module;
}  // namespace script

}  // namespace jit
}  // namespace torch

namespace c10 {
inline bool IValue::isModule() const { return isObject() && mindtorch::call_jit("is_module", *this).toBool(); }
inline torch::jit::Module IValue::toModule() const {
    TORCH_CHECK(isModule(), "Expected Module but got ", tagKind());
    return torch::jit::Module(object());
}
}  // namespace c10
