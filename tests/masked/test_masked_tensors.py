"""MaskedTensors, against what PyTorch 2.13 answered (`masked_cases.json`)."""

import json
import math
from pathlib import Path

import pytest
from answers import same_answer

import mindtorch_v2 as torch
from tests.masked import masked_cases

RECORDED = json.loads(Path(__file__).with_name("masked_cases.json").read_text())
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", masked_cases.CASES)
def test_values(name: str) -> None:
    same_answer(masked_cases.CASES[name](torch), RECORDED["cases"][name])


@pytest.mark.parametrize("name", masked_cases.REFUSED)
def test_refusals(name: str) -> None:
    kind, text = RECORDED["refused"][name]
    with pytest.raises(Exception) as caught:  # its class and text is compared
        masked_cases.REFUSED[name](torch)
    assert type(caught.value).__name__ == kind
    assert str(caught.value) == text


def test_operators_without_a_meaning_for_masks_are_refused() -> None:
    with pytest.raises(TypeError, match="torch._ops.aten.max.default"):
        masked_cases.made(torch).max()


def test_sparse_inputs_give_sparse_results() -> None:
    x, mask = torch.tensor(masked_cases.DATA), torch.tensor(masked_cases.MASK)
    for held, sparse in ((mask.to_sparse(), x.to_sparse()), (mask.to_sparse_csr(), x.to_sparse_csr())):
        found = torch.masked.sum(sparse, 1, keepdim=True, mask=held)
        assert found.layout == sparse.layout
        assert found.to_dense().tolist() == torch.masked.sum(x, 1, keepdim=True, mask=mask).tolist()
        assert torch.masked._output_mask(torch.masked.sum, sparse, 1, keepdim=True, mask=held).to_dense().tolist() == [
            [True], [False], [True],
        ]  # fmt: skip


def test_names_of_aten_that_are_further_names() -> None:
    assert torch.ops.aten.arctan2(torch.tensor(1.0), torch.tensor(1.0)).item() == pytest.approx(math.pi / 4)
    assert torch.ops.aten.divide.overloads() == torch.ops.aten.div.overloads()
    assert repr(torch.ops.aten.absolute_) == "<OpOverloadPacket(op='aten.absolute_')>"
