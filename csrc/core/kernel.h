// What the author of a kernel includes: the call being made, its outputs, type dispatch, threads, registration.
//
// A structured operator has a shape rule (makes the outputs) and a compute kernel (fills them); the same pair serves
// the functional, in-place and out= forms, and the meta device runs the rule alone. A direct kernel makes its own
// results.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>

#include "value.h"

namespace mt {

struct Operator;
struct Kernel;

// Extra memory that converted lists of one call live in; freed when the call ends.
class Arena {
  public:
    void* take(size_t bytes) {
        bytes = (bytes + 15) & ~size_t(15);
        if (used_ + bytes <= sizeof(inline_)) {
            void* p = inline_ + used_;
            used_ += bytes;
            return p;
        }
        return spill(bytes);
    }
    // Takes the reference, until the end of the call.
    void hold(PyObject* o);
    ~Arena() {
        if (head_) release();
    }

  private:
    void* spill(size_t bytes);
    void release();
    struct Block {  // followed by memory that was taken, or none
        Block* next;
        PyObject* held;
    };
    Block* head_ = nullptr;
    size_t used_ = 0;
    alignas(16) char inline_[256];
};

struct Call {
    const Operator* op = nullptr;
    const Kernel* kernel = nullptr;
    KeySet keys;
    Value* args = nullptr;        // in schema order
    PyObject** source = nullptr;  // the Python object each argument came from, null where there is none
    Value* rets = nullptr;
    Arena* arena = nullptr;
    int nargs = 0;
    int nrets = 0;

    // -- arguments: what parameters of typed_kernel.h read --
    bool is_none(int i) const { return args[i].tag == Tag::None; }
    const Tensor& tensor(int i) const {
        if (__builtin_expect(args[i].tag != Tag::Tensor, 0)) missing_tensor(i);
        return *args[i].t;
    }
    Tensor& mutable_tensor(int i) const { return const_cast<Tensor&>(tensor(i)); }
    const Tensor* tensor_or_null(int i) const { return args[i].tag == Tag::Tensor ? args[i].t : nullptr; }
    int64_t integer(int i) const { return args[i].as_int(); }
    double real(int i) const { return args[i].as_double(); }
    bool boolean(int i) const { return args[i].as_bool(); }
    IntSpan ints(int i) const { return args[i].tag == Tag::IntList ? IntSpan(args[i].ints, args[i].len) : IntSpan(); }
    Span<double> doubles(int i) const {
        return args[i].tag == Tag::DoubleList ? Span<double>(args[i].doubles, args[i].len) : Span<double>();
    }
    Span<bool> bools(int i) const {
        return args[i].tag == Tag::BoolList ? Span<bool>(args[i].bools, args[i].len) : Span<bool>();
    }
    Span<Tensor*> tensors(int i) const {
        return args[i].tag == Tag::TensorList ? Span<Tensor*>(args[i].tensors, args[i].len) : Span<Tensor*>();
    }
    std::string_view string(int i) const {
        return args[i].tag == Tag::Str ? std::string_view(args[i].str, args[i].len) : std::string_view();
    }

    // -- results --
    // Structured kernels: the output to fill (already allocated; any strides unless registered with
    // kContiguousOutputs).
    Tensor& out(int i = 0) const { return *rets[i].t; }
    // Direct kernels: set result i. Takes the reference.
    void ret(int i, TensorRef t) { rets[i] = Value::of(t.release()); }
    void ret(int i, const Tensor& t) { ret(i, TensorRef::share(&t)); }
    void ret_value(int i, Value v) { rets[i] = v; }
    void ret_list(int i, Span<Tensor*> tensors);  // takes the references of the tensors; boxed as a list

    const char* name() const;  // "softmax"
    [[noreturn]] void missing_tensor(int i) const;
};

// ---- shape rules ----

struct OutSpec {
    Dims sizes, strides;
    bool strided = false;
    bool undefined = false;  // this output is None
    DType dtype = DType::Undefined;
    Device device;
};

// A shape rule reads the arguments and states each output. `param(k)` is the position of the argument that the row
// named as the rule's k-th word: like("self") -> param(0) is the position of `self`; -1 when the row gave fewer words.
struct ShapeCall : Call {
    OutSpec* specs = nullptr;
    const int* params = nullptr;
    int nparams = 0;
    int param(int k) const { return k < nparams ? params[k] : -1; }
    // Of the k-th parameter of a rule: param(k), or k where the row gave no words; -1 beyond the arguments.
    int place(int k) const { return nparams ? param(k) : k < nargs ? k : -1; }
    // Device is that of the first tensor argument unless given.
    void output(int i, IntSpan sizes, DType dtype) { set(i, sizes, IntSpan(), false, dtype); }
    void output_strided(int i, IntSpan sizes, IntSpan strides, DType dtype) { set(i, sizes, strides, true, dtype); }
    void output_like(int i, const Tensor& t, DType dtype);  // sizes of t, its strides if dense
    void output_like(int i, const Tensor& t) { output_like(i, t, t.dtype); }
    void output_none(int i) { specs[i].undefined = true; }
    void set_device(int i, Device d) { specs[i].device = d; }

  private:
    void set(int i, IntSpan sizes, IntSpan strides, bool strided, DType dtype);
};

using ComputeFn = void (*)(Call&);
using ShapeFn = void (*)(ShapeCall&);

enum KernelFlag : uint32_t {
    kContiguousOutputs = 1,  // outputs are handed over row-major contiguous (a temporary is copied back where needed)
    kInputMayAlias = 2,      // in-place form may run straight into `self` (pointwise kernels); else a temporary is made
};

// ---- registration (one KERNELS block a file) ----

struct Signature;  // typed_kernel.h
void register_structured(const char* name, ComputeFn fn, uint32_t flags, const Signature* signature);
void register_direct(const char* name, ComputeFn fn, const Signature* signature);
void register_shape(const char* name, ShapeFn fn, const Signature* signature);
// The name of one call's node, for operators that stand for several of PyTorch's ("AddmmBackward0" or "MmBackward0" for
// linear).
using NodeNameFn = const char* (*)(const Call&);
void register_node_name(const char* op, NodeNameFn fn, const Signature* signature);

using RegisterFn = void (*)();
struct Registrar {
    explicit Registrar(RegisterFn fn) { fn(); }
};
#define KERNELS                                                 \
    static void mt_register_this_file();                        \
    static ::mt::Registrar mt_registrar(mt_register_this_file); \
    static void mt_register_this_file()

// ---- type dispatch ----

template <class... T>
struct Types {};
using FloatTypes = Types<float, double, Half, BFloat16>;
using PlainFloatTypes = Types<float, double>;
using ComplexTypes = Types<c64, c128>;
using IntTypes = Types<uint8_t, int8_t, int16_t, int32_t, int64_t>;
using IntBoolTypes = Types<uint8_t, int8_t, int16_t, int32_t, int64_t, Bool>;
using RealTypes = Types<float, double, Half, BFloat16, uint8_t, int8_t, int16_t, int32_t, int64_t>;
using RealBoolTypes = Types<float, double, Half, BFloat16, uint8_t, int8_t, int16_t, int32_t, int64_t, Bool>;
using NumberTypes = Types<float, double, Half, BFloat16, uint8_t, int8_t, int16_t, int32_t, int64_t, c64, c128>;
using AllTypes = Types<float, double, Half, BFloat16, uint8_t, int8_t, int16_t, int32_t, int64_t, Bool, c64, c128>;
// Same-size integers: for kernels that only move elements. Bytes1/2/4/8/16 by element size.
struct Bytes16 {
    uint64_t lo, hi;
};

[[noreturn]] void unsupported_dtype(const char* op, DType t);  // "\"gelu\" not implemented for 'Long'"

// visit(FloatTypes{}, t.dtype, "gelu", [&]<class T>() { ... t.data<T>() ... });
template <class... T, class F>
void visit(Types<T...>, DType dtype, const char* op, F&& f) {
    bool found = ((dtype_of<T>::value == dtype ? (f.template operator()<T>(), true) : false) || ...);
    if (!found) unsupported_dtype(op, dtype);
}
// visit_size(8, [&]<class T>() {...}): T is an unsigned type of that many bytes.
template <class F>
void visit_size(int64_t bytes, F&& f) {
    switch (bytes) {
        case 1:
            return f.template operator()<uint8_t>();
        case 2:
            return f.template operator()<uint16_t>();
        case 4:
            return f.template operator()<uint32_t>();
        case 8:
            return f.template operator()<uint64_t>();
        default:
            return f.template operator()<Bytes16>();
    }
}

// ---- threads ----

int num_threads();  // torch.get_num_threads(); 1 in a forked child
void set_num_threads(int n);
constexpr int64_t kGrain = 32768;
// How many items of `work` elements each make up a grain: at least one, also when an item is empty.
inline int64_t grain_for(int64_t work) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work)); }

// Not inline: a library of kernels may have a std::terminate of its own, and this must not come to it (gil.h).
void take_gil_back(PyThreadState* state);

// Lets other Python threads run while raw memory is worked on. Does nothing if this thread does not hold the GIL.
class NoGil {
  public:
    explicit NoGil(bool wanted = true) : state_(wanted && PyGILState_Check() ? PyEval_SaveThread() : nullptr) {}
    ~NoGil() {
        if (state_) take_gil_back(state_);
    }
    NoGil(const NoGil&) = delete;
    NoGil& operator=(const NoGil&) = delete;

  private:
    PyThreadState* state_;
};

using RangeFn = void (*)(const void* f, int64_t begin, int64_t end);
void run_ranges(int64_t n, int64_t grain, RangeFn body, const void* f);

// f(begin, end) over [0, n) in chunks of at least `grain`, on several threads when there is work for them. f must not
// touch Python objects nor throw. The GIL is released while large work runs. f is compiled once, out of line.
template <class F>
void parallel_for(int64_t n, int64_t grain, const F& f) {
    run_ranges(
        n, grain,
        [](const void* p, int64_t begin, int64_t end) {
            if constexpr (std::is_trivially_copyable_v<F>) {
                const F f = *static_cast<const F*>(p);  // a copy: the loop need not expect its stores to change it
                f(begin, end);
            } else {
                (*static_cast<const F*>(p))(begin, end);
            }
        },
        &f);
}

// ---- services of the core and of csrc/cpu/copy.cpp that kernels call (CPU tensors, no autograd) ----

void copy_into(Tensor& dst, const Tensor& src);      // casts, broadcasts, any strides
TensorRef contiguous(const Tensor& t);               // itself if it already is
TensorRef contiguous(const Tensor& t, DType dtype);  // contiguous and of that dtype
TensorRef clone(const Tensor& t);
void fill(Tensor& t, const Value& scalar);
inline TensorRef zeros(IntSpan sizes, DType dtype) {
    TensorRef r = empty(sizes, dtype);
    if (r->numel()) std::memset(r->raw(), 0, static_cast<size_t>(r->numel() * r->itemsize()));
    return r;
}
void set_copy_kernel(void (*copy)(Tensor& dst, const Tensor& src), void (*fill)(Tensor& t, const Value& scalar));

}  // namespace mt
