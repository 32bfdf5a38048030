"""Adam for gradients that are sparse: only the rows that a step touches are read and written."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.optim.optimizer import Optimizer, _run_closure, _to_scalar

if TYPE_CHECKING:
    from mindtorch_v2.optim.optimizer import ParamsT


__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam whose averages stand still where the gradient has no values (`torch.optim.SparseAdam`).

    Parameters are dense and real, gradients of the layout sparse_coo, as `nn.Embedding(sparse=True)` gives them; RuntimeError
    for a dense one. State: `step`, `exp_avg`, `exp_avg_sq`.

    >>> table = torch.nn.Embedding(4, 1, sparse=True)
    >>> optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
    >>> table(torch.tensor([2])).sum().backward()
    >>> optimizer.step()
    >>> table.weight.grad.is_sparse
    True
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-3,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 < lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for i, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        places = [([i, j], p) for i, group in enumerate(self.param_groups) for j, p in enumerate(list(group["params"]))]
        sparse = [place for place, p in places if p.is_sparse]
        if sparse:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        complex_ones = [place for place, p in places if p.is_complex()]
        if complex_ones:
            raise ValueError(
                f"Complex params at indices {complex_ones}: SparseAdam does not support complex parameters"
            )

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make one step; return the loss of `closure` if one is given."""
        loss = _run_closure(closure)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if not p.grad.is_sparse:
                    raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(p, memory_format=torch.preserve_format)
                    state["exp_avg_sq"] = torch.zeros_like(p, memory_format=torch.preserve_format)
                state["step"] += 1
                _step(p, -p.grad if group["maximize"] else p.grad, state, group)
        return loss


def _step(param, grad, state, group) -> None:
    grad = grad.coalesce()
    indices, slopes = grad._indices(), grad._values()
    if slopes.numel() == 0:
        return
    beta1, beta2 = group["betas"]

    def moved(average: torch.Tensor, values: torch.Tensor, beta: float) -> torch.Tensor:
        """The average's values at the gradient's rows after their part of the way to `values`, which it takes over."""
        before = average.sparse_mask(grad)._values()
        change = (values - before) * (1 - beta)
        average.add_(torch.sparse_coo_tensor(indices, change, grad.shape))
        return change + before

    mean = moved(state["exp_avg"], slopes, beta1)
    square = moved(state["exp_avg_sq"], slopes * slopes, beta2)
    size = _to_scalar(group["lr"]) * math.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
    param.add_(torch.sparse_coo_tensor(indices, mean / (square.sqrt() + group["eps"]) * -size, grad.shape))
