// The tensor: one Python object that is also the C++ tensor. All functions here need the GIL unless they say otherwise.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <type_traits>
#include <utility>
#ifdef MT_CHECKED
#include <stdexcept>
#include <string>
#endif

#include "device.h"
#include "dtype.h"
#include "error.h"
#include "keys.h"
#include "small_vector.h"
#include "storage.h"

namespace mt {

struct AutogradMeta;
class TensorRef;

enum TensorFlag : uint8_t {
    kContiguous = 1,     // row-major dense
    kWrappedNumber = 2,  // made from a Python number: takes no part in promotion within its kind
    kInference = 4,      // made under inference_mode
    kParameter = 8,
    kAllowMetadataChange = 16,
    kNonOverlappingDense = 32,
};

struct Tensor {
    PyObject_HEAD PyObject* dict;
    PyObject* weakrefs;
    Storage* storage;
    AutogradMeta* autograd;  // null: plain data
    int64_t offset;          // in elements
    int64_t numel_;
    int64_t* dims_;  // sizes then strides (elements); inline_ while ndim <= kInlineDims
    KeySet keys;
    int32_t ndim;
    DType dtype;
    Device device;
    uint8_t flags;
    uint32_t* own_version;  // null: the storage's counter
    PyObject* quantizer;    // of a quantized tensor: what its whole numbers stand for; else null
    static constexpr int kInlineDims = 5;
    int64_t inline_[2 * kInlineDims];

    IntSpan sizes() const { return IntSpan(dims_, ndim); }
    IntSpan strides() const { return IntSpan(dims_ + ndim, ndim); }
    int64_t size(int64_t i) const {
        check_index(i, ndim);
        return dims_[i];
    }
    int64_t stride(int64_t i) const {
        check_index(i, ndim);
        return dims_[ndim + i];
    }
    int64_t dim() const { return ndim; }
    int64_t numel() const { return numel_; }
    int64_t itemsize() const { return mt::itemsize(dtype); }
    bool is_contiguous() const { return flags & kContiguous; }
    bool is_non_overlapping_and_dense() const { return flags & kNonOverlappingDense; }
    bool is_cpu() const { return device.type == DeviceType::CPU; }
    bool is_meta() const { return device.type == DeviceType::Meta; }
    bool is_wrapped_number() const { return flags & kWrappedNumber; }
    // First element (null on meta and for empty storage). The constness of the tensor does not protect the data.
    char* raw() const {  // as numbers: an empty storage has no memory that an offset could lie in
        return reinterpret_cast<char*>(reinterpret_cast<intptr_t>(storage->data) + offset * mt::itemsize(dtype));
    }
    template <class T>
    T* data() const {
        check_elements(dtype == dtype_of<std::remove_const_t<T>>::value,
                       dtype_name(dtype_of<std::remove_const_t<T>>::value));
        return reinterpret_cast<T*>(raw());
    }
    // The same for elements that are moved or tested but not computed with: T is an unsigned type of their size. A bool
    // that was made elsewhere may be a byte other than 0 and 1, which only an unsigned type can read.
    template <class T>
    T* words() const {
        check_elements(itemsize() == sizeof(T), "words of another size");
        return reinterpret_cast<T*>(raw());
    }
    // The sanitizers do not see that a kernel takes elements for others, as long as it stays in the block.
    void check_elements([[maybe_unused]] bool right, [[maybe_unused]] const char* taken_for) const {
#ifdef MT_CHECKED
        if (!right)
            throw std::logic_error(std::string("internal error: ") + dtype_name(dtype) + " taken for " + taken_for);
#endif
    }
    PyObject* py() const { return reinterpret_cast<PyObject*>(const_cast<Tensor*>(this)); }
    uint32_t version() const { return own_version ? *own_version : storage->version; }
    void bump_version() { own_version ? ++*own_version : ++storage->version; }
};

// Owning reference.
class TensorRef {
  public:
    TensorRef() = default;
    static TensorRef steal(Tensor* t) {
        TensorRef r;
        r.t_ = t;
        return r;
    }
    static TensorRef share(const Tensor* t) {
        Py_XINCREF(t ? t->py() : nullptr);
        return steal(const_cast<Tensor*>(t));
    }
    TensorRef(const TensorRef& o) : t_(o.t_) { Py_XINCREF(t_ ? t_->py() : nullptr); }
    TensorRef(TensorRef&& o) noexcept : t_(std::exchange(o.t_, nullptr)) {}
    TensorRef& operator=(TensorRef o) noexcept {
        std::swap(t_, o.t_);
        return *this;
    }
    ~TensorRef() { Py_XDECREF(t_ ? t_->py() : nullptr); }
    Tensor* get() const { return t_; }
    Tensor* release() { return std::exchange(t_, nullptr); }
    Tensor& operator*() const { return *t_; }
    Tensor* operator->() const { return t_; }
    explicit operator bool() const { return t_ != nullptr; }

  private:
    Tensor* t_ = nullptr;
};

bool tensor_check(PyObject* o);        // isinstance(o, TensorBase)
bool tensor_check_exact(PyObject* o);  // Tensor or Parameter itself: no __torch_function__ to ask

// New tensors. Contents are uninitialised. Contiguous unless strides are given.
TensorRef empty(IntSpan sizes, DType dtype, Device device = Device());
TensorRef empty_strided(IntSpan sizes, IntSpan strides, DType dtype, Device device = Device());
// Same sizes and dtype; strides kept if the source is dense (PyTorch's preserve_format), else contiguous.
TensorRef empty_like(const Tensor& like);
TensorRef empty_like(const Tensor& like, DType dtype);
// A tensor over existing storage (shares it, takes no reference away). No view tracking: the dispatcher does that.
TensorRef from_storage(Storage* storage, int64_t offset, IntSpan sizes, IntSpan strides, DType dtype);
TensorRef as_strided(const Tensor& t, IntSpan sizes, IntSpan strides, int64_t offset);
TensorRef shallow_alias(const Tensor& t);  // same storage, sizes and strides, no autograd history
TensorRef wrapped_number(bool v);
TensorRef wrapped_number(int64_t v);
TensorRef wrapped_number(double v);
TensorRef wrapped_number(c128 v);
void set_sizes_strides(Tensor& t, IntSpan sizes, IntSpan strides);
void set_sizes_contiguous(Tensor& t, IntSpan sizes);
void resize(Tensor& t, IntSpan sizes);  // resize_: grows the storage if need be
// Number of bytes a storage needs for this view
size_t storage_bytes_needed(IntSpan sizes, IntSpan strides, int64_t itemsize, int64_t offset);

Dims contiguous_strides(IntSpan sizes);
Dims channels_last_strides(IntSpan sizes);  // 4-d NHWC, 5-d NDHWC
bool is_contiguous_as(const Tensor& t, IntSpan strides);
bool is_channels_last(const Tensor& t);
Dims preserved_strides(IntSpan sizes, IntSpan strides);  // dense permutation if `strides` is one, else contiguous
int64_t numel_of(IntSpan sizes);
Dims broadcast_sizes(IntSpan a, IntSpan b);
// dim in [-n, n) -> [0, n); IndexError with PyTorch's text. A 0-dim tensor counts as 1-dim.
int64_t wrap_dim(int64_t dim, int64_t ndim, bool wrap_scalar = true);

}  // namespace mt
