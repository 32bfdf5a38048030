"""Sorting, ranks, distinct elements, look-up."""

import pytest
from agreement import agree, agree_on_error


def _ties(torch, *shape, dtype="float32"):
    n = 1
    for size in shape:
        n *= size
    return (torch.arange(n) * 7919 % 23 - 11).reshape(shape).to(getattr(torch, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "int8", "uint8"])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("shape", [(5,), (3, 700), (6, 4, 5), ()])
def test_stable_sort(dtype, descending, shape):
    def program(torch):
        x = _ties(torch, *shape, dtype=dtype)
        dims = range(len(shape)) if shape else [0]
        return [list(torch.sort(x, stable=True, dim=d, descending=descending)) for d in dims]

    agree(program)


def test_nan_sorts_last():
    def program(torch):
        x = torch.tensor([3.0, float("nan"), -0.0, 0.0, float("inf"), -1.0, float("nan"), float("-inf")])
        return [list(torch.sort(x, stable=True, descending=d)) for d in (False, True)] + [torch.argsort(x, stable=True)]

    agree(program)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("k", [1, 3, 40])
def test_topk_and_kthvalue(k, largest):
    def program(torch):
        x = (torch.arange(200) * 37 % 211).float().reshape(4, 50)
        return [
            list(torch.topk(x, k, 1, largest)),
            list(torch.topk(x, min(k, 4), 0, largest)),
            list(torch.kthvalue(x, k, 1)),
        ]

    agree(program)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "bfloat16"])
def test_unique(dtype):
    def program(torch):
        x = _ties(torch, 6, 5, dtype=dtype)
        rows = (torch.arange(12) // 3 % 2).reshape(6, 2).to(getattr(torch, dtype))
        return [
            list(torch._unique2(x, True, True, True)),
            list(torch.unique_consecutive(rows, return_inverse=True, return_counts=True)),
            list(torch._VF.unique_dim(rows, 0, True, True, True)),
            list(torch.ops.aten.unique_dim(rows, 1, True, True, True)),
            list(torch.unique_consecutive(rows, return_counts=True, dim=0)),
        ]

    agree(program, layout=False)


@pytest.mark.parametrize("right", [False, True])
def test_look_up(right):
    def program(torch):
        edges = torch.tensor([-1.0, 0.0, 0.0, 2.5])
        rows = torch.arange(12.0).reshape(3, 4)
        x = torch.tensor([[-2.0, 0.0, 1.0], [2.5, 3.0, float("nan")], [1.0, 5.0, 9.0]])
        return [
            torch.bucketize(x, edges, right=right),
            torch.bucketize(0.0, edges, right=right),
            torch.searchsorted(rows, x, right=right),
            torch.searchsorted(edges, x, right=right, out_int32=True),
            torch.searchsorted(edges, 2, side="right" if right else "left"),
            torch.isin(rows, x, invert=right),
            torch.isin(torch.arange(40), torch.arange(0, 100, 3), invert=right),
            torch.isin(rows, 3.0),
        ]

    agree(program)


@pytest.mark.parametrize("name", ["sort", "topk", "kthvalue"])
def test_gradients(name):
    def program(torch):
        x = ((torch.arange(12) * 7) % 13).double().reshape(3, 4).requires_grad_()
        y = {"sort": lambda: x.sort(0), "topk": lambda: x.topk(2), "kthvalue": lambda: x.kthvalue(2, 0)}[name]()[0]
        return torch.autograd.grad((y * torch.arange(1, y.numel() + 1).reshape(y.shape)).sum(), x)

    agree(program)


@pytest.mark.parametrize(
    "call",
    [
        lambda torch: torch.topk(torch.ones(3), 4),
        lambda torch: torch.kthvalue(torch.ones(3), 4),
        lambda torch: torch.sort(torch.ones(3), 2),
        lambda torch: torch.searchsorted(torch.ones(2, 3), torch.ones(3, 2)),
        lambda torch: torch.searchsorted(torch.ones(3), torch.ones(3), right=True, side="left"),
        lambda torch: torch.bucketize(torch.ones(3), torch.ones(2, 2)),
    ],
)
def test_errors(call):
    agree_on_error(call)
