#include "driver.h"

#include <cstdio>
#include <cstdlib>

namespace fuzzing {
namespace {

PyObject* g_variables = nullptr;
std::vector<PyObject*> g_forbidden;

[[noreturn]] void give_up(const char* why) {
    if (PyErr_Occurred()) PyErr_Print();
    std::fprintf(stderr, "%s\n", why);
    std::fflush(nullptr);
    std::abort();
}

void initialize() {
    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    config.install_signal_handlers = 0;
    if (const char* program = std::getenv("MINDTORCH_FUZZ_PYTHON"))
        PyConfig_SetBytesString(&config, &config.program_name, program);
    PyStatus status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status)) Py_ExitStatusException(status);
}

}  // namespace

PyObject* start(const char* program) {
    initialize();
    PyObject* main = PyImport_AddModule("__main__");
    g_variables = PyModule_GetDict(main);
    const std::string whole = std::string(
                                  "import mindtorch_v2 as torch, warnings\nwarnings.simplefilter('ignore')\n"
                                  "torch.set_num_threads(1)\n") +
                              program;
    Ref done(PyRun_String(whole.c_str(), Py_file_input, g_variables, g_variables));
    if (!done) give_up("the target's program does not run");
    g_forbidden = {PyExc_SystemError, PyExc_AssertionError, PyExc_NameError,
                   PyExc_ImportError, PyExc_AttributeError, PyExc_RecursionError};
    return g_variables;
}

PyObject* found(const char* name) {
    PyObject* object = PyDict_GetItemString(g_variables, name);
    if (!object) give_up(name);
    return object;
}

bool is_well(PyObject* result, const char* what) {
    if (result) {
        if (PyErr_Occurred()) give_up((std::string(what) + ": a result, and an exception").c_str());
        return true;
    }
    if (!PyErr_Occurred()) give_up((std::string(what) + ": no result, and no exception").c_str());
    for (PyObject* kind : g_forbidden)
        if (PyErr_ExceptionMatches(kind))
            give_up((std::string(what) + ": an exception that tells of a mistake").c_str());
    PyErr_Clear();
    return false;
}

// The name is asked for where there is something to report only: that is Python code, and takes the exception along.
bool is_well(PyObject* result, PyObject* callee) {
    bool bad = !result != !!PyErr_Occurred();
    if (PyErr_Occurred())
        for (PyObject* kind : g_forbidden) bad = bad || PyErr_ExceptionMatches(kind);
    if (!bad) return is_well(result, "call");
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    const std::string name = text_of(callee);
    PyErr_Restore(type, value, trace);
    return is_well(result, name.c_str());
}

void wrong(const char* what, const std::string& shown) {
    give_up((std::string(what) + ": wrong result: " + shown).c_str());
}

int64_t integer(Data& data) {
    static const int64_t ends[] = {
        INT64_MIN,        INT64_MIN + 1,          -(int64_t(1) << 62), -(int64_t(1) << 31), int64_t(1) << 31,
        int64_t(1) << 32, (int64_t(1) << 40) + 1, int64_t(1) << 61,    int64_t(1) << 62,    INT64_MAX - 1,
        INT64_MAX};
    const auto kind = data.ConsumeIntegral<uint8_t>();
    if (kind < 224) return int64_t(kind % 14) - 3;
    if (kind < 244) return ends[kind % std::size(ends)];
    return data.ConsumeIntegral<int64_t>();
}

PyObject* integers(Data& data, size_t most) {
    const auto count = data.ConsumeIntegralInRange<size_t>(0, most);
    PyObject* made = PyTuple_New(static_cast<Py_ssize_t>(count));
    for (size_t i = 0; i < count; i++) PyTuple_SET_ITEM(made, i, PyLong_FromLongLong(integer(data)));
    return made;
}

PyObject* element(PyObject* list, Data& data) {
    const auto size = PyList_GET_SIZE(list);
    return PyList_GET_ITEM(list, data.ConsumeIntegralInRange<Py_ssize_t>(0, size - 1));
}

std::string text_of(PyObject* object) {
    Ref text(PyObject_Repr(object));
    if (!text) {
        PyErr_Clear();
        return "?";
    }
    const char* words = PyUnicode_AsUTF8(text.get());
    return words ? words : "?";
}

}  // namespace fuzzing
