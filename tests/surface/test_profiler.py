"""Profiles: what is taken down, how it is shown (as PyTorch 2.13 shows the same events), and in which steps."""

import gzip
import inspect
import json
import pathlib
import warnings

import pytest
from mindtorch_v2._C._profiler import _ExperimentalConfig

import mindtorch_v2 as torch
from mindtorch_v2.autograd import profiler_legacy
from mindtorch_v2.autograd.profiler_util import DeviceType, EventList, FunctionEvent, format_time
from mindtorch_v2.profiler import (
    ProfilerActivity,
    _pattern_matcher,
    profile,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

pytestmark = pytest.mark.no_torch

TABLES = json.loads(pathlib.Path(__file__).with_name("profiler_tables.json").read_text())
LONG = "a_very_long_name_of_a_range_that_does_not_fit_into_its_column_at_all"


def events(**options):
    made = [
        FunctionEvent(1, "outer_range", 7, 0.0, 3015.038, is_user_annotation=True, cpu_memory_usage=80),
        FunctionEvent(
            2, "aten::linear", 7, 100.0, 697.348, input_shapes=[[2, 4], [4, 4], [4]], cpu_memory_usage=2048, flops=64,
            stack=["/some/where/model.py(12): forward", "run.py(3): <module>"],
        ),
        FunctionEvent(
            3, "aten::sum", 7, 800.0, 800.5, overload_name="dim_IntList", input_shapes=[[2, 4]], cpu_memory_usage=-4,
            stack=["run.py(3): <module>"],
        ),
        FunctionEvent(
            4, "aten::linear", 7, 900.0, 1000.0, input_shapes=[[8, 4], [4, 4], [4]], cpu_memory_usage=3 << 20, flops=256,
            stack=["run.py(9): <module>"],
        ),
        FunctionEvent(5, LONG, 9, 5.0, 2000005.0),
    ]  # fmt: skip
    made = EventList(made, **options)
    made._nest()
    return made


def test_tables_are_those_of_pytorch():
    full = events(profile_memory=True, with_flops=True)
    shown = [
        events().key_averages().table(sort_by="cpu_time_total", row_limit=2, header="HEAD"),
        full.key_averages(group_by_input_shapes=True, group_by_overload_name=True).table(
            sort_by="self_cpu_time_total", row_limit=-1, time_unit="ms", max_name_column_width=20
        ),
        events(profile_memory=True).table(
            top_level_events_only=True, max_src_column_width=20, max_shapes_column_width=12
        ),
        events().table(row_limit=3, max_name_column_width=None, max_src_column_width=20),
    ]
    assert [table.splitlines() for table in shown] == TABLES
    assert events().total_average().count == 5
    assert EventList().table() == ""
    with pytest.raises(AttributeError, match="nonsense"):
        events().table(sort_by="nonsense")


def test_times_of_a_device_are_shown_as_pytorch_shows_them():
    made = [
        FunctionEvent(1, "aten::mm", 7, 0.0, 50.0, use_device="npu"),
        FunctionEvent(2, "aten::copy_", 7, 10.0, 20.0, use_device="npu"),
        FunctionEvent(3, "aten::mm", 7, 60.0, 80.0, use_device="npu"),
    ]
    for event, (name, duration) in zip(made, [("aclnnMm", 1500.25), ("aclnnInplaceCopy", 4.5), ("aclnnMm", 600.0)]):
        event.append_kernel(name, 0, duration)
    there = {"use_device": "npu", "device_type": DeviceType.PrivateUse1, "device_resource_id": 3}
    made += [
        FunctionEvent(4, "aclnnMm", 7, 15.0, 1515.25, **there),
        FunctionEvent(5, "aclnnInplaceCopy", 7, 1520.0, 1524.5, **there),
        FunctionEvent(6, "aclnnMm", 7, 1600.0, 2200.0, **there),
    ]
    events = EventList(made)
    events._nest()
    recorded = json.loads(pathlib.Path(__file__).with_name("profiler_device_tables.json").read_text())
    averages = events.key_averages()
    shown = [averages.table(sort_by="self_privateuse1_time_total"), events.table(time_unit="us", row_limit=4)]
    assert [table.splitlines() for table in shown] == recorded["tables"]
    columns = "count device_time device_time_total self_device_time_total cpu_time_total self_cpu_time_total".split()
    assert {row.key: [getattr(row, name) for name in columns] for row in averages} == recorded["figures"]
    assert (made[3].device_resource_id, made[0].device_resource_id, made[3].device_time_str) == (3, 7, "1.500ms")
    assert (str(made[4].device_type), made[4].cpu_parent) == ("DeviceType.PrivateUse1", None)
    assert made[0].cpu_children == [made[1]]
    with pytest.raises(AssertionError, match="Expected device_type to be CPU"):
        made[3].append_kernel("aclnnMm", 0, 1.0)


def model():
    with record_function("forward"):
        y = torch.nn.Linear(3, 4)(torch.ones(2, 3)).exp()
    y.sum().backward()


def test_operators_and_ranges_are_taken_down():
    with profile(record_shapes=True, with_stack=True, profile_memory=True, with_flops=True) as prof:
        model()
    found = {event.name: event for event in prof.events()}
    linear, outer = found["aten::linear"], found["forward"]
    assert linear.input_shapes == [[2, 3], [4, 3], [4]]
    assert linear.cpu_parent is outer
    assert linear in outer.cpu_children
    assert outer.is_user_annotation
    assert linear.scope == 0
    assert (found["aten::linear_backward"].scope, found["AddmmBackward0"].scope) == (0, 1)
    assert linear.cpu_memory_usage >= 2 * 4 * 4
    assert linear.flops == 48
    assert ": model" in linear.stack[0]
    assert pathlib.Path(__file__).name in linear.stack[0]
    assert 0 < linear.cpu_time_total <= outer.cpu_time_total
    assert outer.self_cpu_time_total == pytest.approx(
        outer.cpu_time_total - sum(child.cpu_time_total for child in outer.cpu_children)
    )
    starts = [event.time_range.start for event in prof.events()]
    assert starts == sorted(starts)


def test_counts_by_name_shape_and_overload():
    with profile(record_shapes=True) as prof:
        for size in (2, 2, 3):
            torch.ones(size).sum()
        torch.ones(2, 2).sum(0)
    averages = prof.key_averages()
    assert {e.key: e.count for e in averages} == {"aten::ones": 4, "aten::sum": 4}
    by_shape = {str(e.input_shapes): e.count for e in prof.key_averages(group_by_input_shape=True) if "sum" in e.key}
    assert sorted(by_shape.values()) == [1, 1, 2]
    by_overload = {e.overload_name: e.count for e in prof.key_averages(group_by_overload_name=True) if "sum" in e.key}
    assert by_overload == {"": 3, "dim_IntList": 1}


def test_nothing_is_taken_down_outside():
    with profile() as prof:
        torch.ones(2)
    torch.ones(2).exp()
    with record_function("later"):
        pass
    assert [event.name for event in prof.events()] == ["aten::ones"]


def test_an_operator_that_raises_is_an_event_too():
    with profile() as prof, pytest.raises(RuntimeError):
        torch.mm(torch.ones(2, 3), torch.ones(2, 3))
    assert [event.name for event in prof.events()][-1] == "aten::mm"
    torch.ones(2)
    assert len(prof.events()) == 3


def test_settings_kept_apart_and_the_profiler_before():
    with profile(with_stack=True, experimental_config=_ExperimentalConfig(verbose=True)) as prof:
        torch.ones(2)
    assert [event.name for event in prof.events()] == ["aten::ones"]
    with warnings.catch_warnings(), profiler_legacy.profile(record_shapes=True) as old:
        torch.ones(2).exp()
    assert [event.key for event in old.key_averages()] == ["aten::ones", "aten::exp"]


def test_schedule():
    steps = schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=1)
    names = [steps(step).name for step in range(7)]
    assert names == ["NONE", "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE", "NONE"]


def test_steps_of_a_schedule():
    ready = []

    def on_ready(prof):
        ready.append((prof.step_num, [event.name for event in prof.events()]))

    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=on_ready) as prof:
        for _ in range(9):
            torch.ones(2)
            prof.step()
    cycle = ["ProfilerStep*", "aten::ones"] * 2
    assert ready == [(4, cycle), (8, cycle)]
    traces = [event.trace_name for event in prof.events()]
    assert [name for name in traces if name.startswith("ProfilerStep")] == ["ProfilerStep#6", "ProfilerStep#7"]


def test_events_of_all_cycles_on_request():
    with profile(schedule=schedule(wait=0, warmup=0, active=1), acc_events=True) as prof:
        for _ in range(3):
            torch.ones(2)
            prof.step()
    assert {e.key: e.count for e in prof.key_averages()}["aten::ones"] == 3


def test_traces_for_viewers(tmp_path):
    with profile(record_shapes=True, on_trace_ready=tensorboard_trace_handler(str(tmp_path / "log"), "me")) as prof:
        model()
    prof.add_metadata("note", 'a "quoted" text')
    prof.export_chrome_trace(str(tmp_path / "trace.json.gz"))
    trace = json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes()))
    assert trace["note"] == 'a "quoted" text'
    rows = {row["name"]: row for row in trace["traceEvents"]}
    assert rows["aten::linear"]["cat"] == "cpu_op"
    assert rows["aten::linear"]["args"]["Input Dims"] == [[2, 3], [4, 3], [4]]
    assert rows["forward"]["cat"] == "user_annotation"
    assert rows["forward"]["ts"] <= rows["aten::linear"]["ts"]
    (written,) = (tmp_path / "log").iterdir()
    assert written.name.startswith("me.")
    assert written.name.endswith(".pt.trace.json")


def test_stacks_for_flame_graphs(tmp_path):
    path = tmp_path / "stacks"
    events().export_stacks(str(path), "self_cpu_time_total")
    assert path.read_text().splitlines() == [
        "run.py(3):_<module>;/some/where/model.py(12):_forward 597",
        "run.py(9):_<module> 100",
    ]
    with pytest.raises(ValueError, match="metric should be one of"):
        events().export_stacks(str(path), "count")


def test_record_function_marks_functions():
    @record_function("named")
    def twice(x):
        """Double."""
        return x * 2

    assert twice.__doc__ == "Double."
    with profile() as prof:
        assert twice(2) == 4
    assert [event.name for event in prof.events()] == ["named"]


def test_what_is_missing_says_so():
    assert supported_activities() == {ProfilerActivity.CPU}
    with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
        profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(AssertionError, match="No activities specified for the profiler"):
            profile(activities=[ProfilerActivity.CUDA]).start()
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        profile(activities=[])
    with pytest.raises(AssertionError, match="Profiler must be initialized before getting key averages"):
        profile().key_averages()
    with pytest.raises(TypeError, match="experimental_config must be torch._C._profiler._ExperimentalConfig"):
        profile(experimental_config=object())
    with pytest.raises(NotImplementedError, match="profile_all_threads, trace_only are not implemented"):
        profile(experimental_config=_ExperimentalConfig(trace_only=True, profile_all_threads=True, verbose=True))
    with pytest.raises(NotImplementedError, match="report_all_anti_patterns"):
        _pattern_matcher.report_all_anti_patterns(None)
    with (
        pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"),
        torch.autograd.profiler.emit_nvtx(),
    ):
        pass
    again = torch.autograd.profiler.profile()
    with again, pytest.raises(RuntimeError, match="Profiler context manager is not reentrant"):
        again.__enter__()
    assert str(torch.autograd.profiler.profile()) == "<unfinished torch.autograd.profile>"
    with torch.autograd.profiler.profile(enabled=False) as nothing:
        assert nothing is None


def test_variable_is_where_it_was():
    assert torch.autograd.variable.Variable is torch.autograd.Variable


def test_defaults_of_events_and_tables():
    event = FunctionEvent(1, "one", 0, 0.0, 1.0)
    assert (event.node_id, event.use_device, event.device_time_total, event.device_memory_usage) == (-1, None, 0.0, 0)
    assert not (event.is_async or event.is_remote or event.is_legacy)
    many = EventList([FunctionEvent(number, f"event{number:03}", 0, number, number + 1) for number in range(120)])
    shown = [line for line in many.table().splitlines() if "event" in line]
    assert len(shown) == 100  # row_limit
    groups = [inspect.signature(kind.key_averages).parameters for kind in (EventList, profile)]
    assert [group["group_by_stack_n"].default for group in groups] == [0, 0]


def test_operations_are_counted_in_thousands():
    made = EventList(
        [
            FunctionEvent(1, "aten::mm", 7, 0.0, 10.0, flops=2_000_000),
            FunctionEvent(2, "aten::mm", 7, 10.0, 20.0, flops=3),
        ],
        with_flops=True,
    )
    assert "2000000.000" in made.table()
    assert "Total FLOPs" in made.table()
    large = EventList([FunctionEvent(1, "aten::mm", 7, 0.0, 10.0, flops=2_000_000_000_000)], with_flops=True).table()
    assert "Total TFLOPs" in large
    assert "   2.000" in large


def test_operations_beyond_the_largest_unit():
    made = EventList([FunctionEvent(1, "aten::mm", 7, 0.0, 10.0, flops=3 * 10**24)], with_flops=True).table()
    assert "Total PFLOPs" in made
    assert "3000000000.000" in made


def test_averages_and_texts_of_events():
    for event in events().key_averages():
        assert event.cpu_time == event.cpu_time_total / event.count
        assert event.cpu_time_str == format_time(event.cpu_time)
        assert event.cpu_time_total_str == format_time(event.cpu_time_total)
        assert event.self_cpu_time_total_str == format_time(event.self_cpu_time_total)
    (linear,) = (event for event in events().key_averages() if event.key == "aten::linear")
    assert linear.count == 2
    assert abs(linear.cpu_time - (597.348 + 100.0) / 2) < 1e-6
    assert events().self_cpu_time_total == sum(event.self_cpu_time_total for event in events())


@pytest.mark.parametrize(("length", "shown"), [(51, "n" * 51 + " "), (52, "n" * 52 + "..."), (80, "n" * 52 + "...")])
def test_long_names_are_cut(length, shown):
    assert f" {shown}" in EventList([FunctionEvent(1, "n" * length, 7, 0.0, 1.0)]).table().replace("\n", " ")


def test_devices_that_are_not_there_are_not_profiled():
    with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
        torch.autograd.profiler.profile(use_device="cuda")


def test_a_profile_as_text():
    run = torch.autograd.profiler.profile()
    assert repr(run) == str(run) == "<unfinished torch.autograd.profile>"
    with pytest.raises(RuntimeError, match="Profiler didn't finish running"):
        _ = run.function_events
    with run:
        torch.ones(2).add(1)
    assert repr(run) == repr(run.function_events)
    assert str(run) == str(run.function_events)
    assert "aten::add" in str(run)
    assert run.table(row_limit=1).count("aten::") == 1
    assert run.total_average().count == 2
    assert run.self_cpu_time_total == run.function_events.self_cpu_time_total
    with pytest.raises(RuntimeError, match="Profiler context manager is not reentrant"), run:
        run.__enter__()
    with torch.autograd.profiler.profile(enabled=False) as off:
        torch.ones(2).add(1)
    assert off is None


def test_events_of_several_runs_on_request_of_the_old_profiler():
    run = torch.autograd.profiler.profile(acc_events=True)
    for _ in range(2):
        with run:
            torch.ones(2)
    assert [event.name for event in run.function_events] == ["aten::ones", "aten::ones"]
    run = torch.autograd.profiler.profile()
    for _ in range(2):
        with run:
            torch.ones(2)
    assert len(run.function_events) == 1


def test_steps_and_batches_are_ranges_as_in_pytorch():
    parameter = torch.nn.Parameter(torch.ones(2))
    sgd = torch.optim.SGD([parameter], lr=0.1)
    inside = []
    sgd.register_step_pre_hook(lambda *_: inside.append(torch.ones(1)))
    with torch.autograd.profiler.profile() as prof:
        for batch in torch.utils.data.DataLoader(torch.ones(4, 2), batch_size=2):
            (parameter * batch).sum().backward()
            sgd.step()
            sgd.zero_grad()
    ranges = [event for event in prof.function_events if event.is_user_annotation]
    step, zero_grad = "Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad"
    following = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    assert [event.name for event in ranges] == [following, step, zero_grad] * 2 + [following]  # (PyTorch 2.13's)
    children = [[child.name for child in event.cpu_children] for event in ranges if event.name == step]
    assert len(inside) == 2 and all("aten::ones" in names for names in children)  # hooks are part of the step
    assert parameter.grad is None
    parameter.grad = torch.ones(2)
    with profile():
        sgd.zero_grad(set_to_none=False)
    assert parameter.grad.tolist() == [0.0, 0.0]


def test_steps_are_counted_by_who_counts_them():
    tracker = torch.autograd.profiler.KinetoStepTracker
    before = dict(tracker._step_dict), tracker._current_step
    tracker._step_dict.clear()
    tracker._current_step = 0
    try:
        tracker.init_step_count("one")
        assert (tracker.current_step(), tracker.increment_step("one"), tracker.increment_step("two")) == (0, 1, 2)
        tracker.init_step_count("three")
        assert tracker._step_dict == {"one": 1, "two": 2, "three": 2}
        assert (tracker.erase_step_count("two"), tracker.erase_step_count("two"), tracker.current_step()) == (
            True,
            False,
            2,
        )
        assert tracker.increment_step("one") == 2
        tracker._step_dict["one"] = 4
        with pytest.warns(
            UserWarning, match="Profiler step count has increased more than 1 - current_step = 2 step dict =  "
        ):
            assert tracker.increment_step("one") == 5
        with profile() as prof:
            assert tracker._step_dict["ProfilerStep"] == 5
            prof.step()
        assert tracker.current_step() == 6
    finally:
        tracker._step_dict.clear()
        tracker._step_dict.update(before[0])
        tracker._current_step = before[1]
