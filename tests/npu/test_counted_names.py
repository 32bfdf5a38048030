"""Names that Ascend's programs use resolve here, weighted by how often they are used; the shares may only grow."""

import importlib.util
import pathlib
import types

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Percent of the uses of each kind of names that resolved when this was written.
LEAST = {
    "contrib": 100.0,
    "dtype": 100.0,
    "module": 100.0,
    "op": 100.0,
    "other": 24.6,
    "profiler": 100.0,
    "torch.npu": 100.0,
    "torchair": 100.0,
}


@pytest.fixture(scope="module")
def tool() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("count_npu_names", ROOT / "tools" / "count_npu_names.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_shares_do_not_fall(tool: types.ModuleType) -> None:
    now = {kind: 100 * n["uses_there"] / n["uses"] for kind, n in tool.table().items()}
    assert now.keys() == LEAST.keys()
    assert {kind: (now[kind], least) for kind, least in LEAST.items() if now[kind] < least} == {}


def test_98_percent_of_operators_and_modules_resolve(tool: types.ModuleType) -> None:
    kinds = [numbers for kind, numbers in tool.table().items() if kind in ("op", "torch.npu", "torchair")]
    assert sum(n["uses_there"] for n in kinds) >= 0.98 * sum(n["uses"] for n in kinds)
    assert [use for use in tool.counted() if use.kind == "op" and not tool.resolves(use)] == []


def test_a_name_that_is_not_there_does_not_resolve(tool: types.ModuleType) -> None:
    for name in ("torch_npu.npu_no_such", "torch.npu.memory.no_such", "torchair.no.such", "torch_npu.optim.No"):
        with pytest.raises(AttributeError):
            tool.find(name)
    assert not tool.resolves(tool.Use("op", "torch_npu.optim", 1, "torch_npu"))  # there, and no operator


def test_the_counts_are_those_of_the_programs(tool: types.ModuleType) -> None:
    counted = tool.counted()
    operators = [use for use in counted if use.kind == "op"]
    assert (len(operators), sum(use.uses for use in operators)) == (124, 1244)
    assert len({use.name for use in counted}) == len(counted)
