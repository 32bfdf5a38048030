"""Refusals in PyTorch's words: dtypes that do not fit together, sizes that do not fit, old constructors."""

import warnings
from types import ModuleType
from typing import Any

import pytest
from agreement import same, same_error


def _run(text: str) -> Any:
    def run(torch: ModuleType) -> Any:
        f = torch.ones(2, 2)
        d, h, i = f.double(), f.half(), f.int()
        given = {"torch": torch, "F": torch.nn.functional, "f": f, "d": d, "h": h, "i": i, "f3": f[None], "d3": d[None]}
        return eval(text, given | {"places": torch.zeros(1, 2, dtype=torch.int64)})

    return run


@pytest.mark.parametrize(
    "text",
    [
        # products of different dtypes
        "F.linear(f, d, d[0])",
        "F.linear(f, f, d[0])",
        "F.linear(f3, d, d[0])",
        "F.linear(i, f, f[0])",
        "torch.nn.GRUCell(2, 2)(d)",
        "torch.addmm(f, f, d)",
        "torch.addmm(d, f, f)",
        "torch.addmm(f, h, f)",
        "torch.baddbmm(d3, f3, f3)",
        "torch.baddbmm(h[None], f3, f3)",
        "torch.addbmm(f, f3, d3)",
        "torch.addbmm(d, f3, f3)",
        "torch.addbmm(f, h[None], f3)",
        "torch.tensordot(f, d, 1)",
        "torch.tensordot(f, torch.ones(3, 3).double(), 1)",
        "F.bilinear(f, d, torch.ones(1, 3, 2))",
        "F.bilinear(h, d, torch.ones(1, 2, 2))",
        "F.bilinear(f, f, torch.ones(1, 2, 2), torch.ones(1).double())",
        # places and sources
        "f.scatter_add(0, places, d)",
        "f.scatter_reduce(0, places, d, 'sum')",
        "f.scatter_add(0, places.half(), f)",
        "f.scatter_reduce(0, places.half(), f, 'sum')",
        "torch.masked_scatter(f, f > 0, torch.ones(2))",
        # statistics
        "F.batch_norm(f, None, None)",
        "F.batch_norm(f, f[0], None)",
        "F.batch_norm(f, None, f[0])",
        "F.batch_norm(f, f[0], None, training=True)",
        "torch._batch_norm_impl_index(f, None, None, None, None, False, 0.1, 1e-5, True)",
        # blocks that do not fit
        "F.unfold(torch.ones(1, 1, 3, 3), 5)",
        "F.unfold(torch.ones(1, 1, 3, 3), 5, stride=3)",
        "F.fold(torch.ones(1, 25, 1), (3, 3), 5)",
        "F.fold(torch.ones(1, 25, 4), (4, 3), 5)",
        # old ways to make a tensor
        "torch.FloatTensor(2.5)",
        "torch.FloatTensor(True)",
        "torch.Tensor(True)",
        "torch.IntTensor(None)",
        "torch.DoubleTensor({})",
        "f.resize(3)",
        "f.resize_as(torch.ones(3))",
        # numbers
        "i.round(decimals=2)",
        "torch.set_num_threads(0)",
        "torch.set_num_threads(1.5)",
        "torch.vmap(lambda x: x.item())(f)",
    ],
)
@pytest.mark.filterwarnings("ignore:non-inplace:UserWarning")
def test_refused(text: str) -> None:
    same_error(_run(text))


@pytest.mark.parametrize(
    "text",
    [
        "f[:1].std(0)",
        "f[:0].var(0)",
        "f[0, 0].std()",
        "torch.var_mean(f, correction=4)",
        "torch.std_mean(f, correction=3)",
        "f.var(1, correction=5)",
        "torch.ones(2, 1, device='meta').std(1).shape",
        "f.resize(4)",
        "f.t().resize_as(torch.ones(4))",
        "torch.distributions.Normal(f, 1.0).sample_n(3).shape",
    ],
)
def test_warns(text: str) -> None:
    def run(torch: ModuleType) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = _run(text)(torch)
        return result, [str(warning.message).partition(" (Triggered")[0] for warning in caught]

    same(run)
