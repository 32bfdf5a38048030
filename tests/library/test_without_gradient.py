"""Operators of libraries without a gradient: the program goes on, and the way back says what is missing."""

import contextlib
import warnings

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _C


@contextlib.contextmanager
def _mode(mode):
    before = _C._get_autograd_fallback_mode()
    _C._set_autograd_fallback_mode(mode)
    try:
        yield
    finally:
        _C._set_autograd_fallback_mode(before)


@pytest.fixture
def opaque():
    """An operator whose kernel autograd cannot see into, and one whose kernel it can."""
    with torch.library._scoped_library("untold", "FRAGMENT") as library:
        library.define("opaque(Tensor x, int by=1) -> Tensor")
        library.impl("opaque", lambda x, by=1: torch.from_numpy(x.detach().numpy() + by), "CPU")
        library.define("plain(Tensor x) -> Tensor")
        library.impl("plain", lambda x: x.sin() * 2, "CPU")
        library.define("counted_(Tensor(a!) x) -> Tensor(a!)")
        library.impl("counted_", lambda x: x.copy_(x.detach() + 1), "CPU")
        yield torch.ops.untold


def test_the_mode_is_to_warn():
    assert _C._get_autograd_fallback_mode() == "warn"
    with pytest.raises(RuntimeError, match="Unsupported"):
        _C._set_autograd_fallback_mode("shout")


def test_the_way_back_warns_and_gives_the_rest(opaque):
    x = torch.ones(2, requires_grad=True)
    made = opaque.opaque(x, by=2)
    assert made.requires_grad
    with pytest.warns(UserWarning, match=r"untold::opaque: an autograd kernel was not registered.*register_autograd"):
        (made * 3 + x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_what_a_kernel_does_on_tensors_is_recorded_and_warned_of(opaque):
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="untold::plain"):
        opaque.plain(x).sum().backward()
    assert torch.allclose(x.grad, 2 * torch.ones(2).cos())


def test_nothing_is_said_where_no_gradient_is_asked_for(opaque):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not opaque.opaque(torch.ones(2)).requires_grad
        x = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            assert not opaque.opaque(x).requires_grad
        x.sum().backward()


def test_the_other_modes(opaque):
    x = torch.ones(2, requires_grad=True)
    with _mode("nothing"):
        assert not opaque.opaque(x).requires_grad
    with _mode("error"), pytest.raises(RuntimeError, match="an autograd kernel was not registered"):
        opaque.opaque(x).sum().backward()


def test_a_write_is_told_too(opaque):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    with pytest.warns(UserWarning, match="untold::counted_"):
        opaque.counted_(y).sum().backward()


def test_a_gradient_or_a_fallthrough_takes_its_place(opaque):
    torch.library.register_autograd("untold::opaque", lambda ctx, grad: (grad * 5, None))
    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opaque.opaque(x).sum().backward()
        assert x.grad.tolist() == [5.0, 5.0]
        with torch.library._scoped_library("untold", "IMPL") as library:
            library.impl("plain", torch.library.fallthrough_kernel, "Autograd")
            opaque.plain(x).sum().backward()


def test_results_that_are_given_are_written_whatever_wants_gradients():
    with torch.library._scoped_library("untold", "FRAGMENT") as library:
        library.define("doubled.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
        library.impl("doubled.out", lambda x, *, out: out.copy_(x.detach() * 2), "CPU")
        x, out = torch.ones(2, requires_grad=True), torch.zeros(2)
        assert torch.ops.untold.doubled.out(x, out=out) is out and out.tolist() == [2.0, 2.0]
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            torch.mul(x, 2, out=out)  # PyTorch's own refuse
