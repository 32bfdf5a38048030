#include "deterministic.h"

#include <Python.h>

#include "error.h"

namespace mt {

Deterministic g_deterministic = Deterministic::NotAsked;

void alert_not_deterministic(const char* name) {
    if (g_deterministic == Deterministic::NotAsked) return;
    if (g_deterministic == Deterministic::Raise)
        MT_THROW(
            Runtime, name,
            " does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True)'. "
            "You can turn off determinism just for this operation, or you can use the 'warn_only=True' option, if "
            "that's acceptable for your application. You can also file an issue at "
            "https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic support for this "
            "operation.");
    const std::string text = concat(
        name,
        " does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True, "
        "warn_only=True)'. You can file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize "
        "adding deterministic support for this operation.");
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw PythonError();
}

}  // namespace mt
