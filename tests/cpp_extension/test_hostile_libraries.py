"""Libraries of the stable ABI that do what none may: what the ABI can see raises, and nothing ends the process.

Each runs in a process of its own: with hostile_library.cpp its kernels, with hostile_program.py every C function.
"""

import pathlib
import re
import subprocess
import sys

import pytest

from .processes import environment

FOLDER = pathlib.Path(__file__).parent
KERNELS = {
    "deletes_twice": "a handle of a tensor is used after it was deleted",
    "returns_deleted": "a handle of a tensor is used after it was deleted",
    "returns_rubbish": "a handle of a tensor was expected, got 0xdeadbeef, which is no handle",
    "returns_null": "a handle of a tensor was expected, got a null pointer",
    "returns_a_string": "a handle of a tensor was expected, got one of a string",
    "returns_same_twice": "a handle of a tensor is used after it was deleted",
    "returns_kept": "a handle of a tensor is used after it was deleted",
    "list_in_itself": "a handle of a list is used after it was deleted",
    "list_of_rubbish": "a handle of a tensor was expected, got 0x7",
    "number_for_optional": "the cell of an optional value was expected, got 0x1, which is no address",
    "odd_for_optional": "the cell of an optional value was expected, got 0x7fff00000001, which is no address",
    "no_dtype": "no element type has the number 99",
    "no_device": "no device has type 99",
    "no_layout": "no layout has the number 8",
    "no_format": "no memory format has the number 4",
    "no_text": "utf-8",
    "calls_without_arguments": "a stack of arguments was expected, got a null pointer",
    "calls_without_a_name": "an operator's name and overload were expected, got a null pointer",
    "calls_nothing": "Could not find schema for aten::no_such",
    "calls_with_rubbish": "a handle of a tensor was expected, got 0x1",
    "calls_with_a_used_handle": "a handle of a tensor is used after it was deleted",
    "sizes_beyond_all": "overflow",
    "sizes_below_zero": "non-negative",
    "strides_beyond_the_storage": "storage",
    "another_type": "no element type has the number 262",
    "throws_a_number": "a C\\+\\+ exception that is no std::exception",
    "throws_a_text": "a C\\+\\+ exception that is no std::exception",
    "throws_no_text": "no text",
    "throws_at_length": "x{1048576}",
    "checks_without_a_word": "a check failed",
    "throws_in_a_loop": "in a loop",
    "throws_a_number_in_a_loop": "a C\\+\\+ exception that is no std::exception",
    "fails_in_a_loop": "a handle of a tensor was expected, got 0x10",
    "loops_without_a_body": "the body of a parallel loop was expected, got a null pointer",
    "deletes_in_threads": "^deleted once",
    "throws_in_a_deleter": "^it went on",
}
PROGRAM = """
import sys
import mindtorch_v2 as torch
from mindtorch_v2.utils import cpp_extension
torch.set_num_threads(4)
cpp_extension.load("hostile_library", [sys.argv[1]], ["-O0"], build_directory=sys.argv[2], is_python_module=False)
ops = torch.ops.hostile_library
assert ops.keeps(torch.ones(2)).tolist() == [1, 1]
assert ops.returns_undefined(torch.ones(2)) is None
x = torch.ones(4)
for name in sys.argv[3:]:
    try:
        getattr(ops, name)(x)
    except Exception as error:
        print(name, type(error).__name__, repr(str(error)), flush=True)
    else:
        print(name, "nothing", flush=True)
    assert torch.ones(2).add(1).tolist() == [2, 2]
"""


def _run(*arguments):
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", *arguments],
        capture_output=True,
        text=True,
        env=environment(OMP_NUM_THREADS="4"),
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """A process in which each kernel ran; it printed the class and the text of what was raised."""
    return _run("-c", PROGRAM, str(FOLDER / "hostile_library.cpp"), str(tmp_path_factory.mktemp("hostile")), *KERNELS)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels(answers, kernel):
    found = re.search(rf"^{kernel} (\w+) (.*)$", answers.stdout, re.MULTILINE)
    assert found, answers.stdout[-2000:]
    assert found[1] in ("RuntimeError", "IndexError", "UnicodeDecodeError")
    assert re.search(KERNELS[kernel].replace("^", "^['\"]"), found[2]), found[2]


@pytest.mark.parametrize("seed", range(3))
def test_every_function(tmp_path, seed):
    log = tmp_path / "log"
    try:
        done = _run(str(FOLDER / "hostile_program.py"), str(log), str(seed))
    except AssertionError as error:
        raise AssertionError(f"at {log.read_text() if log.exists() else 'the start'}: {error}") from None
    functions, calls, refused, operators = map(int, re.findall(r"\d+", done.stdout.splitlines()[-1]))
    assert functions > 100 and calls > 3000 and refused > calls / 2 and operators > 1000
