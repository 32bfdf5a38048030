// Launches of element-wise kernels: the elements' dtypes, and how they lie, choose the compiled kernel; Python compiles
// those that are missing (mindtorch_v2/_backends/cuda/pointwise.py, which also says how the kernel's struct is laid
// out).
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/gil.h"
#include "core/kernel.h"
#include "core/promotion.h"
#include "core/python/operator_object.h"
#include "core/python/types.h"
#include "core/registry.h"
#include "driver.h"

namespace mt::cuda {
namespace {

constexpr int kMostTensors = 12;
constexpr int kMostNumbers = 12;
constexpr int kMostDims = 12;  // that are left once dimensions are joined

struct Compiled {
    void* function;
    int64_t per_block;  // elements
    unsigned threads;
};

struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
};

// The compiled kernels of one operator.
struct KernelObject {
    PyObject_HEAD PyObject* compile;  // compile(key) -> (function, elements of a block, threads of a block)
    std::unordered_map<std::string, Compiled, Hash, std::equal_to<>> compiled;
};
PyTypeObject* g_type;

struct Number {
    union {
        double real;
        int64_t integer;
    };
    double imaginary;
};

// One call: what its key says, and what its struct will hold.
struct Launch {
    char key[96];
    size_t length = 0;
    const Tensor* tensors[kMostTensors];
    bool single[kMostTensors];  // one element for all
    int ntensors = 0;
    Number numbers[kMostNumbers];
    int nnumbers = 0;
    int device = -1;

    void say(char c) {
        MT_CHECK(length < sizeof(key), "internal error: a kernel of too many arguments");
        key[length++] = c;
    }
    void say(DType t) { say(static_cast<char>(static_cast<int>(t) + 33)); }

    void number(const Value& v) {
        MT_CHECK(nnumbers < kMostNumbers, "internal error: a kernel of too many numbers");
        Number& n = numbers[nnumbers++];
        n.imaginary = 0;
        if (v.tag == Tag::Double) {
            say('d');
            n.real = v.d;
        } else if (v.tag == Tag::Complex) {
            say('c');
            n.real = v.z[0];
            n.imaginary = v.z[1];
        } else {
            say('i');
            n.integer = v.as_int();
        }
    }
    // A number that is a tensor of the host.
    void number(const Tensor& t) {
        TensorRef wide = contiguous(t, is_complex(t.dtype)    ? DType::Complex128
                                       : is_floating(t.dtype) ? DType::Float64
                                                              : DType::Int64);
        number(is_complex(t.dtype)    ? Value::of(*wide->data<c128>())
               : is_floating(t.dtype) ? Value::of(*wide->data<double>())
                                      : Value::of(*wide->data<int64_t>()));
    }
    void tensor(const Tensor& t, bool output) {
        MT_CHECK(ntensors < kMostTensors, "internal error: a kernel of too many tensors");
        single[ntensors] = !output && t.numel() == 1;
        tensors[ntensors] = &t;
        say(single[ntensors] ? 'o' : 't');
        say(t.dtype);
        ntensors++;
        device = t.device.index;
    }
    void argument(const Value& v) {
        switch (v.tag) {
            case Tag::None:
                return say('n');
            case Tag::Tensor:
                if (!v.t->is_cpu()) return tensor(*v.t, false);
                say('m');
                return number(*v.t);
            case Tag::Bool:
                return say(v.b ? 'T' : 'F');
            case Tag::Int:
            case Tag::Double:
            case Tag::Complex:
                return number(v);
            case Tag::Str:
                say('s');
                for (uint32_t i = 0; i < v.len; i++) say(v.str[i]);
                return say(';');
            default:
                return say('-');  // nothing that a kernel needs
        }
    }
};

// The space of a launch: the output's dimensions in the order of its memory, joined where all tensors allow it.
struct Space {
    int ndim = 0;
    int64_t sizes[kMostDims], strides[kMostDims][kMostTensors];
    bool dense = false;  // one dimension of neighbours, for each tensor that has more than one element
    bool wide = false;   // places beyond 32 bits
};

bool all_lie_alike(const Launch& l) {
    const Tensor& out = *l.tensors[0];
    if (!out.is_non_overlapping_and_dense()) return false;
    for (int j = 1; j < l.ntensors; j++) {
        const Tensor& t = *l.tensors[j];
        if (l.single[j] || &t == &out) continue;
        if (!(t.sizes() == out.sizes())) return false;
        if (!(t.is_contiguous() && out.is_contiguous()) && !(t.strides() == out.strides())) return false;
    }
    return true;
}

void walk(const Launch& l, Space& s) {
    const Tensor& out = *l.tensors[0];
    s.wide = out.numel() > INT32_MAX;
    if (all_lie_alike(l)) {
        s.dense = true;
        return;
    }
    int order[64], n = 0;
    for (int d = 0; d < out.ndim; d++) {
        if (out.size(d) == 1) continue;
        MT_CHECK(n < 64, "a tensor of more than 64 dimensions");
        int at = n++;
        for (; at > 0 && out.stride(order[at - 1]) < out.stride(d); at--) order[at] = order[at - 1];
        order[at] = d;
    }
    auto stride_of = [&](int j, int d) -> int64_t {
        const Tensor& t = *l.tensors[j];
        int64_t own = d - (out.ndim - t.ndim);
        return l.single[j] || own < 0 || t.size(own) == 1 ? 0 : t.stride(own);
    };
    for (int k = 0; k < n; k++) {  // outermost first
        const int d = order[k];
        bool joins = s.ndim > 0;
        for (int j = 0; joins && j < l.ntensors; j++) joins = s.strides[s.ndim - 1][j] == stride_of(j, d) * out.size(d);
        if (!joins) {
            MT_CHECK(s.ndim < kMostDims, "an element-wise operator of tensors whose memory has more than ", kMostDims,
                     " dimensions");
            s.sizes[s.ndim++] = 1;
        }
        s.sizes[s.ndim - 1] *= out.size(d);
        for (int j = 0; j < l.ntensors; j++) s.strides[s.ndim - 1][j] = stride_of(j, d);
    }
    s.dense = s.ndim <= 1;
    for (int j = 0; s.ndim == 1 && j < l.ntensors; j++) s.dense = s.dense && (l.single[j] || s.strides[0][j] == 1);
    for (int j = 0; j < l.ntensors; j++) {
        int64_t reach = 0;
        for (int k = 0; k < s.ndim; k++) reach += (s.sizes[k] - 1) * s.strides[k][j];
        s.wide = s.wide || reach > INT32_MAX;
    }
}

// Whether rows of neighbours begin where vectors may, and are as long as some of them.
bool lie_in_rows(const Launch& l, const Space& s) {
    int64_t widest = 1;
    for (int j = 0; j < l.ntensors; j++) widest = std::max(widest, l.tensors[j]->itemsize());
    const int64_t vector = 16 / widest;
    const int last = s.ndim - 1;
    if (vector < 2 || s.sizes[last] % vector) return false;
    for (int j = 0; j < l.ntensors; j++) {
        if (l.single[j] || (j && s.strides[last][j] == 0)) continue;
        if (s.strides[last][j] != 1 || reinterpret_cast<uintptr_t>(l.tensors[j]->raw()) % 16) return false;
        for (int k = 0; k < last; k++)
            if (s.strides[k][j] % vector) return false;
    }
    return true;
}

bool aligned(const Launch& l) {
    for (int j = 0; j < l.ntensors; j++)
        if (!l.single[j] && reinterpret_cast<uintptr_t>(l.tensors[j]->raw()) % 16) return false;
    return true;
}

const Compiled& compiled_kernel(KernelObject& k, const Launch& l) {
    std::string_view key(l.key, l.length);
    auto found = k.compiled.find(key);
    if (__builtin_expect(found != k.compiled.end(), 1)) return found->second;
    PyObject* name = PyBytes_FromStringAndSize(l.key, static_cast<Py_ssize_t>(l.length));
    PyObject* r = name ? call_python(k.compile, name) : nullptr;
    Py_XDECREF(name);
    if (!r) throw PythonError();
    unsigned long long function;
    long long per_block;
    unsigned threads;
    bool ok = PyArg_ParseTuple(r, "KLI", &function, &per_block, &threads);
    Py_DECREF(r);
    if (!ok) throw PythonError();
    return k.compiled.emplace(key, Compiled{reinterpret_cast<void*>(function), per_block, threads}).first->second;
}

void run(KernelObject& k, Launch& l, DType common) {
    const Tensor& out = *l.tensors[0];
    if (out.numel() == 0) return;
    Space s;
    walk(l, s);
    l.say('|');
    l.say(common == DType::Undefined ? out.dtype : common);
    l.say(static_cast<char>('0' + l.device));
    l.say(s.wide ? 'w' : 'n');
    if (s.dense)
        l.say(aligned(l) ? 'v' : 'c');
    else if (lie_in_rows(l, s)) {
        l.say(static_cast<char>('A' + s.ndim));
        for (int j = 0; j < l.ntensors; j++) l.say(s.strides[s.ndim - 1][j] ? '1' : '0');
    } else {
        l.say(static_cast<char>('0' + s.ndim));
    }
    const Compiled& kernel = compiled_kernel(k, l);

    int64_t arguments[1 + kMostTensors + 2 * kMostNumbers + kMostDims * (1 + kMostTensors)];
    int64_t* a = arguments;
    *a++ = out.numel();
    for (int j = 0; j < l.ntensors; j++) *a++ = static_cast<int64_t>(reinterpret_cast<intptr_t>(l.tensors[j]->raw()));
    std::memcpy(a, l.numbers, sizeof(Number) * static_cast<size_t>(l.nnumbers));
    a += 2 * l.nnumbers;
    if (!s.dense) {
        for (int d = 0; d < s.ndim; d++) *a++ = s.sizes[d];
        for (int d = 0; d < s.ndim; d++)
            for (int j = 0; j < l.ntensors; j++) *a++ = s.strides[d][j];
    }
    const unsigned grid[3] = {static_cast<unsigned>((out.numel() + kernel.per_block - 1) / kernel.per_block), 1, 1};
    const unsigned block[3] = {kernel.threads, 1, 1};
    launch(l.device, kernel.function, grid, block, 0, arguments);
}

void compute(Call& c) {
    const Operator& op = *c.op;
    const int given = op.form == Form::Out ? op.out_index : c.nargs;
    const int outputs = op.form == Form::Out ? op.nargs - op.out_index : op.nrets;
    Launch l;
    ResultType common;
    for (int i = 0; i < outputs; i++) l.tensor(c.out(i), true);
    for (int i = 0; i < given; i++) {
        l.argument(c.args[i]);
        common.add(c.args[i]);
    }
    run(*reinterpret_cast<KernelObject*>(c.kernel->python), l, common.get());
}

// ---- for Python ----

PyObject* kernel_new(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject* compile;
    if (!PyArg_ParseTuple(args, "O:_CudaPointwise", &compile)) return nullptr;
    auto* o = reinterpret_cast<KernelObject*>(type->tp_alloc(type, 0));
    if (!o) return nullptr;
    new (&o->compiled) decltype(o->compiled)();
    o->compile = Py_NewRef(compile);
    return reinterpret_cast<PyObject*>(o);
}

void kernel_dealloc(PyObject* self) {
    auto* o = reinterpret_cast<KernelObject*>(self);
    o->compiled.~unordered_map();
    Py_XDECREF(o->compile);
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

// impl(operator, flags): the kernel of an operator that has a shape rule.
PyObject* kernel_impl(PyObject* self, PyObject* args) {
    PyObject* handle;
    unsigned flags;
    if (!PyArg_ParseTuple(args, "OI:impl", &handle, &flags)) return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Operator* op = operator_of(handle);
        MT_CHECK_TYPE(op, "impl expects an operator");
        MT_CHECK(op->shape || op->shape_python, op->full_name, " has no shape rule, which a kernel would need");
        Kernel kernel;
        kernel.fn = run_structured;
        kernel.compute = compute;
        kernel.python = self;
        kernel.flags = flags;
        op->set_kernel(Key::CUDA, kernel);
        Py_RETURN_NONE;
    });
}

// run(outputs, arguments): one launch for tensors and numbers that Python gives, in this order.
PyObject* kernel_run(PyObject* self, PyObject* args) {
    PyObject *outputs, *inputs;
    if (!PyArg_ParseTuple(args, "O!O!:run", &PyTuple_Type, &outputs, &PyTuple_Type, &inputs)) return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Launch l;
        ResultType common;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); i++) {
            MT_CHECK_TYPE(tensor_check(PyTuple_GET_ITEM(outputs, i)), "run expects tensors as outputs");
            l.tensor(as_tensor(PyTuple_GET_ITEM(outputs, i)), true);
        }
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++) {
            PyObject* o = PyTuple_GET_ITEM(inputs, i);
            Value v;
            if (tensor_check(o))
                v = Value::of(&as_tensor(o));
            else if (PyBool_Check(o))
                v = Value::of(o == Py_True);
            else if (PyLong_Check(o))
                v = Value::of(static_cast<int64_t>(PyLong_AsLongLong(o)));
            else if (PyFloat_Check(o))
                v = Value::of(PyFloat_AS_DOUBLE(o));
            else if (PyComplex_Check(o))
                v = Value::of(c128(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
            if (PyErr_Occurred()) throw PythonError();
            l.argument(v);
            common.add(v);
        }
        run(*reinterpret_cast<KernelObject*>(self), l, common.get());
        Py_RETURN_NONE;
    });
}

PyMethodDef kernel_methods[] = {{"impl", kernel_impl, METH_VARARGS, nullptr},
                                {"run", kernel_run, METH_VARARGS, nullptr},
                                {nullptr, nullptr, 0, nullptr}};
PyType_Slot kernel_slots[] = {SLOT(Py_tp_new, kernel_new),
                              SLOT(Py_tp_dealloc, kernel_dealloc),
                              SLOT(Py_tp_methods, kernel_methods),
                              {0, nullptr}};
PyType_Spec kernel_spec = {"mindtorch_v2._C._CudaPointwise", sizeof(KernelObject), 0, Py_TPFLAGS_DEFAULT, kernel_slots};

}  // namespace

bool init_pointwise(PyObject* module) {
    g_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kernel_spec));
    return g_type && PyModule_AddObjectRef(module, "_CudaPointwise", reinterpret_cast<PyObject*>(g_type)) == 0;
}

}  // namespace mt::cuda
