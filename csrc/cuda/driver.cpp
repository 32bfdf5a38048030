#include "driver.h"

#include <dlfcn.h>

#include <chrono>
#include <string>
#include <utility>

#include "core/gil.h"
#include "core/kernel.h"
#include "core/python/types.h"

namespace mt::cuda {
namespace {

using LaunchFn = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                         void**);
using ContextFn = int (*)(void*);
using SynchronizeFn = int (*)(void*);

LaunchFn g_launch = nullptr;
ContextFn g_set_context = nullptr;
SynchronizeFn g_synchronize = nullptr;
PyObject* g_fail = nullptr;  // fail(function, code): raises
bool g_blocking = false;
void* g_contexts[kMostDevices] = {};

thread_local int t_active = -1;
thread_local void* t_streams[kMostDevices] = {};

[[noreturn]] void fail(const char* function, int code) {
    HoldGil held;
    PyObject* r = PyObject_CallFunction(g_fail, "si", function, code);
    Py_XDECREF(r);
    throw PythonError();
}

// ---- launches between two marks of their stream, while a profile asks for them ----

using EventCreateFn = int (*)(void**, unsigned);
using EventRecordFn = int (*)(void*, void*);
using IsCapturingFn = int (*)(void*, int*);
struct Marks {
    EventCreateFn create = nullptr;
    EventRecordFn record = nullptr;
    IsCapturingFn is_capturing = nullptr;
};
Marks g_marks;
PyObject* g_take =
    nullptr;  // take([(function, thread, device, stream, called, returned, before, after), ...]); null: none asks
PyObject* g_taken = nullptr;
constexpr Py_ssize_t kTogether = 512;

int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

void hand_over() {
    PyObject* full = std::exchange(g_taken, PyList_New(0));
    PyObject* r = PyObject_CallOneArg(g_take, full);
    Py_DECREF(full);
    if (!r) throw PythonError();
    Py_DECREF(r);
}

// Runs what enqueues one piece of work, between marks. With the interpreter's lock.
template <class Enqueue>
int marked(int device, void* function, Enqueue enqueue) {
    void *stream = t_streams[device], *before = nullptr, *after = nullptr;
    int capturing = 0;
    if (g_marks.is_capturing(stream, &capturing) || capturing || g_marks.create(&before, 0) ||
        g_marks.create(&after, 0) || g_marks.record(before, stream))
        return enqueue();
    const int64_t called = now_ns();
    const int code = enqueue();
    const int64_t returned = now_ns();
    if (code || g_marks.record(after, stream)) return code;
    PyObject* row = Py_BuildValue(
        "(KkiKLLKK)", reinterpret_cast<unsigned long long>(function), PyThread_get_thread_native_id(), device,
        reinterpret_cast<unsigned long long>(stream), static_cast<long long>(called), static_cast<long long>(returned),
        reinterpret_cast<unsigned long long>(before), reinterpret_cast<unsigned long long>(after));
    if (!row || PyList_Append(g_taken, row)) throw PythonError();
    Py_DECREF(row);
    if (PyList_GET_SIZE(g_taken) >= kTogether) hand_over();
    return code;
}

int checked_index(long device) {
    MT_CHECK(device >= 0 && device < kMostDevices, "invalid CUDA device ", device, ": this package counts up to ",
             kMostDevices);
    return static_cast<int>(device);
}

template <class Fn>
bool find(void* library, const char* name, Fn& function) {
    function = reinterpret_cast<Fn>(dlsym(library, name));
    return function != nullptr;
}

// _cuda_open(path, fail, blocking): the driver's library, which is loaded once; whether each launch is waited for.
PyObject* py_open(PyObject*, PyObject* args) {
    const char* path;
    PyObject* on_error;
    int blocking;
    if (!PyArg_ParseTuple(args, "sOp:_cuda_open", &path, &on_error, &blocking)) return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        MT_CHECK(library, dlerror());
        MT_CHECK(find(library, "cuLaunchKernel", g_launch) && find(library, "cuCtxSetCurrent", g_set_context) &&
                     find(library, "cuStreamSynchronize", g_synchronize),
                 path, " is no driver of CUDA: it has no cuLaunchKernel");
        MT_CHECK(find(library, "cuEventCreate", g_marks.create) && find(library, "cuEventRecord", g_marks.record) &&
                     find(library, "cuStreamIsCapturing", g_marks.is_capturing),
                 path, " is no driver of CUDA: it has no cuEventCreate");
        Py_XSETREF(g_fail, Py_NewRef(on_error));
        g_blocking = blocking;
        Py_RETURN_NONE;
    });
}

// _cuda_set_context(device, context)
PyObject* py_set_context(PyObject*, PyObject* args) {
    long device;
    unsigned long long context;
    if (!PyArg_ParseTuple(args, "lK:_cuda_set_context", &device, &context)) return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        g_contexts[checked_index(device)] = reinterpret_cast<void*>(context);
        Py_RETURN_NONE;
    });
}

// _cuda_activate(device): its context becomes this thread's.
PyObject* py_activate(PyObject*, PyObject* device) {
    long index = PyLong_AsLong(device);
    if (index == -1 && PyErr_Occurred()) return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        activate(checked_index(index));
        Py_RETURN_NONE;
    });
}

// _cuda_set_stream(device, handle): where this thread's work on the device goes from now on.
PyObject* py_set_stream(PyObject*, PyObject* args) {
    long device;
    unsigned long long handle;
    if (!PyArg_ParseTuple(args, "lK:_cuda_set_stream", &device, &handle)) return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        t_streams[checked_index(device)] = reinterpret_cast<void*>(handle);
        Py_RETURN_NONE;
    });
}

// _cuda_launch(function, grid, block, shared, device, arguments): kernels that Python launches. `grid` and `block` are
// triples, `arguments` the bytes of the kernel's struct.
PyObject* py_launch(PyObject*, PyObject* args) {
    unsigned long long function;
    unsigned grid[3], block[3], shared;
    long device;
    Py_buffer arguments;
    if (!PyArg_ParseTuple(args, "K(III)(III)Ily*:_cuda_launch", &function, &grid[0], &grid[1], &grid[2], &block[0],
                          &block[1], &block[2], &shared, &device, &arguments))
        return nullptr;
    PyObject* r = guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        launch(checked_index(device), reinterpret_cast<void*>(function), grid, block, shared, arguments.buf);
        Py_RETURN_NONE;
    });
    PyBuffer_Release(&arguments);
    return r;
}

// _cuda_call(device, function, arguments...): a function of one of NVIDIA's libraries, by its address, in a device's
// context; all arguments are addresses and integers. Its code. A call that expects fewer than are passed here does not
// see the rest.
PyObject* py_call(PyObject*, PyObject* const* args, Py_ssize_t count) {
    constexpr int kMost = 24;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        MT_CHECK(count >= 2 && count - 2 <= kMost, "_cuda_call takes a device, a function and up to ", kMost,
                 " arguments");
        int64_t a[kMost + 2] = {};
        for (Py_ssize_t i = 0; i < count; i++) {
            a[i] = static_cast<int64_t>(PyLong_AsUnsignedLongLongMask(args[i]));
            if (a[i] == -1 && PyErr_Occurred()) throw PythonError();
        }
        activate(checked_index(static_cast<long>(a[0])));
        using I = int64_t;
        using Fn = int (*)(I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I);
        const I* p = a + 2;
        auto call = [&] {
            return reinterpret_cast<Fn>(a[1])(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11],
                                              p[12], p[13], p[14], p[15], p[16], p[17], p[18], p[19], p[20], p[21],
                                              p[22], p[23]);
        };
        const int device = static_cast<int>(a[0]);
        return PyLong_FromLong(g_take ? marked(device, reinterpret_cast<void*>(a[1]), call) : call());
    });
}

// _cuda_time_launches(take): from now on each launch is marked on its stream, and told; None ends it.
PyObject* py_time_launches(PyObject*, PyObject* take) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        if (g_take) {
            hand_over();
            Py_CLEAR(g_take);
            Py_CLEAR(g_taken);
        }
        if (take != Py_None) {
            g_taken = PyList_New(0);
            g_take = Py_NewRef(take);
        }
        Py_RETURN_NONE;
    });
}

// _cuda_stream(device): the handle of this thread's current stream.
PyObject* py_stream(PyObject*, PyObject* device) {
    long index = PyLong_AsLong(device);
    if (index == -1 && PyErr_Occurred()) return nullptr;
    return guarded<PyObject*>(nullptr,
                              [&]() -> PyObject* { return PyLong_FromVoidPtr(t_streams[checked_index(index)]); });
}

PyMethodDef functions[] = {
    {"_cuda_open", py_open, METH_VARARGS, nullptr},
    {"_cuda_set_context", py_set_context, METH_VARARGS, nullptr},
    {"_cuda_activate", py_activate, METH_O, nullptr},
    {"_cuda_set_stream", py_set_stream, METH_VARARGS, nullptr},
    {"_cuda_launch", py_launch, METH_VARARGS, nullptr},
    {"_cuda_stream", py_stream, METH_O, nullptr},
    {"_cuda_time_launches", py_time_launches, METH_O, nullptr},
    {"_cuda_call", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(py_call)), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void activate(int device) {
    if (__builtin_expect(t_active == device, 1)) return;
    MT_CHECK(g_contexts[device], "CUDA device ", device, " has no context in this process");
    if (int code = g_set_context(g_contexts[device])) fail("cuCtxSetCurrent", code);
    t_active = device;
}

void* current_stream(int device) { return t_streams[device]; }

void launch(int device, void* function, const unsigned grid[3], const unsigned block[3], unsigned shared,
            void* arguments) {
    activate(device);
    void* parameters[] = {arguments};
    auto enqueue = [&] {
        return g_launch(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, t_streams[device],
                        parameters, nullptr);
    };
    int code = __builtin_expect(g_take != nullptr, 0) ? marked(device, function, enqueue) : enqueue();
    if (__builtin_expect(code != 0, 0)) fail("cuLaunchKernel", code);
    if (__builtin_expect(g_blocking, 0)) {
        NoGil nogil;
        code = g_synchronize(t_streams[device]);
    }
    if (__builtin_expect(code != 0, 0)) fail("cuStreamSynchronize", code);
}

bool init_driver(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace mt::cuda
