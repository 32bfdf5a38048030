"""Adam and AdamW as one call on NPUs (`fused=True`, which Trainer asks for), against their formula in NumPy."""

import numpy as np
import pytest

import mindtorch_v2 as torch

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
