"""`torch.linalg`: linear algebra, under the names that the operators' rows bind here.

A name of PyTorch's that no row binds raises AttributeError, which says so.
"""

from __future__ import annotations

from mindtorch_v2._C import _LinAlgError as LinAlgError
from mindtorch_v2._operators.table import bound

_PYTORCH_NAMES = """
    cholesky cholesky_ex cond cross det diagonal eig eigh eigvals eigvalsh householder_product inv inv_ex ldl_factor
    ldl_factor_ex ldl_solve lstsq lu lu_factor lu_factor_ex lu_solve matmul matrix_exp matrix_norm matrix_power
    matrix_rank multi_dot norm pinv qr slogdet solve solve_ex solve_triangular svd svdvals tensorinv tensorsolve
    vander vecdot vector_norm
""".split()

_functions = bound("linalg")
globals().update(_functions)

__all__ = ["LinAlgError", *sorted(name for name in _functions if not name.startswith("_"))]


def __getattr__(name: str) -> None:
    if name in _PYTORCH_NAMES:
        raise AttributeError(f"torch.linalg.{name} is not implemented in mindtorch_v2")
    raise AttributeError(f"module 'mindtorch_v2.linalg' has no attribute {name!r}")
