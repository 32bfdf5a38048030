"""`torch.compile` with GE graphs: the results and gradients are those of eager."""

import copy
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn, torchair
from mindtorch_v2.library import Library


@pytest.fixture(params=["name", "torchair"])
def backend(request: pytest.FixtureRequest) -> Any:
    """The back end by its name, and as torchair gives it."""
    if request.param == "name":
        return "ge"
    return torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    torch._dynamo.reset()


def _close(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found.detach().cpu(), expected.detach().cpu(), rtol=1e-5, atol=1e-6)


def _model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout(0.5), nn.Linear(8, 3)).npu()


def test_training_steps(backend: Any) -> None:
    eager = _model()
    compiled = copy.deepcopy(eager)
    run = torch.compile(compiled, backend=backend, fullgraph=True)
    losses: list[list[float]] = []
    for model, call in ((eager, eager), (compiled, run)):
        torch.manual_seed(3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        losses.append([])
        for step in range(5):
            x = torch.linspace(-1, 1, 12).view(3, 4).npu() * (step + 1)
            target = torch.tensor([0, 1, 2]).npu()
            loss = nn.functional.cross_entropy(call(x), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    for mine, theirs in zip(compiled.parameters(), eager.parameters(), strict=True):
        _close(mine, theirs)


def test_sizes(backend: Any) -> None:
    model = _model().eval()
    run = torch.compile(model, backend=backend)
    with torch.no_grad():
        for rows in (3, 5, 3, 1):
            x = torch.linspace(-1, 1, rows * 4).view(rows, 4).npu()
            _close(run(x), model(x))


def test_writes_to_inputs_and_views(backend: Any) -> None:
    def program(x: torch.Tensor, y: torch.Tensor) -> tuple:
        before = x.sum()
        x[0].mul_(2)
        y.t().add_(x)
        return before, x[:, 1:], y @ x

    run = torch.compile(program, backend=backend, fullgraph=True)
    eager = [torch.arange(4.0).view(2, 2).npu() + i for i in range(2)]
    given = [t.clone() for t in eager]
    for _ in range(3):
        expected, found = program(*eager), run(*given)
        for mine, theirs in zip([*found, *given], [*expected, *eager], strict=True):
            _close(mine, theirs)
            assert mine.stride() == theirs.stride()
    assert found[1]._base is not None or found[1].untyped_storage().data_ptr() == given[0].untyped_storage().data_ptr()


def test_a_users_operator(backend: Any) -> None:
    library = Library("ge_compiled", "FRAGMENT")
    library.define("my_inplace(Tensor(a!) x, Tensor(b!) y) -> ()")

    def my_inplace(x: torch.Tensor, y: torch.Tensor) -> None:
        x.add_(1)
        y.mul_(2)

    library.impl("my_inplace", my_inplace, "PrivateUse1")  # and no Meta kernel: the schema says all that it gives
    try:

        def program(x: torch.Tensor, y: torch.Tensor) -> tuple:
            before = x * 3
            torch.ops.ge_compiled.my_inplace(x, y)
            return before, x + y

        run = torch.compile(program, backend=backend, fullgraph=True)
        eager, given = ([torch.tensor([1.0, 2.0]).npu() for _ in range(2)] for _ in range(2))
        expected, found = program(*eager), run(*given)
        for mine, theirs in zip([*found, *given], [*expected, *eager], strict=True):
            _close(mine, theirs)
    finally:
        library._destroy()


def test_what_is_missing_is_an_error() -> None:
    run = torch.compile(lambda x: torch.erfinv(x) + torch.lgamma(x), backend="ge")
    with pytest.raises(Exception, match=r"(?s)cannot become a GE graph.*aten\.erfinv.*aten\.lgamma"):
        run(torch.tensor([0.5]).npu())


def test_graphs_are_dumped(tmp_path: pathlib.Path) -> None:
    config = torchair.CompilerConfig()
    config.debug.graph_dump.type = "pbtxt"
    config.debug.graph_dump.path = str(tmp_path)
    run = torch.compile(lambda x: (x * 2).sum(), backend=torchair.get_npu_backend(compiler_config=config))
    x = torch.ones(3).npu().requires_grad_()
    run(x).backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0, 2.0]
    texts = [path.read_text() for path in sorted(tmp_path.glob("*.pbtxt"))]
    assert len(texts) == 2 and 'type: "ReduceSum"' in texts[0]  # forward and backward


def test_run_eagerly() -> None:
    config = torchair.CompilerConfig()
    config.debug.run_eagerly = True
    run = torch.compile(lambda x: x * 2 + 1, backend=torchair.get_npu_backend(compiler_config=config))
    assert run(torch.ones(2)).tolist() == [3.0, 3.0]


def test_programs_of_the_host_are_refused() -> None:
    run = torch.compile(lambda x: x * 2, backend="ge")
    with pytest.raises(Exception, match=r"results of this graph are on cpu.*\.npu\(\)"):
        run(torch.ones(2))
