// Operators made of views that programs call all the time: each is its meaning, written against the dispatcher, so that
// autograd and every other key see the views.
#include "core/python/operator_call.h"
#include "core/reshape.h"
#include "core/typed_kernel.h"

namespace mt {
namespace {

OperatorName op_view("aten::view"), op_unsafe_view("aten::_unsafe_view"), op_clone("aten::clone"),
    op_expand("aten::expand"), op_permute("aten::permute"), op_transpose("aten::transpose", "int"),
    op_split("aten::split", "Tensor"), op_split_sizes("aten::split_with_sizes"), op_alias("aten::alias");

Value value_of(const Tensor& self) { return Value::of(const_cast<Tensor*>(&self)); }

TensorRef reshaped(const Tensor& self, const Dims& sizes) {
    Dims strides;
    Value t = Value::of(const_cast<Tensor*>(&self));
    if (view_strides(self, sizes, strides)) return op_view({t, ints_of(sizes)});
    Value format;
    format.tag = Tag::MemoryFormat;
    format.i = static_cast<int64_t>(MemoryFormat::Contiguous);
    TensorRef copy = op_clone({t, format});
    return op_unsafe_view({Value::of(copy.get()), ints_of(sizes)});
}

TensorRef reshape(const Tensor& self, IntSpan shape) { return reshaped(self, infer_sizes(shape, self.numel())); }

TensorRef flatten(const Tensor& self, int64_t start_dim, int64_t end_dim) {
    int64_t start = wrap_dim(start_dim, self.dim()), end = wrap_dim(end_dim, self.dim());
    MT_CHECK(start <= end, "flatten() has invalid args: start_dim cannot come after end_dim");
    if (self.dim() == 0) return reshaped(self, Dims{1});
    if (start == end) return TensorRef::share(&self);
    Dims sizes;
    int64_t merged = 1;
    for (int64_t d = 0; d < self.dim(); d++) {
        if (d < start || d > end) {
            sizes.push_back(self.size(d));
            continue;
        }
        merged *= self.size(d);
        if (d == end) sizes.push_back(merged);
    }
    return reshaped(self, sizes);
}

TensorRef expand_as(const Tensor& self, const Tensor& other) {
    Dims sizes(other.sizes());
    return op_expand({value_of(self), ints_of(sizes)});
}

TensorRef view_as(const Tensor& self, const Tensor& other) {
    Dims sizes(other.sizes());
    return op_view({value_of(self), ints_of(sizes)});
}

TensorRef numpy_T(const Tensor& self) {
    int64_t n = self.dim();
    Dims order(n);
    for (int64_t d = 0; d < n; d++) order[d] = n - 1 - d;
    return op_permute({value_of(self), ints_of(order)});
}

TensorRef matrix_transpose(const Tensor& self) {
    if (self.dim() == 0) return TensorRef::share(&self);
    MT_CHECK(self.dim() >= 2, "tensor.mT is only supported on matrices or batches of matrices. Got ", self.dim(),
             "-D tensor.");
    return op_transpose({value_of(self), Value::of(int64_t(-2)), Value::of(int64_t(-1))});
}

Value chunk(const Tensor& self, int64_t chunks, int64_t given_dim) {
    MT_CHECK(self.dim() > 0, "chunk expects at least a 1-dimensional tensor");
    MT_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
    int64_t dim = wrap_dim(given_dim, self.dim()), size = self.size(dim), each = size / chunks + (size % chunks != 0);
    Value rets[1];
    if (each == 0) {
        MT_CHECK_VALUE(chunks < (int64_t(1) << 26), "cannot create std::vector larger than max_size()");
        Dims empty_parts(chunks, 0);
        Value args[3] = {value_of(self), ints_of(empty_parts), Value::of(dim)};
        call_values(op_split_sizes.get(), args, rets);
    } else {
        Value args[3] = {value_of(self), Value::of(each), Value::of(dim)};
        call_values(op_split.get(), args, rets);
    }
    return rets[0];
}

KERNELS
{
    direct<reshape>("reshape");
    direct<flatten>("flatten.using_ints");
    direct<expand_as>("expand_as");
    direct<view_as>("view_as");
    direct<numpy_T>("numpy_T");
    direct<matrix_transpose>("mT");
    direct<chunk>("chunk");
}

}  // namespace
}  // namespace mt
