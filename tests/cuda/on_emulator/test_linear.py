"""Linear layers with a bias in one product, and both gradients of the parameters in another, beside NumPy's double precision."""

from typing import Any

import numpy
import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
from mindtorch_v2._backends.cuda import cublaslt
from mindtorch_v2._backends.cuda.ops import matmul

_UNIT = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11, torch.float32: 2.0**-22}


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each product that something follows was done in one call."""
    found: list[bool] = []

    def noted(*arguments: Any) -> bool:
        found.append(cublaslt.product(*arguments))
        return found[-1]

    monkeypatch.setattr(matmul, "product", noted)
    return found


def _drawn(generator: Any, shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    here = torch.from_numpy(generator.standard_normal(shape)).to(dtype)
    return here.cuda(), here.double().numpy()


def _within(found: Any, expected: Any, terms: Any, unit: float) -> None:
    """One rounding of the result, and sums of single precision of numbers whose absolutes come to `terms`."""
    error = unit * abs(expected) + 2.0**-20 * terms
    assert (abs(found.detach().double().cpu().numpy() - expected) <= error).all()


@pytest.mark.parametrize("dtype", list(_UNIT))
@pytest.mark.parametrize(("batch", "rows", "inputs", "outputs"), [((), 1, 3, 1), ((3,), 5, 7, 4), ((2, 3), 8, 64, 32)])
def test_values_and_gradients(
    dtype: Any, batch: tuple[int, ...], rows: int, inputs: int, outputs: int, taken: list[bool]
) -> None:
    generator = numpy.random.default_rng(1)
    x, x_ = _drawn(generator, (*batch, rows, inputs), dtype)
    weight, weight_ = _drawn(generator, (outputs, inputs), dtype)
    bias, bias_ = _drawn(generator, (outputs,), dtype)
    grad, grad_ = _drawn(generator, (*batch, rows, outputs), dtype)
    given = [t.requires_grad_() for t in (x, weight, bias)]
    y = F.linear(*given)
    by_x, by_weight, by_bias = torch.autograd.grad(y, given, grad)
    assert taken == [True, True]
    unit, x_, grad_ = _UNIT[dtype], x_.reshape(-1, inputs), grad_.reshape(-1, outputs)
    _within(y.view(-1, outputs), x_ @ weight_.T + bias_, abs(x_) @ abs(weight_.T) + abs(bias_), unit)
    _within(by_x.view(-1, inputs), grad_ @ weight_, abs(grad_) @ abs(weight_), unit)
    _within(by_weight, grad_.T @ x_, abs(grad_.T) @ abs(x_), unit)
    _within(by_bias, grad_.sum(0), abs(grad_).sum(0), unit)


def test_factors_that_begin_anywhere(taken: list[bool]) -> None:
    """A kernel that was chosen for aligned memory is not taken for memory that is not."""
    whole = torch.randn(41, device="cuda", dtype=torch.float16)
    weight, bias = torch.randn(3, 8, device="cuda", dtype=torch.float16), torch.randn(3, device="cuda").half()
    for start in (0, 1, 0, 8):
        x = whole[start : start + 32].view(4, 8)
        expected = F.linear(x.cpu().float(), weight.cpu().float(), bias.cpu().float())
        torch.testing.assert_close(F.linear(x, weight, bias).cpu().float(), expected, rtol=2e-3, atol=2e-3)
    assert taken == [True] * 4


@pytest.mark.parametrize("case", ["float64", "gaps", "a bias of gaps"])
def test_what_has_no_such_kernel_is_done_in_parts(case: str, taken: list[bool]) -> None:
    dtype = torch.float64 if case == "float64" else torch.float32
    x, weight = torch.randn(4, 6, dtype=dtype), torch.randn(10, 6, dtype=dtype)
    bias = torch.randn(10, dtype=dtype)
    if case == "gaps":
        weight = torch.randn(10, 12)[:, ::2]
    if case == "a bias of gaps":
        bias = torch.randn(20)[::2]
    found = F.linear(x.cuda(), weight.cuda()[:] if case != "gaps" else _like(weight), _like(bias))
    assert True not in taken
    expected = x.double() @ weight.double().t() + bias.double()
    torch.testing.assert_close(found.cpu().double(), expected, rtol=1e-5, atol=1e-5)


def _like(tensor: Any) -> Any:
    """The tensor on the device, with its gaps."""
    wide = torch.zeros(
        tensor.shape[0], *(s * 2 for s in tensor.shape[1:]), 2 if tensor.dim() == 1 else 1, device="cuda"
    )
    view = wide[:, 0] if tensor.dim() == 1 else wide[:, ::2, 0]
    if tensor.is_contiguous():
        return tensor.cuda()
    view.copy_(tensor)
    return view


def test_many_streams_and_shapes(taken: list[bool]) -> None:
    """The bias is part of a plan, which a shape shares: each call has its own."""
    x, weight = torch.randn(4, 8, device="cuda"), torch.randn(3, 8, device="cuda")
    torch.cuda.synchronize()
    found = []
    for number in range(4):
        with torch.cuda.stream(torch.cuda.Stream()):
            found.append(F.linear(x, weight, torch.full((3,), float(number), device="cuda")))
    torch.cuda.synchronize()
    for number, each in enumerate(found):
        torch.testing.assert_close(each, found[0] + number, rtol=1e-5, atol=1e-5)
    assert taken == [True] * 4
