// The "..." of a schema at a call.
#include "rest.h"

#include "python/box.h"
#include "python/operator_values.h"

namespace mt {

void add_rest(Schema& s) {
    if (s.vararg && (s.args.empty() || !is_rest(s.args.back()))) {
        Argument a;
        a.name = "...";
        a.type = type_of(TypeKind::List, {simple_type(TypeKind::Tensor)});
        a.type_text = "...";
        a.kind = ArgKind::TensorList;
        a.keyword_only = true;  // it stands behind all others
        s.args.push_back(std::move(a));
    }
    if (s.varret && (s.returns.empty() || !is_rest(s.returns.back()))) {
        Argument r;
        r.name = "...";
        r.type = type_of(TypeKind::List, {simple_type(TypeKind::Any)});
        r.type_text = "...";
        s.returns.push_back(std::move(r));
    }
}

void bind_rest(PyObject* const* given, Py_ssize_t n, Call& c) {
    const int at = c.nargs - 1;
    PyObject* all = PyTuple_New(n);
    if (!all) throw PythonError();
    c.arena->hold(all);
    Tensor** tensors =
        static_cast<Tensor**>(c.arena->take(sizeof(Tensor*) * static_cast<size_t>(std::max<Py_ssize_t>(n, 1))));
    Value v;
    v.tag = Tag::TensorList;
    v.tensors = tensors;
    v.len = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyTuple_SET_ITEM(all, i, Py_NewRef(given[i]));
        if (tensor_check(given[i])) tensors[v.len++] = reinterpret_cast<Tensor*>(given[i]);
    }
    c.args[at] = v;
    c.source[at] = all;
}

PyObject* rest_of(const Call& c) {
    const int at = c.nargs - 1;
    const Value& v = c.args[at];
    PyObject* all = c.source[at];
    const Py_ssize_t n = all ? PyTuple_GET_SIZE(all) : static_cast<Py_ssize_t>(v.tag == Tag::TensorList ? v.len : 0);
    PyObject* tuple = PyTuple_New(n);
    if (!tuple) throw PythonError();
    uint32_t used = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject* given = all ? PyTuple_GET_ITEM(all, i) : nullptr;
        if (!given || tensor_check(given)) given = v.tensors[used++]->py();
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(given));
    }
    return tuple;
}

void take_with_rest(Call& c, PyObject* result) {
    const Operator& op = *c.op;
    const Py_ssize_t named = c.nrets - 1;
    PyObject* all = result == Py_None                               ? PyTuple_New(0)
                    : PyTuple_Check(result) || PyList_Check(result) ? PySequence_Tuple(result)
                                                                    : PyTuple_Pack(1, result);
    Py_DECREF(result);
    if (!all) throw PythonError();
    const Py_ssize_t n = PyTuple_GET_SIZE(all);
    if (n < named) {
        Py_DECREF(all);
        MT_THROW(Runtime, op.full_name, " must return at least ", named, " values, as its schema says, but returned ",
                 n, ". Schema: ", op.schema.text());
    }
    try {
        const Strict strict(op.user);
        for (Py_ssize_t i = named; i < n && Strict::on(); i++)
            MT_CHECK(has_type(PyTuple_GET_ITEM(all, i)), op.full_name, ": result ", i, " is of the type '",
                     Py_TYPE(PyTuple_GET_ITEM(all, i))->tp_name, "', for which the schema language has none");
        for (Py_ssize_t i = 0; i < named; i++)
            unbox_result(c.rets[i], Py_NewRef(PyTuple_GET_ITEM(all, i)), op.schema.returns[static_cast<size_t>(i)], op);
        PyObject* rest = PyList_New(n - named);
        if (!rest) throw PythonError();
        for (Py_ssize_t i = named; i < n; i++) PyList_SET_ITEM(rest, i - named, Py_NewRef(PyTuple_GET_ITEM(all, i)));
        c.rets[named] = Value::object(rest);
    } catch (...) {
        Py_DECREF(all);
        throw;
    }
    Py_DECREF(all);
}

PyObject* box_with_rest(Call& c) {
    const Py_ssize_t named = c.nrets - 1;
    PyObject* rest = c.rets[named].tag == Tag::Object ? c.rets[named].obj : nullptr;
    const Py_ssize_t more = rest ? PyList_GET_SIZE(rest) : 0;
    PyObject* tuple = PyTuple_New(named + more);
    for (Py_ssize_t i = 0; i < named; i++) {
        const Value& v = c.rets[i];
        PyTuple_SET_ITEM(tuple, i, v.tag == Tag::Tensor ? v.t->py() : v.tag == Tag::Object ? v.obj : box(v));
    }
    for (Py_ssize_t i = 0; i < more; i++) PyTuple_SET_ITEM(tuple, named + i, Py_NewRef(PyList_GET_ITEM(rest, i)));
    Py_XDECREF(rest);
    if (named + more > 1) return tuple;
    PyObject* only = Py_NewRef(named + more ? PyTuple_GET_ITEM(tuple, 0) : Py_None);
    Py_DECREF(tuple);
    return only;
}

}  // namespace mt
