"""Nested tensors, against what PyTorch 2.13 answered (`nested_cases.json`)."""

import json
from pathlib import Path
from typing import Any

import pytest
from answers import same_answer

import mindtorch_v2 as torch
from tests.nested import nested_cases

RECORDED = json.loads(Path(__file__).with_name("nested_cases.json").read_text())
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", nested_cases.CASES)
def test_values(name: str) -> None:
    same_answer(nested_cases.CASES[name](torch), RECORDED["cases"][name])


@pytest.mark.parametrize("name", nested_cases.REFUSED)
def test_refusals(name: str) -> None:
    kind, text = RECORDED["refused"][name]
    with pytest.raises(Exception) as caught:  # its class and text is compared
        nested_cases.REFUSED[name](torch)
    assert type(caught.value).__name__ == kind
    assert str(caught.value) == text


def test_sizes_that_differ_have_a_symbol() -> None:
    x = nested_cases.jagged(torch)
    size = x.shape[1]
    assert isinstance(size, torch.SymInt)
    assert size == (x * 2).shape[1]
    assert size != nested_cases.jagged(torch).shape[1]
    assert repr(size * 2) == f"2*{size!r}"
    with pytest.raises(RuntimeError, match="it is not one number"):
        size + 1
    with pytest.raises(
        RuntimeError, match=r"cannot call binary pointwise function add with inputs of shapes \(3, j\d+, 2\)"
    ):
        x + nested_cases.jagged(torch)


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="aten.cumsum.default"):
        nested_cases.jagged(torch).cumsum(1)
    with pytest.raises(NotImplementedError, match="aten"):
        torch.linalg.inv(nested_cases.jagged(torch))


def test_second_gradients_and_a_step() -> None:
    weight = torch.tensor(nested_cases.WEIGHT, dtype=torch.float64, requires_grad=True)
    buffer = torch.arange(10, dtype=torch.float64).reshape(5, 2).div(7).requires_grad_()

    def function(values: Any, weight: Any) -> Any:
        x = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 2, 5]))
        return torch.nn.functional.linear(x.sin(), weight).sum(1)

    assert torch.autograd.gradcheck(function, (buffer, weight))
    assert torch.autograd.gradgradcheck(function, (buffer, weight))


def test_copies_and_pickles() -> None:
    import copy
    import io

    x = nested_cases.jagged(torch)
    stream = io.BytesIO()
    torch.save(x, stream)
    stream.seek(0)
    for other in (copy.deepcopy(x), torch.load(stream, weights_only=False)):
        assert nested_cases.shown(other) == nested_cases.shown(x)
