// The Python types of the core and conversions between them and C++ values.
#pragma once

#include "../value.h"

#include <structmember.h>
#include <type_traits>

namespace mt {

extern PyTypeObject *g_tensor_type, *g_base_type, *g_parameter_type;
// The class of new tensors: mindtorch_v2.Tensor once Python has set it, TensorBase before.
inline PyTypeObject* tensor_type() { return g_tensor_type; }
inline PyTypeObject* tensor_base_type() { return g_base_type; }
inline PyTypeObject* parameter_type() { return g_parameter_type; }  // null until set
// An object of `tensor_type()` without data, and the end of one of any class that derives from TensorBase.
Tensor* new_tensor_object();
void free_tensor_object(PyObject* o);
inline Tensor& as_tensor(PyObject* o) { return *reinterpret_cast<Tensor*>(o); }  // of an object that is one

PyObject* size_object(IntSpan sizes);       // torch.Size, new reference
PyObject* dtype_object(DType t);            // borrowed
PyObject* device_object(Device d);          // new reference
PyObject* layout_object(int64_t layout);    // borrowed
PyObject* memory_format_object(int64_t f);  // borrowed
bool dtype_check(PyObject* o);
bool device_check(PyObject* o);
DType dtype_from_python(PyObject* o);    // torch.dtype, or float / int / bool / complex; TypeError otherwise
Device device_from_python(PyObject* o);  // torch.device, str or int
bool layout_check(PyObject* o, int64_t* value);
bool memory_format_check(PyObject* o, int64_t* value);

PyObject* storage_object(Storage* s);  // UntypedStorage sharing s, new reference
Storage* storage_of(PyObject* o);      // borrowed; null if o is no storage

bool init_scalar_types(PyObject* module);
bool init_tensor_type(PyObject* module);
bool init_storage_type(PyObject* module);
bool init_operator_types(PyObject* module);
bool init_function_types(PyObject* module);
bool init_overridable(PyObject* module);
bool init_schema_types(PyObject* module);
bool init_callable_type(PyObject* module);
bool init_autograd_types(PyObject* module);
bool init_transform_types(PyObject* module);
bool init_device_types(PyObject* module);
bool init_functional_types(PyObject* module);
bool init_sparse_types(PyObject* module);
bool init_quantized_types(PyObject* module);
bool init_check_types(PyObject* module);
bool init_deferred(PyObject* module);

// Entries of the tables that CPython wants of a type: functions of any signature.
#define SLOT(id, fn) {id, reinterpret_cast<void*>(fn)}
#define FASTCALL(fn) reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(fn)), METH_FASTCALL | METH_KEYWORDS

// The text of a str, as long as that lives; throws if it has none in UTF-8 (a lone surrogate) or is no str.
inline const char* utf8_of(PyObject* text) {
    const char* s = PyUnicode_AsUTF8(text);
    if (!s) throw PythonError();
    return s;
}

// Runs a body that may throw and returns `otherwise` with the Python exception set if it does.
template <class R, class F>
R guarded(R otherwise, F&& f) noexcept {
    try {
        return f();
    } catch (...) {
        raise_to_python();
        return otherwise;
    }
}

// `f`, a function of Python's tables, with what it throws as Python's exception.
template <auto f>
struct Safely;
template <class R, class... A, R (*f)(A...)>
struct Safely<f> {
    static R call(A... args) noexcept {
        R failed;
        if constexpr (std::is_pointer_v<R>)
            failed = nullptr;
        else
            failed = -1;
        return guarded<R>(failed, [&] { return f(args...); });
    }
};
template <auto f>
inline constexpr auto safely = &Safely<f>::call;

}  // namespace mt
