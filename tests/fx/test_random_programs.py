"""Random programs of views, writes and operators: captured, with real and with fake tensors, they do what they do eagerly."""

import random
from collections.abc import Callable

import pytest
import reference

import mindtorch_v2 as torch
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx

if reference.is_reference():
    pytest.skip("verify is ours", allow_module_level=True)

from mindtorch_v2.graph import verify

VIEWS = [
    lambda t: t.t() if t.dim() == 2 else t.unsqueeze(0),
    lambda t: t[0] if t.dim() > 1 else t[:1],
    lambda t: t[..., ::2],
    lambda t: t[1:] if t.shape[0] > 1 else t,
    lambda t: t.view(-1) if t.is_contiguous() else t.transpose(0, -1),
    lambda t: t.detach(),
    lambda t: t.narrow(0, 0, 1),
    lambda t: t.view_as(t),
    lambda t: t.chunk(2, 0)[0],
    lambda t: t.as_strided((2,), (1,), t.storage_offset()) if t.numel() > 1 and t.is_contiguous() else t,
]
WRITES = [
    lambda t, o: t.mul_(0.5),
    lambda t, o: t.add_(o.sum()),
    lambda t, o: t.zero_(),
    lambda t, o: t.copy_(o.mean()),
    lambda t, o: t.sin_(),
    lambda t, o: t.masked_fill_(t > 0, -1.0),
    lambda t, o: torch.exp(t * 0.1, out=t) if t.is_contiguous() else t.neg_(),
    lambda t, o: t.__setitem__(0, 0.25),
]
VALUES = [
    lambda t, o: torch.tanh(t),
    lambda t, o: t * o.sum(),
    lambda t, o: t.clone(),
    lambda t, o: torch.cat([t.reshape(-1), o.reshape(-1)]),
    lambda t, o: t.sum(0, keepdim=True),
    lambda t, o: torch.softmax(t, -1),
    lambda t, o: torch.where(t > o.mean(), t, -t),
    lambda t, o: t.reshape(-1).sort()[0],
    lambda t, o: t.contiguous(),
]


def program(seed: int) -> Callable:
    """A function of two tensors that does what `seed` says; it returns every tensor that it has."""
    draw = random.Random(seed)
    steps = [(draw.choice("vvwwn"), draw.random(), draw.random(), draw.random()) for _ in range(draw.randint(4, 14))]

    def run(x, y):
        pool = [x, y]
        for kind, which, first, second in steps:
            t, o = pool[int(first * len(pool))], pool[int(second * len(pool))]
            if kind == "v":
                pool.append(VIEWS[int(which * len(VIEWS))](t))
            elif kind == "w":
                WRITES[int(which * len(WRITES))](t, o)
            else:
                pool.append(VALUES[int(which * len(VALUES))](t, o))
        return pool[2:]

    return run


def inputs(seed: int) -> tuple:
    torch.manual_seed(seed)
    x = torch.randn(4, 6)
    return x, (x[1:3] if seed % 3 == 0 else torch.randn(2, 6))  # now and then a view of the other


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("seed", range(150))
def test_captured_is_eager(seed: int, mode: str) -> None:
    run = program(seed)
    given = inputs(seed)
    expected = run(*given)
    module = make_fx(run, tracing_mode=mode)(*inputs(seed))
    verify(module, inputs(seed))
    again = inputs(seed)
    got = module(*again)
    assert len(got) == len(expected)
    for one, other in zip((*got, *again), (*expected, *given)):
        assert one.stride() == other.stride()
        assert torch.equal(torch.nan_to_num(one), torch.nan_to_num(other))
