"""Functional tensors themselves: what they show, what is refused, how they are made by hand."""

import copy

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.func import functionalize


def test_they_look_like_what_they_stand_for():
    x = torch.arange(12.0).reshape(3, 4)[1:, ::2]
    w = torch._to_functional_tensor(x)
    assert torch._is_functional_tensor(w)
    assert not torch._is_functional_tensor(x)
    assert (w.shape, w.stride(), w.storage_offset(), w.dtype, w.device) == (
        x.shape,
        x.stride(),
        x.storage_offset(),
        x.dtype,
        x.device,
    )
    assert w.untyped_storage().nbytes() == x.untyped_storage().nbytes()
    assert w.untyped_storage().device == torch.device("cpu")
    assert w[0].untyped_storage()._cdata == w.untyped_storage()._cdata
    assert torch.equal(torch._from_functional_tensor(w), x)


def test_writes_are_seen_through_every_alias_and_not_outside():
    x = torch.zeros(2, 3)
    w = torch._to_functional_tensor(x)
    row, flat, data, detached = w[0], w.view(-1), w.data, w.detach()
    row.add_(1)
    detached[1, 0] = 5
    torch._sync(flat)
    for alias in (flat, data.view(-1), detached.view(-1)):
        assert torch._from_functional_tensor(alias).tolist() == [1, 1, 1, 5, 0, 0]
    assert x.sum() == 0
    assert w._version == 2
    assert torch._functionalize_has_data_mutation(w)
    assert not torch._functionalize_has_metadata_mutation(w)
    w.t_()
    assert torch._functionalize_has_metadata_mutation(w)
    assert torch._from_functional_tensor(w).tolist() == [[1, 5], [1, 0], [1, 0]]


def test_replace_and_commit():
    w = torch._to_functional_tensor(torch.zeros(2))
    part = w[1:]
    torch._functionalize_replace(w, torch.ones(2))
    torch._functionalize_commit_update(w)
    torch._functionalize_sync(part)
    assert torch._from_functional_tensor(part).tolist() == [1]


def test_by_hand():
    x = torch._to_functional_tensor(torch.ones(2))
    torch._enable_functionalization(reapply_views=True)
    try:
        made = torch.zeros(2)
        assert torch._is_functional_tensor(made)
        made.add_(x)
        with pytest.raises(RuntimeError, match="enabled already"):
            torch._enable_functionalization()
    finally:
        torch._disable_functionalization()
    assert torch._from_functional_tensor(made).tolist() == [1, 1]
    assert not torch._is_functional_tensor(torch.zeros(1))


def test_gradients_of_functional_leaves():
    x = torch._to_functional_tensor(torch.ones(3, requires_grad=True), mirror_autograd_meta=True)
    assert x.requires_grad
    assert x.is_leaf
    y = x * 2
    y[0].mul_(5)
    y.sum().backward()
    assert torch._is_functional_tensor(x.grad)
    assert torch._from_functional_tensor(x.grad).tolist() == [10, 2, 2]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.add_(1)
    saved = x.exp()
    saved.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.sum().backward()


def test_numbers_can_be_read():
    w = torch._to_functional_tensor(torch.tensor([1.0, 2.0]))
    assert w.sum().item() == 3
    assert bool(w[0] > 0)
    assert int(w[1]) == 2
    assert torch.equal(w, torch.tensor([1.0, 2.0]))
    assert w[w > 1].shape == (1,)
    assert w.data_ptr() == 0 or pytest.fail("a functional tensor has no memory")


def test_repr():
    w = torch._to_functional_tensor(torch.ones(2))
    assert repr(w) == "_to_functional_tensor(tensor([1., 1.]))"
    shown = []
    functionalize(lambda x: shown.append(repr(x)))(torch.ones(2))
    assert shown == ["FunctionalTensor(lvl=1, value=\\\ntensor([1., 1.]))"]


@pytest.mark.parametrize(
    "use",
    [
        lambda w: w.numpy(),
        lambda w: w.tolist(),
        lambda w: memoryview(w.untyped_storage()),
        lambda w: torch._to_functional_tensor(w),
        lambda w: torch._from_functional_tensor(torch.ones(1)),
        lambda w: torch._sync(torch.ones(1)),
    ],
)
def test_what_is_refused(use):
    with pytest.raises((RuntimeError, BufferError)):
        use(torch._to_functional_tensor(torch.ones(2)))


def test_without_the_key_there_is_no_kernel():
    w = torch._to_functional_tensor(torch.ones(2))
    with (
        torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.Functionalize)),
        pytest.raises(NotImplementedError, match="aten::add.Tensor: a functional tensor has no data of its own"),
    ):
        w.add(w)


def test_closed_over_tensors_are_read_and_not_written():
    outside = torch.ones(2)
    assert functionalize(lambda x: x + outside)(torch.ones(2)).tolist() == [2, 2]
    with pytest.raises(
        RuntimeError, match="aten::add_.Tensor|mutating a non-functional tensor with a functional tensor"
    ):
        functionalize(lambda x: outside.add_(x))(torch.ones(2))
    assert outside.tolist() == [1, 1]
    functionalize(lambda x: outside.add_(1))(torch.ones(2))  # nothing functional takes part
    assert outside.tolist() == [2, 2]


def test_remove_is_checked():
    with pytest.raises(RuntimeError, match="received invalid argument for remove=everything"):
        functionalize(lambda x: x, remove="everything")


def test_structures_and_what_is_passed_on():
    x, number = torch.ones(2), 3
    found = functionalize(lambda tree, *, scale: {"same": tree["x"], "scaled": [tree["x"] * scale, scale]})(
        {"x": x}, scale=number
    )
    assert found["same"] is x
    assert found["scaled"][0].tolist() == [3, 3]
    assert found["scaled"][1] == 3


def test_an_argument_given_twice_and_its_views():
    def program(x, again, row, column):
        row.add_(1)
        column.mul_(10)
        again[1, 1] = 7
        return x * 1

    eager, functional = torch.zeros(2, 2), torch.zeros(2, 2)
    expected = program(eager, eager, eager[0], eager[:, 1])
    found = functionalize(program)(functional, functional, functional[0], functional[:, 1])
    assert torch.equal(found, expected)
    assert torch.equal(functional, eager)
    detached = torch.ones(2, requires_grad=True)
    functionalize(lambda x, y: y.add_(1))(detached, detached.detach())
    assert detached.tolist() == [2, 2]


def test_versions_of_the_callers_tensors():
    x = torch.zeros(2)
    functionalize(lambda x: x.add_(1).add_(1))(x)
    assert x._version == 1  # written once
    y = torch.ones(2, requires_grad=True)
    z = y * 1
    saved = z.exp()
    functionalize(lambda z: z.mul_(2))(saved)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.sum().backward()


def test_a_leaf_is_written_under_no_grad_only():
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        functionalize(lambda x: x.mul_(3))(x)
    assert x.tolist() == [3, 3]
    assert x.is_leaf
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        functionalize(lambda x: x.mul_(3))(x)


def test_training_step():
    """Parameters and an optimizer's state as arguments, written in place."""

    def step(weight, momentum, x):
        loss = ((x @ weight) ** 2).mean()
        (gradient,) = torch.autograd.grad(loss, weight)
        with torch.no_grad():
            momentum.mul_(0.9).add_(gradient)
            weight.sub_(momentum, alpha=0.1)
        return loss

    def run(step):
        weight = torch.linspace(-1, 1, 6).reshape(3, 2).requires_grad_()
        momentum = torch.zeros(3, 2)
        losses = [step(weight, momentum, torch.arange(12.0).reshape(4, 3) / 10) for _ in range(5)]
        return torch.stack(losses).detach(), weight.detach(), momentum

    for mine, theirs in zip(run(functionalize(step)), run(step), strict=True):
        assert torch.allclose(mine, theirs)


def test_metadata_changes_of_views_in_place_leave_the_base_alone():
    """As PyTorch: the view gets a node of its own, the base is not written."""
    for change, name in (
        (lambda y: y.unsqueeze_(0), "UnsqueezeBackward1"),
        (lambda y: y.transpose_(0, 1), "TransposeBackward1"),
        (lambda y: y.t_(), "TBackward1"),
    ):
        leaf = torch.arange(6.0).reshape(2, 3).requires_grad_()
        x = leaf * 1
        y = x.view(2, 3)
        change(y)
        assert y.grad_fn.name() == name
        assert x.grad_fn.name() == "MulBackward0"
        assert (x._version, y._version) == (1, 1)
        y.mul_(2)
        assert x.grad_fn.name().endswith("CopySlices")
        (gradient,) = torch.autograd.grad((x * x).sum() + y.sum(), leaf)
        assert torch.equal(gradient, 8 * leaf + 2)


def test_there_is_nothing_to_copy_from_memory():
    w = torch._to_functional_tensor(torch.ones(2))
    with pytest.raises(RuntimeError, match="invalid python storage"):
        copy.deepcopy(w)


def test_gradients_of_expanded_views_whose_base_was_written():
    """A view that shows an element several times adds up in it, also where the view's history was made anew."""
    leaf = torch.arange(6.0).reshape(2, 3).requires_grad_()
    x = leaf * 1
    expanded, windows = x.expand(2, 2, 3), x.view(-1).unfold(0, 3, 1)
    x.add_(1)
    weights = torch.arange(12.0).reshape(2, 2, 3)
    (gradient,) = torch.autograd.grad((expanded * weights).sum(), leaf, retain_graph=True)
    assert torch.equal(gradient, weights.sum(0))
    (gradient,) = torch.autograd.grad(windows.sum(), leaf)
    assert gradient.reshape(-1).tolist() == [1, 2, 3, 3, 2, 1]


def test_sizes_of_another_tensor():
    """`resize_as_` is no write: what a tensor has room for stays its own memory, and views of it see what is written next."""

    def program(x):
        y = x.clone()
        flat = y.view(-1)
        y.resize_as_(torch.zeros(2, 2))
        y.add_(1)
        grown = x.clone()
        grown.resize_as_(torch.zeros(2, 4))
        grown.fill_(5)
        return y, flat, grown

    expected = program(torch.arange(6.0))
    for made, plain in zip(torch.func.functionalize(program)(torch.arange(6.0)), expected, strict=True):
        assert made.tolist() == plain.tolist()
    assert [each.tolist() for each in expected] == [[[1, 2], [3, 4]], [1, 2, 3, 4, 4, 5], [[5] * 4] * 2]


def _doubled(x):
    y = x.clone()
    y[0].mul_(2)
    return y.view(-1) + 1


def test_functionalization_is_held_against_fake_tensors(monkeypatch):
    from mindtorch_v2._behaviours.functional import _call
    from mindtorch_v2._subclasses.crossref import enable_crossref_functionalize
    from mindtorch_v2.fx.experimental.proxy_tensor import make_fx

    x = torch.ones(2, 2)
    with enable_crossref_functionalize():
        assert functionalize(_doubled)(x).tolist() == [3, 3, 2, 2]
        traced = make_fx(functionalize(_doubled))(x)
    assert "aten.view" in traced.code
    assert "tensor_constant" not in traced.code
    carry_out = _call._carry_out

    def flattens(op, args, kwargs):
        made = carry_out(op, args, kwargs)
        return made.reshape(-1) if op.name == "add" else made

    monkeypatch.setattr(_call, "_carry_out", flattens)
    with enable_crossref_functionalize(), pytest.raises(AssertionError, match="output 0: sizes"):
        functionalize(lambda x: x + 1)(x)


def test_dispatch_functionalize_leaves_arguments_alone():
    from mindtorch_v2._subclasses.functional_tensor import dispatch_functionalize

    x = torch.zeros(2)
    assert dispatch_functionalize(lambda x: x.add_(1))(x).tolist() == [1, 1]
    assert x.tolist() == [0, 0]
