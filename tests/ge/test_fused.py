"""Rows of `fused.tsv`: read, chosen for a call, said in GE, and read back from there."""

from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _C, torchair
from mindtorch_v2._backends.ge import apis, fused, graph
from mindtorch_v2._backends.ge.proto import Message
from mindtorch_v2._backends.ge.types import DataType
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx

pytestmark = pytest.mark.no_torch
ROWS = [row for rows in fused.rows().values() for row in rows]


def _ids(row: fused.Row) -> str:
    return f"{row.handle.name}-{row.type}-{ROWS.index(row)}"


class _Read:
    """A tensor of the device, as far as arguments are read from it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def tolist(self) -> Any:
        return self.value

    def reshape(self, size: int) -> Any:
        assert size == -1
        return self.value


def _of_numbers(kind: str) -> bool:
    return kind.startswith("Scalar") or ("[" in kind and not kind.startswith("Tensor"))


def _number(kind: str, choices: dict[Any, Any], word: str) -> Any:
    """A value of an argument that is not its default."""
    if word == "type":
        return 5
    if choices:
        return list(choices)[-1]
    values: dict[str, Any] = {
        "int": 3,
        "float": 0.25,
        "Scalar": 0.25,
        "bool": True,
        "str": "words",
        "ScalarType": torch.int32,
    }
    values |= {"int[]": [4, 2], "bool[]": [True, False]}
    return values[kind]


@pytest.mark.parametrize("row", ROWS, ids=_ids)
def test_row_is_read_back_as_it_was_said(row: fused.Row) -> None:
    stated = {a["name"]: a for a in row.handle.arguments}
    values = {name: a["default"] for name, a in stated.items()} | row.required
    made = graph.Graph()
    with made:
        for each in row.inputs:
            kind = stated[each.source]["type"]
            if _of_numbers(kind):
                values[each.source] = [1, 5] if "[" in kind else 3
                continue
            data = made.data(("input", 0), each.name, DataType.DT_FLOAT16, [2, 2] if each.along is None else [2])
            several = each.form in ("*", "+")
            values[each.source] = [data, data] if "[" in kind and several else [data] if "[" in kind else data
        for one in row.attributes:
            if one.source is not None and one.word != "len":
                values[one.source] = _number(fused._kind(stated[one.source]), one.choices, one.word)
        for axis in (each.along for each in row.inputs if each.along is not None):
            values[axis] = 1
        assert fused._fits(row, values)
        results = row.handle.returns
        meta = torch.empty(2, 2, dtype=torch.float16)
        metas: list[Any] = [[meta, meta] if "[" in r["type"] else 7 if r["type"] == "int" else meta for r in results]
        written = len(row.written)
        given_back = {out.source for out in row.outputs}
        metas = [
            torch.empty(0) if isinstance(each, torch.Tensor) and place not in given_back else each
            for place, each in enumerate(metas[: len(metas) - sum(r["is_write"] for r in results)])
        ]
        said = fused.build(row, values, [*metas, *[meta] * written])
    assert len(said) == len(metas) + written
    op = next(op for op in made.ops if op.type == row.type)
    message = Message.parse("OpDef", op.message().serialize())
    inputs = dict(op.inputs)
    assert fused._meant(row.type, message, inputs).type == row.type

    of_numbers = {each.name: each.source for each in row.inputs if _of_numbers(stated[each.source]["type"])}
    read = {}
    for name, value in inputs.items():
        copied = value is not None and value.op.type in ("TensorMove", "Reshape")
        source = value.op.inputs[0][1] if copied else value
        laid = value is not None and value.op.type == "Reshape"
        read[name] = _Read(values[of_numbers[name]]) if name in of_numbers else _Read(source) if laid else source
    back = fused.arguments(row, message, read)
    for name, value in values.items():
        if isinstance(value, graph.Tensor) or (isinstance(value, list) and isinstance(value[0], graph.Tensor)):
            assert back[name] is value or back[name] == value, name
        elif name not in {one.source for one in row.attributes if one.word == "len"}:
            assert back[name] == value, name
    assert list(back) == [a["name"] for a in row.handle.arguments]


def _row(handle: Any, *args: Any, **kwargs: Any) -> str | None:
    found = fused.row_for(_C._find_operator(handle, ""), args, kwargs)
    return None if found is None else found.type


def test_first_row_that_says_a_call_is_taken() -> None:
    x = torch.ones(2, 4)
    assert _row("npu::npu_rotary_mul", x, x, x) == "RotaryMul"
    assert _row("npu::npu_rotary_mul", x, x, x, "interleave") == "RotaryPositionEmbedding"
    assert _row("npu::npu_rotary_mul", x, x, x, rotary_mode="neither") is None
    assert _row("npu::npu_dynamic_quant", x) == "DynamicQuant"
    assert _row("npu::npu_dynamic_quant", x, quant_mode="pertensor") == "DynamicQuantV2"
    assert _row("npu::npu_dynamic_quant", x, dst_type=16) is None  # eight numbers in an int32
    assert _row("npu::npu_quantize", x, x, None, 1) == "Quantize"
    assert _row("npu::npu_quantize", x, x, None, 1, div_mode=False) == "AscendQuantV2"
    assert _row("npu::npu_fusion_attention", x, x, x, 1, "BSH", keep_prob=0.5) is None
    assert _row("npu::npu_fusion_attention", x, x, x, 1, "BSH", sync=True) == "FlashAttentionScore"
    assert _row("npu::npu_grouped_matmul", [x], [x], per_token_scale=[x, x]) is None


@pytest.mark.parametrize(
    ("line", "error", "text"),
    [
        ("npu::npu_absent\tAbsent\tx\ty\t", KeyError, "npu::npu_absent is no operator"),
        ("npu::npu_swiglu\tSwiGlu\tx=absent\ty\tdim", KeyError, "absent"),
        ("npu::npu_swiglu\tSwiGlu\tx=input\ty\tdim -absent", KeyError, "absent"),
        ("npu::npu_swiglu\tSwiGlu\tx==input\ty\tdim", ValueError, "'x==input' is no word of a row"),
        ("npu::npu_swiglu\tSwiGlu\tx=input\ty\tdim=", ValueError, "'dim=' is no word of a row"),
    ],
)
def test_faulty_row_is_refused(line: str, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        fused.parse(line)


def _ops(program: Any, *args: torch.Tensor) -> list[Any]:
    traced = make_fx(torch.func.functionalize(program), tracing_mode="fake")(*args)
    return torchair.lower(traced).model.graph[0].op


def test_operator_is_said_by_its_own_name() -> None:
    ops = _ops(lambda x, g: torch.ops.npu.npu_rms_norm(x, g, 0.25), torch.ones(2, 4), torch.ones(4))
    assert [op.type for op in ops] == ["Data", "Data", "RmsNorm", "NetOutput"]
    assert ops[2].attr["epsilon"].f == 0.25
    assert [desc.name for desc in ops[2].input_desc] == ["x", "gamma"]
    assert [list(desc.shape.dim) for desc in ops[2].output_desc] == [[2, 4], [2, 1]]


def test_results_have_their_own_order_and_numbers_are_none() -> None:
    def program(q: torch.Tensor) -> Any:
        return torch.ops.npu.npu_fusion_attention(q, q, q, 2, "BNSD", scale=0.5)

    traced = make_fx(torch.func.functionalize(program), tracing_mode="fake")(
        torch.ones(1, 2, 16, 8, dtype=torch.float16)
    )
    made = torchair.lower(traced)
    op = next(op for op in made.model.graph[0].op if op.type == "FlashAttentionScore")
    assert [desc.name for desc in op.output_desc] == ["softmax_max", "softmax_sum", "softmax_out", "attention_out"]
    assert made.model.graph[0].op[-1].input[0] == f"{op.name}:3"
    assert made.results[4:] == [("value", 0)] * 3


def test_what_is_written_is_a_copy() -> None:
    def program(x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
        return torch.ops.npu.npu_add_rms_norm_v2(x1, x2, gamma)

    ops = _ops(program, torch.ones(2, 4), torch.ones(2, 4), torch.ones(4))
    assert [op.type for op in ops] == ["Data", "Data", "Data", "AddRmsNorm", "NetOutput"]
    assert ops[-1].input == [f"{ops[3].name}:1", f"{ops[3].name}:0", f"{ops[3].name}:2"]

    def scattered(k: torch.Tensor, cache: torch.Tensor, slots: torch.Tensor) -> None:
        torch.ops.npu.npu_scatter_pa_kv_cache(k, k, cache, cache.clone(), slots, cache_mode="Norm")

    types = [op.type for op in _ops(scattered, torch.ones(2, 1, 4), torch.ones(3, 2, 1, 4), torch.tensor([1, 3]))]
    assert types.count("TensorMove") == 2 and "ScatterPaKvCache" in types


def test_composition_takes_the_place_of_an_operator_without_a_word() -> None:
    types = [op.type for op in _ops(lambda x: torch.ops.npu.npu_silu(x), torch.ones(2, 4))]
    assert types == ["Data", "Swish", "NetOutput"]
    with pytest.raises(
        torchair.GEConversionError, match="random_choice_with_mask.default has no operator of GE for this call"
    ):
        _ops(lambda x: torch.ops.npu.npu_random_choice_with_mask(x, 3, 1, 2), torch.ones(4) > 0)


def test_list_without_tensors_is_one_without_elements() -> None:
    ops = _ops(
        lambda x, w, ends: torch.ops.npu.npu_grouped_matmul([x], [w], group_list=ends, split_item=2, group_type=0)[0],
        torch.ones(4, 3),
        torch.ones(2, 3, 5),
        torch.tensor([1, 4]),
    )
    op = next(op for op in ops if op.type == "GroupedMatmul")
    names = [desc.name for desc in op.input_desc]
    assert names[:7] == ["x0", "weight0", "bias0", "scale0", "offset0", "antiquant_scale0", "antiquant_offset0"]
    assert list(op.input_desc[2].shape.dim) == [0]
    assert [desc.name for desc in op.output_desc] == ["y0"]


def test_what_nothing_means_is_told() -> None:
    with pytest.raises(LookupError, match="no operator of torch_npu is the GE operator RmsNorm"):
        fused._meant("RmsNorm", Message("OpDef", type="RmsNorm"), {"unheard": apis})
