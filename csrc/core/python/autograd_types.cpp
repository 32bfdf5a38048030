// Nodes as Python objects, and the entry points of recording and backward.

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../autograd.h"
#include "../hooks.h"
#include "../node_watch.h"
#include "custom_function.h"
#include "types.h"

namespace mt {

namespace {

PyTypeObject* g_node_type = nullptr;
Node* as_node(PyObject* o) { return reinterpret_cast<Node*>(o); }

// ---- lifetime: a graph is freed iteratively, however deep ----

// Nodes that became free while one was taken apart, the last first.
thread_local bool g_freeing = false;
thread_local Node* g_to_free = nullptr;

void free_node(PyObject* o) {
    Node* n = as_node(o);
    if (n->weakrefs) PyObject_ClearWeakRefs(o);
    if (is_accumulate(n) && n->extra) {
        AutogradMeta* a = reinterpret_cast<Tensor*>(n->extra)->autograd;
        if (a && a->accumulator == n) a->accumulator = nullptr;
    }
    Py_CLEAR(n->dict);
    for (int i = 0; i < n->nsaved; i++) clear(n->saved[i]);
    for (int i = 0; i < n->nedges; i++) Py_XDECREF(reinterpret_cast<PyObject*>(n->edges[i].node));
    Py_CLEAR(n->pre_hooks);
    Py_CLEAR(n->post_hooks);
    Py_CLEAR(n->tensor_hooks);
    Py_CLEAR(n->retains);
    Py_CLEAR(n->extra);
    Py_CLEAR(n->trace);
    if (n->view) {
        Py_XDECREF(n->view->replay);
        delete n->view;
    }
    delete n->list_sizes;
    if (is_function_node(n)) clear_function_node(static_cast<FunctionNode*>(n));
    free_node_object(n);
}
}  // namespace

void node_dealloc(PyObject* o) {
    PyObject_GC_UnTrack(o);
    if (g_freeing) {
        as_node(o)->next_to_free = std::exchange(g_to_free, as_node(o));
        return;
    }
    g_freeing = true;
    free_node(o);
    while (g_to_free) {
        Node* next = std::exchange(g_to_free, g_to_free->next_to_free);
        free_node(reinterpret_cast<PyObject*>(next));
    }
    g_freeing = false;
}
int node_traverse(PyObject* o, visitproc visit, void* arg) {
    Node* n = as_node(o);
    Py_VISIT(Py_TYPE(o));
    Py_VISIT(n->dict);
    for (int i = 0; i < n->nsaved; i++) {
        Py_VISIT(n->saved[i].object);
        Py_VISIT(n->saved[i].unpack);
        Py_VISIT(reinterpret_cast<PyObject*>(n->saved[i].history.node));
    }
    for (int i = 0; i < n->nedges; i++) Py_VISIT(reinterpret_cast<PyObject*>(n->edges[i].node));
    Py_VISIT(n->pre_hooks);
    Py_VISIT(n->post_hooks);
    Py_VISIT(n->tensor_hooks);
    Py_VISIT(n->retains);
    Py_VISIT(n->extra);
    Py_VISIT(n->trace);
    if (n->view) Py_VISIT(n->view->replay);
    if (is_function_node(n)) return traverse_function_node(static_cast<FunctionNode*>(n), visit, arg);
    return 0;
}
int node_clear(PyObject* o) {
    Node* n = as_node(o);
    Py_CLEAR(n->dict);
    for (int i = 0; i < n->nsaved; i++) clear(n->saved[i]);
    Py_CLEAR(n->pre_hooks);
    Py_CLEAR(n->post_hooks);
    Py_CLEAR(n->tensor_hooks);
    Py_CLEAR(n->retains);
    if (is_function_node(n)) clear_function_node(static_cast<FunctionNode*>(n));
    return 0;
}

namespace {

// ---- attributes ----

std::vector<int> shown_positions(const Node* n) {
    if (!n->op || !n->op->formula || n->list_sizes || n->op->shown_edges.empty()) return {};
    const auto& by_name = n->op->shown_edges;
    auto found = by_name.find("");
    if (found == by_name.end()) found = by_name.find(name_of(n));
    return found == by_name.end() ? std::vector<int>{} : found->second;
}
PyObject* shown_edge(const Node* n, int edge) {
    Node* next = edge < 0 ? nullptr : n->edges[edge].node;
    return Py_BuildValue("(OI)", next ? reinterpret_cast<PyObject*>(next) : Py_None, next ? n->edges[edge].nr : 0u);
}
// Inputs as PyTorch has them: with an edge to nowhere for a number that it makes a tensor of, in the order of the
// operator that the node is named after.
PyObject* get_next(PyObject* o, void*) {
    Node* n = as_node(o);
    std::vector<int> shown;
    for (int position : shown_positions(n)) {
        const std::vector<int>& inputs = n->op->formula->inputs;
        auto found = std::find(inputs.begin(), inputs.end(), position);
        int edge = static_cast<int>(found - inputs.begin());
        shown.push_back(found == inputs.end() || edge >= n->nedges ? -1 : edge);
    }
    if (shown.empty())
        for (int i = 0; i < n->nedges; i++) shown.push_back(i);
    PyObject* t = PyTuple_New(static_cast<Py_ssize_t>(shown.size()));
    for (size_t i = 0; t && i < shown.size(); i++) {
        PyObject* edge = shown_edge(n, shown[i]);
        if (!edge) Py_CLEAR(t);
        if (t) PyTuple_SET_ITEM(t, static_cast<Py_ssize_t>(i), edge);
    }
    return t;
}
PyObject* get_metadata(PyObject* o, void*) {
    Node* n = as_node(o);
    if (!n->dict && !(n->dict = PyDict_New())) return nullptr;
    PyObject* key = PyUnicode_InternFromString("_metadata");
    PyObject* m = key ? Py_XNewRef(PyDict_GetItemWithError(n->dict, key)) : nullptr;
    if (key && !m && !PyErr_Occurred()) {
        m = PyDict_New();
        if (m && PyDict_SetItem(n->dict, key, m) < 0) Py_CLEAR(m);
    }
    Py_XDECREF(key);
    return m;
}
PyObject* get_sequence(PyObject* o, PyObject*) { return PyLong_FromUnsignedLongLong(as_node(o)->sequence); }
PyObject* set_sequence(PyObject* o, PyObject* v) {
    unsigned long long number = PyLong_AsUnsignedLongLong(v);
    if (PyErr_Occurred()) return nullptr;
    as_node(o)->sequence = number;
    Py_RETURN_NONE;
}
PyObject* get_variable(PyObject* o, void*) {
    Node* n = as_node(o);
    if (!is_accumulate(n) || !n->extra) {
        PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'variable'", Py_TYPE(o)->tp_name);
        return nullptr;
    }
    Py_INCREF(n->extra);
    return n->extra;
}
PyObject* node_name(PyObject* o, PyObject*) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        std::string name = name_of(as_node(o));
        return PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
    });
}
PyObject* add_hook(PyObject** slot, PyObject* hook) {
    // An ordered dict, because the handle refers to it weakly and a plain dict cannot be.
    if (!*slot) *slot = PyODict_New();
    PyObject* m = PyImport_ImportModule("mindtorch_v2._core.hooks");
    if (!m) return nullptr;
    PyObject* handle = PyObject_CallMethod(m, "RemovableHandle", "O", *slot);
    Py_DECREF(m);
    if (!handle) return nullptr;
    PyObject* id = PyObject_GetAttrString(handle, "id");
    PyODict_SetItem(*slot, id, hook);
    Py_DECREF(id);
    return handle;
}
PyObject* register_hook(PyObject* o, PyObject* hook) { return add_hook(&as_node(o)->post_hooks, hook); }
PyObject* register_prehook(PyObject* o, PyObject* hook) { return add_hook(&as_node(o)->pre_hooks, hook); }

// Node(*grads): run this node alone.
PyObject* node_call(PyObject* o, PyObject* args, PyObject*) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Node* n = as_node(o);
        Gradients in, out(static_cast<size_t>(n->nedges));
        MT_CHECK_TYPE(PyTuple_GET_SIZE(args) == n->noutputs, "expected ", n->noutputs, " arguments, got ",
                      PyTuple_GET_SIZE(args), " instead");
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
            PyObject* g = PyTuple_GET_ITEM(args, i);
            MT_CHECK_TYPE(g == Py_None || tensor_check(g), "argument ", i, " is not a Variable");
            in.push_back(tensor_check(g) ? TensorRef::share(reinterpret_cast<Tensor*>(g)) : TensorRef());
        }
        n->behaviour->apply(n, in, out);
        return out.size() == 1 ? Py_NewRef(out[0] ? out[0]->py() : Py_None) : tuple_of(out);
    });
}

// The tensors that are kept for backward, in the order of keeping; an error after they were freed.
PyObject* saved_tensors_of(Node* n) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        PyObject* list = PyList_New(0);
        for (int i = 0; i < n->nsaved; i++) {
            if (n->saved[i].kind == Saved::Empty) continue;
            PyObject* value = unpack(n->saved[i], n);
            if (!value) {
                Py_DECREF(list);
                return nullptr;
            }
            if (tensor_check(value)) PyList_Append(list, value);
            Py_DECREF(value);
        }
        PyObject* t = PyList_AsTuple(list);
        Py_DECREF(list);
        return t;
    });
}
// Whether each input wants a gradient.
PyObject* needs_input_grad_of(Node* n) {
    PyObject* t = PyTuple_New(n->nedges);
    for (int i = 0; t && i < n->nedges; i++) PyTuple_SET_ITEM(t, i, PyBool_FromLong(n->edges[i].node != nullptr));
    return t;
}

// _saved_self, _saved_result, ...: what a formula keeps, by name. Asked last, so that an instance's own attributes
// count first.
PyObject* node_getattro(PyObject* o, PyObject* name) {
    PyObject* r = PyObject_GenericGetAttr(o, name);
    if (r || !PyErr_ExceptionMatches(PyExc_AttributeError)) return r;
    const char* text = PyUnicode_AsUTF8(name);
    Node* n = as_node(o);
    if (text && (!std::strcmp(text, "_saved_tensors") || !std::strcmp(text, "_needs_input_grad"))) {
        PyErr_Clear();
        return text[1] == 's' ? saved_tensors_of(n) : needs_input_grad_of(n);
    }
    bool raw = text && std::strncmp(text, "_raw_saved_", 11) == 0;
    if (!text || !(raw || std::strncmp(text, "_saved_", 7) == 0) || !n->op || !n->op->formula) return nullptr;
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    const Formula& f = *n->op->formula;
    std::string wanted = text + (raw ? 11 : 7);
    for (int k = 0; !raw && !n->list_sizes && k < n->nedges; k++) {  // the size of an input is what its gradient has
        const std::string& argument = n->op->schema.args[static_cast<size_t>(f.inputs[static_cast<size_t>(k)])].name;
        const Edge& edge = n->edges[k];
        if (wanted != argument + "_sym_sizes" || !edge.node || static_cast<int>(edge.nr) >= edge.node->noutputs)
            continue;
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(tb);
        return size_object(edge.node->metas[edge.nr].sizes);
    }
    for (size_t k = 0; k < f.saved_inputs.size() + f.saved_results.size(); k++) {
        std::string have;
        if (k < f.saved_inputs.size()) {
            have = n->op->schema.args[static_cast<size_t>(f.saved_inputs[k])].name;
        } else {
            int i = f.saved_results[k - f.saved_inputs.size()];
            have = n->op->nrets == 1 ? "result" : "result" + std::to_string(i);
        }
        if (have != wanted) continue;
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(tb);
        return guarded<PyObject*>(nullptr, [&] {
            if (raw) return saved_tensor_object(n, static_cast<int>(k));
            return unpack(n->saved[k], n);
        });
    }
    PyErr_Restore(type, value, tb);
    return nullptr;
}

PyStructSequence_Field g_input_metadata_fields[] = {
    {"shape", "The sizes."}, {"dtype", nullptr}, {"device", nullptr}, {nullptr, nullptr}};
PyStructSequence_Desc g_input_metadata_desc = {
    "torch._C._autograd.InputMetadata", "What the gradient of an output is to be like.", g_input_metadata_fields, 3};
PyTypeObject* g_input_metadata_type = nullptr;

PyObject* get_input_metadata(PyObject* o, void*) {
    Node* n = as_node(o);
    PyObject* t = PyTuple_New(n->noutputs);
    for (int i = 0; t && i < n->noutputs; i++) {
        const InputMeta& m = n->metas[i];
        PyObject* described = PyStructSequence_New(g_input_metadata_type);
        PyObject *sizes = described ? size_object(m.sizes) : nullptr,
                 *device = sizes ? device_object(m.device) : nullptr;
        if (!device) {
            Py_XDECREF(sizes);
            Py_XDECREF(described);
            Py_CLEAR(t);
            break;
        }
        PyStructSequence_SetItem(described, 0, sizes);
        PyStructSequence_SetItem(described, 1, Py_NewRef(dtype_object(m.dtype)));
        PyStructSequence_SetItem(described, 2, device);
        PyTuple_SET_ITEM(t, i, described);
    }
    return t;
}

PyObject* node_backward(PyObject* o, PyObject* args) { return node_call(o, args, nullptr); }

PyMethodDef node_methods[] = {
    {"name", node_name, METH_NOARGS, "The name of the node's kind."},
    {"backward", node_backward, METH_VARARGS,
     "The gradients of the inputs from those of the outputs: this node alone."},
    {"register_hook", register_hook, METH_O, "hook(grad_inputs, grad_outputs), after the node ran."},
    {"register_full_backward_hook", register_hook, METH_O, "Another name of register_hook."},
    {"register_prehook", register_prehook, METH_O, "hook(grad_outputs), before the node runs."},
    {"_sequence_nr", get_sequence, METH_NOARGS, nullptr},
    {"_set_sequence_nr", set_sequence, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef node_getset[] = {
    {"next_functions", safely<get_next>, nullptr, "(node, output number) of each input.", nullptr},
    {"metadata", safely<get_metadata>, nullptr, "A dict for the user.", nullptr},
    {"variable", get_variable, nullptr, "The leaf that an AccumulateGrad node writes to.", nullptr},
    {"_input_metadata", safely<get_input_metadata>, nullptr, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef node_members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(Node, dict), READONLY, nullptr},
                              {"__weaklistoffset__", T_PYSSIZET, offsetof(Node, weakrefs), READONLY, nullptr},
                              {nullptr, 0, 0, 0, nullptr}};
PyType_Slot node_slots[] = {SLOT(Py_tp_dealloc, node_dealloc),
                            SLOT(Py_tp_traverse, node_traverse),
                            SLOT(Py_tp_clear, node_clear),
                            SLOT(Py_tp_methods, node_methods),
                            SLOT(Py_tp_getset, node_getset),
                            SLOT(Py_tp_members, node_members),
                            SLOT(Py_tp_call, node_call),
                            SLOT(Py_tp_getattro, safely<node_getattro>),
                            {0, nullptr}};
PyType_Spec node_spec = {
    "mindtorch_v2._C.Node", sizeof(Node), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, node_slots};

// ---- module functions ----

// torch.autograd.graph.GradientEdge: (node, output number, ...)
bool is_edge(PyObject* o) {
    return PyTuple_Check(o) && PyTuple_GET_SIZE(o) >= 2 &&
           PyType_IsSubtype(Py_TYPE(PyTuple_GET_ITEM(o, 0)), g_node_type) && PyLong_Check(PyTuple_GET_ITEM(o, 1));
}
Edge edge_of(PyObject* o) {
    Node* n = as_node(PyTuple_GET_ITEM(o, 0));
    const long nr = PyLong_AsLong(PyTuple_GET_ITEM(o, 1));
    if (nr == -1 && PyErr_Occurred()) throw PythonError();
    MT_CHECK_AS(Index, nr >= 0 && nr < std::max(n->noutputs, 1), "GradientEdge: ", name_of(n), " has ", n->noutputs,
                " outputs, got output number ", nr);
    Py_INCREF(reinterpret_cast<PyObject*>(n));
    return {n, static_cast<uint32_t>(nr)};
}

// Hooks on saved tensors that are set or taken off on the way back are so for its length.
class SavedHooksAsBefore {
    std::vector<std::pair<PyObject*, PyObject*>> before_ = g_saved_hooks;
    static void drop(std::vector<std::pair<PyObject*, PyObject*>>& hooks) {
        for (auto& [pack, unpack_hook] : std::exchange(hooks, {})) {
            Py_DECREF(pack);
            Py_DECREF(unpack_hook);
        }
    }

  public:
    SavedHooksAsBefore() {
        for (auto& [pack, unpack_hook] : before_) {
            Py_INCREF(pack);
            Py_INCREF(unpack_hook);
        }
    }
    ~SavedHooksAsBefore() {
        g_saved_hooks.swap(before_);
        drop(before_);
    }
    SavedHooksAsBefore(const SavedHooksAsBefore&) = delete;
    SavedHooksAsBefore& operator=(const SavedHooksAsBefore&) = delete;
};

PyObject* py_run_backward(PyObject*, PyObject* args, PyObject* kw) {
    static const char* names[] = {"tensors", "grad_tensors",      "keep_graph",      "create_graph",
                                  "inputs",  "allow_unreachable", "accumulate_grad", nullptr};
    PyObject *tensors, *grads, *inputs = nullptr;
    int keep = 0, create = 0, unreachable = 0, accumulate = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "OOpp|Opp:run_backward", const_cast<char**>(names), &tensors, &grads,
                                     &keep, &create, &inputs, &unreachable, &accumulate))
        return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        const bool some = inputs && inputs != Py_None;
        MT_CHECK_TYPE(PyTuple_Check(tensors) && PyTuple_Check(grads) && (!some || PyTuple_Check(inputs)),
                      "run_backward(): expected tuples of tensors, gradients and inputs");
        MT_CHECK(PyTuple_GET_SIZE(tensors) == PyTuple_GET_SIZE(grads), "got ", PyTuple_GET_SIZE(tensors),
                 " tensors and ", PyTuple_GET_SIZE(grads), " gradients");
        settle_all();
        ExcludeKeys now(Key::Tracer);
        EngineRequest request;
        request.keep_graph = keep;
        request.create_graph = create;
        request.accumulate = accumulate;
        struct Edges {
            std::vector<Edge> held;
            ~Edges() {
                for (Edge& e : held) Py_XDECREF(reinterpret_cast<PyObject*>(e.node));
            }
        } edges;
        Py_ssize_t n = PyTuple_GET_SIZE(tensors);
        for (Py_ssize_t i = 0; i < n; i++) {
            PyObject *t = PyTuple_GET_ITEM(tensors, i), *g = PyTuple_GET_ITEM(grads, i);
            MT_CHECK_TYPE(tensor_check(t) || is_edge(t), "element ", i,
                          " of tensors tuple is not a Tensor or a GradientEdge");
            Edge e = is_edge(t) ? edge_of(t) : gradient_edge(*reinterpret_cast<Tensor*>(t));
            MT_CHECK(e.node, "element ", i, " of tensors does not require grad and does not have a grad_fn");
            edges.held.push_back(e);
            if (g != Py_None) {
                MT_CHECK_TYPE(tensor_check(g), "element ", i, " of gradients tuple is not a Tensor or None");
                request.roots.push_back({e, TensorRef::share(reinterpret_cast<Tensor*>(g))});
            } else {
                MT_THROW(Runtime, "element ", i,
                         " of gradients tuple is None, but the corresponding Tensor requires grad");
            }
        }
        Py_ssize_t ni = some ? PyTuple_GET_SIZE(inputs) : 0;
        for (Py_ssize_t i = 0; i < ni; i++) {
            PyObject* t = PyTuple_GET_ITEM(inputs, i);
            MT_CHECK(tensor_check(t) || is_edge(t), "all inputs have to be Tensors or GradientEdges, but got ",
                     Py_TYPE(t)->tp_name);
            MT_CHECK(accumulate || is_edge(t) || requires_grad(*reinterpret_cast<Tensor*>(t)),
                     "One of the differentiated Tensors does not require grad");
            if (accumulate && tensor_check(t)) retain_grad(*reinterpret_cast<Tensor*>(t));
            Edge e = is_edge(t) ? edge_of(t) : gradient_edge(*reinterpret_cast<Tensor*>(t));
            edges.held.push_back(e);
            request.inputs.push_back(e);
        }
        SavedHooksAsBefore hooks;
        Gradients captured = run_backward(request);
        if (!ni || accumulate) Py_RETURN_NONE;
        PyObject* r = PyTuple_New(ni);
        for (Py_ssize_t i = 0; i < ni; i++) {
            TensorRef& g = captured[static_cast<size_t>(i)];
            if (!edges.held[edges.held.size() - static_cast<size_t>(ni - i)].node) g = {};  // a view without a history
            if (!g && !unreachable) {
                Py_DECREF(r);
                MT_THROW(Runtime, "The differentiated Tensor at index ", i,
                         " appears to not have been used in the graph. Set allow_unused=True if this is the desired "
                         "behavior.");
            }
            PyObject* o = g ? g.release()->py() : Py_NewRef(Py_None);
            PyTuple_SET_ITEM(r, i, o);
        }
        return r;
    });
}
PyObject* py_set_grad_enabled(PyObject*, PyObject* o) {
    int v = PyObject_IsTrue(o);
    if (v < 0) return nullptr;
    g_thread.grad_mode = v;
    Py_RETURN_NONE;
}
PyObject* py_is_grad_enabled(PyObject*, PyObject*) { return PyBool_FromLong(g_thread.grad_mode); }
PyObject* py_set_inference(PyObject*, PyObject* o) {
    int v = PyObject_IsTrue(o);
    if (v < 0) return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        settle_all();
        g_thread.inference_mode = v;
        // Writes are still counted, and views followed, for ordinary tensors: those made here lack ADInplaceOrView.
        g_thread.exclude = v ? g_thread.exclude | kAutogradKeys : g_thread.exclude - kAutogradKeys;
        Py_RETURN_NONE;
    });
}
PyObject* py_is_inference(PyObject*, PyObject*) { return PyBool_FromLong(g_thread.inference_mode); }
PyObject* py_push_saved_hooks(PyObject*, PyObject* args) {
    PyObject *pack, *unpack_hook;
    if (!PyArg_ParseTuple(args, "OO:_push_saved_tensors_default_hooks", &pack, &unpack_hook)) return nullptr;
    if (g_saved_hooks_disabled) {
        PyErr_SetString(PyExc_RuntimeError, g_saved_hooks_disabled);
        return nullptr;
    }
    try {
        settle_all();
    } catch (...) {
        raise_to_python();
        return nullptr;
    }
    Py_INCREF(pack);
    Py_INCREF(unpack_hook);
    g_saved_hooks.push_back({pack, unpack_hook});
    Py_RETURN_NONE;
}
PyObject* py_pop_saved_hooks(PyObject*, PyObject*) {
    if (g_saved_hooks.empty()) {
        PyErr_SetString(PyExc_RuntimeError, "no saved tensors hooks are set");
        return nullptr;
    }
    Py_DECREF(g_saved_hooks.back().first);
    Py_DECREF(g_saved_hooks.back().second);
    g_saved_hooks.pop_back();
    Py_RETURN_NONE;
}
thread_local std::string g_disabled_text;
// Gives back the message of before, or None.
PyObject* py_disable_saved_hooks(PyObject*, PyObject* o) {
    const char* text = o == Py_None ? nullptr : PyUnicode_AsUTF8(o);
    if (o != Py_None && !text) return nullptr;
    if (text && !g_saved_hooks.empty()) {
        PyErr_SetString(PyExc_RuntimeError, text);
        return nullptr;
    }
    PyObject* before = g_saved_hooks_disabled ? PyUnicode_FromString(g_saved_hooks_disabled) : Py_NewRef(Py_None);
    g_disabled_text = text ? text : "";
    g_saved_hooks_disabled = text ? g_disabled_text.c_str() : nullptr;
    return before;
}
PyObject* py_set_anomaly(PyObject*, PyObject* args) {
    int on, nan = 1;
    if (!PyArg_ParseTuple(args, "p|p:set_anomaly_enabled", &on, &nan)) return nullptr;
    g_anomaly = on;
    g_anomaly_check_nan = nan;
    Py_RETURN_NONE;
}
PyObject* py_is_anomaly(PyObject*, PyObject*) { return PyBool_FromLong(g_anomaly); }
PyObject* py_is_anomaly_nan(PyObject*, PyObject*) { return PyBool_FromLong(g_anomaly_check_nan); }
PyObject* py_in_backward(PyObject*, PyObject*) { return PyBool_FromLong(in_backward()); }
PyObject* py_task(PyObject*, PyObject*) { return PyLong_FromLongLong(current_task()); }
PyObject* py_task_is_selective(PyObject*, PyObject*) { return PyBool_FromLong(current_task_is_selective()); }
PyObject* py_next_sequence(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(next_sequence()); }
PyObject* py_watch_nodes(PyObject*, PyObject* watch) {
    if (watch != Py_None && !PyCallable_Check(watch)) {
        PyErr_Format(PyExc_TypeError, "_watch_nodes expects a callable or None, got %s", Py_TYPE(watch)->tp_name);
        return nullptr;
    }
    PyObject* before = set_node_watch(watch == Py_None ? nullptr : Py_NewRef(watch));
    return before ? before : Py_NewRef(Py_None);
}
PyObject* py_will_execute(PyObject*, PyObject* o) {
    return guarded<PyObject*>(nullptr, [&] {
        MT_CHECK(PyType_IsSubtype(Py_TYPE(o), g_node_type), "_will_engine_execute_node expects an grad_fn, but got ",
                 Py_TYPE(o)->tp_name);
        const bool will = will_run(as_node(o));
        MT_CHECK(!current_task_captures() || !is_accumulate(as_node(o)),
                 "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). "
                 "This is currently not supported.");
        return PyBool_FromLong(will);
    });
}
PyObject* py_node_will_run(PyObject*, PyObject* o) {
    return guarded<PyObject*>(nullptr, [&] {
        MT_CHECK_TYPE(PyType_IsSubtype(Py_TYPE(o), g_node_type), "_node_will_run expects a node, got ",
                      Py_TYPE(o)->tp_name);
        return PyBool_FromLong(will_run(as_node(o)));
    });
}
PyObject* py_order(PyObject*, PyObject*) {
    return guarded<PyObject*>(nullptr, [&] {
        const std::vector<Node*> nodes = order_of_execution();
        PyObject* list = made(PyList_New(static_cast<Py_ssize_t>(nodes.size())));
        for (size_t i = 0; i < nodes.size(); i++)
            PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), Py_NewRef(reinterpret_cast<PyObject*>(nodes[i])));
        return list;
    });
}
PyObject* py_current_node(PyObject*, PyObject*) {
    Node* n = current_node();
    return Py_NewRef(n ? reinterpret_cast<PyObject*>(n) : Py_None);
}
PyObject* py_keeps_graph(PyObject*, PyObject*) { return PyBool_FromLong(current_task_keeps_graph()); }
PyObject* py_edge(PyObject*, PyObject* o) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        MT_CHECK_TYPE(tensor_check(o), "_gradient_edge expects a Tensor");
        Edge e = gradient_edge(*reinterpret_cast<Tensor*>(o));
        if (!e.node) Py_RETURN_NONE;
        return Py_BuildValue("(NI)", reinterpret_cast<PyObject*>(e.node), e.nr);
    });
}
PyTypeObject* node_type_named(const char* name) {
    static auto* types = new std::unordered_map<std::string, PyTypeObject*>;
    PyTypeObject*& type = (*types)[name];
    if (!type) type = make_node_type(name);
    return type;
}
void name_last_node(PyObject* result, uint64_t begin, const char* name) {
    if (PyTuple_Check(result) || PyList_Check(result)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); i++)
            name_last_node(PySequence_Fast_GET_ITEM(result, i), begin, name);
        return;
    }
    if (!tensor_check(result)) return;
    const AutogradMeta* a = reinterpret_cast<Tensor*>(result)->autograd;
    Node* node = a && !a->pending && !a->physical ? a->grad_fn : nullptr;
    // A body may give an argument back, with the history that it came with.
    if (!node || node->sequence < begin || is_accumulate(node) || is_copy_slices(node)) return;
    PyTypeObject* before = Py_TYPE(node);
    PyTypeObject* type = node_type_named(name);
    if (before == type) return;
    Py_SET_TYPE(reinterpret_cast<PyObject*>(node), reinterpret_cast<PyTypeObject*>(Py_NewRef(type)));
    Py_DECREF(before);
}
PyObject* py_name_last_node(PyObject*, PyObject* args) {
    PyObject* result;
    unsigned long long begin;
    const char* name;
    if (!PyArg_ParseTuple(args, "OKs:_name_last_node", &result, &begin, &name)) return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        name_last_node(result, begin, name);
        Py_RETURN_NONE;
    });
}
PyMethodDef functions[] = {
    {"_run_backward", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(py_run_backward)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {"_set_grad_enabled", py_set_grad_enabled, METH_O, nullptr},
    {"is_grad_enabled", py_is_grad_enabled, METH_NOARGS,
     "is_grad_enabled($module, /)\n"
     "--\n"
     "\n"
     "Whether operations are recorded on this thread.\n"
     "\n"
     "    >>> with torch.no_grad():\n"
     "    ...     torch.is_grad_enabled()\n"
     "    False"},
    {"_set_inference_mode", py_set_inference, METH_O, nullptr},
    {"is_inference_mode_enabled", py_is_inference, METH_NOARGS,
     "is_inference_mode_enabled($module, /)\n"
     "--\n"
     "\n"
     "Whether inference mode is on for this thread.\n"
     "\n"
     "    >>> with torch.inference_mode():\n"
     "    ...     torch.is_inference_mode_enabled()\n"
     "    True"},
    {"_push_saved_tensors_default_hooks", py_push_saved_hooks, METH_VARARGS, nullptr},
    {"_pop_saved_tensors_default_hooks", py_pop_saved_hooks, METH_NOARGS, nullptr},
    {"_disable_saved_tensors_hooks", py_disable_saved_hooks, METH_O, nullptr},
    {"set_anomaly_enabled", py_set_anomaly, METH_VARARGS, nullptr},
    {"is_anomaly_enabled", py_is_anomaly, METH_NOARGS,
     "is_anomaly_enabled($module, /)\n"
     "--\n"
     "\n"
     "Whether backward shows where the forward of a failing node ran.\n"
     "\n"
     ">>> with torch.autograd.set_detect_anomaly(True):\n"
     "...     torch.is_anomaly_enabled()\n"
     "True\n"},
    {"is_anomaly_check_nan_enabled", py_is_anomaly_nan, METH_NOARGS,
     "is_anomaly_check_nan_enabled($module, /)\n"
     "--\n"
     "\n"
     "Whether anomaly mode, where it is on, takes NaN in a gradient for a failure.\n"
     "\n"
     ">>> with torch.autograd.set_detect_anomaly(True, check_nan=False):\n"
     "...     torch.is_anomaly_check_nan_enabled()\n"
     "False\n"},
    {"_in_backward", py_in_backward, METH_NOARGS, nullptr},
    {"_current_graph_task_id", py_task, METH_NOARGS,
     "The number of the backward run under way on this thread; -1 if none."},
    {"_current_graph_task_is_selective", py_task_is_selective, METH_NOARGS, nullptr},
    {"_next_sequence_nr", py_next_sequence, METH_NOARGS, "The number that the next node of this thread gets."},
    {"_watch_nodes", py_watch_nodes, METH_O,
     "Call watch(node, inner, begins) when a node of this thread begins and ends in backward; None: do not. Returns "
     "the one before."},
    {"_name_last_node", py_name_last_node, METH_VARARGS,
     "_name_last_node(result, begin, name): the nodes of the results, where they were made since the sequence number "
     "begin, get a name."},
    {"_gradient_edge", py_edge, METH_O, nullptr},
    {"_will_engine_execute_node", py_will_execute, METH_O, nullptr},
    {"_node_will_run", py_node_will_run, METH_O, "Whether backward will run a node, leaves under grad() included."},
    {"_order_of_execution", py_order, METH_NOARGS, "The nodes of the backward run under way on this thread, in order."},
    {"_current_autograd_node", py_current_node, METH_NOARGS, "The node that backward runs on this thread, or None."},
    {"_current_graph_task_keep_graph", py_keeps_graph, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyTypeObject* make_node_type(const char* name) {
    // The type keeps the name's address. A name needs a module when a type is made; the types have none to be found in.
    std::string* full = new std::string(std::string("builtins.") + name);
    static PyType_Slot none[] = {SLOT(Py_tp_dealloc, node_dealloc),
                                 SLOT(Py_tp_traverse, node_traverse),
                                 SLOT(Py_tp_clear, node_clear),
                                 {0, nullptr}};
    PyType_Spec spec = {full->c_str(), 0, 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, none};
    PyObject* bases = PyTuple_Pack(1, g_node_type);
    PyObject* type = PyType_FromSpecWithBases(&spec, bases);
    Py_DECREF(bases);
    if (!type) throw PythonError();
    PyTypeObject* made = reinterpret_cast<PyTypeObject*>(type);
    made->tp_name = full->c_str() + std::strlen("builtins.");  // what its objects show of themselves
    return made;
}

bool init_autograd_types(PyObject* module) {
    g_input_metadata_type = PyStructSequence_NewType(&g_input_metadata_desc);
    if (!g_input_metadata_type) return false;
    g_node_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&node_spec));
    if (!g_node_type) return false;
    PyModule_AddObjectRef(module, "Node", reinterpret_cast<PyObject*>(g_node_type));
    return init_custom_function(module, g_node_type) && init_saved_tensor(module) &&
           PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace mt
