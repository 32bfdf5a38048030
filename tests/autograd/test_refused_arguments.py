"""Arguments and results of hooks, edges, duals and inference tensors that PyTorch refuses, with its words."""

import pytest
from agreement import same, same_error

# PyTorch's own, of parts of it that its forward mode goes through.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_hooks_after_accumulation_return_none():
    def program(torch):
        x = torch.ones(3, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda tensor: tensor.grad)
        x.sum().backward()

    same_error(program)


@pytest.mark.parametrize("answer", ["1", "'a'", "(tensor,)"])
def test_hooks_after_accumulation_return_no_other_value(answer):
    def program(torch):
        x = torch.ones(3, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda tensor: eval(answer))
        x.sum().backward()

    same_error(program)


def test_hooks_after_accumulation_may_return_their_tensor():
    def program(torch):
        x = torch.ones(3, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda tensor: tensor.detach().sub_(tensor.grad) is None or tensor)
        x.sum().backward()
        return x.detach()

    same(program)


@pytest.mark.filterwarnings("ignore:torch.asarray. unspecified requires_grad:UserWarning")
@pytest.mark.parametrize("leaf", [True, False])
@pytest.mark.parametrize("wanted", [None, True, False, "copied", "cast"])
def test_asarray_keeps_history_unless_told(leaf, wanted):
    options = {"copied": {"copy": True}, "cast": {"dtype": "float64"}, None: {}}.get(wanted, {"requires_grad": wanted})

    def program(torch):
        x = torch.ones(2, requires_grad=True)
        x = x if leaf else x * 2
        given = {k: getattr(torch, v) if k == "dtype" else v for k, v in options.items()}
        made = torch.asarray(x, **given)
        return made is x, made.requires_grad, made.is_leaf, made.grad_fn is None, x.requires_grad

    same(program)


def _of_an_edge(torch, gradient):
    x = torch.ones(3, requires_grad=True).clone()
    edge = torch.autograd.graph.get_gradient_edge(x)
    return torch.autograd.grad(edge, edge, grad_outputs=gradient)


@pytest.mark.parametrize("shape, dtype", [((4,), "float32"), ((), "float32"), ((3,), "complex64")])
def test_gradients_of_edges(shape, dtype):
    same_error(lambda torch: _of_an_edge(torch, torch.ones(shape, dtype=getattr(torch, dtype))))


def test_gradients_of_edges_have_their_dtype():
    same(lambda torch: _of_an_edge(torch, torch.ones(3, dtype=torch.float64)))


def test_tangents_have_no_tangent_themselves():
    def program(torch):
        forward = torch.autograd.forward_ad
        with forward.dual_level():
            tangent = forward.make_dual(torch.ones(2), torch.ones(2))
            forward.make_dual(torch.ones(2), tangent)

    same_error(program)


VIEWS = {
    "view": lambda torch, c: c.view(-1),
    "select": lambda torch, c: c[0],
    "transpose": lambda torch, c: c.transpose(0, 1),
    "reshape": lambda torch, c: c.reshape(6),
    "chunk": lambda torch, c: c.chunk(2, 1)[1],
    "contiguous": lambda torch, c: c.contiguous(),
    "sum": lambda torch, c: c + 1,
    "view_copy": lambda torch, c: torch.view_copy(c, (6,)),
    "clone": lambda torch, c: c.clone(),
}


@pytest.mark.parametrize("view", VIEWS)
def test_views_of_inference_tensors(view):
    """They are of their kind outside of inference mode too: neither written in place nor kept for a gradient."""

    def program(torch):
        with torch.inference_mode():
            c = torch.ones(1, 2, 3)
        made = VIEWS[view](torch, c)
        outcome = [made.is_inference(), made.requires_grad]
        for use in (lambda: made.add_(1), lambda: made * torch.ones(1, requires_grad=True)):
            try:
                outcome.append(use().sum().item())
            except RuntimeError as error:
                outcome.append(str(error))
        return outcome

    same(program)


def test_views_in_inference_mode():
    def program(torch):
        x = torch.ones(2, 3)
        with torch.inference_mode():
            c = torch.ones(2, 3)
            return [x.view(-1).is_inference(), c.view(-1).is_inference(), x.clone().view(-1).is_inference()]

    same(program)


def test_an_input_that_the_root_does_not_reach_gets_nothing():
    def program(torch):
        x, other = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        (x * 3).sum().backward(inputs=[x, other])
        return x.grad, other.grad is None

    same(program)
