"""Measurements and tables of them, as PyTorch 2.13 shows the same times; and what a timer counts."""

import json
import pathlib

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils.benchmark import Compare, Measurement, TaskSpec, Timer, select_unit, trim_sigfig

pytestmark = pytest.mark.no_torch

TEXTS = json.loads(pathlib.Path(__file__).with_name("benchmark_texts.json").read_text())


def measured(slow, wide, threads):
    task = TaskSpec(
        "x = 1", "y=2", label="lab", sub_label=("s1", "a longer one")[wide],
        description=("desc a", "another desc")[slow], num_threads=threads,
    )  # fmt: skip
    unit = 1e-3 * (1 + 3 * wide + 7 * slow) * threads
    return Measurement(100, [unit * i for i in (1, 1.0 + 0.2 * wide, 1.02, 0.99, 1.5)], task)


RESULTS = [
    measured(slow, wide, threads)
    for wide in (0, 1) for slow in (0, 1) for threads in (1, 2) if (wide, slow, threads) != (1, 1, 2)
]  # fmt: skip


def test_measurements_read_as_in_pytorch():
    shown = [
        RESULTS[0],
        RESULTS[4],
        Measurement(1, [1e-6], TaskSpec("x", "pass")),
        Measurement(10, [1e-6, 1.02e-6], TaskSpec("x\ny", "a\nb", num_threads=3)),
        Measurement(10, [1e-6, 1.02e-6, 1.3e-6, 1.5e-6], TaskSpec("x", "", label="L", sub_label="S", description="D")),
    ]
    assert [repr(each).splitlines()[1:] for each in shown] == TEXTS[:5]


def test_tables_read_as_in_pytorch():
    compare = Compare(RESULTS)
    shown = [str(compare)]
    compare.trim_significant_figures()
    shown.append(str(compare))
    compare.highlight_warnings()
    shown.append(str(compare))
    assert [text.splitlines() for text in shown] == TEXTS[5:]


def test_replicates_are_taken_together():
    merged = Measurement.merge([*RESULTS, *RESULTS])
    assert len(merged) == len(RESULTS)
    assert len(merged[0].times) == 10
    assert merged[0].median == pytest.approx(RESULTS[0].median)


def test_units_and_figures():
    assert [select_unit(t)[0] for t in (2e-9, 2e-6, 2e-3, 2.0, 200.0)] == ["ns", "us", "ms", "s", "s"]
    assert trim_sigfig(0.1234, 2) == pytest.approx(0.12)


def test_a_timer_runs_what_it_says():
    runs, threads = [], []

    def statement():
        runs.append(1)
        threads.append(torch.get_num_threads())

    before = torch.get_num_threads()
    measurement = Timer("f()", globals={"f": statement}, num_threads=2, label="L").timeit(200)
    assert len(runs) == 202  # two of them to warm up
    assert set(threads) == {2}
    assert torch.get_num_threads() == before
    assert (measurement.number_per_run, measurement.label) == (200, "L")


def test_ranges_run_until_there_is_enough():
    spent = []  # a second for every run
    seen = []
    timer = Timer("spent.append(1)", timer=lambda: len(spent), globals={"spent": spent})
    blocked = timer.blocked_autorange(lambda number, time: seen.append((number, time)), min_run_time=3)
    assert blocked.raw_times == [1] * 3
    assert seen == [(blocked.number_per_run, 1)] * 3
    assert timer.adaptive_autorange(min_run_time=0.5, max_run_time=100).raw_times == [1] * 4


def test_errors():
    with pytest.raises(ValueError, match="Currently only a `str` stmt is supported"):
        Timer(3)
    with pytest.raises(ValueError, match="Invalid language `zz`"):
        Timer("x", language="zz")
    with pytest.raises(NotImplementedError, match="C\\+\\+"):
        Timer("x", language="c++")
    with pytest.raises(NotImplementedError, match="collect_callgrind is not implemented"):
        Timer("x").collect_callgrind()
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        Compare([3])


def test_model_zoo_is_the_hub():
    from mindtorch_v2.utils.model_zoo import load_url

    assert load_url is torch.hub.load_state_dict_from_url
