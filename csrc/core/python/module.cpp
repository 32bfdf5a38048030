// The extension module mindtorch_v2._C: puts the types together and loads the CPU kernels for this processor.
#include <dlfcn.h>

#include <cstdlib>
#include <string>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "../deterministic.h"
#include "../generator.h"
#include "../gil.h"
#include "../kernel_sets.h"
#include "../recording.h"
#include "../registry.h"
#include "../uninitialised.h"
#include "tensor_new.h"
#include "types.h"

namespace mt {

namespace boundary {
bool init_compiled_types(PyObject* module);
}
bool init_guards(PyObject* module);
bool init_call_sites(PyObject* module);
bool init_fused_types(PyObject* module);
bool init_layer_type(PyObject* module);
namespace cuda {
bool init_driver(PyObject* module);
bool init_pointwise(PyObject* module);
}  // namespace cuda

namespace {

// Kernels that gain from wide vectors are compiled once per instruction set, each set into a library of its own: the
// best one this processor runs is loaded, beside the library of all other kernels.
std::string g_isa = "none";
bool load_cpu_kernels() {
    Dl_info info;
    dladdr(reinterpret_cast<void*>(&load_cpu_kernels), &info);
    std::string dir = info.dli_fname;
    dir = dir.substr(0, dir.rfind('/') + 1);
    std::string plain = dir + "libmindtorch_cpu_plain.so";
    if (!dlopen(plain.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        PyErr_Format(PyExc_ImportError, "mindtorch_v2: %s", dlerror());
        return false;
    }
    const char* forced = std::getenv("MINDTORCH_ISA");
    const std::vector<std::string> order = forced && *forced ? std::vector<std::string>{forced} : kernel_sets();
    std::string problems;
    for (const std::string& isa : order) {
        std::string path = dir + "libmindtorch_cpu_" + isa + ".so";
        if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
            g_isa = isa;
            return true;
        }
        problems += std::string(problems.empty() ? "" : "; ") + dlerror();
    }
    PyErr_Format(PyExc_ImportError, "mindtorch_v2: no CPU kernel library could be loaded: %s", problems.c_str());
    return false;
}

PyObject* py_memory_stats(PyObject*, PyObject*) {
    MemoryStats s = memory_stats();
    return Py_BuildValue(
        "{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "allocated_bytes.current", static_cast<long long>(s.allocated),
        "allocated_bytes.peak", static_cast<long long>(s.allocated_peak), "reserved_bytes.current",
        static_cast<long long>(s.reserved), "reserved_bytes.peak", static_cast<long long>(s.reserved_peak),
        "cached_bytes.current", static_cast<long long>(s.cached), "allocation.count",
        static_cast<long long>(s.allocations), "cache_hit.count", static_cast<long long>(s.cache_hits), "free.count",
        static_cast<long long>(s.releases));
}
PyObject* py_reset_peak(PyObject*, PyObject*) {
    reset_peak_memory_stats();
    Py_RETURN_NONE;
}
PyObject* py_empty_cache(PyObject*, PyObject*) {
    empty_cache();
    Py_RETURN_NONE;
}
PyObject* py_get_threads(PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }
PyObject* py_set_threads(PyObject*, PyObject* o) {
    if (!PyIndex_Check(o))
        return PyErr_Format(PyExc_RuntimeError, "set_num_threads expects an int, but got %s", Py_TYPE(o)->tp_name);
    const Py_ssize_t n = PyNumber_AsSsize_t(o, PyExc_OverflowError);
    if (n == -1 && PyErr_Occurred()) return nullptr;
    if (n <= 0 || n > INT_MAX) {
        PyErr_SetString(PyExc_RuntimeError, "set_num_threads expects a positive integer");
        return nullptr;
    }
    set_num_threads(static_cast<int>(n));
    Py_RETURN_NONE;
}
PyObject* py_fill_uninitialised(PyObject*, PyObject* o) {
    int on = PyObject_IsTrue(o);
    if (on < 0) return nullptr;
    g_fill_uninitialised = on == 1;
    Py_RETURN_NONE;
}
PyObject* py_set_deterministic(PyObject*, PyObject* o) {
    const long level = PyLong_AsLong(o);
    if (level == -1 && PyErr_Occurred()) return nullptr;
    g_deterministic = static_cast<Deterministic>(level);
    Py_RETURN_NONE;
}
PyObject* py_alert_not_deterministic(PyObject*, PyObject* o) {
    const char* name = PyUnicode_AsUTF8(o);
    if (!name) return nullptr;
    try {
        alert_not_deterministic(name);
    } catch (...) {
        raise_to_python();
        return nullptr;
    }
    Py_RETURN_NONE;
}
PyObject* py_flush_denormal(PyObject*, PyObject* o) {
    int on = PyObject_IsTrue(o);
    if (on < 0) return nullptr;
#ifdef __x86_64__
    constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
#pragma omp parallel
    {
        unsigned state = _mm_getcsr() & ~(kFlushToZero | kDenormalsAreZero);
        _mm_setcsr(on ? state | kFlushToZero | kDenormalsAreZero : state);
    }
    Py_RETURN_TRUE;
#elif defined(__aarch64__)
    constexpr uint64_t kFlushToZero = 1 << 24;  // of operands and results alike
#pragma omp parallel
    {
        uint64_t state;
        asm volatile("mrs %0, fpcr" : "=r"(state));
        state = on ? state | kFlushToZero : state & ~kFlushToZero;
        asm volatile("msr fpcr, %0" : : "r"(state));
    }
    Py_RETURN_TRUE;
#else
    Py_RETURN_FALSE;
#endif
}
PyObject* py_check_interpreter(PyObject*, PyObject*) {
    if (PyInterpreterState_Get() == PyInterpreterState_Main()) Py_RETURN_NONE;
    PyErr_SetString(PyExc_ImportError,
                    "mindtorch_v2 cannot be imported in a sub-interpreter: its types and operators are the process's");
    return nullptr;
}
PyObject* py_set_recorders(PyObject*, PyObject* o) {
    const long n = PyLong_AsLong(o);
    if (n == -1 && PyErr_Occurred()) return nullptr;
    g_recorders.store(static_cast<int>(n), std::memory_order_relaxed);
    Py_RETURN_NONE;
}
PyObject* py_isa(PyObject*, PyObject*) { return PyUnicode_FromString(g_isa.c_str()); }

PyMethodDef functions[] = {
    {"_cpu_memory_stats", py_memory_stats, METH_NOARGS, nullptr},
    {"_cpu_reset_peak_memory_stats", py_reset_peak, METH_NOARGS, nullptr},
    {"_cpu_empty_cache", py_empty_cache, METH_NOARGS, nullptr},
    {"get_num_threads", py_get_threads, METH_NOARGS,
     "get_num_threads($module, /)\n"
     "--\n"
     "\n"
     "Threads that one operator may use.\n"
     "\n"
     "    >>> torch.get_num_threads() >= 1\n"
     "    True"},
    {"set_num_threads", py_set_threads, METH_O,
     "set_num_threads($module, num, /)\n"
     "--\n"
     "\n"
     "Set the threads that one operator may use.\n"
     "\n"
     "Raises RuntimeError for a number below 1.\n"
     "\n"
     "    >>> torch.set_num_threads(torch.get_num_threads())"},
    {"_set_deterministic", py_set_deterministic, METH_O, "0: not asked for; 1: warn of what is not; 2: refuse it."},
    {"_alert_not_deterministic", py_alert_not_deterministic, METH_O, "For an operator whose results may differ."},
    {"_fill_uninitialised", py_fill_uninitialised, METH_O, "Whether new memory is filled with NaN."},
    {"_set_recorders", py_set_recorders, METH_O, "How many profilers are on."},
    {"_check_interpreter", py_check_interpreter, METH_NOARGS, nullptr},
    {"set_flush_denormal", py_flush_denormal, METH_O,
     "set_flush_denormal($module, mode, /)\n"
     "--\n"
     "\n"
     "Take denormal numbers for zero, if the processor can; whether it can.\n"
     "\n"
     "    >>> possible = torch.set_flush_denormal(False)"},
    {"_cpu_isa", py_isa, METH_NOARGS, "Which kernels were loaded: docs/environment.md has their names."},
    {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "mindtorch_v2._C", "The native core.", -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyObject* make_module() {
    PyObject* main = py_check_interpreter(nullptr, nullptr);
    if (!main) return nullptr;
    Py_DECREF(main);
    PyObject* m = PyModule_Create(&definition);
    if (!m) return nullptr;
    if (!init_scalar_types(m) || !init_storage_type(m) || !init_tensor_type(m) || !init_operator_types(m) ||
        !init_schema_types(m) || !init_callable_type(m) || !init_autograd_types(m) || !init_transform_types(m) ||
        !init_device_types(m) || !init_functional_types(m) || !init_sparse_types(m) || !init_quantized_types(m) ||
        !init_check_types(m) || !init_deferred(m) || !boundary::init_compiled_types(m) || !init_guards(m) ||
        !init_call_sites(m) || !init_fused_types(m) || !init_layer_type(m) || !cuda::init_driver(m) ||
        !cuda::init_pointwise(m))
        return nullptr;
    if (PyModule_AddFunctions(m, tensor_new_methods) < 0) return nullptr;
    PyModule_AddObjectRef(m, "Generator", reinterpret_cast<PyObject*>(generator_type()));
    PyModule_AddObjectRef(m, "default_generator", reinterpret_cast<PyObject*>(&default_generator()));
    PyObject* linalg =
        PyErr_NewExceptionWithDoc("mindtorch_v2._C._LinAlgError",
                                  "A matrix that has no inverse, factor or solution of the kind asked for.\n\n"
                                  ">>> try:\n"
                                  "...     torch.linalg.inv(torch.zeros(2, 2))\n"
                                  "... except torch.linalg.LinAlgError as error:\n"
                                  "...     print(type(error).__name__)\n"
                                  "_LinAlgError\n",
                                  PyExc_RuntimeError, nullptr);
    PyModule_AddObject(m, "_LinAlgError", linalg);
    if (!load_cpu_kernels()) return nullptr;
    stay_at_terminate();
    return m;
}

}  // namespace mt
