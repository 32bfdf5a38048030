"""torch.func's derivatives: closed forms, nesting, what stays connected to the outside."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap


def test_gradients_nest():
    x = torch.tensor(0.7)
    third = grad(grad(grad(torch.sin)))(x)
    assert torch.allclose(third, -torch.cos(x))
    assert not third.requires_grad


def test_gradient_by_several_arguments_and_trees():
    def loss(weights, x, scale):
        return (weights["w"] @ x + weights["b"]).square().sum() * scale

    weights = {"w": torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "b": torch.tensor([0.5, -0.5])}
    x = torch.tensor([1.0, -1.0])
    (by_weights, by_x), (value, aux) = grad_and_value(lambda *a: (loss(*a), a[1] + 1), argnums=(0, 1), has_aux=True)(
        weights, x, 2.0
    )
    slope = 4.0 * (weights["w"] @ x + weights["b"])
    assert torch.equal(aux, x + 1) and value.item() == 2.0 * (0.5**2 + 1.5**2)
    assert torch.equal(by_weights["w"], torch.outer(slope, x))
    assert torch.equal(by_weights["b"], slope)
    assert torch.equal(by_x, weights["w"].T @ slope)


def test_results_stay_connected_to_what_is_outside():
    scale = torch.tensor(3.0, requires_grad=True)
    slope = grad(lambda x: scale * x**2)(torch.tensor(2.0))
    slope.backward()
    assert slope.item() == 12.0 and scale.grad.item() == 4.0
    x = torch.tensor(2.0, requires_grad=True)
    assert grad(torch.square)(x).requires_grad


def test_pull_back_and_push_forward_are_adjoint():
    x, direction = torch.tensor([0.3, -1.2, 2.0]), torch.tensor([1.0, 0.5, -2.0])
    cotangent = torch.tensor([2.0, -1.0])

    def f(x):
        return torch.stack([x.prod(), x.sin().sum()])

    value, push = jvp(f, (x,), (direction,))
    again, pull = vjp(f, x)
    assert torch.equal(value, f(x)) and torch.equal(again, value)
    assert torch.allclose((push * cotangent).sum(), (pull(cotangent)[0] * direction).sum())
    assert not push.requires_grad and not value.requires_grad


def test_jacobians_and_hessian():
    x = torch.tensor([1.0, 2.0, 3.0])
    expected = torch.diag(3 * x**2)
    assert torch.equal(jacrev(lambda x: x**3)(x), expected)
    assert torch.equal(jacfwd(lambda x: x**3)(x), expected)
    assert torch.equal(hessian(lambda x: (x**3).sum())(x), torch.diag(6 * x))
    both = jacrev(lambda a, b: {"sum": a + b, "product": a * b}, argnums=(0, 1))(x, 2 * x)
    assert torch.equal(both["product"][0], torch.diag(2 * x)) and torch.equal(both["sum"][1], torch.eye(3))


def test_per_sample_gradients():
    weight, rows = torch.tensor([1.0, -2.0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    per_sample = vmap(grad(lambda w, x: (w * x).sum() ** 2), in_dims=(None, 0))(weight, rows)
    assert torch.equal(per_sample, 2 * (rows @ weight).unsqueeze(1) * rows)


def test_bad_input_is_named():
    x = torch.ones(3)
    with pytest.raises(RuntimeError, match=r"Expected f\(\*args\) to return a scalar Tensor, got tensor with 1 dims"):
        grad(torch.sin)(x)
    with pytest.raises(RuntimeError, match="to return a Tensor"):
        grad(lambda x: 1.0)(x)
    with pytest.raises(RuntimeError, match="Expected primals to be a tuple"):
        jvp(torch.sin, x, x)
    with pytest.raises(RuntimeError, match="make sure to enter_dual_level"):
        torch.autograd.forward_ad.make_dual(x, x)
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        x.grad = torch.ones_like(x)
        torch.optim.SparseAdam([x]).step()


def test_a_mapped_tensor_shows_all_of_it():
    shown = []
    x = torch.arange(6.0).reshape(2, 3)
    vmap(lambda row: (shown.append(repr(row)), row)[1])(x)
    vmap(vmap(lambda number: (shown.append(repr(number)), number)[1]))(x)
    assert shown == [  # PyTorch 2.13's
        "BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[0., 1., 2.],\n            [3., 4., 5.]])\n)",
        "BatchedTensor(lvl=2, bdim=0, value=\n    BatchedTensor(lvl=1, bdim=0, value=\n        tensor([[0., 1., 2.],\n"
        "                [3., 4., 5.]])\n    )\n)",
    ]


def test_dimensions_change_in_place():
    x = torch.arange(24.0).reshape(2, 3, 4)
    for change, shape in (
        (lambda v: v.transpose_(0, 1), (2, 4, 3)),
        (lambda v: v.t_(), (2, 4, 3)),
        (lambda v: v.unsqueeze_(0), (2, 1, 3, 4)),
        (lambda v: v[:1].squeeze_(0), (2, 4)),
        (lambda v: v[:1].squeeze_(), (2, 4)),
    ):
        made = vmap(change)(x)
        assert made.shape == shape
        assert torch.equal(made, torch.stack([change(v) for v in x.clone()]))


def test_batch_norm_of_slices():
    x, mean, variance = torch.randn(5, 4, 3), torch.zeros(5, 3), torch.ones(5, 3)
    norm = torch.nn.functional.batch_norm
    with pytest.raises(
        RuntimeError, match="running_mean or running_var, which will be updated in place, were not batched"
    ):
        vmap(lambda v: norm(v, torch.zeros(3), torch.ones(3), training=True))(x)
    means, variances = mean.clone(), variance.clone()
    expected = torch.stack([norm(v, m, s, training=True) for v, m, s in zip(x, means, variances, strict=True)])
    got = vmap(lambda v, m, s: norm(v, m, s, training=True))(x, mean, variance)
    assert torch.allclose(got, expected, atol=1e-6)
    assert torch.allclose(mean, means) and torch.allclose(variance, variances)


def test_one_hot_of_slices_needs_the_number_of_classes():
    numbers = torch.tensor([[0, 1], [2, 1]])
    one_hot = torch.nn.functional.one_hot
    assert torch.equal(vmap(lambda v: one_hot(v, 3))(numbers), one_hot(numbers, 3))
    with pytest.raises(RuntimeError, match="please provide an explicit positive num_classes argument"):
        vmap(one_hot)(numbers)


def test_an_operator_that_writes_and_has_no_rule_writes_each_slice():
    with torch.library._scoped_library("written_by_slices", "FRAGMENT") as library:
        library.define("halve(Tensor(a!) x) -> ()")
        library.impl("halve", lambda x: None if x.div_(2) is None else None, "CPU")

        def function(v):
            torch.ops.written_by_slices.halve(v)
            return v

        with pytest.warns(UserWarning, match="batching rule for written_by_slices::halve"):
            made = torch.func.vmap(function)(torch.tensor([[2.0, 4.0], [6.0, 8.0]]))
    assert made.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "draw",
    [
        lambda: torch.bernoulli(torch.full((16,), 0.5)),
        lambda: torch.normal(torch.zeros(16), 1.0),
        lambda: torch.poisson(torch.full((16,), 9.0)),
        lambda: torch.binomial(torch.full((16,), 9.0), torch.full((16,), 0.5)),
        lambda: torch.multinomial(torch.ones(64), 16),
        lambda: torch.rand_like(torch.zeros(16)),
        lambda: torch.nn.functional.dropout(torch.ones(16)),
    ],
)
def test_what_is_drawn_of_what_all_slices_share(draw):
    """Different for each slice where that is asked for, and the same for all where that is."""
    different = vmap(lambda x: draw() + 0 * x.sum(), randomness="different")(torch.zeros(3, 2))
    assert len({tuple(row) for row in different.tolist()}) == 3
    same = vmap(lambda x: draw() + 0 * x.sum(), randomness="same")(torch.zeros(3, 2))
    assert len({tuple(row) for row in same.tolist()}) == 1
