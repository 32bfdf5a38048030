"""Every sample of every row under vmap, forward, gradient and Jacobian: what the slices give one by one.

A row without a rule is computed slice by slice and warns of it: `LOOPS` lists all of them, so that a new row gets a rule.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from comparison import difference
from expected import RAISED, is_random, uninitialised
from samples import Inputs, dtypes, flat, samples, tensor_specs, to_array

import mindtorch_v2 as torch
from mindtorch_v2._operators.table import ROWS

LOOPS = {
    "_grouped_mm", "bincount", "repeat_interleave.Tensor", "repeat_interleave.self_Tensor", "fractional_max_pool2d", "fractional_max_pool3d", "histc", "histogram.bin_ct",
    "histogram.bins_tensor", "_lstm_scan", "lstm.input", "nonzero_static", "segment_reduce",
}  # fmt: skip
# What PyTorch refuses under vmap too, and how: results whose size or existence depends on values.
REFUSED = {
    "_assert_async": r"\.item\(\)",
    "_unique": "dynamic shape",
    "_unique2": "dynamic shape",
    "allclose": "vmap over torch.allclose isn't supported",
    "argwhere": "dynamic shape",
    "equal": "data-dependent control flow",
    "is_nonzero": "data-dependent control flow",
    "is_pinned": "must only return Tensors",
    "is_same_size": "must only return Tensors",
    **dict.fromkeys(("sym_numel", "sym_size.int", "sym_storage_offset", "sym_stride.int"), "must only return Tensors"),
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
# Only tensors with rows of aligned memory are taken.
ALIGNED = ("_grouped_mm",)
# How operators refuse tensors without elements, and loops no slices.
NEEDS_A_SLICE = "tensor with at least one element|other non-zero dimensions|has no rule for vmap"
# One tensor of scales for a whole list: no operator's argument can be mapped over there.
LISTS_OF_SCALES = ("_foreach_addcdiv.Tensor", "_foreach_addcmul.Tensor")


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _tensors(value: Any) -> list:
    if _is_tensor(value):
        return [value]
    return [t for item in value for t in _tensors(item)] if isinstance(value, (list, tuple)) else []


def _with(value: Any, tensors: Iterator) -> Any:
    if _is_tensor(value):
        return next(tensors)
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(_with(item, tensors) for item in value)
    return value


class Sample:
    """A row's sample as a function of its tensors, and a second set of tensors of the same shapes."""

    def __init__(self, row: Any, index: int) -> None:
        swept = dtypes(row, samples(row)[index])
        inputs = Inputs(torch, row, index, "float64" if "float64" in swept else swept[0])
        self.row, self.names = row, list(inputs.kwargs)
        self.values = [list(inputs.args), list(inputs.kwargs.values())]
        self.tensors = _tensors(self.values)
        self.others = [
            t * 0.75 if t.is_floating_point() or t.is_complex() else t.flip(0) if t.dim() else t for t in self.tensors
        ]

    def __call__(self, *tensors: Any) -> tuple:
        args, keywords = _with(self.values, iter(tensors))
        return tuple(flat(self.row.handle(*args, **dict(zip(self.names, keywords, strict=True)))))

    def pull(self, *tensors: Any) -> tuple[tuple, Callable]:
        """The differentiable results, and what maps gradients of theirs to those of the floating-point arguments."""
        leaves = [i for i, t in enumerate(tensors) if t.is_floating_point() or t.is_complex()]

        def results(*values: Any) -> tuple:
            given = list(tensors)
            for i, value in zip(leaves, values, strict=True):
                given[i] = value
            return tuple(r for r in self(*given) if _is_tensor(r) and r.requires_grad)

        return torch.func.vjp(results, *(tensors[i] for i in leaves))

    def gradients(self, *tensors: Any) -> tuple:
        results, back = self.pull(*tensors)
        return back(tuple(torch.full_like(r, 0.5) for r in results))

    def patterns(self) -> list[tuple[bool, ...]]:
        """Which tensors are mapped over: all, the first, all but the first, the last."""
        n = len(self.tensors)
        made = {(True,) * n, (True, *(False,) * (n - 1)), (False, *(True,) * (n - 1)), (*(False,) * (n - 1), True)}
        return sorted(pattern for pattern in made if any(pattern))

    def check(self, function: Callable, mapped: tuple[bool, ...]) -> None:
        pairs = list(zip(self.tensors, self.others, mapped, strict=True))
        try:
            expected = [function(*(pair[which and pair[2]] for pair in pairs)) for which in (0, 1)]
        except RAISED:
            return  # the sample is for something else
        places = (0, 0) if self.row.name in ALIGNED else (0, -1)
        dims = tuple(places[number % 2] if over else None for number, over in enumerate(mapped))
        given = [
            one if d is None else torch.stack([one, other], d) for (one, other, _), d in zip(pairs, dims, strict=True)
        ]
        got = self._without_loops(lambda: torch.vmap(function, in_dims=dims)(*given))
        _compare(got, expected)

    def check_nested(self, function: Callable) -> None:
        """Two levels, each of which maps over some of the tensors."""
        n, pairs = len(self.tensors), list(zip(self.tensors, self.others, strict=True))
        first, rest = (True, *(False,) * (n - 1)), (False, *(True,) * (n - 1))
        for outer, inner in {((True,) * n, (True,) * n), (first, rest), (rest, first), (first, (True,) * n)}:
            if not (any(outer) and any(inner)):
                continue
            levels = list(zip(outer, inner, strict=True))
            try:
                expected = [
                    [
                        function(*(p[(o and i) ^ (q and j)] for p, (o, q) in zip(pairs, levels, strict=True)))
                        for j in (0, 1)
                    ]
                    for i in (0, 1)
                ]
            except RAISED:
                return
            given = [
                torch.stack([torch.stack(p), torch.stack(p[::-1])]) if o and q else torch.stack(p) if o or q else p[0]
                for p, (o, q) in zip(pairs, levels, strict=True)
            ]
            dims = [tuple(0 if over else None for over in level) for level in (inner, outer)]
            got = self._without_loops(
                lambda dims=dims, given=given: torch.vmap(torch.vmap(function, in_dims=dims[0]), in_dims=dims[1])(
                    *given
                )
            )
            for i in (0, 1):
                _compare([each[i] if _is_tensor(each) else each for each in got], expected[i])

    def check_none(self, function: Callable) -> None:
        """No slice at all: results of none of the slices that there would be."""
        try:
            expected = function(*self.tensors)
        except RAISED:
            return
        given = [torch.stack([t])[:0] for t in self.tensors]
        try:
            got = self._without_loops(lambda: torch.vmap(function)(*given))
        except RuntimeError as error:
            if not re.search(NEEDS_A_SLICE, str(error)):
                raise
            return
        for ours, slice in zip(got, expected, strict=True):
            if _is_tensor(slice):
                assert (ours.shape, ours.dtype) == ((0, *slice.shape), slice.dtype)

    def check_jacobian(self) -> None:
        try:
            results, back = self.pull(*self.tensors)
            steps = [tuple(torch.full_like(r, scale) for r in results) for scale in (0.5, -1.0)]
            expected = [back(step) for step in steps]
        except RAISED:
            return
        given = tuple(torch.stack(pair) for pair in zip(*steps, strict=True))
        _compare(self._without_loops(lambda: torch.vmap(back)(given)), expected)

    def _without_loops(self, call: Callable) -> Any:
        with warnings.catch_warnings():
            action = "ignore" if self.row.name in LOOPS else "error"
            warnings.filterwarnings(action, message="There is a performance drop")
            return call()


def _compare(got: Any, expected: list) -> None:
    assert len(got) == len(expected[0])
    for ours, *slices in zip(got, *expected, strict=True):
        if _is_tensor(slices[0]):
            wanted = torch.stack(slices).detach()
            assert ours.dtype == wanted.dtype
            problem = difference(to_array(ours.detach()), to_array(wanted), str(wanted.dtype).rpartition(".")[2], 10)
            assert problem is None, problem


ROWS_TO_MAP = [
    name
    for name, row in sorted(ROWS.items())
    if any(tensor_specs(sample) for sample in samples(row))
    and row.handle.form == "functional"
    and not is_random(row)
    and not row.handle.random
    and not name.startswith("rand")
    and not uninitialised(row)
    and name not in LISTS_OF_SCALES
]


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
