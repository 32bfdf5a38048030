"""How libraries that were made for PyTorch find what they name: in processes of their own."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap

import pytest

from mindtorch_v2._core import stable_libraries

from .processes import environment

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="it needs a C compiler")

SOURCE = r"""
#include <stdint.h>
#include <stdlib.h>
typedef void* handle;
int aoti_torch_library_init_def(const char*, const char*, uint32_t, handle*);
int aoti_torch_library_init_impl(const char*, const char*, const char*, uint32_t, handle*);
int aoti_torch_library_def(handle, const char*);
int torch_library_impl(handle, const char*, void (*)(uint64_t*, uint64_t, uint64_t), uint64_t);
static void same(uint64_t* stack, uint64_t arguments, uint64_t results) {}
__attribute__((constructor)) static void load(void) {
    handle defined, kernels;
    if (aoti_torch_library_init_def("loaded", __FILE__, __LINE__, &defined)) abort();
    if (aoti_torch_library_def(defined, "same(Tensor x) -> Tensor")) abort();
    if (aoti_torch_library_init_impl("loaded", "CPU", __FILE__, __LINE__, &kernels)) abort();
    if (torch_library_impl(kernels, "same", same, 0)) abort();
}
"""
MODULE = r"""
#include <Python.h>
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "stable_module", 0, -1, 0};
PyMODINIT_FUNC PyInit_stable_module(void) { return PyModule_Create(&module); }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A library as a wheel has it: it names libtorch_cpu.so, and nothing says where that lies."""
    folder = tmp_path_factory.mktemp("stable")
    (folder / "library.c").write_text(SOURCE)
    (folder / "named.c").write_text("")
    subprocess.run(
        "cc -shared -fPIC named.c -o libtorch_cpu.so -Wl,-soname,libtorch_cpu.so".split(), cwd=folder, check=True
    )
    command = "cc -shared -fPIC library.c -o library.so -Wl,--no-as-needed -L. -ltorch_cpu -Wl,--unresolved-symbols=ignore-all"
    subprocess.run(command.split(), cwd=folder, check=True)
    (folder / "module.c").write_text(SOURCE + MODULE)
    command = command.replace("library", "module").replace("module.so", "stable_module.so")
    include = f"-I{sysconfig.get_paths()['include']}"
    subprocess.run([*command.split(), include], cwd=folder, check=True)
    os.remove(folder / "libtorch_cpu.so")
    return folder / "library.so"


def _run(program, *folders):
    places = os.pathsep.join(map(os.fspath, [*folders, *filter(None, sys.path)]))
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        env=environment(PYTHONPATH=places),
        check=False,
    )


def test_names_in_a_file(library, tmp_path):
    assert "libtorch_cpu.so" in stable_libraries.libraries_needed(library)
    assert stable_libraries.libraries_needed(__file__) == ()
    assert stable_libraries.libraries_needed(tmp_path / "absent") == ()
    cut = tmp_path / "cut.so"
    cut.write_bytes(library.read_bytes()[:80])
    assert stable_libraries.libraries_needed(cut) == ()


def test_a_library_is_loaded(library):
    done = _run(f"""
        import mindtorch_v2 as torch
        from mindtorch_v2._core import stable_libraries
        assert not stable_libraries._loaded  # not before somebody asks
        torch.ops.load_library({str(library)!r})
        x = torch.ones(2)
        assert torch.ops.loaded.same(x) is x
        """)
    assert done.returncode == 0, done.stderr


def test_the_same_operators_twice(library, tmp_path):
    """A registration that fails while a file is loaded is an exception of load_library, not the end of the process."""
    second = tmp_path / "second.so"
    shutil.copy(library, second)
    done = _run(f"""
        import mindtorch_v2 as torch
        torch.ops.load_library({str(library)!r})
        try:
            torch.ops.load_library({str(second)!r})
        except RuntimeError as error:
            assert "Only a single TORCH_LIBRARY can be used to register the namespace loaded" in str(error), error
        else:
            raise SystemExit("nothing was raised")
        x = torch.ones(2)
        assert torch.ops.loaded.same(x) is x
        """)
    assert done.returncode == 0, done.stderr


def test_a_compiled_module_is_imported(library):
    done = _run(
        """
        import mindtorch_v2
        mindtorch_v2.as_torch()
        import torch, stable_module
        x = torch.ones(2)
        assert torch.ops.loaded.same(x) is x
        """,
        library.parent,
    )
    assert done.returncode == 0, done.stderr


def test_a_real_pytorch_goes_before(library):
    if importlib.util.find_spec("torch") is None or "mindtorch" in str(importlib.util.find_spec("torch").origin):
        # What such a process looks like to the linker.
        real = library.parent / "real"
        real.mkdir()
        command = f"cc -shared -fPIC -x c /dev/null -o {real / 'libtorch_cpu.so'} -Wl,-soname,libtorch_cpu.so"
        subprocess.run(command.split(), check=True)
        first = f"import ctypes; ctypes.CDLL({str(real / 'libtorch_cpu.so')!r})"
    else:
        first = "import torch"
    done = _run(f"""
        {first}
        import mindtorch_v2
        try:
            mindtorch_v2.ops.load_library({str(library)!r})
        except RuntimeError as error:
            assert "a real PyTorch is loaded in this process" in str(error), error
        else:
            raise SystemExit("nothing was raised")
        """)
    assert done.returncode == 0, done.stderr
