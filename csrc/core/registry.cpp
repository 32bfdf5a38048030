// The operator registry: kernels per key, and which of them answers a call.
#include "registry.h"

#include <algorithm>
#include <utility>

#include "check_mutation.h"
#include "device_check.h"
#include "late_operators.h"
#include "lazy_views.h"
#include "python/box.h"
#include "python_keys.h"
#include "rest.h"

namespace mt {
namespace {

std::unordered_map<std::string, NativeKernel>& native_kernels() {
    static auto* table = new std::unordered_map<std::string, NativeKernel>;
    return *table;
}
std::unordered_map<std::string, NativeShape>& shape_rules() {
    static auto* table = new std::unordered_map<std::string, NativeShape>;
    return *table;
}
std::unordered_map<std::string, NativeNodeName>& node_names() {
    static auto* table = new std::unordered_map<std::string, NativeNodeName>;
    return *table;
}
std::string key_of(const std::string& name, const std::string& overload) {
    return overload.empty() ? name : name + "." + overload;
}

}  // namespace

void register_structured(const char* name, ComputeFn fn, uint32_t flags, const Signature* signature) {
    native_kernels()[name] = {fn, true, flags, signature};
}
void register_direct(const char* name, ComputeFn fn, const Signature* signature) {
    native_kernels()[name] = {fn, false, 0, signature};
}
void register_shape(const char* name, ShapeFn fn, const Signature* signature) { shape_rules()[name] = {fn, signature}; }

const NativeKernel* find_native_kernel(const std::string& name) {
    auto found = native_kernels().find(name);
    return found == native_kernels().end() ? nullptr : &found->second;
}
const NativeShape* find_shape_rule(const std::string& name) {
    auto found = shape_rules().find(name);
    return found == shape_rules().end() ? nullptr : &found->second;
}

void register_node_name(const char* op, NodeNameFn fn, const Signature* signature) {
    node_names()[op] = {fn, signature};
}
const NativeNodeName* find_node_name(const std::string& op) {
    auto found = node_names().find(op);
    return found == node_names().end() ? nullptr : &found->second;
}

Registry& Registry::get() {
    static Registry* r = new Registry;
    return *r;
}

Operator* Registry::define(Schema schema) {
    std::string key = key_of(schema.full_name(), schema.overload);
    MT_CHECK(!operators_.count(key), "Tried to register an operator (", schema.text(),
             ") with the same name and overload name multiple times.");
    add_rest(schema);
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
    op->reads_elements = !op->is_view && !op->factory;
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
    const std::string key = key_of(name, overload);
    auto found = operators_.find(key);
    if (found == operators_.end() && key.starts_with("aten::") && read_late_operators()) found = operators_.find(key);
    return found == operators_.end() ? nullptr : found->second.get();
}
void Registry::erase(Operator* op) {
    // Calls in flight and saved graphs may still point here: unregister, keep the memory.
    auto found = operators_.find(op->full_name);
    if (found == operators_.end() || found->second.get() != op) return;
    found->second.release();
    operators_.erase(found);
    std::unordered_map<int, std::vector<Kernel>> kernels;
    std::swap(kernels, op->registered);
    op->resolve();
    for (auto& [key, stack] : kernels)
        for (Kernel& kernel : stack) Py_XDECREF(kernel.python);
}
std::vector<Operator*> Registry::all() const {
    std::vector<Operator*> ops;
    for (auto& [key, op] : operators_) ops.push_back(op.get());
    std::sort(ops.begin(), ops.end(), [](Operator* a, Operator* b) { return a->full_name < b->full_name; });
    return ops;
}

namespace {

using Stacks = std::unordered_map<int, std::vector<Kernel>>;

uint64_t push(Stacks& stacks, Key key, Kernel k) {
    static uint64_t given = 0;
    k.id = ++given;
    Py_XINCREF(k.python);
    stacks[static_cast<int>(key)].push_back(k);
    return k.id;
}
// Takes one registration out; its Python object (a reference to drop once nothing finds it any more), or null.
PyObject* take(Stacks& stacks, Key key, uint64_t id) {
    auto found = stacks.find(static_cast<int>(key));
    if (found == stacks.end()) return nullptr;
    std::vector<Kernel>& stack = found->second;
    auto at = std::find_if(stack.begin(), stack.end(), [id](const Kernel& k) { return k.id == id; });
    if (at == stack.end()) return nullptr;
    PyObject* python = at->python;
    stack.erase(at);
    if (stack.empty()) stacks.erase(found);
    return python;
}
const Kernel* top(const Stacks& stacks, Key key) {
    auto found = stacks.find(static_cast<int>(key));
    return found == stacks.end() ? nullptr : &found->second.back();
}

}  // namespace

void Registry::resolve_all() {
    for (auto& [name, op] : operators_) op->resolve();
}
uint64_t Registry::set_fallback(Key key, Kernel k) {
    const uint64_t id = push(fallbacks_, key, k);
    resolve_all();
    return id;
}
void Registry::erase_fallback(Key key, uint64_t id) {
    PyObject* gone = take(fallbacks_, key, id);
    resolve_all();
    Py_XDECREF(gone);
}
const Kernel* Registry::fallback(Key key) const { return top(fallbacks_, key); }

uint64_t Operator::set_kernel(Key key, Kernel k) {
    const uint64_t id = push(registered, key, k);
    resolve();
    return id;
}
void Operator::erase_kernel(Key key, uint64_t id) {
    PyObject* gone = take(registered, key, id);
    resolve();
    Py_XDECREF(gone);
}
const Kernel* Operator::kernel_of(uint64_t id) const {
    for (const auto& [key, stack] : registered)
        for (const Kernel& k : stack)
            if (k.id == id) return &k;
    return nullptr;
}
const Kernel* Operator::registered_kernel(Key key) const { return top(registered, key); }

namespace {

bool is_backend(Key k) { return static_cast<int>(k) < kKeyCount && kBackendKeys.has(k); }

Key backend_of(Key autograd) {
    if (autograd == Key::AutogradOther) return Key::QuantizedCPU;
    for (DeviceType type : {DeviceType::CPU, DeviceType::CUDA, DeviceType::NPU, DeviceType::XPU, DeviceType::Meta})
        if (device_keys(type).autograd == autograd) return device_keys(type).backend;
    return Key::Undefined;
}

}  // namespace

// Which kernel answers each key: its own registration; else the alias that covers it; else the behaviour derived from
// the row; else the fallback of the key.
void Operator::resolve() {
    auto get = [&](Key k) { return registered_kernel(k); };
    const Kernel* explicit_kernel = get(Key::CompositeExplicitAutograd);
    if (!explicit_kernel) explicit_kernel = get(Key::CompositeExplicitAutogradNonFunctional);
    const Kernel* implicit_kernel = get(Key::CompositeImplicitAutograd);
    const Kernel* autograd_kernel = get(Key::Autograd);
    active = composite = KeySet();
    for (int i = 0; i < kKeyCount; i++) table[i] = Kernel{};
    // Where a back end's key falls through, a composition still serves. Else what finds no key has no kernel: the
    // layouts of sparse tensors, whose values a composition would take for those of a dense one.
    const Kernel* last = explicit_kernel ? explicit_kernel : implicit_kernel;
    const bool falls = std::any_of(registered.begin(), registered.end(), [](const auto& entry) {
        return is_backend(static_cast<Key>(entry.first)) && entry.second.back().fallthrough;
    });
    if (falls && last && !last->fallthrough) table[static_cast<int>(Key::Undefined)] = *last;
    for (int i = 1; i < kKeyCount; i++) {
        Key k = static_cast<Key>(i);
        KeySet as_set(k);
        const Kernel* chosen = get(k);
        bool backend = !(as_set & kBackendKeys).empty();
        bool autograd = !(as_set & kAutogradKeys).empty();
        if (!chosen && backend) chosen = explicit_kernel ? explicit_kernel : implicit_kernel;
        // Native kernels for every device work on strides and memory, which sparse tensors do not have.
        // Those of views serve quantized tensors, too.
        const KeySet unfit = is_view || inplace_view ? kSparseKeys : kCodedKeys;
        if (chosen && chosen == explicit_kernel && chosen->python == nullptr && !(as_set & unfit).empty())
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
        if (!chosen && autograd && !implicit_kernel && underived) {
            derived.fn = run_underived;
            chosen = &derived;
        }
        if (!chosen && k == Key::ADInplaceOrView && (is_view || mutates) && !(implicit_kernel && !explicit_kernel)) {
            derived.fn = run_adinplaceorview;
            chosen = &derived;
        }
        // Under vmap a library's composition gets slices, as with PyTorch: what is in it, autograd's functions and
        // loops over memory, knows nothing of more.
        if (!chosen && (k == Key::Batched || k == Key::Functionalize) && implicit_kernel && !explicit_kernel &&
            !formula && !(k == Key::Batched && user && is_compiled_kernel(*implicit_kernel)))
            chosen = implicit_kernel;
        if (!chosen) chosen = Registry::get().fallback(k);
        // What becomes of an operator of a library without a gradient: the fallback of the alias.
        if (!chosen && autograd && user && !implicit_kernel) chosen = Registry::get().fallback(Key::Autograd);
        if (!chosen && (k == Key::Batched || k == Key::Functionalize || k == Key::Python || k == Key::Tracer)) {
            derived.fn = k == Key::Batched  ? run_batched
                         : k == Key::Python ? run_python_key
                         : k == Key::Tracer ? run_tracer
                                            : run_functionalize;
            chosen = &derived;
        }
        if (!chosen && kLazyKeys.has(k)) {
            derived.fn = run_lazy;
            chosen = &derived;
        }
        if (!chosen && k == Key::MixedDevices && !user) {
            derived.fn = run_mixed_devices;
            chosen = &derived;
        }
        if (!chosen || chosen->fallthrough) continue;
        if (backend && chosen == implicit_kernel) composite = composite | as_set;
        table[i] = *chosen;
        active = active | as_set;
        bool meta_checked = g_check_meta && user && k != Key::Meta;
        if (((g_check_mutation && !excused) || meta_checked) && backend && chosen != implicit_kernel) {
            table[i].unchecked = table[i].fn;
            table[i].fn = run_checked;
        } else if (user && backend && chosen != implicit_kernel && k != Key::Meta && first_run_watched(this)) {
            table[i].unchecked = table[i].fn;
            table[i].fn = run_first;
        }
    }
    needs_tensor = user && device_arg < 0 && !explicit_kernel && !implicit_kernel && !active.has(Key::BackendSelect);
}

}  // namespace mt
