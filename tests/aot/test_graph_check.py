"""`MINDTORCH_GRAPH_CHECK=1`: lowered graphs are run in other orders and beside the program; what lies is named."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.graph import GraphError, check_order
from mindtorch_v2.library import Library


@pytest.fixture
def _asked(monkeypatch):
    monkeypatch.setenv("MINDTORCH_GRAPH_CHECK", "1")


@pytest.fixture
def library():
    made = Library("graph_check", "FRAGMENT")
    yield made
    made._destroy()


@pytest.mark.usefixtures("_asked")
def test_right_programs_pass():
    def function(x, w):
        x = torch.nn.functional.dropout(x @ w, 0.5)
        y = x.view(-1)
        y[0].mul_(2)
        return x.relu(), y.sum() + torch.rand(3)

    x, w = torch.randn(3, 4), torch.randn(4, 2, requires_grad=True)
    torch.manual_seed(1)
    expected = function(x, w)
    torch.manual_seed(1)
    found = torch.compile(function, backend="aot_eager")(x, w)
    assert all(torch.equal(a, b) for a, b in zip(found, expected))
    found[0].sum().backward()


@pytest.mark.usefixtures("_asked")
@pytest.mark.parametrize("read_first", [True, False])
def test_an_operator_that_hides_its_write_is_named(library, read_first):
    library.define("sly(Tensor x) -> Tensor")

    def sly(x):
        x.add_(1)
        return x * 2

    library.impl("sly", sly, "CPU")
    library.impl("sly", lambda x: torch.empty_like(x), "Meta")

    def function(x):
        x = x + 0
        before = x * 10 if read_first else 0
        y = torch.ops.graph_check.sly(x)
        return before + y + x * 10

    with pytest.raises(GraphError, match=r"graph_check\.sly\.default writes to an argument.*Tensor\(a!\)"):
        torch.compile(function, backend="aot_eager")(torch.ones(2))


@pytest.mark.usefixtures("_asked")
def test_a_functionalize_kernel_that_lies_is_found(library):
    library.define("third(Tensor(a!) x) -> ()")
    library.define("third_functional(Tensor x) -> Tensor")
    for key in ("CPU", "Meta"):
        library.impl("third", lambda x: [x.mul_(3)].clear(), key)
        library.impl("third_functional", lambda x: x * 4, key)

    def function(x):
        x = x + 0
        torch.ops.graph_check.third(x)
        return x

    with pytest.raises(GraphError, match="differs from the program in number 0 of its results"):
        torch.compile(function, backend="aot_eager")(torch.ones(2))


def test_state_outside_of_the_arguments_is_found(library):
    count = [0]

    def counted(x):
        count[0] += 1
        return x + count[0]

    library.define("counted(Tensor x) -> Tensor")
    library.impl("counted", counted, "CPU")
    x = torch.ones(2)
    module = make_fx(lambda x: torch.ops.graph_check.counted(x.sin()) * torch.ops.graph_check.counted(x.cos()))(x)
    with pytest.raises(GraphError, match=r"'counted' \(graph_check\.counted\.default\) gives something else"):
        check_order(module, (x,))
