// Where a program enqueued work: the last calls that a device's back end noted, each with the line of the program that
// led to it. What fails on a device fails later, and somewhere else.
#include "types.h"

#include <cstring>
#include <string>

namespace mt {
namespace {

struct Noted {
    PyObject *what = nullptr, *code = nullptr;  // code: null where no frame is the program's
    int instruction = 0;
    int64_t device = 0, stream = 0, task = 0;
};
constexpr size_t kKept = 4096;
Noted g_noted[kKept];
size_t g_count = 0;    // of all calls so far
std::string g_inside;  // files that are not the program's begin so

bool is_inside(PyCodeObject* code) {
    const char* name = PyUnicode_AsUTF8(code->co_filename);
    if (!name) PyErr_Clear();
    return name && std::strncmp(name, g_inside.c_str(), g_inside.size()) == 0;
}

// The innermost frame of the program, as code and instruction; null if there is none.
PyObject* program_code(int* instruction) {
    PyFrameObject* frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    while (frame) {
        PyCodeObject* code = PyFrame_GetCode(frame);
        if (!is_inside(code)) {
            *instruction = PyFrame_GetLasti(frame);
            Py_DECREF(frame);
            return reinterpret_cast<PyObject*>(code);
        }
        Py_DECREF(code);
        PyFrameObject* back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    return nullptr;
}

// _note_calls_outside(folder): files below the folder are not the program's.
PyObject* py_note_calls_outside(PyObject*, PyObject* folder) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        g_inside = utf8_of(folder);
        Py_RETURN_NONE;
    });
}

// _note_call(what, device, stream, task): remembers a call, and forgets the oldest.
PyObject* py_note_call(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (count != 4) {
        PyErr_Format(PyExc_TypeError, "_note_call expects 4 arguments, got %zd", count);
        return nullptr;
    }
    Noted made;
    int64_t* numbers[] = {&made.device, &made.stream, &made.task};
    for (int i = 0; i < 3; i++) {
        *numbers[i] = PyLong_AsLongLong(args[i + 1]);
        if (*numbers[i] == -1 && PyErr_Occurred()) return nullptr;
    }
    made.what = Py_NewRef(args[0]);
    made.code = program_code(&made.instruction);
    std::swap(g_noted[g_count++ % kKept], made);
    Py_XDECREF(made.what);
    Py_XDECREF(made.code);
    Py_RETURN_NONE;
}

// _noted_calls() -> [(what, code or None, instruction, device, stream, task)], the oldest first.
PyObject* py_noted_calls(PyObject*, PyObject*) {
    PyObject* r = PyList_New(0);
    for (size_t i = g_count > kKept ? g_count - kKept : 0; r && i < g_count; i++) {
        const Noted& n = g_noted[i % kKept];
        PyObject* one = Py_BuildValue("(OOiLLL)", n.what, n.code ? n.code : Py_None, n.instruction,
                                      static_cast<long long>(n.device), static_cast<long long>(n.stream),
                                      static_cast<long long>(n.task));
        if (!one || PyList_Append(r, one) < 0) Py_CLEAR(r);
        Py_XDECREF(one);
    }
    return r;
}

PyMethodDef functions[] = {
    {"_note_calls_outside", py_note_calls_outside, METH_O, nullptr},
    {"_note_call", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(py_note_call)), METH_FASTCALL, nullptr},
    {"_noted_calls", py_noted_calls, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool init_call_sites(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace mt
