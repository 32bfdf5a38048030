"""Blocks of `torchair.scope`: attributes of GE's operators, and edges of control."""

from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import torchair
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx


def _ops(program: Any, *args: torch.Tensor) -> list[Any]:
    traced = make_fx(torch.func.functionalize(program), tracing_mode="fake")(*args)
    return [op for op in torchair.lower(traced).model.graph[0].op if op.type not in ("Data", "NetOutput")]


def _marks(op: Any) -> dict[str, str]:
    known = ("_user_stream", "_op_", "_super_kernel", "_deterministic", "_enable_inner", "torchair_enable")
    return {key: bytes(value.s).decode() for key, value in op.attr.items() if key.startswith(known)}


def test_attributes_are_those_of_the_blocks_around() -> None:
    scope = torchair.scope

    def program(x: torch.Tensor) -> torch.Tensor:
        with scope.npu_stream_switch("side", 3, False), scope.limit_core_num(4, 8):
            x = x.relu()
            with scope.limit_core_num(1, 2), scope.op_never_timeout(), scope.deterministic(2):
                x = x.tanh()
            x = x.sigmoid()
        with scope.super_kernel("decode", "early"), scope.data_dump():
            x = x.exp()
        return x.abs()

    found = {op.type: _marks(op) for op in _ops(program, torch.ones(2))}
    stream = {"_user_stream_label": "side", "_user_stream_priority": "3", "_enable_inner_parallel": "False"}
    assert found == {
        "Relu": {**stream, "_op_aicore_num": "4", "_op_vectorcore_num": "8"},
        "Tanh": {
            **stream,
            "_op_aicore_num": "1",
            "_op_vectorcore_num": "2",
            "_op_exec_never_timeout": "True",
            "_deterministic": "1",
            "_deterministic_level": "2",
        },
        "Sigmoid": {**stream, "_op_aicore_num": "4", "_op_vectorcore_num": "8"},
        "Exp": {
            "_super_kernel_scope": "decode",
            "_super_kernel_options": "early",
            "torchair_enable_data_dump": "True",
        },
        "Abs": {},
    }


def test_what_waits_has_an_edge_of_control() -> None:
    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torchair.scope.npu_wait_tensor(x.exp(), y.tanh())

    ops = {op.type: op for op in _ops(program, torch.ones(2), torch.ones(3))}
    assert list(ops["Identity"].input) == [f"{ops['Exp'].name}:0", f"{ops['Tanh'].name}:-1"]


def test_one_by_one_the_blocks_do_nothing() -> None:
    x = torch.arange(3.0, requires_grad=True)
    with torchair.scope.super_kernel(None):
        y = torchair.scope.npu_wait_tensor(x * 2, x)
    y.sum().backward()
    assert y.tolist() == [0.0, 2.0, 4.0] and x.grad is not None and x.grad.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(ValueError, match="must be 0, 1, 2, or 3, got 4"):
        torchair.scope.deterministic(4)
    with pytest.raises(TypeError, match="must be bool, but got int"):
        torchair.scope.op_never_timeout(1)  # type: ignore[arg-type]


def test_lengths_may_be_tensors() -> None:
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, 5, 8, generator=generator) for _ in range(3))
    ends = [3, 5]
    for name, heads, which in (
        ("npu_fused_infer_attention_score", "num_heads", "actual_seq_lengths_kv"),
        ("npu_fused_infer_attention_score_v2", "num_query_heads", "actual_seq_kvlen"),
    ):
        plain = getattr(torch.ops.npu, name)(q, k, v, **{heads: 2, which: ends})[0]
        made = getattr(torchair.ops, name)(q, k, v, **{heads: 2, which: torch.tensor(ends)})[0]
        assert torch.equal(made, plain)


def test_compiling_for_inference() -> None:
    with pytest.warns(UserWarning, match="cache_dir has no effect"):
        made = torchair.inference.cache_compile(lambda x: x + 1, cache_dir="somewhere")
    assert callable(made)
    layer = torch.nn.Linear(2, 2).half()
    before = layer.weight
    torchair.use_internal_format_weight(layer)
    assert layer.weight is before
