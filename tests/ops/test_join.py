"""Joining tensors, against PyTorch."""

import pytest
from agreement import agree, agree_on_error

_CALLS = {
    "cat": lambda torch, a, b: (torch.cat([a, b]), torch.cat([a, b[:, :2]], 1), torch.cat((a.t(), b.t()), -1), torch.concat([a]), torch.cat([a, torch.zeros(0)])),
    "mixed dtypes": lambda torch, a, b: (torch.cat([a, b.long()]), torch.cat([a, b.double()]), torch.stack([a, b.long()])),
    "stack": lambda torch, a, b: (torch.stack([a, b]), torch.stack([a, b], 1), torch.stack([a.t(), b.t()], -1)),
    "by direction": lambda torch, a, b: (
        torch.hstack([a, b]), torch.vstack([a, b]), torch.dstack([a, b]), torch.column_stack([a[:, 0], b]), torch.row_stack([a, b[0]]), torch.hstack([a[0], b[1]]),
    ),
    "channels last": lambda torch, a, b: torch.cat([a.view(1, 2, 2, 3).to(memory_format=torch.channels_last), b.view(1, 2, 2, 3).to(memory_format=torch.channels_last)], 1),
    "grids": lambda torch, a, b: (torch.meshgrid(a[0], b[0, :2], indexing="ij"), torch.meshgrid(a[0], b[0, :2], indexing="xy"), torch.cartesian_prod(a[0], b[0])),
    "blocks": lambda torch, a, b: (torch.block_diag(a, b[0]), torch.broadcast_tensors(a[:, :1], b[:1]), torch.atleast_2d(a[0]), torch.combinations(a[0])),
}  # fmt: skip


@pytest.mark.parametrize("name", _CALLS)
def test_results_and_gradients(name):
    def program(torch):
        a = torch.arange(12.0).view(4, 3).requires_grad_()
        b = (torch.arange(12.0).view(4, 3) + 20).requires_grad_()
        results = _CALLS[name](torch, a, b)
        flat = []
        for r in results if isinstance(results, (tuple, list)) else (results,):
            flat += r if isinstance(r, (tuple, list)) else [r]
        torch.autograd.backward(flat, [torch.arange(1.0, r.numel() + 1, dtype=r.dtype).view(r.shape) for r in flat])
        return flat, a.grad, b.grad

    agree(program)


@pytest.mark.parametrize(
    "text",
    [
        "torch.cat([])", "torch.cat([x, x[:, :2]])", "torch.cat([x, x[0]])", "torch.cat([x[0, 0], x[0, 0]])", "torch.cat([x, x], 5)",
        "torch.stack([])", "torch.stack([x, x[0]])", "torch.cat([x, 3])", "torch.cat(5)",
    ],
)  # fmt: skip
def test_errors(text):
    agree_on_error(lambda torch: eval(text, {"torch": torch, "x": torch.ones(2, 3)}))


def test_out():
    def program(torch):
        x = torch.arange(6.0).view(2, 3)
        out = torch.empty(4, 3)
        torch.cat([x, x], out=out)
        return out, torch.stack([x, x], out=torch.empty(0))

    agree(program)
