// UntypedStorage: the bytes under tensors, as a Python object with the buffer protocol.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <memory>

#include <cerrno>
#include <cstring>

#include "../autograd.h"
#include "../copy_on_write.h"
#include "../device_memory.h"
#include "../foreign.h"
#include "../functional.h"
#include "../shared_memory.h"
#include "deferred.h"
#include "tensor_new.h"
#include "types.h"

namespace mt {
namespace {

struct StorageObject {
    PyObject_HEAD PyObject* dict;
    PyObject* weakrefs;
    Storage* storage;
};
PyTypeObject* g_type = nullptr;
PyTypeObject* g_made_type = nullptr;  // the Python class that storages made here get
PyTypeObject* made_type() { return g_made_type ? g_made_type : g_type; }

Storage* get(PyObject* o) { return reinterpret_cast<StorageObject*>(o)->storage; }

PyObject* wrap(PyTypeObject* type, Storage* s) {  // takes the reference
    StorageObject* o = reinterpret_cast<StorageObject*>(type->tp_alloc(type, 0));
    if (!o) {
        s->drop();
        throw PythonError();
    }
    o->storage = s;
    return reinterpret_cast<PyObject*>(o);
}

bool on_device(const Storage* s) { return !s->device.is_cpu() && !s->device.is_meta(); }
void check_host(const Storage* s) {
    MT_CHECK_TYPE(!on_device(s), "the bytes of a storage on ", device_name(s->device),
                  " cannot be reached from the host: copy it to the CPU first");
}
// Fills a storage from the bytes of another, wherever they are.
void move_bytes(Storage* to, const void* from, Device from_device) {
    MT_CHECK_AS(NotImplemented, !from_device.is_meta() || to->device.is_meta(),
                "Cannot copy out of meta tensor; no data!");
    if (!to->data || !from || !to->nbytes) return;
    bool to_host = to->device.is_cpu(), from_host = from_device.is_cpu();
    if (to_host && from_host) {
        std::memcpy(to->data, from, to->nbytes);
        return;
    }
    MT_CHECK(to_host || from_host || to->device == from_device, "copy_: a storage on ", device_name(from_device),
             " cannot be copied to one on ", device_name(to->device), " directly");
    Device device = to_host ? from_device : to->device;
    Transfer kind = to_host ? Transfer::ToHost : from_host ? Transfer::ToDevice : Transfer::Within;
    device_memory(device).transfer(to->data, from, to->nbytes, kind, device, false, nullptr);
}

PyObject* storage_new(PyTypeObject* type, PyObject* args, PyObject* kw) {
    if (type == g_type) {
        PyErr_SetString(PyExc_RuntimeError,
                        "Cannot directly construct StorageBase; subclass it and then construct that");
        return nullptr;
    }
    static const char* names[] = {"size", "device", nullptr};
    PyObject *first = nullptr, *device = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|OO:UntypedStorage", const_cast<char**>(names), &first, &device))
        return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        Device d = device && device != Py_None ? device_from_python(device) : Device();
        if (!d.is_cpu() && !d.is_meta() && d.index < 0) d.index = current_device_index(d.type);
        if (first && !PyLong_Check(first)) {
            PyObject* bytes = PyBytes_FromObject(first);
            if (!bytes) throw PythonError();
            Storage* s = storage_alloc(static_cast<size_t>(PyBytes_GET_SIZE(bytes)), d);
            move_bytes(s, PyBytes_AS_STRING(bytes), Device());
            Py_DECREF(bytes);
            return wrap(type, s);
        }
        long long n = first ? PyLong_AsLongLong(first) : 0;
        if (n == -1 && PyErr_Occurred()) throw PythonError();
        MT_CHECK(n >= 0, "UntypedStorage: size must not be negative, got ", n);
        return wrap(type, storage_alloc(static_cast<size_t>(n), d));
    });
}
void storage_dealloc(PyObject* o) {
    StorageObject* s = reinterpret_cast<StorageObject*>(o);
    if (s->weakrefs) PyObject_ClearWeakRefs(o);
    Py_CLEAR(s->dict);
    if (s->storage) s->storage->drop();
    PyTypeObject* type = Py_TYPE(o);
    type->tp_free(o);
    Py_DECREF(type);
}

int storage_buffer(PyObject* o, Py_buffer* view, int flags) {
    Storage* s = get(o);
    static char nothing[1];
    if (s->device.is_meta() || is_functional(s)) {
        PyErr_SetString(PyExc_BufferError, s->device.is_meta() ? "a storage on the meta device has no data"
                                                               : "the storage of a functional tensor has no data");
        return -1;
    }
    if (on_device(s)) {
        PyErr_SetString(PyExc_BufferError, "a storage on a device has no buffer on the host: copy it to the CPU first");
        return -1;
    }
    try {
        settle_all();
        note_export(s);
    } catch (...) {
        raise_to_python();
        return -1;
    }
    if (PyBuffer_FillInfo(view, o, s->data ? s->data : nothing, static_cast<Py_ssize_t>(s->nbytes), 0, flags) < 0) {
        forget_export(s);
        return -1;
    }
    return 0;
}

void storage_release_buffer(PyObject* o, Py_buffer*) { forget_export(get(o)); }

Py_ssize_t storage_length(PyObject* o) { return static_cast<Py_ssize_t>(get(o)->nbytes); }

struct Slice {
    Storage* parent;
};
void release_slice(void* p) {
    Slice* s = static_cast<Slice*>(p);
    forget_export(s->parent);
    delete s;
}
PyObject* storage_subscript(PyObject* o, PyObject* key) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        settle_all();
        Storage* s = get(o);
        if (PySlice_Check(key)) {
            Py_ssize_t start, stop, step;
            if (PySlice_Unpack(key, &start, &stop, &step) < 0) throw PythonError();
            Py_ssize_t n = PySlice_AdjustIndices(static_cast<Py_ssize_t>(s->nbytes), &start, &stop, step);
            MT_CHECK(step == 1, "Trying to slice with a step of ", step, ", but only a step of 1 is supported");
            auto slice = std::make_unique<Slice>(Slice{s});
            note_export(s);  // the slice stands on its memory
            char* data = s->data ? static_cast<char*>(s->data) + start : nullptr;
            Storage* made;
            try {
                made = storage_wrap(data, static_cast<size_t>(n), s->device, slice.get(), release_slice);
            } catch (...) {
                forget_export(s);
                throw;
            }
            slice.release();
            return wrap(made_type(), made);
        }
        MT_CHECK_AS(NotImplemented, !s->device.is_meta(), "Not available for 'meta' device type");
        Py_ssize_t i = PyNumber_AsSsize_t(key, PyExc_IndexError);
        if (i == -1 && PyErr_Occurred()) throw PythonError();
        Py_ssize_t n = static_cast<Py_ssize_t>(s->nbytes);
        if (i < 0) i += n;
        MT_CHECK_INDEX(i >= 0 && i < n, "index ", i, " out of range for storage of size ", n);
        MT_CHECK(s->data, "a storage of a functional tensor has no data");
        check_host(s);
        return PyLong_FromLong(static_cast<unsigned char*>(s->data)[i]);
    });
}
int storage_ass_subscript(PyObject* o, PyObject* key, PyObject* value) {
    return guarded<int>(-1, [&] {
        settle_all();
        Storage* s = get(o);
        check_host(s);
        Py_ssize_t n = static_cast<Py_ssize_t>(s->nbytes);
        long v = value ? PyLong_AsLong(value) : -1;
        if (v == -1 && PyErr_Occurred()) throw PythonError();
        MT_CHECK(v >= 0 && v < 256, "storage bytes are between 0 and 255");
        if (s->device.is_meta()) return 0;
        MT_CHECK(!is_functional(s), "a storage of a functional tensor has no data");
        before_write(s);
        if (PySlice_Check(key)) {
            Py_ssize_t start, stop, step;
            if (PySlice_Unpack(key, &start, &stop, &step) < 0) throw PythonError();
            Py_ssize_t len = PySlice_AdjustIndices(n, &start, &stop, step);
            MT_CHECK(step == 1, "Trying to slice with a step of ", step, ", but only a step of 1 is supported");
            for (Py_ssize_t i = 0; i < len; i++)
                static_cast<unsigned char*>(s->data)[start + i * step] = static_cast<unsigned char>(v);
            return 0;
        }
        Py_ssize_t i = PyNumber_AsSsize_t(key, PyExc_IndexError);
        if (i == -1 && PyErr_Occurred()) throw PythonError();
        // As in PyTorch, which takes negative numbers for reading alone.
        MT_CHECK(i >= 0 && i < n && s->data, "out of bounds: byte ", i, " is none of a storage of ", n, " bytes");
        static_cast<unsigned char*>(s->data)[i] = static_cast<unsigned char>(v);
        return 0;
    });
}

PyObject* m_nbytes(PyObject* o, PyObject*) { return PyLong_FromSize_t(get(o)->nbytes); }
PyObject* m_data_ptr(PyObject* o, PyObject*) {
    return guarded<PyObject*>(nullptr, [&] {
        settle_all();
        before_write(get(o));
        return PyLong_FromVoidPtr(get(o)->data);
    });
}
PyObject* m_resize(PyObject* o, PyObject* n) {
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        long long v = PyLong_AsLongLong(n);
        if (v == -1 && PyErr_Occurred()) throw PythonError();
        settle_all();
        MT_CHECK(v >= 0, "resize_: size must not be negative, got ", v);
        storage_resize(get(o), static_cast<size_t>(v));
        Py_INCREF(o);
        return o;
    });
}
PyObject* m_element_size(PyObject*, PyObject*) { return PyLong_FromLong(1); }
PyObject* m_resizable(PyObject* o, PyObject*) { return PyBool_FromLong(get(o)->resizable); }
PyObject* m_use_count(PyObject* o, PyObject*) { return PyLong_FromLongLong(get(o)->refs.load()); }

struct Mapping {
    void* address;
    size_t length;
};
void release_mapping(void* p) {
    Mapping* m = static_cast<Mapping*>(p);
    if (m->address) munmap(m->address, m->length);
    delete m;
}
PyObject* m_from_file(PyObject*, PyObject* args, PyObject* kw) {
    static const char* names[] = {"filename", "shared", "nbytes", nullptr};
    PyObject* filename = nullptr;
    int shared = 0;
    long long nbytes = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "O|pL:from_file", const_cast<char**>(names), &filename, &shared,
                                     &nbytes))
        return nullptr;
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        PyObject* path = nullptr;
        if (!PyUnicode_FSConverter(filename, &path)) throw PythonError();
        std::string name = PyBytes_AS_STRING(path);
        Py_DECREF(path);
        int fd = open(name.c_str(), shared ? O_RDWR | O_CREAT : O_RDONLY, 0644);
        MT_CHECK(fd >= 0, "unable to open file <", name, "> in read-", shared ? "write" : "only",
                 " mode: ", std::strerror(errno), " (", errno, ")");
        struct stat st;
        fstat(fd, &st);
        if (nbytes <= 0) nbytes = st.st_size;
        if (st.st_size < nbytes && shared && ftruncate(fd, nbytes) != 0) {
            close(fd);
            MT_THROW(Runtime, "unable to resize file <", name, "> to the right size: ", std::strerror(errno));
        }
        if (st.st_size < nbytes && !shared) {
            close(fd);
            MT_THROW(Runtime, "file <", name, "> has ", static_cast<long long>(st.st_size), " bytes, ", nbytes,
                     " were asked for");
        }
        void* p = nullptr;
        if (nbytes > 0) {
            p = mmap(nullptr, static_cast<size_t>(nbytes), PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE,
                     fd, 0);
            if (p == MAP_FAILED) {
                int e = errno;
                close(fd);
                MT_THROW(Runtime, "unable to mmap ", nbytes, " bytes from file <", name, ">: ", std::strerror(e), " (",
                         e, ")");
            }
        }
        close(fd);
        Storage* made;
        try {
            auto mapping = std::make_unique<Mapping>(Mapping{p, static_cast<size_t>(nbytes)});
            made = storage_wrap(p, static_cast<size_t>(nbytes), Device(), mapping.get(), release_mapping);
            mapping.release();
        } catch (...) {
            if (p) munmap(p, static_cast<size_t>(nbytes));
            throw;
        }
        return wrap(made_type(), made);
    });
}

PyObject* m_from_buffer(PyObject*, PyObject* args, PyObject*) {
    PyObject* source;
    if (!PyArg_ParseTuple(args, "O:from_buffer", &source)) return nullptr;
    return guarded<PyObject*>(nullptr, [&] {
        auto view = std::make_unique<Py_buffer>();
        if (PyObject_GetBuffer(source, view.get(), PyBUF_SIMPLE) < 0) throw PythonError();
        Storage* made;
        try {
            made = storage_wrap(view->buf, static_cast<size_t>(view->len), Device(), view.get(), release_buffer);
        } catch (...) {
            PyBuffer_Release(view.get());
            throw;
        }
        view.release();
        return wrap(made_type(), made);
    });
}
PyObject* m_copy_(PyObject* o, PyObject* args, PyObject* kw) {
    static const char* names[] = {"source", "non_blocking", nullptr};
    PyObject* source;
    int non_blocking = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "O|p:copy_", const_cast<char**>(names), &source, &non_blocking))
        return nullptr;
    return guarded<PyObject*>(nullptr, [&] {
        settle_all();
        Storage* s = storage_of(source);
        MT_CHECK_TYPE(s, "copy_ expects a storage");
        MT_CHECK(s->nbytes == get(o)->nbytes, "size does not match, self was ", get(o)->nbytes, " bytes but src was ",
                 s->nbytes, " bytes");
        MT_CHECK(!is_functional(s) && !is_functional(get(o)),
                 "Attempted to call copy_() on an invalid python storage.");
        before_write(get(o));
        move_bytes(get(o), s->data, s->device);
        Py_INCREF(o);
        return o;
    });
}

PyObject* m_is_shared(PyObject* o, PyObject*) { return PyBool_FromLong(shared_descriptor(get(o)) >= 0); }
PyObject* m_share(PyObject* o, PyObject*) {
    return guarded<PyObject*>(nullptr, [&] {
        settle_all();
        Storage* s = get(o);
        MT_CHECK(s->device.is_cpu(), "_share_fd_: only available on CPU");
        share_storage(s, is_exported(s));
        return Py_BuildValue("in", shared_descriptor(s), static_cast<Py_ssize_t>(s->nbytes));
    });
}
PyObject* m_new_shared(PyObject*, PyObject* args) {
    int fd;
    Py_ssize_t nbytes;
    if (!PyArg_ParseTuple(args, "in:_new_shared_fd_cpu", &fd, &nbytes)) return nullptr;
    return guarded<PyObject*>(nullptr,
                              [&] { return wrap(made_type(), shared_storage(fd, static_cast<size_t>(nbytes))); });
}

PyObject* get_device(PyObject* o, void*) {
    return guarded<PyObject*>(nullptr, [&] { return device_object(shown_device(get(o)->device)); });
}
PyObject* get_cdata(PyObject* o, void*) { return PyLong_FromVoidPtr(get(o)); }

PyMethodDef methods[] = {
    {"nbytes", m_nbytes, METH_NOARGS, "Size in bytes."},
    {"size", m_nbytes, METH_NOARGS, "Size in bytes."},
    {"data_ptr", m_data_ptr, METH_NOARGS, "Address of the first byte."},
    {"resize_", m_resize, METH_O, "Change the size in bytes, keeping what fits."},
    {"element_size", m_element_size, METH_NOARGS, nullptr},
    {"resizable", m_resizable, METH_NOARGS, nullptr},
    {"_use_count", m_use_count, METH_NOARGS, nullptr},
    {"copy_", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(m_copy_)), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"from_file", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(m_from_file)),
     METH_VARARGS | METH_KEYWORDS | METH_STATIC,
     "from_file(filename, shared=False, nbytes=0): a storage over a memory-mapped file."},
    {"from_buffer", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(m_from_buffer)),
     METH_VARARGS | METH_KEYWORDS | METH_STATIC,
     "from_buffer(object): a storage over the memory of an object with the buffer protocol, without a copy."},
    {"is_shared", m_is_shared, METH_NOARGS, "Whether the bytes lie in memory that other processes can map."},
    {"_share_fd_cpu_", m_share, METH_NOARGS,
     "Move the bytes to shared memory, unless they are there: its descriptor, which the storage keeps, and its size."},
    {"_new_shared_fd_cpu", m_new_shared, METH_VARARGS | METH_STATIC,
     "_new_shared_fd_cpu(fd, nbytes): a storage over shared memory, which keeps the descriptor."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef getset[] = {{"device", get_device, nullptr, nullptr, nullptr},
                        {"_cdata", get_cdata, nullptr, nullptr, nullptr},
                        {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(StorageObject, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(StorageObject, weakrefs), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(storage_new)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(storage_dealloc)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, getset},
                       {Py_tp_members, members},
                       {Py_mp_length, reinterpret_cast<void*>(storage_length)},
                       {Py_mp_subscript, reinterpret_cast<void*>(storage_subscript)},
                       {Py_mp_ass_subscript, reinterpret_cast<void*>(storage_ass_subscript)},
                       {Py_bf_getbuffer, reinterpret_cast<void*>(storage_buffer)},
                       {Py_bf_releasebuffer, reinterpret_cast<void*>(storage_release_buffer)},
                       {0, nullptr}};
PyType_Spec spec = {"mindtorch_v2._C.StorageBase", sizeof(StorageObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                    slots};
PyObject* py_set_storage_type(PyObject*, PyObject* o) {
    Py_INCREF(o);
    g_made_type = reinterpret_cast<PyTypeObject*>(o);
    Py_RETURN_NONE;
}
PyMethodDef functions[] = {{"_set_storage_type", py_set_storage_type, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* storage_object(Storage* s) {
    s->retain();
    return wrap(made_type(), s);
}
Storage* storage_of(PyObject* o) { return PyObject_TypeCheck(o, g_type) ? get(o) : nullptr; }

bool init_storage_type(PyObject* module) {
    g_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (!g_type) return false;
    PyModule_AddObjectRef(module, "StorageBase", reinterpret_cast<PyObject*>(g_type));
    return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace mt
