"""The switch: `import torch` means this package where it was asked for, and nowhere else."""

import os
import pathlib
import subprocess
import sys
import textwrap
import venv

import pytest

pytestmark = pytest.mark.no_torch


def run(*arguments, code=None, **environment):
    """A Python process with the sources on its path and, unless given, without the variable."""
    import mindtorch_v2

    variables = {name: value for name, value in os.environ.items() if name != "MINDTORCH_AS_TORCH"}
    variables["PYTHONPATH"] = str(pathlib.Path(mindtorch_v2.__file__).parents[1])
    variables.update(environment)
    if code is not None:
        arguments = ("-c", textwrap.dedent(code))
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=variables, check=False)


def output(*arguments, **options):
    result = run(*arguments, **options)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


ON = "import mindtorch_v2; mindtorch_v2.as_torch()\n"


def test_modules_are_the_same_objects():
    code = ON + textwrap.dedent(
        """
        import torch, torch.nn.functional as F, torch.utils.data
        from torch.nn.modules.linear import Linear
        assert torch is mindtorch_v2 and F is mindtorch_v2.nn.functional
        assert torch.utils.data is mindtorch_v2.utils.data
        assert Linear is mindtorch_v2.nn.Linear
        assert mindtorch_v2.nn.__spec__.name == "mindtorch_v2.nn" and mindtorch_v2.nn.__package__ == "mindtorch_v2.nn"
        print(torch.__version__)
        """
    )
    assert output(code=code) == "2.13.0"


def test_functorch_is_ours_too():
    code = ON + textwrap.dedent(
        """
        from functorch import vmap
        from functorch.compile import aot_function, make_boxed_func, min_cut_rematerialization_partition, nop
        import functorch.compile, torch
        assert vmap.__wrapped__ is torch.func.vmap and functorch.compile.nop is nop
        x = torch.ones(2, requires_grad=True)
        compiled = aot_function(lambda x: x.sin() * 2, nop, partition_fn=min_cut_rematerialization_partition)
        compiled(x).sum().backward()
        assert torch.equal(x.grad, 2 * torch.ones(2).cos())
        print(nop(torch.fx.symbolic_trace(lambda x: x * 2), None)([torch.ones(1)]))
        """
    )
    assert output(code=code) == "tensor([2.])"


def test_a_function_stays_where_a_module_has_its_name():
    code = ON + textwrap.dedent(
        """
        import torch.multiprocessing
        import torch.multiprocessing.spawn
        print(callable(torch.multiprocessing.spawn))
        """
    )
    assert output(code=code) == "True"


def test_loaded_modules_are_in_sys_modules_by_their_second_name():
    code = ON + textwrap.dedent(
        """
        import sys
        import torch
        torch.nn.Linear(2, 2)
        wanted = ["torch.nn", "torch.nn.init", "torch.nn.modules.linear", "torch.nn.functional"]
        print(all(sys.modules[name] is sys.modules[name.replace("torch", "mindtorch_v2")] for name in wanted))
        """
    )
    assert output(code=code) == "True"


def test_libraries_find_the_distribution():
    code = ON + textwrap.dedent(
        """
        import importlib.metadata, importlib.util
        assert importlib.util.find_spec("torch") is not None
        import torch
        assert torch.__spec__ is not None
        assert importlib.metadata.packages_distributions()["torch"][0] == "torch"
        print(importlib.metadata.version("torch"), importlib.metadata.metadata("torch")["Name"])
        """
    )
    assert output(code=code) == "2.13.0 torch"


@pytest.mark.parametrize("name", ["torch.no_such", "torch.nn.no_such", "torch.fx.passes.no_such"])
def test_missing_module_is_named(name):
    result = run(code=ON + f"import {name}")
    assert f"ModuleNotFoundError: No module named '{name}'" in result.stderr


def test_missing_module_has_no_spec():
    code = ON + "import importlib.util; print(importlib.util.find_spec('torch.nn.no_such'))"
    assert output(code=code) == "None"


def test_missing_name_is_named():
    result = run(code=ON + "from torch.nn import no_such")
    assert "ImportError: cannot import name 'no_such'" in result.stderr


def test_off_unless_asked_for():
    code = """
        import sys, mindtorch_v2
        assert "torch" not in sys.modules
        print(any(type(finder).__name__ == "TorchFinder" for finder in sys.meta_path))
        """
    assert output(code=code) == "False"


def test_another_torch_is_not_replaced(tmp_path):
    (tmp_path / "torch.py").write_text("name = 'another'\n")
    code = f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import torch, mindtorch_v2
        try:
            mindtorch_v2.as_torch()
        except RuntimeError as error:
            print("another `torch` is already imported" in str(error), torch.name)
        """
    assert output(code=code) == "True another"


def test_asked_for_it_comes_before_an_installed_torch(tmp_path):
    (tmp_path / "torch.py").write_text("name = 'another'\n")
    code = f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import mindtorch_v2
        mindtorch_v2.as_torch()
        mindtorch_v2.as_torch()
        import torch
        print(torch is mindtorch_v2, sum(type(finder).__name__ == "TorchFinder" for finder in sys.meta_path))
        """
    assert output(code=code) == "True 1"


SCRIPT = "import sys, torch, mindtorch_v2\nassert torch is mindtorch_v2\nprint(sys.argv[1:], __name__, len(sys.path[0]) > 0)\n"


def test_launcher_runs_a_script(tmp_path):
    (tmp_path / "program.py").write_text(SCRIPT + "import beside\nprint(beside.value, __file__)\n")
    (tmp_path / "beside.py").write_text("value = 7\n")
    path = tmp_path / "program.py"
    expected = f"['a', '-m', '--b'] __main__ True\n7 {path}"
    assert output("-m", "mindtorch_v2", str(path), "a", "-m", "--b") == expected


def test_launcher_runs_a_module(tmp_path):
    (tmp_path / "program.py").write_text(SCRIPT)
    import mindtorch_v2

    path = f"{tmp_path}{os.pathsep}{pathlib.Path(mindtorch_v2.__file__).parents[1]}"
    assert output("-m", "mindtorch_v2", "-m", "program", "x", PYTHONPATH=path) == "['x'] __main__ True"


def test_launcher_runs_a_command():
    assert output(
        "-m", "mindtorch_v2", "-c", "import sys, torch; print(sys.argv, torch.__name__, torch.__package__)", "x"
    ) == ("['-c', 'x'] torch mindtorch_v2")


def test_launcher_passes_the_exit_status_on(tmp_path):
    (tmp_path / "program.py").write_text("raise SystemExit(3)\n")
    assert run("-m", "mindtorch_v2", str(tmp_path / "program.py")).returncode == 3


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("no_such_file.py",), "can't open file 'no_such_file.py'"),
        (("--no-such",), "unknown option --no-such"),
        (("-m",), "argument expected for the -m option"),
    ],
)
def test_launcher_refuses(arguments, text):
    result = run("-m", "mindtorch_v2", *arguments)
    assert result.returncode == 2
    assert text in result.stderr


STARTUP = """
import sys
sys.path.insert(0, {source!r})
line = open({source!r} + "/mindtorch_v2_startup.pth").read()
exec(line)
print("_mindtorch_v2_startup" in sys.modules, "mindtorch_v2" in sys.modules)
if "_mindtorch_v2_startup" in sys.modules:
    import torch
    print(torch.__package__)
"""


@pytest.mark.parametrize(
    ("value", "expected"),
    [(on, "True False\nmindtorch_v2") for on in ("1", "true", "yes", "on")]
    + [(off, "False False") for off in ("", "0", "false", "False", "no", "NO", "off")],
)
def test_startup_line_acts_on_the_variable(value, expected):
    import mindtorch_v2

    source = str(pathlib.Path(mindtorch_v2.__file__).parents[1])
    assert output(code=STARTUP.format(source=source), MINDTORCH_AS_TORCH=value) == expected


def test_torch_npu_is_one_module_though_it_is_asked_for_first():
    import mindtorch_v2

    source = str(pathlib.Path(mindtorch_v2.__file__).parents[1])
    code = f"""
        import sys
        sys.path.insert(0, {source!r})
        import _mindtorch_v2_startup
        from torch_npu.npu import streams
        import torch, torch_npu
        print(torch_npu is sys.modules["mindtorch_v2.npu.torch_npu"], streams is torch.npu.streams)
    """
    assert output(code=code, MINDTORCH_AS_TORCH="1", MINDTORCH_AS_TORCH_NPU="1") == "True True"


def test_installed_metadata_satisfies_requirements(tmp_path):
    """The distribution that `--install-metadata` writes is one: it has a version, files, and can be removed."""
    code = f"""
        import importlib.metadata, pathlib, sys
        from mindtorch_v2._as_torch import distribution as d
        d._site = lambda: pathlib.Path({str(tmp_path)!r})
        d._scripts = lambda: pathlib.Path({str(tmp_path / "bin")!r})
        d._installed = lambda: []
        d.install()
        sys.path.insert(0, {str(tmp_path)!r})
        found = importlib.metadata.distribution("torch")
        print(found.version, all(file.locate().exists() for file in found.files))
        print(*sorted({{file.name for file in found.files}} & {{"torchrun", "METADATA", "linalg.pyi"}}))
        print(found.entry_points["torchrun"].load().__module__)
        d.remove()
        """
    assert output(code=code).splitlines() == [
        "2.13.0+mindtorch True",
        "METADATA linalg.pyi torchrun",
        "mindtorch_v2.distributed.run",
    ]
    assert not any(tmp_path.iterdir())


def test_wheel_of_the_distribution(tmp_path):
    """pip installs it and leaves nothing behind; the same bytes come each time."""
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        output(code=f"from mindtorch_v2._as_torch import distribution as d; d.write_wheel({str(folder)!r})")
    (wheel,) = first.iterdir()
    assert wheel.name == "torch-2.13.0+mindtorch-py3-none-any.whl"
    assert wheel.read_bytes() == (second / wheel.name).read_bytes()
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False)
    before = sorted(path.name for path in environment.rglob("*"))
    pip = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python"), "--quiet"]
    subprocess.run([*pip, "install", "--no-index", "--no-deps", str(wheel)], check=True)
    assert (environment / "bin" / "torchrun").exists()
    assert list(environment.rglob("torch-stubs/nn/functional.pyi"))
    subprocess.run([*pip, "uninstall", "--yes", "torch"], check=True)
    assert sorted(path.name for path in environment.rglob("*")) == before


def test_uncaught_error_begins_at_the_program(tmp_path):
    """The text that is printed is what plain `python` prints, of a script, a wrong one, a module, and a command."""
    (tmp_path / "raises.py").write_text("def f():\n    raise ValueError('no')\n\n\nf()\n")
    (tmp_path / "wrong.py").write_text("x = = 1\n")
    import mindtorch_v2

    source = str(pathlib.Path(mindtorch_v2.__file__).parents[1])
    for program in (["raises.py"], ["wrong.py"], ["-c", "1 / 0"]):
        plain, ours = (
            subprocess.run(
                [sys.executable, *launcher, *program],
                cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": source},
                capture_output=True,
                text=True,
                check=False,
            )
            for launcher in ([], ["-m", "mindtorch_v2"])
        )
        assert plain.returncode == ours.returncode == 1
        assert ours.stderr.replace(f"{tmp_path}/", "") == plain.stderr.replace(f"{tmp_path}/", "")


def test_the_version_of_the_metadata_can_be_chosen(tmp_path):
    """For packages that ask for another version; torch.__version__ says the one whose behaviour there is."""
    code = f"""
        import importlib.metadata, os, pathlib, sys
        from mindtorch_v2._as_torch import distribution as d
        d._site = lambda: pathlib.Path({str(tmp_path)!r})
        d._scripts = lambda: pathlib.Path({str(tmp_path / "bin")!r})
        d._installed = d._written
        d.install()
        os.environ["MINDTORCH_TORCH_VERSION"] = "2.14.1"
        d.install()
        print(*sorted(os.listdir({str(tmp_path)!r})))
        d.remove()
        import mindtorch_v2
        mindtorch_v2.as_torch()
        print(importlib.metadata.version("torch"), mindtorch_v2.__version__)
        os.environ["MINDTORCH_TORCH_VERSION"] = "newest"
        try:
            d.install()
        except ValueError as error:
            print(error)
        """
    assert output(code=code).splitlines() == [
        "bin torch-2.14.1+mindtorch.dist-info torch-stubs",
        "2.14.1 2.13.0",
        "MINDTORCH_TORCH_VERSION: a version of numbers and dots was expected, 2.13.0, got 'newest'",
    ]
    assert not any(tmp_path.iterdir())


def test_metadata_is_refused_beside_pytorch(tmp_path):
    (tmp_path / "torch-2.0.dist-info").mkdir()
    (tmp_path / "torch-2.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.0\n")
    code = f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        from mindtorch_v2._as_torch import distribution as d
        try:
            d.install()
        except RuntimeError as error:
            print("PyTorch itself is installed here" in str(error))
        """
    assert output(code=code) == "True"
