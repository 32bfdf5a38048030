// linear and matmul, and their backward passes.
#include <memory>

#include "core/autograd.h"
#include "core/cpp_names.h"
#include "product.h"

namespace mt {
namespace {

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

void linear_shape(ShapeCall& c, const Tensor& x, const Tensor& w, const Tensor* bias) {
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
        check_product_dtypes(bias->dtype, x.dtype, w.dtype);
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

void linear_cpu(Out out, const Tensor& x, const Tensor& w, const Tensor* bias) {
    Rows rows(x);
    const int64_t k = x.size(x.ndim - 1), n = w.ndim == 2 ? w.size(0) : 1;
    Product p;
    p.dtype = x.dtype;
    p.m = rows.count, p.n = n, p.k = k;
    p.a = rows.owner->raw(), p.a_row = rows.stride, p.a_col = rows.owner->stride(x.ndim - 1);
    p.b = w.raw(), p.b_row = w.stride(w.ndim - 1), p.b_col = w.ndim == 2 ? w.stride(0) : k + 1;
    p.c = out->raw(), p.c_row = n;
    if (p.k == 1) p.a_col = p.b_row = 1;
    if (bias && bias->ndim == 1 && bias->size(0) == n && bias->is_contiguous()) {
        p.bias = bias->raw();
    } else if (bias) {
        TensorRef flat = as_strided(out, {rows.count, n}, {n, 1}, out->offset);
        copy_into(bias_of_rows(x, w, *bias) ? *flat : out, *bias);
        p.beta = 1;
    }
    gemm(p, "addmm_impl_cpu_");
}

void linear_backward_shape(ShapeCall& c, const Tensor& x, const Tensor& grad, const Tensor& w, Span<bool> mask) {
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

void linear_backward_cpu(Out out, const Tensor& x, const Tensor& grad_output, const Tensor& w, Span<bool> mask) {
    const int64_t n = w.ndim == 2 ? w.size(0) : 1, k = x.size(x.ndim - 1);
    TensorRef g = TensorRef::share(&grad_output);
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
        p.c = out[0].raw(), p.c_row = k;
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
        p.c = out[1].raw(), p.c_row = k;
        gemm(p, "addmm_impl_cpu_");
    }
    if (mask[2]) {
        TensorRef dense = grad_col == 1 ? grad.owner : contiguous(*grad.owner);
        column_sums(x.dtype, dense->raw(), grad.count, n, grad_col == 1 ? grad.stride : n, out[2].raw());
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

void matmul_shape(ShapeCall& c, const Tensor& a, const Tensor& b) {
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

void matmul_cpu(Out result, const Tensor& ta, const Tensor& tb) {
    MatmulSizes s = matmul_sizes(ta, tb);
    TensorRef a = as_matrix(ta, true), b = as_matrix(tb, false);
    TensorRef out = result_matrix(result, ta.ndim == 1, tb.ndim == 1);
    multiply({ta.dtype, s.batch, s.m, s.n, s.k, broadcast_operand(*a, s.batch), broadcast_operand(*b, s.batch),
              result_operand(*out, s.batch)},
             matmul_name(ta, tb));
}

void matmul_backward_shape(ShapeCall& c, const Tensor& grad, const Tensor& left, const Tensor& right, Span<bool> mask) {
    MatmulSizes s = matmul_sizes(left, right);
    Dims sizes = s.batch;
    if (left.ndim > 1) sizes.push_back(s.m);
    if (right.ndim > 1) sizes.push_back(s.n);
    MT_CHECK(grad.sizes() == IntSpan(sizes), "matmul_backward(): expected a gradient of size ", IntSpan(sizes),
             ", but got ", grad.sizes());
    MT_CHECK(left.dtype == right.dtype && grad.dtype == right.dtype,
             "expected m1 and m2 to have the same dtype, but got: ", dtype_cpp_name(left.dtype),
             " != ", dtype_cpp_name(left.dtype == right.dtype ? grad.dtype : right.dtype));
    mask[0] ? c.output(0, left.sizes(), left.dtype) : c.output_none(0);
    mask[1] ? c.output(1, right.sizes(), right.dtype) : c.output_none(1);
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
    MatrixOperand a = broadcast_operand(*l, s.batch), b = broadcast_operand(*r, s.batch);
    multiply({to.dtype, s.batch, m, n, k, flip_left ? transposed(a) : a, flip_right ? transposed(b) : b,
              result_operand(to, s.batch)},
             "matmul");
    if (wide) copy_into(*matrix, *wide);
}

void matmul_backward_cpu(Out out, const Tensor& grad_output, const Tensor& ta, const Tensor& tb, Span<bool> mask) {
    MatmulSizes s = matmul_sizes(ta, tb);
    TensorRef a = as_matrix(ta, true), b = as_matrix(tb, false),
              grad = result_matrix(grad_output, ta.ndim == 1, tb.ndim == 1);
    // A batch that folds into rows in the forward pass folds into the summed dimension here if the gradient is dense.
    if (tb.ndim <= 2 && ta.ndim > 2) grad = contiguous(*grad);
    if (mask[0]) product_into(out[0], *grad, false, *conjugated(*b), true, s, s.m, s.k, s.n, true);
    if (mask[1]) {
        TensorRef left = conjugated(*a);
        if (tb.ndim <= 2 && ta.ndim > 2) left = contiguous(*left);
        product_into(out[1], *left, true, *grad, false, s, s.k, s.n, s.m, false);
    }
}

// ---- PyTorch composes linear and matmul; the last part gives the node its name ----

const char* matmul_node(const Tensor& a, const Tensor& b) {
    if (a.ndim == 1 && b.ndim == 1) return "DotBackward0";
    if (a.ndim == 2 && b.ndim == 1) return "MvBackward0";
    if (a.ndim == 1 && b.ndim == 2) return "SqueezeBackward4";
    if (a.ndim == 2 && b.ndim == 2) return "MmBackward0";
    // The larger operand is folded when it is the second by transposing both, which ends in a copy.
    return a.ndim == 2 && b.ndim > 2 && requires_grad(a) ? "CloneBackward0" : "UnsafeViewBackward0";
}
const char* linear_node(const Tensor& x, const Tensor& weight, const Tensor* bias) {
    if (!bias && x.ndim <= 2) return matmul_node(x, weight);
    if (!bias) return "UnsafeViewBackward0";
    if (x.ndim == 2 && weight.ndim == 2) return "AddmmBackward0";
    return x.is_contiguous() && weight.ndim == 2 ? "ViewBackward0" : "AddBackward0";
}

KERNELS
{
    node_name<linear_node>("linear");
    node_name<matmul_node>("matmul");
    shape<linear_shape>("linear");
    shape<linear_backward_shape>("linear_backward");
    shape<matmul_shape>("matmul");
    shape<matmul_backward_shape>("matmul_backward");
    structured<linear_cpu>("linear", kContiguousOutputs);
    structured<linear_backward_cpu>("linear_backward", kContiguousOutputs);
    structured<matmul_cpu>("matmul", kContiguousOutputs);
    structured<matmul_backward_cpu>("matmul_backward", kContiguousOutputs);
}

}  // namespace
}  // namespace mt
