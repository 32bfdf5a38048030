"""Functions of linear algebra that PyTorch removed in version 1.9: what calls them is told what took their place."""

from typing import Any, NoReturn

_SUCCESSORS = {
    "eig": "`torch.eig(A, eigenvectors=True)` is `torch.linalg.eig(A)`, whose results are complex tensors; without vectors it is "
    "`torch.linalg.eigvals(A)`.",
    "lstsq": "`torch.lstsq(B, A)` is `torch.linalg.lstsq(A, B)`; factors come from `torch.linalg.qr`.",
    "matrix_rank": "`torch.linalg.matrix_rank` took its place, whose argument 'hermitian' was called 'symmetric'.",
    "solve": "`torch.solve(B, A)` is `torch.linalg.solve(A, B)`, which returns no factors: those come from `torch.linalg.lu_factor`.",
    "symeig": "`torch.symeig(A, eigenvectors=True)` is `torch.linalg.eigh(A, UPLO='U')`, without vectors "
    "`torch.linalg.eigvalsh(A, UPLO='U')`.",
}


def removed(name: str) -> NoReturn:
    """Raise the RuntimeError of a function that is gone."""
    raise RuntimeError(f"This function was deprecated since version 1.9 and is now removed. {_SUCCESSORS[name]}")


def symeig(input: Any, eigenvectors: bool = False, upper: bool = True, *, out: Any = None) -> NoReturn:
    """Raise RuntimeError: `torch.linalg.eigh`, which reads the lower triangle by default, took its place.

    >>> try:
    ...     torch.symeig(torch.eye(2))
    ... except RuntimeError as error:
    ...     print(str(error).partition(". ")[0])
    This function was deprecated since version 1.9 and is now removed
    """
    removed("symeig")
