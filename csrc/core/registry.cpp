// The operator registry: kernels per key, and which of them answers a call.
#include "registry.h"

#include <algorithm>
#include <utility>

#include "python/box.h"
#include "python_keys.h"

namespace mt {
namespace {

std::unordered_map<std::string, NativeKernel>& native_kernels() {
    static auto* table = new std::unordered_map<std::string, NativeKernel>;
    return *table;
}
std::unordered_map<std::string, ShapeFn>& shape_rules() {
    static auto* table = new std::unordered_map<std::string, ShapeFn>;
    return *table;
}
std::unordered_map<std::string, NodeNameFn>& node_names() {
    static auto* table = new std::unordered_map<std::string, NodeNameFn>;
    return *table;
}
std::string key_of(const std::string& name, const std::string& overload) {
    return overload.empty() ? name : name + "." + overload;
}

}  // namespace

void register_structured(const char* name, ComputeFn fn, uint32_t flags) { native_kernels()[name] = {fn, true, flags}; }
void register_direct(const char* name, ComputeFn fn) { native_kernels()[name] = {fn, false, 0}; }
void register_shape(const char* name, ShapeFn fn) { shape_rules()[name] = fn; }

const NativeKernel* find_native_kernel(const std::string& name) {
    auto found = native_kernels().find(name);
    return found == native_kernels().end() ? nullptr : &found->second;
}
ShapeFn find_shape_rule(const std::string& name) {
    auto found = shape_rules().find(name);
    return found == shape_rules().end() ? nullptr : found->second;
}

void register_node_name(const char* op, NodeNameFn fn) { node_names()[op] = fn; }
NodeNameFn find_node_name(const std::string& op) {
    auto found = node_names().find(op);
    return found == node_names().end() ? nullptr : found->second;
}

Registry& Registry::get() {
    static Registry* r = new Registry;
    return *r;
}

Operator* Registry::define(Schema schema) {
    std::string key = key_of(schema.full_name(), schema.overload);
    MT_CHECK(!operators_.count(key), "Tried to register an operator (", schema.text(),
             ") with the same name and overload name multiple times.");
    auto op = std::make_unique<Operator>();
    static uint64_t defined = 0;
    op->sequence = ++defined;
    op->name = schema.name;
    op->full_name = key;
    op->nargs = static_cast<int>(schema.args.size());
    op->nrets = static_cast<int>(schema.returns.size());
    for (size_t i = 0; i < schema.args.size(); i++)
        for (size_t k = 0; k < i; k++)
            MT_CHECK(schema.args[k].name != schema.args[i].name, key, ": two arguments are called '",
                     schema.args[i].name, "'; every argument needs a name of its own. Schema: ", schema.text());
    MT_CHECK(op->nargs <= 64, key, ": an operator takes at most 64 arguments, this schema has ", op->nargs);
    bool dtype_arg = false, layout_arg = false;
    for (int i = 0; i < op->nargs; i++) {
        Argument& a = schema.args[static_cast<size_t>(i)];
        a.name_object = PyUnicode_InternFromString(a.name.c_str());
        if (a.has_default) {
            a.default_value.len = 0;
            if (a.default_value.tag == Tag::IntList) {
                a.default_value.ints = a.default_ints.data();
                a.default_value.len = static_cast<uint32_t>(a.default_ints.size());
            } else if (a.default_value.tag == Tag::DoubleList) {
                a.default_value.doubles = a.default_doubles.data();
                a.default_value.len = static_cast<uint32_t>(a.default_doubles.size());
            } else if (a.default_value.tag == Tag::BoolList) {
                static_assert(sizeof(bool) == sizeof(uint8_t));
                a.default_value.bools = reinterpret_cast<const bool*>(a.default_bools.data());
                a.default_value.len = static_cast<uint32_t>(a.default_bools.size());
            }
        }
        switch (a.kind) {
            case ArgKind::Tensor:
            case ArgKind::TensorList:
            case ArgKind::OptionalTensorList:
                op->tensor_args |= uint64_t(1) << i;
                break;
            case ArgKind::Device:
                op->device_arg = i;
                break;
            case ArgKind::DType:
                dtype_arg = dtype_arg || a.name == "dtype";
                break;
            case ArgKind::Layout:
                layout_arg = true;
                break;
            case ArgKind::Generator:
                op->random = true;
                break;
            default:
                break;
        }
        if (a.writes) {
            op->mutates = true;
            if (a.keyword_only) {
                if (op->out_index < 0) op->out_index = i;
            } else if (op->self_index < 0) {
                op->self_index = i;
            }
        }
    }
    op->factory = dtype_arg && layout_arg && op->device_arg >= 0;
    if (op->self_index == 0 && schema.name.back() == '_' && op->nrets == 1 && schema.returns[0].writes)
        op->form = Form::Inplace;
    else if (op->out_index >= 0)
        op->form = Form::Out;
    op->is_view = !op->mutates && op->nrets > 0 && schema.returns[0].alias_info.present;
    op->schema = std::move(schema);
    // The moved vectors keep their buffers, so default_value's pointers stay valid; strings are read through the
    // schema.
    for (Argument& a : op->schema.args)
        if (a.has_default && a.default_value.tag == Tag::Str) {
            a.default_value.str = a.literal.s.c_str();
            a.default_value.len = static_cast<uint32_t>(a.literal.s.size());
        }
    for (Argument& a : op->schema.args)
        if (a.has_default) a.default_object = box(a.default_value);
    Operator* raw = op.get();
    operators_[key] = std::move(op);
    raw->resolve();
    return raw;
}

Operator* Registry::find(const std::string& name, const std::string& overload) {
    auto found = operators_.find(key_of(name, overload));
    return found == operators_.end() ? nullptr : found->second.get();
}
void Registry::erase(Operator* op) {
    // Calls in flight and saved graphs may still point here: unregister, keep the memory.
    auto found = operators_.find(op->full_name);
    if (found == operators_.end() || found->second.get() != op) return;
    found->second.release();
    operators_.erase(found);
    std::unordered_map<int, Kernel> kernels;
    std::swap(kernels, op->registered);
    op->resolve();
    for (auto& [key, kernel] : kernels) Py_XDECREF(kernel.python);
}
std::vector<Operator*> Registry::all() const {
    std::vector<Operator*> ops;
    for (auto& [key, op] : operators_) ops.push_back(op.get());
    std::sort(ops.begin(), ops.end(), [](Operator* a, Operator* b) { return a->full_name < b->full_name; });
    return ops;
}

void Registry::set_fallback(Key key, const Kernel& k) {
    Py_XINCREF(k.python);
    auto found = fallbacks_.find(static_cast<int>(key));
    PyObject* before = found == fallbacks_.end() ? nullptr : found->second.python;
    if (k)
        fallbacks_[static_cast<int>(key)] = k;
    else
        fallbacks_.erase(static_cast<int>(key));
    for (auto& [name, op] : operators_) op->resolve();
    Py_XDECREF(before);
}
const Kernel* Registry::fallback(Key key) const {
    auto found = fallbacks_.find(static_cast<int>(key));
    return found == fallbacks_.end() ? nullptr : &found->second;
}

void Operator::set_kernel(Key key, Kernel k) {
    Py_XINCREF(k.python);
    PyObject* before = std::exchange(registered[static_cast<int>(key)], k).python;
    resolve();
    Py_XDECREF(before);
}
void Operator::erase_kernel(Key key) {
    auto found = registered.find(static_cast<int>(key));
    if (found == registered.end()) return;
    PyObject* before = found->second.python;
    registered.erase(found);
    resolve();
    Py_XDECREF(before);
}

namespace {

Key backend_of(Key autograd) {
    switch (autograd) {
        case Key::AutogradCPU:
            return Key::CPU;
        case Key::AutogradCUDA:
            return Key::CUDA;
        case Key::AutogradNPU:
            return Key::NPU;
        case Key::AutogradMeta:
            return Key::Meta;
        default:
            return Key::Undefined;
    }
}

}  // namespace

// Which kernel answers each key: its own registration; else the alias that covers it; else the behaviour derived from
// the row; else the fallback of the key.
void Operator::resolve() {
    auto get = [&](Key k) -> const Kernel* {
        auto found = registered.find(static_cast<int>(k));
        return found == registered.end() ? nullptr : &found->second;
    };
    const Kernel* explicit_kernel = get(Key::CompositeExplicitAutograd);
    if (!explicit_kernel) explicit_kernel = get(Key::CompositeExplicitAutogradNonFunctional);
    const Kernel* implicit_kernel = get(Key::CompositeImplicitAutograd);
    const Kernel* autograd_kernel = get(Key::Autograd);
    active = KeySet();
    for (int i = 0; i < kKeyCount; i++) table[i] = Kernel{};
    for (int i = 1; i < kKeyCount; i++) {
        Key k = static_cast<Key>(i);
        KeySet as_set(k);
        const Kernel* chosen = get(k);
        bool backend = !(as_set & kBackendKeys).empty();
        bool autograd = !(as_set & kAutogradKeys).empty();
        if (!chosen && backend) chosen = explicit_kernel ? explicit_kernel : implicit_kernel;
        // Native kernels for every device work on strides and memory, which sparse tensors do not have.
        if (chosen && chosen == explicit_kernel && chosen->python == nullptr && !(as_set & kSparseKeys).empty())
            chosen = nullptr;
        if (!chosen && autograd) {
            // A back end's own kernel makes an implicit composite opaque to autograd, for that back end.
            chosen = autograd_kernel;
            if (!chosen && implicit_kernel && !explicit_kernel && !formula && !get(backend_of(k)))
                chosen = implicit_kernel;
        }
        Kernel derived;
        if (!chosen && k == Key::Meta && (shape || shape_python)) {
            derived.fn = run_meta;
            chosen = &derived;
        }
        if (!chosen && autograd && (formula || form == Form::Out)) {
            derived.fn = run_autograd;
            chosen = &derived;
        }
        if (!chosen && autograd && !implicit_kernel && name.find("_backward") != std::string::npos) {
            derived.fn = run_underived;
            chosen = &derived;
        }
        if (!chosen && k == Key::ADInplaceOrView && (is_view || mutates) && !(implicit_kernel && !explicit_kernel)) {
            derived.fn = run_adinplaceorview;
            chosen = &derived;
        }
        if (!chosen && (k == Key::Batched || k == Key::Functionalize) && implicit_kernel && !explicit_kernel &&
            !formula)
            chosen = implicit_kernel;
        if (!chosen) chosen = Registry::get().fallback(k);
        if (!chosen && (k == Key::Batched || k == Key::Functionalize || k == Key::Python || k == Key::Tracer)) {
            derived.fn = k == Key::Batched  ? run_batched
                         : k == Key::Python ? run_python_key
                         : k == Key::Tracer ? run_tracer
                                            : run_functionalize;
            chosen = &derived;
        }
        if (!chosen || chosen->fallthrough) continue;
        table[i] = *chosen;
        active = active | as_set;
        bool meta_checked = g_check_meta && user && k != Key::Meta;
        if (((g_check_mutation && !excused) || meta_checked) && backend && chosen != implicit_kernel) {
            table[i].unchecked = table[i].fn;
            table[i].fn = run_checked;
        }
    }
    needs_tensor = user && device_arg < 0 && !explicit_kernel && !implicit_kernel && !active.has(Key::BackendSelect);
}

}  // namespace mt
