"""Profiles that a file turns on while a program runs, each in a process of its own."""

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from mindtorch_v2.npu.torch_npu.profiler import ProfilerActivity
from mindtorch_v2.npu.torch_npu.profiler._dynamic_profiler._dynamic_profiler_config_context import ConfigContext
from mindtorch_v2.npu.torch_npu.profiler._dynamic_profiler._dynamic_profiler_monitor_shm import (
    DynamicProfilerShareMemory,
)

_WITH_STEPS = """
import json, pathlib, sys, time
import mindtorch_v2 as torch
from mindtorch_v2.npu.torch_npu.profiler import dynamic_profile
folder = pathlib.Path(sys.argv[1])
dynamic_profile.init(str(folder))
file = folder / "profiler_config.json"
asked = json.loads(file.read_text()) | {"prof_dir": str(folder / "made"), "analyse": True, "active": 2, "start_step": 2}
asked["metadata"] = {"who": ["me"]}
asked |= json.loads(sys.argv[2])
time.sleep(1.1)  # the time of the file counts in seconds
file.write_text(json.dumps(asked))
time.sleep(3)
for step in range(5):
    dynamic_profile.step()
    (torch.ones(step + 1) + 1).sum()
"""

_WITHOUT = """
import json, pathlib, sys, time
import mindtorch_v2 as torch
import mindtorch_v2.npu.torch_npu
w = torch.ones(2, requires_grad=True)
other, optimizer = (torch.optim.SGD([w], lr=0.1) for _ in range(2))
folder = pathlib.Path(sys.argv[1])
file = folder / "profiler_config.json"
time.sleep(1.1)
file.write_text(json.dumps(json.loads(file.read_text()) | {"prof_dir": str(folder / "made"), "analyse": True, "start_step": 1}))
time.sleep(3)
for _ in range(3):
    w.sum().backward()
    other.step()
    optimizer.step()
"""


def _run(program: str, *arguments: str, **variables: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], env={**os.environ, **variables}, capture_output=True, text=True
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr


def _steps(folder: pathlib.Path) -> list[str]:
    (output,) = (folder / "made").glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT")
    rows = json.loads((output / "trace_view.json").read_text("utf-8"))
    return sorted(row["name"] for row in rows if row["name"].startswith("ProfilerStep"))


def test_a_file_profiles_the_steps_that_it_names(tmp_path: pathlib.Path) -> None:
    _run(_WITH_STEPS, str(tmp_path), json.dumps({}))
    assert _steps(tmp_path) == ["ProfilerStep#2", "ProfilerStep#3"]
    (folder,) = (tmp_path / "made").iterdir()
    assert json.loads((folder / "profiler_metadata.json").read_text("utf-8"))["who"] == ["me"]
    assert "was read" in next((tmp_path / "log").glob("monitor_*.log")).read_text("utf-8")
    assert not pathlib.Path("/dev/shm", DynamicProfilerShareMemory.name_of(str(tmp_path))).exists()


def test_ranks_that_a_file_does_not_name_are_left_alone(tmp_path: pathlib.Path) -> None:
    _run(_WITH_STEPS, str(tmp_path), json.dumps({"is_rank": True, "rank_list": [1]}), RANK="0")
    assert not (tmp_path / "made").exists()


def test_a_program_that_knows_nothing_of_it_is_profiled(tmp_path: pathlib.Path) -> None:
    _run(_WITHOUT, str(tmp_path), PROF_CONFIG_PATH=str(tmp_path))
    assert _steps(tmp_path) == ["ProfilerStep#1"]


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("active", 3, 3), ("active", 0, 1), ("active", "2", 1), ("warmup", -1, 0), ("warmup", 2, 2), ("start_step", -1, -1),
        ("start_step", -2, 0), ("analyse", True, True), ("analyse", "yes", False), ("async_mode", 1, False),
        ("activities", ["cpu", "gpu"], [ProfilerActivity.CPU]), ("activities", "CPU", []),
    ],
)  # fmt: skip
def test_what_is_no_value_of_an_option_is_its_default(name: str, value: Any, found: Any) -> None:
    context = ConfigContext({name: value})
    assert getattr(context, name)() == found
    assert context.prof_path == "./" and context.experimental_config is None and context.meta_data() == {}
    assert context.start() == (found == -1)


def test_a_file_as_bytes_and_back() -> None:
    data = {"active": 2, "prof_dir": "ß"}
    assert ConfigContext.bytes_to_profiler_cfg_json(ConfigContext.profiler_cfg_json_to_bytes(data)) == data
    assert not ConfigContext(data).valid() and ConfigContext(data | {"is_valid": True}).valid()
