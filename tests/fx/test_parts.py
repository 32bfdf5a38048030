"""Operators that are one kernel here and several in PyTorch: modes, graphs and back ends see PyTorch's, with the same numbers."""

import operator

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
from mindtorch_v2._core.torch_dispatch import whole_calls
from mindtorch_v2._functorch.aot_autograd import aot_function
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode

torch.manual_seed(0)
X, W, B = torch.randn(2, 5, 3), torch.randn(4, 3), torch.randn(4)
MATRIX, TARGET = torch.randn(5, 3), torch.tensor([0, 2, 1, 1, 0])
# A program, and the operators that PyTorch 2.13 records of it; but rms norm adds in place there.
PROGRAMS = {
    "linear of rows": (lambda: F.linear(MATRIX, W, B), "t addmm"),
    "linear without bias": (lambda: F.linear(MATRIX, W), "t mm"),
    "linear of batches": (lambda: F.linear(X, W, B), "view t addmm view"),
    "linear of batches without bias": (lambda: F.linear(X, W), "t view mm _unsafe_view"),
    "linear of one row": (lambda: F.linear(MATRIX[0], W, B), "select view t addmm view"),
    "linear of turned batches": (
        lambda: F.linear(X.transpose(0, 1), W),
        "transpose t expand view expand view bmm _unsafe_view",
    ),
    "dot": (lambda: torch.matmul(MATRIX[0], MATRIX[1]), "select select dot"),
    "vector and matrix": (lambda: torch.matmul(MATRIX[0], W.t()), "select t unsqueeze mm squeeze_"),
    "matrix and vector": (lambda: torch.matmul(MATRIX, W[0]), "select mv"),
    "batches and vector": (lambda: torch.matmul(X, W[0]), "select view mv _unsafe_view"),
    "batches": (lambda: torch.matmul(X, X.transpose(1, 2)), "transpose expand view expand view bmm _unsafe_view"),
    "cross entropy": (lambda: F.cross_entropy(MATRIX, TARGET), "_log_softmax nll_loss_forward"),
    "rms norm": (lambda: F.rms_norm(MATRIX, (3,), W[0]), "select pow mean add_ rsqrt mul mul"),
    "square": (lambda: MATRIX.square(), "pow"),
    "narrow": (lambda: MATRIX.narrow(0, -2, 1), "slice"),
    "where": (lambda: torch.where(MATRIX > 0, MATRIX, 0.5), "gt scalar_tensor where"),
    "isfinite": (lambda: torch.isfinite(MATRIX), "abs ne eq mul"),
    "average": (lambda: F.adaptive_avg_pool2d(X, 1), "mean"),
}


def _names(module):
    calls = [node for node in module.graph.nodes if node.op == "call_function" and node.target is not operator.getitem]
    return " ".join(node.target._schema.name.partition("::")[2] for node in calls)


@pytest.mark.parametrize("name", PROGRAMS)
def test_graphs_have_the_operators_of_pytorch_and_the_same_numbers(name):
    program, expected = PROGRAMS[name]
    module = make_fx(lambda: program())()
    assert _names(module) == expected
    assert torch.allclose(module().float(), program().float(), atol=1e-6)
    with whole_calls():
        assert len(_names(make_fx(lambda: program())()).split()) <= len(expected.split())


def test_dropout_draws_the_same_numbers():
    module = make_fx(lambda x: F.dropout(x, 0.25))(MATRIX)
    assert _names(module) == "empty_like bernoulli_ div_ mul"
    torch.manual_seed(1)
    expected = F.dropout(MATRIX, 0.25)
    torch.manual_seed(1)
    assert torch.equal(module(MATRIX), expected)


def test_a_mode_of_the_users_sees_the_parts_and_eager_does_not():
    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    seen = []
    weight = W.clone().requires_grad_()
    with Seen():
        made = F.linear(MATRIX, weight, B)
    assert seen == ["aten.t.default", "aten.addmm.default"]
    assert type(made.grad_fn).__name__ == "AddmmBackward0"
    made.sum().backward()
    assert torch.allclose(weight.grad, MATRIX.sum(0).expand(4, 3))


def test_back_ends_behind_aot_function_get_them_both_ways():
    graphs = []

    def keep(module, inputs):
        graphs.append(_names(module))
        return module

    weight = W.clone().requires_grad_()
    aot_function(lambda w: F.cross_entropy(F.linear(MATRIX, w), TARGET), keep)(weight).backward()
    assert graphs[0].split()[:4] == ["t", "mm", "_log_softmax", "nll_loss_forward"]
    assert {"nll_loss_backward", "_log_softmax_backward_data", "mm"} <= set(graphs[1].split())
    expected = W.clone().requires_grad_()
    F.cross_entropy(F.linear(MATRIX, expected), TARGET).backward()
    assert torch.allclose(weight.grad, expected.grad, atol=1e-6)


def test_products_that_do_not_fit_are_refused():
    with pytest.raises(RuntimeError):
        make_fx(lambda: torch.matmul(X, torch.ones(3, 4, 2)))()
    with pytest.raises(RuntimeError, match="at least 1D"):
        make_fx(lambda: torch.matmul(X, torch.tensor(1.0)))()
