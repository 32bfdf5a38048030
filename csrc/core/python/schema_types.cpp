// Schemas as Python sees them: plain tuples, from which `_dispatch/schema.py` makes its frozen classes.
#include "schema_types.h"
#include "../rest.h"
#include "../schema.h"
#include "types.h"

namespace mt {
namespace {

class Owned {
  public:
    explicit Owned(PyObject* o) : o_(o) {
        if (!o) throw PythonError();
    }
    ~Owned() { Py_XDECREF(o_); }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    PyObject* release() { return std::exchange(o_, nullptr); }
    PyObject* get() const { return o_; }

  private:
    PyObject* o_;
};

template <class Items, class F>
PyObject* tuple_of(const Items& items, F f, bool without_last = false) {
    const size_t n = items.size() - without_last;
    Owned t(PyTuple_New(static_cast<Py_ssize_t>(n)));
    for (size_t i = 0; i < n; i++) {
        PyObject* o = f(items[i]);
        if (!o) throw PythonError();
        PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), o);
    }
    return t.release();
}

PyObject* text_object(const std::string& s) {
    return PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "surrogateescape");
}

// (kind, text, annotation, items)
PyObject* type_object(const Type& t) {
    return Py_BuildValue("sNNN", t.kind_name(), text_object(t.text()), text_object(t.annotation()),
                         tuple_of(t.items, [](const TypeRef& i) { return type_object(*i); }));
}

PyObject* alias_object(const AliasInfo& a) {
    if (!a.present) Py_RETURN_NONE;
    return Py_BuildValue("NNNO", tuple_of(a.before, text_object), tuple_of(a.after, text_object),
                         tuple_of(a.items, alias_object), a.writes ? Py_True : Py_False);
}

PyObject* argument_object(const Argument& a) {
    PyObject* size = a.sized ? PyLong_FromLong(a.list_size) : Py_NewRef(Py_None);
    return Py_BuildValue("NNNNNOO", text_object(a.name), type_object(*a.type), size, literal_object(a.literal),
                         alias_object(a.alias_info), a.has_default ? Py_True : Py_False,
                         a.keyword_only ? Py_True : Py_False);
}

PyObject* parse(PyObject*, PyObject* args) {
    const char* text;
    Py_ssize_t size;
    int type_variables = 1;
    if (!PyArg_ParseTuple(args, "s#|p:parse_schema", &text, &size, &type_variables)) return nullptr;
    return guarded<PyObject*>(nullptr, [&] {
        return schema_object(parse_schema(std::string(text, static_cast<size_t>(size)), type_variables));
    });
}

PyMethodDef functions[] = {{"_parse_schema", parse, METH_VARARGS, "_parse_schema(text, type_variables=True) -> tuple"},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* literal_object(const Literal& l) {
    switch (l.kind) {
        case Literal::Bool:
            return PyBool_FromLong(l.b);
        case Literal::Int:
            return PyLong_FromLongLong(l.i);
        case Literal::Float:
            return PyFloat_FromDouble(l.d);
        case Literal::Complex:
            return PyComplex_FromDoubles(0, l.d);
        case Literal::String:
            return text_object(l.s);
        case Literal::List: {
            Owned list(PyList_New(static_cast<Py_ssize_t>(l.items.size())));
            for (size_t i = 0; i < l.items.size(); i++)
                PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), literal_object(l.items[i]));
            return list.release();
        }
        default:
            Py_RETURN_NONE;
    }
}

// (name, overload, arguments, returns, vararg, varret, text)
PyObject* schema_object(const Schema& s) {
    return Py_BuildValue("NNNNOON", text_object(s.full_name()), text_object(s.overload),
                         tuple_of(s.args, argument_object, !s.args.empty() && is_rest(s.args.back())),
                         tuple_of(s.returns, argument_object, !s.returns.empty() && is_rest(s.returns.back())),
                         s.vararg ? Py_True : Py_False, s.varret ? Py_True : Py_False, text_object(s.text()));
}

bool init_schema_types(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace mt
