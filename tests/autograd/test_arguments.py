"""Arguments that backward and grad take for inputs and outputs, and where the gradients go. Values are those of PyTorch 2.13."""

import pytest

import mindtorch_v2 as torch


def _loss():
    layer = torch.nn.Linear(2, 1)
    return layer, layer(torch.ones(1, 2)).sum()


def test_grad_takes_an_iterator_of_inputs():
    layer, loss = _loss()
    gradients = torch.autograd.grad(loss, layer.parameters())
    assert [g.tolist() for g in gradients] == [[[1.0, 1.0]], [1.0]]


def test_grad_takes_iterators_of_outputs_and_gradients():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    (gradient,) = torch.autograd.grad(iter([y, y * 3]), iter([x]), grad_outputs=iter([torch.ones(2), torch.ones(2)]))
    assert gradient.tolist() == [8.0, 8.0]


def test_grad_with_batches_and_with_zeros_takes_iterators():
    x, unused = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    (rows,) = torch.autograd.grad(x * 2, iter([x]), torch.eye(2), is_grads_batched=True)
    assert rows.tolist() == [[2.0, 0.0], [0.0, 2.0]]
    made = torch.autograd.grad((x * 2).sum(), iter([x, unused]), materialize_grads=True)
    assert [g.tolist() for g in made] == [[2.0, 2.0], [0.0, 0.0]]


@pytest.mark.parametrize("nothing", [[], (), iter([])], ids=["list", "tuple", "iterator"])
def test_no_inputs_are_refused(nothing):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"`inputs` argument to `grad\(\)` cannot be empty"):
        torch.autograd.grad((x * 2).sum(), nothing)
    with pytest.raises(RuntimeError, match=r"`inputs` argument to `backward\(\)` cannot be empty"):
        (x * 2).sum().backward(inputs=nothing)


def test_no_outputs_leave_the_inputs_unused():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad([], [x])
    assert torch.autograd.grad([], [x], allow_unused=True) == (None,)


@pytest.mark.parametrize("wrong", ["x", [3]], ids=["str", "int"])
def test_inputs_that_are_no_tensors(wrong):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="all inputs have to be Tensors or GradientEdges, but got (str|int)"):
        torch.autograd.grad((x * 2).sum(), wrong)


def test_backward_takes_iterators():
    layer, loss = _loss()
    loss.backward(inputs=layer.parameters())
    assert layer.weight.grad.tolist() == [[1.0, 1.0]]
    x = torch.ones(2, requires_grad=True)
    torch.autograd.backward(iter([x * 2, x * 3]), iter([torch.ones(2), torch.ones(2)]), inputs=iter([x]))
    assert x.grad.tolist() == [5.0, 5.0]


def test_backward_fills_the_gradient_of_inputs_that_are_no_leaves():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    (y * y).sum().backward(inputs=[x, y])
    assert (x.grad.tolist(), y.grad.tolist(), y.retains_grad) == ([8.0, 8.0], [4.0, 4.0], True)


def test_backward_to_an_inner_tensor_alone():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    z.backward(inputs=y, retain_graph=True)
    z.backward(inputs=[y, y])
    assert x.grad is None
    assert y.grad.tolist() == [8.0, 8.0]
    z = (y * y).sum()
    z.backward(inputs=[z])
    assert z.grad.item() == 1.0


def test_backward_to_outputs_of_one_node_and_to_a_view():
    x = torch.arange(4.0, requires_grad=True)
    a, b = x.split(2)
    ((a * a * 3).sum() + (b * 5).sum()).backward(inputs=[a, b, x])
    assert [t.grad.tolist() for t in (x, a, b)] == [[0.0, 6.0, 5.0, 5.0], [0.0, 6.0], [5.0, 5.0]]
    x = torch.arange(4.0, requires_grad=True)
    y = x * 1
    view = y[0]
    y.mul_(2)
    (y.sum() + view).backward(inputs=[x, view])
    assert (x.grad.tolist(), view.grad.item()) == ([4.0, 2.0, 2.0, 2.0], 1.0)


def test_hooks_see_the_gradient_of_such_an_input_first():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    (y * y).sum().backward(inputs=[x, y])
    assert (x.grad.tolist(), y.grad.tolist()) == ([80.0, 80.0], [40.0, 40.0])


@pytest.mark.filterwarnings("ignore:Using backward")
def test_backward_to_an_inner_tensor_with_a_graph():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    (y * y * y).sum().backward(inputs=[x, y], create_graph=True)
    assert y.grad.requires_grad
    assert y.grad.tolist() == [12.0, 12.0]


def test_inputs_of_backward_need_a_gradient():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        (x * x).sum().backward(inputs=[x, torch.ones(2)])


def test_retained_gradients_have_memory_of_their_own():
    x = torch.ones(2, 3, requires_grad=True)
    y = x.t() * 1
    y.retain_grad()
    y.sum().backward()
    assert y.grad.stride() == (2, 1)
    y.grad.mul_(3)
    assert x.grad.tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("chunk_size", [None, 1, 2])
def test_jacobians_at_a_number(chunk_size):
    x = torch.tensor(0.5)
    close = torch.testing.assert_close
    jacrev = torch.func.jacrev
    close(jacrev(torch.sin, chunk_size=chunk_size)(x), x.cos())
    three = torch.stack([x.cos(), -x.sin(), 2 * x])
    close(jacrev(lambda x: torch.stack([x.sin(), x.cos(), x * x]), chunk_size=chunk_size)(x), three)
    close(torch.func.jacfwd(torch.sin)(x), x.cos())
    for outer in (jacrev, torch.func.jacfwd):
        for inner in (jacrev, torch.func.jacfwd):
            close(outer(inner(torch.sin))(x), -x.sin())
    value, aux = jacrev(lambda x: (x.sin(), x), has_aux=True)(x)
    close((value, aux), (x.cos(), x))
    close(jacrev(lambda d: d["a"].sum())({"a": x}), {"a": torch.tensor(1.0)})
    close(torch.autograd.functional.jacobian(torch.sin, x, vectorize=True, strategy="forward-mode"), x.cos())
    close(torch.autograd.functional.hessian(torch.sin, x, vectorize=True), -x.sin())


def test_the_gradient_of_a_tensor_may_stand_in_a_list():
    x = torch.ones(2, requires_grad=True)
    (x * 3).backward([torch.tensor([1.0, 2.0])])
    assert x.grad.tolist() == [3.0, 6.0]
    with pytest.raises(RuntimeError, match="got 1 tensors and 0 gradients"):
        (x * 3).backward([])
