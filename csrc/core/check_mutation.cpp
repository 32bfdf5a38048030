// MINDTORCH_CHECK_MUTATION=1: whether kernels write, and alias, what their schemas say. A schema that keeps quiet about
// it is a silent wrong answer wherever a graph is built from it. MINDTORCH_CHECK_META=1: whether Meta kernels say of
// results what they are.
#include <cstdlib>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "above.h"
#include "check_mutation.h"
#include "python/box.h"

namespace mt {

namespace {
bool asked(const char* variable) {
    const char* value = std::getenv(variable);
    return value && *value && std::strcmp(value, "0") != 0;
}
}  // namespace

bool g_check_mutation = asked("MINDTORCH_CHECK_MUTATION");
bool g_check_meta = asked("MINDTORCH_CHECK_META");

namespace {

MutationProbe g_probe;
PyObject *g_expect = nullptr, *g_compare = nullptr;

void load_honesty() {
    PyObject* module = call_above("kernel_checks");
    if (!module) throw PythonError();
    Py_DECREF(module);
}
// UndeclaredError, a RuntimeError by whose class a program that was put off knows that running it again would hide it.
[[noreturn]] void throw_undeclared(const std::string& text) {
    PyObject* module = call_above("kernel_checks");
    PyObject* type = module ? PyObject_GetAttrString(module, "UndeclaredError") : nullptr;
    if (type) PyErr_SetString(type, text.c_str());
    Py_XDECREF(module);
    Py_XDECREF(type);
    throw PythonError();
}
// Other devices are looked at with operators, which Python finds.
void load_probe() {
    if (g_probe.copy) return;
    load_honesty();
    MT_CHECK(g_probe.copy, "MINDTORCH_CHECK_MUTATION: nothing is registered to look at the memory of this device");
}

// One storage that arguments live in, and what it held before the call.
struct Watched {
    Storage* storage;
    Tensor* tensor;  // the first that lives there
    int argument;    // the first that may not be written, or that is
    bool marked;     // some argument that lives here is marked as written
    bool unmarked;   // some argument that lives here is not
    uint32_t version;
    std::vector<char> bytes;   // of host memory
    PyObject* copy = nullptr;  // of other devices: what the probe made
};

struct Watch {
    std::vector<Watched> storages;
    ~Watch() {
        for (Watched& w : storages) Py_XDECREF(w.copy);
    }

    explicit Watch(const Call& c, bool copies = true) : copies_(copies) {
        for (int i = 0; i < c.nargs; i++) {
            const Argument& a = c.op->schema.args[static_cast<size_t>(i)];
            const Value& v = c.args[i];
            if (v.tag == Tag::Tensor) add(v.t, i, a.writes);
            if (v.tag == Tag::TensorList)
                for (uint32_t k = 0; k < v.len; k++)
                    if (v.tensors[k]) add(v.tensors[k], i, a.writes);
        }
    }
    void add(Tensor* t, int argument, bool writes) {
        for (Watched& w : storages)
            if (w.storage == t->storage) {
                w.marked = w.marked || writes;
                if (!writes && !w.unmarked) w.argument = argument;
                w.unmarked = w.unmarked || !writes;
                return;
            }
        Watched w{t->storage, t, argument, writes, !writes, t->storage->version, {}};
        if (!copies_) {
            // counters tell
        } else if (t->is_cpu() && t->storage->data) {
            const char* data = static_cast<const char*>(t->storage->data);
            w.bytes.assign(data, data + t->storage->nbytes);
        } else if (!t->is_cpu() && !t->is_meta()) {
            load_probe();
            w.copy = g_probe.copy(t->py());
            if (!w.copy) throw PythonError();
            if (w.copy == Py_None) Py_CLEAR(w.copy);
        }
        storages.push_back(std::move(w));
    }

  private:
    bool copies_;
};

bool changed(const Watched& w) {
    if (w.copy) return g_probe.differs(w.copy, w.tensor->py());
    if (w.tensor->is_meta() || !w.tensor->is_cpu()) return w.storage->version != w.version;
    size_t n = std::min(w.bytes.size(), w.storage->nbytes);
    return n && std::memcmp(w.bytes.data(), w.storage->data, n) != 0;
}

std::string set_name(int argument) { return "a" + std::to_string(argument); }

// The schema as it would have to be.
std::string corrected(const Schema& s, int argument, bool writes, int result) {
    Schema fixed = s;
    AliasInfo& info = fixed.args[static_cast<size_t>(argument)].alias_info;
    if (info.before.empty()) info.before = info.after = {set_name(argument)};
    info.present = true;
    info.writes = info.writes || writes;
    if (result >= 0) {
        AliasInfo& out = fixed.returns[static_cast<size_t>(result)].alias_info;
        out = info;
        out.items.clear();
    }
    return fixed.text();
}

bool declares(const AliasInfo& result, const AliasInfo& argument) {
    for (const std::string& r : result.before)
        for (const std::string& a : argument.after)
            if (r == a || r == "*" || a == "*") return true;
    for (const AliasInfo& item : result.items)
        if (declares(item, argument)) return true;
    for (const AliasInfo& item : argument.items)
        if (declares(result, item)) return true;
    return false;
}

void check_alias(const Call& c, int result, const Tensor* t) {
    const Schema& s = c.op->schema;
    const Argument& r = s.returns[static_cast<size_t>(result)];
    if (!t->storage || t->storage->nbytes == 0) return;
    bool found = false;
    int culprit = -1;
    auto look = [&](int i, const Tensor* given) {
        if (given->storage != t->storage) return;
        found = found || declares(r.alias_info, s.args[static_cast<size_t>(i)].alias_info);
        if (culprit < 0) culprit = i;
    };
    for (int i = 0; i < c.nargs; i++) {
        const Value& v = c.args[i];
        if (v.tag == Tag::Tensor) look(i, v.t);
        if (v.tag == Tag::TensorList)
            for (uint32_t k = 0; k < v.len; k++)
                if (v.tensors[k]) look(i, v.tensors[k]);
    }
    if (culprit < 0 || found) return;
    throw_undeclared(
        concat(c.op->full_name, ": result ", result, " shares memory with the argument '",
               s.args[static_cast<size_t>(culprit)].name, "', which the schema does not declare. Schema: ", s.text(),
               ". It should be: ", corrected(s, culprit, false, result), ", or the kernel should return a clone."));
}

void check_aliases(const Call& c) {
    for (int i = 0; i < c.nrets; i++) {
        const Value& v = c.rets[i];
        if (v.tag == Tag::Tensor) check_alias(c, i, v.t);
        if (v.tag == Tag::Object && PyList_Check(v.obj))
            for (Py_ssize_t k = 0; k < PyList_GET_SIZE(v.obj); k++)
                if (tensor_check(PyList_GET_ITEM(v.obj, k)))
                    check_alias(c, i, reinterpret_cast<Tensor*>(PyList_GET_ITEM(v.obj, k)));
    }
}

[[noreturn]] void throw_written(const Call& c, const Watched& w) {
    const Schema& s = c.op->schema;
    throw_undeclared(concat(c.op->full_name, ": the kernel wrote to the argument '",
                            s.args[static_cast<size_t>(w.argument)].name,
                            "', which its schema does not mark as written. Schema: ", s.text(),
                            ". It should be: ", corrected(s, w.argument, true, -1)));
}

}  // namespace

void set_mutation_probe(MutationProbe probe) { g_probe = probe; }
void set_meta_probe(PyObject* expect, PyObject* compare) {
    Py_XSETREF(g_expect, Py_NewRef(expect));
    Py_XSETREF(g_compare, Py_NewRef(compare));
}

namespace {
thread_local bool t_looking = false;  // the watch itself calls operators

struct Looking {
    Looking() { t_looking = true; }
    ~Looking() { t_looking = false; }
};

// What the operator's Meta kernel says of a call's results, compared with what another kernel made.
class MetaCheck {
  public:
    explicit MetaCheck(const Call& c) : call_(c) {
        if (!g_check_meta || !c.op->user || !c.op->handle || !c.op->active.has(Key::Meta)) return;
        if (!g_expect) load_honesty();
        Looking looking;
        PyObject* args = made(PyTuple_New(c.nargs));
        for (int i = 0; i < c.nargs; i++) PyTuple_SET_ITEM(args, i, box_argument(c, i));
        expected_ = call_python(g_expect, c.op->handle, args);
        Py_DECREF(args);
        if (!expected_) throw PythonError();
    }
    ~MetaCheck() { Py_XDECREF(expected_); }
    void compare() const {
        if (!expected_ || expected_ == Py_None) return;
        Looking looking;
        PyObject* results = made(PyTuple_New(call_.nrets));
        for (int i = 0; i < call_.nrets; i++) PyTuple_SET_ITEM(results, i, box(call_.rets[i]));
        PyObject* r = call_python(g_compare, call_.op->handle, expected_, results);
        Py_DECREF(results);
        if (!r) throw PythonError();
        Py_DECREF(r);
    }

  private:
    const Call& call_;
    PyObject* expected_ = nullptr;
};
}  // namespace

void run_checked(Call& c) {
    const Schema& s = c.op->schema;
    const bool python = c.kernel->python != nullptr;
    KernelFn unchecked = c.kernel->unchecked;
    if (t_looking) {
        unchecked(c);
        return;
    }
    MetaCheck meta(c);
    if (!g_check_mutation || c.op->excused) {
        unchecked(c);
        meta.compare();
        return;
    }
    std::optional<Watch> held;
    {
        Looking looking;
        held.emplace(c);
    }
    Watch& watch = *held;
    unchecked(c);
    meta.compare();
    Looking looking;
    for (const Watched& w : watch.storages) {
        bool written = changed(w);
        if (written && !w.marked) throw_written(c, w);
        if (!written && w.marked && !w.unmarked && python && c.op->user && w.storage->version == w.version &&
            w.storage->nbytes) {
            std::string text = concat(c.op->full_name, ": the schema marks the argument '",
                                      s.args[static_cast<size_t>(w.argument)].name,
                                      "' as written, but the kernel did not write to it. Schema: ", s.text());
            if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw PythonError();
        }
    }
    check_aliases(c);
}

// ---- the first run of a graph ----

namespace {
// How many graphs that run for the first time have the operator.
std::unordered_map<const Operator*, int>& first_runs() {
    static auto* all = new std::unordered_map<const Operator*, int>;
    return *all;
}
}  // namespace

void watch_first_run(Operator* op, bool begin) {
    if (!op->user || op->excused || g_check_mutation) return;
    int& graphs = first_runs()[op];
    graphs += begin ? 1 : -1;
    if (graphs <= 0) first_runs().erase(op);
    op->resolve();
}
bool first_run_watched(const Operator* op) { return first_runs().count(op); }

void run_first(Call& c) {
    // Below the key that counts writes, those of an operator that declares some are counted once, for what it declares.
    struct Counting {
        KeySet before = g_thread.exclude;
        Counting() { g_thread.exclude = before - Key::ADInplaceOrView; }
        ~Counting() { g_thread.exclude = before; }
    };
    const Watch watch(c, false);
    {
        const Counting counting;
        c.kernel->unchecked(c);
    }
    for (const Watched& w : watch.storages)
        if (!w.marked && w.storage->version != w.version) throw_written(c, w);
    check_aliases(c);
}

}  // namespace mt
