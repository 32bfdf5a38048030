"""Graphs whose operators are given other arguments: task groups made by themselves, and NPUGraph.update."""

import gc
import os
import subprocess
import sys
import weakref
from typing import Any, ClassVar

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import graph_updates
from mindtorch_v2._backends.npu.graph_updates import borrowed
from mindtorch_v2.npu import torch_npu as names

torch_npu: Any = names
SCALE = 0.25
OPTIONS = {"num_heads": 2, "input_layout": "BNSD", "scale": SCALE}
OPTIONS_V2 = {"num_query_heads": 2, "input_layout": "BNSD", "softmax_scale": SCALE}


@pytest.fixture
def tensors() -> list[Any]:
    torch.manual_seed(3)
    return [torch.randn(1, 2, rows, 16).half().to("npu") for rows in (1, 8, 8)]


def _expected(tensors: list[Any], length: int) -> Any:
    """softmax(q k' scale) v over the first keys, in double precision on the CPU."""
    query, key, value = (x.cpu().double() for x in tensors)
    return torch.softmax(query @ key[:, :, :length].mT * SCALE, -1) @ value[:, :, :length]


def _close(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found.cpu().double(), expected, rtol=2e-3, atol=2e-3)


def test_results_are_given_together(tensors: list[Any]) -> None:
    out, lse = torch.empty_like(tensors[0]), torch.empty(1, device="npu", dtype=torch.float16)
    operator = torch_npu.npu_fused_infer_attention_score
    returned = operator.out(*tensors, **OPTIONS, actual_seq_lengths_kv=[5], out=[out, lse])
    _close(out, _expected(tensors, 5))
    assert returned[0] is out and returned[1] is lse
    operator(*tensors, **OPTIONS, actual_seq_lengths_kv=[3], out=(out, lse))
    _close(out, _expected(tensors, 3))
    operator.out(*tensors, **OPTIONS, attention_out=out, softmax_lse=lse)
    _close(out, _expected(tensors, 8))
    assert operator == torch.ops.npu.npu_fused_infer_attention_score
    assert operator.out == torch.ops.npu.npu_fused_infer_attention_score.out


@pytest.mark.parametrize("wrong", [0, 1, 3])
def test_as_many_results_as_there_are(tensors: list[Any], wrong: int) -> None:
    out: Any = [torch.empty_like(tensors[0])] * wrong if wrong else tensors[0]
    came = f"{wrong} of them" if wrong else "Tensor"
    with pytest.raises(
        RuntimeError, match=rf"out must be a list of 2 tensors \(attention_out, softmax_lse\), not {came}"
    ):
        torch_npu.npu_fused_infer_attention_score.out(*tensors, **OPTIONS, out=out)


def _graph(tensors: list[Any], into: bool, second: bool) -> tuple[Any, Any]:
    operator = torch_npu.npu_fused_infer_attention_score_v2 if second else torch_npu.npu_fused_infer_attention_score
    options: dict[str, Any] = OPTIONS_V2 if second else OPTIONS
    lengths: dict[str, Any] = {"actual_seq_kvlen" if second else "actual_seq_lengths_kv": [2]}
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph, auto_dispatch_capture=True):
        if into:
            out, lse = torch.empty_like(tensors[0]), torch.empty(1, device="npu", dtype=torch.float16)
            operator.out(*tensors, **options, **lengths, out=[out, lse])
        else:
            out, _ = operator(*tensors, **options, **lengths)
    return graph, out


@pytest.mark.parametrize("into", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_lengths_of_attention_are_updated(tensors: list[Any], into: bool, second: bool) -> None:
    graph, out = _graph(tensors, into, second)
    key = "actual_seq_kvlen" if second else "actual_seq_lengths_kv"
    for length in (5, 8, 3):
        graph.update(cpu_update_input=[{key: [length]}])
        graph.replay()
        _close(out, _expected(tensors, length))
    graph.replay()  # before its update, for which it waits
    graph.update([{key: [4]}])
    _close(out, _expected(tensors, 4))


def test_an_update_leaves_what_is_live_in_the_graph_alone(tensors: list[Any]) -> None:
    ones = torch.ones(1, 2, 1, 16, dtype=torch.float16, device="npu")
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph, auto_dispatch_capture=True):
        beside = ones * 3  # its memory is free when the update asks for some, and in use at this place of the graph
        lse = torch.empty(1, device="npu", dtype=torch.float16)
        out = torch.empty_like(tensors[0])
        torch_npu.npu_fused_infer_attention_score.out(*tensors, **OPTIONS, actual_seq_lengths_kv=[2], out=[out, lse])
        total = beside + out
        del beside
    graph.update([{"actual_seq_lengths_kv": [6]}])
    graph.replay()
    _close(total, _expected(tensors, 6) + 3)


def test_a_group_is_replaced_in_one_call(tensors: list[Any]) -> None:
    operator, graph, event, update = (
        torch_npu.npu_fused_infer_attention_score, torch.npu.NPUGraph(), torch.npu.ExternalEvent(), torch.npu.Stream()
    )  # fmt: skip
    with torch.npu.graph(graph):
        out, lse = torch.empty_like(tensors[0]), torch.empty(1, device="npu", dtype=torch.float16)
        event.wait()
        event.reset()
        torch.npu.graph_task_group_begin()
        operator.out(*tensors, **OPTIONS, actual_seq_lengths_kv=[2], out=[out, lse])
        group = torch.npu.graph_task_group_end()
    graph.replay()
    replace = torch_npu._C._npu_fused_infer_attention_score_out_graph
    results = replace(update, group, event, *tensors, **OPTIONS, actual_seq_lengths_kv=[7], out=[out, lse])
    _close(out, _expected(tensors, 7))
    assert results[0] is out and results[1] is lse


def test_each_operator_has_its_entry(tensors: list[Any]) -> None:
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph, auto_dispatch_capture=True):
        results = [
            torch_npu.npu_fused_infer_attention_score(*tensors, **OPTIONS, actual_seq_lengths_kv=[1])[0]
            for _ in range(2)
        ]
    graph.update([{"actual_seq_lengths_kv": [5]}, {"actual_seq_lengths_kv": [2]}])
    graph.replay()
    for out, length in zip(results, (5, 2), strict=True):
        _close(out, _expected(tensors, length))
    with pytest.raises(
        RuntimeError, match="one entry, or one for each of the 2 operators that are updated, but it has 3"
    ):
        graph.update([{}] * 3)


def test_paged_attention_is_updated() -> None:
    torch.manual_seed(1)
    query, keys, values = torch.randn(1, 2, 16).half(), torch.randn(3, 4, 1, 16).half(), torch.randn(3, 4, 1, 16).half()
    table = torch.tensor([[2, 0]], dtype=torch.int32)
    out = torch.zeros(1, 2, 16, dtype=torch.float16, device="npu")
    graph = torch.npu.NPUGraph()
    query_, keys_, values_, table_ = (x.npu() for x in (query, keys, values, table))
    with torch.npu.graph(graph, auto_dispatch_capture=True):
        lengths = torch.tensor([7], dtype=torch.int32)
        torch_npu._npu_paged_attention(query_, keys_, values_, 1, 2, SCALE, table_, lengths, out)
    for length in (5, 8):
        graph.update([{"context_lens": torch.tensor([length], dtype=torch.int32)}])
        graph.replay()
        k, v = (x[[2, 0]].reshape(8, 16)[:length].double() for x in (keys, values))
        _close(out[0], torch.softmax(query[0].double() @ k.T * SCALE, -1) @ v)


def test_a_graph_keeps_no_memory_for_its_updates(tensors: list[Any]) -> None:
    graph, _ = _graph(tensors, False, False)
    held = weakref.ref(tensors[1])
    del tensors[:]
    gc.collect()
    assert held() is None
    graph.reset()
    with pytest.raises(RuntimeError, match="recorded without auto_dispatch_capture=True"):
        torch.npu.NPUGraph().update([{}])


def test_names_that_no_operator_has_are_told(tensors: list[Any]) -> None:
    graph, out = _graph(tensors, False, False)
    with pytest.warns(UserWarning, match=r"NPUGraph.update\(\): lengths: no operator of the graph"):
        graph.update([{"actual_seq_lengths_kv": [5], "lengths": [3]}])
    graph.replay()
    _close(out, _expected(tensors, 5))


def test_handlers_of_programs() -> None:
    class Scaled(torch.npu.NpuGraphOpHandler):
        UPDATE_SPECS: ClassVar = {"mul.out": [("arg", 1, "factor")]}

    try:
        torch.npu.register_npu_graph_handler("mul.out")(Scaled)
        assert Scaled.get_update_specs("mul.out") == [("arg", 1, "factor")] and Scaled.get_update_specs("mul") == []
        x, y, factor = torch.arange(3.0, device="npu"), torch.zeros(3, device="npu"), torch.tensor(2.0, device="npu")
        other = torch.tensor(5.0, device="npu")
        graph = torch.npu.NPUGraph()
        with torch.npu.graph(graph, auto_dispatch_capture=True):
            torch.mul(x, factor, out=y)
        graph.update([{"factor": other}])
        graph.replay()
        assert y.tolist() == [0.0, 5.0, 10.0]
        with pytest.warns(UserWarning, match="Other takes the place of Scaled for 'mul.out'"):
            torch.npu.register_npu_graph_handler(["mul.out"])(type("Other", (Scaled,), {}))
        del graph_updates.HANDLERS["mul.out"]
        with pytest.raises(RuntimeError, match=r"the handler of mul.out was taken away"):
            graph.update([{"factor": other}])
    finally:
        graph_updates.HANDLERS.pop("mul.out", None)


def test_a_borrowed_tensor_is_the_same_memory() -> None:
    x = torch.arange(12.0, device="npu").reshape(3, 4)[1:, ::2]
    alias = borrowed(x)
    assert alias.tolist() == [[4.0, 6.0], [8.0, 10.0]] and alias.stride() == (4, 2)
    alias.add_(1)
    assert x.tolist() == [[5.0, 7.0], [9.0, 11.0]]
    assert borrowed(torch.empty(0, 2, device="npu")).shape == (0, 2)


_WAITING = """
import mindtorch_v2 as torch
x, y = torch.arange(3.0, device="npu"), torch.zeros(3, device="npu")
graph, update = torch.npu.NPUGraph(), torch.npu.Stream()
with torch.npu.graph(graph):
    torch.npu.graph_task_group_begin()
    torch.mul(x, 2.0, out=y)
    group = torch.npu.graph_task_group_end()
    y.copy_(y.neg())
with torch.npu.stream(update):
    torch.npu.graph_task_update_begin(update, group)
    torch.mul(x, 3.0, out=y)
    torch.npu.graph_task_update_end(update)
torch.npu.current_stream().wait_stream(update)
graph.replay()
print(y.tolist())
"""


def test_graphs_are_recorded_where_operators_are_waited_for() -> None:
    found = subprocess.run(
        [sys.executable, "-c", _WAITING],
        env={**os.environ, "ASCEND_LAUNCH_BLOCKING": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert found.stdout.strip() == "[-0.0, -3.0, -6.0]", found.stderr
