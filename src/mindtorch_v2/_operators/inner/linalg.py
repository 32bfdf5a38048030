"""Factorisations and solvers by names of PyTorch's own."""

from ..table import S, T, aten, composite


@composite(
    "_cholesky_solve_helper(Tensor self, Tensor A, bool upper) -> Tensor",
    "`cholesky_solve` of stacks of the same sizes.",
    bind="generated_out",
    explicit=True,
    samples=[S(T(3, 2, grad=False), T(3, 3, low=1, high=2, grad=False), False)],
    dtypes="float",
)
def _cholesky_solve_helper(self, A, upper):
    return aten.cholesky_solve(self, A, upper) if self.numel() else aten.empty_like(self)


@composite(
    "_linalg_eigvals(Tensor self) -> Tensor",
    "Eigenvalues of general matrices.",
    bind="linalg",
    explicit=True,
    samples=[S(T(3, 3, grad=False))],
    dtypes="float",
)
def _linalg_eigvals(self):
    return aten.linalg_eigvals(self)


@composite(
    "_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)",
    "The LU factorisation with error codes: an old name of `linalg.lu_factor_ex`.",
    bind="function",
    samples=[S(T(3, 3))],
    dtypes="float",
)
def _lu_with_info(self, pivot=True, check_errors=True):
    return aten.linalg_lu_factor_ex(self, pivot=pivot, check_errors=check_errors)
