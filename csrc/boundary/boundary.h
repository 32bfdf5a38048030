// The two sides of the boundary's handles, and how its functions report errors.
#pragma once

#include <mindtorch/boundary.h>

#include "core/gil.h"
#include "core/python/types.h"
#include "core/registry.h"

namespace mt::boundary {

inline Tensor* tensor(mt_tensor t) { return reinterpret_cast<Tensor*>(t); }
inline mt_tensor handle(Tensor* t) { return reinterpret_cast<mt_tensor>(t); }
inline PyObject* object(mt_object o) { return reinterpret_cast<PyObject*>(o); }
inline mt_object handle(PyObject* o) { return reinterpret_cast<mt_object>(o); }
inline Operator* op(mt_operator o) { return reinterpret_cast<Operator*>(o); }

// The same bytes on both sides: nothing is converted at a call.
static_assert(sizeof(Value) == sizeof(mt_value) && offsetof(Value, len) == offsetof(mt_value, len) &&
              offsetof(Value, t) == offsetof(mt_value, as));
static_assert(MT_TENSOR == static_cast<int>(Tag::Tensor) && MT_COMPLEX == static_cast<int>(Tag::Complex) &&
              MT_INT_LIST == static_cast<int>(Tag::IntList) && MT_BOOL_LIST == static_cast<int>(Tag::BoolList) &&
              MT_TENSOR_LIST == static_cast<int>(Tag::TensorList) && MT_STRING == static_cast<int>(Tag::Str) &&
              MT_DTYPE == static_cast<int>(Tag::DType) && MT_DEVICE == static_cast<int>(Tag::Device) &&
              MT_LAYOUT == static_cast<int>(Tag::Layout) && MT_MEMORY_FORMAT == static_cast<int>(Tag::MemoryFormat) &&
              MT_GENERATOR == static_cast<int>(Tag::Generator) && MT_OBJECT == static_cast<int>(Tag::Object));
static_assert(MT_ERROR_LINALG == static_cast<int>(ErrorKind::LinAlg) &&
              MT_ERROR_INDEX == static_cast<int>(ErrorKind::Index));
inline Value* values(mt_value* v) { return reinterpret_cast<Value*>(v); }
inline const Value* values(const mt_value* v) { return reinterpret_cast<const Value*>(v); }
inline mt_value* handles(Value* v) { return reinterpret_cast<mt_value*>(v); }
inline mt_device handle(Device d) { return {static_cast<uint8_t>(d.type), d.index}; }
inline Device device(mt_device d) { return {static_cast<DeviceType>(d.type), d.index}; }

// Holds Python's lock, which most callers hold already.
class Locked {
  public:
    Locked() : taken_(!PyGILState_Check()) {
        if (taken_) state_ = or_stay([] { return PyGILState_Ensure(); });
    }
    ~Locked() {
        if (taken_) PyGILState_Release(state_);
    }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

  private:
    bool taken_;
    PyGILState_STATE state_ = PyGILState_UNLOCKED;
};

void keep_error() noexcept;            // inside catch (...): the exception in flight becomes this thread's error
[[noreturn]] void throw_kept_error();  // the other way round, for the error that a library has set

// Runs a body with Python's lock; its exception becomes the error of this thread.
template <class F>
int reported(F&& body) noexcept {
    Locked locked;
    try {
        body();
        return 0;
    } catch (...) {
        keep_error();
        return 1;
    }
}

// A reference of one's own.
class Owned {
  public:
    explicit Owned(PyObject* o) : o_(o) {
        if (!o) throw PythonError();
    }
    ~Owned() { Py_XDECREF(o_); }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    PyObject* get() const { return o_; }
    PyObject* release() { return std::exchange(o_, nullptr); }

  private:
    PyObject* o_;
};

// A function of mindtorch_v2._library.compiled, called with these objects; new reference, null becomes an exception.
PyObject* call_hook(const char* name, std::initializer_list<PyObject*> args);
PyObject* text(const char* s);  // new reference; None for null
Value value_of(PyObject* o);    // borrows
PyObject* object_of(const Value& v);
PyObject* new_kernel(mt_kernel fn, void* context, mt_release release);
PyObject* new_held(PyTypeObject* type, void* held, mt_release release);
void* held_by(PyObject* o);
bool init_compiled_types(PyObject* module);

// The table's entries, by file.
void fill_errors(mt_boundary& table);
void fill_tensors(mt_boundary& table);
void fill_objects(mt_boundary& table);
void fill_operators(mt_boundary& table);
void fill_registration(mt_boundary& table);
void fill_autograd(mt_boundary& table);
void fill_threads(mt_boundary& table);
void fill_storages(mt_boundary& table);
void fill_descriptions(mt_boundary& table);

}  // namespace mt::boundary
