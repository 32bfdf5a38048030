"""Facts that rows state: PyTorch's tags are PyTorch's, and what a row says of its operator holds for its samples."""

import json
import pathlib
from contextlib import suppress
from typing import Any

import pytest
from samples import Inputs, samples

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._dispatch.tags import Tag
from mindtorch_v2._operators.table import ROWS, aten, facts_of, op, row_of

pytestmark = pytest.mark.no_torch

TAGS = json.loads((pathlib.Path(__file__).parents[1] / "snapshots" / "tags.json").read_text())
FORMS = {
    f"{form.name}.{form.overload or 'default'}": form
    for row in ROWS.values()
    for form in (row.handle, row.inplace, row.out, row.generated_out)
    if form is not None
}


def test_every_operator_is_recorded() -> None:
    assert sorted(FORMS) == sorted(TAGS), "run tools/make_tags.py where PyTorch is installed"


def test_tags_are_those_of_pytorch() -> None:
    wrong = {}
    for name, expected in TAGS.items():
        packet, _, overload = name.partition(".")
        found = " ".join(sorted(tag.name for tag in getattr(getattr(torch.ops.aten, packet), overload).tags))
        if expected is not None and found != expected:
            wrong[name] = (found, expected)
    assert not wrong


def test_derived_forms_have_pytorchs_names() -> None:
    """`max.dim` writes with `max.dim_max`: libraries ask for forms by these names."""
    derived = [form for row in ROWS.values() for form in (row.inplace, row.out, row.generated_out) if form is not None]
    names = [f"{form.name}.{form.overload or 'default'}" for form in derived]
    assert len(names) > 800 and "max.dim_max" in names
    assert not [name for name in names if TAGS[name] is None]
    written = torch.ops.aten.max.dim_max._schema.arguments[-2:]
    assert [each.name for each in written] == ["max", "max_values"]


def test_what_draws_is_tagged() -> None:
    """But for two that PyTorch tags, and that draw nothing."""
    assert not [name for name, form in FORMS.items() if form.random != facts_of(form).draws]
    tagged = {row.name for row in ROWS.values() if Tag.nondeterministic_seeded in row.facts.tags}
    drawing = {row.name for row in ROWS.values() if row.facts.draws}
    assert drawing < tagged
    assert tagged - drawing == {"_fused_sdp_choice", "_scaled_dot_product_flash_attention_for_cpu"}


def test_every_form_knows_its_row() -> None:
    for row in ROWS.values():
        for form in (row.handle, row.inplace, row.out, row.generated_out):
            assert form is None or (row_of(form) is row and facts_of(form) is row.facts)


def _calls(keep: Any) -> pytest.MarkDecorator:
    chosen = [(name, index) for name, row in sorted(ROWS.items()) if keep(row) for index in range(len(samples(row)))]
    return pytest.mark.parametrize(("name", "index"), chosen, ids=[f"{name}-{index}" for name, index in chosen])


def _named(row: Any, inputs: Inputs) -> dict[str, Any]:
    names = [argument["name"] for argument in row.handle.arguments]
    named = dict(zip(names, inputs.args, strict=False)) | inputs.kwargs
    return {name: getattr(torch, value) if name == "dtype" else value for name, value in named.items()}


def _run(row: Any, values: dict[str, Any]) -> list[torch.Tensor]:
    by_name = {argument["name"]: argument for argument in row.handle.arguments}
    args = [value for name, value in values.items() if not by_name[name]["kwarg_only"]]
    kwargs = {name: value for name, value in values.items() if by_name[name]["kwarg_only"]}
    made = getattr(aten, row.handle.name)(*args, **kwargs)
    return list(made) if isinstance(made, (tuple, list)) else [made]


NO_CALL = (RuntimeError, NotImplementedError, TypeError, ValueError, AttributeError)


def test_what_does_not_say_that_it_draws_draws_nothing() -> None:
    """Which a compiler counts on: it asks kernels for their loops, and computes things twice or not at all."""
    wrong, calls = [], 0
    for name, row in sorted(ROWS.items()):
        for index in range(len(samples(row))):
            before = torch.get_rng_state()
            with suppress(*NO_CALL):  # in float64
                values = _named(row, Inputs(torch, row, index, "float64"))
                torch.set_rng_state(before)
                _run(row, values)
                calls += 1
                if not torch.equal(before, torch.get_rng_state()) and not row.facts.draws:
                    wrong.append(name)
    assert not wrong
    assert calls > 1000


def _sum_of(x: Any, y: Any) -> Any:
    return [_sum_of(a, b) for a, b in zip(x, y, strict=True)] if isinstance(x, list) else 2 * x - 3 * y


def _other(x: Any) -> Any:
    return [_other(each) for each in x] if isinstance(x, list) else torch.flip(x, list(range(x.dim()))) + 0.5


def _check_linear(row: Any, values: dict[str, Any], names: tuple[str, ...]) -> None:
    other = values | {name: _other(values[name]) for name in names}
    both = values | {name: _sum_of(values[name], other[name]) for name in names}
    for result, one, two in zip(_run(row, both), _run(row, values), _run(row, other), strict=True):
        torch.testing.assert_close(result, 2 * one - 3 * two)


def _linear_arguments(row: Any) -> tuple[str, ...]:
    first = (row.handle.arguments[0]["name"],) if row.handle.is_view and row.grad else ()
    return row.facts.linear or first


@_calls(lambda row: _linear_arguments(row) or row.facts.multilinear)
def test_linear(name: str, index: int) -> None:
    row = ROWS[name]
    values = _named(row, Inputs(torch, row, index, "float64"))
    together = _linear_arguments(row)
    if together and all(_is_real(values[each]) for each in together):
        _check_linear(row, values, together)
    for one in row.facts.multilinear:
        _check_linear(row, values, (one,))


def _is_real(value: Any) -> bool:
    return all(_is_real(each) for each in value) if isinstance(value, list) else value.dtype == torch.float64


@_calls(lambda row: row.facts.elementwise and Tag.nondeterministic_seeded not in row.facts.tags and row.body is None)
def test_elementwise(name: str, index: int) -> None:
    """The elements of the arguments in another order give the elements of the results in that order."""
    row = ROWS[name]
    values = _named(row, Inputs(torch, row, index, "float64"))
    shapes = [value.shape for value in values.values() if isinstance(value, torch.Tensor)]
    shape = torch.broadcast_shapes(*shapes)
    order = torch.randperm(shape.numel(), generator=torch.Generator().manual_seed(0))

    def spread(value: Any) -> Any:
        whole = isinstance(value, torch.Tensor) and (value.dim() or not any(map(len, shapes)))
        return value.expand(shape).reshape(-1) if whole else value

    plain = {each: spread(value) for each, value in values.items()}
    moved = {each: value[order] if value is not values[each] else value for each, value in plain.items()}
    for result, permuted in zip(_run(row, plain), _run(row, moved), strict=True):
        if result.numel():
            torch.testing.assert_close(permuted, result[order], equal_nan=True)


def test_results_that_are_arguments() -> None:
    x = torch.ones(3)
    for name in "contiguous cpu float positive conj resolve_conj resolve_neg flatten to_dense".split():
        assert getattr(x, name)() is x
        assert any(row.facts.gives_back for row in ROWS.values() if row.handle.name == name)
    for name in "neg reshape ravel expand_as clone add.Tensor".split():
        assert not ROWS[name].facts.gives_back


def test_what_is_left_as_the_memory_was() -> None:
    names = {row.handle.name for row in ROWS.values()}
    assert {row.handle.name for row in ROWS.values() if row.facts.unfilled} == {
        name
        for name in names
        if "empty" in name or name.startswith("resize") and "sparse" not in name or name == "_make_dep_token"
    }


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.facts.keeps_zero])
def test_zero_stays_zero(name: str) -> None:
    assert not torch.count_nonzero(ROWS[name].handle(torch.zeros(3)))


def test_a_fact_without_meaning_is_refused() -> None:
    for words, message in (
        ({"tags": "pointwize"}, "no torch.Tag is called 'pointwize'"),
        ({"tags": "out"}, "follow from the schema"),
        ({"autocast": "half"}, "none of"),
        ({"linear": "other"}, "no argument"),
    ):
        with pytest.raises(ValueError, match=message):
            op("_never(Tensor self) -> Tensor", "Nothing.", grad=None, **words)
        made = _C._find_operator("aten::_never", "")
        if made is not None:
            _C._erase_operator(made)
    assert "_never" not in ROWS


def test_forward_mode_of_the_gradient_of_glu() -> None:
    """Its rule keeps sizes, but it reads elements at two places: a tangent is no product of elements."""
    torch.manual_seed(0)
    point = torch.rand(2, 3, dtype=torch.float64), torch.rand(2, 6, dtype=torch.float64)
    direction = torch.rand(2, 3, dtype=torch.float64), torch.rand(2, 6, dtype=torch.float64)

    def gradient(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.glu_backward(grad, x, -1)

    ahead, behind = (gradient(*(p + s * d for p, d in zip(point, direction, strict=True))) for s in (1e-6, -1e-6))
    torch.testing.assert_close(torch.func.jvp(gradient, point, direction)[1], (ahead - behind) / 2e-6)


def test_formulas_for_lists_belong_to_linear_rows() -> None:
    """Forward mode relies on it: it asks other formulas for the gradient of one tensor each."""
    found = []
    for name, row in ROWS.items():
        types = {argument["name"]: argument["type"] for argument in row.handle.arguments}
        named = [each for key in row.grad or () for each in ((key,) if isinstance(key, str) else key)]
        found += [(name, each) for each in named if "[" in types[each] and types[each].startswith("Tensor")]
        assert all(each in row.facts.linear for owner, each in found if owner == name)
    assert found == [("cat", "tensors"), ("stack", "tensors")]
