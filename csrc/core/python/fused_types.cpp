// Loops of kernels as Python objects, and programs of them: what torch.compile's CPU back end builds with
// (mindtorch_v2/_lowered/fusion.py).
#include "../fused.h"

#include <new>

#include "../autograd.h"
#include "../lazy_views.h"
#include "box.h"
#include "types.h"

namespace mt {
namespace {

// ---- a recorded loop ----

struct LoopObject {
    PyObject_HEAD RecordedLoop loop;
    PyObject* operands;  // a tuple of (place, number, dtype, reach)
};
PyTypeObject* g_loop_type;

void loop_dealloc(PyObject* self) {
    auto* o = reinterpret_cast<LoopObject*>(self);
    o->loop.~RecordedLoop();
    Py_XDECREF(o->operands);
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}
PyObject* loop_row(PyObject* self, void*) { return PyLong_FromLongLong(reinterpret_cast<LoopObject*>(self)->loop.row); }
PyObject* loop_outputs(PyObject* self, void*) {
    return PyLong_FromLong(reinterpret_cast<LoopObject*>(self)->loop.outputs);
}
PyObject* loop_operands(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<LoopObject*>(self)->operands); }
PyGetSetDef loop_getset[] = {{"row", loop_row, nullptr, nullptr, nullptr},
                             {"outputs", loop_outputs, nullptr, nullptr, nullptr},
                             {"operands", loop_operands, nullptr, nullptr, nullptr},
                             {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot loop_slots[] = {SLOT(Py_tp_dealloc, loop_dealloc), SLOT(Py_tp_getset, loop_getset), {0, nullptr}};
PyType_Spec loop_spec = {"mindtorch_v2._C._Loop", sizeof(LoopObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, loop_slots};

// The place of a loop's tensor: of an argument from 0 on, of result k -1 - k; None for another tensor.
PyObject* place_of(const Tensor* t, PyObject* tensors, PyObject* results) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); i++)
        if (PyTuple_GET_ITEM(tensors, i) == t->py()) return PyLong_FromSsize_t(i);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(results); i++)
        if (PyTuple_GET_ITEM(results, i) == t->py()) return PyLong_FromSsize_t(-1 - i);
    Py_RETURN_NONE;
}

PyObject* loop_object(RecordedLoop&& loop, PyObject* tensors, PyObject* results) {
    PyObject* operands = PyTuple_New(static_cast<Py_ssize_t>(loop.operands.size()));
    if (!operands) throw PythonError();
    for (size_t k = 0; k < loop.operands.size(); k++) {
        const LoopOperand& o = loop.operands[k];
        PyObject* place = o.t ? place_of(o.t, tensors, results) : Py_NewRef(Py_None);
        PyObject* number = o.t ? Py_NewRef(Py_None) : box(o.number);
        PyObject* item = Py_BuildValue("(NNOi)", place, number, dtype_object(o.dtype), static_cast<int>(o.reach));
        if (!item) throw PythonError();
        PyTuple_SET_ITEM(operands, static_cast<Py_ssize_t>(k), item);
    }
    auto* made = reinterpret_cast<LoopObject*>(g_loop_type->tp_alloc(g_loop_type, 0));
    if (!made) throw PythonError();
    new (&made->loop) RecordedLoop(std::move(loop));
    made->operands = operands;
    return reinterpret_cast<PyObject*>(made);
}

// _record_loops(function, args, kwargs, tensors): (results as a tuple, the loops that kernels handed in).
PyObject* record_loops(PyObject*, PyObject* args) {
    PyObject *function, *given, *keywords, *tensors;
    if (!PyArg_ParseTuple(args, "OO!O!O!:_record_loops", &function, &PyTuple_Type, &given, &PyDict_Type, &keywords,
                          &PyTuple_Type, &tensors))
        return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        std::vector<RecordedLoop> loops;
        PyObject* result;
        {
            LoopRecorder recorder;
            result = PyObject_Call(function, given, keywords);
            loops = std::move(recorder.loops);
        }
        if (!result) throw PythonError();
        PyObject* results = PyTuple_Check(result)  ? Py_NewRef(result)
                            : PyList_Check(result) ? PyList_AsTuple(result)
                                                   : PyTuple_Pack(1, result);
        Py_DECREF(result);
        if (!results) throw PythonError();
        // A copy as a plain tuple: a named one is a tuple as well.
        PyObject* list = PyList_New(0);
        for (RecordedLoop& loop : loops) {
            PyObject* o = loop_object(std::move(loop), tensors, results);
            PyList_Append(list, o);
            Py_DECREF(o);
        }
        return Py_BuildValue("(NN)", results, list);
    });
}

// ---- a program ----

struct ProgramObject {
    PyObject_HEAD vectorcallfunc call;
    FusedProgram program;
    PyObject* kept;  // the loops
};
PyTypeObject* g_program_type;

PyObject* program_call(PyObject* self, PyObject* const* args, size_t nargs, PyObject* keywords) {
    const FusedProgram& p = reinterpret_cast<ProgramObject*>(self)->program;
    const Py_ssize_t n = PyVectorcall_NARGS(nargs);
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        MT_CHECK_TYPE(n == p.inputs && !keywords, "this fused program takes ", p.inputs, " tensors, got ", n);
        SmallVector<Tensor*, 16> inputs, outputs;
        std::vector<TensorRef> worked_out;  // the numbers of lazy views: the machine reads memory
        for (Py_ssize_t i = 0; i < n; i++) {
            MT_CHECK_TYPE(tensor_check(args[i]), "argument ", i, " of a fused program must be a Tensor, not ",
                          Py_TYPE(args[i])->tp_name);
            Tensor& t = as_tensor(args[i]);
            const FusedValue& v = p.values[static_cast<size_t>(i)];
            MT_CHECK(t.dtype == v.dtype && t.is_cpu(), "argument ", i, " of a fused program must be of dtype ",
                     dtype_name(v.dtype), " on the CPU, got ", dtype_name(t.dtype), " on ", device_name(t.device));
            MT_CHECK(t.ndim <= p.sizes.size(), "argument ", i,
                     " of a fused program has too many dimensions: ", t.sizes());
            for (int64_t d = 0; d < t.ndim; d++) {
                const int64_t size = p.sizes[p.sizes.size() - t.ndim + d];
                MT_CHECK(t.size(d) == size || t.size(d) == 1, "argument ", i, " of a fused program has the sizes ",
                         t.sizes(), ", which do not fit ", IntSpan(p.sizes));
            }
            if (is_lazy(t)) worked_out.push_back(materialized(t));
            inputs.push_back(is_lazy(t) ? worked_out.back().get() : &t);
        }
        std::vector<TensorRef> made;
        made.reserve(p.outputs.size());
        for (const FusedOutput& o : p.outputs) {
            made.push_back(empty_strided(o.sizes, o.strides, p.values[static_cast<size_t>(o.value)].dtype));
            outputs.push_back(made.back().get());
        }
        fused_machine().run(p, inputs.begin(), outputs.begin());
        if (made.size() == 1) return made[0].release()->py();
        PyObject* results = PyTuple_New(static_cast<Py_ssize_t>(made.size()));
        if (!results) throw PythonError();
        for (size_t k = 0; k < made.size(); k++)
            PyTuple_SET_ITEM(results, static_cast<Py_ssize_t>(k), made[k].release()->py());
        return results;
    });
}

int64_t int_of(PyObject* o) {
    const int64_t v = PyLong_AsLongLong(o);
    if (v == -1 && PyErr_Occurred()) throw PythonError();
    return v;
}
Dims dims_of(PyObject* o) {
    MT_CHECK_TYPE(PyTuple_Check(o), "expected a tuple of int");
    Dims dims;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); i++) dims.push_back(int_of(PyTuple_GET_ITEM(o, i)));
    return dims;
}
template <class F>
void each(PyObject* tuple, int items, const F& f) {
    MT_CHECK_TYPE(PyTuple_Check(tuple), "expected a tuple");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject* item = PyTuple_GET_ITEM(tuple, i);
        MT_CHECK_TYPE(PyTuple_Check(item) && PyTuple_GET_SIZE(item) == items, "expected a tuple of ", items);
        f(item);
    }
}
int value_of(const FusedProgram& p, PyObject* o) {
    const int64_t v = int_of(o);
    MT_CHECK_INDEX(v >= 0 && v < static_cast<int64_t>(p.values.size()), "a fused program has no value ", v);
    return static_cast<int>(v);
}
Value number_of(PyObject* o) {
    if (PyBool_Check(o)) return Value::of(o == Py_True);
    if (PyLong_Check(o)) return Value::of(int_of(o));
    if (PyFloat_Check(o)) return Value::of(PyFloat_AS_DOUBLE(o));
    MT_CHECK_TYPE(PyComplex_Check(o), "expected a number, got ", Py_TYPE(o)->tp_name);
    return Value::of(c128(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
}

// What the machine takes for granted.
void check(const FusedProgram& p) {
    const int64_t n = p.sizes.size();
    std::vector<bool> seen(static_cast<size_t>(n), false);
    MT_CHECK(p.order.size() == n && p.row_dims >= 0 && p.row_dims <= n,
             "a fused program's order does not fit its sizes");
    for (int64_t d : p.order) {
        MT_CHECK(d >= 0 && d < n && !seen[static_cast<size_t>(d)], "a fused program's order is no permutation");
        seen[static_cast<size_t>(d)] = true;
    }
    MT_CHECK(p.inputs <= static_cast<int>(p.values.size()), "a fused program has more inputs than values");
    std::vector<bool> made(p.values.size(), false);
    for (int v = 0; v < p.inputs; v++) made[static_cast<size_t>(v)] = true;
    for (const FusedNumber& number : p.numbers) made[static_cast<size_t>(number.value)] = true;
    for (const FusedStep& s : p.steps) {
        const size_t outputs = s.loop ? static_cast<size_t>(s.loop->outputs) : 1;
        MT_CHECK(s.values.size() == (s.loop ? s.loop->operands.size() : 2) && s.values.size() <= kMostStepValues,
                 "a step of a fused program has ", s.values.size(), " values");
        for (size_t k = 0; k < s.values.size(); k++) {
            const size_t v = static_cast<size_t>(s.values[k]);
            MT_CHECK(made[v] == (k >= outputs), "a step of a fused program ",
                     k < outputs ? "writes a value twice" : "reads a value that is not there yet");
            if (s.loop)
                MT_CHECK(p.values[v].dtype == s.loop->operands[k].dtype, "a step's value is of dtype ",
                         dtype_name(p.values[v].dtype), ", its loop takes ", dtype_name(s.loop->operands[k].dtype));
        }
        for (size_t k = 0; k < outputs; k++) made[static_cast<size_t>(s.values[k])] = true;
    }
    std::vector<bool> given(p.values.size(), false);
    for (const FusedOutput& o : p.outputs) {
        const size_t v = static_cast<size_t>(o.value);
        MT_CHECK(made[v] && o.value >= p.inputs && !given[v] && p.values[v].reach != Reach::Columns,
                 "a fused program gives a value that it does not make, or one twice");
        given[v] = true;
        int64_t expected = 1, found = 1;
        for (int64_t d = 0; d < n - (p.values[v].reach == Reach::Row ? p.row_dims : 0); d++) expected *= p.sizes[d];
        for (int64_t size : o.sizes) found *= size;
        MT_CHECK(expected == found && o.strides.size() == o.sizes.size(), "a result of a fused program has ", found,
                 " elements, its value ", expected);
    }
}

// _FusedLoops(sizes, order, row_dims, inputs, values, numbers, steps, outputs)
PyObject* program_new(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject *sizes, *order, *values, *numbers, *steps, *outputs;
    long long row_dims;
    int inputs;
    if (!PyArg_ParseTuple(args, "OOLiOOOO:_FusedLoops", &sizes, &order, &row_dims, &inputs, &values, &numbers, &steps,
                          &outputs))
        return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        FusedProgram p;
        p.sizes = dims_of(sizes);
        p.order = dims_of(order);
        p.row_dims = row_dims;
        p.inputs = inputs;
        each(values, 2, [&](PyObject* item) {
            const int64_t reach = int_of(PyTuple_GET_ITEM(item, 1));
            MT_CHECK(reach >= 0 && reach <= 2, "no such reach: ", reach);
            p.values.push_back({dtype_from_python(PyTuple_GET_ITEM(item, 0)), static_cast<Reach>(reach)});
        });
        each(numbers, 2, [&](PyObject* item) {
            p.numbers.push_back({value_of(p, PyTuple_GET_ITEM(item, 0)), number_of(PyTuple_GET_ITEM(item, 1))});
        });
        each(steps, 2, [&](PyObject* item) {
            PyObject *loop = PyTuple_GET_ITEM(item, 0), *of = PyTuple_GET_ITEM(item, 1);
            FusedStep s;
            MT_CHECK_TYPE(loop == Py_None || Py_TYPE(loop) == g_loop_type, "a step has a loop or None");
            if (loop != Py_None) s.loop = &reinterpret_cast<LoopObject*>(loop)->loop;
            MT_CHECK_TYPE(PyTuple_Check(of), "a step's values are a tuple");
            for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(of); k++)
                s.values.push_back(value_of(p, PyTuple_GET_ITEM(of, k)));
            p.steps.push_back(std::move(s));
        });
        each(outputs, 3, [&](PyObject* item) {
            p.outputs.push_back({value_of(p, PyTuple_GET_ITEM(item, 0)), dims_of(PyTuple_GET_ITEM(item, 1)),
                                 dims_of(PyTuple_GET_ITEM(item, 2))});
        });
        check(p);
        fused_machine().prepare(p);
        auto* made = reinterpret_cast<ProgramObject*>(type->tp_alloc(type, 0));
        if (!made) throw PythonError();
        made->call = program_call;
        new (&made->program) FusedProgram(std::move(p));
        made->kept = Py_NewRef(steps);
        return reinterpret_cast<PyObject*>(made);
    });
}
void program_dealloc(PyObject* self) {
    auto* o = reinterpret_cast<ProgramObject*>(self);
    o->program.~FusedProgram();
    Py_XDECREF(o->kept);
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}
PyMemberDef program_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(ProgramObject, call), READONLY, nullptr},
                                 {nullptr, 0, 0, 0, nullptr}};
PyType_Slot program_slots[] = {SLOT(Py_tp_new, program_new),
                               SLOT(Py_tp_dealloc, program_dealloc),
                               SLOT(Py_tp_call, PyVectorcall_Call),
                               SLOT(Py_tp_members, program_members),
                               {0, nullptr}};
PyType_Spec program_spec = {"mindtorch_v2._C._FusedLoops", sizeof(ProgramObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL, program_slots};

PyMethodDef functions[] = {{"_record_loops", record_loops, METH_VARARGS,
                            "The loops that the kernels of a call would run, instead of running them."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_fused_types(PyObject* module) {
    g_loop_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&loop_spec));
    g_program_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&program_spec));
    return g_loop_type && g_program_type &&
           PyModule_AddObjectRef(module, "_Loop", reinterpret_cast<PyObject*>(g_loop_type)) == 0 &&
           PyModule_AddObjectRef(module, "_FusedLoops", reinterpret_cast<PyObject*>(g_program_type)) == 0 &&
           PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace mt
