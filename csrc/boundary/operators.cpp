// Operators across the boundary: found by name, called with bound values.
#include <string>
#include <utility>
#include <vector>

#include "boundary/boundary.h"
#include "core/python/box.h"
#include "core/rest.h"

namespace mt::boundary {
namespace {

mt_operator find(const char* name, const char* overload) {
    Locked locked;
    return reinterpret_cast<mt_operator>(Registry::get().find(name, overload));
}

int schema(mt_operator o, const char** text, int32_t* nargs, int32_t* nrets) {
    thread_local std::string kept;
    return reported([&] {
        kept = op(o)->schema.text();
        *text = kept.c_str();
        *nargs = op(o)->nargs - has_rest(*op(o));
        *nrets = op(o)->nrets - gives_rest(*op(o));
    });
}

// What a kernel in Python returned is an object: a number of it goes as a number.
void plain(Value& v, const Argument& a) {
    if (v.tag != Tag::Object || a.kind == ArgKind::Tensor) return;
    Value n = value_of(v.obj);
    if (n.tag == Tag::Str || n.tag == Tag::Object || n.tag == Tag::Generator || n.tag == Tag::Tensor) return;
    Py_DECREF(v.obj);
    v = n;
}

// Lists that a native kernel gave as such belong to it: objects keep them.
void settle_results(const Operator& o, Value* rets) {
    for (int i = 0; i < o.nrets; i++) {
        const Tag t = rets[i].tag;
        if (t == Tag::Object)
            plain(rets[i], o.schema.returns[static_cast<size_t>(i)]);
        else if ((t >= Tag::IntList && t <= Tag::Str))
            rets[i] = Value::object(object_of(rets[i]));
    }
}

void check_counts(const Operator& o, int32_t nargs, int32_t nrets) {
    const bool fits = has_rest(o) ? nargs >= o.nargs - 1 : nargs == o.nargs;
    MT_CHECK(fits && nrets == o.nrets, o.full_name, ": called from C++ with ", nargs, " arguments and ", nrets,
             " results, its schema is ", o.schema.text());
}

// Kernels take the items of a list of tensors as they are: an undefined one must not reach them.
void check_lists(const Call& c) {
    for (int i = 0; i < c.nargs; i++) {
        if (c.args[i].tag != Tag::TensorList || c.op->schema.args[static_cast<size_t>(i)].kind != ArgKind::TensorList)
            continue;
        for (const Tensor* t : Span<Tensor*>(c.args[i].tensors, c.args[i].len))
            if (__builtin_expect(!t, 0)) c.missing_tensor(i);
    }
}

// An argument as its schema says it, where it came as an object of Python or as the number of an enumeration: so do the
// values of a boxed call.
void fit(Value& v, const Argument& a, Call& c) {
    if (v.tag == Tag::Object) {
        Value fitting;
        if (a.kind != ArgKind::Any && unbox(v.obj, a, c, &fitting)) v = fitting;
        return;
    }
    if (v.tag != Tag::Int) return;
    if (a.kind == ArgKind::DType) {
        const auto dtype = static_cast<DType>(v.i);
        v.tag = Tag::DType;
        v.dtype = dtype;
    } else if (a.kind == ArgKind::Layout || a.kind == ArgKind::MemoryFormat) {
        v.tag = a.kind == ArgKind::Layout ? Tag::Layout : Tag::MemoryFormat;
    } else if (a.kind == ArgKind::Float) {
        v = Value::of(static_cast<double>(v.i));
    }
}

// Calls with the values of another library; what comes behind the schema's arguments is one value for the core.
template <class F>
void call_bound(Operator* o, mt_value* given, int32_t nargs, mt_value* rets, int32_t nrets, F&& enter) {
    check_counts(*o, nargs, nrets);
    Call c;
    Arena arena;
    PyObject* source[64];
    std::vector<Value> with_rest;
    c.op = o;
    c.args = values(given);
    c.source = source;
    c.rets = values(rets);
    c.nargs = o->nargs;
    c.nrets = nrets;
    c.arena = &arena;
    if (has_rest(*o)) {
        const int named = o->nargs - 1;
        with_rest.assign(c.args, c.args + named);
        with_rest.emplace_back();
        Owned more(PyTuple_New(nargs - named));
        for (int i = named; i < nargs; i++) PyTuple_SET_ITEM(more.get(), i - named, object_of(values(given)[i]));
        c.args = with_rest.data();
        bind_rest(&PyTuple_GET_ITEM(more.get(), 0), nargs - named, c);
    }
    for (int i = 0; i < c.nargs - has_rest(*o); i++) fit(c.args[i], o->schema.args[static_cast<size_t>(i)], c);
    for (int i = 0; i < c.nargs - has_rest(*o); i++)
        source[i] = c.args[i].tag == Tag::Tensor ? c.args[i].t->py() : nullptr;
    check_lists(c);
    for (int i = 0; i < nrets; i++) c.rets[i] = Value();
    try {
        enter(c);
    } catch (...) {
        release_results(c);
        throw;
    }
    settle_results(*o, c.rets);
}

// What the next call of this thread is for: call_own_kernel.
thread_local char g_own_kernel = 0;

// The framework's own kernel for a key: the first that is no library's in C++. Null if there is none.
const Kernel* own_kernel(const Operator& o, Key key) {
    auto found = o.registered.find(static_cast<int>(key));
    if (found == o.registered.end()) return nullptr;
    for (const Kernel& k : found->second)
        if (!k.fallthrough && !is_compiled_kernel(k)) return &k;
    return nullptr;
}
bool has_library_kernel(const Operator& o) {
    for (const auto& [key, stack] : o.registered)
        for (const Kernel& k : stack)
            if (is_compiled_kernel(k)) return true;
    return false;
}
// Past what libraries registered for the operator: a kernel of theirs that calls at::native's function of that name
// wants what it stands before, and through the operator it would reach itself.
void run_own_kernel(Call& c, bool of_cpu) {
    const KeySet keys = dispatch_keys(c);
    const Key backend = of_cpu ? Key::CPU : (keys & kBackendKeys).highest();
    const Kernel* found = own_kernel(*c.op, backend);
    for (Key composite :
         {Key::CompositeExplicitAutograd, Key::CompositeExplicitAutogradNonFunctional, Key::CompositeImplicitAutograd})
        if (!found) found = own_kernel(*c.op, composite);
    if (!found && (c.op->is_view || c.op->inplace_view)) found = own_kernel(*c.op, Key::CPU);  // it reads no elements
    if (!found)
        MT_THROW(NotImplemented, of_cpu ? "at::cpu::" : "at::native::", c.op->name, ": ", c.op->full_name,
                 " has no kernel of the framework for the key ", key_name(backend),
                 ", only those that libraries registered");
    const Kernel kernel = *found;  // it may end while it runs
    Owned kept(Py_NewRef(kernel.python ? kernel.python : Py_None));
    c.kernel = &kernel;
    c.keys = keys;
    kernel.fn(c);
}
void call_own_kernel(char which) { g_own_kernel = which; }

int call(mt_operator h, mt_value* args, int32_t nargs, mt_value* rets, int32_t nrets) {
    const char own = std::exchange(g_own_kernel, 0);
    return reported([&] {
        call_bound(op(h), args, nargs, rets, nrets, [&](Call& c) {
            if (__builtin_expect(own != 0, 0) && (own == 'c' || has_library_kernel(*c.op)))
                run_own_kernel(c, own == 'c');
            else
                dispatch(c);
        });
    });
}

int redispatch(mt_operator h, uint64_t keys, mt_value* args, int32_t nargs, mt_value* rets, int32_t nrets) {
    return reported([&] { call_bound(op(h), args, nargs, rets, nrets, [&](Call& c) { run(c, KeySet(keys)); }); });
}

}  // namespace

void fill_operators(mt_boundary& b) {
    b.find = find;
    b.schema = schema;
    b.call = call;
    b.redispatch = redispatch;
    b.call_own_kernel = call_own_kernel;
}

}  // namespace mt::boundary
