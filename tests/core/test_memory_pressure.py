"""A process that may have only so much memory: every lack of it is an exception, and what is kept for later is not missed."""

import os
import resource
import subprocess
import sys

import pytest

PROLOGUE = """
import resource
import mindtorch_v2 as torch

def limit(mib):
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (mib << 20),) * 2)

def what_comes_of(function):
    try:
        return function()
    except (RuntimeError, MemoryError) as error:
        return f"{type(error).__name__}: {error}"
"""


def run(program):
    ran = subprocess.run([sys.executable, "-c", PROLOGUE + program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout.splitlines()


@pytest.fixture(autouse=True)
def _needs_room_for_shadows():
    if {"ASAN_OPTIONS", "TSAN_OPTIONS"} & os.environ.keys():
        pytest.skip("a sanitizer needs address space of its own")
    if resource.getrlimit(resource.RLIMIT_AS)[1] != resource.RLIM_INFINITY:
        pytest.skip("this process has a limit already")


def test_what_is_kept_for_later_is_there_for_others():
    (size,) = run("""
limit(600)
kept = [torch.empty(10 << 18) for _ in range(48)]
del kept
print(len(bytearray(400 << 20)))
""")
    assert int(size) == 400 << 20


@pytest.mark.parametrize("mib", [4, 24, 40, 56, 72])
def test_linear_algebra_without_room_to_work(mib):
    """OpenBLAS would end the process; a first call is refused instead, and works once there is room."""
    *lines, after = run(f"""
import warnings
a = torch.rand(300, 300, dtype=torch.float64)
limit({mib})
for function in (torch.linalg.inv, torch.linalg.eigvalsh, torch.linalg.svdvals, lambda x: x @ x):
    print(str(what_comes_of(lambda: tuple(function(a).shape))).replace(chr(10), " "))
resource.setrlimit(resource.RLIMIT_AS, (resource.getrlimit(resource.RLIMIT_AS)[1],) * 2)
print("here")
""")
    assert len(lines) == 4 and after == "here"
    for line in lines:
        assert line.startswith(("(", "RuntimeError: ", "MemoryError")), line
    if mib == 4:
        assert "could not be loaded" in lines[0] and "pip install" not in lines[0] or "allocate memory" in lines[0]


def test_all_memory_taken():
    lines = run("""
limit(300)
taken = []
def take():
    while True:
        taken.append(torch.ones(1 << 18))
print(what_comes_of(take))
for function in (lambda x: torch.sort(x), lambda x: torch.fft.fft(x), lambda x: torch.cat([x, x]), lambda x: x.repeat(9)):
    print(what_comes_of(lambda: function(taken[0])))
taken.clear()
print(tuple(torch.fft.fft(torch.ones(1 << 18)).shape))
""")
    assert "can't allocate memory" in lines[0]
    assert all(line.startswith(("RuntimeError", "MemoryError")) for line in lines[:-1])
    assert lines[-1] == f"({1 << 18},)"


def test_blocks_of_middle_size_are_not_kept_beyond_the_limit_either():
    (size, count) = run("""
limit(300)
kept = [torch.empty(1 << 18) for _ in range(250)]
count = len(kept)
del kept
print(len(bytearray(200 << 20)))
print(count)
""")
    assert (int(size), int(count)) == (200 << 20, 250)
