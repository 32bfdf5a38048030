"""`torch.vmap` and the transforms of `torch.func` inside of captured programs: the same values, gradients and structures."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap
from mindtorch_v2.utils import _pytree as pytree

WEIGHT = torch.arange(9.0).view(3, 3).div(7).requires_grad_()
LINEAR = torch.nn.Linear(3, 2)
rows = torch.vmap(lambda row: row * WEIGHT.sum())
slope = grad(lambda t: (t**2).sum())


def losses(x):
    def loss(parameters, row):
        return functional_call(LINEAR, parameters, (row,)).pow(2).sum()

    return vmap(grad(loss), in_dims=(None, 0))(dict(LINEAR.named_parameters()), x)


def pulled(x):
    y, back = vjp(lambda a, b: (a @ WEIGHT, b * 2), x, x)
    return y, back((x @ WEIGHT, x))


PROGRAMS = {
    "a weight from outside": lambda x: torch.vmap(lambda row: (WEIGHT @ row).sin().sum())(x),
    "vmap of grad": lambda x: vmap(grad(lambda r, w: (w @ r).sin().sum(), argnums=(0, 1)), in_dims=(0, None))(
        x, WEIGHT
    ),
    "jacrev, jacfwd": lambda x: (jacrev(lambda t: (t @ WEIGHT).tanh())(x[0]), jacfwd(lambda t: {"a": t * 2})(x[0])),
    "jacrev with more": lambda x: jacrev(lambda t: (t * 2, t.sum()), has_aux=True)(x[0]),
    "hessian": lambda x: hessian(lambda t: (t @ WEIGHT @ t) * t.sum())(x[0]),
    "vjp": pulled,
    "jvp": lambda x: jvp(lambda a: (a.sin(), a.sum()), (x,), (x * 2,)),
    "grad_and_value": lambda x: grad_and_value(lambda a: ((a**2).sum(), a * 2), has_aux=True)(x),
    "a result that is an argument": lambda x: (vmap(lambda a: a, out_dims=1)(x), vmap(lambda a: a[0])(x)),
    "trees": lambda x: vmap(lambda d: d["a"] + d["b"][0], in_dims=({"a": 0, "b": (None,)},))({"a": x, "b": (x[0],)}),
    "vmap of vmap": lambda x: vmap(vmap(lambda a: a * 2), in_dims=1)(x),
    "chunks": lambda x: vmap(lambda a: a.sum(), chunk_size=2)(x),
    "made outside": lambda x: (rows(x), slope(x)),
    "losses of each row": losses,
}


def results(program, x):
    WEIGHT.grad = None
    LINEAR.zero_grad()
    found = program(x)
    leaves = pytree.tree_leaves(found)
    sum(leaf.sum() for leaf in leaves if leaf.requires_grad).backward()
    return pytree.tree_structure(found), [leaf.detach() for leaf in leaves], [x.grad, WEIGHT.grad]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_transform_gives_what_it_gives_in_eager(name, dynamic, backend):
    program = PROGRAMS[name]
    compiled = torch.compile(program, backend=backend, fullgraph=True, dynamic=dynamic)
    for count in (4, 6):
        x = torch.linspace(-1, 1, 3 * count).view(count, 3)
        expected = results(program, x.clone().requires_grad_())
        found = results(compiled, x.clone().requires_grad_())
        assert found[0] == expected[0]
        torch.testing.assert_close(found[1], expected[1])
        for mine, theirs in zip(found[2], expected[2], strict=True):
            assert (mine is None) is (theirs is None)
            if theirs is not None:
                torch.testing.assert_close(mine, theirs)


def test_the_graph_calls_the_transform_with_a_graph():
    kept = torch._dynamo.testing.EagerAndRecordGraphs()
    torch.compile(lambda x: vmap(lambda row: row * 2)(x), backend=kept, fullgraph=True)(torch.ones(2, 3))
    names = [node.name for node in kept.graphs[0].graph.nodes]
    assert "mapped" in names
    assert [node.op for node in kept.graphs[0].function_0.graph.nodes] == ["placeholder", "call_function", "output"]


def test_a_function_that_writes_is_refused():
    def program(x):
        return vmap(lambda row: row.add_(1))(x)

    with pytest.raises(torch._dynamo.exc.Unsupported, match="writes, under a transform"):
        torch.compile(program, backend="eager", fullgraph=True)(torch.ones(2, 2))
