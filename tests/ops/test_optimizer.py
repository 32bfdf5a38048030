"""Fused optimizer steps against PyTorch's, option by option."""

import pytest
from agreement import agree


def _tensors(torch, dtype, shift):
    sizes = [(40, 33), (7,), (3, 2, 2), (), (70000,)]
    made = []
    for i, shape in enumerate(sizes):
        n = 1
        for size in shape:
            n *= size
        x = torch.sin(torch.arange(n, dtype=torch.float64) * 1.3 + i + shift).reshape(shape).to(getattr(torch, dtype))
        made.append(x.t() if i == 0 and shift > 2 else x)  # some gradients are laid out unlike the parameters
    if shift > 2:
        made[0] = made[0].t()
    return made


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize(
    "options", [{}, {"amsgrad": True}, {"maximize": True}, {"scale": 4.0}, {"found": 1.0}, {"lr": "tensor"}]
)
@pytest.mark.parametrize("name", ["_fused_adam_", "_fused_adamw_"])
def test_adam(name, options, dtype):
    def program(torch):
        params, grads = _tensors(torch, dtype, 0.0), _tensors(torch, dtype, 3.0)
        averages, squares = [torch.zeros_like(p) for p in params], [torch.zeros_like(p) for p in params]
        amsgrad = options.get("amsgrad", False)
        highest = [torch.zeros_like(p) for p in params] if amsgrad else []
        lr = torch.tensor(0.01) if options.get("lr") else 0.01
        for step in range(1, 4):
            getattr(torch, name)(
                params, grads, averages, squares, highest, [torch.tensor(float(step)) for _ in params],
                lr=lr, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=1e-6, amsgrad=amsgrad,
                maximize=options.get("maximize", False),
                grad_scale=torch.tensor(options["scale"]) if "scale" in options else None,
                found_inf=torch.tensor(options["found"]) if "found" in options else None,
            )  # fmt: skip
        return [params, averages, squares, highest, grads]

    agree(program, factor=8, layout=False)


# Not bfloat16: PyTorch's own step leaves most elements as they were.
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("maximize", [False, True])
def test_sgd(maximize, nesterov, momentum, dtype):
    if nesterov and not momentum:
        pytest.skip("refused by the optimizer")

    def program(torch):
        params, grads = _tensors(torch, dtype, 0.0), _tensors(torch, dtype, 3.0)
        buffers = [torch.zeros_like(p) for p in params] if momentum else []
        for step in range(3):
            torch._fused_sgd_(
                params, grads, buffers, weight_decay=0.1, momentum=momentum, lr=0.1, dampening=0.0 if nesterov else 0.2,
                nesterov=nesterov, maximize=maximize, is_first_step=step == 0,
            )  # fmt: skip
        return [params, buffers]

    agree(program, factor=8, layout=False)


def test_adagrad():
    def program(torch):
        params, grads = _tensors(torch, "float32", 0.0), _tensors(torch, "float32", 3.0)
        sums = [torch.full_like(p, 0.1) for p in params]
        for step in range(1, 4):
            torch._fused_adagrad_(
                params, grads, sums, [torch.tensor(float(step)) for _ in params],
                lr=0.1, lr_decay=0.05, weight_decay=0.01, eps=1e-8, maximize=False,
            )  # fmt: skip
        return [params, sums]

    agree(program, factor=8, layout=False)
