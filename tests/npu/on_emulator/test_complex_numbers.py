"""Complex numbers on the device, which are computed in their parts, beside the CPU: operators, and gradients through them."""

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import complex_numbers, table
from mindtorch_v2._operators.table import ROWS


def _real(*sizes: int, seed: int) -> torch.Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed))


def _complex(*sizes: int, seed: int) -> torch.Tensor:
    return torch.complex(_real(*sizes, seed=seed), _real(*sizes, seed=seed + 100))


_Z, _W, _X = _complex(3, 4, seed=0), _complex(3, 4, seed=1), _real(3, 4, seed=2)
_M, _B = _complex(4, 3, seed=3), _complex(2, 3, 4, seed=4)
_ROWS, _PLACES = torch.tensor([2, 0]), torch.tensor([[0, 2, 1, 0], [1, 1, 0, 2]])
_HOLES = torch.where(_X > 0, _Z, 0)  # with zeros

_CALLS: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "a number of the host": (lambda z: (1 - 2j) * z - 3j, (_Z,)),
    "a real tensor beside": (lambda x, z: (x - z) / (z * x), (_X, _Z)),
    "a conjugate": (lambda z, w: z.conj() * w + z.conj().imag, (_Z, _W)),
    "rotation of pairs": (
        lambda x, a: torch.view_as_real(torch.view_as_complex(x) * torch.polar(torch.ones_like(a), a)).flatten(1),
        (_real(3, 4, 2, seed=5), _X),
    ),
    "size and angle": (lambda z: z.abs() * z.angle() + z.sgn().real, (_Z,)),
    "functions": (lambda z: (z.exp().log().sqrt().sin() + z.cos().tanh()) * z.sigmoid() + z.sinh() - z.cosh(), (_Z,)),
    "logarithms": (lambda z: z.log2() + z.log10(), (_Z,)),
    "powers": (lambda z, w: z**w + z**3 + 2**z, (_Z, _W)),
    "a linear layer": (torch.nn.functional.linear, (_Z, _W, _complex(3, seed=6))),
    "batches of products": (lambda b, w: b @ w.mH, (_B, _W)),
    "a product added": (lambda a, z, m: torch.addmm(a, z, m, beta=2j, alpha=0.5), (_complex(3, 3, seed=7), _Z, _M)),
    "sums": (lambda z: z.sum(0) * z.mean() + z.cumsum(1).sum() + z.prod(), (_Z,)),
    "spreads": (lambda z: z.std() + z.var(1).sum() + z.norm() + torch.linalg.vector_norm(z, dim=0).sum(), (_Z,)),
    "rows and places": (lambda z: z[_ROWS.to(z.device)] * z.gather(0, _PLACES.to(z.device)), (_Z,)),
    "written places": (lambda z, w: z.index_put((_ROWS.to(z.device),), w[:2], accumulate=True), (_Z, _W)),
    "scattered": (lambda z, w: z.scatter_add(0, _PLACES.to(z.device), w), (_Z, _complex(2, 4, seed=8))),
    "joined": (lambda z, x: torch.cat([z, torch.stack([x[0], x[1]])]).flip(0).roll(1, 1), (_Z, _X)),
    "chosen": (lambda z, w: torch.where(z.real > 0, z, w).tril() + z.masked_fill(z.imag > 0, 1j), (_Z, _W)),
}


def _pairs(z: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(z.resolve_conj()) if z.is_complex() else z


@pytest.mark.parametrize("name", _CALLS)
def test_results_and_gradients(name: str) -> None:
    function, arguments = _CALLS[name]
    found = []
    for device in ("cpu", "npu"):
        leaves = [each.clone().to(device).requires_grad_() for each in arguments]
        result = function(*leaves)
        assert result.device.type == device
        _pairs(result).sin().sum().backward()
        found.append([result.detach(), *(leaf.grad for leaf in leaves)])
    for expected, ours in zip(*found, strict=True):
        torch.testing.assert_close(_pairs(ours.cpu()), _pairs(expected), rtol=3e-5, atol=3e-5)


def test_what_is_asked_of_zeros() -> None:
    z = _HOLES.npu()
    assert z.nonzero().cpu().equal(_HOLES.nonzero()) and z.bool().cpu().equal(_HOLES.bool())
    assert bool(z.any()) and not bool(z.all()) and (z == 0).cpu().equal(_HOLES == 0) and (z != 0).any()
    assert _pairs((z / z).cpu()).isnan().any(-1).equal(_HOLES == 0)
    one = torch.tensor([1 - 1j]).npu() / torch.tensor([0j]).npu()
    assert _pairs(one.cpu()).tolist() == [[torch.inf, -torch.inf]]


def test_new_tensors() -> None:
    made = dict(dtype=torch.complex64, device="npu")
    assert torch.ones(2, **made).tolist() == [1, 1] and torch.full((1,), 1 - 2j, **made).tolist() == [1 - 2j]
    assert torch.eye(2, **made).tolist() == [[1, 0], [0, 1]] and torch.tensor(2j, device="npu").item() == 2j
    torch.npu.manual_seed(1)
    drawn = torch.randn(20000, **made)
    assert abs(drawn.real.var().item() - 0.5) < 0.03 and abs(drawn.imag.var().item() - 0.5) < 0.03
    assert abs(drawn.abs().square().mean().item() - 1) < 0.03


def test_double_precision_and_a_result_that_is_given() -> None:
    z, w = _Z.to(torch.complex128), _W.to(torch.complex128)
    out = torch.empty(3, 4, dtype=torch.complex128, device="npu")
    torch.mul(z.npu(), w.npu(), out=out)
    torch.testing.assert_close(_pairs(out.cpu()), _pairs(z * w), rtol=1e-14, atol=1e-14)
    out.mul_(out.clone())  # both parts are read before one is written
    torch.testing.assert_close(_pairs(out.cpu()), _pairs((z * w) ** 2), rtol=1e-13, atol=1e-13)


def test_each_form_belongs_to_a_kernel() -> None:
    forms = complex_numbers.BY_RESULT.keys() | complex_numbers.BY_ARGUMENTS.keys()
    assert {name for name in forms if name not in table.NAMES or name not in ROWS} == set()


def test_the_gradient_of_windows_that_overlap() -> None:
    """As short-time Fourier transforms of complex numbers take them."""
    numbers = torch.randn(10, dtype=torch.complex64)
    found = []
    for device in ("cpu", "npu"):
        x = numbers.to(device, copy=True).requires_grad_()
        windows = x.unfold(0, 4, 2)
        (windows * windows.conj() * (1 + 2j)).sum().abs().backward()
        assert x.grad is not None
        found.append(x.grad.cpu())
    torch.testing.assert_close(found[1], found[0])
