"""Products of a sparse matrix that all slices of `torch.vmap` share, run by both libraries: tests/sparse/record.py."""

import functools
import math
from typing import Any

import mindtorch_v2 as torch

MATRIX = [[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [0.0, 0.0, 4.0], [5.0, 0.0, 6.0]]
LAYOUTS = ("sparse_coo", "sparse_csr", "sparse_csc")
# What is done to the matrix and a slice, and the sizes of all slices together.
PRODUCTS: dict[str, Any] = {
    "mv": (lambda s, x: torch.mv(s, x), (2, 3)),
    "matmul of a vector": (lambda s, x: s @ x, (2, 3)),
    "matmul": (lambda s, x: s @ x, (2, 3, 5)),
    "mm": (lambda s, x: torch.mm(s, x), (2, 3, 5)),
    "sparse.mm": (lambda s, x: torch.sparse.mm(s, x), (2, 3, 5)),
    "addmm": (lambda s, x: torch.addmm(x[:1], s, x, beta=2, alpha=3), (2, 3, 5)),
    "sparse.addmm": (lambda s, x: torch.sparse.addmm(x[:1], s, x, beta=2, alpha=3), (2, 3, 5)),
    "addmv": (lambda s, x: torch.addmv(x[0] * torch.ones(4), s, x, alpha=2), (2, 3)),
    "matrix on the left": (lambda s, x: x @ s, (2, 5, 4)),
    "vector on the left": (lambda s, x: x @ s, (2, 4)),
    "linear": (lambda s, x: torch.nn.functional.linear(x, s), (2, 5, 3)),
    "linear with a bias": (lambda s, x: torch.nn.functional.linear(x, s, torch.ones(4)), (2, 5, 3)),
    "nested": (lambda s, x: torch.vmap(lambda y: torch.mv(s, y), in_dims=1, out_dims=1)(x), (2, 3, 5)),
    "no slices": (lambda s, x: torch.mv(s, x), (0, 3)),
    "made dense": (lambda s, x: s.to_dense() @ x, (2, 3, 5)),
}
# What is done to the slices of a stack of two such matrices.
OF_SLICES: dict[str, Any] = {
    "neg": lambda s: -s,
    "made dense": lambda s: s.to_dense(),
    "sum": lambda s: s.sum(),
}


def outcome(run: Any) -> dict[str, Any]:
    """Sizes and values of a result, or the error."""
    try:
        made = run()
    except Exception as error:  # noqa: BLE001  (which one is the answer)
        return {"error": type(error).__name__, "text": str(error)}
    made = made.to_dense() if made.layout is not torch.strided else made
    return {"sizes": list(made.shape), "values": made.tolist()}


def programs() -> dict[str, Any]:
    """The calls that are run, by name."""
    found = {}
    for layout in LAYOUTS:
        kind = getattr(torch, layout)
        matrix = torch.tensor(MATRIX).to_sparse(layout=kind)
        stack = torch.tensor([MATRIX, MATRIX]).to_sparse(layout=kind)
        for name, (product, sizes) in PRODUCTS.items():
            x = torch.arange(float(math.prod(sizes))).reshape(sizes)
            found[f"{layout}: {name}"] = functools.partial(torch.vmap(functools.partial(product, matrix)), x)
        for name, done in OF_SLICES.items():
            found[f"{layout}: slices, {name}"] = functools.partial(torch.vmap(done), stack)
    return found


def outcomes() -> dict[str, Any]:
    """The outcome of each."""
    return {name: outcome(run) for name, run in programs().items()}
