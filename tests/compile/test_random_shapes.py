"""Random programs on small shapes, of which many sizes are 1: compiled, they do what they do eagerly, gradients among it.

`python tests/compile/test_random_shapes.py 1000` tries as many.
"""

import random
import sys
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch

F = torch.nn.functional

POINTWISE: list[Callable[..., Any]] = [
    torch.tanh, torch.sigmoid, torch.neg, torch.abs, torch.cos, F.gelu, F.relu, F.silu,
    lambda x: x.clamp(-5, 5).exp(), lambda x: x * 2, lambda x: x + 1,
]  # fmt: skip
OF_TWO: list[Callable[..., Any]] = [
    torch.add, torch.mul, torch.sub, torch.maximum, lambda x, y: x / (y.abs() + 1), lambda x, y: torch.where(x > 0, x, y),
    lambda x, y: (x * y).sum(),
]  # fmt: skip
# With a dimension, and whether it is kept.
OVER: list[Callable[..., Any]] = [
    lambda x, d, keep: x.sum(d, keepdim=keep),
    lambda x, d, keep: x.mean(d, keepdim=keep),
    lambda x, d, keep: x.amax(d, keepdim=keep),
    lambda x, d, keep: x.var(d, keepdim=keep, correction=0),
    lambda x, d, keep: x.logsumexp(d, keepdim=keep),
    lambda x, d, keep: x.norm(dim=d, keepdim=keep),
    lambda x, d, keep: x.sum(list(range(x.dim()))[: 1 - d], keepdim=keep),
    lambda x, d, keep: F.softmax(x, d),
    lambda x, d, keep: F.log_softmax(x, d),
    lambda x, d, keep: x.cumsum(d),
    lambda x, d, keep: F.layer_norm(x, x.shape[-1:]),
    lambda x, d, keep: torch.cat([x, x], d),
]
VIEWS: list[Callable[..., Any]] = [
    lambda x, d: x.transpose(0, -1),
    lambda x, d: x.unsqueeze(d),
    lambda x, d: x.flatten(),
    lambda x, d: x.flip(d),
    lambda x, d: x.squeeze(),
    lambda x, d: x.narrow(d, 0, 1),
    lambda x, d: x.expand(2, *x.shape),
    lambda x, d: x[..., :1],
]
LARGEST = 5000  # elements of a value


def _inputs(draw: random.Random) -> list[torch.Tensor]:
    """Tensors that broadcast together, some of them not contiguous."""
    generator = torch.Generator().manual_seed(draw.randrange(1 << 30))
    shape = [draw.choice([1, 1, 2, 3, 4, 7]) for _ in range(draw.randint(1, 4))]
    made = [torch.randn(shape, generator=generator)]
    for _ in range(draw.randint(0, 2)):
        sizes = [size if draw.random() < 0.6 else 1 for size in shape]
        tensor = torch.randn(sizes[draw.randint(0, len(sizes)) if draw.random() < 0.4 else 0 :], generator=generator)
        how = draw.random()
        if how < 0.25 and tensor.dim() >= 2:
            tensor = tensor.transpose(-1, -2).contiguous().transpose(-1, -2)
        elif how < 0.4:
            tensor = torch.stack([tensor, tensor], -1)[..., 0]
        elif how < 0.6 and tensor.dim():
            tensor = tensor.narrow(draw.randrange(tensor.dim()), 0, 1).expand(tensor.shape)
        made.append(tensor)
    return made


def _program(draw: random.Random) -> Callable[..., tuple]:
    steps = [
        (
            draw.choice([POINTWISE, POINTWISE, OF_TWO, OF_TWO, OVER, OVER, OVER, VIEWS]),
            [draw.random() for _ in range(5)],
        )
        for _ in range(draw.randint(2, 7))
    ]

    def program(*inputs: torch.Tensor) -> tuple:
        values = list(inputs)
        for kind, (which, first, second, along, keep) in steps:
            function = kind[int(which * len(kind))]
            x, y = (values[int(place * len(values))] for place in (first, second))
            dim = int(along * x.dim()) - x.dim()
            if kind in (OVER, VIEWS) and not x.dim():
                continue
            if kind is OF_TWO and not _broadcast(x, y):
                continue
            others = {id(OF_TWO): (y,), id(OVER): (dim, keep < 0.5), id(VIEWS): (dim,)}.get(id(kind), ())
            made = function(x, *others)
            if made.numel() <= LARGEST:
                values.append(made)
        return tuple(values[len(inputs) :][-3:])

    return program


def _broadcast(x: torch.Tensor, y: torch.Tensor) -> bool:
    pairs = zip(reversed(x.shape), reversed(y.shape), strict=False)
    return all(one == other or 1 in (one, other) for one, other in pairs)


def _check(seed: int) -> None:
    draw = random.Random(seed)
    inputs, program = _inputs(draw), _program(draw)
    if draw.random() < 0.6:
        inputs = [each.detach().requires_grad_() for each in inputs]
    wanted = program(*inputs)
    torch._dynamo.reset()
    made = torch.compile(program)(*inputs)
    torch.testing.assert_close(made, wanted, rtol=1e-3, atol=1e-3, equal_nan=True)
    assert [each.requires_grad for each in made] == [each.requires_grad for each in wanted]
    both = [[each.double().sum() for each in results if each.requires_grad] for results in (wanted, made)]
    if not both[0]:
        return
    right, got = (torch.autograd.grad(each, inputs, allow_unused=True, materialize_grads=True) for each in both)
    for one, other in zip(got, right, strict=True):
        scale = max(1.0, other.abs().nan_to_num().max().item())
        torch.testing.assert_close(one, other, rtol=5e-3, atol=1e-3 * scale, equal_nan=True)


@pytest.mark.parametrize("part", range(8))
def test_compiled_is_eager(part: int) -> None:
    for seed in range(part * 25, part * 25 + 25):
        _check(seed)


if __name__ == "__main__":
    for seed in range(1000, 1000 + int(sys.argv[1])):
        _check(seed)
    print(f"{sys.argv[1]} programs: compiled as eagerly")
