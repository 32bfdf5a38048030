// The Autograd kernel that every row with formulas shares, and the kernel below it that tracks views and counts writes.
#include "autograd.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "functional.h"
#include "gil.h"
#include "lazy_views.h"
#include "python/box.h"
#include "python/types.h"
#include "sparse.h"

namespace mt {

namespace {

PyObject* gradient_or_none(Gradients& grads, size_t i) {
    return Py_NewRef(i < grads.size() && grads[i] ? grads[i]->py() : Py_None);
}

// What a formula is called with, held until it is over.
struct FormulaArguments {
    PyObject* items[64];
    int size = 0;
    void push(PyObject* o) {
        if (!o) throw PythonError();
        items[size++] = o;
    }
    ~FormulaArguments() {
        for (int i = 0; i < size; i++) Py_DECREF(items[i]);
    }
};

// What hooks packed, opened once and before the formula: users count on one call for each saved tensor, in their order.
class Opened {
  public:
    explicit Opened(Node* n) : node_(n) {}
    void open() {
        for (int i = 0; i < node_->nsaved; i++)
            if (node_->saved[i].kind == Saved::Packed) items_.emplace_back(i, unpack(node_->saved[i], node_));
    }
    PyObject* get(int index) {
        for (auto& [known, object] : items_)
            if (known == index) return Py_NewRef(object);
        return unpack(node_->saved[index], node_);
    }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
    ~Opened() {
        for (auto& [index, object] : items_) Py_DECREF(object);
    }

  private:
    Node* node_;
    std::vector<std::pair<int, PyObject*>> items_;
};

void formula_apply(Node* n, Gradients& grads, Gradients& out) {
    const Formula& f = *n->op->formula;
    bool any = false;
    for (auto& g : grads) any = any || g;
    if (!any) return;
    // Where each differentiable input's edges begin.
    auto count = [&](int k) { return n->list_sizes ? (*n->list_sizes)[static_cast<size_t>(k)] : 1; };
    auto start = [&](int k) {
        if (!n->list_sizes) return k;
        int s = 0;
        for (int j = 0; j < k; j++) s += count(j);
        return s;
    };
    auto is_list = [&](int k) {
        ArgKind kind = n->op->schema.args[static_cast<size_t>(f.inputs[static_cast<size_t>(k)])].kind;
        return kind == ArgKind::TensorList || kind == ArgKind::OptionalTensorList;
    };
    auto wanted = [&](int k) {
        for (int j = start(k), e = j + count(k); j < e; j++)
            if (n->edges[j].node) return true;
        return false;
    };
    auto index_of = [&](int arg) {
        return static_cast<int>(std::find(f.inputs.begin(), f.inputs.end(), arg) - f.inputs.begin());
    };

    Opened opened(n);
    opened.open();
    for (const FormulaPart& part : f.parts) {
        bool needed = false;
        for (int arg : part.inputs) needed = needed || wanted(index_of(arg));
        if (!needed) continue;
        FormulaArguments given;
        for (const FormulaArg& p : part.params) {
            PyObject* o = nullptr;
            switch (p.kind) {
                case FormulaArg::Grad:
                    if (static_cast<size_t>(p.index) < grads.size() && !grads[static_cast<size_t>(p.index)])
                        o = n->metas[p.index].dtype == DType::Undefined
                                ? Py_NewRef(Py_None)
                                : engine_zeros(n->metas[p.index]).release()->py();
                    else
                        o = gradient_or_none(grads, static_cast<size_t>(p.index));
                    break;
                case FormulaArg::Grads:
                    o = tuple_of(grads);
                    break;
                case FormulaArg::Sizes: {
                    const Edge& e = n->edges[start(index_of(p.index))];
                    o = e.node ? size_object(e.node->metas[e.nr].sizes) : Py_NewRef(Py_None);
                    break;
                }
                case FormulaArg::Input:
                case FormulaArg::Result:
                case FormulaArg::ListSizes:
                    o = n->saved[p.index].kind == Saved::ObjectList ? PySequence_List(n->saved[p.index].object)
                                                                    : opened.get(p.index);
                    break;
                case FormulaArg::Needs:
                    o = PyTuple_New(static_cast<Py_ssize_t>(part.inputs.size()));
                    for (size_t i = 0; i < part.inputs.size(); i++)
                        PyTuple_SET_ITEM(o, static_cast<Py_ssize_t>(i),
                                         PyBool_FromLong(wanted(index_of(part.inputs[i]))));
                    break;
            }
            given.push(o);
        }
        PyObject* r = call_python(part.fn, given.items, static_cast<size_t>(given.size));
        if (!r) throw PythonError();

        // o: the gradient of differentiable input k (borrowed).
        auto deliver = [&](int k, PyObject* o) {
            int s = start(k);
            if (is_list(k)) {
                if (o == Py_None) return;
                PyObject* seq = PySequence_Fast(o, "the formula of a tensor list returns a sequence of gradients");
                if (!seq) throw PythonError();
                for (Py_ssize_t j = 0; j < PySequence_Fast_GET_SIZE(seq) && j < count(k); j++) {
                    PyObject* g = PySequence_Fast_GET_ITEM(seq, j);
                    if (tensor_check(g))
                        out[static_cast<size_t>(s + j)] = TensorRef::share(reinterpret_cast<Tensor*>(g));
                }
                Py_DECREF(seq);
            } else if (o != Py_None) {
                if (!tensor_check(o))
                    MT_THROW(Type, n->op->node_name, ": the formula of argument '",
                             n->op->schema.args[static_cast<size_t>(f.inputs[static_cast<size_t>(k)])].name,
                             "' returned ", Py_TYPE(o)->tp_name, ", expected a Tensor or None");
                if (n->edges[s].node) out[static_cast<size_t>(s)] = TensorRef::share(reinterpret_cast<Tensor*>(o));
            }
        };
        try {
            if (part.tuple) {
                PyObject* seq = PyTuple_Check(r) || PyList_Check(r) ? r : nullptr;
                if (!seq || PySequence_Fast_GET_SIZE(seq) != static_cast<Py_ssize_t>(part.inputs.size()))
                    MT_THROW(Runtime, n->op->node_name, ": the formula returns one gradient per input it stands for");
                for (size_t i = 0; i < part.inputs.size(); i++)
                    deliver(index_of(part.inputs[i]), PySequence_Fast_GET_ITEM(seq, static_cast<Py_ssize_t>(i)));
            } else {
                deliver(index_of(part.inputs[0]), r);
            }
        } catch (...) {
            Py_DECREF(r);
            throw;
        }
        Py_DECREF(r);
    }
}
const NodeBehaviour kFormula{formula_apply};

bool differentiable_input(const Value& v) {
    if (v.tag == Tag::Tensor) return requires_grad(*v.t);
    if (v.tag == Tag::TensorList)
        for (uint32_t i = 0; i < v.len; i++)
            if (v.tensors[i] && requires_grad(*v.tensors[i])) return true;
    return false;
}

PyTypeObject* node_type_of(const Call& c) {
    Operator& op = const_cast<Operator&>(*c.op);
    if (!op.node_name_of) {
        if (!op.node_type) op.node_type = make_node_type(op.node_name.c_str());
        return op.node_type;
    }
    static auto* types = new std::unordered_map<const char*, PyTypeObject*>;
    PyTypeObject*& type = (*types)[op.node_name_of(c)];
    if (!type) type = make_node_type(op.node_name_of(c));
    return type;
}

void save_argument(Saved& s, const Call& c, int i, bool overwritten) {
    const Value& v = c.args[i];
    if (v.tag == Tag::Tensor) {
        if (overwritten) {
            ExcludeKeys below(kAutogradKeys);
            TensorRef before = call_tensor(g_engine_ops.clone, {Value::of(v.t)});
            copy_tangents(*v.t, *before, true);
            share_history(*v.t, *before);  // for second derivatives
            s.object = before.release()->py();
            s.kind = Saved::Input;
            s.version = reinterpret_cast<Tensor*>(s.object)->version();
            return;
        }
        save(s, v.t, false, 0);
        return;
    }
    PyObject* o = box_argument(c, i);
    s.object = o;
    s.kind = v.tag == Tag::TensorList ? Saved::ObjectList : Saved::Object;
}

}  // namespace

void check_out_without_gradients(const Call& c) {
    // Libraries' operators are left alone, as PyTorch has no derivatives of theirs to miss.
    if (!c.op->full_name.starts_with("aten::")) return;
    for (uint64_t m = c.op->tensor_args; m; m &= m - 1)
        MT_CHECK(!differentiable_input(c.args[__builtin_ctzll(m)]), c.name(),
                 "(): functions with out=... arguments don't support automatic differentiation, but one of the "
                 "arguments requires grad.");
}

namespace {
void record(Call& c) {
    const Operator& op = *c.op;
    KeySet below = c.keys & kBelowAutograd;
    const Formula* f = op.formula.get();
    bool wanted = false;
    if (g_thread.grad_mode) {
        if (op.form == Form::Out) {
            check_out_without_gradients(c);
        } else if (f) {
            for (int i : f->inputs) wanted = wanted || differentiable_input(c.args[i]);
        }
    }
    if (!wanted) {
        if (op.form == Form::Inplace && g_thread.grad_mode && c.args[0].tag == Tag::Tensor && c.args[0].t->autograd)
            check_inplace(*c.args[0].t);
        ExcludeKeys guard(kAutogradKeys);
        run(c, below);
        return;
    }
    struct Geometry {
        Dims sizes, strides;
        int64_t offset;
        explicit Geometry(const Tensor& t) : sizes(t.sizes()), strides(t.strides()), offset(t.offset) {}
        bool operator==(const Tensor& t) const {
            return t.sizes() == IntSpan(sizes) && t.strides() == IntSpan(strides) && t.offset == offset;
        }
    };
    std::unique_ptr<Geometry> before;  // of a view that an in-place operator works on
    if (op.self_index >= 0) {
        Tensor& self = c.mutable_tensor(op.self_index);
        check_inplace(self, true);
        if (is_view(self)) before = std::make_unique<Geometry>(self);
    }

    // Edges first: an in-place operator changes the history of its own input.
    int nedges = 0;
    bool lists = false;
    for (int i : f->inputs) {
        const Value& v = c.args[i];
        ArgKind kind = op.schema.args[static_cast<size_t>(i)].kind;
        if (kind == ArgKind::TensorList || kind == ArgKind::OptionalTensorList) {
            lists = true;
            nedges += static_cast<int>(v.len);
        } else {
            nedges++;
        }
    }
    size_t kept = f->saved_inputs.size() + f->saved_results.size();
    int nsaved = static_cast<int>(kept + f->saved_sizes.size());
    Node* n = new_node(node_type_of(c), &kFormula, nedges, op.nrets, nsaved);
    struct Holder {
        Node* n;
        ~Holder() { Py_DECREF(reinterpret_cast<PyObject*>(n)); }
    } holder{n};
    n->op = &op;
    n->inplace = op.form == Form::Inplace;
    if (lists) n->list_sizes = new std::vector<int>;
    int e = 0;
    uint64_t differentiated = 0;  // arguments that get a gradient
    for (int i : f->inputs) {
        const Value& v = c.args[i];
        const int first = e;
        if (v.tag == Tag::TensorList) {
            for (uint32_t k = 0; k < v.len; k++, e++)
                if (v.tensors[k]) n->edges[e] = gradient_edge(*v.tensors[k]);
            n->list_sizes->push_back(static_cast<int>(v.len));
        } else {
            if (v.tag == Tag::Tensor) n->edges[e] = gradient_edge(*v.t);
            e++;
            if (lists) n->list_sizes->push_back(1);
        }
        for (int k = first; k < e; k++)
            if (n->edges[k].node) differentiated |= uint64_t(1) << i;
    }
    // What the call writes beside its results, running statistics say, is saved as it is after that.
    auto save_arguments = [&](bool written) {
        for (size_t k = 0; k < f->saved_inputs.size(); k++) {
            int i = f->saved_inputs[k];
            const bool overwritten = op.form == Form::Inplace && i == op.self_index;
            if (!(f->read_for[k] & differentiated)) continue;
            if (written != (op.schema.args[i].writes && !overwritten)) continue;
            save_argument(n->saved[k], c, i, overwritten);
        }
    };
    save_arguments(false);
    for (size_t k = 0; k < f->saved_sizes.size(); k++) {
        const Value& v = c.args[f->saved_sizes[k]];
        Saved& s = n->saved[kept + k];
        s.kind = Saved::Object;
        if (v.tag == Tag::Tensor) {
            s.object = Py_BuildValue("(NNL)", size_object(v.t->sizes()), size_object(v.t->strides()),
                                     static_cast<long long>(v.t->offset));
            continue;
        }
        s.object = PyTuple_New(v.len);
        for (uint32_t j = 0; j < v.len; j++) {
            PyObject* sizes = v.tensors[j] ? size_object(v.tensors[j]->sizes()) : Py_NewRef(Py_None);
            PyTuple_SET_ITEM(s.object, j, sizes);
        }
    }
    {
        ExcludeKeys guard(kAutogradKeys);
        run(c, below);
    }
    save_arguments(true);
    // Histories of the results.
    uint32_t nr = 0;
    for (int i = 0; i < op.nrets; i++) {
        Value& v = c.rets[i];
        if (v.tag == Tag::Tensor) {
            if (!(f->nondiff >> i & 1) && is_differentiable(v.t->dtype)) {
                // A view that got other sizes or strides is another view: what it shows was not written.
                if (op.form == Form::Inplace && before && (!(*before == *v.t) || op.inplace_view))
                    set_view_history(*v.t, n, nr);
                else if (op.form == Form::Inplace)
                    rebase_history(*v.t, n, nr);
                else if (op.mutates && op.self_index >= 0 && v.t == c.args[op.self_index].t)
                    rebase_history(*v.t, n, nr);
                else
                    set_history(*v.t, n, nr);
            }
            nr++;
        } else if (v.tag == Tag::Object && PyList_Check(v.obj)) {
            for (Py_ssize_t k = 0; k < PyList_GET_SIZE(v.obj); k++, nr++) {
                PyObject* o = PyList_GET_ITEM(v.obj, k);
                if (tensor_check(o) && is_differentiable(reinterpret_cast<Tensor*>(o)->dtype))
                    set_history(*reinterpret_cast<Tensor*>(o), n, nr);
            }
        } else {
            nr++;
        }
    }
    if (op.nrets == 0 && op.mutates && op.self_index >= 0 && f) rebase_history(c.mutable_tensor(op.self_index), n, 0);
    for (size_t k = 0; k < f->saved_results.size(); k++) {
        int i = f->saved_results[k];
        Saved& s = n->saved[f->saved_inputs.size() + k];
        Value& v = c.rets[i];
        if (v.tag == Tag::Tensor) {
            save(s, v.t, true, static_cast<uint32_t>(i));
            // Its history is the view's, of which this node is a part only.
            if (n->inplace && s.kind == Saved::Output && is_view(*v.t))
                s.unpack = made(PyWeakref_NewRef(reinterpret_cast<PyObject*>(grad_fn_of(*v.t)), nullptr));
        } else if (v.tag == Tag::Object) {
            save_object(s, v.obj);
            if (PyList_Check(v.obj)) s.kind = Saved::ObjectList;  // of tensors; else a number
        } else if (v.tag != Tag::None) {
            s.object = box(v);
            s.kind = Saved::Object;
        }
    }
    if (g_anomaly) record_trace(n);
}
}  // namespace

void run_underived(Call& c) {
    MT_CHECK_AS(NotImplemented, !has_tangents(c), "Trying to use forward AD with ", c.op->name,
                " that does not support it because it has not been implemented yet.");
    record(c);
}

void run_autograd(Call& c) {
    if (__builtin_expect(has_tangents(c), 0))
        run_with_tangents(c, record);
    else
        record(c);
}

// Below autograd: views are tracked, writes are counted.
void run_adinplaceorview(Call& c) {
    const Operator& op = *c.op;
    {
        ExcludeKeys guard{KeySet(Key::ADInplaceOrView)};
        run(c, c.keys & kBelowADInplaceOrView);
    }
    if (op.mutates) {
        for (int i = 0; i < op.nargs; i++) {
            if (!op.schema.args[static_cast<size_t>(i)].writes) continue;
            const Value& v = c.args[i];
            if (v.tag == Tag::Tensor) {
                v.t->bump_version();
            } else if (v.tag == Tag::TensorList) {
                for (uint32_t k = 0; k < v.len; k++)
                    if (v.tensors[k]) v.tensors[k]->bump_version();
            }
        }
        return;
    }
    if (c.args[0].tag != Tag::Tensor) return;
    Tensor& base = *c.args[0].t;
    if (base.flags & kInference || is_sparse(base)) return;
    Creation creation = g_thread.inference_mode ? Creation::Inference
                        : g_thread.grad_mode    ? Creation::Default
                                                : Creation::NoGrad;
    auto track = [&](Tensor& view, Creation how) {
        if (&view == &base) return;
        if (how == Creation::Inference) {  // of an ordinary tensor it is one, too
            view.flags &= static_cast<uint8_t>(~kInference);
            const KeySet lazy = view.keys & kLazyKeys;
            refresh_keys(view);
            view.keys = view.keys | lazy;
        }
        // What detach and view(dtype) return has no part in its source's history: writing to it changes no gradient.
        if (!op.formula && !op.user) return;
        track_view(view, base, how);
        AutogradMeta& a = *view.autograd;
        if (view.dtype != base.dtype || (view.keys & kLazyKeys) != (base.keys & kLazyKeys) ||
            (is_view(base) && base.autograd->view->replay)) {
            // Strides over the base's elements cannot express this view: keep how it was made.
            PyObject* m = PyImport_ImportModule("mindtorch_v2._core.autograd.view_replay");
            if (!m) throw PythonError();
            PyObject* args = made(PyTuple_New(c.nargs - 1));
            for (int i = 1; i < c.nargs; i++) PyTuple_SET_ITEM(args, i - 1, box_argument(c, i));
            PyObject* before = is_view(base) && base.autograd->view->replay ? base.autograd->view->replay : Py_None;
            bool strided_base = is_view(base) && !base.autograd->view->replay;
            PyObject* geometry_args = Py_None;
            if (strided_base)
                geometry_args = Py_BuildValue("(NNL)", size_object(base.sizes()), size_object(base.strides()),
                                              static_cast<long long>(base.offset - base.autograd->view->base->offset));
            PyObject* r =
                PyObject_CallMethod(m, "Replay", "OOOO", before, geometry_args, op.handle ? op.handle : Py_None, args);
            Py_DECREF(m);
            Py_DECREF(args);
            if (strided_base) Py_DECREF(geometry_args);
            if (!r) throw PythonError();
            a.view->replay = r;
        } else if (is_view(base) && base.autograd->view->replay) {
            Py_INCREF(base.autograd->view->replay);
            a.view->replay = base.autograd->view->replay;
        }
    };
    for (int i = 0; i < op.nrets; i++) {
        Value& v = c.rets[i];
        if (v.tag == Tag::Tensor) {
            track(*v.t, creation);
        } else if (v.tag == Tag::Object && PyList_Check(v.obj)) {
            for (Py_ssize_t k = 0; k < PyList_GET_SIZE(v.obj); k++)
                if (tensor_check(PyList_GET_ITEM(v.obj, k)))
                    track(*reinterpret_cast<Tensor*>(PyList_GET_ITEM(v.obj, k)),
                          creation == Creation::Default ? Creation::Multi : creation);
        }
    }
}

}  // namespace mt
