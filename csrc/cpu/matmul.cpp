// mm, bmm, addmm and their family: products of matrices and of vectors.
#include "core/cpp_names.h"
#include "core/number_fits.h"
#include "product.h"

namespace mt {
namespace {

// Output strides PyTorch gives: contiguous.
void mm_shape(ShapeCall& c, const Tensor& a, const Tensor& b) {
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

void bmm_shape(ShapeCall& c, const Tensor& a, const Tensor& b) {
    check_bmm(a, b);
    c.output(0, {a.size(0), a.size(1), b.size(2)}, a.dtype);
}

void addmm_shape(ShapeCall& c, const Tensor& self, const Tensor& a, const Tensor& b) {
    MT_CHECK(a.ndim == 2, "mat1 must be a matrix, got ", a.ndim, "-D tensor");
    MT_CHECK(b.ndim == 2, "mat2 must be a matrix, got ", b.ndim, "-D tensor");
    MT_CHECK(a.size(1) == b.size(0), "mat1 and mat2 shapes cannot be multiplied (", a.size(0), "x", a.size(1), " and ",
             b.size(0), "x", b.size(1), ")");
    check_expands(self, {a.size(0), b.size(1)});
    check_product_dtypes(self.dtype, a.dtype, b.dtype);
    c.output(0, {a.size(0), b.size(1)}, a.dtype);
}

void baddbmm_shape(ShapeCall& c, const Tensor& self, const Tensor& a, const Tensor& b) {
    if (a.ndim == 3 && b.ndim == 3) check_expands(self, {a.size(0), a.size(1), b.size(2)});
    check_bmm(a, b);
    MT_CHECK(self.dtype == a.dtype, "Input dtypes must be the same, got: input ", dtype_cpp_name(self.dtype),
             ", batch1: ", dtype_cpp_name(a.dtype), ", batch2: ", dtype_cpp_name(b.dtype));
    c.output(0, {a.size(0), a.size(1), b.size(2)}, a.dtype);
}

void addbmm_shape(ShapeCall& c, const Tensor& self, const Tensor& a, const Tensor& b) {
    MT_CHECK(a.ndim == 3, "batch1 must be a 3D tensor");
    MT_CHECK(b.ndim == 3, "batch2 must be a 3D tensor");
    check_expands(self, {a.size(1), b.size(2)});
    MT_CHECK(a.size(0) == b.size(0), "batch1 and batch2 must have same number of batches, got ", a.size(0), " and ",
             b.size(0));
    MT_CHECK(a.size(2) == b.size(1), "Incompatible matrix sizes for bmm (", a.size(1), "x", a.size(2), " and ",
             b.size(1), "x", b.size(2), ")");
    check_product_dtypes(self.dtype, a.dtype, b.dtype);
    c.output(0, {a.size(1), b.size(2)}, a.dtype);
}

void check_matvec(const Tensor& input, const Tensor& mat, const Tensor& vec, IntSpan shown) {
    (void)input;
    MT_CHECK(mat.ndim == 2 && vec.ndim == 1, "vector + matrix @ vector expected, got ", shown[0], ", ", mat.ndim, ", ",
             vec.ndim);
}

void mv_shape(ShapeCall& c, const Tensor& a, const Tensor& v) {
    check_matvec(a, a, v, {1});
    MT_CHECK(a.size(1) == v.size(0), "size mismatch, got input (", a.size(0), "), mat (", a.size(0), "x", a.size(1),
             "), vec (", v.size(0), ")");
    MT_CHECK(a.dtype == v.dtype, "addmv input tensors must have the same dtype, but got ", dtype_class_name(v.dtype),
             ", ", dtype_class_name(a.dtype), ", and ", dtype_class_name(v.dtype));
    c.output(0, {a.size(0)}, a.dtype);
}

void addmv_shape(ShapeCall& c, const Tensor& self, const Tensor& a, const Tensor& v) {
    check_matvec(self, a, v, {self.ndim});
    MT_CHECK(self.ndim <= 1, "vector + matrix @ vector expected, got ", self.ndim, ", ", a.ndim, ", ", v.ndim);
    MT_CHECK(a.size(1) == v.size(0) && (self.numel() == a.size(0) || self.numel() == 1), "size mismatch, got input (",
             self.numel(), "), mat (", a.size(0), "x", a.size(1), "), vec (", v.size(0), ")");
    MT_CHECK(a.dtype == v.dtype && self.dtype == a.dtype, "addmv input tensors must have the same dtype, but got ",
             dtype_class_name(self.dtype), ", ", dtype_class_name(a.dtype), ", and ", dtype_class_name(v.dtype));
    c.output(0, {a.size(0)}, a.dtype);
}

void dot_shape(ShapeCall& c, const Tensor& self, const Tensor& other) {
    check_dot(self, other, "dot");
    c.output(0, {}, self.dtype);
}

void add_product(Tensor& out, const Tensor& self, const Tensor& left, const Tensor& right, const Value& beta,
                 const Value& alpha, IntSpan sizes, const char* op) {
    if (!is_reduced_float(self.dtype)) check_numbers_fit(self.dtype, {beta, alpha});
    TensorRef a = TensorRef::share(&left), b = TensorRef::share(&right);
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
    x.beta = beta.as_complex();
    x.alpha = alpha.as_complex();
    if (x.beta == 1.0 && x.alpha == 1.0 && self.ndim == 1 && out.ndim == 2 && self.size(0) == out.size(1) &&
        self.is_contiguous())
        x.bias = self.raw(), x.beta = 0;
    else if (x.beta != 0.0 && self.raw() != out.raw())
        copy_into(out, self);
    if (x.k == 0 && !x.bias && x.alpha == 0.0) x.alpha = 1;
    multiply(x, op);
}

void mm_cpu(Out out, const Tensor& a, const Tensor& b) {
    multiply({a.dtype,
              {},
              a.size(0),
              b.size(1),
              a.size(1),
              broadcast_operand(a, {}),
              broadcast_operand(b, {}),
              result_operand(out, {})},
             "addmm_impl_cpu_");
}

void bmm_cpu(Out out, const Tensor& a, const Tensor& b) {
    Dims sizes{a.size(0)};
    multiply({a.dtype, sizes, a.size(1), b.size(2), a.size(2), broadcast_operand(a, sizes), broadcast_operand(b, sizes),
              result_operand(out, sizes)},
             "bmm");
}

void addmm_cpu(Out out, const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Value& beta,
               const Value& alpha) {
    add_product(out, self, mat1, mat2, beta, alpha, {}, "addmm_impl_cpu_");
}
void baddbmm_cpu(Out out, const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Value& beta,
                 const Value& alpha) {
    add_product(out, self, batch1, batch2, beta, alpha, {batch1.size(0)}, "baddbmm");
}

void addbmm_cpu(Out out, const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Value& beta,
                const Value& alpha) {
    TensorRef wide;
    if (is_reduced_float(out->dtype)) {  // sums over the batch are kept in float32
        wide = empty(out->sizes(), DType::Float32);
    }
    Tensor& target = wide ? *wide : out;
    TensorRef a = wide ? contiguous(batch1, DType::Float32) : TensorRef::share(&batch1);
    TensorRef b = wide ? contiguous(batch2, DType::Float32) : TensorRef::share(&batch2);
    if (beta.as_complex() != 0.0) copy_into(target, self);
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
    x.beta = beta.as_complex();
    x.alpha = alpha.as_complex();
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

void mv_cpu(Out out, const Tensor& self, const Tensor& vec) { matvec(self, vec, out, 1, 0); }

void addmv_cpu(Out out, const Tensor& self, const Tensor& mat, const Tensor& vec, const Value& given_beta,
               const Value& alpha) {
    c128 beta = given_beta.as_complex();
    if (beta != 0.0 && self.raw() != out->raw()) copy_into(out, self);
    matvec(mat, vec, out, alpha.as_complex(), beta);
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

void dot_cpu(Out out, const Tensor& self, const Tensor& tensor) { inner_product(self, tensor, out, "dot"); }
void vdot_cpu(Out out, const Tensor& self, const Tensor& other) {
    TensorRef a = conjugated(self);
    inner_product(*a, other, out, "vdot");
}

KERNELS
{
    shape<mm_shape>("mm");
    shape<bmm_shape>("bmm");
    shape<addmm_shape>("addmm");
    shape<baddbmm_shape>("baddbmm");
    shape<addbmm_shape>("addbmm");
    shape<mv_shape>("mv");
    shape<addmv_shape>("addmv");
    shape<dot_shape>("dot");
    structured<mm_cpu>("mm", kContiguousOutputs);
    structured<bmm_cpu>("bmm", kContiguousOutputs);
    structured<addmm_cpu>("addmm", kContiguousOutputs | kInputMayAlias);
    structured<baddbmm_cpu>("baddbmm", kContiguousOutputs | kInputMayAlias);
    structured<addbmm_cpu>("addbmm", kContiguousOutputs);
    structured<mv_cpu>("mv", kContiguousOutputs);
    structured<addmv_cpu>("addmv", kContiguousOutputs);
    structured<dot_cpu>("dot", kContiguousOutputs);
    structured<vdot_cpu>("vdot", kContiguousOutputs);
}

}  // namespace
}  // namespace mt
