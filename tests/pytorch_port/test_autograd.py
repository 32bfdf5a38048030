"""The graph: what is recorded, what flows back, what is kept and released, and the errors of misuse."""

import threading

import pytest

import mindtorch_v2 as torch


def test_leaves_and_results() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    assert x.is_leaf
    assert x.grad_fn is None
    assert not y.is_leaf
    assert y.requires_grad
    assert y.grad_fn.name() == "MulBackward0"
    assert type(y.grad_fn).__name__ == "MulBackward0"
    (node, place), *_ = y.grad_fn.next_functions
    assert type(node).__name__ == "AccumulateGrad"
    assert node.variable is x
    assert place == 0
    assert "requires_grad=True" in repr(x)
    assert "grad_fn=<MulBackward0>" in repr(y)


def test_gradients_accumulate() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5, 7]
    x.grad = None
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_a_tensor_used_twice_gets_both_gradients() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    y = x * 2
    (y * y + y).backward()
    assert x.grad.item() == 2 * (2 * 6 + 1)


def test_broadcasting_is_undone() -> None:
    a = torch.ones(3, 1, requires_grad=True)
    b = torch.ones(2, requires_grad=True)
    c = torch.tensor(2.0, requires_grad=True)
    (a * b * c).sum().backward()
    assert a.grad.tolist() == [[4], [4], [4]]
    assert b.grad.tolist() == [6, 6]
    assert c.grad.item() == 6


def test_backward_twice() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 8
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (
            lambda x: (x * 2).backward(),
            "grad can be implicitly created only for scalar outputs",
        ),
        (
            lambda x: x.detach().sum().backward(),
            "does not require grad and does not have a grad_fn",
        ),
        (lambda x: (x * 2).backward(torch.ones(3)), "Mismatch in shape"),
        (
            lambda x: x.add_(1),
            "a leaf Variable that requires grad is being used in an in-place operation",
        ),
        (
            lambda x: x[0].fill_(1),
            "a view of a leaf Variable that requires grad is being used in an in-place operation",
        ),
        (lambda x: x.numpy(), "Can't call numpy"),
        (lambda x: torch.arange(2).requires_grad_(), "only Tensors of floating point"),
        (
            lambda x: torch.tensor(1, requires_grad=True),
            "Only Tensors of floating point and complex dtype",
        ),
        (
            lambda x: (x * 2).requires_grad_(False),
            "you can only change requires_grad flags of leaf variables",
        ),
        (
            lambda x: torch.autograd.grad(x.sum(), torch.ones(1, requires_grad=True)),
            "appears to not have been used in the graph",
        ),
    ],
)
def test_misuse_is_named(act: object, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        act(torch.ones(2, requires_grad=True))


def test_saved_tensors_notice_a_change() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    y.add_(1)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation") as error:
        z.backward()
    assert "is at version 1; expected version 0" in str(error.value)


def test_a_change_of_what_was_not_saved_is_fine() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = (y + 1).sum()
    y.add_(5)
    z.backward()
    assert x.grad.tolist() == [2, 2]


def test_version_counter_is_shared_by_views() -> None:
    x = torch.zeros(4)
    view = x[:2]
    detached = x.detach()
    assert x._version == 0
    view.add_(1)
    assert x._version == view._version == detached._version == 1
    x[0] = 3
    assert view._version == 2
    assert x.clone()._version == 0


def test_in_place_rebases_history() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.mul_(3)
    y += 1
    y.sum().backward()
    assert x.grad.tolist() == [6, 6, 6]


def test_in_place_on_a_view_changes_the_base() -> None:
    x = torch.ones(4, requires_grad=True)
    y = x * 2
    y[1:3].mul_(5)
    (y * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert x.grad.tolist() == [2, 20, 30, 8]
    assert y.grad_fn.name() == "torch::autograd::CopySlices"


def test_in_place_on_the_base_reaches_the_view() -> None:
    x = torch.ones(4, requires_grad=True)
    y = x * 2
    view = y[:2]
    y.mul_(10)
    view.sum().backward()
    assert x.grad.tolist() == [20, 20, 0, 0]


def test_copy_into_part_of_a_buffer() -> None:
    x = torch.ones(2, requires_grad=True)
    buffer = torch.zeros(4)
    buffer[1:3] = x * 3
    assert buffer.requires_grad
    buffer.sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_several_outputs_views_refuse_in_place() -> None:
    y = torch.ones(4, requires_grad=True) * 2
    first, _ = y.split(2)
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        first.add_(1)


def test_errors_name_the_operator_that_made_the_tensor() -> None:
    x = torch.ones(3, requires_grad=True)

    def producer(write, result) -> str:
        """Overwrite a saved tensor behind autograd's back; who made it, as the error says."""
        write.detach().add_(1)
        with pytest.raises(RuntimeError, match=r"which is output 0 of (\S+), is at version") as caught:
            result.sum().backward()
        return str(caught.value).split("output 0 of ")[1].split(", ")[0]

    y = x.exp()
    assert producer(y, y * y) == "Exp"
    y = x * 1
    y[0].mul_(2)
    assert producer(y, y * y) == "torch::autograd::CopySlices"
    y = x * 1
    view = y[:2]
    y.mul_(2)
    assert producer(view, view * view) == "AsStrided"
    with pytest.raises(RuntimeError, match="^Output 0 of Unbind is a view"):
        (x * 1).unbind()[0].add_(1)


def test_a_freed_graph_says_so_wherever_it_is_entered() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * x
    y.sum().backward()
    freed = "^Trying to backward through the graph a second time"
    with pytest.raises(RuntimeError, match=freed):
        y.sum().backward()
    with pytest.raises(RuntimeError, match=freed):
        _ = y.grad_fn._saved_self
    base = x * 1
    base[0].mul_(x[1])
    base.sum().backward()
    with pytest.raises(RuntimeError, match=freed):
        base.sum().backward()


def test_detach_shares_memory_and_cuts_history() -> None:
    x = torch.ones(2, requires_grad=True)
    y = (x * 2).detach()
    assert not y.requires_grad
    assert y.is_leaf
    z = x * 2
    assert z.detach_() is z
    assert not z.requires_grad


def test_modes() -> None:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        y = x * 2
        assert not torch.is_grad_enabled()
        with torch.enable_grad():
            assert (x * 2).requires_grad
    assert not y.requires_grad
    assert torch.is_grad_enabled()

    @torch.no_grad()
    def double(t: torch.Tensor) -> torch.Tensor:
        return t * 2

    assert not double(x).requires_grad
    with torch.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    with torch.inference_mode():
        z = x * 2
        assert z.is_inference()
    assert not z.requires_grad
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * z
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        z.add_(1)


def test_grad_mode_belongs_to_the_thread() -> None:
    seen = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_grad_of_functions() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    unused = torch.tensor(1.0, requires_grad=True)
    z = (x * y).sum()
    by_x, by_y, by_unused = torch.autograd.grad(z, (x, y, unused), allow_unused=True, retain_graph=True)
    assert by_x.tolist() == [3, 3]
    assert by_y.item() == 3
    assert by_unused is None
    assert x.grad is None
    assert torch.autograd.grad(z, unused, allow_unused=True, materialize_grads=True)[0].item() == 0


def test_second_derivatives() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    (first,) = torch.autograd.grad(x**3, x, create_graph=True)
    assert first.requires_grad
    (second,) = torch.autograd.grad(first, x, create_graph=True)
    (third,) = torch.autograd.grad(second, x)
    assert (first.item(), second.item(), third.item()) == (12, 12, 6)


def test_gradient_penalty() -> None:
    x = torch.randn(4, 3, requires_grad=True)
    weight = torch.randn(3, requires_grad=True)
    (slope,) = torch.autograd.grad(torch.tanh(x @ weight).sum(), x, create_graph=True)
    slope.pow(2).sum().backward()
    assert weight.grad.abs().sum() > 0


def test_hooks_on_tensors() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    order = []
    handle = y.register_hook(lambda grad: order.append("first") or grad * 10)
    y.register_hook(lambda grad: order.append("second"))
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [20, 20]
    handle.remove()
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert order == ["first", "second", "second"]


def test_hook_after_accumulation() -> None:
    x = torch.ones(2, requires_grad=True)
    seen = []
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.tolist()))
    (x * 3).sum().backward()
    assert seen == [[3, 3]]


def test_hooks_on_nodes() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    seen = []
    y.grad_fn.register_prehook(lambda grads: seen.append("before") or (grads[0] * 2,))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append("after"))
    y.sum().backward()
    assert seen == ["before", "after"]
    assert x.grad.tolist() == [4, 4]


def test_retain_grad() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    (y * 3).sum().backward()
    assert y.grad.tolist() == [3, 3]
    assert y.retains_grad


def test_custom_function() -> None:
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x)
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            assert ctx.needs_input_grad == (True, False)
            return grad * ctx.factor + 0 * x, None

    x = torch.ones(2, requires_grad=True)
    y = Scale.apply(x, 4.0)
    assert type(y.grad_fn).__name__ == "ScaleBackward"
    y.sum().backward()
    assert x.grad.tolist() == [4, 4]


def test_custom_function_with_several_outputs() -> None:
    class Split(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            whole = (x > 0).long()
            ctx.mark_non_differentiable(whole)
            return x * 2, x * 3, whole

        @staticmethod
        def backward(ctx, twice, thrice, _):
            return 2 * twice + 3 * thrice

    x = torch.ones(2, requires_grad=True)
    a, b, whole = Split.apply(x)
    assert not whole.requires_grad
    (a + b).sum().backward()
    assert x.grad.tolist() == [5, 5]


def test_custom_function_in_place() -> None:
    class Zero(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.zero_()

        @staticmethod
        def backward(ctx, grad):
            return torch.zeros_like(grad)

    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = Zero.apply(y)
    assert z is y
    (z + x).sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_saved_tensors_hooks() -> None:
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: packed.append(t) or len(packed) - 1, lambda i: packed[i] * 10
    ):
        x = torch.tensor(3.0, requires_grad=True)
        y = x * x
    y.backward()
    assert x.grad.item() == 60


def test_gradcheck_tells_right_from_wrong() -> None:
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sin()

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: t.sin() * t, (x,))
    assert torch.autograd.gradgradcheck(lambda t: t.sin() * t, (x,))
    assert not torch.autograd.gradcheck(Wrong.apply, (x,), raise_exception=False)


def test_functional_derivatives() -> None:
    x = torch.tensor([1.0, 2.0])
    assert torch.autograd.functional.jacobian(lambda t: t**2, x).tolist() == [
        [2, 0],
        [0, 4],
    ]
    assert torch.autograd.functional.hessian(lambda t: (t**3).sum(), x).tolist() == [
        [6, 0],
        [0, 12],
    ]


def test_a_deep_graph() -> None:
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(200_000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1
    del y


def test_a_deep_graph_is_freed_without_backward() -> None:
    y = torch.ones(1, requires_grad=True)
    for _ in range(200_000):
        y = y * 1.0
    del y


def test_an_error_in_backward_comes_out_as_it_is() -> None:
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            raise ZeroDivisionError("in backward")

    with pytest.raises(ZeroDivisionError, match="in backward"):
        Fails.apply(torch.ones(1, requires_grad=True)).backward()


def test_backward_inside_backward() -> None:
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                inner = x.detach().requires_grad_()
                (slope,) = torch.autograd.grad((inner**2).sum(), inner)
            return slope * grad

    x = torch.tensor([3.0], requires_grad=True)
    Inner.apply(x).backward()
    assert x.grad.item() == 6


def test_checkpoint_recomputes() -> None:
    from mindtorch_v2.utils.checkpoint import checkpoint

    runs = []

    def block(t: torch.Tensor) -> torch.Tensor:
        runs.append(1)
        return torch.nn.functional.dropout(t.tanh(), 0.5)

    for reentrant in (True, False):
        runs.clear()
        x = torch.ones(64, requires_grad=True)
        y = checkpoint(block, x, use_reentrant=reentrant)
        y.sum().backward()
        assert len(runs) == 2
        # The recomputation drew the same mask: elements that were dropped get no gradient.
        assert ((y == 0) == (x.grad == 0)).all()


def test_batched_gradients() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    unused = torch.ones(2, requires_grad=True)
    y = x**2
    eye = torch.eye(3)
    (jacobian,) = torch.autograd.grad(y, x, eye, is_grads_batched=True, retain_graph=True)
    assert jacobian.tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]
    roots = [eye, torch.ones(3)]
    (both,) = torch.autograd.grad([y, y.sum()], x, roots, is_grads_batched=True, retain_graph=True)
    assert both.tolist() == [[4, 4, 6], [2, 8, 6], [2, 4, 12]]
    grads = torch.autograd.grad(y, [x, unused], eye, is_grads_batched=True, retain_graph=True, allow_unused=True)
    assert grads[1] is None
    (first,) = torch.autograd.grad(y, x, eye, is_grads_batched=True, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [2, 2, 2]
    torch.autograd.grad(x**2, x, eye, is_grads_batched=True)


@pytest.mark.parametrize(
    ("grads", "kind", "text"),
    [
        (torch.ones(3, 2), RuntimeError, "If `is_grads_batched=True`, we interpret the first dimension"),
        (torch.ones(3), RuntimeError, "If `is_grads_batched=True`, we interpret the first dimension"),
        (torch.tensor(1.0), IndexError, "invalid index of a 0-dim tensor"),
        (torch.ones(0, 3), IndexError, "index 0 is out of bounds for dimension 0 with size 0"),
        (None, RuntimeError, "grad can be implicitly created only for scalar outputs"),
    ],
)
def test_batched_gradients_of_wrong_shapes(grads, kind, text) -> None:
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(kind, match=text):
        torch.autograd.grad(x * 2, x, grads, is_grads_batched=True)
