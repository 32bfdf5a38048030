// Tensor.__getitem__ and __setitem__: ints, slices, None, Ellipsis and bools become views; tensors, masks, lists and
// arrays become one call of `index` or `index_put_` on what is left.
#include "indexing.h"

#include "../autograd.h"

#include <cmath>
#include <vector>

#include "../number_fits.h"
#include "../overlap.h"
#include "../sparse.h"
#include "bind.h"
#include "operator_call.h"
#include "tensor_new.h"

namespace mt {
namespace {

OperatorName op_alias("aten::alias"), op_select("aten::select", "int"), op_slice("aten::slice", "Tensor"),
    op_unsqueeze("aten::unsqueeze"), op_index("aten::index", "Tensor"), op_index_put("aten::index_put_"),
    op_copy("aten::copy_"), op_fill("aten::fill_", "Scalar"), op_expand("aten::expand"), op_view("aten::view"),
    op_to_copy("aten::_to_copy"), op_scalar_tensor("aten::scalar_tensor");

bool is_integer_index(PyObject* o) {
    return (PyLong_Check(o) && !PyBool_Check(o)) ||
           (!PyLong_Check(o) && !tensor_check(o) && PyIndex_Check(o) && numpy_scalar_check(o));
}

int64_t integer_of(PyObject* o) {
    if (PyLong_CheckExact(o)) {
        int overflow = 0;
        int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
        MT_CHECK_VALUE(!overflow, "Overflow when unpacking long long");
        return v;
    }
    PyObject* i = PyNumber_Index(o);
    if (!i) throw PythonError();
    int overflow = 0;
    int64_t v = PyLong_AsLongLongAndOverflow(i, &overflow);
    Py_DECREF(i);
    MT_CHECK_VALUE(!overflow, "Overflow when unpacking long long");
    return v;
}

// The value of an index, readable here.
TensorRef on_host(Tensor& t, DType dtype) {
    if (t.is_cpu()) return contiguous(t, dtype);
    Value cpu;
    cpu.tag = Tag::Device;
    cpu.device = Device();
    return op_to_copy({Value::of(&t), Value::of(dtype), Value(), cpu});
}

TensorRef select_at(const Tensor& t, int64_t dim, int64_t index, int64_t real_dim) {
    MT_CHECK_INDEX(
        t.dim() > 0 || dim > 0,
        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert "
        "a 0-dim tensor to a number");
    MT_CHECK_INDEX(dim < t.dim(), "too many indices for tensor of dimension ", real_dim);
    int64_t size = t.size(dim);
    MT_CHECK_INDEX(index >= -size && index < size, "index ", index, " is out of bounds for dimension ", real_dim,
                   " with size ", size);
    return op_select({Value::of(const_cast<Tensor*>(&t)), Value::of(dim), Value::of(index)});
}

// start:stop:step of a slice object, with Python's clamping left to the operator; `whole` if it takes everything.
struct SliceBounds {
    int64_t start, stop, step;
    bool whole;
};
SliceBounds bounds_of(PyObject* o, int64_t size) {
    PySliceObject* s = reinterpret_cast<PySliceObject*>(o);
    if (s->start == Py_None && s->stop == Py_None && s->step == Py_None) return {0, INT64_MAX, 1, true};
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(o, &start, &stop, &step) < 0) throw PythonError();
    MT_CHECK_VALUE(step > 0, "step must be greater than zero");
    return {start, stop, step, start == 0 && stop >= size && step == 1};
}

// The slice; `t` itself if it takes everything and need not be `another` tensor.
TensorRef slice_at(TensorRef t, int64_t dim, PyObject* o, bool another = false) {
    MT_CHECK_INDEX(t->dim() > 0 || dim > 0, "slice() cannot be applied to a 0-dim tensor.");
    MT_CHECK_INDEX(dim < t->dim(), "too many indices for tensor of dimension ", t->dim());
    SliceBounds b = bounds_of(o, t->size(dim));
    if (b.whole && !another) return t;
    return op_slice({Value::of(t.get()), Value::of(dim), Value::of(b.start), Value::of(b.stop), Value::of(b.step)});
}

TensorRef unsqueeze_at(const Tensor& t, int64_t dim) {
    return op_unsqueeze({Value::of(const_cast<Tensor*>(&t)), Value::of(dim)});
}

// [0] for True, [] for False: takes the inserted dimension of one element, or nothing of it.
TensorRef bool_index(bool v) {
    int64_t n = v ? 1 : 0;
    return zeros(IntSpan(&n, 1), DType::Int64);
}

// An index that is a sequence or array, as a tensor.
TensorRef sequence_index(PyObject* o) {
    if (numpy_array_check(o)) {
        TensorRef shared = tensor_from_numpy(o, false);
        return announced(clone(*shared));
    }
    TensorRef t = tensor_from_data(o, DType::Undefined);
    // An empty list has no dtype of its own; other floats are cut, as PyTorch does.
    if (is_floating(t->dtype)) t = contiguous(*t, DType::Int64);
    return announced(std::move(t));
}

bool has_nested_items(PyObject* sequence) {
    Py_ssize_t n = PySequence_Size(sequence);
    if (n < 0) {
        PyErr_Clear();
        return false;
    }
    if (n >= 32) return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject* item = PySequence_GetItem(sequence, i);
        if (!item) {
            PyErr_Clear();
            return false;
        }
        bool nested = tensor_check(item) || PyList_Check(item) || PyTuple_Check(item) || numpy_array_check(item) ||
                      PySlice_Check(item) || item == Py_Ellipsis || item == Py_None;
        Py_DECREF(item);
        if (nested) return true;
    }
    return false;
}

// The items of the index; a list with lists, slices or tensors in it counts as a tuple, as it once did in NumPy.
class Items {
  public:
    explicit Items(PyObject* index) {
        if (PyTuple_Check(index)) {
            items_ = &PyTuple_GET_ITEM(index, 0);
            size_ = PyTuple_GET_SIZE(index);
            return;
        }
        if (PyList_Check(index) && has_nested_items(index)) {
            if (PyErr_WarnEx(PyExc_UserWarning,
                             "Using a non-tuple sequence for multidimensional indexing is deprecated and will be "
                             "changed in pytorch 2.9; use "
                             "x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor "
                             "index, x[torch.tensor(seq)], which "
                             "will result either in an error or a different result",
                             1) < 0)
                throw PythonError();
            owned_ = PySequence_Tuple(index);
            if (!owned_) throw PythonError();
            items_ = &PyTuple_GET_ITEM(owned_, 0);
            size_ = PyTuple_GET_SIZE(owned_);
            return;
        }
        single_ = index;
        items_ = &single_;
        size_ = 1;
    }
    ~Items() { Py_XDECREF(owned_); }
    Items(const Items&) = delete;
    Items& operator=(const Items&) = delete;
    Py_ssize_t size() const { return size_; }
    PyObject* operator[](Py_ssize_t i) const { return items_[i]; }

  private:
    PyObject* owned_ = nullptr;
    PyObject* single_ = nullptr;
    PyObject* const* items_ = nullptr;
    Py_ssize_t size_ = 0;
};

bool is_mask(const Tensor& t) { return t.dtype == DType::Bool || t.dtype == DType::UInt8; }

// The view that the basic part of an index gives, and the tensors that remain to be applied to it.
struct Indexed {
    TensorRef view;
    std::vector<TensorRef> tensors;  // null where a dimension is not indexed
    bool advanced = false;
};

class Indexing {
  public:
    Indexing(const Tensor& self, const Items& items) : items_(items), rank_(self.dim()) {
        result_.view = TensorRef::share(&self);
    }

    Indexed run() {
        convert();
        bool ellipsis_seen = false;
        for (Py_ssize_t i = 0; i < items_.size(); i++) {
            if (tensors_[static_cast<size_t>(i)]) {
                apply_tensor(*tensors_[static_cast<size_t>(i)]);
                continue;
            }
            PyObject* o = items_[i];
            if (is_integer_index(o)) {
                result_.view = select_at_dim(integer_of(o));
            } else if (PySlice_Check(o)) {
                MT_CHECK_INDEX(dim_ < result_.view->dim() || result_.view->dim() == 0,
                               "too many indices for tensor of dimension ", rank_);
                result_.view = slice_at(std::move(result_.view), dim_++, o);
            } else if (o == Py_None) {
                result_.view = unsqueeze_at(*result_.view, dim_++);
            } else if (o == Py_Ellipsis) {
                // A second one stands for no dimensions.
                if (!ellipsis_seen) dim_ += rank_ - specified_;
                ellipsis_seen = true;
            } else {
                result_.view = unsqueeze_at(*result_.view, dim_);
                record(bool_index(o == Py_True), 1);
            }
        }
        return std::move(result_);
    }

  private:
    // Sequences and arrays become tensors; counts the dimensions that the index names.
    void convert() {
        tensors_.resize(static_cast<size_t>(items_.size()));
        for (Py_ssize_t i = 0; i < items_.size(); i++) {
            PyObject* o = items_[i];
            if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o)) continue;
            if (PySlice_Check(o) || is_integer_index(o)) {
                specified_++;
                continue;
            }
            TensorRef& t = tensors_[static_cast<size_t>(i)];
            if (tensor_check(o))
                t = TensorRef::share(&as_tensor(o));
            else if (numpy_array_check(o) || (PySequence_Check(o) && !numpy_scalar_check(o)))
                t = sequence_index(o);
            else
                MT_THROW(Index,
                         "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
                         "indices (got ",
                         Py_TYPE(o)->tp_name, ")");
            specified_ += is_mask(*t) ? t->dim() : 1;
        }
        MT_CHECK_INDEX(specified_ <= rank_ || rank_ == 0, "too many indices for tensor of dimension ", rank_);
        if (rank_ == 0 && specified_ > 0) {
            bool one_integer = items_.size() == 1 && (is_integer_index(items_[0]) || PySlice_Check(items_[0]));
            MT_CHECK_INDEX(one_integer, "too many indices for tensor of dimension 0");
        }
    }

    TensorRef select_at_dim(int64_t index) {
        int64_t real_dim = dim_ + selected_;
        MT_CHECK_INDEX(result_.view->dim() > 0,
                       "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                       "convert a 0-dim tensor to a number");
        MT_CHECK_INDEX(dim_ < result_.view->dim(), "too many indices for tensor of dimension ", rank_);
        selected_++;
        return select_at(*result_.view, dim_, index, real_dim);
    }

    void apply_tensor(Tensor& t) {
        if (t.dim() == 0 && is_integer(t.dtype)) settle(t);
        if (t.dim() == 0 && is_mask(t) && (hides_data(t) || t.is_meta())) {
            result_.view = unsqueeze_at(*result_.view, dim_);
            record(unsqueeze_at(t, 0), 1);
            return;
        }
        if (t.dim() == 0 && (is_integer(t.dtype) || t.dtype == DType::Bool) && !hides_data(t)) {
            if (!is_mask(t)) {
                MT_CHECK(!t.is_meta(), "a meta tensor cannot be used as an integer index: it has no value");
                TensorRef number = on_host(t, DType::Int64);
                result_.view = select_at_dim(*number->data<int64_t>());
                return;
            }
            result_.view = unsqueeze_at(*result_.view, dim_);
            TensorRef truth = on_host(t, DType::Bool);
            record(bool_index(*truth->words<uint8_t>() != 0), 1);
            return;
        }
        MT_CHECK_INDEX(is_mask(t) || t.dtype == DType::Int64 || t.dtype == DType::Int32,
                       "tensors used as indices must be long, int, byte or bool tensors");
        record(TensorRef::share(&t), is_mask(t) ? t.dim() : 1);
    }

    // The tensor indexes `covers` dimensions from here on.
    void record(TensorRef t, int64_t covers) {
        for (; covered_ < dim_; covered_++) result_.tensors.emplace_back();
        result_.tensors.push_back(std::move(t));
        result_.advanced = true;
        dim_ += covers;
        covered_ += covers;
    }

    const Items& items_;
    int64_t rank_;
    int64_t specified_ = 0;  // dimensions of self that the index names
    int64_t dim_ = 0;        // the next dimension of the view
    int64_t covered_ = 0;    // dimensions that result_.tensors account for
    int64_t selected_ = 0;   // dimensions that integers took away so far
    std::vector<TensorRef> tensors_;
    Indexed result_;
};

// Index tensors as an argument list, moved to the device of what they index.
struct IndexList {
    std::vector<TensorRef> moved;
    std::vector<Tensor*> raw;
    Value value;
    IndexList(std::vector<TensorRef>& tensors, const Tensor& view) {
        for (TensorRef& t : tensors) {
            Tensor* one = t.get();
            if (one && !(one->device == view.device) && one->is_cpu()) {
                Value device;
                device.tag = Tag::Device;
                device.device = view.device;
                moved.push_back(op_to_copy({Value::of(one), Value(), Value(), device}));
                one = moved.back().get();
            }
            raw.push_back(one);
        }
        value.tag = Tag::TensorList;
        value.tensors = raw.data();
        value.len = static_cast<uint32_t>(raw.size());
    }
};

PyObject* finish(TensorRef t, const Tensor& self) {
    // Always a new tensor object, even if the index takes everything.
    if (t.get() == &self) return op_alias({Value::of(const_cast<Tensor*>(&self))}).release()->py();
    return t.release()->py();
}

PyObject* get(const Tensor& self, PyObject* index) {
    if (is_integer_index(index)) return select_at(self, 0, integer_of(index), 0).release()->py();
    if (PySlice_Check(index)) return slice_at(TensorRef::share(&self), 0, index, true).release()->py();
    if (index == Py_None) return unsqueeze_at(self, 0).release()->py();
    if (index == Py_Ellipsis) return finish(TensorRef::share(&self), self);
    Items items(index);
    Indexed r = Indexing(self, items).run();
    if (!r.advanced) return finish(std::move(r.view), self);
    IndexList list(r.tensors, *r.view);
    return op_index({Value::of(r.view.get()), list.value}).release()->py();
}

// ---- assignment ----

[[noreturn]] void cannot_assign(PyObject* value, const Tensor& self) {
    MT_THROW(Type, "can't assign a ", Py_TYPE(value)->tp_name, " to a torch.", dtype_class_name(self.dtype), "Tensor");
}

bool python_number(PyObject* o, Value* v) {
    if (!PyBool_Check(o) && !PyLong_Check(o) && !PyFloat_Check(o) && !PyComplex_Check(o) && !is_integer_index(o))
        return false;
    return number_from_python(o, v);
}

// The tensor without its leading dimensions of size one, beyond what it needs to have `rank` dimensions.
TensorRef without_leading_ones(const Tensor& value, int64_t rank) {
    int64_t skip = 0;
    while (skip < value.dim() && value.size(skip) == 1 && value.dim() - skip > rank) skip++;
    if (skip == 0) return TensorRef::share(&value);
    Dims sizes(IntSpan(value.sizes().data + skip, value.dim() - skip));
    return op_view({Value::of(const_cast<Tensor*>(&value)), ints_of(sizes)});
}

void assign(Tensor& target, PyObject* value) {
    Value number;
    if (!tensor_check(value)) {
        if (!python_number(value, &number)) cannot_assign(value, target);
        number = as_element(target.dtype, number);
        check_overlap(target);
        op_fill({Value::of(&target), number});
        return;
    }
    Tensor& source = as_tensor(value);
    if (source.sizes() == target.sizes()) {
        op_copy({Value::of(&target), Value::of(&source)});
        return;
    }
    TensorRef shaped = without_leading_ones(source, target.dim());
    Dims sizes(target.sizes());
    TensorRef wide = op_expand({Value::of(shaped.get()), ints_of(sizes)});
    op_copy({Value::of(&target), Value::of(wide.get())});
}

void set(Tensor& self, PyObject* index, PyObject* value) {
    if (index == Py_False) {
        Value number;
        if (!tensor_check(value) && !python_number(value, &number)) cannot_assign(value, self);
        return;
    }
    if (index == Py_Ellipsis) return assign(self, value);
    if (is_integer_index(index)) return assign(*select_at(self, 0, integer_of(index), 0), value);
    if (PySlice_Check(index)) return assign(*slice_at(TensorRef::share(&self), 0, index), value);
    if (index == Py_None || index == Py_True) return assign(*unsqueeze_at(self, 0), value);
    Items items(index);
    Indexed r = Indexing(self, items).run();
    if (!r.advanced) return assign(*r.view, value);
    IndexList list(r.tensors, *r.view);
    TensorRef values;
    if (tensor_check(value)) {
        values = without_leading_ones(as_tensor(value), 1);
    } else {
        Value number;
        if (!python_number(value, &number)) cannot_assign(value, self);
        number = as_element(self.dtype, number);
        Value device;
        device.tag = Tag::Device;
        device.device = self.device;
        // An operator like another, so that whoever watches operators knows where the number comes from.
        values = op_scalar_tensor({number, Value::of(self.dtype), Value(), device, Value()});
    }
    op_index_put({Value::of(r.view.get()), list.value, Value::of(values.get()), Value::of(false)});
}

}  // namespace

PyObject* tensor_getitem(PyObject* self, PyObject* index) {
    PyObject *args[] = {self, index}, *result;
    if (ask_function_handler("__getitem__", args, 2, &result)) return result;
    return guarded<PyObject*>(nullptr, [&] { return get(as_tensor(self), index); });
}

int tensor_setitem(PyObject* self, PyObject* index, PyObject* value) {
    PyObject *args[] = {self, index, value}, *result;
    if (value && ask_function_handler("__setitem__", args, 3, &result)) {
        Py_XDECREF(result);
        return result ? 0 : -1;
    }
    return guarded<int>(-1, [&] {
        MT_CHECK_TYPE(value, "Tensor does not support deleting items");
        MT_CHECK_TYPE(!is_sparse(as_tensor(self)), "Cannot assign to a sparse tensor");
        set(as_tensor(self), index, value);
        return 0;
    });
}

}  // namespace mt
