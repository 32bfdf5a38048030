// Process groups, stores and works of Python as arguments of functions in C++, and back.
#pragma once

#include <mindtorch/c10d.h>
#include <mindtorch/python.h>

namespace mindtorch MINDTORCH_HIDDEN {
// A pointer to a class of c10d: an object of Python that has such a method becomes one of the class that calls it.
template <class T, class Python>
struct DistributedCaster {
    c10::intrusive_ptr<T> held;
    bool load(py::handle source, const char* method) {
        if (source.is_none()) return true;
        if (!py::hasattr(source, method)) return false;
        held = c10::make_intrusive<Python>(Object::share(mindtorch::object(source)));
        return true;
    }
    static py::handle cast(const c10::intrusive_ptr<T>& p) {
        if (!p) return py::none().release();
        const auto* python = dynamic_cast<const Python*>(p.get());
        TORCH_CHECK_NOT_IMPLEMENTED(python,
                                    "a process group, store or work of a C++ class of its own cannot be given to "
                                    "Python here: bind the class with pybind11");
        return py::handle(reinterpret_cast<PyObject*>(python->object().get())).inc_ref();
    }
};
}  // namespace mindtorch MINDTORCH_HIDDEN

namespace pybind11 {
namespace detail {
#define MINDTORCH_DISTRIBUTED(Class, Python, method, text)                           \
    template <>                                                                      \
    struct type_caster<c10::intrusive_ptr<c10d::Class>> {                            \
        using Pointer = c10::intrusive_ptr<c10d::Class>;                             \
        PYBIND11_TYPE_CASTER(Pointer, const_name(text));                             \
        bool load(handle source, bool) {                                             \
            mindtorch::DistributedCaster<c10d::Class, c10d::Python> caster;          \
            if (!caster.load(source, method)) return false;                          \
            value = std::move(caster.held);                                          \
            return true;                                                             \
        }                                                                            \
        static handle cast(const Pointer& p, return_value_policy, handle) {          \
            return mindtorch::DistributedCaster<c10d::Class, c10d::Python>::cast(p); \
        }                                                                            \
    };
MINDTORCH_DISTRIBUTED(ProcessGroup, PythonGroup, "allreduce_coalesced", "torch.distributed.ProcessGroup")
MINDTORCH_DISTRIBUTED(Store, PythonStore, "compare_set", "torch.distributed.Store")
MINDTORCH_DISTRIBUTED(Work, PythonWork, "is_completed", "torch.distributed.Work")
#undef MINDTORCH_DISTRIBUTED
}  // namespace detail
}  // namespace pybind11
