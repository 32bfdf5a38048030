#include "above.h"

namespace mt {

PyObject* above(const char* name) {
    PyObject* module = or_stay([] { return PyImport_ImportModule("mindtorch_v2._core.above"); });
    PyObject* registered = module ? PyObject_GetAttrString(module, "above") : nullptr;
    PyObject* function = registered ? PyObject_GetAttrString(registered, name) : nullptr;
    Py_XDECREF(registered);
    Py_XDECREF(module);
    return function;
}

}  // namespace mt
