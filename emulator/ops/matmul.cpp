// Products of matrices. Sixteen-bit floats are multiplied exactly and summed in float, as the cube unit does.
#include "reduction.h"

using namespace emu;

namespace {

template <class C>
void product_of(const C* a, const C* b, C* c, int64_t m, int64_t k, int64_t n) {
    std::fill(c, c + m * n, C(0));
    for (int64_t i = 0; i < m; i++)
        for (int64_t p = 0; p < k; p++) {
            C x = a[i * k + p];
            const C* row = b + p * n;
            C* to = c + i * n;
            for (int64_t j = 0; j < n; j++) to[j] += x * row[j];
        }
}
#if defined(__x86_64__)
__attribute__((target("avx2,fma"), optimize("O3"))) void product_avx2(const float* a, const float* b, float* c,
                                                                      int64_t m, int64_t k, int64_t n) {
    std::fill(c, c + m * n, 0.f);
    for (int64_t i = 0; i < m; i++)
        for (int64_t p = 0; p < k; p++) {
            float x = a[i * k + p];
            const float* row = b + p * n;
            float* to = c + i * n;
            for (int64_t j = 0; j < n; j++) to[j] += x * row[j];
        }
}
void product_of(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n) {
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        product_avx2(a, b, c, m, k, n);
    else
        product_of<float>(a, b, c, m, k, n);
}
#endif

void check_math(int8_t cube) {
    if (cube < 0 || cube > 3) reject("cubeMathType is ", int(cube), ", not 0 to 3");
}
void same_dtype(const View& a, const View& b) {
    if (a.dtype != b.dtype) reject("a product of ", dtype_name(a.dtype), " and ", dtype_name(b.dtype));
}

struct Problem {
    View a, b;
    Shape batch, a_shape, b_shape;
    int64_t m, k, n;
    Kind kind;
};
// Matrices of a and b after broadcasting what is before the last two dimensions.
Problem problem_of(View a, View b) {
    same_dtype(a, b);
    if (a.rank < 2 || b.rank < 2) reject("tensors of rank ", a.rank, " and ", b.rank, ", at least 2 is needed");
    Problem p;
    p.a = a;
    p.b = b;
    p.m = a.sizes[a.rank - 2];
    p.k = a.sizes[a.rank - 1];
    p.n = b.sizes[b.rank - 1];
    if (b.sizes[b.rank - 2] != p.k) reject("shapes ", shown(shape_of(a)), " and ", shown(shape_of(b)), " do not match");
    View a_batch = a, b_batch = b;
    a_batch.rank -= 2;
    b_batch.rank -= 2;
    p.batch = broadcast({&a_batch, &b_batch});
    p.a_shape = p.b_shape = p.batch;
    p.a_shape.insert(p.a_shape.end(), {p.m, p.k});
    p.b_shape.insert(p.b_shape.end(), {p.k, p.n});
    p.kind = kind_of(a.dtype);
    return p;
}
template <class C>
std::vector<C> solve(const Problem& p) {
    auto a = load<C>(p.a, p.a_shape), b = load<C>(p.b, p.b_shape);
    int64_t count = product(p.batch);
    std::vector<C> c(static_cast<size_t>(count * p.m * p.n));
    for (int64_t i = 0; i < count; i++)
        product_of(a.data() + i * p.m * p.k, b.data() + i * p.k * p.n, c.data() + i * p.m * p.n, p.m, p.k, p.n);
    return c;
}
Shape result_of(const Problem& p) {
    Shape r = p.batch;
    r.insert(r.end(), {p.m, p.n});
    return r;
}
Plan multiplied(const View& a, const View& b, const View& out) {
    Problem p = problem_of(a, b);
    same_shape(out, result_of(p), "the output");
    return {[=] { with_kind(p.kind, [&](auto c) { store(out, solve<decltype(c)>(p)); }); }, 1024};
}

// A vector as a matrix of one row or one column.
View as_matrix(const View& v, bool row) {
    View r = v;
    r.rank = 2;
    int at = row ? 1 : 0;
    r.sizes[at] = v.sizes[0];
    r.strides[at] = v.strides[0];
    r.sizes[1 - at] = 1;
    r.strides[1 - at] = 0;
    return r;
}
Plan Matmul(T self, T other, O out, i8 cube) {
    View a = need(self, "self"), b = need(other, "mat2"), o = need(out, "out");
    check_math(cube);
    if (a.rank > 6 || b.rank > 6) reject("tensors of rank ", a.rank, " and ", b.rank, ", at most 6 is supported");
    if (!a.rank || !b.rank) reject("a product with a tensor without dimensions");
    bool row = a.rank == 1, column = b.rank == 1;
    if (row) a = as_matrix(a, true);
    if (column) b = as_matrix(b, false);
    Problem p = problem_of(a, b);
    Shape expected = result_of(p);
    if (column) expected.pop_back();
    if (row) expected.erase(expected.end() - (column ? 1 : 2));
    same_shape(o, expected, "the output");
    return {[=] { with_kind(p.kind, [&](auto c) { store(o, solve<decltype(c)>(p)); }); }, 1024};
}
Plan Mm(T self, T other, O out, i8 cube) {
    check_math(cube);
    if (need(self, "self").rank != 2 || need(other, "mat2").rank != 2) reject("two matrices are needed");
    return multiplied(self->view, other->view, need(out, "out"));
}
Plan BatchMatMul(T self, T other, O out, i8 cube) {
    check_math(cube);
    if (need(self, "self").rank != 3 || need(other, "mat2").rank != 3) reject("two tensors of rank 3 are needed");
    return multiplied(self->view, other->view, need(out, "out"));
}
Plan Mv(T self, T vec, O out, i8 cube) {
    check_math(cube);
    if (need(self, "self").rank != 2 || need(vec, "vec").rank != 1) reject("a matrix and a vector are needed");
    return Matmul(self, vec, out, cube);
}
Plan Dot(T self, T other, O out) {
    if (need(self, "self").rank != 1 || need(other, "tensor").rank != 1) reject("two vectors are needed");
    return Matmul(self, other, out, 0);
}
// beta * self + alpha * a @ b
Plan added(T self, T first, T second, S beta, S alpha, O out, i8 cube) {
    check_math(cube);
    double keep = need_real(beta, "beta"), scale = need_real(alpha, "alpha");
    View s = need(self, "self"), o = need(out, "out");
    Problem p = problem_of(need(first, "mat1"), need(second, "mat2"));
    Shape expected = result_of(p);
    same_shape(o, expected, "the output");
    if (broadcast({&s, &o}) != expected)
        reject("self of shape ", shown(shape_of(s)), " for a result of ", shown(expected));
    return {[=] {
                with_kind(p.kind, [&](auto c) {
                    using C = decltype(c);
                    auto x = solve<C>(p);
                    for (auto& e : x) e *= static_cast<C>(scale);
                    if (keep != 0) {
                        auto y = load<C>(s, expected);
                        for (size_t i = 0; i < x.size(); i++) x[i] += static_cast<C>(keep) * y[i];
                    }
                    store(o, x);
                });
            },
            1024};
}
Plan Addmm(T self, T a, T b, S beta, S alpha, O out, i8 cube) {
    if (need(a, "mat1").rank != 2 || need(b, "mat2").rank != 2) reject("two matrices are needed");
    return added(self, a, b, beta, alpha, out, cube);
}
Plan Baddbmm(T self, T a, T b, S beta, S alpha, O out, i8 cube) {
    if (need(a, "batch1").rank != 3 || need(b, "batch2").rank != 3) reject("two tensors of rank 3 are needed");
    return added(self, a, b, beta, alpha, out, cube);
}

// The same with matrices in FRACTAL_NZ on the right.
void in_blocks(T mat2) {
    if (mat2 && mat2->format != ACL_FORMAT_FRACTAL_NZ)
        reject("mat2 is in the format ", int(mat2->format), ", allowed: FRACTAL_NZ (29)");
    if (mat2 && mat2->view.dtype != ACL_FLOAT16 && mat2->view.dtype != ACL_BF16)
        reject("mat2 is of ", dtype_name(mat2->view.dtype), ", allowed: float16, bfloat16");
}
Plan MatmulWeightNz(T self, T other, O out, i8 cube) {
    in_blocks(other);
    return Matmul(self, other, out, cube);
}
Plan BatchMatMulWeightNz(T self, T other, O out, i8 cube) {
    in_blocks(other);
    return BatchMatMul(self, other, out, cube);
}
Plan AddmmWeightNz(T self, T a, T b, S beta, S alpha, O out, i8 cube) {
    in_blocks(b);
    return Addmm(self, a, b, beta, alpha, out, cube);
}

}  // namespace

ACLNN(MatmulWeightNz, T, T, O, i8)
ACLNN(BatchMatMulWeightNz, T, T, O, i8)
ACLNN(AddmmWeightNz, T, T, T, S, S, O, i8)
ACLNN(Matmul, T, T, O, i8)
ACLNN(Mm, T, T, O, i8)
ACLNN(BatchMatMul, T, T, O, i8)
ACLNN(Mv, T, T, O, i8)
ACLNN(Dot, T, T, O)
ACLNN(Addmm, T, T, T, S, S, O, i8)
ACLNN(Baddbmm, T, T, T, S, S, O, i8)
