"""The transforms work where the key that they stand on is excluded around them, and the exclusion holds again afterwards."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx


def _excluding(name):
    return torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(getattr(torch.DispatchKey, name)))


def _is_excluded(name):
    return torch._C._dispatch_tls_local_exclude_set().has(getattr(torch.DispatchKey, name))


def _written(x):
    y = x.clone()
    y[0].sin_()
    return y


def test_vmap():
    with _excluding("FuncTorchBatched"):
        assert torch.vmap(lambda row: row.sum(0))(torch.ones(3, 2)).tolist() == [2, 2, 2]
        assert _is_excluded("FuncTorchBatched")


@pytest.mark.parametrize("key", ["Autograd", "AutogradCPU", "ADInplaceOrView"])
def test_gradients(key):
    x = torch.tensor([3.0, 4.0])
    with _excluding(key):
        assert torch.func.grad(lambda t: _twice(t).sum())(x).tolist() == [12, 16]
        value, slope = torch.func.jvp(lambda t: t * t, (x,), (torch.ones(2),))
        assert (value.tolist(), slope.tolist()) == ([9, 16], [6, 8])
        assert torch.func.vjp(lambda t: t * t, x)[1](torch.ones(2))[0].tolist() == [6, 8]
        assert _is_excluded(key)
    assert not _is_excluded(key)


def _twice(t):
    y = t * t
    y[:].mul_(2)
    return y


def test_functionalize():
    with _excluding("Functionalize"):
        graph = make_fx(torch.func.functionalize(_written))(torch.zeros(2))
        assert "sin_" not in graph.code
        assert graph(torch.tensor([0.0, 2.0])).tolist() == [0, 2]
        assert _is_excluded("Functionalize")


def test_functional_tensors_are_refused_below_their_key():
    """They have no data: a kernel would read from nowhere."""
    x = torch._to_functional_tensor(torch.ones(2))
    with _excluding("Functionalize"):
        with pytest.raises(NotImplementedError, match="came to the kernels of a device because the key Functionalize"):
            x.clone()
        with pytest.raises(NotImplementedError, match="because the key Functionalize was excluded"):
            torch.add(torch.ones(2), x)
        assert x.shape == (2,)
