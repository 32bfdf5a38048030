"""`python -m mindtorch_v2.cuda`, and `torch.cuda` on hosts without a driver."""

import os
import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.cuda import compiler, libraries

_BUILT = (libraries.EMULATOR / "libcuda.so.1").exists()


def _run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)


@pytest.mark.skipif(not _BUILT, reason="the emulated GPU is not built")
def test_a_program_runs_on_the_emulated_gpu() -> None:
    program = "import mindtorch_v2 as torch; print(torch.cuda.is_available(), torch.empty(2, device='cuda').device)"
    done = _run("-m", "mindtorch_v2.cuda", "emulate", "--", sys.executable, "-c", program)
    assert (done.returncode, done.stdout) == (0, "True cuda:0\n"), done.stderr


@pytest.mark.skipif(not _BUILT, reason="the emulated GPU is not built")
def test_the_doctor_tells_what_is_found() -> None:
    done = _run("-m", "mindtorch_v2.cuda", "doctor", MINDTORCH_CUDA_EMULATOR="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("driver: CUDA 13.0, the emulated one\ncublas: ")
    assert "cuda:0: Emulated GPU (mindtorch_v2), compute capability 9.0, " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["emulate", "--"], "no program was given"), (["emulate", "--", "/no/such/program"], "/no/such/program: ")],
)
def test_mistakes_are_named(arguments: list[str], told: str) -> None:
    done = _run("-m", "mindtorch_v2.cuda", *arguments)
    assert done.returncode != 0
    if _BUILT:
        assert told in done.stderr


def test_a_wrong_value_of_the_variable_is_named() -> None:
    done = _run("-c", "import mindtorch_v2 as t; t.cuda.is_available()", MINDTORCH_CUDA_EMULATOR="yes")
    assert "ValueError: MINDTORCH_CUDA_EMULATOR is 'yes'; it is 1 for the emulated GPU, or 0" in done.stderr


def test_nothing_of_cuda_is_loaded_by_an_import() -> None:
    program = "import sys, mindtorch_v2; print([m for m in sys.modules if '_backends.cuda' in m])"
    assert _run("-c", program).stdout == "[]\n"


@pytest.mark.skipif(libraries.has_driver(), reason="there is a driver")
def test_without_a_driver_devices_are_refused_in_pytorchs_words() -> None:
    assert not torch.cuda.is_available() and torch.cuda.device_count() == 0
    for call in (
        lambda: torch.ones(1, device="cuda"),
        lambda: torch.ones(1).cuda(),
        torch.cuda.Stream,
        torch.cuda.Event,
    ):
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            call()


def test_a_missing_library_names_its_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(libraries.EMULATED, raising=False)
    monkeypatch.setitem(libraries._WHEELS, "none", ("none", ("libnone-at-all.so.1",), "nvidia-none", "none"))
    with pytest.raises(OSError, match=r"libnone-at-all\.so\.1 was not found.*`pip install nvidia-none`"):
        libraries.find("none")


def test_kernels_that_others_could_write_are_not_loaded(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDTORCH_CUDA_CACHE", str(tmp_path / "cache"))
    compiler._keep("ab12", b"image")
    kept = tmp_path / "cache" / "ab" / "ab12"
    assert compiler._kept("ab12") == b"image"
    kept.chmod(0o666)
    assert compiler._kept("ab12") is None
    kept.chmod(0o644)
    kept.write_bytes(kept.read_bytes()[:-1])
    assert compiler._kept("ab12") is None
    assert compiler._kept("cd34") is None


def test_versions_are_told_as_cuda_tells_them() -> None:
    assert [libraries.version_of(n) for n in (12080, 13000, 12010)] == ["12.8", "13.0", "12.1"]


def test_a_library_of_the_name_alone_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(libraries.EMULATED, raising=False)
    monkeypatch.setitem(libraries._WHEELS, "name only", ("none", ("libc.so.6",), "nvidia-none", "nvrtcVersion"))
    with pytest.raises(OSError, match=r"libc\.so\.6 was not found"):
        libraries.find("name only")
