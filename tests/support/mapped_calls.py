"""Calls of operators, mapped over by vmap: what their slices give one by one."""

import functools
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal

from comparison import difference
from expected import RAISED, is_inner, is_random, uninitialised
from samples import Inputs, dtypes, flat, samples, tensor_specs, to_array

import mindtorch_v2 as torch
from mindtorch_v2._operators.table import ROWS

# Computed slice by slice, with a warning.
LOOPS = {
    "_grouped_mm", "bincount", "repeat_interleave.Tensor", "repeat_interleave.self_Tensor", "fractional_max_pool2d", "fractional_max_pool3d", "histc", "histogram.bin_ct",
    "histogram.bins_tensor", "_lstm_scan", "lstm.input", "nonzero_static", "segment_reduce",
}  # fmt: skip
# Only tensors with rows of aligned memory are taken.
ALIGNED = ("_grouped_mm",)
# One tensor of scales for a whole list: no operator's argument can be mapped over there.
# Second derivatives of nll_loss_backward by slices are those of one sum of weights.
ONE_SUM = ("nll_loss_backward",)
LISTS_OF_SCALES = ("_foreach_addcdiv.Tensor", "_foreach_addcmul.Tensor")
# How operators refuse tensors without elements, and loops no slices.
NEEDS_A_SLICE = "tensor with at least one element|other non-zero dimensions|has no rule for vmap"


def is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def tensors_in(value: Any) -> list:
    if is_tensor(value):
        return [value]
    return [t for item in value for t in tensors_in(item)] if isinstance(value, (list, tuple)) else []


def with_tensors(value: Any, tensors: Iterator) -> Any:
    if is_tensor(value):
        return next(tensors)
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(with_tensors(item, tensors) for item in value)
    return value


class Call:
    """A call as a function of its tensors, and a second set of tensors of the same shapes."""

    def __init__(
        self, operator: Callable, args: Any, kwargs: dict, *, may_loop: bool = False, is_aligned: bool = False
    ) -> None:
        self.operator, self.names, self.may_loop, self.is_aligned = operator, list(kwargs), may_loop, is_aligned
        self.values = [list(args), list(kwargs.values())]
        self.tensors = tensors_in(self.values)
        self.others = [
            t * 0.75 if t.is_floating_point() or t.is_complex() else t.flip(0) if t.dim() else t for t in self.tensors
        ]

    def __call__(self, *tensors: Any) -> tuple:
        args, keywords = with_tensors(self.values, iter(tensors))
        return tuple(flat(self.operator(*args, **dict(zip(self.names, keywords, strict=True)))))

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
        places = (0, 0) if self.is_aligned else (0, -1)
        dims = tuple(places[number % 2] if over else None for number, over in enumerate(mapped))
        given = [
            one if d is None else torch.stack([one, other], d) for (one, other, _), d in zip(pairs, dims, strict=True)
        ]
        got = self.without_loops(lambda: torch.vmap(function, in_dims=dims)(*given))
        compare(got, expected)

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
            mapped = function
            for level in (inner, outer):
                mapped = torch.vmap(mapped, in_dims=tuple(0 if over else None for over in level))
            got = self.without_loops(functools.partial(mapped, *given))
            for i in (0, 1):
                compare([each[i] if is_tensor(each) else each for each in got], expected[i])

    def check_none(self, function: Callable) -> None:
        """No slice at all: results of none of the slices that there would be."""
        try:
            expected = function(*self.tensors)
        except RAISED:
            return
        given = [torch.stack([t])[:0] for t in self.tensors]
        try:
            got = self.without_loops(lambda: torch.vmap(function)(*given))
        except RuntimeError as error:
            if not re.search(NEEDS_A_SLICE, str(error)):
                raise
            return
        for ours, slice in zip(got, expected, strict=True):
            if is_tensor(slice):
                assert (ours.shape, ours.dtype) == ((0, *slice.shape), slice.dtype)

    def without_loops(self, call: Callable[[], Any]) -> Any:
        with warnings.catch_warnings():
            action: Literal["ignore", "error"] = "ignore" if self.may_loop else "error"
            warnings.filterwarnings(action, message="There is a performance drop")
            return call()


def compare(got: Any, expected: list) -> None:
    assert len(got) == len(expected[0])
    for ours, *slices in zip(got, *expected, strict=True):
        if is_tensor(slices[0]):
            wanted = torch.stack(slices).detach()
            assert ours.dtype == wanted.dtype
            problem = difference(to_array(ours.detach()), to_array(wanted), str(wanted.dtype).rpartition(".")[2], 10)
            assert problem is None, problem


class Sample(Call):
    """A row's sample, and its gradients."""

    def __init__(self, row: Any, index: int) -> None:
        swept = dtypes(row, samples(row)[index])
        inputs = Inputs(torch, row, index, "float64" if "float64" in swept else swept[0])
        super().__init__(
            row.handle, inputs.args, inputs.kwargs, may_loop=row.name in LOOPS, is_aligned=row.name in ALIGNED
        )

    def pull(self, *tensors: Any) -> tuple[tuple, Callable]:
        """The differentiable results, and what maps gradients of theirs to those of the floating-point arguments."""
        leaves = [i for i, t in enumerate(tensors) if t.is_floating_point() or t.is_complex()]

        def results(*values: Any) -> tuple:
            given = list(tensors)
            for i, value in zip(leaves, values, strict=True):
                given[i] = value
            return tuple(r for r in self(*given) if is_tensor(r) and r.requires_grad)

        return torch.func.vjp(results, *(tensors[i] for i in leaves))

    def gradients(self, *tensors: Any) -> tuple:
        results, back = self.pull(*tensors)
        return back(tuple(torch.full_like(r, 0.5) for r in results))

    def check_jacobian(self) -> None:
        try:
            results, back = self.pull(*self.tensors)
            steps = [tuple(torch.full_like(r, scale) for r in results) for scale in (0.5, -1.0)]
            expected = [back(step) for step in steps]
        except RAISED:
            return
        given = tuple(torch.stack(pair) for pair in zip(*steps, strict=True))
        compare(self.without_loops(lambda: torch.vmap(back)(given)), expected)


# The rows with samples of tensors whose results say the same each time.
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
    and name not in ONE_SUM
    and not is_inner(row)
]
