"""The first run of a graph is watched: users' operators that write or give back what their schemas keep quiet about."""

import pytest

import mindtorch_v2 as torch

BACKENDS = ("aot_eager", "aot_eager_decomp_partition", "inductor")


@pytest.fixture
def library():
    made = torch.library.Library("first_runs", "FRAGMENT")
    yield made
    made._destroy()


def _define(library, schema, kernel, meta=torch.empty_like):
    name = library.define(schema)
    library.impl(name, kernel, "CPU")
    library.impl(name, meta, "Meta")
    return getattr(torch.ops.first_runs, name)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_undeclared_write_is_an_error_that_says_what_the_schema_should_be(library, backend):
    quiet = _define(library, "quiet(Tensor x) -> Tensor", lambda x: x.add_(1).clone())
    compiled = torch.compile(lambda x: quiet(x * 2) + x, backend=backend)
    for _ in range(2):  # as long as it fails there is no first run that went well
        with pytest.raises(RuntimeError, match="wrote to the argument 'x', which its schema does not mark") as raised:
            compiled(torch.ones(2))
        assert "It should be: first_runs::quiet(Tensor(a0!) x) -> Tensor" in str(raised.value)
    assert quiet(torch.ones(2)).tolist() == [2, 2]  # eager is PyTorch's: nothing is looked at


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_undeclared_alias_is_an_error(library, backend):
    same = _define(library, "same(Tensor x) -> Tensor", lambda x: x)
    with pytest.raises(RuntimeError, match="result 0 shares memory with the argument 'x'.*Tensor\\(a0\\) x"):
        torch.compile(lambda x: same(x * 2) + x, backend=backend)(torch.ones(2))


def test_a_write_beside_a_declared_one(library):
    """The graph has the operator's functional form, which calls it."""

    def both(x, y):
        x.add_(1)
        y.add_(1)

    both = _define(library, "both(Tensor(a!) x, Tensor y) -> ()", both, lambda x, y: None)

    def program(x, y):
        both(x, y)
        return x * 1

    with pytest.raises(RuntimeError, match="first_runs::both: the kernel wrote to the argument 'y'"):
        torch.compile(program, backend="aot_eager")(torch.ones(2), torch.ones(2))


def test_in_the_way_back(library):
    good = _define(library, "good(Tensor x) -> Tensor", lambda x: x + 1)
    bad = _define(library, "bad(Tensor g) -> Tensor", lambda g: g.mul_(2).clone())
    torch.library.register_autograd(
        "first_runs::good", lambda ctx, g: bad(g), setup_context=lambda ctx, inputs, output: None, lib=library
    )
    x = torch.ones(2, requires_grad=True)
    y = torch.compile(lambda x: good(x) * 3, backend="aot_eager")(x)
    with pytest.raises(RuntimeError, match="first_runs::bad: the kernel wrote to the argument 'g'"):
        y.sum().backward()


def test_custom_op():
    @torch.library.custom_op("first_runs::doubled", mutates_args=())
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x.mul_(2).clone()

    doubled.register_fake(torch.empty_like)
    with pytest.raises(RuntimeError, match="first_runs::doubled: the kernel wrote to the argument 'x'"):
        torch.compile(lambda x: doubled(x * 1), backend="inductor")(torch.ones(2))


def test_honest_operators_run_and_later_runs_are_not_watched(library):
    state = {"writes": False}

    def kernel(x):
        return x.add_(1).clone() if state["writes"] else x + 1

    honest = _define(library, "honest(Tensor x) -> Tensor", kernel)
    declared = _define(library, "declared(Tensor(a!) x) -> ()", lambda x: [x.add_(1)].clear(), lambda x: None)

    def program(x):
        declared(x)
        return honest(x * 2)

    compiled = torch.compile(program, backend="aot_eager")
    x = torch.ones(2)
    assert compiled(x).tolist() == [5, 5] and x.tolist() == [2, 2]
    state["writes"] = True  # one run said enough: what is quick has its limits, the variable's watch has none
    assert compiled(torch.ones(2)).tolist() == [5, 5]


def test_nothing_stays_watched_after_an_exception(library):
    state = {"fails": True}

    def kernel(x):
        if state["fails"]:
            raise ValueError("no result")
        return x.add_(1).clone()

    failing = _define(library, "failing(Tensor x) -> Tensor", kernel)
    compiled = torch.compile(lambda x: failing(x), backend="aot_eager")
    with pytest.raises(ValueError, match="no result"):
        compiled(torch.ones(2))
    state["fails"] = False
    assert failing(torch.ones(2)).tolist() == [2, 2]
