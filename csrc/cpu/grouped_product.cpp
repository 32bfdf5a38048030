// Grouped products, as mixtures of experts need them.
#include "core/cpp_names.h"
#include "product.h"

namespace mt {
namespace {

// PyTorch's fused kernels take row- or column-major matrices whose rows begin at multiples of 16 bytes, and so do we.
void check_grouped_operand(const Tensor& t) {
    int64_t row = t.stride(t.ndim - 2), col = t.stride(t.ndim - 1), m = t.size(t.ndim - 2), n = t.size(t.ndim - 1);
    bool column_major = row == 1 && col >= std::max<int64_t>(1, m);
    MT_CHECK(column_major || (col == 1 && row >= std::max<int64_t>(1, n)), "Invalid strides/sizes, got ", t.strides(),
             " for strides and ", t.sizes(), " for sizes");
    MT_CHECK((column_major ? col : row) % (16 / t.itemsize()) == 0, "strides should be multiple of 16 bytes");
}

TensorRef grouped_mm_cpu(const Tensor& a, const Tensor& b, const Tensor* offsets, const Tensor* bias,
                         std::optional<DType> out_dtype) {
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
    MT_CHECK(!bias, "Bias not supported yet");
    MT_CHECK(!out_dtype || *out_dtype == a.dtype, "Grouped gemm output dtype must match `mat_a` dtype");
    const int64_t groups = bounds ? bounds->numel() : a.size(0), m = a.size(a.ndim - 2), n = b.size(b.ndim - 1);
    if (a.ndim == 3) MT_CHECK(a.size(0) == groups, "matrix batch sizes have to match");
    if (b.ndim == 3) MT_CHECK(b.size(0) == groups, "matrix batch sizes have to match");
    Dims sizes = ragged && a.ndim + b.ndim == 5 ? Dims{m, n} : Dims{groups, m, n};
    const int64_t align = 16 / a.itemsize(), row = (n + align - 1) / align * align;
    TensorRef out = empty_strided(sizes, sizes.size() == 2 ? Dims{row, 1} : Dims{m * row, row, 1}, a.dtype);
    if (out->storage->nbytes) std::memset(out->storage->data, 0, out->storage->nbytes);
    const int64_t item = a.itemsize(), limit = a.ndim == 2 && b.ndim == 2 ? a.size(1) : a.ndim == 2 ? m : n;
    MatrixOperand oa = broadcast_operand(a, Dims(a.ndim - 2)), ob = broadcast_operand(b, Dims(b.ndim - 2)),
                  oc = result_operand(*out, Dims(out->ndim - 2));
    int64_t begin = 0;
    for (int64_t g = 0; g < groups; g++) {
        int64_t end = bounds ? bounds->data<int32_t>()[g] : 0;
        if (bounds)
            MT_CHECK(end >= begin && end <= limit, "offsets must grow and stay within the matrix, got ", end, " at ",
                     g);
        BatchedProduct x{a.dtype, {}, m, n, a.size(a.ndim - 1), oa, ob, oc};
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
    return out;
}

KERNELS
{
    direct<grouped_mm_cpu>("_grouped_mm");
}

}  // namespace
}  // namespace mt
