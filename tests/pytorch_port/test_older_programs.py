"""Orders of arguments that PyTorch has given up but takes, and the warning of it."""

import warnings

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._core import warn_once

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
V = torch.tensor([1.0, 2.0])
B = torch.stack([X, X + 1])


@pytest.fixture(autouse=True)
def unwarned(monkeypatch):
    monkeypatch.setattr(warn_once, "_given", set())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (lambda: X.clone().add_(-0.1, X), lambda: X.clone().add_(X, alpha=-0.1)),
        (lambda: torch.add(X, 2, V), lambda: torch.add(X, V, alpha=2)),
        (lambda: torch.sub(X, 2, X, out=torch.empty(2, 2)), lambda: X - 2 * X),
        (lambda: X.clone().addcdiv_(-2, X, X + 1), lambda: torch.addcdiv(X, X, X + 1, value=-2)),
        (lambda: torch.addcmul(X, 2, X, X), lambda: torch.addcmul(X, X, X, value=2)),
        (lambda: torch.addmm(2, X, 3, X, X), lambda: torch.addmm(X, X, X, beta=2, alpha=3)),
        (lambda: torch.addmm(2, X, X, X), lambda: torch.addmm(X, X, X, beta=2)),
        (lambda: X.addmm(2, 3, X, X), lambda: torch.addmm(X, X, X, beta=2, alpha=3)),
        (lambda: X.clone().addmm_(2, X, X), lambda: torch.addmm(X, X, X, beta=2)),
        (lambda: torch.addmv(2, V, 3, X, V), lambda: torch.addmv(V, X, V, beta=2, alpha=3)),
        (lambda: X.addr(2, 3, V, V), lambda: torch.addr(X, V, V, beta=2, alpha=3)),
        (lambda: B.baddbmm(2, B, B), lambda: torch.baddbmm(B, B, B, beta=2)),
        (lambda: torch.addbmm(2, X, 3, B, B), lambda: torch.addbmm(X, B, B, beta=2, alpha=3)),
    ],
)
def test_numbers_before_tensors(old, new):
    with pytest.warns(UserWarning, match="is deprecated"):
        result = old()
    assert torch.equal(result, new())


def test_the_warning_comes_once():
    with pytest.warns(UserWarning) as seen:
        torch.addmm(2, X, 3, X, X)
        X.add(2, X)
    assert [str(warning.message) for warning in seen] == [
        "This overload of addmm is deprecated:\n"
        "\taddmm(Number beta, Tensor input, Number alpha, Tensor mat1, Tensor mat2, *, Tensor out = None)\n"
        "Consider using one of the following signatures instead:\n"
        "\taddmm(Tensor input, Tensor mat1, Tensor mat2, *, Number beta = 1, Number alpha = 1, Tensor out = None)"
    ]


def test_the_warning_shows_todays_order_whole():
    """Numbers that the call leaves out too, and a method without its tensor; PyTorch 2.13 says this."""
    with pytest.warns(UserWarning) as seen:
        X.clone().addmm_(2, X, X)
    assert [str(warning.message) for warning in seen] == [
        "This overload of addmm_ is deprecated:\n"
        "\taddmm_(Number beta, Tensor mat1, Tensor mat2)\n"
        "Consider using one of the following signatures instead:\n"
        "\taddmm_(Tensor mat1, Tensor mat2, *, Number beta = 1, Number alpha = 1)"
    ]


def test_gradients_pass():
    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.add(x, 3, x).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: torch.add(2, X, X), r"add\(\) takes 2 positional arguments but 3 were given"),
        (lambda: X.add(X, 2), r"add\(\) takes 1 positional argument but 2 were given"),
        (lambda: X.clone().addcmul_(X, X, 2), r"addcmul_\(\) takes 2 positional arguments but 3 were given"),
    ],
)
def test_other_orders_are_refused(call, text):
    with pytest.raises(TypeError, match=text):
        call()
