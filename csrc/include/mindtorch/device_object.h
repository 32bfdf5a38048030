// torch.device as an object of CPython's C interface.
#pragma once

#include <mindtorch/python.h>

struct THPDevice {
    PyObject_HEAD at::Device device;
};
static_assert(sizeof(at::Device) == 2, "the core's device is a byte for the type and one for the index");

namespace mindtorch MINDTORCH_HIDDEN {
inline PyTypeObject* type_of_devices() {
    static PyObject* const type = [] {
        return py::object(py::module_::import("mindtorch_v2").attr("device")).release().ptr();
    }();
    return reinterpret_cast<PyTypeObject*>(type);
}
}  // namespace mindtorch MINDTORCH_HIDDEN
#define THPDeviceType (*::mindtorch::type_of_devices())

inline bool THPDevice_Check(PyObject* o) { return Py_TYPE(o) == &THPDeviceType; }
inline PyObject* THPDevice_New(const at::Device& device) { return py::cast(device).release().ptr(); }
