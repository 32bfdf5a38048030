// torch.device, dtype, layout, memory_format, Size and Generator as objects of CPython's C interface.
#pragma once

#include <mindtorch/python_values.h>

// The layouts of the core's own objects.
struct THPDevice {
    PyObject_HEAD at::Device device;
};
struct THPDtype {
    PyObject_HEAD at::ScalarType scalar_type;
};
struct THPLayout {
    PyObject_HEAD at::Layout layout;
};
struct THPMemoryFormat {
    PyObject_HEAD at::MemoryFormat memory_format;
};
static_assert(sizeof(at::Device) == 2, "the core's device is a byte for the type and one for the index");
static_assert(sizeof(at::ScalarType) == 1 && sizeof(at::Layout) == 1 && sizeof(at::MemoryFormat) == 1,
              "the core's objects are read by their lowest byte");

namespace mindtorch MINDTORCH_HIDDEN {

inline PyObject* named_of_torch(const char* name) {
    return py::object(py::module_::import("mindtorch_v2").attr(name)).release().ptr();
}
// The type of that name, which stays. Each Name is a type of its own, so that each is looked up once.
template <class Name>
PyTypeObject* python_type() {
    static PyObject* const found = named_of_torch(Name::text);
    return reinterpret_cast<PyTypeObject*>(found);
}
#define MINDTORCH_PYTHON_NAME(Name, text_)         \
    struct Name {                                  \
        static constexpr const char* text = text_; \
    };
MINDTORCH_PYTHON_NAME(DeviceName, "device")
MINDTORCH_PYTHON_NAME(DtypeName, "dtype")
MINDTORCH_PYTHON_NAME(LayoutName, "layout")
MINDTORCH_PYTHON_NAME(MemoryFormatName, "memory_format")
MINDTORCH_PYTHON_NAME(SizeName, "Size")
MINDTORCH_PYTHON_NAME(GeneratorName, "Generator")
#undef MINDTORCH_PYTHON_NAME

}  // namespace mindtorch MINDTORCH_HIDDEN
#define THPDeviceType (*::mindtorch::python_type<::mindtorch::DeviceName>())
#define THPDtypeType (*::mindtorch::python_type<::mindtorch::DtypeName>())
#define THPLayoutType (*::mindtorch::python_type<::mindtorch::LayoutName>())
#define THPMemoryFormatType (*::mindtorch::python_type<::mindtorch::MemoryFormatName>())
#define THPSizeType (*::mindtorch::python_type<::mindtorch::SizeName>())
#define THPGeneratorClass (reinterpret_cast<PyObject*>(::mindtorch::python_type<::mindtorch::GeneratorName>()))

inline bool THPDevice_Check(PyObject* o) { return Py_TYPE(o) == &THPDeviceType; }
inline PyObject* THPDevice_New(const at::Device& device) { return py::cast(device).release().ptr(); }

inline bool THPDtype_Check(PyObject* o) { return Py_TYPE(o) == &THPDtypeType; }
inline bool THPPythonScalarType_Check(PyObject* o) {
    const auto* const as_type = reinterpret_cast<PyTypeObject*>(o);
    return as_type == &PyFloat_Type || as_type == &PyComplex_Type || as_type == &PyBool_Type || as_type == &PyLong_Type;
}
inline bool THPLayout_Check(PyObject* o) { return Py_TYPE(o) == &THPLayoutType; }
inline bool THPMemoryFormat_Check(PyObject* o) { return Py_TYPE(o) == &THPMemoryFormatType; }

inline bool THPGenerator_Check(PyObject* o) { return PyObject_IsInstance(o, THPGeneratorClass) == 1; }
inline PyObject* THPGenerator_Wrap(const at::Generator& generator) {
    return generator.defined() ? py::cast(generator).release().ptr() : py::none().release().ptr();
}
inline at::Generator THPGenerator_Unwrap(PyObject* o) {
    return o == Py_None ? at::Generator() : py::handle(o).cast<at::Generator>();
}

inline bool THPSize_Check(PyObject* o) { return Py_TYPE(o) == &THPSizeType; }
inline PyObject* THPSize_NewFromSizes(int64_t dim, const int64_t* sizes) {
    const auto numbers = py::reinterpret_steal<py::object>(THPUtils_packInt64Array(static_cast<size_t>(dim), sizes));
    return py::handle(reinterpret_cast<PyObject*>(&THPSizeType))(numbers).release().ptr();
}
inline PyObject* THPSize_New(const at::Tensor& t) { return THPSize_NewFromSizes(t.dim(), t.sizes().data()); }

namespace torch {
// Borrowed: these objects stay.
inline THPDtype* getTHPDtype(at::ScalarType type) { return reinterpret_cast<THPDtype*>(py::cast(type).ptr()); }
inline THPLayout* getTHPLayout(at::Layout layout) { return reinterpret_cast<THPLayout*>(py::cast(layout).ptr()); }

namespace utils {
inline PyObject* getTHPMemoryFormat(at::MemoryFormat format) { return py::cast(format).ptr(); }
}  // namespace utils
}  // namespace torch
