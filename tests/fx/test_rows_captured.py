"""Every row of the operator table as a captured graph: real and fake traces hold what `verify` states, and give what eager gives."""

from typing import Any

import pytest
import reference
from expected import is_inner, is_random, uninitialised
from samples import Inputs, dtypes, flat, samples

import mindtorch_v2 as torch
from mindtorch_v2._core.torch_dispatch import whole_calls
from mindtorch_v2._operators.table import ROWS, facts_of
from mindtorch_v2._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedOperatorException,
)
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.utils import _pytree as pytree

if reference.is_reference():
    pytest.skip("the rows are ours", allow_module_level=True)

from mindtorch_v2.graph import verify

CASES = [  # of the samples of a row the first with real tensors too
    (name, index, mode)
    for name in sorted(ROWS)
    for index in range(len(samples(ROWS[name])))
    for mode in (("real", "fake") if index == 0 else ("fake",))
    if not is_random(ROWS[name]) and not uninitialised(ROWS[name]) and not is_inner(ROWS[name])
]
# Composites whose bodies call what does: `nonzero`, `repeat_interleave` of counts, the numbers in a tensor, a check of a window.
BODY_READS_VALUES = {
    "where", "repeat_interleave.self_Tensor", "_foreach_addcdiv.Tensor", "_foreach_addcmul.Tensor", "istft",
}  # fmt: skip
WITHOUT_SHAPES = {"_grouped_mm"}  # nothing says what they give
TAKES_A_VALUE = "trying to get value out of a tracing tensor"


def _copied(tree: Any) -> Any:
    return pytree.tree_map_only(torch.Tensor, torch.clone, tree)


def _asks_for_values(name: str) -> bool:
    """Whether a row says that sizes, results or refusals come from values, which a trace does not know."""
    facts = facts_of(ROWS[name].handle)
    return bool(facts.sizes_by_values or facts.gives_value or facts.raises_by_values) or name in BODY_READS_VALUES


def _same(one: Any, other: Any) -> bool:
    if not isinstance(one, torch.Tensor):
        return one == other or repr(one) == repr(other)
    one, other = one.resolve_conj(), other.resolve_conj()
    return (
        one.shape == other.shape
        and one.dtype == other.dtype
        and torch.equal(torch.nan_to_num(one), torch.nan_to_num(other))
    )


@pytest.mark.parametrize(("name", "index", "mode"), CASES, ids=["-".join(map(str, case)) for case in CASES])
def test_captured_is_eager(name: str, index: int, mode: str) -> None:
    row = ROWS[name]
    dtype = dtypes(row, samples(row)[index])[0]
    inputs = Inputs(torch, row, index, dtype)
    tree = (tuple(inputs.args), dict(inputs.kwargs))
    leaves, spec = pytree.tree_flatten(tree)
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def program(tensors: list) -> Any:
        given = iter(tensors)
        args, kwargs = spec.unflatten([next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves])
        return row.handle(*args, **kwargs)

    torch.manual_seed(0)
    try:
        expected = flat(program(_copied(tensors)))
    except (RuntimeError, TypeError, ValueError, NotImplementedError):
        pytest.skip("a sample that is refused, as the derived tests check")
    try:
        with whole_calls():  # in PyTorch's parts numbers may differ in their last digits: test_parts.py
            module = make_fx(program, tracing_mode=mode)(_copied(tensors))
    except (DataDependentOutputException, DynamicOutputShapeException):
        assert _asks_for_values(name)
        return
    except UnsupportedOperatorException as error:
        assert name in WITHOUT_SHAPES, error
        return
    except RuntimeError as error:
        assert TAKES_A_VALUE in str(error) and _asks_for_values(name)
        return
    verify(module, (_copied(tensors),))
    torch.manual_seed(0)
    got = flat(module(_copied(tensors)))
    assert len(got) == len(expected)
    assert all(map(_same, got, expected))


def test_the_sweep_would_see_a_missing_kernel() -> None:
    lib = torch.library.Library("sweep_tests", "FRAGMENT")
    lib.define("nothing(Tensor x) -> Tensor")
    with pytest.raises(UnsupportedOperatorException, match="sweep_tests.nothing.default"):
        make_fx(lambda x: torch.ops.sweep_tests.nothing(x), tracing_mode="fake")(torch.ones(2))
    lib._destroy()
