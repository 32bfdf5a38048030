// mm, bmm, addmm and their family, linear and matmul with their backward passes. All reduce to one strided, batched
// product (`multiply`), which folds batch dimensions into rows or into the summed dimension where the strides allow.
#include <memory>

#include "core/autograd.h"
#include "core/cpp_names.h"
#include "gemm.h"

namespace mt {
namespace {

// ---- the strided batched product ----

struct Operand {
    char* data;
    Dims batch;  // strides of the batch dimensions, 0 where broadcast (of the result: summed)
    int64_t row, col;
};

struct Batched {
    DType dtype;
    Dims sizes;  // of the batch dimensions
    int64_t m, n, k;
    Operand a, b, c;
    const void* bias = nullptr;
    c128 alpha = 1, beta = 0;
};

void drop_dimension(Batched& x, int64_t i) {
    x.sizes.erase(i);
    x.a.batch.erase(i);
    x.b.batch.erase(i);
    x.c.batch.erase(i);
}

void fold(Batched& x) {
    for (int64_t i = x.sizes.size() - 1; i >= 0; i--)
        if (x.sizes[i] == 1) drop_dimension(x, i);
    for (int64_t i = x.sizes.size() - 2; i >= 0; i--) {  // neighbours that are one dimension for all three
        auto joins = [&](const Operand& o) { return o.batch[i] == o.batch[i + 1] * x.sizes[i + 1]; };
        if (joins(x.a) && joins(x.b) && joins(x.c)) {
            x.sizes[i] *= x.sizes[i + 1];
            x.a.batch[i] = x.a.batch[i + 1];
            x.b.batch[i] = x.b.batch[i + 1];
            x.c.batch[i] = x.c.batch[i + 1];
            drop_dimension(x, i + 1);
        }
    }
    while (!x.sizes.empty()) {
        int64_t last = x.sizes.size() - 1, count = x.sizes[last];
        bool rows = x.b.batch[last] == 0 && x.a.batch[last] == x.a.row * x.m && x.c.batch[last] == x.c.row * x.m &&
                    x.c.row != 0;
        bool summed = x.c.batch[last] == 0 && x.a.batch[last] == x.a.col * x.k && x.b.batch[last] == x.b.row * x.k;
        if (rows && x.c.batch[last] != 0)
            x.m *= count;
        else if (summed)
            x.k *= count;
        else
            break;
        drop_dimension(x, last);
    }
}

void multiply(Batched x, const char* op) {
    if (x.m == 0 || x.n == 0) return;
    for (int64_t size : Span<int64_t>(x.sizes))
        if (size == 0) return;
    fold(x);
    Product p;
    p.dtype = x.dtype;
    p.m = x.m, p.n = x.n, p.k = x.k;
    p.a_row = x.a.row, p.a_col = x.a.col, p.b_row = x.b.row, p.b_col = x.b.col, p.c_row = x.c.row;
    p.bias = x.bias, p.alpha = x.alpha, p.beta = x.beta;
    int64_t outer = x.sizes.size();
    if (outer && x.c.batch[outer - 1] != 0) {
        outer--;
        p.batch = x.sizes[outer];
        p.a_batch = x.a.batch[outer], p.b_batch = x.b.batch[outer], p.c_batch = x.c.batch[outer];
    }
    const int64_t item = itemsize(x.dtype);
    int64_t loops = 1;
    for (int64_t i = 0; i < outer; i++) loops *= x.sizes[i];
    for (int64_t loop = 0; loop < loops; loop++) {
        int64_t rest = loop, a = 0, b = 0, c = 0;
        bool first = true;  // of the products that are summed into this part of the result
        for (int64_t i = outer - 1; i >= 0; i--) {
            int64_t at = rest % x.sizes[i];
            rest /= x.sizes[i];
            a += at * x.a.batch[i];
            b += at * x.b.batch[i];
            c += at * x.c.batch[i];
            if (x.c.batch[i] == 0 && at != 0) first = false;
        }
        p.a = x.a.data + a * item;
        p.b = x.b.data + b * item;
        p.c = x.c.data + c * item;
        p.beta = first ? x.beta : c128(1);
        p.bias = first ? x.bias : nullptr;
        gemm(p, op);
    }
}

TensorRef conjugated(const Tensor& t) {
    if (!is_complex(t.dtype)) return TensorRef::share(&t);
    TensorRef r = clone(t);
    r = contiguous(*r);
    visit(ComplexTypes{}, t.dtype, "conj", [&]<class T>() {
        T* data = r->data<T>();
        for (int64_t i = 0; i < r->numel(); i++) data[i] = std::conj(data[i]);
    });
    return r;
}

// A matrix operand of 2 or more dimensions seen with `sizes` as batch dimensions.
Operand broadcast_operand(const Tensor& t, IntSpan sizes) {
    Operand o{t.raw(), Dims(sizes.size, 0), t.stride(t.ndim - 2), t.stride(t.ndim - 1)};
    int64_t have = t.ndim - 2, lead = sizes.size - have;
    for (int64_t i = 0; i < have; i++) o.batch[lead + i] = t.size(i) == 1 ? 0 : t.stride(i);
    return o;
}

Operand transposed(Operand o) {
    std::swap(o.row, o.col);
    return o;
}

// The result's operand has its columns adjacent, as gemm() asks.
Operand result_operand(Tensor& t, IntSpan sizes) {
    Operand o = broadcast_operand(t, sizes);
    if (t.size(t.ndim - 1) <= 1) o.col = 1;
    if (t.size(t.ndim - 2) <= 1) o.row = std::max<int64_t>(1, t.size(t.ndim - 1));
    return o;
}

// ---- mm, bmm and what adds to them ----

// Output strides PyTorch gives: contiguous.
void mm_shape(ShapeCall& c) {
    const Tensor &a = c.tensor(0), &b = c.tensor(1);
    MT_CHECK(a.ndim == 2, "self must be a matrix");
    MT_CHECK(b.ndim == 2, "mat2 must be a matrix");
    MT_CHECK(a.size(1) == b.size(0), "mat1 and mat2 shapes cannot be multiplied (", a.size(0), "x", a.size(1), " and ",
             b.size(0), "x", b.size(1), ")");
    MT_CHECK(a.dtype == b.dtype, "expected m1 and m2 to have the same dtype, but got: ", dtype_cpp_name(a.dtype),
             " != ", dtype_cpp_name(b.dtype));
    c.output(0, {a.size(0), b.size(1)}, a.dtype);
}

void check_bmm(const Tensor& a, const Tensor& b) {
    MT_CHECK(a.ndim == 3, "batch1 must be a 3D tensor");
    MT_CHECK(b.ndim == 3, "batch2 must be a 3D tensor");
    MT_CHECK(b.size(0) == a.size(0) && b.size(1) == a.size(2),
             "Expected size for first two dimensions of batch2 tensor to be: [", a.size(0), ", ", a.size(2),
             "] but got: [", b.size(0), ", ", b.size(1), "].");
    MT_CHECK(a.dtype == b.dtype, "expected scalar type ", dtype_class_name(a.dtype), " but found ",
             dtype_class_name(b.dtype));
}

void bmm_shape(ShapeCall& c) {
    const Tensor &a = c.tensor(0), &b = c.tensor(1);
    check_bmm(a, b);
    c.output(0, {a.size(0), a.size(1), b.size(2)}, a.dtype);
}

void check_expands(const Tensor& self, IntSpan target) {
    MT_CHECK(self.ndim <= target.size, "expand(torch.", dtype_class_name(self.dtype), "Tensor{", self.sizes(),
             "}, size=", target, "): the number of sizes provided (", target.size,
             ") must be greater or equal to the number of dimensions in the tensor (", self.ndim, ")");
    for (int64_t i = 1; i <= self.ndim; i++) {
        int64_t have = self.size(self.ndim - i), want = target[target.size - i];
        MT_CHECK(have == want || have == 1, "The expanded size of the tensor (", want,
                 ") must match the existing size (", have, ") at non-singleton dimension ", target.size - i,
                 ".  Target sizes: ", target, ".  Tensor sizes: ", self.sizes());
    }
}

void addmm_shape(ShapeCall& c) {
    const Tensor &self = c.tensor(0), &a = c.tensor(1), &b = c.tensor(2);
    MT_CHECK(a.ndim == 2, "mat1 must be a matrix, got ", a.ndim, "-D tensor");
    MT_CHECK(b.ndim == 2, "mat2 must be a matrix, got ", b.ndim, "-D tensor");
    MT_CHECK(a.size(1) == b.size(0), "mat1 and mat2 shapes cannot be multiplied (", a.size(0), "x", a.size(1), " and ",
             b.size(0), "x", b.size(1), ")");
    check_expands(self, {a.size(0), b.size(1)});
    MT_CHECK(self.dtype == b.dtype && a.dtype == b.dtype, "self and mat2 must have the same dtype, but got ",
             dtype_class_name(self.dtype == b.dtype ? a.dtype : self.dtype), " and ", dtype_class_name(b.dtype));
    c.output(0, {a.size(0), b.size(1)}, a.dtype);
}

void baddbmm_shape(ShapeCall& c) {
    const Tensor &self = c.tensor(0), &a = c.tensor(1), &b = c.tensor(2);
    if (a.ndim == 3 && b.ndim == 3) check_expands(self, {a.size(0), a.size(1), b.size(2)});
    check_bmm(a, b);
    MT_CHECK(self.dtype == a.dtype, "Input dtypes must be the same, got: input ", dtype_class_name(self.dtype),
             ", batch1: ", dtype_class_name(a.dtype), ", batch2: ", dtype_class_name(b.dtype));
    c.output(0, {a.size(0), a.size(1), b.size(2)}, a.dtype);
}

void addbmm_shape(ShapeCall& c) {
    const Tensor &self = c.tensor(0), &a = c.tensor(1), &b = c.tensor(2);
    MT_CHECK(a.ndim == 3, "batch1 must be a 3D tensor");
    MT_CHECK(b.ndim == 3, "batch2 must be a 3D tensor");
    check_expands(self, {a.size(1), b.size(2)});
    MT_CHECK(a.size(0) == b.size(0), "batch1 and batch2 must have same number of batches, got ", a.size(0), " and ",
             b.size(0));
    MT_CHECK(a.size(2) == b.size(1), "Incompatible matrix sizes for bmm (", a.size(1), "x", a.size(2), " and ",
             b.size(1), "x", b.size(2), ")");
    MT_CHECK(a.dtype == b.dtype && self.dtype == a.dtype, "expected scalar type ", dtype_class_name(self.dtype),
             " but found ", dtype_class_name(a.dtype == self.dtype ? b.dtype : a.dtype));
    c.output(0, {a.size(1), b.size(2)}, a.dtype);
}

void check_matvec(const Tensor& input, const Tensor& mat, const Tensor& vec, IntSpan shown) {
    (void)input;
    MT_CHECK(mat.ndim == 2 && vec.ndim == 1, "vector + matrix @ vector expected, got ", shown[0], ", ", mat.ndim, ", ",
             vec.ndim);
}

void mv_shape(ShapeCall& c) {
    const Tensor &a = c.tensor(0), &v = c.tensor(1);
    check_matvec(a, a, v, {1});
    MT_CHECK(a.size(1) == v.size(0), "size mismatch, got input (", a.size(0), "), mat (", a.size(0), "x", a.size(1),
             "), vec (", v.size(0), ")");
    MT_CHECK(a.dtype == v.dtype, "addmv input tensors must have the same dtype, but got ", dtype_class_name(v.dtype),
             ", ", dtype_class_name(a.dtype), ", and ", dtype_class_name(v.dtype));
    c.output(0, {a.size(0)}, a.dtype);
}

void addmv_shape(ShapeCall& c) {
    const Tensor &self = c.tensor(0), &a = c.tensor(1), &v = c.tensor(2);
    check_matvec(self, a, v, {self.ndim});
    MT_CHECK(self.ndim <= 1, "vector + matrix @ vector expected, got ", self.ndim, ", ", a.ndim, ", ", v.ndim);
    MT_CHECK(a.size(1) == v.size(0) && (self.numel() == a.size(0) || self.numel() == 1), "size mismatch, got input (",
             self.numel(), "), mat (", a.size(0), "x", a.size(1), "), vec (", v.size(0), ")");
    MT_CHECK(a.dtype == v.dtype && self.dtype == a.dtype, "addmv input tensors must have the same dtype, but got ",
             dtype_class_name(self.dtype), ", ", dtype_class_name(a.dtype), ", and ", dtype_class_name(v.dtype));
    c.output(0, {a.size(0)}, a.dtype);
}

void check_dot(const Tensor& a, const Tensor& b, const char* name) {
    MT_CHECK(a.ndim == 1 && b.ndim == 1, "1D tensors expected, but got ", a.ndim, "D and ", b.ndim, "D tensors");
    MT_CHECK(a.dtype == b.dtype, name, " : expected both vectors to have same dtype, but found ",
             dtype_class_name(a.dtype), " and ", dtype_class_name(b.dtype));
    MT_CHECK(a.numel() == b.numel(), "inconsistent tensor size, expected tensor ", a.sizes(), " and src ", b.sizes(),
             " to have the same number of elements, but got ", a.numel(), " and ", b.numel(), " elements respectively");
}

void dot_shape(ShapeCall& c) {
    check_dot(c.tensor(0), c.tensor(1), "dot");
    c.output(0, {}, c.tensor(0).dtype);
}

void add_product(Call& c, IntSpan sizes, const char* op) {
    const Tensor& self = c.tensor(0);
    TensorRef a = TensorRef::share(&c.tensor(1)), b = TensorRef::share(&c.tensor(2));
    Tensor& out = c.out();
    if (a->storage == out.storage) a = clone(*a);
    if (b->storage == out.storage) b = clone(*b);
    Batched x{out.dtype,
              Dims(sizes),
              a->size(a->ndim - 2),
              b->size(b->ndim - 1),
              a->size(a->ndim - 1),
              broadcast_operand(*a, sizes),
              broadcast_operand(*b, sizes),
              result_operand(out, sizes)};
    x.beta = c.scalar(3).as_complex();
    x.alpha = c.scalar(4).as_complex();
    if (x.beta == 1.0 && x.alpha == 1.0 && self.ndim == 1 && out.ndim == 2 && self.size(0) == out.size(1) &&
        self.is_contiguous())
        x.bias = self.raw(), x.beta = 0;
    else if (x.beta != 0.0 && self.raw() != out.raw())
        copy_into(out, self);
    if (x.k == 0 && !x.bias && x.alpha == 0.0) x.alpha = 1;
    multiply(x, op);
}

void mm_cpu(Call& c) {
    const Tensor &a = c.tensor(0), &b = c.tensor(1);
    multiply({a.dtype,
              {},
              a.size(0),
              b.size(1),
              a.size(1),
              broadcast_operand(a, {}),
              broadcast_operand(b, {}),
              result_operand(c.out(), {})},
             "addmm_impl_cpu_");
}

void bmm_cpu(Call& c) {
    const Tensor &a = c.tensor(0), &b = c.tensor(1);
    Dims sizes{a.size(0)};
    multiply({a.dtype, sizes, a.size(1), b.size(2), a.size(2), broadcast_operand(a, sizes), broadcast_operand(b, sizes),
              result_operand(c.out(), sizes)},
             "bmm");
}

void addmm_cpu(Call& c) { add_product(c, {}, "addmm_impl_cpu_"); }
void baddbmm_cpu(Call& c) { add_product(c, {c.tensor(1).size(0)}, "baddbmm"); }

void addbmm_cpu(Call& c) {
    Tensor& out = c.out();
    TensorRef wide;
    if (is_reduced_float(out.dtype)) {  // sums over the batch are kept in float32
        wide = empty(out.sizes(), DType::Float32);
    }
    Tensor& target = wide ? *wide : out;
    TensorRef a = wide ? contiguous(c.tensor(1), DType::Float32) : TensorRef::share(&c.tensor(1));
    TensorRef b = wide ? contiguous(c.tensor(2), DType::Float32) : TensorRef::share(&c.tensor(2));
    if (c.scalar(3).as_complex() != 0.0) copy_into(target, c.tensor(0));
    Dims sizes{a->size(0)};
    Batched x{target.dtype,
              sizes,
              a->size(1),
              b->size(2),
              a->size(2),
              broadcast_operand(*a, sizes),
              broadcast_operand(*b, sizes),
              result_operand(target, sizes)};
    x.c.batch[0] = 0;
    x.beta = c.scalar(3).as_complex();
    x.alpha = c.scalar(4).as_complex();
    if (a->size(0) == 0) {
        x.sizes[0] = 1, x.k = 0;
    }
    multiply(x, "addbmm");
    if (wide) copy_into(out, target);
}

void matvec(const Tensor& a, const Tensor& v, Tensor& out, c128 alpha, c128 beta) {
    Batched x{a.dtype,
              {},
              a.size(0),
              1,
              a.size(1),
              broadcast_operand(a, {}),
              {v.raw(), {}, v.stride(0), 1},
              {out.raw(), {}, 1, 1}};
    if (v.size(0) == 1) x.b.row = 1;
    x.alpha = alpha, x.beta = beta;
    multiply(x, "addmv_impl_cpu");
}

void mv_cpu(Call& c) { matvec(c.tensor(0), c.tensor(1), c.out(), 1, 0); }

void addmv_cpu(Call& c) {
    Tensor& out = c.out();
    c128 beta = c.scalar(3).as_complex();
    if (beta != 0.0 && c.tensor(0).raw() != out.raw()) copy_into(out, c.tensor(0));
    matvec(c.tensor(1), c.tensor(2), out, c.scalar(4).as_complex(), beta);
}

void inner_product(const Tensor& a, const Tensor& b, Tensor& out, const char* op) {
    int64_t n = a.numel();
    multiply({a.dtype,
              {},
              1,
              1,
              n,
              {a.raw(), {}, n + 2, a.stride(0)},
              {b.raw(), {}, b.stride(0), n + 2},
              {out.raw(), {}, 1, 1}},
             op);
}

void dot_cpu(Call& c) { inner_product(c.tensor(0), c.tensor(1), c.out(), "dot"); }
void vdot_cpu(Call& c) {
    TensorRef a = conjugated(c.tensor(0));
    inner_product(*a, c.tensor(1), c.out(), "vdot");
}

// ---- linear ----

// All but the last dimension as rows, if they are evenly spaced; else a contiguous copy is made first.
struct Rows {
    TensorRef owner;
    int64_t count = 1, stride = 0;
    explicit Rows(const Tensor& t) : owner(TensorRef::share(&t)) {
        if (!measure(*owner)) {
            owner = contiguous(t);
            measure(*owner);
        }
    }

  private:
    bool measure(const Tensor& t) {
        count = 1;
        stride = std::max<int64_t>(1, t.ndim ? t.size(t.ndim - 1) : 1);
        bool first = true;
        for (int64_t i = t.ndim - 2; i >= 0; i--) {
            if (t.size(i) == 1) continue;
            if (first)
                stride = t.stride(i);
            else if (t.stride(i) != stride * count)
                return false;
            first = false;
            count *= t.size(i);
        }
        return true;
    }
};

// Whether the bias is added to the rows of the flattened input (as addmm does), not broadcast against the result.
bool bias_of_rows(const Tensor& x, const Tensor& w, const Tensor& bias) {
    if (w.ndim != 2) return false;
    if (x.ndim == 2) return true;
    int64_t wide = 0;
    for (int64_t s : bias.sizes()) wide += s != 1;
    return x.is_contiguous() && bias.ndim <= 2 && (bias.ndim == 1 || wide == 1);
}

void linear_shape(ShapeCall& c) {
    const Tensor &x = c.tensor(0), &w = c.tensor(1);
    const Tensor* bias = c.tensor_or_null(2);
    MT_CHECK(x.ndim > 0 && w.ndim > 0, "both arguments to linear need to be at least 1D, but they are ", x.ndim,
             "D and ", w.ndim, "D");
    MT_CHECK(w.ndim <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", w.ndim, "D");
    int64_t k = x.size(x.ndim - 1), in = w.size(w.ndim - 1), rows = 1;
    for (int64_t i = 0; i + 1 < x.ndim; i++) rows *= x.size(i);
    Dims sizes(x.sizes());
    sizes.pop_back();
    if (w.ndim == 2) {
        MT_CHECK(k == in, "mat1 and mat2 shapes cannot be multiplied (", rows, "x", k, " and ", in, "x", w.size(0),
                 ")");
        sizes.push_back(w.size(0));
    } else {
        MT_CHECK(k == in, "size mismatch, got input (", rows, "), mat (", rows, "x", k, "), vec (", in, ")");
    }
    if (bias) {
        MT_CHECK(bias->dtype == w.dtype && x.dtype == w.dtype, "self and mat2 must have the same dtype, but got ",
                 dtype_class_name(bias->dtype == w.dtype ? x.dtype : bias->dtype), " and ", dtype_class_name(w.dtype));
        if (bias_of_rows(x, w, *bias)) {
            check_expands(*bias, {rows, w.size(0)});
        } else {
            MT_CHECK(IntSpan(broadcast_sizes(sizes, bias->sizes())) == IntSpan(sizes), "output with shape ",
                     IntSpan(sizes), " doesn't match the broadcast shape ",
                     IntSpan(broadcast_sizes(sizes, bias->sizes())));
        }
    }
    MT_CHECK(x.dtype == w.dtype, "expected m1 and m2 to have the same dtype, but got: ", dtype_cpp_name(x.dtype),
             " != ", dtype_cpp_name(w.dtype));
    c.output(0, sizes, x.dtype);
}

void linear_cpu(Call& c) {
    const Tensor &x = c.tensor(0), &w = c.tensor(1);
    const Tensor* bias = c.tensor_or_null(2);
    Tensor& out = c.out();
    Rows rows(x);
    const int64_t k = x.size(x.ndim - 1), n = w.ndim == 2 ? w.size(0) : 1;
    Product p;
    p.dtype = x.dtype;
    p.m = rows.count, p.n = n, p.k = k;
    p.a = rows.owner->raw(), p.a_row = rows.stride, p.a_col = rows.owner->stride(x.ndim - 1);
    p.b = w.raw(), p.b_row = w.stride(w.ndim - 1), p.b_col = w.ndim == 2 ? w.stride(0) : k + 1;
    p.c = out.raw(), p.c_row = n;
    if (p.k == 1) p.a_col = p.b_row = 1;
    if (bias && bias->ndim == 1 && bias->size(0) == n && bias->is_contiguous()) {
        p.bias = bias->raw();
    } else if (bias) {
        TensorRef flat = as_strided(out, {rows.count, n}, {n, 1}, out.offset);
        copy_into(bias_of_rows(x, w, *bias) ? *flat : out, *bias);
        p.beta = 1;
    }
    gemm(p, "addmm_impl_cpu_");
}

void linear_backward_shape(ShapeCall& c) {
    const Tensor &x = c.tensor(0), &grad = c.tensor(1), &w = c.tensor(2);
    Span<bool> mask = c.bools(3);
    MT_CHECK(x.ndim > 0 && (w.ndim == 1 || w.ndim == 2),
             "linear_backward(): expected an input of at least one "
             "dimension and a weight of one or two, but got sizes ",
             x.sizes(), " and ", w.sizes());
    Dims sizes(x.sizes());
    sizes.pop_back();
    if (w.ndim == 2) sizes.push_back(w.size(0));
    MT_CHECK(x.size(x.ndim - 1) == w.size(w.ndim - 1) && grad.sizes() == IntSpan(sizes),
             "linear_backward(): expected a gradient of size ", IntSpan(sizes), " for an input of size ", x.sizes(),
             " and a weight of size ", w.sizes(), ", but got ", grad.sizes());
    MT_CHECK(x.dtype == w.dtype && grad.dtype == w.dtype,
             "expected m1 and m2 to have the same dtype, but got: ", dtype_cpp_name(grad.dtype),
             " != ", dtype_cpp_name(x.dtype == w.dtype ? w.dtype : x.dtype));
    mask[0] ? c.output(0, x.sizes(), x.dtype) : c.output_none(0);
    mask[1] ? c.output(1, w.sizes(), w.dtype) : c.output_none(1);
    mask[2] ? c.output(2, w.ndim == 2 ? IntSpan{w.size(0)} : IntSpan(), w.dtype) : c.output_none(2);
}

void linear_backward_cpu(Call& c) {
    const Tensor &w = c.tensor(2), &x = c.tensor(0);
    Span<bool> mask = c.bools(3);
    const int64_t n = w.ndim == 2 ? w.size(0) : 1, k = x.size(x.ndim - 1);
    TensorRef g = TensorRef::share(&c.tensor(1));
    if (w.ndim == 1) {  // the output had no last dimension
        Dims sizes(g->sizes()), strides(g->strides());
        sizes.push_back(1);
        strides.push_back(1);
        g = as_strided(*g, sizes, strides, g->offset);
    }
    Rows grad(*g);
    int64_t grad_col = grad.owner->stride(grad.owner->ndim - 1);
    if (n == 1) grad_col = 1;
    if (mask[0]) {
        TensorRef conj = conjugated(w);
        Product p;
        p.dtype = x.dtype;
        p.m = grad.count, p.n = k, p.k = n;
        p.a = grad.owner->raw(), p.a_row = grad.stride, p.a_col = grad_col;
        p.b = conj->raw(), p.b_row = w.ndim == 2 ? conj->stride(0) : k,
        p.b_col = k == 1 ? 1 : conj->stride(conj->ndim - 1);
        p.c = c.out(0).raw(), p.c_row = k;
        gemm(p, "addmm_impl_cpu_");
    }
    if (mask[1]) {
        TensorRef conj = conjugated(x);
        Rows rows(*conj);
        Product p;
        p.dtype = x.dtype;
        p.m = n, p.n = k, p.k = rows.count;
        p.a = grad.owner->raw(), p.a_row = grad_col, p.a_col = grad.stride;
        p.b = rows.owner->raw(), p.b_row = rows.stride, p.b_col = k == 1 ? 1 : rows.owner->stride(x.ndim - 1);
        p.c = c.out(1).raw(), p.c_row = k;
        gemm(p, "addmm_impl_cpu_");
    }
    if (mask[2]) {
        TensorRef dense = grad_col == 1 ? grad.owner : contiguous(*grad.owner);
        column_sums(x.dtype, dense->raw(), grad.count, n, grad_col == 1 ? grad.stride : n, c.out(2).raw());
    }
}

// ---- matmul ----

struct MatmulSizes {
    Dims batch;  // broadcast
    int64_t m, n, k;
};

MatmulSizes matmul_sizes(const Tensor& a, const Tensor& b) {
    MT_CHECK(a.ndim > 0 && b.ndim > 0, "both arguments to matmul need to be at least 1D, but they are ", a.ndim,
             "D and ", b.ndim, "D");
    MatmulSizes s;
    s.m = a.ndim > 1 ? a.size(a.ndim - 2) : 1;
    s.k = a.size(a.ndim - 1);
    s.n = b.ndim > 1 ? b.size(b.ndim - 1) : 1;
    IntSpan batch_a(a.sizes().data, std::max<int64_t>(0, a.ndim - 2)),
        batch_b(b.sizes().data, std::max<int64_t>(0, b.ndim - 2));
    int64_t have = b.size(b.ndim > 1 ? b.ndim - 2 : 0);
    if (a.ndim == 1 && b.ndim == 1) {
        check_dot(a, b, "dot");
    } else if (b.ndim == 1) {
        int64_t rows = numel_of(batch_a) * s.m;
        MT_CHECK(s.k == have, "size mismatch, got input (", rows, "), mat (", rows, "x", s.k, "), vec (", have, ")");
        MT_CHECK(a.dtype == b.dtype, "addmv input tensors must have the same dtype, but got ",
                 dtype_class_name(b.dtype), ", ", dtype_class_name(a.dtype), ", and ", dtype_class_name(b.dtype));
    } else if (b.ndim == 2) {
        MT_CHECK(s.k == have, "mat1 and mat2 shapes cannot be multiplied (", numel_of(batch_a) * s.m, "x", s.k, " and ",
                 have, "x", s.n, ")");
        MT_CHECK(a.dtype == b.dtype, "expected m1 and m2 to have the same dtype, but got: ", dtype_cpp_name(a.dtype),
                 " != ", dtype_cpp_name(b.dtype));
    } else {
        Dims common = broadcast_sizes(batch_a, batch_b);
        MT_CHECK(s.k == have, "Expected size for first two dimensions of batch2 tensor to be: [", numel_of(common),
                 ", ", s.k, "] but got: [", numel_of(common), ", ", have, "].");
        MT_CHECK(a.dtype == b.dtype, "expected scalar type ", dtype_class_name(a.dtype), " but found ",
                 dtype_class_name(b.dtype));
    }
    s.batch = broadcast_sizes(batch_a, batch_b);
    return s;
}

void matmul_shape(ShapeCall& c) {
    const Tensor &a = c.tensor(0), &b = c.tensor(1);
    MatmulSizes s = matmul_sizes(a, b);
    Dims sizes = s.batch;
    if (a.ndim > 1) sizes.push_back(s.m);
    if (b.ndim > 1) sizes.push_back(s.n);
    c.output(0, sizes, a.dtype);
}

// A vector operand becomes a matrix of one row (left) or one column (right).
TensorRef as_matrix(const Tensor& t, bool left) {
    if (t.ndim > 1) return TensorRef::share(&t);
    int64_t n = t.size(0), gap = t.stride(0);
    return left ? as_strided(t, {1, n}, {n * gap, gap}, t.offset) : as_strided(t, {n, 1}, {gap, 1}, t.offset);
}

// A result of matmul with the dimensions that vector operands took away put back.
TensorRef result_matrix(const Tensor& t, bool a_vector, bool b_vector) {
    if (!a_vector && !b_vector) return TensorRef::share(&t);
    Dims sizes(t.sizes()), strides(t.strides());
    if (b_vector) sizes.push_back(1), strides.push_back(1);
    if (a_vector)
        sizes.insert(sizes.size() - 1, 1),
            strides.insert(strides.size() - 1, sizes.back() * (strides.empty() ? 1 : strides.back()));
    return as_strided(t, sizes, strides, t.offset);
}

const char* matmul_name(const Tensor& a, const Tensor& b) {
    return a.ndim == 1 && b.ndim == 1 ? "dot"
           : b.ndim == 1              ? "addmv_impl_cpu"
           : b.ndim == 2              ? "addmm_impl_cpu_"
                                      : "bmm";
}

void matmul_cpu(Call& c) {
    const Tensor &ta = c.tensor(0), &tb = c.tensor(1);
    MatmulSizes s = matmul_sizes(ta, tb);
    TensorRef a = as_matrix(ta, true), b = as_matrix(tb, false);
    TensorRef out = result_matrix(c.out(), ta.ndim == 1, tb.ndim == 1);
    multiply({ta.dtype, s.batch, s.m, s.n, s.k, broadcast_operand(*a, s.batch), broadcast_operand(*b, s.batch),
              result_operand(*out, s.batch)},
             matmul_name(ta, tb));
}

void matmul_backward_shape(ShapeCall& c) {
    Span<bool> mask = c.bools(3);
    const Tensor &grad = c.tensor(0), &left = c.tensor(1), &right = c.tensor(2);
    MatmulSizes s = matmul_sizes(left, right);
    Dims sizes = s.batch;
    if (left.ndim > 1) sizes.push_back(s.m);
    if (right.ndim > 1) sizes.push_back(s.n);
    MT_CHECK(grad.sizes() == IntSpan(sizes), "matmul_backward(): expected a gradient of size ", IntSpan(sizes),
             ", but got ", grad.sizes());
    MT_CHECK(left.dtype == right.dtype && grad.dtype == right.dtype,
             "expected m1 and m2 to have the same dtype, but got: ", dtype_cpp_name(left.dtype),
             " != ", dtype_cpp_name(left.dtype == right.dtype ? grad.dtype : right.dtype));
    for (int i : {0, 1}) {
        const Tensor& t = c.tensor(1 + i);
        mask[i] ? c.output(i, t.sizes(), t.dtype) : c.output_none(i);
    }
}

// target = left right, summed over the batch dimensions that the target lacks.
void product_into(Tensor& target, const Tensor& left, bool flip_left, const Tensor& right, bool flip_right,
                  const MatmulSizes& s, int64_t m, int64_t n, int64_t k, bool target_is_left) {
    TensorRef l = TensorRef::share(&left), r = TensorRef::share(&right), wide;
    TensorRef matrix = as_matrix(target, target_is_left);
    bool sums = false;
    for (int64_t i = 0; i < s.batch.size(); i++) {
        int64_t at = i - (s.batch.size() - (matrix->ndim - 2));
        if (s.batch[i] != 1 && (at < 0 || matrix->size(at) == 1)) sums = true;
    }
    if (sums && is_reduced_float(target.dtype)) {
        wide = empty(matrix->sizes(), DType::Float32);
        l = contiguous(*l, DType::Float32);
        r = contiguous(*r, DType::Float32);
    }
    Tensor& to = wide ? *wide : *matrix;
    if (target.numel() == 0) return;
    if (numel_of(s.batch) == 0 || k == 0) {
        std::memset(target.raw(), 0, static_cast<size_t>(target.numel() * target.itemsize()));
        return;
    }
    Operand a = broadcast_operand(*l, s.batch), b = broadcast_operand(*r, s.batch);
    multiply({to.dtype, s.batch, m, n, k, flip_left ? transposed(a) : a, flip_right ? transposed(b) : b,
              result_operand(to, s.batch)},
             "matmul");
    if (wide) copy_into(*matrix, *wide);
}

void matmul_backward_cpu(Call& c) {
    const Tensor &ta = c.tensor(1), &tb = c.tensor(2);
    Span<bool> mask = c.bools(3);
    MatmulSizes s = matmul_sizes(ta, tb);
    TensorRef a = as_matrix(ta, true), b = as_matrix(tb, false),
              grad = result_matrix(c.tensor(0), ta.ndim == 1, tb.ndim == 1);
    // A batch that folds into rows in the forward pass folds into the summed dimension here if the gradient is dense.
    if (tb.ndim <= 2 && ta.ndim > 2) grad = contiguous(*grad);
    if (mask[0]) product_into(c.out(0), *grad, false, *conjugated(*b), true, s, s.m, s.k, s.n, true);
    if (mask[1]) {
        TensorRef left = conjugated(*a);
        if (tb.ndim <= 2 && ta.ndim > 2) left = contiguous(*left);
        product_into(c.out(1), *left, true, *grad, false, s, s.k, s.n, s.m, false);
    }
}

// ---- grouped products (mixtures of experts) ----

// PyTorch's fused kernels take row- or column-major matrices whose rows begin at multiples of 16 bytes, and so do we.
void check_grouped_operand(const Tensor& t) {
    int64_t row = t.stride(t.ndim - 2), col = t.stride(t.ndim - 1), m = t.size(t.ndim - 2), n = t.size(t.ndim - 1);
    bool column_major = row == 1 && col >= std::max<int64_t>(1, m);
    MT_CHECK(column_major || (col == 1 && row >= std::max<int64_t>(1, n)), "Invalid strides/sizes, got ", t.strides(),
             " for strides and ", t.sizes(), " for sizes");
    MT_CHECK((column_major ? col : row) % (16 / t.itemsize()) == 0, "strides should be multiple of 16 bytes");
}

void grouped_mm_cpu(Call& c) {
    const Tensor &a = c.tensor(0), &b = c.tensor(1);
    const Tensor* offsets = c.tensor_or_null(2);
    MT_CHECK((a.ndim == 2 || a.ndim == 3) && (b.ndim == 2 || b.ndim == 3), "mat_a and mat_b have to be 2d or 3d");
    MT_CHECK(a.dtype == b.dtype, "Expected mat_a and mat_b to have the same dtype, got ", dtype_class_name(a.dtype),
             " and ", dtype_class_name(b.dtype));
    const bool ragged = a.ndim == 2 || b.ndim == 2;
    MT_CHECK(ragged == (offsets != nullptr),
             "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d");
    if (!(a.ndim == 2 && b.ndim == 2))
        MT_CHECK(a.size(a.ndim - 1) == b.size(b.ndim - 2), "contraction dimension of mat_a and mat_b must match");
    check_grouped_operand(a);
    check_grouped_operand(b);
    TensorRef bounds;
    if (offsets) {
        MT_CHECK(offsets->ndim == 1, "offs has to be 1D");
        MT_CHECK(offsets->dtype == DType::Int32, "Offsets have to be int32");
        bounds = contiguous(*offsets);
    }
    MT_CHECK(c.is_none(3), "Bias not supported yet");
    const int64_t groups = bounds ? bounds->numel() : a.size(0), m = a.size(a.ndim - 2), n = b.size(b.ndim - 1);
    if (a.ndim == 3) MT_CHECK(a.size(0) == groups, "matrix batch sizes have to match");
    if (b.ndim == 3) MT_CHECK(b.size(0) == groups, "matrix batch sizes have to match");
    Dims sizes = ragged && a.ndim + b.ndim == 5 ? Dims{m, n} : Dims{groups, m, n};
    const int64_t align = 16 / a.itemsize(), row = (n + align - 1) / align * align;
    TensorRef out = empty_strided(sizes, sizes.size() == 2 ? Dims{row, 1} : Dims{m * row, row, 1}, a.dtype);
    if (out->storage->nbytes) std::memset(out->storage->data, 0, out->storage->nbytes);
    const int64_t item = a.itemsize(), limit = a.ndim == 2 && b.ndim == 2 ? a.size(1) : a.ndim == 2 ? m : n;
    Operand oa = broadcast_operand(a, Dims(a.ndim - 2)), ob = broadcast_operand(b, Dims(b.ndim - 2)),
            oc = result_operand(*out, Dims(out->ndim - 2));
    int64_t begin = 0;
    for (int64_t g = 0; g < groups; g++) {
        int64_t end = bounds ? bounds->data<int32_t>()[g] : 0;
        if (bounds)
            MT_CHECK(end >= begin && end <= limit, "offsets must grow and stay within the matrix, got ", end, " at ",
                     g);
        Batched x{a.dtype, {}, m, n, a.size(a.ndim - 1), oa, ob, oc};
        x.a.batch.clear(), x.b.batch.clear(), x.c.batch.clear();
        if (a.ndim == 3) x.a.data += g * a.stride(0) * item;
        if (b.ndim == 3) x.b.data += g * b.stride(0) * item;
        if (out->ndim == 3) x.c.data += g * out->stride(0) * item;
        if (bounds) {
            int64_t width = end - begin;
            if (a.ndim == 2 && b.ndim == 2)
                x.k = width, x.a.data += begin * x.a.col * item, x.b.data += begin * x.b.row * item;
            else if (a.ndim == 2)
                x.m = width, x.a.data += begin * x.a.row * item, x.c.data += begin * x.c.row * item;
            else
                x.n = width, x.b.data += begin * x.b.col * item, x.c.data += begin * item;
        }
        multiply(x, "_grouped_mm");
        begin = end;
    }
    c.ret(0, std::move(out));
}

// ---- PyTorch composes linear and matmul; the last part gives the node its name ----

const char* matmul_node(const Call& c) {
    const Tensor &a = c.tensor(0), &b = c.tensor(1);
    if (a.ndim == 1 && b.ndim == 1) return "DotBackward0";
    if (a.ndim == 2 && b.ndim == 1) return "MvBackward0";
    if (a.ndim == 1 && b.ndim == 2) return "SqueezeBackward4";
    if (a.ndim == 2 && b.ndim == 2) return "MmBackward0";
    // The larger operand is folded when it is the second by transposing both, which ends in a copy.
    return a.ndim == 2 && b.ndim > 2 && requires_grad(a) ? "CloneBackward0" : "UnsafeViewBackward0";
}
const char* linear_node(const Call& c) {
    const Tensor& x = c.tensor(0);
    if (c.is_none(2) && x.ndim <= 2) return matmul_node(c);
    if (c.is_none(2)) return "UnsafeViewBackward0";
    if (x.ndim == 2 && c.tensor(1).ndim == 2) return "AddmmBackward0";
    return x.is_contiguous() && c.tensor(1).ndim == 2 ? "ViewBackward0" : "AddBackward0";
}

KERNELS
{
    register_node_name("linear", linear_node);
    register_node_name("matmul", matmul_node);
    shape("mm", mm_shape);
    shape("bmm", bmm_shape);
    shape("addmm", addmm_shape);
    shape("baddbmm", baddbmm_shape);
    shape("addbmm", addbmm_shape);
    shape("mv", mv_shape);
    shape("addmv", addmv_shape);
    shape("dot", dot_shape);
    shape("linear", linear_shape);
    shape("linear_backward", linear_backward_shape);
    shape("matmul", matmul_shape);
    shape("matmul_backward", matmul_backward_shape);
    structured("mm", mm_cpu, kContiguousOutputs);
    structured("bmm", bmm_cpu, kContiguousOutputs);
    structured("addmm", addmm_cpu, kContiguousOutputs | kInputMayAlias);
    structured("baddbmm", baddbmm_cpu, kContiguousOutputs | kInputMayAlias);
    structured("addbmm", addbmm_cpu, kContiguousOutputs);
    structured("mv", mv_cpu, kContiguousOutputs);
    structured("addmv", addmv_cpu, kContiguousOutputs);
    structured("dot", dot_cpu, kContiguousOutputs);
    structured("vdot", vdot_cpu, kContiguousOutputs);
    structured("linear", linear_cpu, kContiguousOutputs);
    structured("linear_backward", linear_backward_cpu, kContiguousOutputs);
    structured("matmul", matmul_cpu, kContiguousOutputs);
    structured("matmul_backward", matmul_backward_cpu, kContiguousOutputs);
    direct("_grouped_mm", grouped_mm_cpu);
}

}  // namespace
}  // namespace mt
