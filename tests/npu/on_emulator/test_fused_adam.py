"""Adam and AdamW as one call on NPUs (`fused=True`, which Trainer asks for), against their formula in NumPy."""

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.npu import AclnnLauncher, NPUError

BETAS, LR, EPS, STEPS = (0.9, 0.999), 0.1, 1e-8, 4


def by_formula(start, grads, decay, decoupled, amsgrad, maximize):
    p, m, v, most = start.astype(np.float64), 0.0, 0.0, 0.0
    for step, grad in enumerate(grads, 1):
        g = -grad if maximize else grad
        if decoupled:
            p = p * (1 - LR * decay)
        else:
            g = g + decay * p
        m, v = BETAS[0] * m + (1 - BETAS[0]) * g, BETAS[1] * v + (1 - BETAS[1]) * g * g
        most = np.maximum(most, v)
        second = (most if amsgrad else v) / (1 - BETAS[1] ** step)
        p = p - LR * m / (1 - BETAS[0] ** step) / (np.sqrt(second) + EPS)
    return p


@pytest.mark.parametrize("kind", ["Adam", "AdamW"])
@pytest.mark.parametrize("options", [{}, {"weight_decay": 0.3}, {"amsgrad": True}, {"maximize": True}], ids=str)
def test_steps(kind, options):
    numbers = np.random.default_rng(3)
    start, grads = numbers.normal(size=(4, 3)), numbers.normal(size=(STEPS, 4, 3))
    parameter = torch.nn.Parameter(torch.tensor(start, dtype=torch.float32, device="npu"))
    decay = options.get("weight_decay", 0.0)
    made = getattr(torch.optim, kind)([parameter], lr=LR, fused=True, **{"weight_decay": 0.0, **options})
    for grad in grads:
        parameter.grad = torch.tensor(grad, dtype=torch.float32, device="npu")
        made.step()
    flags = options.get("amsgrad", False), options.get("maximize", False)
    expected = by_formula(start, grads, decay, kind == "AdamW", *flags)
    np.testing.assert_allclose(parameter.detach().cpu().numpy(), expected, rtol=2e-6, atol=2e-6)


def test_a_step_with_an_infinite_gradient_is_left_out():
    parameter = torch.nn.Parameter(torch.ones(2, device="npu"))
    optimizer = torch.optim.AdamW([parameter], lr=LR, fused=True)
    parameter.grad = torch.tensor([4.0, 8.0], device="npu")
    optimizer.grad_scale, optimizer.found_inf = torch.tensor(4.0, device="npu"), torch.tensor(1.0, device="npu")
    optimizer.step()
    assert parameter.tolist() == [1, 1]
    optimizer.found_inf = torch.tensor(0.0, device="npu")
    optimizer.step()
    assert parameter.grad.tolist() == [1, 2]
    assert parameter.tolist() == pytest.approx([1 * 0.999 - 0.1] * 2, abs=1e-6)


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("maximize", [False, True])
def test_steps_of_adamw_with_numbers_of_32_bits(amsgrad: bool, maximize: bool) -> None:
    values = torch.linspace(-2, 2, 6).reshape(2, 3)
    weight = torch.nn.Parameter(values.clone())
    settings = {"lr": 0.1, "betas": (0.9, 0.99), "eps": 1e-8, "weight_decay": 0.05}
    optimizer = torch.optim.AdamW([weight], amsgrad=amsgrad, maximize=maximize, **settings)
    var, m, v = values.npu(), torch.zeros(2, 3).npu(), torch.zeros(2, 3).npu()
    most = torch.zeros(2, 3).npu() if amsgrad else None
    numbers, launcher = (0.1, 0.9, 0.99, 0.05, 1e-8, amsgrad, maximize), AclnnLauncher()
    for count in range(3):
        weight.grad = (count - 1.5) * values.cos()
        before = torch.tensor([count]).npu()  # how many steps there were, which the operator adds one to
        launcher.launch("aclnnApplyAdamWV2", var, m, v, most, weight.grad.npu(), before, *numbers)
        optimizer.step()
    torch.testing.assert_close(var.cpu(), weight.detach())
    state = optimizer.state[weight]
    torch.testing.assert_close(v.cpu(), state["exp_avg_sq"])
    if most is not None:
        torch.testing.assert_close(most.cpu(), state["max_exp_avg_sq"])
    else:
        with pytest.raises(NPUError, match="step has 2 elements, allowed: 1"):
            launcher.launch("aclnnApplyAdamWV2", var, m, v, None, var, torch.tensor([0, 1]).npu(), *numbers)
