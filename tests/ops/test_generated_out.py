"""The `out=` forms that PyTorch generates from an operator's row: schemas, results, and what they refuse."""

import gzip
import pathlib
from typing import Any

import pytest
from agreement import agree, same
from comparison import difference
from expected import uninitialised
from samples import Inputs, dtypes, flat, samples, to_array

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._operators.table import ROWS

SCHEMAS = pathlib.Path(__file__).parents[1] / "snapshots" / "library" / "registered_schemas.txt.gz"
GENERATED = {name: row for name, row in sorted(ROWS.items()) if row.generated_out is not None}
# PyTorch calls its first argument `grad`.
OTHERWISE = {"matmul_backward"}


@pytest.mark.no_torch
def test_schemas_are_those_of_pytorch() -> None:
    theirs = set(gzip.decompress(SCHEMAS.read_bytes()).decode().splitlines())
    ours = {name: row.generated_out.schema for name, row in GENERATED.items()}
    assert len(ours) > 230
    assert {name for name, schema in ours.items() if schema not in theirs} == OTHERWISE


@pytest.mark.no_torch
def test_a_derived_schema_is_what_the_parser_makes_of_its_text() -> None:
    for row in ROWS.values():
        for form in filter(None, (row.inplace, row.out, row.generated_out)):
            assert repr(_C._parse_schema(form.schema)) == repr(form.schema_parts)


@pytest.mark.no_torch
@pytest.mark.parametrize("name", [name for name, row in GENERATED.items() if not uninitialised(row)])
def test_results_are_written(name: str) -> None:
    row = GENERATED[name]
    form, as_list = row.generated_out, row.schema.endswith("Tensor[]")
    names = [argument["name"] for argument in form.arguments if argument["is_write"]]
    for index, sample in enumerate(samples(row)):

        def call(function: Any, outs: Any, index: int = index, dtype: str = dtypes(row, sample)[0]) -> Any:
            torch.manual_seed(0)
            inputs = Inputs(torch, row, index, dtype)
            return function(*inputs.args, **inputs.kwargs, **outs)

        try:
            expected = flat(call(row.handle, {}))
        except RuntimeError:  # the sample was made from the schema
            with pytest.raises(RuntimeError):
                call(form, {each: torch.empty(0) for each in names})
            continue
        empty = [torch.empty(0, dtype=item.dtype) for item in expected]
        returned = call(form, {"out": empty} if as_list else dict(zip(names, empty, strict=True)))
        if as_list:
            assert returned is None
        else:
            assert all(one is other for one, other in zip(flat(returned), empty, strict=True))
        for mine, wanted in zip(empty, expected, strict=True):
            assert difference(to_array(mine), to_array(wanted), str(wanted.dtype).rpartition(".")[2]) is None


def test_results_are_those_of_pytorch() -> None:
    def program(torch: Any) -> list:
        aten, x = torch.ops.aten, torch.tensor([1.0, float("nan")])
        flags, lists = torch.empty(0, dtype=torch.bool), [torch.empty(0), torch.empty(0)]
        made = [aten.isnan.out(x, out=flags), aten.hann_window.out(5, out=torch.empty(0, dtype=torch.float64))]
        nothing = aten._foreach_add.Scalar_out([torch.ones(2), torch.zeros(3)], 2, out=lists)
        made += [*lists, aten.scalar_tensor.out(3, out=torch.empty(0, dtype=torch.int32))]
        made += aten.native_dropout.out(torch.ones(3), 0.0, True, out0=torch.empty(0), out1=torch.empty(0).bool())
        made += [
            aten.zero.out(torch.ones(3), out=torch.ones(3)),
            aten.fill.Scalar_out(torch.ones(3), 2, out=torch.ones(3)),
        ]
        made += [aten.isnan.out(x.to("meta"), out=torch.empty(0, dtype=torch.bool, device="meta")).shape]
        torch.manual_seed(0)
        for drawn in (
            aten.uniform.out(torch.empty(3), 1.0, 2.0, out=torch.empty(0)),
            aten.random.from_out(torch.empty(3), 3, 9, out=torch.empty(0)),
            aten.random.to_out(torch.empty(3), 9, out=torch.empty(0)),
            aten.normal.out(torch.empty(3), 1.0, out=torch.empty(0)),
            aten.bernoulli.float_out(torch.empty(3), out=torch.empty(0)),
        ):
            made.append(drawn)
        return [nothing, made, [str(tag) for tag in aten.uniform.out.tags], [str(tag) for tag in aten.isnan.out.tags]]

    same(program, 1e-15)  # the window's cosine differs in its last digit from processor to processor


REFUSED = {
    "dtype": lambda torch: torch.ops.aten.isnan.out(torch.ones(2), out=torch.empty(0)),
    "dtype in a list": lambda torch: torch.ops.aten._foreach_abs.out([torch.ones(2)], out=[torch.empty(0).int()]),
    "length": lambda torch: torch.ops.aten._foreach_abs.out([torch.ones(2)], out=[]),
    "function": lambda torch: torch.isnan(torch.ones(2), out=torch.empty(0).bool()),
    "undefined": lambda torch: torch.ops.aten.native_layer_norm_backward.out(
        *(torch.ones(2, 2), torch.ones(2, 2), [2], torch.ones(2, 1), torch.ones(2, 1), None, None, [False, False, False]),
        out0=torch.empty(0), out1=torch.empty(0), out2=torch.empty(0),
    ),
    "gradient": lambda torch: torch.ops.aten.hardswish_backward.out(
        torch.ones(2), torch.ones(2), out=torch.empty(2, requires_grad=True)
    ),
}  # fmt: skip


@pytest.mark.parametrize("which", REFUSED)
def test_what_is_refused(which: str) -> None:
    agree(REFUSED[which])


@pytest.mark.no_torch
def test_out_in_a_program_without_writes() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.isnan.out(x, out=torch.empty(2, dtype=torch.bool))

    assert torch.func.functionalize(program)(torch.ones(2)).tolist() == [False, False]
