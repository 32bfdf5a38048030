// Factorisations and solves through LAPACK: Cholesky, LU, QR, eigenvalues, singular values, triangular systems.
//
// LAPACK reads columns: each matrix of a batch is copied into a column-major buffer and back.
#include <cmath>
#include <string>
#include <vector>

#include "openblas.h"

namespace mt {
namespace {

using LapackTypes = Types<float, double, c64, c128>;

template <class T>
struct RealOf {
    using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
    using type = T;
};
template <class T>
using real_t = typename RealOf<T>::type;
template <class T>
constexpr bool kComplex = !std::is_same_v<T, real_t<T>>;

// The LAPACK routine `name` for T: lapack<double>("getrf", ...) calls dgetrf_. Characters are passed as pointers; their
// hidden lengths, all 1, come last and are not read.
template <class T, class... A>
void lapack(const char* name, A... arguments) {
    const char prefix = std::is_same_v<T, float>    ? 's'
                        : std::is_same_v<T, double> ? 'd'
                        : std::is_same_v<T, c64>    ? 'c'
                                                    : 'z';
    auto routine = reinterpret_cast<void (*)(A..., size_t, size_t, size_t, size_t)>(
        openblas::symbol((prefix + std::string(name) + "_").c_str()));
    NoGil released;
    routine(arguments..., 1, 1, 1, 1);
}

int side(int64_t n) {
    MT_CHECK(n <= INT32_MAX, "linalg: a dimension exceeds the 32-bit range of LAPACK");
    return static_cast<int>(n);
}

// A batch of matrices, row-major, with the sizes that precede the last two.
struct Matrices {
    TensorRef owner;
    int64_t rows, cols, count = 1;
    Dims batch;
    explicit Matrices(const Tensor& t) : owner(contiguous(t)) {
        MT_CHECK(t.ndim >= 2, "linalg: expected a batch of matrices, but got a tensor of shape ", t.sizes());
        rows = t.size(t.ndim - 2);
        cols = t.size(t.ndim - 1);
        for (int64_t i = 0; i + 2 < t.ndim; i++) {
            batch.push_back(t.size(i));
            count *= t.size(i);
        }
        openblas::use_threads(num_threads());
    }
    Dims sizes(std::initializer_list<int64_t> last) const {
        Dims d = batch;
        for (int64_t n : last) d.push_back(n);
        return d;
    }
    template <class T>
    void load(int64_t i, T* to, int64_t column_length) const {
        const T* from = owner->data<T>() + i * rows * cols;
        for (int64_t r = 0; r < rows; r++)
            for (int64_t q = 0; q < cols; q++) to[q * column_length + r] = from[r * cols + q];
    }
};

template <class T>
void store(Tensor& t, int64_t i, const T* from, int64_t column_length) {
    const int64_t rows = t.size(t.ndim - 2), cols = t.size(t.ndim - 1);
    T* to = t.data<T>() + i * rows * cols;
    for (int64_t q = 0; q < cols; q++) std::copy_n(from + q * column_length, rows, to + q * rows);
}

// Room for a batch of matrices, each in columns as LAPACK writes it and as PyTorch's results have it.
TensorRef columns(Dims sizes, DType dtype) {
    const int n = static_cast<int>(sizes.size());
    Dims strides(sizes.size());
    int64_t step = 1;
    for (int i = n - 1; i >= 0; i--) {
        const int d = i == n - 1 ? n - 2 : i == n - 2 ? n - 1 : i;
        strides[d] = step;
        step *= std::max<int64_t>(sizes[d], 1);
    }
    return empty_strided(sizes, strides, dtype);
}

void check_matrix(const Tensor& a, const char* name, const char* what = "A") {
    MT_CHECK(a.ndim >= 2, name, ": The input tensor ", what, " must have at least 2 dimensions.");
    MT_CHECK(is_floating(a.dtype) || is_complex(a.dtype), name,
             ": Expected a floating point or complex tensor as input. Got ", dtype_class_name(a.dtype));
}

void check_square(const Tensor& a, const char* name) {
    check_matrix(a, name);
    const int64_t rows = a.size(a.ndim - 2), cols = a.size(a.ndim - 1);
    MT_CHECK(rows == cols, name, ": A must be batches of square matrices, but they are ", rows, " by ", cols,
             " matrices");
}

// Rows that are not public take operands that the public ones have brought to one batch and dtype; anybody may call
// them.
void check_batch(const Matrices& a, const Matrices& b, const char* name) {
    MT_CHECK(IntSpan(a.batch) == IntSpan(b.batch) && a.owner->dtype == b.owner->dtype, name,
             ": expected operands of one batch and dtype, but got ", a.owner->sizes(), " of ",
             dtype_class_name(a.owner->dtype), " and ", b.owner->sizes(), " of ", dtype_class_name(b.owner->dtype));
}
// The same for the vectors of `length` that belong to the matrices.
void check_vectors(const Tensor& t, const Matrices& m, int64_t length, const char* name) {
    MT_CHECK(t.sizes() == IntSpan(m.sizes({length})), name, ": expected a vector of ", length,
             " for each of the matrices of shape ", m.owner->sizes(), ", but got a tensor of shape ", t.sizes());
}

// Raises for the first matrix whose `info` is not zero, in the words of the operator `name`.
void check_info(const int32_t* info, int64_t count, std::string_view name, bool is_matrix) {
    for (int64_t i = 0; i < count; i++) {
        const int32_t code = info[i];
        if (code == 0) continue;
        std::string where = is_matrix ? std::string(": ") : concat(": (Batch element ", i, "): ");
        if (code < 0)
            MT_THROW(
                Runtime, name, where, "Argument ", -code,
                " has illegal value. Most certainly there is a bug in the implementation calling the backend library.");
        if (name.find("inv") != std::string_view::npos)
            MT_THROW(LinAlg, name, where, "The diagonal element ", code,
                     " is zero, the inversion could not be completed because the input matrix is singular.");
        if (name.find("solve") != std::string_view::npos)
            MT_THROW(LinAlg, name, where, "The solver failed because the input matrix is singular.");
        if (name.find("cholesky") != std::string_view::npos)
            MT_THROW(LinAlg, name, where,
                     "The factorization could not be completed because the input is not positive-definite (the leading "
                     "minor of order ",
                     code, " is not positive-definite).");
        if (name.find("eig") != std::string_view::npos)
            MT_THROW(LinAlg, name, where,
                     "The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
                     "repeated eigenvalues (error code: ",
                     code, ").");
        if (name.find("svd") != std::string_view::npos)
            MT_THROW(LinAlg, name, where,
                     "The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
                     "repeated singular values (error code: ",
                     code, ").");
        if (name.find("lu_factor") != std::string_view::npos)
            MT_THROW(Runtime, name, where, "U[", code, ",", code,
                     "] is zero and using it on lu_solve would result in a division by zero. If you still want to "
                     "perform the factorization, consider calling "
                     "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)");
        MT_THROW(LinAlg, name, where, "Unknown error code: ", code, ".");
    }
}

void check_errors_cpu(const Tensor& given_info, std::string_view api_name, bool is_matrix) {
    TensorRef info = contiguous(given_info, DType::Int32);
    check_info(info->data<int32_t>(), info->numel(), api_name, is_matrix);
}

TensorRef info_for(const Matrices& m) { return zeros(m.batch, DType::Int32); }

// ---- Cholesky ----

std::tuple<TensorRef, TensorRef> cholesky_ex_cpu(const Tensor& a, bool upper, bool check_errors) {
    check_square(a, "linalg.cholesky");
    Matrices m(a);
    const int64_t n = m.rows;
    TensorRef result = columns(Dims(a.sizes()), a.dtype), info = info_for(m);
    visit(LapackTypes{}, a.dtype, "cholesky_cpu", [&]<class T>() {
        std::vector<T> buffer(static_cast<size_t>(n * n));
        const int size = side(n), lead = std::max(1, size);
        for (int64_t i = 0; i < m.count; i++) {
            m.load(i, buffer.data(), n);
            int32_t& failed = info->data<int32_t>()[i];
            if (n) lapack<T>("potrf", upper ? "U" : "L", &size, buffer.data(), &lead, &failed);
            // A pivot that is not a number is not positive either; not every LAPACK says so.
            for (int64_t q = 0; q < n && failed == 0; q++)
                if (buffer[q * n + q] != buffer[q * n + q]) failed = static_cast<int32_t>(q + 1);
            for (int64_t q = 0; q < n; q++)
                for (int64_t r = 0; r < n; r++)
                    if (upper ? r > q : r < q) buffer[q * n + r] = T(0);
            store(*result, i, buffer.data(), n);
        }
    });
    if (check_errors) check_info(info->data<int32_t>(), m.count, "linalg.cholesky_ex", m.batch.empty());
    return {std::move(result), std::move(info)};
}

// ---- LU ----

// (A, pivot, check_errors) -> (LU, pivots, info)
std::tuple<TensorRef, TensorRef, TensorRef> lu_factor_ex_cpu(const Tensor& a, bool pivot, bool check_errors) {
    check_matrix(a, "torch.linalg.lu_factor");
    MT_CHECK(pivot, "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
    Matrices m(a);
    const int64_t k = std::min(m.rows, m.cols);
    TensorRef result = columns(Dims(a.sizes()), a.dtype), pivots = empty(m.sizes({k}), DType::Int32),
              info = info_for(m);
    visit(LapackTypes{}, a.dtype, "lu_factor", [&]<class T>() {
        std::vector<T> buffer(static_cast<size_t>(m.rows * m.cols));
        const int rows = side(m.rows), cols = side(m.cols), lead = std::max(1, rows);
        for (int64_t i = 0; i < m.count; i++) {
            m.load(i, buffer.data(), m.rows);
            if (k)
                lapack<T>("getrf", &rows, &cols, buffer.data(), &lead, pivots->data<int32_t>() + i * k,
                          info->data<int32_t>() + i);
            store(*result, i, buffer.data(), m.rows);
        }
    });
    if (check_errors) check_info(info->data<int32_t>(), m.count, "torch.linalg.lu_factor_ex", m.batch.empty());
    return {std::move(result), std::move(pivots), std::move(info)};
}

// LAPACK takes pivots for indices as they are.
void check_lu_pivots(const Tensor& pivots, int64_t n) {
    for (const int32_t pivot : Span<int32_t>(pivots.data<int32_t>(), pivots.numel())) {
        MT_CHECK(pivot >= 1, "Pivots given to lu_solve must all be greater or equal to 1. ",
                 "Did you properly pass the result of lu_factor?");
        MT_CHECK(pivot <= n, "Pivots given to lu_solve must all be smaller or equal to LU.size(-2). ",
                 "Did you properly pass the result of lu_factor?");
    }
}

// X of op(A) X = B from A's LU factors; operands of one batch. (LU, pivots, B, left, adjoint): left only here.
TensorRef lu_solve_cpu(const Tensor& lu, const Tensor& given_pivots, const Tensor& b, bool left, bool adjoint) {
    check_square(lu, "torch.linalg.lu_solve");
    Matrices factors(lu), right(b);
    TensorRef pivots = contiguous(given_pivots, DType::Int32), result = columns(Dims(b.sizes()), b.dtype);
    MT_CHECK(factors.count == right.count && factors.rows == right.rows,
             "linalg.lu_solve: Incompatible shapes of A and B for the equation AX = B (", factors.rows, "x",
             factors.cols, " and ", right.rows, "x", right.cols, ")");
    check_batch(factors, right, "torch.linalg.lu_solve");
    check_vectors(*pivots, factors, factors.rows, "torch.linalg.lu_solve");
    check_lu_pivots(*pivots, factors.rows);
    visit(LapackTypes{}, b.dtype, "lu_solve", [&]<class T>() {
        std::vector<T> a(static_cast<size_t>(factors.rows * factors.rows)),
            x(static_cast<size_t>(right.rows * right.cols));
        const int n = side(factors.rows), many = side(right.cols), lead = std::max(1, n);
        for (int64_t i = 0; i < factors.count; i++) {
            factors.load(i, a.data(), factors.rows);
            right.load(i, x.data(), right.rows);
            int info = 0;
            if (n && many)
                lapack<T>("getrs", adjoint ? (kComplex<T> ? "C" : "T") : "N", &n, &many, a.data(), &lead,
                          pivots->data<int32_t>() + i * n, x.data(), &lead, &info);
            store(*result, i, x.data(), right.rows);
        }
    });
    return result;
}

// (A, check_errors) -> (inverse, info)
std::tuple<TensorRef, TensorRef> inv_ex_cpu(const Tensor& a, bool check_errors) {
    check_square(a, "linalg.inv");
    Matrices m(a);
    const int64_t n = m.rows;
    TensorRef result = columns(Dims(a.sizes()), a.dtype), info = info_for(m);
    visit(LapackTypes{}, a.dtype, "linalg_inv_ex", [&]<class T>() {
        std::vector<T> buffer(static_cast<size_t>(n * n)), inverse(static_cast<size_t>(n * n));
        std::vector<int> pivots(static_cast<size_t>(n));
        const int size = side(n), lead = std::max(1, size);
        for (int64_t i = 0; i < m.count; i++) {
            m.load(i, buffer.data(), n);
            std::fill(inverse.begin(), inverse.end(), T(0));
            for (int64_t q = 0; q < n; q++) inverse[q * n + q] = T(1);
            if (n) {
                // A singular matrix has no inverse, and gets what solving with its factors gives: infinities and NaN.
                int solved = 0;
                lapack<T>("getrf", &size, &size, buffer.data(), &lead, pivots.data(), info->data<int32_t>() + i);
                lapack<T>("getrs", "N", &size, &size, buffer.data(), &lead, pivots.data(), inverse.data(), &lead,
                          &solved);
            }
            store(*result, i, inverse.data(), n);
        }
    });
    if (check_errors) check_info(info->data<int32_t>(), m.count, "linalg.inv_ex", m.batch.empty());
    return {std::move(result), std::move(info)};
}

// ---- triangular systems: (self, B, upper, left, unitriangular), operands of one batch ----

TensorRef solve_triangular_cpu(const Tensor& a, const Tensor& b, bool upper, bool left, bool unit) {
    check_square(a, "linalg.solve_triangular");
    check_matrix(b, "linalg.solve_triangular", "B");
    MT_CHECK(a.dtype == b.dtype,
             "linalg.solve_triangular: Expected A and B to have the same dtype, but found A of type ",
             dtype_class_name(a.dtype), " and B of type ", dtype_class_name(b.dtype), " instead");
    Matrices t(a), right(b);
    MT_CHECK(t.rows == (left ? right.rows : right.cols),
             "linalg.solve_triangular: Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B",
             " (", t.rows, "x", t.cols, " and ", right.rows, "x", right.cols, ")");
    MT_CHECK(t.count == right.count, "linalg.solve_triangular: batches of A and B differ");
    TensorRef result = columns(Dims(b.sizes()), b.dtype);
    visit(LapackTypes{}, b.dtype, "triangular_solve", [&]<class T>() {
        std::vector<T> m(static_cast<size_t>(t.rows * t.rows)), x(static_cast<size_t>(right.rows * right.cols));
        const int rows = side(right.rows), cols = side(right.cols), lead = std::max(1, side(t.rows)),
                  lead_x = std::max(1, rows);
        const T one(1);
        for (int64_t i = 0; i < t.count; i++) {
            t.load(i, m.data(), t.rows);
            right.load(i, x.data(), right.rows);
            if (rows && cols)
                lapack<T>("trsm", left ? "L" : "R", upper ? "U" : "L", "N", unit ? "U" : "N", &rows, &cols, &one,
                          m.data(), &lead, x.data(), &lead_x);
            store(*result, i, x.data(), right.rows);
        }
    });
    return result;
}

// ---- QR ----

template <class T>
void geqrf(int rows, int cols, T* a, T* tau) {
    const int lead = std::max(1, rows);
    int info = 0, ask = -1;
    T best(0);
    lapack<T>("geqrf", &rows, &cols, a, &lead, tau, &best, &ask, &info);
    int length = std::max(1, static_cast<int>(std::real(best)));
    std::vector<T> work(static_cast<size_t>(length));
    lapack<T>("geqrf", &rows, &cols, a, &lead, tau, work.data(), &length, &info);
}

// The first `cols` columns of the product of `k` reflectors.
template <class T>
void orgqr(int rows, int cols, int k, T* a, const T* tau) {
    const char* name = kComplex<T> ? "ungqr" : "orgqr";
    const int lead = std::max(1, rows);
    int info = 0, ask = -1;
    T best(0);
    lapack<T>(name, &rows, &cols, &k, a, &lead, tau, &best, &ask, &info);
    int length = std::max(1, static_cast<int>(std::real(best)));
    std::vector<T> work(static_cast<size_t>(length));
    lapack<T>(name, &rows, &cols, &k, a, &lead, tau, work.data(), &length, &info);
}

// (A, mode) -> (Q, R)
std::tuple<TensorRef, TensorRef> qr_cpu(const Tensor& a, std::string_view mode) {
    MT_CHECK(mode == "reduced" || mode == "complete" || mode == "r", "qr received unrecognized mode '", mode,
             "' but expected one of 'reduced' (default), 'r', or 'complete'");
    check_matrix(a, "linalg.qr");
    Matrices m(a);
    const int64_t k = std::min(m.rows, m.cols), q_cols = mode == "complete" ? m.rows : k;
    TensorRef q = mode == "r" ? empty(Dims{0}, a.dtype) : columns(m.sizes({m.rows, q_cols}), a.dtype),
              r = columns(m.sizes({q_cols, m.cols}), a.dtype);
    visit(LapackTypes{}, a.dtype, "qr_cpu", [&]<class T>() {
        std::vector<T> buffer(static_cast<size_t>(m.rows * std::max(m.cols, q_cols))), tau(static_cast<size_t>(k) + 1),
            upper(static_cast<size_t>(q_cols * m.cols));
        for (int64_t i = 0; i < m.count; i++) {
            m.load(i, buffer.data(), m.rows);
            if (k) geqrf<T>(side(m.rows), side(m.cols), buffer.data(), tau.data());
            for (int64_t j = 0; j < m.cols; j++)
                for (int64_t l = 0; l < q_cols; l++)
                    upper[j * q_cols + l] = l <= j && l < k ? buffer[j * m.rows + l] : T(0);
            store(*r, i, upper.data(), q_cols);
            if (mode == "r") continue;
            if (q_cols && m.rows) {
                if (k)
                    orgqr<T>(side(m.rows), side(q_cols), side(k), buffer.data(), tau.data());
                else
                    for (int64_t j = 0; j < q_cols; j++)
                        for (int64_t l = 0; l < m.rows; l++) buffer[j * m.rows + l] = T(j == l);
            }
            store(*q, i, buffer.data(), m.rows);
        }
    });
    return {std::move(q), std::move(r)};
}

std::tuple<TensorRef, TensorRef> geqrf_cpu(const Tensor& a) {
    check_matrix(a, "torch.geqrf");
    Matrices m(a);
    const int64_t k = std::min(m.rows, m.cols);
    TensorRef result = columns(Dims(a.sizes()), a.dtype), tau = zeros(m.sizes({k}), a.dtype);
    visit(LapackTypes{}, a.dtype, "geqrf_cpu", [&]<class T>() {
        std::vector<T> buffer(static_cast<size_t>(m.rows * m.cols));
        for (int64_t i = 0; i < m.count; i++) {
            m.load(i, buffer.data(), m.rows);
            if (k) geqrf<T>(side(m.rows), side(m.cols), buffer.data(), tau->data<T>() + i * k);
            store(*result, i, buffer.data(), m.rows);
        }
    });
    return {std::move(result), std::move(tau)};
}

TensorRef householder_product_cpu(const Tensor& a, const Tensor& given_tau) {
    check_matrix(a, "torch.linalg.householder_product", "input");
    MT_CHECK(a.size(a.ndim - 2) >= a.size(a.ndim - 1),
             "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]");
    Matrices m(a);
    TensorRef tau = contiguous(given_tau, a.dtype), result = columns(Dims(a.sizes()), a.dtype);
    MT_CHECK(
        tau->dim() + 1 == a.dim(),
        "torch.linalg.householder_product: Expected tau to have one dimension less than input, but got tau.ndim equal "
        "to ",
        tau->dim(), " and input.ndim is equal to ", a.dim());
    const IntSpan batch(tau->sizes().data, tau->dim() - 1);
    MT_CHECK(
        batch == IntSpan(a.sizes().data, a.dim() - 2),
        "torch.linalg.householder_product: Expected batch dimensions of tau to be equal to input.shape[:-2], but got ",
        batch);
    const int64_t k = tau->size(tau->ndim - 1);
    MT_CHECK(k <= m.cols,
             "torch.linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]");
    visit(LapackTypes{}, a.dtype, "householder_product", [&]<class T>() {
        std::vector<T> buffer(static_cast<size_t>(m.rows * m.cols));
        for (int64_t i = 0; i < m.count; i++) {
            m.load(i, buffer.data(), m.rows);
            if (m.cols) orgqr<T>(side(m.rows), side(m.cols), side(k), buffer.data(), tau->data<T>() + i * k);
            store(*result, i, buffer.data(), m.rows);
        }
    });
    return result;
}

// (self, input2, input3, left, transpose) -> Q self, Q^H self, self Q or self Q^H; operands of one batch
TensorRef ormqr_cpu(const Tensor& reflectors, const Tensor& input2, const Tensor& other, bool left, bool transpose) {
    Matrices m(reflectors), x(other);
    TensorRef tau = contiguous(input2, other.dtype), result = columns(Dims(other.sizes()), other.dtype);
    MT_CHECK(tau->ndim >= 1, "torch.ormqr: tau must have at least 1 dimension");
    const int64_t k = tau->size(tau->ndim - 1);
    check_batch(m, x, "torch.ormqr");
    check_vectors(*tau, m, k, "torch.ormqr");
    MT_CHECK(m.rows == (left ? x.rows : x.cols) && k <= std::min(m.rows, m.cols),
             "torch.ormqr: incompatible shapes of input, tau and other: ", reflectors.sizes(), ", ", tau->sizes(),
             " and ", other.sizes());
    visit(LapackTypes{}, other.dtype, "ormqr_cpu", [&]<class T>() {
        const char* name = kComplex<T> ? "unmqr" : "ormqr";
        const char *where = left ? "L" : "R", *how = !transpose ? "N" : kComplex<T> ? "C" : "T";
        std::vector<T> a(static_cast<size_t>(m.rows * m.cols)), b(static_cast<size_t>(x.rows * x.cols));
        const int rows = side(x.rows), cols = side(x.cols), many = side(k), lead_a = std::max(1, side(m.rows)),
                  lead_b = std::max(1, rows);
        for (int64_t i = 0; i < x.count; i++) {
            m.load(i, a.data(), m.rows);
            x.load(i, b.data(), x.rows);
            if (k && rows && cols) {
                int info = 0, ask = -1;
                T best(0);
                const T* scales = tau->data<T>() + i * k;
                lapack<T>(name, where, how, &rows, &cols, &many, a.data(), &lead_a, scales, b.data(), &lead_b, &best,
                          &ask, &info);
                int length = std::max(1, static_cast<int>(std::real(best)));
                std::vector<T> work(static_cast<size_t>(length));
                lapack<T>(name, where, how, &rows, &cols, &many, a.data(), &lead_a, scales, b.data(), &lead_b,
                          work.data(), &length, &info);
            }
            store(*result, i, b.data(), x.rows);
        }
    });
    return result;
}

// ---- symmetric indefinite matrices ----

std::tuple<TensorRef, TensorRef, TensorRef> ldl_factor_ex_cpu(const Tensor& a, bool hermitian, bool check_errors) {
    check_square(a, "torch.linalg.ldl_factor_ex");
    Matrices m(a);
    const int64_t n = m.rows;
    TensorRef result = columns(Dims(a.sizes()), a.dtype), pivots = empty(m.sizes({n}), DType::Int32),
              info = info_for(m);
    visit(LapackTypes{}, a.dtype, "ldl_factor_kernel_cpu", [&]<class T>() {
        const char* name = kComplex<T> && hermitian ? "hetrf" : "sytrf";
        std::vector<T> buffer(static_cast<size_t>(n * n));
        const int size = side(n), lead = std::max(1, size);
        for (int64_t i = 0; i < m.count; i++) {
            m.load(i, buffer.data(), n);
            // PyTorch's factors have nothing above the diagonal.
            for (int64_t q = 0; q < n; q++) std::fill_n(buffer.data() + q * n, q, T(0));
            if (n) {
                int ask = -1;
                T best(0);
                int32_t *exchanges = pivots->data<int32_t>() + i * n, *code = info->data<int32_t>() + i;
                lapack<T>(name, "L", &size, buffer.data(), &lead, exchanges, &best, &ask, code);
                int length = std::max(1, static_cast<int>(std::real(best)));
                std::vector<T> work(static_cast<size_t>(length));
                lapack<T>(name, "L", &size, buffer.data(), &lead, exchanges, work.data(), &length, code);
            }
            store(*result, i, buffer.data(), n);
        }
    });
    if (check_errors) check_info(info->data<int32_t>(), m.count, "torch.linalg.ldl_factor_ex", m.batch.empty());
    return {std::move(result), std::move(pivots), std::move(info)};
}

// As for LU, where a negative pivot stands for one row of a block of two.
void check_ldl_pivots(const Tensor& pivots, int64_t n) {
    const int32_t* p = pivots.data<int32_t>();
    for (int64_t k = 0; k < pivots.numel(); k++) {
        const int64_t place = std::abs(int64_t(p[k]));
        MT_CHECK(place >= 1, "Pivots given to ldl_solve must all satisfy |pivot| >= 1. ",
                 "Did you properly pass the result of ldl_factor?");
        MT_CHECK(place <= n, "Pivots given to ldl_solve must all satisfy |pivot| <= LD.size(-2). ",
                 "Did you properly pass the result of ldl_factor?");
    }
    for (int64_t k = 0; k < pivots.numel(); k += p[k] > 0 ? 1 : 2)
        MT_CHECK(p[k] > 0 || (k % n + 1 < n && p[k + 1] < 0), "Pivots given to ldl_solve must be negative in pairs. ",
                 "Did you properly pass the result of ldl_factor?");
}

// (LD, pivots, B, hermitian) -> X; operands of one batch
TensorRef ldl_solve_cpu(const Tensor& factors, const Tensor& given_pivots, const Tensor& b, bool hermitian) {
    check_square(factors, "torch.linalg.ldl_solve");
    Matrices m(factors), right(b);
    TensorRef pivots = contiguous(given_pivots, DType::Int32), result = columns(Dims(b.sizes()), b.dtype);
    check_batch(m, right, "torch.linalg.ldl_solve");
    MT_CHECK(m.rows == right.rows, "Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is ", m.rows,
             " by ", m.cols, " but each b matrix is ", right.rows, " by ", right.cols);
    check_vectors(*pivots, m, m.rows, "torch.linalg.ldl_solve");
    check_ldl_pivots(*pivots, m.rows);
    visit(LapackTypes{}, b.dtype, "ldl_solve_kernel_cpu", [&]<class T>() {
        const char* name = kComplex<T> && hermitian ? "hetrs" : "sytrs";
        std::vector<T> a(static_cast<size_t>(m.rows * m.rows)), x(static_cast<size_t>(right.rows * right.cols));
        const int n = side(m.rows), many = side(right.cols), lead = std::max(1, n);
        for (int64_t i = 0; i < m.count; i++) {
            m.load(i, a.data(), m.rows);
            right.load(i, x.data(), right.rows);
            int info = 0;
            if (n && many)
                lapack<T>(name, "L", &n, &many, a.data(), &lead, pivots->data<int32_t>() + i * n, x.data(), &lead,
                          &info);
            store(*result, i, x.data(), right.rows);
        }
    });
    return result;
}

// ---- eigenvalues ----

// (A, UPLO, compute_v) -> (eigenvalues, eigenvectors)
std::tuple<TensorRef, TensorRef> eigh_cpu(const Tensor& a, std::string_view triangle, bool vectors) {
    check_square(a, "linalg.eigh");
    MT_CHECK(triangle.size() == 1 && std::string_view("LlUu").find(triangle) != std::string_view::npos,
             "Expected UPLO argument to be 'L' or 'U', but got ", triangle);
    Matrices m(a);
    const int64_t n = m.rows;
    TensorRef values = empty(m.sizes({n}), to_real(a.dtype)),
              result = vectors ? columns(Dims(a.sizes()), a.dtype) : empty(Dims{0}, a.dtype);
    std::vector<int32_t> infos(static_cast<size_t>(m.count));
    visit(LapackTypes{}, a.dtype, "linalg_eigh_cpu", [&]<class T>() {
        using R = real_t<T>;
        std::vector<T> buffer(static_cast<size_t>(n * n));
        const int size = side(n), lead = std::max(1, size);
        const char* job = vectors ? "V" : "N";
        const char* part = triangle == "U" || triangle == "u" ? "U" : "L";
        for (int64_t i = 0; i < m.count && n; i++) {
            m.load(i, buffer.data(), n);
            R* w = values->data<R>() + i * n;
            int ask = -1, ints_best = 0, info = 0;
            T best(0);
            R reals_best(0);
            auto run = [&](T* work, int* length, R* reals, int* reals_length, int* ints, int* ints_length) {
                if constexpr (kComplex<T>)
                    lapack<T>("heevd", job, part, &size, buffer.data(), &lead, w, work, length, reals, reals_length,
                              ints, ints_length, &info);
                else
                    lapack<T>("syevd", job, part, &size, buffer.data(), &lead, w, work, length, ints, ints_length,
                              &info);
            };
            run(&best, &ask, &reals_best, &ask, &ints_best, &ask);
            int length = std::max(1, static_cast<int>(std::real(best))),
                reals_length = std::max(1, static_cast<int>(reals_best)), ints_length = std::max(1, ints_best);
            std::vector<T> work(static_cast<size_t>(length));
            std::vector<R> reals(static_cast<size_t>(reals_length));
            std::vector<int> ints(static_cast<size_t>(ints_length));
            run(work.data(), &length, reals.data(), &reals_length, ints.data(), &ints_length);
            infos[static_cast<size_t>(i)] = info;
            if (vectors) store(*result, i, buffer.data(), n);
        }
    });
    check_info(infos.data(), m.count, "linalg.eigh", m.batch.empty());
    return {std::move(values), std::move(result)};
}

// (self) -> (eigenvalues, eigenvectors), both complex
std::tuple<TensorRef, TensorRef> eig_cpu(const Tensor& a) {
    check_square(a, "linalg.eig");
    Matrices m(a);
    const int64_t n = m.rows;
    TensorRef values = empty(m.sizes({n}), to_complex(a.dtype)), result = columns(Dims(a.sizes()), to_complex(a.dtype));
    std::vector<int32_t> infos(static_cast<size_t>(m.count));
    visit(LapackTypes{}, a.dtype, "linalg_eig_cpu", [&]<class T>() {
        using R = real_t<T>;
        using Z = std::complex<R>;
        std::vector<T> buffer(static_cast<size_t>(n * n)), vectors(static_cast<size_t>(n * n));
        std::vector<R> re(static_cast<size_t>(n) + 1), im(static_cast<size_t>(n) + 1),
            reals(static_cast<size_t>(2 * n) + 1);
        std::vector<Z> pairs(static_cast<size_t>(n * n));
        const int size = side(n), lead = std::max(1, size), one = 1;
        T none(0);
        for (int64_t i = 0; i < m.count && n; i++) {
            m.load(i, buffer.data(), n);
            for (const T& x : buffer)
                MT_CHECK(std::isfinite(std::real(x)) && std::isfinite(std::imag(x)),
                         "torch.linalg.eig: input tensor should not contain infs or NaNs.");
            Z* w = values->data<Z>() + i * n;
            int ask = -1, info = 0;
            T best(0);
            auto run = [&](T* work, int* length) {
                if constexpr (kComplex<T>)
                    lapack<T>("geev", "N", "V", &size, buffer.data(), &lead, w, &none, &one, vectors.data(), &lead,
                              work, length, reals.data(), &info);
                else
                    lapack<T>("geev", "N", "V", &size, buffer.data(), &lead, re.data(), im.data(), &none, &one,
                              vectors.data(), &lead, work, length, &info);
            };
            run(&best, &ask);
            int length = std::max(1, static_cast<int>(std::real(best)));
            std::vector<T> work(static_cast<size_t>(length));
            run(work.data(), &length);
            infos[static_cast<size_t>(i)] = info;
            if constexpr (kComplex<T>) {
                store(*result, i, vectors.data(), n);
            } else {
                // A complex pair keeps the real and the imaginary part of its vector in two columns.
                for (int64_t j = 0; j < n; j++) {
                    w[j] = Z(re[j], im[j]);
                    for (int64_t r = 0; r < n; r++) {
                        if (im[j] == 0)
                            pairs[j * n + r] = Z(vectors[j * n + r], 0);
                        else if (im[j] > 0)
                            pairs[j * n + r] = Z(vectors[j * n + r], vectors[(j + 1) * n + r]);
                        else
                            pairs[j * n + r] = std::conj(pairs[(j - 1) * n + r]);
                    }
                }
                store(*result, i, pairs.data(), n);
            }
        }
    });
    check_info(infos.data(), m.count, "linalg.eig", m.batch.empty());
    return {std::move(values), std::move(result)};
}

// ---- singular values ----

// (A, full_matrices, compute_uv, driver) -> (U, S, Vh)
std::tuple<TensorRef, TensorRef, TensorRef> svd_cpu(const Tensor& a, bool full, bool vectors,
                                                    std::optional<std::string_view> driver) {
    check_matrix(a, "linalg.svd");
    MT_CHECK(!driver,
             "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.");
    Matrices m(a);
    const int64_t k = std::min(m.rows, m.cols), u_cols = full ? m.rows : k, v_rows = full ? m.cols : k;
    TensorRef u = vectors ? columns(m.sizes({m.rows, u_cols}), a.dtype) : empty(Dims{0}, a.dtype),
              s = empty(m.sizes({k}), to_real(a.dtype)),
              vh = vectors ? columns(m.sizes({v_rows, m.cols}), a.dtype) : empty(Dims{0}, a.dtype);
    std::vector<int32_t> infos(static_cast<size_t>(m.count));
    visit(LapackTypes{}, a.dtype, "svd_cpu", [&]<class T>() {
        using R = real_t<T>;
        std::vector<T> buffer(static_cast<size_t>(m.rows * m.cols)), left(static_cast<size_t>(m.rows * u_cols) + 1),
            right(static_cast<size_t>(v_rows * m.cols) + 1);
        const int rows = side(m.rows), cols = side(m.cols), lead = std::max(1, rows),
                  lead_v = std::max(1, side(v_rows));
        const char* job = !vectors ? "N" : full ? "A" : "S";
        const size_t small = static_cast<size_t>(k), large = static_cast<size_t>(std::max(m.rows, m.cols));
        std::vector<R> reals(
            kComplex<T> ? std::max(5 * small * small + 5 * small, 2 * large * small + 2 * small * small + small) + 1
                        : 1);
        std::vector<int> ints(8 * small + 1);
        for (int64_t i = 0; i < m.count; i++) {
            if (k == 0) {
                for (int64_t j = 0; j < u_cols; j++)
                    for (int64_t r = 0; r < m.rows; r++) left[j * m.rows + r] = T(j == r);
                for (int64_t j = 0; j < m.cols; j++)
                    for (int64_t r = 0; r < v_rows; r++) right[j * v_rows + r] = T(j == r);
            } else {
                m.load(i, buffer.data(), m.rows);
                for (const T& x : buffer)
                    if (!std::isfinite(std::real(x)) || !std::isfinite(std::imag(x)))
                        MT_THROW(
                            LinAlg,
                            "linalg.svd: ", m.batch.empty() ? std::string() : concat("(Batch element ", i, "): "),
                            "The algorithm failed to converge because the input matrix contained non-finite values.");
                int ask = -1, info = 0;
                T best(0);
                auto run = [&](T* work, int* length) {
                    if constexpr (kComplex<T>)
                        lapack<T>("gesdd", job, &rows, &cols, buffer.data(), &lead, s->data<R>() + i * k, left.data(),
                                  &lead, right.data(), &lead_v, work, length, reals.data(), ints.data(), &info);
                    else
                        lapack<T>("gesdd", job, &rows, &cols, buffer.data(), &lead, s->data<R>() + i * k, left.data(),
                                  &lead, right.data(), &lead_v, work, length, ints.data(), &info);
                };
                run(&best, &ask);
                int length = std::max(1, static_cast<int>(std::real(best)));
                std::vector<T> work(static_cast<size_t>(length));
                run(work.data(), &length);
                infos[static_cast<size_t>(i)] = info;
            }
            if (vectors) {
                store(*u, i, left.data(), m.rows);
                store(*vh, i, right.data(), v_rows);
            }
        }
    });
    check_info(infos.data(), m.count, "linalg.svd", m.batch.empty());
    return {std::move(u), std::move(s), std::move(vh)};
}

KERNELS
{
    direct<check_errors_cpu>("_linalg_check_errors");
    direct<cholesky_ex_cpu>("linalg_cholesky_ex");
    direct<lu_factor_ex_cpu>("linalg_lu_factor_ex");
    direct<lu_solve_cpu>("_lu_solve");
    direct<inv_ex_cpu>("linalg_inv_ex");
    direct<solve_triangular_cpu>("_solve_triangular");
    direct<qr_cpu>("linalg_qr");
    direct<geqrf_cpu>("geqrf");
    direct<householder_product_cpu>("linalg_householder_product");
    direct<ormqr_cpu>("_ormqr");
    direct<ldl_factor_ex_cpu>("linalg_ldl_factor_ex");
    direct<ldl_solve_cpu>("_ldl_solve");
    direct<eigh_cpu>("_linalg_eigh");
    direct<eig_cpu>("linalg_eig");
    direct<svd_cpu>("_linalg_svd");
}

}  // namespace
}  // namespace mt
