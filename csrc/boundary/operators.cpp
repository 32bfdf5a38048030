// Operators across the boundary: found by name, called with bound values.
#include <string>

#include "boundary/boundary.h"
#include "core/python/box.h"

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
        *nargs = op(o)->nargs;
        *nrets = op(o)->nrets;
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
    MT_CHECK(nargs == o.nargs && nrets == o.nrets, o.full_name, ": called from C++ with ", nargs, " arguments and ",
             nrets, " results, its schema is ", o.schema.text());
}

int call(mt_operator h, mt_value* args, int32_t nargs, mt_value* rets, int32_t nrets) {
    return reported([&] {
        Operator* o = op(h);
        check_counts(*o, nargs, nrets);
        call_values(o, values(args), values(rets));
        settle_results(*o, values(rets));
    });
}

int redispatch(mt_operator h, uint64_t keys, mt_value* args, int32_t nargs, mt_value* rets, int32_t nrets) {
    return reported([&] {
        Operator* o = op(h);
        check_counts(*o, nargs, nrets);
        Call c;
        Arena arena;
        PyObject* source[64];
        for (int i = 0; i < nargs; i++)
            source[i] = values(args)[i].tag == Tag::Tensor ? values(args)[i].t->py() : nullptr;
        c.op = o;
        c.args = values(args);
        c.source = source;
        c.rets = values(rets);
        c.nargs = nargs;
        c.nrets = nrets;
        c.arena = &arena;
        for (int i = 0; i < nrets; i++) c.rets[i] = Value();
        try {
            run(c, KeySet(keys));
        } catch (...) {
            release_results(c);
            throw;
        }
        settle_results(*o, c.rets);
    });
}

}  // namespace

void fill_operators(mt_boundary& b) {
    b.find = find;
    b.schema = schema;
    b.call = call;
    b.redispatch = redispatch;
}

}  // namespace mt::boundary
