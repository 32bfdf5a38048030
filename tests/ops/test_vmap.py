"""Every sample of every row under vmap, forward, gradient and Jacobian: what the slices give one by one.

A row without a rule is computed slice by slice and warns of it: `LOOPS` of mapped_calls.py lists all of them, so that a new row gets a rule.
"""

import pytest
from mapped_calls import ROWS_TO_MAP, Sample
from samples import samples

import mindtorch_v2 as torch
from mindtorch_v2._operators.table import ROWS

# What PyTorch refuses under vmap too, and how: results whose size or existence depends on values.
REFUSED = {
    "_assert_async": "must only return Tensors",
    "_unique": "dynamic shape",
    "_unique2": "dynamic shape",
    "allclose": "vmap over torch.allclose isn't supported",
    "_test_check_tensor": "data-dependent control flow",
    "equal": "data-dependent control flow",
    "is_nonzero": "data-dependent control flow",
    "is_pinned": "must only return Tensors",
    "is_same_size": "must only return Tensors",
    **dict.fromkeys(("dim", "is_contiguous"), "must only return Tensors"),
    **dict.fromkeys(("sym_numel", "sym_size", "sym_size.int", "sym_storage_offset"), "must only return Tensors"),
    **dict.fromkeys(("sym_stride", "sym_stride.int"), "must only return Tensors"),
    "is_signed": "must only return Tensors",
    "istft": r"\.item\(\)",
    "masked_select": "dynamic shape",
    "nonzero": "dynamic shape",
    "nonzero_numpy": "dynamic shape",
    "unique_consecutive": "dynamic shape",
    "unique_dim": "dynamic shape",
    "unique_dim_consecutive": "dynamic shape",
    "where": "dynamic shape",
}
# Their gradients look at values, in PyTorch too.
NO_JACOBIAN = ("masked_scatter",)


@pytest.mark.parametrize("name", ROWS_TO_MAP)
def test_slices(name: str) -> None:
    row = ROWS[name]
    for index in range(len(samples(row))):
        sample = Sample(row, index)
        for mapped in sample.patterns():
            if name in REFUSED:
                with pytest.raises((RuntimeError, ValueError), match=REFUSED[name]):
                    sample.check(sample, mapped)
                return
            sample.check(sample, mapped)
            if row.grad:
                sample.check(sample.gradients, mapped)
        sample.check_nested(sample)
        sample.check_none(sample)
        if row.grad:
            sample.check_nested(sample.gradients)
        if row.grad and name not in NO_JACOBIAN:
            sample.check_jacobian()


def test_labels_that_are_left_out() -> None:
    made = torch.vmap(lambda scores, labels: torch.nn.functional.cross_entropy(scores, labels))(
        torch.zeros(2, 2, 3), torch.tensor([[0, -100], [1, 2]])
    )
    assert (made - torch.tensor(3.0).log()).abs().max() < 1e-6


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_slices_whose_sizes_depend_on_values() -> None:
    """They are computed one after the other, as in PyTorch, which refuses nonzero and its like."""
    counts = torch.tensor([[1, 2], [2, 1]])
    assert torch.vmap(torch.repeat_interleave)(counts).tolist() == [[0, 1, 1], [0, 0, 1]]
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        torch.vmap(torch.repeat_interleave)(torch.tensor([[1, 2], [2, 2]]))
