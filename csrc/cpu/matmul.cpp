// mm, bmm, addmm and their family: products of matrices and of vectors.
#include "core/cpp_names.h"
#include "product.h"

namespace mt {
namespace {

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
    BatchedProduct x{out.dtype,
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
    BatchedProduct x{target.dtype,
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
    BatchedProduct x{a.dtype,
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

KERNELS
{
    shape("mm", mm_shape);
    shape("bmm", bmm_shape);
    shape("addmm", addmm_shape);
    shape("baddbmm", baddbmm_shape);
    shape("addbmm", addbmm_shape);
    shape("mv", mv_shape);
    shape("addmv", addmv_shape);
    shape("dot", dot_shape);
    structured("mm", mm_cpu, kContiguousOutputs);
    structured("bmm", bmm_cpu, kContiguousOutputs);
    structured("addmm", addmm_cpu, kContiguousOutputs | kInputMayAlias);
    structured("baddbmm", baddbmm_cpu, kContiguousOutputs | kInputMayAlias);
    structured("addbmm", addbmm_cpu, kContiguousOutputs);
    structured("mv", mv_cpu, kContiguousOutputs);
    structured("addmv", addmv_cpu, kContiguousOutputs);
    structured("dot", dot_cpu, kContiguousOutputs);
    structured("vdot", vdot_cpu, kContiguousOutputs);
}

}  // namespace
}  // namespace mt
