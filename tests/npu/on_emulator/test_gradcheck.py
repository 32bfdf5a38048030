"""Gradients of functions on the device beside difference quotients, by `torch.autograd.gradcheck`."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.autograd import gradcheck, gradgradcheck
from mindtorch_v2.autograd.gradcheck import GradcheckError


def _input(*sizes: int) -> torch.Tensor:
    count = torch.arange(float(torch.Size(sizes).numel()), dtype=torch.float64)
    return (count * 0.37 % 1.3 - 0.6).reshape(sizes).npu().requires_grad_()


class Faulty(torch.autograd.Function):
    """x * x, whose gradient is taken for 3 x."""

    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)  # type: ignore[attr-defined]
        return x * x

    @staticmethod
    def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors  # type: ignore[attr-defined]
        return grad * 3 * x


@pytest.mark.parametrize("fast_mode", [False, True])
def test_gradients_on_the_device(fast_mode: bool) -> None:
    x, y = _input(3, 2), _input(2, 4)
    assert gradcheck(lambda x, y: (x @ y, x.exp()), (x, y), fast_mode=fast_mode)
    assert gradgradcheck(lambda x: x.tanh() * x, (x,), fast_mode=fast_mode)
    assert gradcheck(lambda x: x.sin() * x, (x,), fast_mode=fast_mode, check_forward_ad=True)
    assert x.device.type == "npu"


@pytest.mark.parametrize("fast_mode", [False, True])
def test_wrong_gradient_on_the_device_is_found(fast_mode: bool) -> None:
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradcheck(Faulty.apply, (_input(4),), fast_mode=fast_mode)
