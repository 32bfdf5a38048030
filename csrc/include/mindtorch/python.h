// Extension modules of Python through pybind11: tensors and their relatives as arguments and results.
#pragma once

#include <Python.h>
#if defined(__has_include)
#if !__has_include(<pybind11/pybind11.h>)
#error "torch/extension.h needs pybind11: pip install pybind11"
#endif
#endif
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <mindtorch/all.h>

namespace py = pybind11;

PYBIND11_DECLARE_HOLDER_TYPE(T, c10::intrusive_ptr<T>, true)

namespace torch {
// The wrapper that PyTorch asks for around functions: here every function of the module translates its errors.
template <class F>
decltype(auto) wrap_pybind_function(F&& f) {
    return std::forward<F>(f);
}
// The same for one that runs without Python's lock.
template <class F, class R, class... A>
auto without_lock(F f, R (*)(A...)) {
    return [f = std::move(f)](A... args) mutable -> R {
        py::gil_scoped_release released;
        return f(std::forward<A>(args)...);
    };
}
template <class F>
auto wrap_pybind_function_no_gil(F&& f) {
    return without_lock(std::forward<F>(f), static_cast<py::detail::function_signature_t<std::decay_t<F>>*>(nullptr));
}
}  // namespace torch

namespace mindtorch MINDTORCH_HIDDEN {

inline PyObject* python_class(int kind) {
    switch (kind) {
        case MT_ERROR_TYPE:
            return PyExc_TypeError;
        case MT_ERROR_VALUE:
            return PyExc_ValueError;
        case MT_ERROR_INDEX:
            return PyExc_IndexError;
        case MT_ERROR_NOT_IMPLEMENTED:
            return PyExc_NotImplementedError;
        case MT_ERROR_MEMORY:
            return PyExc_MemoryError;
        case MT_ERROR_ATTRIBUTE:
            return PyExc_AttributeError;
        case MT_ERROR_KEY:
            return PyExc_KeyError;
        case MT_ERROR_OVERFLOW:
            return PyExc_OverflowError;
        case MT_ERROR_ZERO_DIVISION:
            return PyExc_ZeroDivisionError;
        default:
            return PyExc_RuntimeError;
    }
}
// Python's error indicator, for an exception of C++.
inline void set_python_error(const c10::Error& e) {
    PyObject* given = reinterpret_cast<PyObject*>(e.exception().get());
    if (given)
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(given)), given);
    else if (e.kind() == MT_ERROR_LINALG)
        PyErr_SetObject(py::module_::import("mindtorch_v2.linalg").attr("LinAlgError").ptr(), py::str(e.what()).ptr());
    else
        PyErr_SetString(python_class(e.kind()), e.what());
}
inline mt_object object(py::handle h) { return reinterpret_cast<mt_object>(h.ptr()); }
template <class T>
bool load_value(py::handle src, int tag, T& value) {
    mt_value v{};
    if (!src || find_api() == nullptr || api().value_of(object(src), &v) != 0) {
        if (find_api()) {
            const char* text;
            size_t n;
            mt_object e;
            api().take_error(&text, &n, &e);
            if (e) api().release(e);
        }
        return false;
    }
    if (v.tag != tag) return false;
    value = Convert<T>::from(v);
    return true;
}
template <class T>
py::handle cast_value(const T& value) {
    Packed p = pack(value);
    mt_object o = nullptr;
    check(api().object_of(&p.v, &o));
    return py::handle(reinterpret_cast<PyObject*>(o));
}

}  // namespace mindtorch MINDTORCH_HIDDEN

namespace pybind11 {
namespace detail {

template <>
struct type_caster<at::Tensor> {
    PYBIND11_TYPE_CASTER(at::Tensor, const_name("torch.Tensor"));
    bool load(handle src, bool) {
        if (!mindtorch::api().is_tensor(mindtorch::object(src))) return false;
        value = at::Tensor::share(reinterpret_cast<mt_tensor>(src.ptr()));
        return true;
    }
    static handle cast(const at::Tensor& t, return_value_policy, handle) {
        if (!t.defined()) return none().release();
        return handle(reinterpret_cast<PyObject*>(t.handle())).inc_ref();
    }
};
#define MINDTORCH_CASTER(T, name, tag)                                                                   \
    template <>                                                                                          \
    struct type_caster<T> {                                                                              \
        PYBIND11_TYPE_CASTER(T, const_name(name));                                                       \
        bool load(handle src, bool) { return mindtorch::load_value(src, tag, value); }                   \
        static handle cast(const T& v, return_value_policy, handle) { return mindtorch::cast_value(v); } \
    };
MINDTORCH_CASTER(at::ScalarType, "torch.dtype", MT_DTYPE)
MINDTORCH_CASTER(at::MemoryFormat, "torch.memory_format", MT_MEMORY_FORMAT)
MINDTORCH_CASTER(at::Layout, "torch.layout", MT_LAYOUT)
#undef MINDTORCH_CASTER
template <>
struct type_caster<at::Device> {
    // A device has no state without a value.
    PYBIND11_TYPE_CASTER(at::Device, const_name("torch.device"));
    type_caster() : value(at::DeviceType::CPU) {}
    bool load(handle src, bool) { return mindtorch::load_value(src, MT_DEVICE, value); }
    static handle cast(const at::Device& v, return_value_policy, handle) { return mindtorch::cast_value(v); }
};
template <>
struct type_caster<c10::Scalar> {
    PYBIND11_TYPE_CASTER(c10::Scalar, const_name("Union[int, float, bool, complex]"));
    bool load(handle src, bool) {
        mt_value v{};
        if (mindtorch::api().value_of(mindtorch::object(src), &v) != 0 || v.tag < MT_BOOL || v.tag > MT_COMPLEX)
            return false;
        value = c10::Scalar::of(v);
        return true;
    }
    static handle cast(const c10::Scalar& v, return_value_policy, handle) { return mindtorch::cast_value(v); }
};
template <>
struct type_caster<at::Generator> {
    PYBIND11_TYPE_CASTER(at::Generator, const_name("torch.Generator"));
    bool load(handle src, bool) {
        if (mindtorch::api().kind_of(mindtorch::object(src)) != 'g') return false;
        value = at::Generator(mindtorch::Object::share(mindtorch::object(src)));
        return true;
    }
    static handle cast(const at::Generator& g, return_value_policy, handle) {
        return handle(reinterpret_cast<PyObject*>(g.handle())).inc_ref();
    }
};
template <>
struct type_caster<c10::Stream> {
    PYBIND11_TYPE_CASTER(c10::Stream, const_name("torch.Stream"));
    type_caster() : value(c10::Stream::DEFAULT, at::Device(at::DeviceType::CPU)) {}
    static module_ python() { return module_::import("mindtorch_v2._library.own_streams"); }
    bool load(handle src, bool) {
        if (!isinstance(src, python().attr("_Stream"))) return false;
        const auto type = static_cast<at::DeviceType>(src.attr("device_type").cast<int>());
        const auto index = src.attr("device_index").cast<int>();
        value = c10::Stream(c10::Stream::UNSAFE, at::Device(type, static_cast<at::DeviceIndex>(index)),
                            src.attr("stream_id").cast<int64_t>());
        return true;
    }
    static handle cast(const c10::Stream& s, return_value_policy, handle) {
        return python().attr("stream_at")(s.id(), s.device_index(), static_cast<int>(s.device_type())).release();
    }
};
// Whether it is an int; ValueError for one that 64 bits do not hold.
inline bool whole_number(handle src, int64_t* out) {
    int overflow = 0;
    if (!PyLong_Check(src.ptr())) return false;
    *out = PyLong_AsLongLongAndOverflow(src.ptr(), &overflow);
    if (overflow) throw value_error("Overflow when unpacking long long");
    return true;
}
template <>
struct type_caster<c10::SymInt> {
    PYBIND11_TYPE_CASTER(c10::SymInt, const_name("Union[int, torch.SymInt]"));
    bool load(handle src, bool) {
        int64_t number = 0;
        const bool found = whole_number(src, &number);
        value = number;
        return found;
    }
    static handle cast(const c10::SymInt& n, return_value_policy, handle) {
        return int_(static_cast<int64_t>(n)).release();
    }
};
template <>
struct type_caster<c10::IntArrayRef> {
    PYBIND11_TYPE_CASTER(c10::IntArrayRef, const_name("List[int]"));
    bool load(handle src, bool) {
        if (!PyList_Check(src.ptr()) && !PyTuple_Check(src.ptr())) return false;
        for (handle item : reinterpret_borrow<sequence>(src))
            if (!whole_number(item, &items_.emplace_back())) return false;
        value = items_;
        return true;
    }
    static handle cast(const c10::IntArrayRef& list, return_value_policy, handle) {
        tuple t(list.size());
        for (size_t i = 0; i < list.size(); i++) t[i] = int_(list[i]);
        return t.release();
    }

  private:
    std::vector<int64_t> items_;
};
template <class T>
struct type_caster<c10::complex<T>> {
    PYBIND11_TYPE_CASTER(c10::complex<T>, const_name("complex"));
    bool load(handle src, bool) {
        const Py_complex z = PyComplex_AsCComplex(src.ptr());
        if (z.real == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            return false;
        }
        value = c10::complex<T>(static_cast<T>(z.real), static_cast<T>(z.imag));
        return true;
    }
    static handle cast(const c10::complex<T>& z, return_value_policy, handle) {
        return handle(PyComplex_FromDoubles(static_cast<double>(z.real()), static_cast<double>(z.imag())));
    }
};

}  // namespace detail
}  // namespace pybind11

inline bool THPVariable_Check(PyObject* o) { return mindtorch::api().is_tensor(reinterpret_cast<mt_object>(o)) != 0; }
inline at::Tensor THPVariable_Unpack(PyObject* o) { return at::Tensor::share(reinterpret_cast<mt_tensor>(o)); }
inline PyObject* THPVariable_Wrap(const at::Tensor& t) {
    return py::detail::type_caster<at::Tensor>::cast(t, py::return_value_policy::automatic, py::handle()).ptr();
}

namespace torch {
namespace jit {
// The Module of TorchScript that a Python object is; none if it is none.
inline std::optional<Module> as_module(py::handle object) {
    const c10::IValue value(mindtorch::Object::share(mindtorch::object(object)));
    return value.isModule() ? std::optional<Module>(value.toModule()) : std::nullopt;
}
}  // namespace jit

// ---- modules of torch::nn in Python ----

namespace python {

template <class M>
using PyModuleClass = py::class_<M, torch::nn::Module, std::shared_ptr<M>>;

template <class Dict>
auto items_of(const Dict& dict) {
    std::vector<std::pair<std::string, std::decay_t<decltype(dict[size_t(0)].value())>>> all;
    for (const auto& item : dict) all.emplace_back(item.key(), item.value());
    return all;
}

// What every module has, for this extension alone. A template, so that only programs that bind modules compile it.
template <class Module>
void bind_base(py::handle scope) {
    if (py::detail::get_local_type_info(typeid(Module))) return;
    py::class_<Module, std::shared_ptr<Module>>(scope, "Module", py::module_local())
        .def(
            "train", [](Module& m, bool on) { m.train(on); }, py::arg("mode") = true)
        .def("eval", [](Module& m) { m.eval(); })
        .def("clone", [](Module& m) { return m.clone(); })
        .def_property_readonly("training", &Module::is_training)
        .def("zero_grad", [](Module& m) { m.zero_grad(); })
        .def("parameters", &Module::parameters, py::arg("recurse") = true)
        .def(
            "named_parameters", [](const Module& m, bool deep) { return items_of(m.named_parameters(deep)); },
            py::arg("recurse") = true)
        .def("buffers", &Module::buffers, py::arg("recurse") = true)
        .def(
            "named_buffers", [](const Module& m, bool deep) { return items_of(m.named_buffers(deep)); },
            py::arg("recurse") = true)
        .def("children", &Module::children)
        .def("named_children", [](const Module& m) { return items_of(m.named_children()); })
        .def("__repr__", [](const Module& m) { return m.name(); });
}

template <class M, class = void>
struct HasForward : std::false_type {};
template <class M>
struct HasForward<M, std::void_t<decltype(&M::forward)>> : std::true_type {};

// Gives a class of `module` what every module has.
template <class M, class... Extra>
py::class_<M, Extra...> add_module_bindings(py::class_<M, Extra...> made) {
    return made;
}

// Binds a module's class as `module.cpp.name`, and as `module.name` a class of Python that is a torch.nn.Module.
template <class M>
PyModuleClass<M> bind_module(py::module_ module, const char* name) {
    static_assert(std::is_base_of_v<torch::nn::Module, M>, "bind_module binds classes derived from torch::nn::Module");
    py::module_ cpp = module.def_submodule("cpp");
    bind_base<torch::nn::Module>(cpp);
    PyModuleClass<M> made(cpp, name);
    if constexpr (HasForward<M>::value) made.def("forward", &M::forward).def("__call__", &M::forward);
    const py::object wrapper = py::module_::import("mindtorch_v2.nn.cpp").attr("ModuleWrapper");
    py::dict attributes;
    attributes["__module__"] = module.attr("__name__");
    attributes["__init__"] = py::cpp_function(
        [wrapper, made](const py::object& self, const py::args& args, const py::kwargs& kwargs) {
            wrapper.attr("__init__")(self, made(*args, **kwargs));
        },
        py::is_method(py::none()));
    const py::handle type(reinterpret_cast<PyObject*>(&PyType_Type));
    module.attr(name) = type(name, py::make_tuple(wrapper), attributes);
    return made;
}

}  // namespace python
}  // namespace torch

#include <mindtorch/python_errors.h>
#include <mindtorch/python_types.h>
