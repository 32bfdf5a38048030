// What a node keeps for backward: versions are checked when it is taken out again, hooks may pack it meanwhile.
#include <utility>

#include "autograd.h"
#include "composing.h"
#include "gil.h"
#include "hooks.h"
#include "python/types.h"
#include "python_keys.h"

namespace mt {

thread_local std::vector<std::pair<PyObject*, PyObject*>> g_saved_hooks;
thread_local const char* g_saved_hooks_disabled = nullptr;
bool g_anomaly = false, g_anomaly_check_nan = true;

void save_object(Saved& s, PyObject* o) {
    Py_XINCREF(o);
    s.object = o;
    s.kind = o ? Saved::Object : Saved::Empty;
}

void save(Saved& s, Tensor* t, bool is_output, uint32_t nr) {
    if (!t) return;
    MT_CHECK(!(t->flags & kInference) || g_thread.inference_mode,
             "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
             "computation tracked by autograd. "
             "To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
             "`torch.no_grad()` instead of "
             "`torch.inference_mode()`.");
    s.nr = nr;
    s.requires_grad = requires_grad(*t);
    s.leaf = is_leaf(*t);
    if (!g_saved_hooks.empty()) {
        auto [pack, unpack_hook] = g_saved_hooks.back();
        TensorRef given = is_output ? detached_alias(*t) : TensorRef::share(t);
        if (!is_output && s.requires_grad) s.history = gradient_edge(*t);
        s.version = t->version();
        pack_saved(s, *given, pack, unpack_hook);
        return;
    }
    if (is_output && !s.leaf) {
        // An alias without history: the node must not keep itself alive through its own output.
        TensorRef alias = detached_alias(*t);
        s.object = alias.release()->py();
        s.kind = Saved::Output;
    } else {
        Py_INCREF(t->py());
        s.object = t->py();
        s.kind = Saved::Input;
    }
    s.version = t->version();
}

void pack_saved(Saved& s, Tensor& t, PyObject* pack, PyObject* unpack_hook) {
    uint32_t version = t.version();
    std::vector<std::pair<PyObject*, PyObject*>> held;
    held.swap(g_saved_hooks);  // a hook's own operations are not packed, nor recorded
    const bool recording = std::exchange(g_thread.grad_mode, false);
    PyObject* packed = call_python(pack, t.py());
    g_thread.grad_mode = recording;
    held.swap(g_saved_hooks);
    if (!packed) throw PythonError();
    if (t.version() != version) {
        Py_DECREF(packed);
        MT_THROW(Runtime,
                 "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
                 "cannot be modified by in-place operations as this can lead to unexpected side-effects. Please open "
                 "an issue if you need to perform in-place operations on the input to a pack hook.");
    }
    if (s.kind == Saved::Input && s.requires_grad && !s.history.node) s.history = gradient_edge(t);
    PyObject* old = std::exchange(s.object, packed);
    Py_XDECREF(old);
    s.unpack = Py_NewRef(unpack_hook);
    s.kind = Saved::Packed;
}

PyObject* unpack(Saved& s, Node* owner) {
    if (s.kind == Saved::Empty) Py_RETURN_NONE;
    if (s.kind == Saved::Released) throw_released();
    if (s.kind == Saved::Object || s.kind == Saved::ObjectList) {
        Py_INCREF(s.object);
        return s.object;
    }
    if (s.kind == Saved::Packed) {
        ProgramsOwn own;
        PyObject* o = call_python(s.unpack, s.object);
        if (!o) throw PythonError();
        if (!tensor_check(o)) {
            Py_DECREF(o);
            MT_THROW(Type, "Output of saved tensor unpack_hook expected to be a Tensor but got result of type ",
                     Py_TYPE(o)->tp_name);
        }
        Tensor* t = reinterpret_cast<Tensor*>(o);
        if (!s.requires_grad) return o;
        TensorRef again = detached_alias(*t);
        Py_DECREF(o);
        AutogradMeta& a = autograd_of(*again);
        if (s.history.node) {
            Py_INCREF(reinterpret_cast<PyObject*>(s.history.node));
            a.grad_fn = s.history.node;
            a.nr = s.history.nr;
        } else if (s.leaf) {
            a.requires_grad = true;
        } else if (owner) {
            Py_INCREF(reinterpret_cast<PyObject*>(owner));
            a.grad_fn = owner;
            a.nr = s.nr;
        }
        return again.release()->py();
    }
    Tensor* t = reinterpret_cast<Tensor*>(s.object);
    if (t->version() != s.version) {
        std::string shape = concat("[torch.", dtype_class_name(t->dtype), "Tensor ", t->sizes(), "]");
        std::string producer;
        if (s.kind == Saved::Output && owner) {
            producer = concat(", which is output ", s.nr, " of ", forward_name_of(owner), ",");
        } else if (t->autograd && t->autograd->grad_fn) {
            Node* n = t->autograd->grad_fn;
            producer = concat(", which is output ", t->autograd->nr, " of ", forward_name_of(n), ",");
        }
        MT_THROW(Runtime,
                 "one of the variables needed for gradient computation has been modified by an inplace operation: ",
                 shape, producer, " is at version ", t->version(), "; expected version ", s.version, " instead. Hint: ",
                 g_anomaly ? "the backtrace further above shows the operation that failed to compute its gradient. The "
                             "variable in question was changed in "
                             "there or anywhere later. Good luck!"
                           : "enable anomaly detection to find the operation that failed to compute its gradient, with "
                             "torch.autograd.set_detect_anomaly(True, check_nan=False).");
    }
    MT_CHECK(
        s.kind != Saved::Input || s.leaf || !s.requires_grad || requires_grad(*t),
        "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, "
        "please use out-of-place `.detach()` instead");
    if (s.kind == Saved::Output && s.requires_grad && owner) {
        TensorRef again = detached_alias(*t);
        copy_tangents(*t, *again);
        AutogradMeta& a = autograd_of(*again);
        PyObject* of_view = s.unpack ? referent(s.unpack) : nullptr;
        a.grad_fn = reinterpret_cast<Node*>(of_view ? of_view : Py_NewRef(reinterpret_cast<PyObject*>(owner)));
        a.nr = a.grad_fn == owner ? s.nr : 0;
        return again.release()->py();
    }
    Py_INCREF(s.object);
    return s.object;
}

void release(Saved& s) {
    if (s.kind == Saved::Empty || s.kind == Saved::Object) return;
    clear(s);
    s.kind = Saved::Released;
}

void clear(Saved& s) {
    PyObject *o = s.object, *u = s.unpack;
    Node* h = s.history.node;
    s.object = nullptr;
    s.unpack = nullptr;
    s.history.node = nullptr;
    s.kind = Saved::Empty;
    Py_XDECREF(o);
    Py_XDECREF(u);
    Py_XDECREF(reinterpret_cast<PyObject*>(h));
}

}  // namespace mt
