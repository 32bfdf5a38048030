"""Sparse tensors in compiled functions: how many items they have only values tell, so that these calls stay out of graphs."""

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch

X = torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 0.0, 0.0]])
OUTSIDE = X.to_sparse()
PLACES = torch.tensor([[0, 1], [1, 2]])
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "to_sparse": lambda x: x.to_sparse(),
    "and back": lambda x: (x * 2).to_sparse().to_dense() + 1,
    "rows": lambda x: (x * 2).to_sparse_csr() @ x,
    "product": lambda x: torch.sparse.mm((x + 1).to_sparse(), x.t()).sum(),
    "coordinates": lambda x: torch.sparse_coo_tensor(PLACES, x[0, :2] * 2, (3, 3)).to_dense() * 2,
    "sum": lambda x: torch.sparse.sum((x * 1).to_sparse()),
    "from outside": lambda x: (OUTSIDE @ x).relu(),
    "values": lambda x: (x * 2).to_sparse().coalesce().values() * 3,
    "number of items": lambda x: (x * 2).to_sparse()._nnz() * x,
    "number of items from outside": lambda x: OUTSIDE._nnz() * x + OUTSIDE.values().sum(),
    "sizes of parts": lambda x: (x * 2).to_sparse().coalesce().values().shape[0] * x,
    "softmax": lambda x: torch.sparse.softmax((x * 2).to_sparse(), 1).to_dense(),
}


@pytest.mark.parametrize("backend", ["inductor", "aot_eager", "eager"])
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_eager_gives(name: str, requires_grad: bool, backend: str) -> None:
    x = X.clone().requires_grad_(requires_grad)
    wanted = PROGRAMS[name](x)
    compiled = torch.compile(PROGRAMS[name], backend=backend)
    for _ in range(2):
        made = compiled(x)
        assert (made.layout, made.requires_grad) == (wanted.layout, wanted.requires_grad)
        assert torch.equal(made.to_dense().detach(), wanted.to_dense().detach())


def test_one_graph_is_refused() -> None:
    with pytest.raises(torch._dynamo.exc.Unsupported, match="depends on values"):
        torch.compile(PROGRAMS["to_sparse"], fullgraph=True)(X)
