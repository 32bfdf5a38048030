"""Values that the graph keeps for backward, how often hooks see them, and when they are gone. Counts are those of PyTorch 2.13."""

import pytest

import mindtorch_v2 as torch

_GONE = "Trying to backward through the graph a second time"


def _events(function):
    log = []

    def pack(tensor):
        log.append("p")
        return tensor * 2

    def unpack(kept):
        log.append("u")
        return kept / 2

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        x = torch.ones(2, requires_grad=True) * 1
        log.append("|")
        y = function(x).sum()
        log.append("|")
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        log.append("|")
        torch.autograd.grad(first.sum(), x)
    return "".join(log)


@pytest.mark.parametrize(
    ("function", "events"),
    [
        (lambda x: x * x, "|pp|uupp|uu"),
        (torch.exp, "|p|up|uu"),
        (torch.tanh, "|p|upp|uuu"),
        (lambda x: x.pow(3), "|p|upp|uu"),
        (lambda x: x / (x + 1), "|pp|uuppppppp|uuuuuuu"),
    ],
    ids=["square", "exp", "tanh", "cube", "quotient"],
)
def test_hooks_of_saved_tensors_run_once_each(function, events):
    assert _events(function) == events


def test_only_what_a_gradient_needs_is_saved():
    x, constant = torch.ones(2, requires_grad=True), torch.ones(2)
    node = (x * constant).grad_fn
    assert node._saved_self is None
    assert node._saved_other is constant
    node = torch.mm(x[None], torch.ones(2, 2)).grad_fn
    assert node._saved_self is None


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1,
        lambda x: x.reshape(2, 1).t(),
        lambda x: x - torch.ones(2),
        lambda x: torch.cat([x, x]),
        lambda x: x[0:1],
        lambda x: x.sum(0, keepdim=True),
        lambda x: x.expand(3, 2),
    ],
)
def test_a_second_backward_where_nothing_was_saved(function):
    x = torch.ones(2, requires_grad=True)
    y = function(x).sum()
    y.backward()
    once = x.grad.clone()
    y.backward()
    assert x.grad.tolist() == (2 * once).tolist()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x,
        torch.exp,
        lambda x: x @ x,
        lambda x: x**2,
        lambda x: torch.where(x > 0, x, x),
        lambda x: x[x > 0],
    ],
)
def test_a_second_backward_where_something_was_saved(function):
    x = torch.ones(2, requires_grad=True)
    y = function(x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match=_GONE):
        y.backward()


def test_saved_attributes_after_backward():
    x = torch.ones(2, 3, requires_grad=True)
    y = x.exp().sum(1)
    node = y.grad_fn
    y.sum().backward()
    assert node._saved_dim == (1,)
    with pytest.raises(RuntimeError, match=_GONE):
        node.next_functions[0][0]._saved_result


def test_lists_that_a_node_keeps_can_be_read():
    x = torch.ones(4, requires_grad=True)
    assert x.split([1, 3])[0].grad_fn._saved_split_sizes == (1, 3)
    (index,) = x[torch.tensor([1, 2])].grad_fn._saved_indices
    assert index.tolist() == [1, 2]


def test_backward_again_through_a_node_with_its_tensors_gone():
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    (y + 1).backward()
    with pytest.raises(RuntimeError, match=_GONE):
        (y + 1).backward()
