// torch.Generator: seeding, state in PyTorch's byte layout, and the Python type.
#include "generator.h"

#include <pthread.h>
#include <sys/random.h>

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "above.h"
#include "autograd.h"
#include "device_memory.h"
#include "python/box.h"

namespace mt {
namespace {

// The bytes of get_state(): the layout that PyTorch has kept since its first releases.
struct LegacyState {
    uint64_t initial_seed;
    int32_t left;
    int32_t seeded;
    uint64_t next;
    uint64_t state[Mt19937::kWords];
    double normal_x;
    double normal_y;  // the kept double of a normal pair
    double normal_rho;
    int32_t normal_is_valid;
    int32_t padding;
    float next_float;
    bool next_float_is_valid;
};
static_assert(sizeof(LegacyState) == 5056);

// The same of a generator of another device.
struct DeviceState {
    uint64_t seed, offset;
};

uint64_t entropy() {
    uint64_t seed = 0;
    MT_CHECK(getrandom(&seed, sizeof(seed), 0) == sizeof(seed), "the system gave no random seed");
    return seed;
}

Generator* as_generator(PyObject* o) { return reinterpret_cast<Generator*>(o); }

// Every generator there is; guarded by the GIL.
std::vector<Generator*>& generators();

// A forked child has none of the threads that were drawing when it was made: what they held is free, and a draw that
// had stored one of its two counts is brought in step.
void in_child() {
    for (Generator* g : generators()) {
        new (&g->mutex) std::mutex;
        g->engine.left = std::min(g->engine.left, Mt19937::kWords + 1 - static_cast<int>(g->engine.next));
    }
}

std::vector<Generator*>& generators() {
    static auto* all = [] {
        pthread_atfork(nullptr, nullptr, in_child);
        return new std::vector<Generator*>;
    }();
    return *all;
}

Generator* make_generator(PyTypeObject* type, Device device) {
    PyObject* o = type->tp_alloc(type, 0);
    if (!o) throw PythonError();
    Generator* g = as_generator(o);
    new (&g->device) Device(device);
    new (&g->engine) Mt19937;
    new (&g->mutex) std::mutex;
    g->next_float = 0;
    g->next_double = 0;
    g->reseed(67280421310721u);  // PyTorch's default_rng_seed_val
    generators().push_back(g);
    return g;
}

void copy_generator(Generator& to, const Generator& from) {
    to.initial_seed = from.initial_seed;
    to.offset = from.offset;
    to.engine = from.engine;
    to.has_next_float = from.has_next_float;
    to.has_next_double = from.has_next_double;
    to.next_float = from.next_float;
    to.next_double = from.next_double;
}

template <class F>
PyObject* guarded(F&& f) {
    try {
        return f();
    } catch (...) {
        raise_to_python();
        return nullptr;
    }
}

PyObject* none() { return Py_NewRef(Py_None); }
PyObject* own(PyObject* o) { return Py_NewRef(o); }

Device device_from_python(PyObject* o) {
    PyObject* text = PyObject_Str(o);
    if (!text) throw PythonError();
    const char* s = PyUnicode_AsUTF8(text);
    std::string name = s ? s : "";
    Py_DECREF(text);
    if (!s) throw PythonError();
    return parse_device(name);
}

PyObject* g_own_maker = nullptr;

PyObject* generator_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    return guarded([&]() -> PyObject* {
        static const char* names[] = {"device", nullptr};
        PyObject* device = nullptr;
        if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(names), &device))
            return nullptr;
        Device d;
        if (device) d = device_from_python(device);
        if (d.type == DeviceType::NPU && own_device_renamed() && type == generator_type()) {
            MT_CHECK(g_own_maker, "the package is not assembled");
            return PyObject_CallFunction(g_own_maker, "i", d.index);  // the program's own maker makes it
        }
        if (d.type == DeviceType::CUDA) {
            try {
                load_device(d);
            } catch (const PythonError&) {
                if (!PyErr_ExceptionMatches(PyExc_AssertionError)) throw;
                PyErr_Clear();  // no driver: what PyTorch says of generators then
                MT_THROW(Runtime,
                         "Cannot get CUDA generator without ATen_cuda library. There is no driver of NVIDIA here.");
            }
        }
        MT_CHECK(d.is_cpu() || d.type == DeviceType::NPU || has_back_end(d.type), "Device type ",
                 device_type_name(d.type), " has no random number generator here");
        if (d.is_cpu())
            d.index = -1;
        else if (d.index < 0)
            d.index = current_device_index(d.type);
        return reinterpret_cast<PyObject*>(make_generator(type, d));
    });
}

void generator_dealloc(PyObject* self) {
    std::erase(generators(), as_generator(self));
    as_generator(self)->mutex.~mutex();
    Py_TYPE(self)->tp_free(self);
}

PyObject* generator_manual_seed(PyObject* self, PyObject* seed) {
    return guarded([&]() -> PyObject* {
        settle_all();
        bool integral = PyLong_Check(seed) && !PyBool_Check(seed);
        MT_CHECK(integral, "manual_seed expected a long, but got ", Py_TYPE(seed)->tp_name);
        // Negative seeds stand for their two's complement, as in PyTorch.
        int overflow = 0;
        long long value = PyLong_AsLongLongAndOverflow(seed, &overflow);
        uint64_t bits = static_cast<uint64_t>(value);
        if (overflow > 0) {
            bits = PyLong_AsUnsignedLongLong(seed);
            if (PyErr_Occurred()) {
                PyErr_Clear();
                overflow = -1;
            }
        }
        MT_CHECK_VALUE(overflow >= 0, "Overflow when unpacking long long");
        GeneratorLock lock(*as_generator(self));
        as_generator(self)->reseed(bits);
        return own(self);
    });
}

PyObject* generator_seed(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        settle_all();
        uint64_t seed = entropy();
        GeneratorLock lock(*as_generator(self));
        as_generator(self)->reseed(seed);
        return PyLong_FromUnsignedLongLong(seed);
    });
}

PyObject* generator_initial_seed(PyObject* self, PyObject*) {
    return PyLong_FromUnsignedLongLong(as_generator(self)->initial_seed);
}

PyObject* generator_get_state(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        settle_all();
        Generator& g = *as_generator(self);
        if (!g.device.is_cpu()) {
            int64_t bytes = sizeof(DeviceState);
            TensorRef t = empty(IntSpan(&bytes, 1), DType::UInt8);
            GeneratorLock lock(g);
            DeviceState s{g.initial_seed, g.offset};
            std::memcpy(t->raw(), &s, sizeof(s));
            return t.release()->py();
        }
        int64_t size = sizeof(LegacyState);
        TensorRef t = empty(IntSpan(&size, 1), DType::UInt8);
        LegacyState s;
        std::memset(static_cast<void*>(&s), 0, sizeof(s));
        GeneratorLock lock(g);
        s.initial_seed = g.initial_seed;
        s.left = g.engine.left;
        s.seeded = 1;
        s.next = g.engine.next;
        for (int i = 0; i < Mt19937::kWords; i++) s.state[i] = g.engine.state[i];
        if (g.has_next_double) {
            s.normal_y = g.next_double;
            s.normal_is_valid = 1;
        }
        if (g.has_next_float) {
            s.next_float = g.next_float;
            s.next_float_is_valid = true;
        }
        std::memcpy(t->raw(), &s, sizeof(s));
        return t.release()->py();
    });
}

PyObject* generator_set_state(PyObject* self, PyObject* state) {
    return guarded([&]() -> PyObject* {
        settle_all();
        MT_CHECK_TYPE(tensor_check(state), "expected a torch.ByteTensor, but got ", Py_TYPE(state)->tp_name);
        const Tensor& given = *reinterpret_cast<Tensor*>(state);
        MT_CHECK_TYPE(given.is_cpu() && given.dtype == DType::UInt8, "RNG state must be a torch.ByteTensor");
        if (!as_generator(self)->device.is_cpu()) {
            MT_CHECK(given.numel() == sizeof(DeviceState), "RNG state is wrong size");
            TensorRef dense = contiguous(given);
            DeviceState s;
            std::memcpy(&s, dense->raw(), sizeof(s));
            GeneratorLock lock(*as_generator(self));
            as_generator(self)->reseed(s.seed);
            as_generator(self)->offset = s.offset;
            return own(self);
        }
        MT_CHECK(given.numel() == sizeof(LegacyState), "Expected a CPUGeneratorImplState of size ", sizeof(LegacyState),
                 " but found the input RNG state size to be ", given.numel());
        TensorRef dense = contiguous(given);
        LegacyState s;
        std::memcpy(static_cast<void*>(&s), dense->raw(), sizeof(s));
        // `left` words remain before the next block; one that is not in step with `next` would read outside the block.
        bool fresh = s.left == 1 && s.next <= Mt19937::kWords;
        bool running = s.left > 1 && s.left <= Mt19937::kWords + 1 &&
                       s.next + static_cast<uint64_t>(s.left) <= Mt19937::kWords + 1;
        MT_CHECK(s.seeded == 1 && (fresh || running), "Invalid mt19937 state");
        Generator& g = *as_generator(self);
        GeneratorLock lock(g);
        g.initial_seed = s.initial_seed;
        g.engine.left = s.left;
        g.engine.next = static_cast<uint32_t>(s.next);
        for (int i = 0; i < Mt19937::kWords; i++) g.engine.state[i] = static_cast<uint32_t>(s.state[i]);
        g.has_next_double = s.normal_is_valid != 0;
        g.next_double = s.normal_y;
        g.has_next_float = s.next_float_is_valid;
        g.next_float = s.next_float;
        return own(self);
    });
}

PyObject* generator_clone_state(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        settle_all();
        Generator& from = *as_generator(self);
        Generator* g = make_generator(generator_type(), from.device);
        GeneratorLock lock(from);
        copy_generator(*g, from);
        return reinterpret_cast<PyObject*>(g);
    });
}

PyObject* generator_get_offset(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        settle_all();
        MT_CHECK(!as_generator(self)->device.is_cpu(), "CPU Generator does not use offset");
        return PyLong_FromUnsignedLongLong(as_generator(self)->offset);
    });
}
PyObject* generator_set_offset(PyObject* self, PyObject* offset) {
    return guarded([&]() -> PyObject* {
        settle_all();
        Generator& g = *as_generator(self);
        MT_CHECK(!g.device.is_cpu(), "CPU Generator does not use offset");
        unsigned long long value = PyLong_AsUnsignedLongLong(offset);
        if (PyErr_Occurred()) return nullptr;
        MT_CHECK(value % 4 == 0, "offset must be a multiple of 4");
        GeneratorLock lock(g);
        g.offset = value;
        return own(self);
    });
}
// _draw(n) -> (seed, offset) for one operator of the device, which may draw n numbers of each stream: the offset moves
// on.
PyObject* generator_draw(PyObject* self, PyObject* count) {
    return guarded([&]() -> PyObject* {
        settle_all();
        Generator& g = *as_generator(self);
        MT_CHECK(!g.device.is_cpu(), "CPU Generator does not use offset");
        unsigned long long n = PyLong_AsUnsignedLongLong(count);
        if (PyErr_Occurred()) return nullptr;
        GeneratorLock lock(g);
        uint64_t before = g.offset;
        g.offset += (n + 3) / 4 * 4;
        return Py_BuildValue("KK", static_cast<unsigned long long>(g.initial_seed),
                             static_cast<unsigned long long>(before));
    });
}
PyObject* generator_no_graphsafe_get(PyObject*, PyObject*) {
    PyErr_SetString(PyExc_NotImplementedError, "graphsafe_get_state is not supported in this Generator");
    return nullptr;
}
PyObject* generator_no_graphsafe_set(PyObject*, PyObject*) {
    PyErr_SetString(PyExc_NotImplementedError, "graphsafe_set_state is not supported in this Generator");
    return nullptr;
}

// Pickled as PyTorch does: (type, (device,), (initial_seed, offset, state)).
PyObject* generator_reduce(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        Value device;
        device.tag = Tag::Device;
        device.device = as_generator(self)->device;
        // The class has PyTorch's name, by which it is found only where this package stands for torch.
        PyObject* make = call_above("generator_maker");
        PyObject* state = make ? generator_get_state(self, nullptr) : nullptr;
        if (!state) {
            Py_XDECREF(make);
            return nullptr;
        }
        const Generator& g = *as_generator(self);
        PyObject* offset = g.device.is_cpu() ? none() : PyLong_FromUnsignedLongLong(g.offset);
        return Py_BuildValue("(N(N)(KNN))", make, box(device), static_cast<unsigned long long>(g.initial_seed), offset,
                             state);
    });
}

PyObject* generator_setstate(PyObject* self, PyObject* state) {
    return guarded([&]() -> PyObject* {
        PyObject *seed, *offset, *bytes;
        if (!PyTuple_Check(state)) MT_THROW(Type, "Generator state must be a tuple, not ", Py_TYPE(state)->tp_name);
        if (!PyArg_ParseTuple(state, "OOO", &seed, &offset, &bytes)) return nullptr;
        PyObject* done = generator_set_state(self, bytes);
        if (!done) return nullptr;
        Py_DECREF(done);
        return none();
    });
}

PyObject* generator_device(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        Value device;
        device.tag = Tag::Device;
        device.device = as_generator(self)->device;
        return box(device);
    });
}

PyMethodDef generator_methods[] = {
    {"manual_seed", generator_manual_seed, METH_O, "manual_seed(seed) -> Generator\n\nRestarts the stream of `seed`."},
    {"seed", generator_seed, METH_NOARGS, "seed() -> int\n\nReseeds from the system's entropy and returns the seed."},
    {"initial_seed", generator_initial_seed, METH_NOARGS, "initial_seed() -> int"},
    {"get_state", generator_get_state, METH_NOARGS,
     "get_state() -> Tensor\n\nThe state as 5056 bytes (16 of a device's), in PyTorch's layout."},
    {"set_state", generator_set_state, METH_O, "set_state(state) -> Generator\n\nContinues where `state` was taken."},
    {"clone_state", generator_clone_state, METH_NOARGS,
     "clone_state() -> Generator\n\nA generator that continues alike."},
    {"get_offset", generator_get_offset, METH_NOARGS,
     "get_offset() -> int\n\nHow far the stream of a device was read; RuntimeError for a CPU generator, which has "
     "none."},
    {"set_offset", generator_set_offset, METH_O,
     "set_offset(offset) -> Generator\n\nGoes on from a multiple of 4; RuntimeError for a CPU generator."},
    {"_draw", generator_draw, METH_O, nullptr},
    {"graphsafe_get_state", generator_no_graphsafe_get, METH_NOARGS, "graphsafe_get_state()\n\nRaises on the CPU."},
    {"graphsafe_set_state", generator_no_graphsafe_set, METH_O, "graphsafe_set_state(state)\n\nRaises on the CPU."},
    {"__reduce__", generator_reduce, METH_NOARGS, nullptr},
    {"__setstate__", generator_setstate, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef generator_properties[] = {
    {"device", generator_device, nullptr, "The device whose random numbers this makes.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyTypeObject make_type() {
    PyTypeObject t = {PyVarObject_HEAD_INIT(nullptr, 0)};
    t.tp_name = "torch._C.Generator";
    t.tp_doc =
        "Generator(device='cpu')\n\nA stream of pseudorandom numbers: the same seed gives PyTorch's numbers.\n\n"
        ">>> torch.rand(2, generator=torch.Generator().manual_seed(0))\n"
        "tensor([0.4963, 0.7682])\n";
    t.tp_basicsize = sizeof(Generator);
    t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
    t.tp_new = generator_new;
    t.tp_dealloc = generator_dealloc;
    t.tp_methods = generator_methods;
    t.tp_getset = generator_properties;
    return t;
}

}  // namespace

void set_own_generator_maker(PyObject* maker) { Py_XSETREF(g_own_maker, Py_NewRef(maker)); }

PyTypeObject* generator_type() {
    static PyTypeObject type = make_type();
    if (!(type.tp_flags & Py_TPFLAGS_READY) && PyType_Ready(&type) < 0) throw PythonError();
    return &type;
}

bool generator_check(PyObject* o) { return PyObject_TypeCheck(o, generator_type()); }

Generator& default_generator() {
    static Generator* g = [] {
        Generator* made = make_generator(generator_type(), Device());
        made->reseed(entropy());
        return made;
    }();
    return *g;
}

Generator& generator_of(const Value& argument) {
    if (argument.is_none()) return default_generator();
    MT_CHECK_TYPE((argument.tag == Tag::Generator || argument.tag == Tag::Object) && generator_check(argument.obj),
                  "expected a torch.Generator");
    // A generator of a program's own has no state here: own_generators.py.
    if (Py_TYPE(argument.obj) != generator_type()) {
        PyObject* held = PyObject_GetAttrString(argument.obj, "_held");
        PyErr_Clear();
        Py_XDECREF(held);
        MT_CHECK_AS(NotImplemented, !held,
                    "Could not run this operator with arguments from the 'CustomRNGKeyId' backend: the "
                    "library of the generator registers no kernel for it");
    }
    Generator& g = *as_generator(argument.obj);
    MT_CHECK(g.device.is_cpu(), "Expected a 'cpu' device type for generator but found '",
             device_type_name(g.device.type), "'");
    return g;
}

}  // namespace mt
