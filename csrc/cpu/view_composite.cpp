// Operators made of views that programs call all the time: each is its meaning, written against the dispatcher, so that
// autograd and every other key see the views.
#include "core/python/operator_call.h"
#include "core/reshape.h"

namespace mt {
namespace {

OperatorName op_view("aten::view"), op_unsafe_view("aten::_unsafe_view"), op_clone("aten::clone"),
    op_expand("aten::expand"), op_permute("aten::permute"), op_transpose("aten::transpose", "int"),
    op_split("aten::split", "Tensor"), op_split_sizes("aten::split_with_sizes"), op_alias("aten::alias");

Value self_of(const Call& c) { return Value::of(&c.mutable_tensor(0)); }

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

void reshape(Call& c) {
    const Tensor& self = c.tensor(0);
    c.ret(0, reshaped(self, infer_sizes(c.ints(1), self.numel())));
}

void flatten(Call& c) {
    const Tensor& self = c.tensor(0);
    int64_t start = wrap_dim(c.integer(1), self.dim()), end = wrap_dim(c.integer(2), self.dim());
    MT_CHECK(start <= end, "flatten() has invalid args: start_dim cannot come after end_dim");
    if (self.dim() == 0) return c.ret(0, reshaped(self, Dims{1}));
    if (start == end) return c.ret(0, self);
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
    c.ret(0, reshaped(self, sizes));
}

void expand_as(Call& c) {
    Dims sizes(c.tensor(1).sizes());
    c.ret(0, op_expand({self_of(c), ints_of(sizes)}));
}

void view_as(Call& c) {
    Dims sizes(c.tensor(1).sizes());
    c.ret(0, op_view({self_of(c), ints_of(sizes)}));
}

void numpy_T(Call& c) {
    int64_t n = c.tensor(0).dim();
    Dims order(n);
    for (int64_t d = 0; d < n; d++) order[d] = n - 1 - d;
    c.ret(0, op_permute({self_of(c), ints_of(order)}));
}

void matrix_transpose(Call& c) {
    MT_CHECK(c.tensor(0).dim() >= 2, "tensor.mT is only supported on matrices or batches of matrices. Got ",
             c.tensor(0).dim(), "-D tensor.");
    c.ret(0, op_transpose({self_of(c), Value::of(int64_t(-2)), Value::of(int64_t(-1))}));
}

void chunk(Call& c) {
    const Tensor& self = c.tensor(0);
    int64_t chunks = c.integer(1);
    MT_CHECK(self.dim() > 0, "chunk expects at least a 1-dimensional tensor");
    MT_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
    int64_t dim = wrap_dim(c.integer(2), self.dim()), size = self.size(dim),
            each = size / chunks + (size % chunks != 0);
    Value rets[1];
    if (each == 0) {
        MT_CHECK_VALUE(chunks < (int64_t(1) << 26), "cannot create std::vector larger than max_size()");
        Dims empty_parts(chunks, 0);
        Value args[3] = {self_of(c), ints_of(empty_parts), Value::of(dim)};
        call_values(op_split_sizes.get(), args, rets);
    } else {
        Value args[3] = {self_of(c), Value::of(each), Value::of(dim)};
        call_values(op_split.get(), args, rets);
    }
    c.ret_value(0, rets[0]);
}

KERNELS
{
    direct("reshape", reshape);
    direct("flatten.using_ints", flatten);
    direct("expand_as", expand_as);
    direct("view_as", view_as);
    direct("numpy_T", numpy_T);
    direct("mT", matrix_transpose);
    direct("chunk", chunk);
}

}  // namespace
}  // namespace mt
