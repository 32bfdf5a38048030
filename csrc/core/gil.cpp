#include "gil.h"

#include "kernel.h"

#include <unistd.h>

#include <cstdlib>
#include <exception>

namespace mt {
namespace {

std::terminate_handler g_before = nullptr;

bool left_behind() {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() && !PyGILState_Check();
#else
    return _Py_IsFinalizing() && !PyGILState_Check();
#endif
}

[[noreturn]] void at_terminate() {
    if (left_behind()) stay();
    if (g_before) g_before();
    std::abort();
}

}  // namespace

void stay() {
    for (;;) pause();
}

void take_gil_back(PyThreadState* state) {
    or_stay([&] { PyEval_RestoreThread(state); });
}

void stay_at_terminate() { g_before = std::set_terminate(at_terminate); }

}  // namespace mt
