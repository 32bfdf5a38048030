"""Whole training runs on the emulator take the CPU's course."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

from mindtorch_v2._backends.npu import libraries

_PROGRAMS = pathlib.Path(__file__).parent / "programs"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.no_torch,
    pytest.mark.skipif(not (libraries.EMULATOR / "lib64" / "libopapi.so").exists(), reason="the emulator is not built"),
    pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="needs transformers"),
]


def _losses(program: str, *arguments: str, device: str, steps: int) -> list[float]:
    launcher = [sys.executable, "-m", "mindtorch_v2.npu", "emulate", "--", sys.executable, "-m", "mindtorch_v2"]
    command = [*launcher, str(_PROGRAMS / program), *arguments, device, str(steps)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "[emulator]" not in done.stderr, done.stderr[-4000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["device"].startswith(device) and len(said["losses"]) == steps
    return said["losses"]


@pytest.mark.parametrize("model", ["gpt2", "llama", "vit", "resnet"])
def test_twenty_steps_take_the_course_of_the_cpu(model: str) -> None:
    expected, found = (_losses("small_models.py", model, device=device, steps=20) for device in ("cpu", "npu"))
    assert found == pytest.approx(expected, rel=1e-4)
    assert sum(expected[-5:]) < sum(expected[:5])  # it learns


def test_fine_tuning_bert_on_real_text_takes_the_course_of_the_cpu() -> None:
    if importlib.util.find_spec("tokenizers") is None:
        pytest.skip("needs tokenizers")
    expected, found = (_losses("bert_text.py", device=device, steps=50) for device in ("cpu", "npu"))
    assert found == pytest.approx(expected, rel=1e-4)


def test_more_families_train_and_generate_as_on_the_cpu() -> None:
    names = "clip distilbert longformer mistral qwen3_moe roberta segformer t5 wav2vec2 whisper".split()
    launcher = [sys.executable, "-m", "mindtorch_v2.npu", "emulate", "--", sys.executable, "-m", "mindtorch_v2"]
    command = [*launcher, str(_PROGRAMS / "families.py"), *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0 and "[emulator]" not in done.stderr, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert list(found) == names
    for name, courses in found.items():
        assert courses["npu"]["losses"] == pytest.approx(courses["cpu"]["losses"], rel=1e-4), name
        assert courses["npu"]["written"] == courses["cpu"]["written"], name


def test_flash_attention_of_transformers_is_as_exact_as_eager_attention() -> None:
    launcher = [sys.executable, "-m", "mindtorch_v2.npu", "emulate", "--", sys.executable, "-m", "mindtorch_v2"]
    command = [*launcher, str(_PROGRAMS / "flash_attention.py")]
    switched = {**os.environ, "MINDTORCH_AS_TORCH_NPU": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False, env=switched)
    assert done.returncode == 0 and "[emulator]" not in done.stderr, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == 9
    for name, distances in found.items():
        for npu, cpu in zip(distances["npu"], distances["cpu"], strict=True):
            assert 0 < npu < 1.5 * cpu, name


def test_the_trainer_of_transformers_resumes_bit_for_bit() -> None:
    launcher = [sys.executable, "-m", "mindtorch_v2.npu", "emulate", "--", sys.executable, "-m", "mindtorch_v2"]
    switched = {**os.environ, "MINDTORCH_AS_TORCH_NPU": "1"}
    command = [*launcher, str(_PROGRAMS / "trainer.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=switched)
    assert done.returncode == 0 and "[emulator]" not in done.stderr, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["device"] == "npu:0" and found["optimizer"] == "NpuFusedAdamW"
    assert len(found["losses"]) == 6 and found["later"] == found["losses"][3:]
    assert found["same"]


@pytest.mark.parametrize("script", ["test_ops", "test_sync", "test_script"])
def test_accelerate_launches_its_own_tests_on_two_devices(script: str) -> None:
    found = importlib.util.find_spec("accelerate")
    if found is None or found.origin is None:
        pytest.skip("needs accelerate")
    folder = pathlib.Path(found.origin).parent
    command = [
        sys.executable, "-m", "mindtorch_v2.npu", "emulate", "--devices", "2", "--", sys.executable, "-m", "mindtorch_v2",
        "-m", "accelerate.commands.launch", "--num_processes", "2", "--num_machines", "1", "--mixed_precision", "no",
        "--dynamo_backend", "no", str(_PROGRAMS / "accelerate_script.py"),
        str(folder / "test_utils" / "scripts" / f"{script}.py"),
    ]  # fmt: skip
    switched = {**os.environ, "MINDTORCH_AS_TORCH_NPU": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=switched)
    assert done.returncode == 0 and "[emulator]" not in done.stderr, done.stderr[-4000:]
    assert "MULTI_NPU" in done.stdout + done.stderr or script == "test_sync"


def test_ten_thousand_steps_leave_nothing_behind() -> None:
    launcher = [sys.executable, "-m", "mindtorch_v2.npu", "emulate", "--", sys.executable]
    command = [*launcher, str(_PROGRAMS / "long_run.py"), "10000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr[-4000:]
    said = json.loads(done.stdout)
    early, late = said["early"], said["late"]
    grown = late.pop("resident KiB") - early.pop("resident KiB")
    assert late.pop("scalars") <= 2 * 512 and early.pop("scalars") > 0  # the pool, and what was dropped last
    assert late == early and late["executors"] == 0 and late["misuses"] == 0
    assert grown < 4096, f"{grown} KiB more after 9,000 steps"
    assert said["losses"][1] < 0.5 * said["losses"][0]
