// Registration across the boundary: through the same Library that Python programs use.
#include "boundary/boundary.h"
#include "core/schema_classes.h"

namespace mt::boundary {
namespace {

// A registration before this one may have failed while the library loads: its exception waits until that is over.
template <class F>
int registered(F&& body) {
    Locked locked;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    int status = reported(body);
    if (type) PyErr_Restore(type, value, trace);
    return status;
}

int library(const char* kind, const char* ns, const char* key, const char* file, int line, mt_object* out) {
    return registered([&] {
        Owned k(text(kind)), n(text(ns)), d(text(key)), where(PyUnicode_FromFormat("%s:%d", file, line));
        *out = handle(call_hook("library", {k.get(), n.get(), d.get(), where.get()}));
    });
}
int define(mt_object lib, const char* schema, const char* const* tags, int32_t ntags) {
    return registered([&] {
        Owned s(text(schema)), t(PyList_New(0));
        for (int32_t i = 0; i < ntags; i++) {
            Owned one(text(tags[i]));
            if (PyList_Append(t.get(), one.get()) < 0) throw PythonError();
        }
        Py_DECREF(call_hook("define", {object(lib), s.get(), t.get()}));
    });
}
int implement(mt_object lib, const char* name, const char* key, mt_kernel fn, void* context, mt_release release) {
    return registered([&] {
        Owned n(text(name)), d(text(key)), k(fn ? new_kernel(fn, context, release) : Py_NewRef(Py_None));
        Py_DECREF(call_hook("implement", {object(lib), n.get(), d.get(), k.get()}));
    });
}
int fallback(mt_object lib, const char* key, mt_kernel fn, void* context, mt_release release) {
    return registered([&] {
        Owned d(text(key)), k(fn ? new_kernel(fn, context, release) : Py_NewRef(Py_None));
        Py_DECREF(call_hook("fallback", {object(lib), d.get(), k.get()}));
    });
}
int define_class(mt_object lib, const char* name, const char* doc) {
    return registered([&] {
        Owned n(text(name)), d(text(doc));
        Owned qualified(call_hook("define_class", {object(lib), n.get(), d.get()}));
        add_class(utf8_of(qualified.get()));
    });
}
int define_method(mt_object lib, const char* cls, const char* name, char kind, const char* doc) {
    return registered([&] {
        Owned c(text(cls)), n(text(name)), k(PyUnicode_FromFormat("%c", kind)), d(text(doc));
        Py_DECREF(call_hook("define_method", {object(lib), c.get(), n.get(), k.get(), d.get()}));
    });
}

}  // namespace

void fill_registration(mt_boundary& b) {
    b.library = library;
    b.define = define;
    b.implement = implement;
    b.fallback = fallback;
    b.define_class = define_class;
    b.define_method = define_method;
}

}  // namespace mt::boundary
