// Python's objects in C++ by PyTorch's names: counted pointers, arrays of NumPy.
#pragma once

#include <mindtorch/python.h>

#include <utility>

template <class T>
class THPPointer {
  public:
    THPPointer() = default;
    explicit THPPointer(T* owned) noexcept : object_(owned) {}
    THPPointer(THPPointer&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    THPPointer(const THPPointer& other) : object_(other.object_) { Py_XINCREF(as_object()); }
    ~THPPointer() { Py_XDECREF(as_object()); }
    THPPointer& operator=(T* owned) noexcept {
        *this = THPPointer(owned);
        return *this;
    }
    THPPointer& operator=(THPPointer other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    T* get() const noexcept { return object_; }
    T* release() noexcept { return std::exchange(object_, nullptr); }
    T* operator->() const noexcept { return object_; }
    operator T*() const noexcept { return object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }
    static THPPointer dup(const T* borrowed) {
        Py_XINCREF(reinterpret_cast<PyObject*>(const_cast<T*>(borrowed)));
        return THPPointer(const_cast<T*>(borrowed));
    }

  private:
    PyObject* as_object() const { return reinterpret_cast<PyObject*>(object_); }
    T* object_ = nullptr;
};
using THPObjectPtr = THPPointer<PyObject>;

namespace torch {
namespace utils {

inline PyObject* tensor_to_numpy(const at::Tensor& tensor, bool force = false) {
    const auto object = py::reinterpret_steal<py::object>(THPVariable_Wrap(tensor));
    return object.attr("numpy")(py::arg("force") = force).release().ptr();
}
inline at::Tensor tensor_from_numpy(PyObject* array, bool /*warn_if_not_writeable*/ = true) {
    return py::module_::import("mindtorch_v2").attr("from_numpy")(py::handle(array)).cast<at::Tensor>();
}
inline bool is_numpy_available() {
    const THPObjectPtr numpy(PyImport_ImportModule("numpy"));
    if (!numpy) PyErr_Clear();
    return static_cast<bool>(numpy);
}

}  // namespace utils
}  // namespace torch
