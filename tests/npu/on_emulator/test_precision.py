"""Operators beside float64: which one drifts, and what is no drift."""

import math
from collections.abc import Iterator
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.npu import precision
from mindtorch_v2.npu.precision import PrecisionReport


@pytest.fixture
def library() -> Iterator[Any]:
    made = torch.library.Library("tested_precision", "DEF")
    yield made
    made._destroy()


def _defined(library: Any, here: Any, there: Any, schema: str = "operator(Tensor x) -> Tensor") -> Any:
    library.define(schema)
    library.impl("operator", here, "CPU")
    library.impl("operator", there, "NPU")
    return torch.ops.tested_precision.operator


def test_the_operator_that_is_off_is_named_with_its_line(library: Any) -> None:
    operator = _defined(library, lambda x: x * 2, lambda x: x * 2.001)
    x = torch.tensor([1.0, -4.0], device="npu")
    with PrecisionReport() as report:
        y = operator(x.abs())  # the line
        operator(y)
    first = report.first
    assert first is not None and first.operator == "tested_precision.operator.default" and first.call == 2
    assert "test_precision.py" in first.where and "# the line" in first.where
    assert first.error == pytest.approx(0.0005, rel=1e-3) and first.on_cpu == 0.0
    assert (first.dtype, first.sizes) == (torch.float32, [2])
    numbers = report.rows["tested_precision.operator.default"]
    assert (numbers.calls, numbers.drifts) == (2, 2) and report.rows["aten.abs.default"].drifts == 0
    assert str(report).splitlines()[1].startswith("the first that drifts: tested_precision.operator.default, call 2")


@pytest.mark.parametrize(
    ("there", "error"),
    [
        (lambda x: x / 0, math.inf),
        (lambda x: x[:1], math.inf),
        (lambda x: (x + 1).to(torch.int64), None),
        (lambda x: x.mul_(1.0).clone(), None),
    ],
)
def test_what_is_not_finite_or_of_other_sizes_drifts(library: Any, there: Any, error: float | None) -> None:
    whole = error is None
    here = (lambda x: x.to(torch.int64)) if whole else (lambda x: x.clone())
    operator = _defined(library, here, there)
    with PrecisionReport() as report:
        operator(torch.tensor([1.0, 2.0], device="npu"))
    if whole and there(torch.ones(1)).dtype != torch.int64:
        assert report.first is None
    else:
        assert report.first is not None and report.first.error == (1.0 if whole else error)


def test_what_an_operator_writes_is_compared(library: Any) -> None:
    def one_more(x: Any) -> None:
        x.add_(1)

    def two_more(x: Any) -> None:
        x.add_(2)

    operator = _defined(library, one_more, two_more, "operator(Tensor(a!) x) -> ()")
    with PrecisionReport() as report:
        operator(torch.zeros(2, device="npu"))
    assert report.first is not None and report.first.error == 1.0  # 2, and not 1


def test_what_cannot_be_computed_elsewhere_is_said(library: Any) -> None:
    library.define("operator(Tensor x) -> Tensor")
    library.impl("operator", lambda x: x + 1, "NPU")
    x = torch.zeros(2, device="npu")
    with PrecisionReport() as report:
        torch.ops.tested_precision.operator(x)
    assert report.first is None and report.calls == 0
    assert str(report).splitlines()[-1].startswith("not compared: tested_precision.operator.default: ")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_training_step_does_not_drift(dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    layers = torch.nn.Linear(6, 9), torch.nn.LayerNorm(9), torch.nn.GELU(), torch.nn.Dropout(0.2), torch.nn.Linear(9, 5)
    model = torch.nn.Sequential(*layers).to("npu", dtype)
    optimizer = torch.optim.AdamW(model.parameters())
    with PrecisionReport() as report:
        loss = torch.nn.functional.cross_entropy(
            model(torch.randn(4, 6).to("npu", dtype)), torch.arange(4, device="npu")
        )
        loss.backward()
        optimizer.step()
        torch.ops.npu.npu_rms_norm(torch.randn(4, 6).to("npu", dtype), torch.ones(6, device="npu", dtype=dtype))
    assert report.first is None, report
    assert {"aten.linear_backward.default", "npu.npu_rms_norm.default"} <= report.rows.keys()
    assert "aten.native_dropout.default" not in report.rows and "aten.detach.default" not in report.rows


def test_operators_without_numbers_are_not_compared() -> None:
    """Those that leave memory as it was, that draw, that change sizes alone, and that give a number to Python."""
    x = torch.ones(4, device="npu")
    with PrecisionReport() as report:
        torch.empty_like(x)
        x.new_empty(2)
        x.resize_(2)
        x.unsqueeze_(0)
        x.squeeze_()
        torch.rand_like(x)
        assert x[0].item() == 1.0
    assert report.rows == {} and report._without == {}


def test_what_a_graph_records_is_not_compared() -> None:
    x, graph = torch.ones(3, device="npu"), torch.npu.NPUGraph()
    with PrecisionReport() as report, torch.npu.graph(graph):
        y = x + 1
    graph.replay()
    assert report.calls == 0 and y.tolist() == [2.0] * 3


def test_the_error_of_numbers() -> None:
    exact = torch.tensor([8.0, 0.25, math.inf, math.nan], dtype=torch.float64)

    def error(found: list[float], by_element: bool = False) -> float:
        return precision._error(torch.tensor(found), exact, exact, by_element)

    assert error([8.0, 0.25, math.inf, math.nan]) == 0.0
    assert error([8.0, 0.5, math.inf, math.nan]) == 0.25 / 8  # against the largest
    assert error([9.0, 0.25, math.inf, math.nan], by_element=True) == 1 / 8
    assert error([8.0, 0.5, math.inf, math.nan], by_element=True) == 0.25 / 0.5  # against a sixteenth of it at least
    assert error([8.0, 0.25, -math.inf, math.nan]) == math.inf
    assert error([8.0, 0.25, math.inf, 1.0]) == math.inf
    assert error([8.0, math.inf, math.inf, math.nan]) == math.inf


@pytest.mark.parametrize(("factor", "drifts"), [(1.0, 0), (1.0 + 2**-9, 0), (1.02, 1)])
def test_an_operator_that_takes_no_float64_is_held_to_the_cpus_numbers(
    library: Any, factor: float, drifts: int
) -> None:
    """Up to some steps of the dtype, 2**-9 here."""

    def here(x: torch.Tensor) -> torch.Tensor:
        if x.dtype == torch.float64:
            raise RuntimeError("no float64")
        return x.clone()

    operator = _defined(library, here, lambda x: x * factor)
    with PrecisionReport() as report:
        operator(torch.tensor([1.0, 2.0], device="npu").half())
    numbers = report.rows["tested_precision.operator.default"]
    assert (numbers.calls, numbers.drifts, numbers.on_cpu) == (1, drifts, 0.0)
    assert "not compared" not in str(report)


def test_sparse_results_are_compared(library: Any) -> None:
    operator = _defined(library, lambda x: x.to_sparse_csr(), lambda x: (x * 1.5).to_sparse_csr())
    x = torch.tensor([[1.0, 0.0], [0.0, 2.0]], device="npu")
    with PrecisionReport() as report:
        x.to_sparse_csr()
        operator(x)
    assert report.first is not None and report.first.operator == "tested_precision.operator.default"
    assert report.first.error == pytest.approx(0.5)
    assert [numbers.drifts for name, numbers in report.rows.items() if "to_sparse" in name] == [0]
