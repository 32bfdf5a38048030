// Forward mode: tangents ride on tensors, one a level; a call that meets one is handed to Python with its derivative.
#include <algorithm>

#include "autograd.h"
#include "gil.h"
#include "python_keys.h"

namespace mt {

std::vector<int64_t> g_forward_levels;
thread_local bool g_forward_mode = true;

namespace {
bool alive(int64_t level) {
    return std::find(g_forward_levels.begin(), g_forward_levels.end(), level) != g_forward_levels.end();
}
}  // namespace

Tensor* tangent_of(const Tensor& t, int64_t level) {
    if (!t.autograd || !t.autograd->tangents) return nullptr;
    for (const Tangent& g : *t.autograd->tangents)
        if (g.level == level) return g.value;
    return nullptr;
}

void look_through(const Tensor& t) {
    if (g_forward_levels.empty() || !g_forward_mode) return;
    const ViewMeta& view = *t.autograd->view;
    const Tensor& base = *view.base;
    if (!base.autograd || !base.autograd->tangents || view.version == t.version()) return;  // nobody has written since
    const std::vector<Tangent> of_base = *base.autograd->tangents;
    for (const Tangent& g : of_base) {
        if (!alive(g.level) || tangent_of(t, g.level)) continue;
        TensorRef part;
        if (view.replay) {
            PyObject* made = call_python(view.replay, g.value->py());
            if (!made) throw PythonError();
            part = TensorRef::steal(reinterpret_cast<Tensor*>(made));
        } else {
            const int64_t offset = g.value->offset + t.offset - base.offset;
            part = call_tensor(g_engine_ops.as_strided,
                               {Value::of(g.value), ints_of(t.sizes()), ints_of(t.strides()), Value::of(offset)});
        }
        set_tangent(const_cast<Tensor&>(t), g.level, part.get());
    }
}

void set_tangent(Tensor& t, int64_t level, Tensor* value) {
    AutogradMeta& a = autograd_of(t);
    if (!a.tangents) {
        if (!value) return;
        a.tangents = new std::vector<Tangent>;
    }
    Py_XINCREF(value ? value->py() : nullptr);
    std::vector<Tangent> old;
    // Those of levels that are over go too: nothing can ask for them any more.
    for (const Tangent& g : *a.tangents)
        if (g.level == level || !alive(g.level)) old.push_back(g);
    a.tangents->erase(std::remove_if(a.tangents->begin(), a.tangents->end(),
                                     [&](const Tangent& g) { return g.level == level || !alive(g.level); }),
                      a.tangents->end());
    if (value) a.tangents->push_back({level, value});
    for (const Tangent& g : old) Py_DECREF(g.value->py());
}

bool has_live_tangent(const Tensor& t) {
    if (!g_forward_mode) return false;
    for (const Tangent& g : *t.autograd->tangents)
        if (alive(g.level)) return true;
    return false;
}

void copy_tangents(const Tensor& from, Tensor& to, bool clone) {
    if (!from.autograd || !from.autograd->tangents) return;
    const std::vector<Tangent> tangents = *from.autograd->tangents;
    for (const Tangent& g : tangents) {
        if (!alive(g.level)) continue;
        TensorRef own = clone ? call_tensor(g_engine_ops.clone, {Value::of(g.value)}) : TensorRef::share(g.value);
        set_tangent(to, g.level, own.get());
    }
}

TensorRef without_tangents(Tensor& t, int64_t level) {
    if (!has_tangent(t)) return TensorRef::share(&t);
    TensorRef r = detached_alias(t);
    r->flags |= t.flags & kWrappedNumber;
    share_history(t, *r);
    const std::vector<Tangent> tangents = *t.autograd->tangents;
    for (const Tangent& g : tangents)
        if (g.level < level && alive(g.level)) set_tangent(*r, g.level, g.value);
    return r;
}

bool has_tangents(const Call& c) {
    if (g_forward_levels.empty() || !g_forward_mode) return false;
    for (uint64_t m = c.op->tensor_args; m; m &= m - 1) {
        const Value& v = c.args[__builtin_ctzll(m)];
        if (v.tag == Tag::Tensor && has_tangent(*v.t)) return true;
        if (v.tag == Tag::TensorList)
            for (uint32_t i = 0; i < v.len; i++)
                if (v.tensors[i] && has_tangent(*v.tensors[i])) return true;
    }
    return false;
}

void run_with_tangents(Call& c, void (*record)(Call&)) {
    const Operator& op = *c.op;
    MT_CHECK_AS(NotImplemented, op.form != Form::Out, "Trying to use forward AD with ", op.name,
                "_out that does not support it because it is an out= function");
    MT_CHECK_AS(NotImplemented, op.formula, "Trying to use forward AD with ", op.name,
                " that does not support it because it has not been implemented yet.");
    // What an in-place operator overwrites: its derivative may need it.
    TensorRef before;
    Value self;
    if (op.self_index >= 0 && c.args[op.self_index].tag == Tag::Tensor) {
        self = c.args[op.self_index];
        before = call_tensor(g_engine_ops.clone, {self});
    }
    record(c);
    PyObject* source = nullptr;
    if (before) {
        c.args[op.self_index] = Value::of(before.get());
        source = std::exchange(c.source[op.self_index], before->py());
    }
    try {
        call_forward_handler(c);
    } catch (...) {
        if (before) c.source[op.self_index] = source;
        throw;
    }
    if (before) {
        c.args[op.self_index] = self;
        c.source[op.self_index] = source;
    }
    // The node keeps results as aliases: they have the tangents too, for a backward inside this level.
    for (int i = 0; i < c.nrets; i++) {
        if (c.rets[i].tag != Tag::Tensor || !c.rets[i].t->autograd) continue;
        Node* n = c.rets[i].t->autograd->grad_fn;
        if (!n || n->op != &op) continue;
        for (int k = 0; k < n->nsaved; k++)
            if (n->saved[k].kind == Saved::Output && n->saved[k].nr == static_cast<uint32_t>(i))
                copy_tangents(*c.rets[i].t, *reinterpret_cast<Tensor*>(n->saved[k].object));
    }
}

}  // namespace mt
