"""Capture and replay: the rules of the C interface, and torch.npu.NPUGraph on top of it."""

import ctypes
import weakref
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.npu import NPUError


@pytest.fixture
def acl(emulator: Any) -> Any:
    return emulator.runtime.libraries.acl


@pytest.fixture
def stream() -> Any:
    return torch.npu.Stream()


def _begin(acl: Any, stream: Any, mode: int = 0) -> int:
    return acl.aclmdlRICaptureBegin(ctypes.c_void_p(stream.npu_stream), mode)


def _end(acl: Any, stream: Any) -> tuple[int, int | None]:
    model = ctypes.c_void_p()
    return acl.aclmdlRICaptureEnd(ctypes.c_void_p(stream.npu_stream), ctypes.byref(model)), model.value


def test_a_graph_without_a_device_leaves_nothing_to_drop(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise RuntimeError("no NPU")

    monkeypatch.setattr("mindtorch_v2._backends.npu.state.get", absent)
    with pytest.raises(RuntimeError, match="no NPU"):
        torch.npu.NPUGraph()


# ---- the rules ----


def test_the_default_stream_cannot_be_captured(acl: Any) -> None:
    assert acl.aclmdlRICaptureBegin(None, 0) == 107031


def test_begin_and_end_match(acl: Any, stream: Any) -> None:
    assert _end(acl, stream) == (107029, None)
    assert _begin(acl, stream) == 0
    assert _begin(acl, stream) == 107027
    code, model = _end(acl, stream)
    assert code == 0 and model
    assert acl.aclmdlRIDestroy(ctypes.c_void_p(model)) == 0


def test_waiting_for_a_captured_stream_spoils_the_capture(acl: Any, stream: Any) -> None:
    assert _begin(acl, stream) == 0
    with pytest.raises(NPUError, match="aclrtSynchronizeStream returned 107027 .* the stream is being captured"):
        stream.synchronize()
    status = ctypes.c_int()
    acl.aclmdlRICaptureGetInfo(ctypes.c_void_p(stream.npu_stream), ctypes.byref(status), None)
    assert status.value == 2
    assert _end(acl, stream) == (107027, None)
    stream.synchronize()


@pytest.mark.parametrize(("mode", "forbidden"), [(0, True), (1, True), (2, False)])
def test_unsafe_calls_by_mode(acl: Any, stream: Any, mode: int, forbidden: bool) -> None:
    assert _begin(acl, stream, mode) == 0
    address = ctypes.c_void_p()
    assert acl.aclrtMalloc(ctypes.byref(address), ctypes.c_size_t(64), 0) == (107030 if forbidden else 0)
    code, model = _end(acl, stream)
    assert code == (107030 if forbidden else 0)
    if model:
        acl.aclmdlRIDestroy(ctypes.c_void_p(model))
        acl.aclrtFree(address)


def test_a_thread_may_exchange_its_mode(acl: Any, stream: Any) -> None:
    assert _begin(acl, stream) == 0
    mode, address = ctypes.c_int(2), ctypes.c_void_p()
    acl.aclmdlRICaptureThreadExchangeMode(ctypes.byref(mode))
    assert acl.aclrtMalloc(ctypes.byref(address), ctypes.c_size_t(64), 0) == 0
    acl.aclmdlRICaptureThreadExchangeMode(ctypes.byref(mode))
    assert mode.value == 2
    code, model = _end(acl, stream)
    assert code == 0
    acl.aclmdlRIDestroy(ctypes.c_void_p(model))
    acl.aclrtFree(address)


def test_streams_join_and_have_to_be_joined_back(acl: Any, stream: Any) -> None:
    x = torch.zeros(4, device="npu")
    torch.npu.synchronize()
    side = torch.npu.Stream()
    for back in (False, True):
        x.zero_()
        torch.npu.synchronize()
        assert _begin(acl, stream) == 0
        side.wait_event(stream.record_event())
        with torch.npu.stream(side):
            x.add_(1)
        if back:
            stream.wait_event(side.record_event())
        code, model = _end(acl, stream)
        assert code == (0 if back else 107025)
    assert x.tolist() == [0.0] * 4  # recorded, not done
    for _ in range(3):
        assert acl.aclmdlRIExecuteAsync(ctypes.c_void_p(model), ctypes.c_void_p(stream.npu_stream)) == 0
    stream.synchronize()
    assert x.tolist() == [3.0] * 4
    assert acl.aclmdlRIDestroy(ctypes.c_void_p(model)) == 0


def test_events_of_outside_and_of_the_capture(acl: Any, stream: Any) -> None:
    outside = torch.npu.current_stream().record_event()
    assert _begin(acl, stream) == 0
    with pytest.raises(NPUError, match="107024"):
        stream.wait_event(outside)
    assert _end(acl, stream)[0] == 107024
    assert _begin(acl, stream) == 0
    inside = stream.record_event()
    with pytest.raises(NPUError, match="107028"):
        inside.query()
    assert _end(acl, stream)[0] == 107028
    other = torch.npu.Stream()
    assert _begin(acl, stream) == 0 and _begin(acl, other) == 0
    with pytest.raises(NPUError, match="107032"):
        other.wait_event(stream.record_event())
    assert _end(acl, other)[0] == 107032
    code, model = _end(acl, stream)
    assert code == 0
    acl.aclmdlRIDestroy(ctypes.c_void_p(model))


# ---- NPUGraph ----


def test_a_graph_replays_on_new_contents() -> None:
    weight = torch.randn(8, 8, device="npu")
    x = torch.randn(3, 8, device="npu")
    torch.nn.functional.gelu(x @ weight).softmax(-1)  # warm
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        assert torch.npu.is_current_stream_capturing()
        hidden = torch.nn.functional.gelu(x @ weight)
        y = hidden.softmax(-1) + 1.0
        del hidden
    assert not torch.npu.is_current_stream_capturing()
    for _ in range(3):
        x.copy_(torch.randn(3, 8))
        graph.replay()
        expected = torch.nn.functional.gelu(x.cpu() @ weight.cpu()).softmax(-1) + 1.0
        torch.testing.assert_close(y.cpu(), expected, rtol=1e-5, atol=1e-5)
    others = [torch.full((3, 8), 7.0, device="npu") for _ in range(50)]  # none of them lies where the graph works
    x.fill_(1.0)
    graph.replay()
    assert all(bool((o == 7).all()) for o in others)


def test_a_training_step_is_captured() -> None:
    torch.manual_seed(2)
    w = torch.randn(6, 6, device="npu", requires_grad=True)
    x = torch.randn(4, 6, device="npu")

    def step() -> Any:
        loss = torch.tanh(x @ w).square().mean()
        (grad,) = torch.autograd.grad(loss, w)
        with torch.no_grad():
            w.sub_(0.5 * grad)
        return loss.detach()

    step()
    start = w.detach().clone()
    expected = [step().item() for _ in range(4)]
    with torch.no_grad():
        w.copy_(start)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        loss = step()
    assert torch.equal(w.detach().cpu(), start.cpu())
    found = []
    for _ in range(4):
        graph.replay()
        found.append(loss.item())
    assert found == expected


def test_what_cannot_be_captured_says_so() -> None:
    x = torch.ones(3, device="npu")
    for bad, message in (
        (lambda: x.sum().item(), "1070(27|30)"),
        (lambda: x + torch.ones(3).to("npu"), "107030"),
        (lambda: torch.randperm(3, device="npu"), "randperm cannot be captured"),
    ):
        graph = torch.npu.NPUGraph()
        with pytest.raises(RuntimeError, match=message), torch.npu.graph(graph):
            bad()
        with pytest.raises(RuntimeError, match="nothing was captured"):
            graph.replay()
    assert (x + 1).tolist() == [2.0, 2.0, 2.0]


def test_a_recording_goes_on_where_a_number_could_not_be_read() -> None:
    x, graph = torch.ones(3, device="npu"), torch.npu.NPUGraph()
    with torch.npu.stream(torch.npu.Stream()):
        graph.capture_begin()
        with pytest.raises(RuntimeError, match=r"(?s)107027 .*cannot be read while a graph is recorded"):
            (x + 1).sum().item()
        y = x * 3
        graph.capture_end()
    x.fill_(2)
    torch.npu.synchronize()
    graph.replay()
    torch.npu.synchronize()
    assert y.tolist() == [6.0, 6.0, 6.0]


def test_the_memory_of_a_graph_is_given_back(report: Any) -> None:
    x = torch.ones(1000, device="npu")
    before = torch.npu.memory_allocated()
    for _ in range(5):
        graph = torch.npu.NPUGraph()
        with torch.npu.graph(graph):
            y = (x * 2) + 1
        graph.replay()
        assert y.sum().item() == 3000
        graph.reset()
        del y, graph
    torch.npu.synchronize()
    assert torch.npu.memory_allocated() == before and report()["live"]["models"] == 0
    held = torch.npu.memory_reserved()
    torch.npu.empty_cache()
    assert torch.npu.memory_reserved() <= held


def test_graphs_may_share_a_pool() -> None:
    x = torch.arange(4.0, device="npu")
    first, second = torch.npu.NPUGraph(), torch.npu.NPUGraph()
    with torch.npu.graph(first):
        a = x * 2
    with torch.npu.graph(second, pool=first.pool()):
        b = a + 1
    x.add_(1)
    first.replay()
    second.replay()
    assert a.tolist() == [2.0, 4.0, 6.0, 8.0] and b.tolist() == [3.0, 5.0, 7.0, 9.0]


# ---- random numbers ----


def _draws() -> list[Any]:
    x = torch.zeros(3, 4, device="npu")
    return [
        torch.rand(3, 4, device="npu"),
        torch.randn_like(x),
        torch.randint(100, (3, 4), device="npu"),
        x.uniform_(2, 3),
        torch.multinomial(torch.ones(3, 50, device="npu"), 4, True),
    ]


def test_a_replay_draws_new_numbers_from_where_the_generator_is() -> None:
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        captured = _draws()
    torch.npu.manual_seed(5)
    expected = [[drawn.cpu() for drawn in _draws()] for _ in range(3)]
    for expected_of_replay in (*expected, None):
        if expected_of_replay is expected[0]:
            torch.npu.manual_seed(5)
        graph.replay()
        found = [drawn.cpu() for drawn in captured]
        if expected_of_replay is not None:
            assert all(torch.equal(a, b) for a, b in zip(found, expected_of_replay, strict=True))
    assert not torch.equal(found[0], expected[-1][0])
    torch.npu.manual_seed(5)
    graph.replay()
    graph.replay()
    after = torch.rand(3, 4, device="npu").cpu()  # eager work goes on behind the replays
    torch.npu.manual_seed(5)
    for _ in range(2):
        _draws()
    assert torch.equal(after, torch.rand(3, 4, device="npu").cpu())


def test_generators_of_the_program_are_captured_too() -> None:
    generator = torch.Generator("npu").manual_seed(3)
    expected = torch.randn(5, device="npu", generator=generator.manual_seed(3)).cpu()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        drawn = torch.randn(5, device="npu", generator=generator)
    generator.manual_seed(3)
    graph.replay()
    assert torch.equal(drawn.cpu(), expected) and generator.get_offset() == 12


def test_dropout_is_captured() -> None:
    x = torch.ones(4000, device="npu")
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = torch.nn.functional.dropout(x, 0.25)
        z = torch.bernoulli(x * 0.5)
    kept = []
    for _ in range(3):
        graph.replay()
        kept.append(y.cpu() != 0)
        assert abs(kept[-1].float().mean().item() - 0.75) < 0.04 and abs(z.mean().item() - 0.5) < 0.04
        assert torch.equal(y.cpu()[kept[-1]], torch.full((int(kept[-1].sum()),), 1 / 0.75))
    assert not torch.equal(kept[0], kept[1]) and not torch.equal(kept[1], kept[2])


def test_dropout_of_attention_is_captured() -> None:
    query = torch.randn(1, 6, 8, device="npu")

    def attended() -> list[Any]:
        y = torch.ops.npu.npu_fusion_attention_v3(query, query, query, 2, "BSH", keep_prob=0.5)
        statistics = {"softmax_max": y[1], "softmax_sum": y[2], "attention_in": y[0], "seed": y[4], "offset": y[5]}
        return [
            *y,
            *torch.ops.npu.npu_fusion_attention_grad_v3(
                query, query, query, query, 2, "BSH", keep_prob=0.5, **statistics
            ),
        ]

    torch.npu.manual_seed(5)
    expected = [[x.cpu() for x in attended()] for _ in range(3)]
    assert not torch.equal(expected[0][0], expected[1][0])
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        captured = attended()
    torch.npu.manual_seed(5)
    for of_replay in expected:
        graph.replay()
        assert all(torch.equal(x.cpu(), y) for x, y in zip(captured, of_replay, strict=True))


def test_dropout_of_attention_whose_seed_is_a_number_is_not() -> None:
    query = torch.randn(1, 6, 8, device="npu")
    with (
        pytest.raises(RuntimeError, match=r"npu_fusion_attention\(\): .* each replay .* npu_fusion_attention_v3"),
        torch.npu.graph(torch.npu.NPUGraph()),
    ):
        torch.ops.npu.npu_fusion_attention(query, query, query, 2, "BSH", keep_prob=0.5)


# ---- events of outside ----


def test_a_replay_waits_for_an_event_of_outside() -> None:
    x, y = torch.arange(3.0, device="npu"), torch.zeros(3, device="npu")
    graph, event, update = torch.npu.NPUGraph(), torch.npu.ExternalEvent(), torch.npu.Stream()
    with torch.npu.graph(graph):
        event.wait()
        event.reset()
        torch.npu.graph_task_group_begin()
        torch.mul(x, 2.0, out=y)
        group = torch.npu.graph_task_group_end()
    held = weakref.ref(event)
    for factor in (3.0, 5.0):
        graph.replay()  # begins before its task is replaced
        done = torch.npu.current_stream().record_event()
        with torch.npu.stream(update):
            torch.npu.graph_task_update_begin(update, group)
            torch.mul(x, factor, out=y)
            torch.npu.graph_task_update_end(update)
            assert not event.query() and not done.query()
            held().record(update)  # type: ignore[union-attr]  # (alive)
        assert y.tolist() == [0.0, factor, 2 * factor]
    del event
    assert held() is not None  # the graph waits for it
    graph.reset()
    assert held() is None


def test_an_event_of_outside_is_a_flag(acl: Any) -> None:
    event, stream = torch.npu.ExternalEvent(), torch.npu.Stream()
    assert not event.query()
    event.wait(stream)
    assert not stream.query()
    event.record()
    stream.synchronize()
    event.synchronize()
    assert event.query()
    event.reset(stream)
    stream.synchronize()
    assert not event.query()
    plain = torch.npu.current_stream().record_event()
    assert acl.aclrtResetEvent(ctypes.c_void_p(plain.npu_event), ctypes.c_void_p(stream.npu_stream)) == 207000


# ---- task groups ----


def _scaled_graph(x: Any, y: Any) -> tuple[Any, Any]:
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        torch.npu.graph_task_group_begin()
        torch.mul(x, 2.0, out=y)
        torch.add(y, 1.0, out=y)
        group = torch.npu.graph_task_group_end()
        y.neg_()
    return graph, group


def test_the_tasks_of_a_group_are_replaced() -> None:
    x, y, other = torch.arange(3.0, device="npu"), torch.zeros(3, device="npu"), torch.full((3,), 10.0, device="npu")
    graph, group = _scaled_graph(x, y)
    graph.replay()
    assert y.tolist() == [-1.0, -3.0, -5.0]
    update = torch.npu.Stream()
    for factor, source, expected in ((3.0, x, [-1.0, -4.0, -7.0]), (0.5, other, [-6.0, -6.0, -6.0])):
        with torch.npu.stream(update):
            torch.npu.graph_task_update_begin(update, group)
            torch.mul(source, factor, out=y)
            torch.add(y, 1.0, out=y)
            torch.npu.graph_task_update_end(update)
        update.synchronize()
        for _ in range(2):
            graph.replay()
            assert y.tolist() == expected


def test_misuse_of_task_groups() -> None:
    x, y = torch.arange(3.0, device="npu"), torch.zeros(3, device="npu")
    with pytest.raises(NPUError, match="107029"):
        torch.npu.graph_task_group_begin(torch.npu.Stream())
    for begins in (1, 2):
        graph = torch.npu.NPUGraph()
        with pytest.raises(NPUError, match="107033"), torch.npu.graph(graph):
            for _ in range(begins):
                torch.npu.graph_task_group_begin()
    graph, group = _scaled_graph(x, y)
    update = torch.npu.Stream()
    for wrong, message in ((1, "1 tasks for a group of 2"), (2, "task 1 is aclnnMuls, in the group it is aclnnAdds")):
        torch.npu.graph_task_update_begin(update, group)
        with torch.npu.stream(update):
            for _ in range(wrong):
                torch.mul(x, 3.0, out=y)
        with pytest.raises(NPUError, match=message):
            torch.npu.graph_task_update_end(update)
    graph.replay()
    assert y.tolist() == [-1.0, -3.0, -5.0]


def test_states_of_the_generator_within_a_recording() -> None:
    npu = torch.npu

    def draws() -> list[torch.Tensor]:
        before = torch.rand(8, device="npu")
        kept = npu.get_rng_state()
        first = torch.rand(8, device="npu")
        npu.set_rng_state(kept)
        second = torch.rand(8, device="npu")
        return [before, first, second]

    npu.manual_seed(123)
    eager = [*draws(), torch.rand(8, device="npu")]
    assert torch.equal(eager[1], eager[2]) and not torch.equal(eager[0], eager[1])
    npu.manual_seed(123)
    graph = npu.NPUGraph()
    with npu.graph(graph):
        drawn = draws()
    npu.manual_seed(123)
    graph.replay()
    for one, other in zip([*drawn, torch.rand(8, device="npu")], eager, strict=True):
        assert torch.equal(one, other)


def test_checkpoints_in_a_recording_draw_the_same_numbers_twice() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(torch.randn(5, device="npu"))

    def step() -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.ones(5, device="npu", requires_grad=True)
        y = torch.utils.checkpoint.checkpoint(program, x, use_reentrant=False)
        return y, torch.autograd.grad(y.sum(), x)[0]

    step()
    torch.npu.manual_seed(42)
    expected = step()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        found = step()
    torch.npu.manual_seed(42)
    graph.replay()
    assert torch.equal(found[0], expected[0]) and torch.equal(found[1], expected[1])
    assert torch.equal(found[0], found[1])  # the gradient is what x was multiplied by


def test_another_seed_is_refused_while_a_graph_is_recorded() -> None:
    npu = torch.npu
    npu.manual_seed(1)
    other = npu.get_rng_state()
    npu.manual_seed(0)
    early = npu.get_rng_state()
    torch.rand(1, device="npu")
    for change in (lambda: npu.set_rng_state(other), lambda: npu.manual_seed(1), lambda: npu.manual_seed_all(1)):
        with pytest.raises(RuntimeError, match="can only be set to what it is while a graph is recorded"):
            with npu.graph(npu.NPUGraph()):
                change()
    with pytest.raises(RuntimeError, match="a state of before the recording"):
        with npu.graph(npu.NPUGraph()):
            npu.set_rng_state(early)
    with npu.graph(npu.NPUGraph()):
        npu.manual_seed(0)


def test_options_of_fused_kernels_are_checked() -> None:
    graph = torch.npu.NPUGraph()
    x = torch.ones(3, device="npu")
    with torch.npu.graph(graph):
        y = x + 1
    good = {
        "preload_code": 1,
        "opt_extend": "",
        "dcci_before_kernel_start": ["add"],
        "aggressive_opt_strategies": {"task_breaker_bypass": 1},
    }
    with pytest.warns(UserWarning, match="super_kernel_optimize has no effect"):
        graph.super_kernel_optimize(good, {"debug_sync_all": 1})
    graph.replay()
    assert y.tolist() == [2, 2, 2]
    for options, text in [
        ("fast", "optimize_options must be a dict, not str"),
        ({"fast": 1}, "optimize_options has no 'fast'; known are aggressive_opt_strategies"),
        ({"debug_sync_all": 1}, "optimize_options has no 'debug_sync_all'"),
        ({"preload_code": "1"}, r"optimize_options\['preload_code'\] must be int, not str"),
        ({"opt_extend": 1}, "must be str, not int"),
        ({"dcci_disable_on_kernel": 1}, "must be list, not int"),
        ({"ubuf_lock_ignore_kernel": ["add", None]}, "must hold str, but None is NoneType"),
        ({"aggressive_opt_strategies": 1}, r"\['aggressive_opt_strategies'\] must be a dict, not int"),
        ({"aggressive_opt_strategies": {"event_breaker_bypass": ""}}, "must be int, not str"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            graph.super_kernel_optimize(options)
    with pytest.raises(RuntimeError, match="debug_options has no 'preload_code'"):
        graph.super_kernel_optimize(None, {"preload_code": 1})


def test_a_recording_knows_its_generators() -> None:
    graph = torch.npu.NPUGraph()
    generator = torch.Generator("npu").manual_seed(3)
    graph.register_generator_state(generator)
    with pytest.raises(RuntimeError, match="expected a generator of npu, but its device is cpu"):
        graph.register_generator_state(torch.Generator())
    wanted = torch.rand(4, device="npu", generator=torch.Generator("npu").manual_seed(3))
    with torch.npu.graph(graph):
        drawn = torch.rand(4, device="npu", generator=generator)
    graph.replay()
    assert drawn.tolist() == wanted.tolist()
