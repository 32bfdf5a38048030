// Dispatch: the key set of a call, and kernels that fill outputs made by the shape rule.
#include <alloca.h>

#include <cstdlib>

#include "bounds.h"
#include "cpp_names.h"
#include "device_check.h"
#include "device_memory.h"
#include "gil.h"
#include "lazy_views.h"
#include "overlap.h"
#include "python/box.h"
#include "python/types.h"
#include "python_keys.h"
#include "sparse.h"

namespace mt {

thread_local ThreadState g_thread;

void* Arena::spill(size_t bytes) {
    static_assert(sizeof(Block) == 16);
    Block* b = static_cast<Block*>(std::malloc(sizeof(Block) + bytes));
    if (!b) throw std::bad_alloc();
    *b = {head_, nullptr};
    head_ = b;
    return b + 1;
}
void Arena::hold(PyObject* o) {
    spill(0);
    head_->held = o;
}
void Arena::release() {
    while (head_) {
        Block* b = head_;
        head_ = b->next;
        Py_XDECREF(b->held);
        std::free(b);
    }
}

const char* Call::name() const { return op->name.c_str(); }
void Call::missing_tensor(int i) const {
    MT_THROW(Runtime, "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #", i, " '",
             op->schema.args[static_cast<size_t>(i)].name, "'");
}
void Call::ret_list(int i, Span<Tensor*> tensors) {
    PyObject* list = PyList_New(tensors.size);
    if (!list) throw PythonError();
    for (int64_t k = 0; k < tensors.size; k++) PyList_SET_ITEM(list, k, tensors[k]->py());
    rets[i] = Value::object(list);
}

void unsupported_dtype(const char* op, DType t) {
    MT_THROW(NotImplemented, "\"", op, "\" not implemented for '", dtype_class_name(t), "'");
}

namespace {

Key backend_key(Device d) { return device_keys(d.type).backend; }

std::string available(const Operator& op) {
    std::string have;
    const Kernel* untold = Registry::get().fallback(Key::Autograd);
    for (int i = 1; i < kKeyCount; i++)
        // Every operator can be mapped over, made functional and handed to Python: that is nothing registered.
        if (op.table[i].fn && !(untold && op.table[i].python == untold->python) && op.table[i].fn != run_python_key &&
            op.table[i].fn != run_batched && op.table[i].fn != run_functionalize && op.table[i].fn != run_tracer &&
            op.table[i].fn != run_mixed_devices && op.table[i].fn != run_lazy)
            have += (have.empty() ? "" : ", ") + std::string(key_name(static_cast<Key>(i)));
    return have;
}

[[noreturn]] void no_tensors(const Call& c) {
    MT_THROW(NotImplemented,
             "There were no tensor arguments to this function (e.g., you passed an empty list of Tensors), but no "
             "fallback function is registered for schema ",
             c.op->full_name,
             ".  This usually means that this function requires a non-empty list of Tensors, or that you (the operator "
             "writer) forgot to register a fallback function.  Available functions are [",
             available(*c.op), "].");
}

// The first tensor in a tuple, list or dict.
const Tensor* tensor_within(PyObject* o, int depth = 0) {
    if (tensor_check(o)) return reinterpret_cast<Tensor*>(o);
    if (depth == 8) return nullptr;
    if (PyTuple_Check(o) || PyList_Check(o)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++)
            if (const Tensor* t = tensor_within(PySequence_Fast_GET_ITEM(o, i), depth + 1)) return t;
    } else if (PyDict_Check(o)) {
        PyObject *key, *value;
        for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value);)
            if (const Tensor* t = tensor_within(value, depth + 1)) return t;
    }
    return nullptr;
}
// Where a call without a tensor among its arguments belongs: with those in tuples and dicts, which PyTorch does not
// look into.
Device device_within(const Call& c) {
    for (int i = 0; i < c.nargs; i++)
        if (c.args[i].tag == Tag::Object)
            if (const Tensor* t = tensor_within(c.args[i].obj)) return t->device;
    no_tensors(c);
}

// The layout that a factory is asked for, which stands before the device in every schema: a key, or none.
Key asked_layout(const Call& c) {
    const int i = c.op->device_arg - 1;
    if (i < 0 || c.args[i].tag != Tag::Layout || c.args[i].i == 0) return Key::Undefined;
    return c.args[i].i == kSparseCoo ? Key::SparseCPU : Key::SparseCsrCPU;
}

void refuse_functional(const Call& c) {
    for (uint64_t m = c.op->tensor_args; m; m &= m - 1) {
        const Value& v = c.args[__builtin_ctzll(m)];
        MT_CHECK_AS(NotImplemented, v.tag != Tag::Tensor || !v.t->keys.has(Key::Functionalize), c.op->full_name,
                    ": a functional tensor has no data of its own, and came to the kernels of a device because the key "
                    "Functionalize was excluded. Take its value with torch._from_functional_tensor first");
    }
}

}  // namespace

KeySet dispatch_keys(const Call& c) {
    KeySet keys;
    for (uint64_t m = c.op->tensor_args; m; m &= m - 1) {
        const Value& v = c.args[__builtin_ctzll(m)];
        if (v.tag == Tag::Tensor) {
            keys = keys | v.t->keys;
        } else if (v.tag == Tag::TensorList) {
            for (uint32_t i = 0; i < v.len; i++)
                if (v.tensors[i]) keys = keys | v.tensors[i]->keys;
        }
    }
    // A pending tensor has no data for a kernel: no exclusion gets past it.
    const KeySet exclude = g_thread.exclude - (keys & Key::Tracer);
    if (__builtin_expect((keys & exclude).has(Key::Functionalize), 0) && c.op->reads_elements) refuse_functional(c);
    const KeySet places = keys & kBackendKeys;
    if (__builtin_expect((places == KeySet(Key::CPU) || places == KeySet(Key::Meta)) && c.op->device_arg < 0, 1))
        return (keys | Key::BackendSelect | g_thread.include) - exclude;
    if (!(places - Key::CPU - kCodedKeys).empty() && !(places == KeySet(Key::Meta)) && has_mixed_devices(c))
        keys = keys | Key::MixedDevices;
    if (places.empty()) {
        Device d = g_thread.default_device;
        if (c.op->device_arg >= 0 && c.args[c.op->device_arg].tag == Tag::Device)
            d = c.args[c.op->device_arg].device;
        else if (__builtin_expect(c.op->needs_tensor && !keys.has(Key::Tracer),
                                  0))  // a pending tensor has no place yet
            d = device_within(c);
        load_device(d);
        keys = keys | backend_key(d);
    } else if (__builtin_expect(!(keys & kCodedKeys).empty(), 0)) {
        // Whatever else takes part, no kernel for memory may see a tensor without.
        keys = (keys - kBackendKeys) | (keys & kCodedKeys).highest();
    } else if (c.op->device_arg >= 0 && c.args[c.op->device_arg].tag == Tag::Device) {
        // new_empty(x, device=...) and the like: made where the argument says
        load_device(c.args[c.op->device_arg].device);
        keys = (keys - kBackendKeys) | backend_key(c.args[c.op->device_arg].device);
    } else if (keys.has(Key::Meta) && !(keys & kMemoryKeys).empty()) {
        keys = keys - kMemoryKeys;
    }
    if (c.op->device_arg > 0) {
        const Key sparse = asked_layout(c);
        if (sparse != Key::Undefined) keys = (keys - kBackendKeys) | sparse;
    }
    return (keys | Key::BackendSelect | g_thread.include) - exclude;
}

void missing_kernel(const Call& c, KeySet keys) {
    Key k = (keys & kBackendKeys).highest();
    refuse_functional(c);
    if (k == Key::Meta)
        MT_THROW(NotImplemented, c.op->full_name,
                 ": attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel "
                 "registered. Register one with torch.library.register_fake(\"",
                 c.op->full_name, "\"). Kernels are registered for [", available(*c.op), "].");
    MT_THROW(NotImplemented, "Could not run '", c.op->full_name, "' with arguments from the '",
             k == Key::NPU && own_device_renamed() ? own_device_name().c_str() : key_name(k),
             "' backend. This could be because the operator doesn't exist for this backend. '", c.op->full_name,
             "' is only available for these backends: [", available(*c.op), "].",
             kSparseKeys.has(k) ? " A sparse tensor can be made dense with to_dense()."
             : k == Key::NPU && !own_device_renamed()
                 ? " torch.npu.set_cpu_fallback(True), or MINDTORCH_NPU_CPU_FALLBACK=1, runs such operators on the CPU."
                 : "");
}

// ---- structured kernels ----

void ShapeCall::set(int i, IntSpan sizes, IntSpan strides, bool strided, DType dtype) {
    OutSpec& s = specs[i];
    s.sizes = sizes;
    s.strided = strided;
    if (strided) s.strides = strides;
    s.dtype = dtype;
}
void ShapeCall::output_like(int i, const Tensor& t, DType dtype) {
    if (t.is_contiguous()) {
        output(i, t.sizes(), dtype);
    } else {
        Dims strides = preserved_strides(t.sizes(), t.strides());
        output_strided(i, t.sizes(), strides, dtype);
    }
}

namespace {

constexpr int kMaxOutputs = 8;

Device device_of(const Call& c) {
    if (c.op->device_arg >= 0 && c.args[c.op->device_arg].tag == Tag::Device) return c.args[c.op->device_arg].device;
    const Tensor* scalar_like = nullptr;
    for (uint64_t m = c.op->tensor_args; m; m &= m - 1) {
        const Value& v = c.args[__builtin_ctzll(m)];
        if (v.tag == Tag::Tensor) {
            if (v.t->ndim > 0) return v.t->device;
            if (!scalar_like || v.t->device.is_meta()) scalar_like = v.t;
        } else if (v.tag == Tag::TensorList && v.len && v.tensors[0]) {
            return v.tensors[0]->device;
        }
    }
    return scalar_like ? scalar_like->device : g_thread.default_device;
}

int64_t to_index(PyObject* o) {
    int64_t v = PyLong_AsLongLong(o);
    if (v == -1 && PyErr_Occurred()) throw PythonError();
    return v;
}
void read_dims(PyObject* o, Dims& dims) {
    PyObject* seq = PySequence_Fast(o, "a shape rule gives sizes and strides as sequences of int");
    if (!seq) throw PythonError();
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(seq); i++)
        dims.push_back(to_index(PySequence_Fast_GET_ITEM(seq, i)));
    Py_DECREF(seq);
}

void python_shapes(const Call& c, OutSpec* specs, int nouts) {
    PyObject* args[64] = {};
    int n = c.op->form == Form::Out ? c.op->out_index : c.nargs;
    for (int i = 0; i < n; i++) args[i] = box_argument(c, i);
    PyObject* r = call_python(c.op->shape_python, args, static_cast<size_t>(n));
    for (int i = 0; i < n; i++) Py_DECREF(args[i]);
    if (!r) throw PythonError();
    bool many = PyList_Check(r);
    for (int i = 0; i < nouts; i++) {
        PyObject* one = many ? PyList_GetItem(r, i) : r;
        if (!one || !PyTuple_Check(one)) {
            Py_DECREF(r);
            MT_THROW(Type, c.name(),
                     "(): a shape rule returns (sizes, dtype) or (sizes, strides, dtype), or a list of them");
        }
        Py_ssize_t k = PyTuple_GET_SIZE(one);
        specs[i].sizes.clear();
        read_dims(PyTuple_GET_ITEM(one, 0), specs[i].sizes);
        if (k == 3) {
            specs[i].strides.clear();
            read_dims(PyTuple_GET_ITEM(one, 1), specs[i].strides);
            specs[i].strided = true;
        }
        specs[i].dtype = dtype_from_python(PyTuple_GET_ITEM(one, k - 1));
    }
    Py_DECREF(r);
}

void infer(Call& c, OutSpec* specs, int nouts) {
    if (c.op->shape) {
        ShapeCall s;
        static_cast<Call&>(s) = c;
        s.specs = specs;
        s.params = c.op->shape_params.data();
        s.nparams = static_cast<int>(c.op->shape_params.size());
        c.op->shape(s);
    } else {
        python_shapes(c, specs, nouts);
    }
}

TensorRef allocate(const OutSpec& s, Device device) {
    return s.strided ? empty_strided(s.sizes, s.strides, s.dtype, device) : empty(s.sizes, s.dtype, device);
}

// The tensor to write into for a caller's own output `target`: itself, or a temporary to be copied back.
void check_dtype(const Call& c, const Tensor& target, const OutSpec& s) {
    MT_CHECK(target.dtype == s.dtype || c.op->out_dtype.empty(), refused_dtype(c.op->out_dtype, target.dtype, s.dtype));
    MT_CHECK(target.dtype == s.dtype || can_cast(s.dtype, target.dtype), "result type ", dtype_class_name(s.dtype),
             " can't be cast to the desired output type ", dtype_class_name(target.dtype));
}

TensorRef place(Call& c, Tensor& target, const OutSpec& s, bool may_alias, uint32_t flags) {
    check_dtype(c, target, s);
    bool layout_ok = !(flags & kContiguousOutputs) || target.is_contiguous();
    if (target.dtype == s.dtype && may_alias && layout_ok) return TensorRef::share(&target);
    OutSpec temporary = s;
    if (flags & kContiguousOutputs) temporary.strided = false;
    return allocate(temporary, target.device);
}

bool overlaps_input(const Call& c, const Tensor& out) {
    for (uint64_t m = c.op->tensor_args; m; m &= m - 1) {
        int i = __builtin_ctzll(m);
        if (c.op->form == Form::Out && i >= c.op->out_index) continue;
        const Value& v = c.args[i];
        if (v.tag == Tag::Tensor && v.t->storage == out.storage && out.numel_ > 0) {
            bool same_view = v.t->offset == out.offset && v.t->dtype == out.dtype && v.t->sizes() == out.sizes() &&
                             v.t->strides() == out.strides();
            bool pointwise = c.kernel->flags & kInputMayAlias;
            if (pointwise && !same_view) check_apart(*v.t, out);
            if (!same_view || !pointwise) return true;
        } else if (v.tag == Tag::TensorList) {
            for (uint32_t k = 0; k < v.len; k++)
                if (v.tensors[k] && v.tensors[k]->storage == out.storage) return true;
        }
    }
    return false;
}

// An output that is an input too cannot change its size before the input is read.
void check_not_input(const Call& c, const Tensor& out) {
    for (uint64_t m = c.op->tensor_args; m; m &= m - 1) {
        int i = __builtin_ctzll(m);
        if (i >= c.op->out_index) return;
        const Value& v = c.args[i];
        bool same = v.tag == Tag::Tensor && v.t == &out;
        for (uint32_t k = 0; v.tag == Tag::TensorList && k < v.len; k++) same = same || v.tensors[k] == &out;
        MT_CHECK(!same,
                 "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                 "memory location. Please clone() the tensor before performing the operation.");
    }
}

// PyTorch lets these go on, as each element is written the same: for how much longer it does not say.
void check_written_in_place(const Operator& op, const Tensor& t) {
    if (!shows_elements_twice(t)) return;
    if (op.written_twice.empty()) return check_overlap(t);
    std::string text = concat("Use of ", op.name,
                              " on expanded tensors is deprecated. Please clone() the tensor before performing this "
                              "operation. This also applies to advanced indexing e.g. ",
                              op.written_twice);
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw PythonError();
}

void check_out_apart(const Call& c, const Tensor& out) {
    for (uint64_t m = c.op->out_apart; m; m &= m - 1) check_disjoint(*c.args[__builtin_ctzll(m)].t, out);
}

void check_written_apart(const Call& c, const Tensor& written) {
    const int end = c.op->form == Form::Out ? c.op->out_index : c.nargs;
    for (uint64_t m = c.op->tensor_args; m; m &= m - 1) {
        const int i = __builtin_ctzll(m);
        const Value& v = c.args[i];
        if (i == 0 || i >= end) continue;
        if (v.tag == Tag::Tensor) check_disjoint(*v.t, written);
        for (uint32_t k = 0; v.tag == Tag::TensorList && k < v.len; k++) {
            const Tensor* index = v.tensors[k];
            if (!index) continue;
            // A mask may be one of itself (m[m] = False): it is read before anything is written.
            if (index->dtype == DType::Bool || index->dtype == DType::UInt8)
                check_apart(*index, written);
            else
                check_disjoint(*index, written);
        }
    }
}

void warn_resize(const Tensor& target, const OutSpec& s) {
    if (target.numel_ == 0) return;
    std::string text =
        concat("An output with one or more elements was resized since it had shape ", target.sizes(),
               ", which does not match the required output shape ", static_cast<IntSpan>(s.sizes),
               ". This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they "
               "have zero elements. "
               "You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).");
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw PythonError();
}

// As many specifications as a call has outputs: each has two vectors, which are not made in vain.
class Specs {
  public:
    Specs(int n, Device device) : n_(n) {
        for (int i = 0; i < n; i++) (new (get() + i) OutSpec)->device = device;
    }
    ~Specs() {
        for (int i = 0; i < n_; i++) get()[i].~OutSpec();
    }
    Specs(const Specs&) = delete;
    Specs& operator=(const Specs&) = delete;
    OutSpec* get() { return reinterpret_cast<OutSpec*>(room_); }

  private:
    int n_;
    alignas(OutSpec) unsigned char room_[kMaxOutputs * sizeof(OutSpec)];
};

void run_outputs(Call& c, ComputeFn compute) {
    const Operator& op = *c.op;
    int nouts = op.form == Form::Out ? op.nargs - op.out_index : op.nrets;
    Specs made(nouts, device_of(c));
    OutSpec* specs = made.get();
    infer(c, specs, nouts);
    uint32_t flags = compute ? c.kernel->flags : 0;

    if (op.form == Form::Functional) {
        for (int i = 0; i < nouts; i++) {
            if (specs[i].undefined) {
                c.rets[i] = Value();
                continue;
            }
            if (flags & kContiguousOutputs && specs[i].strided) {
                // The kernel wants row-major: compute so, then give the strides that the rule promised.
                OutSpec plain = specs[i];
                plain.strided = false;
                c.rets[i] = Value::of(allocate(plain, specs[i].device).release());
            } else {
                c.rets[i] = Value::of(allocate(specs[i], specs[i].device).release());
            }
        }
        if (!compute) return;
        compute(c);
        for (int i = 0; i < nouts; i++) {
            if (c.rets[i].tag != Tag::Tensor || !specs[i].strided || !(flags & kContiguousOutputs)) continue;
            if (is_contiguous_as(*c.rets[i].t, specs[i].strides)) continue;
            TensorRef shaped = allocate(specs[i], specs[i].device);
            copy_into(*shaped, *c.rets[i].t);
            Py_DECREF(c.rets[i].t->py());
            c.rets[i].t = shaped.release();
        }
        return;
    }

    if (op.form == Form::Inplace) {
        Tensor& self = c.mutable_tensor(op.self_index);
        check_written_in_place(op, self);
        if (flags & kWrittenApart) check_written_apart(c, self);
        const bool grows = IntSpan(specs[0].sizes) != self.sizes();
        MT_CHECK(!grows || op.quiet_out, "output with shape ", self.sizes(), " doesn't match the broadcast shape ",
                 static_cast<IntSpan>(specs[0].sizes));
        TensorRef target = grows
                               ? allocate(specs[0], self.device)
                               : place(c, self, specs[0], (flags & kInputMayAlias) && !overlaps_input(c, self), flags);
        c.rets[0] = Value::of(target.get());
        if (compute) {
            try {
                compute(c);
            } catch (...) {
                c.rets[0] = Value();  // borrowed: not for the caller to release
                throw;
            }
            c.rets[0] = Value();  // what follows may raise as well
            if (grows) resize(self, specs[0].sizes);
            if (target.get() != &self) copy_into(self, *target);
        }
        c.rets[0] = Value::of(TensorRef::share(&self).release());
        return;
    }

    TensorRef held[kMaxOutputs];
    for (int i = 0; i < nouts; i++) {
        Tensor& target = c.mutable_tensor(op.out_index + i);
        if (specs[i].undefined) continue;
        check_overlap(target);
        if (flags & kWrittenApart) check_written_apart(c, target);
        if (op.out_apart) check_out_apart(c, target);
        MT_CHECK(target.device.type == specs[i].device.type, "Expected out tensor to have device ",
                 device_name(specs[i].device), ", but got ", device_name(target.device), " instead");
        if (!(target.sizes() == IntSpan(specs[i].sizes))) {
            check_not_input(c, target);
            check_dtype(c, target, specs[i]);  // what is refused keeps its size
            if (!op.quiet_out) warn_resize(target, specs[i]);
            resize(target, specs[i].sizes);
            if (specs[i].strided) set_sizes_strides(target, specs[i].sizes, specs[i].strides);
        }
        held[i] = place(c, target, specs[i], !overlaps_input(c, target), flags);
    }
    // Borrowed while the kernel runs: an error must not leave them for the caller to release.
    for (int i = 0; i < nouts; i++)
        if (held[i]) c.rets[i] = Value::of(held[i].get());
    if (compute) {
        try {
            compute(c);
        } catch (...) {
            for (int i = 0; i < nouts; i++) c.rets[i] = Value();
            throw;
        }
    }
    for (int i = 0; i < nouts; i++) c.rets[i] = Value();
    for (int i = 0; i < nouts; i++) {
        Tensor& target = c.mutable_tensor(op.out_index + i);
        if (compute && held[i] && held[i].get() != &target) copy_into(target, *held[i]);
        if (i < op.nrets) c.rets[i] = Value::of(TensorRef::share(&target).release());
    }
}

}  // namespace

void run_structured(Call& c) {
    check_bounds(c);
    run_outputs(c, c.kernel->compute);
}
void run_meta(Call& c) { run_outputs(c, nullptr); }
void run_direct(Call& c) {
    check_bounds(c);
    c.kernel->compute(c);
}

void call_values(Operator* op, Value* args, Value* rets) {
    Call c;
    Arena arena;
    PyObject* source[64];
    for (int i = 0; i < op->nargs; i++) {
        source[i] = nullptr;
        if (args[i].tag == Tag::Tensor) source[i] = args[i].t->py();
    }
    c.op = op;
    c.args = args;
    c.source = source;
    c.rets = rets;
    c.nargs = op->nargs;
    c.nrets = op->nrets;
    c.arena = &arena;
    for (int i = 0; i < op->nrets; i++) rets[i] = Value();
    try {
        dispatch(c);
    } catch (...) {
        release_results(c);
        throw;
    }
}

TensorRef call_tensor(Operator* op, std::initializer_list<Value> given) {
    size_t nargs = static_cast<size_t>(op->nargs);
    Value* args = static_cast<Value*>(alloca(sizeof(Value) * std::max<size_t>(nargs, 1)));
    size_t n = 0;
    for (const Value& v : given) args[n++] = v;
    for (; n < nargs; n++) args[n] = op->schema.args[n].default_value;
    Value result;
    MT_CHECK(op->nrets == 1, op->full_name, ": one result was expected, its schema has ", op->nrets);
    call_values(op, args, &result);
    return result.tag == Tag::Tensor ? TensorRef::steal(result.t) : TensorRef();
}

}  // namespace mt
