"""Programs of MaskedTensors, for this package and for PyTorch; what they give is compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DATA = [[1.5, -2.0, 3.0], [4.0, 5.0, -6.0], [0.25, 8.0, 9.0]]
MASK = [[True, False, True], [False, False, False], [True, True, True]]
REDUCTIONS = ("sum", "mean", "amin", "amax", "argmin", "argmax", "prod", "var", "std")


def made(torch: Any, dtype: str = "float32") -> Any:
    data = torch.tensor(DATA).to(getattr(torch, dtype))
    return torch.masked.masked_tensor(data, torch.tensor(MASK), requires_grad=dtype.startswith("float"))


def shown(x: Any) -> dict[str, Any]:
    """Values of a MaskedTensor that count, where they are, and its text."""
    mask = x.get_mask()
    data = x.get_data().detach()
    if x.is_sparse:
        data, mask = data.to_dense(), mask.to_dense()
    filled = data.masked_fill(~mask, 0)
    return {"data": filled.tolist(), "mask": mask.tolist(), "dtype": str(x.dtype), "text": repr(x.detach())}


def _gradient(torch: Any, function: Callable[..., Any]) -> list[dict[str, Any]]:
    x = made(torch)
    y = function(x)
    y.sum().backward()
    grad = shown(x.grad)
    del grad["text"]  # signs of zeros
    return [shown(y), grad]


def _reduced(name: str) -> Callable[[Any], Any]:
    return lambda torch: [
        shown(getattr(made(torch), name)()),
        shown(getattr(made(torch), name)(dim=1)),
        shown(getattr(torch, name)(made(torch), 0, keepdim=True)),
    ]


CASES: dict[str, Callable[[Any], Any]] = {
    "text": lambda torch: [
        repr(made(torch)),
        repr(made(torch, "int64")),
        repr(made(torch)[0, 1]),
        repr(made(torch)[2]),
    ],
    "unary": lambda torch: [shown(getattr(made(torch), name)()) for name in ("exp", "abs", "sigmoid", "round", "neg")],
    "unary with a number": lambda torch: [shown(made(torch).clamp(-1, 4)), shown(made(torch) ** 2)],
    "in place": lambda torch: shown(made(torch).detach().abs_().add_(1)),
    "binary": lambda torch: [shown(made(torch) * made(torch)), shown(made(torch) + 2), shown(2.0 / made(torch))],
    "compared": lambda torch: [shown(made(torch) > 1), shown(made(torch) == made(torch))],
    "moved": lambda torch: [
        shown(made(torch).t()),
        shown(made(torch)[1:]),
        shown(made(torch).reshape(9)),
        shown(torch.cat([made(torch), made(torch)])),
        shown(made(torch).unsqueeze(0)),
    ],
    "where": lambda torch: shown(torch.where(torch.tensor(MASK), made(torch), made(torch) * 2)),
    "of data with history": lambda torch: _of_history(torch),
    "whole numbers": lambda torch: [shown(made(torch, "int64").sum()), shown(made(torch, "int32").amax(1))],
    "to others": lambda torch: [
        made(torch).to_tensor(7.0).tolist(),
        shown(made(torch).to_sparse()),
        shown(made(torch).to_sparse_csr().to_dense()),
        shown(made(torch).to_sparse() * 2),
    ],
    "softmax": lambda torch: _gradient(torch, lambda x: torch.softmax(x, -1)),
    "gradient of exp": lambda torch: _gradient(torch, lambda x: x.exp()),
    "gradient of a sum": lambda torch: _gradient(torch, lambda x: (x * 3).sum(1)),
    "gradient of a product": lambda torch: _gradient(torch, lambda x: x.prod(1)),
    "gradient of a mean": lambda torch: _gradient(torch, lambda x: x.mean(0)),
    "gradient of views": lambda torch: _gradient(torch, lambda x: x.t()[1:]),
    **{f"reduction {name}": _reduced(name) for name in REDUCTIONS},
}


def _of_history(torch: Any) -> Any:
    data = torch.tensor(DATA, requires_grad=True)
    torch.masked.as_masked_tensor(data * 2, torch.tensor(MASK)).sum().to_tensor(0.0).backward()
    grad = data.grad
    return shown(grad) if torch.masked.is_masked_tensor(grad) else grad.tolist()


REFUSED: dict[str, Callable[[Any], Any]] = {
    "other masks": lambda torch: made(torch) + torch.masked.masked_tensor(torch.tensor(DATA), ~torch.tensor(MASK)),
    "no tensor": lambda torch: torch.masked.masked_tensor(0, torch.tensor(True)),
    "a mask of numbers": lambda torch: torch.masked.masked_tensor(torch.ones(2), torch.ones(2)),
    "other sizes": lambda torch: torch.masked.masked_tensor(torch.ones(2), torch.tensor([True])),
    "other dimensions": lambda torch: torch.masked.masked_tensor(torch.ones(2, 1), torch.tensor([True])),
    "other layouts": lambda torch: torch.masked.masked_tensor(torch.ones(2).to_sparse(), torch.tensor([True, True])),
    "sparse and contiguous": lambda torch: made(torch).to_sparse().is_contiguous(),
}
