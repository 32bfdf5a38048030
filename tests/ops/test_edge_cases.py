"""Edges of what operators take, against what PyTorch 2.13 answered (`edge_cases.json`)."""

import json
import warnings
from pathlib import Path

import pytest
from answers import same_answer

import mindtorch_v2 as torch
from tests.ops import edge_cases

RECORDED = json.loads(Path(__file__).with_name("edge_cases.json").read_text())


@pytest.mark.parametrize("name", edge_cases.CASES)
def test_values(name: str) -> None:
    same_answer(edge_cases.CASES[name](torch), RECORDED["cases"][name])


@pytest.mark.parametrize("name", edge_cases.REFUSED)
def test_refusals(name: str) -> None:
    kind, text = RECORDED["refused"][name]
    with pytest.raises(Exception) as caught:  # its class and text is compared
        edge_cases.REFUSED[name](torch)
    assert type(caught.value).__name__ == kind
    assert str(caught.value) == text.replace("'torch.", "'mindtorch_v2.")


def test_masks_of_bytes_are_told_each_time() -> None:
    mask, x = torch.tensor([1, 0], dtype=torch.uint8), torch.arange(2)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert x[mask].tolist() == [0]
        assert x.index_put_((mask,), torch.tensor([7])).tolist() == [7, 1]
    assert [str(each.message) for each in told] == [
        "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."
    ] * 2


def test_meshgrid_asks_for_its_indexing() -> None:
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="it will be required to pass the indexing argument"):
            torch.meshgrid(torch.arange(2), torch.arange(3))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")
    finally:
        torch.set_warn_always(before)
