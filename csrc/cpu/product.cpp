#include "product.h"

namespace mt {
namespace {

void drop_dimension(BatchedProduct& x, int64_t i) {
    x.sizes.erase(i);
    x.a.batch.erase(i);
    x.b.batch.erase(i);
    x.c.batch.erase(i);
}

void fold(BatchedProduct& x) {
    for (int64_t i = x.sizes.size() - 1; i >= 0; i--)
        if (x.sizes[i] == 1) drop_dimension(x, i);
    for (int64_t i = x.sizes.size() - 2; i >= 0; i--) {  // neighbours that are one dimension for all three
        auto joins = [&](const MatrixOperand& o) { return o.batch[i] == o.batch[i + 1] * x.sizes[i + 1]; };
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

}  // namespace

void multiply(BatchedProduct x, const char* op) {
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

MatrixOperand broadcast_operand(const Tensor& t, IntSpan sizes) {
    MatrixOperand o{t.raw(), Dims(sizes.size, 0), t.stride(t.ndim - 2), t.stride(t.ndim - 1)};
    int64_t have = t.ndim - 2, lead = sizes.size - have;
    for (int64_t i = 0; i < have; i++) o.batch[lead + i] = t.size(i) == 1 ? 0 : t.stride(i);
    return o;
}

MatrixOperand transposed(MatrixOperand o) {
    std::swap(o.row, o.col);
    return o;
}

MatrixOperand result_operand(Tensor& t, IntSpan sizes) {
    MatrixOperand o = broadcast_operand(t, sizes);
    if (t.size(t.ndim - 1) <= 1) o.col = 1;
    if (t.size(t.ndim - 2) <= 1) o.row = std::max<int64_t>(1, t.size(t.ndim - 1));
    return o;
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

void check_dot(const Tensor& a, const Tensor& b, const char* name) {
    MT_CHECK(a.ndim == 1 && b.ndim == 1, "1D tensors expected, but got ", a.ndim, "D and ", b.ndim, "D tensors");
    MT_CHECK(a.dtype == b.dtype, name, " : expected both vectors to have same dtype, but found ",
             dtype_class_name(a.dtype), " and ", dtype_class_name(b.dtype));
    MT_CHECK(a.numel() == b.numel(), "inconsistent tensor size, expected tensor ", a.sizes(), " and src ", b.sizes(),
             " to have the same number of elements, but got ", a.numel(), " and ", b.numel(), " elements respectively");
}

}  // namespace mt
