"""Random programs whose sizes differ in each call: compiled, they do what they do eagerly, gradients among it.

`python tests/compile/test_random_sizes.py 1000` tries as many.
"""

import random
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._dynamo.utils import counters

F = torch.nn.functional

# Steps on x, of sizes (batch, length, 8), and y like the argument; each keeps three dimensions and the last one.
STEPS = {
    "gelu": lambda x, y: F.gelu(x),
    "product": lambda x, y: x * x.sigmoid() + 0.5,
    "softmax": lambda x, y: x.softmax(1),
    "layer_norm": lambda x, y: F.layer_norm(x, (8,)),
    "over lengths": lambda x, y: x - x.mean(1, keepdim=True),
    "by the length": lambda x, y: x / x.shape[1],
    "attention": lambda x, y: (x @ x.transpose(1, 2) / 3).softmax(-1) @ x,
    "mask": lambda x, y: x.masked_fill(torch.ones(x.shape[1], 1).cumsum(0) > 3, 0.25),
    "positions": lambda x, y: x + torch.arange(x.shape[1], dtype=x.dtype)[:, None].sin(),
    "first half": lambda x, y: x[:, : x.shape[1] // 2 + 1],
    "the rest": lambda x, y: x[:, x.shape[1] // 3 :],
    "at most five": lambda x, y: x[:, : min(x.shape[1], 5)],
    "the last two": lambda x, y: x[:, -2:] * 2,
    "to the next four": lambda x, y: F.pad(x, (0, 0, 0, -x.shape[1] % 4)),
    "in rows": lambda x, y: x.reshape(-1, 8).tanh().view(x.shape),
    "doubled": lambda x, y: torch.cat([x, x.flip(1)], 1),
    "with the argument": lambda x, y: torch.cat([x, y], 1),
    "with its sum": lambda x, y: x + y.sum(1, keepdim=True),
    "swapped": lambda x, y: x.transpose(1, 2).contiguous().transpose(1, 2),
    "pooled": lambda x, y: F.max_pool1d(F.pad(x, (0, 0, 0, 1)).transpose(1, 2), 2).transpose(1, 2),
    "resampled": lambda x, y: F.interpolate(x.transpose(1, 2), scale_factor=2).transpose(1, 2),
    "sorted": lambda x, y: x.sort(1).values,
    "summed up": lambda x, y: x.cumsum(1) / 4,
    "repeated": lambda x, y: x.repeat(1, 2, 1),
    "batch first": lambda x, y: x.transpose(0, 1).relu().transpose(0, 1),
    "two at a time": lambda x, y: x[:, ::2],
    "more if long": lambda x, y: x * 2 if x.shape[1] > 12 else x + 1,
    "rolled": lambda x, y: x.roll(1, 1),
}


def _check(seed: int) -> int:
    """Compare a program for ten sizes; gives how many graphs were compiled."""
    torch.compiler.reset()
    counters.clear()
    rng = random.Random(seed)
    steps = [rng.choice(list(STEPS)) for _ in range(rng.randint(1, 6))]

    def program(y, w):
        x = y * w
        for name in steps:
            x = STEPS[name](x, y)
        return x, x.square().sum() / 64

    compiled = torch.compile(program)
    torch.manual_seed(seed)
    grow = rng.choice([lambda k: 2 ** (k % 6 + 1), lambda k: k + 2, lambda k: rng.randint(2, 40)])
    same_batch = rng.random() < 0.5
    for call in range(10):
        y, w = torch.randn(3 if same_batch else rng.randint(2, 9), grow(call), 8), torch.randn(8)
        found = []
        for run in (program, compiled):
            leaves = [y.clone().requires_grad_(), w.clone().requires_grad_()]
            x, loss = run(*leaves)
            loss.backward()
            found.append([x.detach(), *(leaf.grad for leaf in leaves)])
        for expected, mine in zip(*found, strict=True):
            assert torch.allclose(mine, expected, rtol=1e-4, atol=1e-4, equal_nan=True), (steps, call, y.shape)
    return counters["inductor"]["graphs"]


@pytest.mark.parametrize("seed", [*range(20), 1133])  # the last: a product of sizes that did not differ at first
def test_compiled_is_eager(seed):
    _check(seed)


if __name__ == "__main__":
    made = [_check(seed) for seed in range(1000, 1000 + int(sys.argv[1]))]
    print(f"{len(made)} programs, {sum(n <= 6 for n in made)} of them with one set of graphs for all sizes")
