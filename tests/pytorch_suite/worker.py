"""One file of PyTorch's tests, run in this process: on the real PyTorch, or on this package under the name torch.

python worker.py {pytorch,ours} FILE LOG TIMEOUT [--most N] [--wanted LOG] [--source FOLDER] [--as-they-were MODULE ...]

What each test came to is appended to LOG as it happens, a line of JSON each: {"begun": id}, then {"id": id, "status": ...,
"cause": ...}. Tests whose ids are in LOG already are not run again, and one that was begun and has no status is taken to have
ended the process. With --most, of many tests a sample runs, which the ids choose; with --wanted, what passed by another
log. The file is run as it is; `torch.testing._internal` is read from the wheel of the real PyTorch. Where that is
newer than the file and lost names that the file imports, those are read from --source, PyTorch's source of the file's version, on
both sides alike; and so are the modules --as-they-were of it, which a file needs so.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import resource
import signal
import sys
import types
import unittest
import warnings
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

INFRASTRUCTURE = "torch.testing._internal"
MEMORY = 10 << 30  # bytes of address space
CHILD = "PYTORCH_SUITE_CHILD"  # the environment variable by which processes that a test starts are prepared

# Names that PyTorch itself lost since a file imported them: both sides have them, to be imported, and raise where they are used.
LOST = {
    "torch._custom_op.functional": ["register_functional_op"],
    "torch.export": ["export_for_training"],
    "torch.nn.attention.flex_attention": ["create_nested_block_mask"],
}

# Decorators that PyTorch lost because each Python that it runs on has what they asked for: both sides have them, and they do nothing.
ALWAYS_MET = {"torch._dynamo.testing": ["requiresPy310"]}


def _place(root: pathlib.Path, name: str) -> pathlib.Path | None:
    """The file of a module below a folder, if it is there."""
    place = root.joinpath(*name.split("."))
    for file in (place / "__init__.py", place.with_suffix(".py")):
        if file.exists():
            return file
    return None


class InfrastructureLoader(importlib.machinery.SourceFileLoader):
    """Read a module of the infrastructure; names that it lacks come from the version of the tests."""

    def __init__(self, name: str, file: pathlib.Path, older: pathlib.Path | None):
        super().__init__(name, str(file))
        self.older = older

    def exec_module(self, module: types.ModuleType) -> None:
        super().exec_module(module)
        if self.older is not None and not hasattr(module, "__getattr__"):
            module.__getattr__ = self._names_of(self.older, module)  # type: ignore[method-assign]

    @staticmethod
    def _names_of(older: pathlib.Path, module: types.ModuleType) -> Callable[[str], Any]:
        loaded: list[types.ModuleType] = []

        def find(name: str) -> Any:
            if name.startswith("__") or not re.search(rf"\b{name}\b", older.read_text("utf-8")):
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            if not loaded:
                spec = importlib.util.spec_from_file_location(module.__name__ + "_of_the_tests", older)
                assert spec is not None
                assert spec.loader is not None
                loaded.append(importlib.util.module_from_spec(spec))
                spec.loader.exec_module(loaded[0])
            return getattr(loaded[0], name)

        return find


class InfrastructureFinder:
    """Find `torch.testing._internal` in the wheel of the real PyTorch, without importing that."""

    def __init__(self, wheel: pathlib.Path, source: pathlib.Path | None = None, as_they_were: Sequence[str] = ()):
        self.wheel, self.source, self.as_they_were = wheel, source, as_they_were

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """The spec of a module of the infrastructure, by PyTorch's names."""
        if name != INFRASTRUCTURE and not name.startswith(INFRASTRUCTURE + "."):
            return None
        older = _place(self.source, name) if self.source is not None else None
        newer = _place(self.wheel, name)
        if name.rpartition(".")[2] in self.as_they_were:
            older, newer = newer, older  # names that other modules of today want come from today's
        file = newer or older
        if file is None:
            return None
        inside = [str(file.parent)] if file.name == "__init__.py" else None
        loader = InfrastructureLoader(name, file, older)
        return importlib.util.spec_from_file_location(name, file, loader=loader, submodule_search_locations=inside)


def wheel_of_pytorch() -> pathlib.Path | None:
    """The folder in which the real PyTorch is installed, if it is."""
    spec = importlib.util.find_spec("torch")
    return None if spec is None or spec.origin is None else pathlib.Path(spec.origin).parents[1]


def stand_in() -> None:
    """Let `torch` be this package, for the file and for what it imports."""
    from mindtorch_v2._as_torch import as_torch

    as_torch()
    import torch

    if not torch.__file__.replace(os.sep, "/").endswith("mindtorch_v2/__init__.py"):
        raise SystemExit(f"pytorch_suite: torch is {torch.__file__}, not this package")


def give_back_what_was_lost() -> None:
    """Let the files import the names that today's PyTorch no longer has."""
    for name, lost in LOST.items():
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError:
            module = sys.modules[name] = types.ModuleType(name)
        for each in lost:
            if not hasattr(module, each):
                setattr(module, each, _gone(f"{name}.{each}"))
    for name, met in ALWAYS_MET.items():
        for each in met:
            vars(importlib.import_module(name)).setdefault(each, lambda test: test)
    packet = importlib.import_module("torch._ops").OpOverloadPacket
    packet.__getattr__ = _or_of_named_dimensions(packet.__getattr__)


def _or_of_named_dimensions(found: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """`__getattr__` of operators, for which overloads on named dimensions are there to be listed: PyTorch has none any more."""

    def find(packet: Any, name: str) -> Any:
        try:
            return found(packet, name)
        except AttributeError:
            if name.startswith("_") or re.search("dimname|names", name, re.IGNORECASE) is None:
                raise
            return object()

    return find


def _gone(name: str) -> Callable[..., Any]:
    def raises(*arguments: Any, **named: Any) -> Any:
        raise NotImplementedError(f"{name} is not in PyTorch any more")

    return raises


def build_compiled_classes(source: pathlib.Path | None) -> None:
    """Have the compiled classes of PyTorch's tests built from their source, on our headers; what its wheel has is linked to PyTorch.

    Without the source, set-ups that load the library go on, and what uses its classes fails.
    """
    import torch

    load = torch.ops.load_library
    built: list[Any] = []

    def load_library(path: Any, *arguments: Any) -> Any:
        if pathlib.Path(path).name != "libtorchbind_test.so":
            return load(path, *arguments)
        if source is not None and not built:
            built.append(None)  # once, whatever comes of it
            torch.utils.cpp_extension.load(
                "torchbind_test",
                [source / "test" / "cpp" / "jit" / "test_custom_class_registrations.cpp"],
                extra_include_paths=[source],
                is_python_module=False,
            )
        return None

    torch.ops.load_library = load_library


def prepare(side: str, source: pathlib.Path | None, as_they_were: Sequence[str]) -> None:
    """Make this process one in which the files can be imported, and so each process that a test starts anew."""
    wheel = wheel_of_pytorch()
    if side == "ours":
        if wheel is None:
            raise SystemExit("pytorch_suite: no PyTorch is installed here: `make pytorch-suite` makes an environment")
        stand_in()
        build_compiled_classes(source)
    if wheel is not None:
        sys.meta_path.insert(0, InfrastructureFinder(wheel, source, as_they_were))
        give_back_what_was_lost()


class Log:
    """The file of results, written line by line so that nothing is lost with the process."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        self.done: dict[str, str] = {}
        begun = None
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            entry = json.loads(line)
            if "begun" in entry:
                begun = entry["begun"]
            else:
                begun = None
                self.done[entry["id"]] = entry["status"]
        self.file = path.open("a", encoding="utf-8")
        if begun is not None:
            self.end(begun, "crash", "the process ended, or had to be ended")

    def begin(self, name: str) -> None:
        """Say which test comes."""
        self._write({"begun": name})

    def end(self, name: str, status: str, cause: str = "") -> None:
        """Say what it came to."""
        self.done[name] = status
        self._write({"id": name, "status": status, "cause": cause})

    def _write(self, entry: dict[str, str]) -> None:
        self.file.write(json.dumps(entry) + "\n")
        self.file.flush()


class TimedOut(BaseException):
    """A test took too long."""


class Result(unittest.TestResult):
    """Write each test's end into the log."""

    def __init__(self, log: Log):
        super().__init__()
        self.log = log
        self.status, self.cause = "pass", ""

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.status, self.cause = "pass", ""
        self.log.begin(name_of(test))

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        self.log.end(name_of(test), self.status, self.cause)
        self.failures.clear()
        self.errors.clear()

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self.status, self.cause = "skip", reason

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        # unittest catches what the time limit raises, as it does all else.
        self.status, self.cause = "hang" if issubclass(err[0], TimedOut) else "fail", cause_of(err)

    addError = addFailure

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:
        self.status = "pass"

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        self.status, self.cause = "fail", "an expected failure did not come"

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        if err is not None and self.status == "pass":
            self.status, self.cause = "fail", cause_of(err)


def cause_of(err: Any) -> str:
    """The error's class, the first lines of its text and the innermost places, in few words."""
    kind, value, trace = err
    frames = []
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append(f"{pathlib.Path(code.co_filename).name}:{trace.tb_lineno}")
        trace = trace.tb_next
    text = re.sub(r"\s+", " ", str(value))[:300]
    return f"{kind.__name__}: {text} @ {' < '.join(reversed(frames[-3:]))}"


def _time_out(number: int, frame: types.FrameType | None) -> None:
    raise TimedOut("took too long")


def name_of(case: unittest.TestCase) -> str:
    """Id of a test as PyTorch has it: names made of a module have this package's in it here, of which some drop PyTorch's own."""
    return case.id().replace("mindtorch_v2_", "torch_" if case.id().startswith("test_overrides.") else "")


def _cases(suite: Any) -> Any:
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from _cases(each)
        else:
            yield each


def passed_by(log: pathlib.Path, cases: list[Any]) -> list[Any]:
    """Those of the cases that passed by another log."""
    entries = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    passed = {entry["id"] for entry in entries if entry.get("status") == "pass"}
    return [case for case in cases if name_of(case) in passed]


def _chosen(cases: list[Any], most: int | None, wanted: pathlib.Path | None) -> list[Any]:
    """The cases to run: what passed by another log, or a sample of so many, always the same for the same ids."""
    if wanted is not None:
        return passed_by(wanted, cases)
    if most is not None and len(cases) > most:
        drawn = {name_of(case) for case in sorted(cases, key=lambda case: zlib.crc32(name_of(case).encode()))[:most]}
        return [case for case in cases if name_of(case) in drawn]
    return cases


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("side", choices=["pytorch", "ours"])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("log", type=pathlib.Path)
    parser.add_argument("timeout", type=int)
    parser.add_argument("--most", type=int)
    parser.add_argument("--wanted", type=pathlib.Path)
    parser.add_argument("--source", type=pathlib.Path)
    parser.add_argument("--as-they-were", nargs="*", default=[])
    return parser.parse_args()


def main() -> None:
    """Run the file that the arguments name."""
    options = _arguments()
    side, file, timeout = options.side, options.file, options.timeout
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    log = Log(options.log)
    prepare(side, options.source, options.as_they_were)
    told = [side, str(options.source or ""), *options.as_they_were]
    os.environ[CHILD] = json.dumps(told)
    sys.path[0] = str(file.parent)
    sys.argv = [str(file)]
    warnings.simplefilter("ignore")
    run(lambda: _loaded(file), log, timeout, lambda cases: _chosen(cases, options.most, options.wanted))


def _loaded(file: pathlib.Path) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def run(
    load: Callable[[], types.ModuleType], log: Log, timeout: int, choose: Callable[[list[Any]], Iterable[Any]]
) -> None:
    """Run those of the tests of the module that `load` gives which `choose` gives of them, each for at most `timeout` seconds."""
    ran = 0
    try:
        everything = list(_cases(unittest.TestLoader().loadTestsFromModule(load())))
        cases = choose(everything)
    except unittest.SkipTest as skip:
        log.end("", "skip", str(skip))
        return
    except BaseException:
        log.end("", "import", cause_of(sys.exc_info()))
        raise
    signal.signal(signal.SIGALRM, _time_out)
    for case in cases:
        ran += 1
        if name_of(case) in log.done:
            continue
        result = Result(log)
        signal.alarm(timeout)
        try:
            with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
                case.run(result)
        except TimedOut:  # between the test and its clean-up
            log.end(name_of(case), "hang", f"not done after {timeout} s")
        except BaseException:  # noqa: BLE001  (whatever a test ends in is its result)
            if name_of(case) not in log.done:
                log.end(name_of(case), "fail", cause_of(sys.exc_info()))
        finally:
            signal.alarm(0)
    log.end("", "done", f"a sample of {ran} of {len(everything)}" if ran < len(everything) else "")


if __name__ == "__main__":
    main()
elif __name__ == "__mp_main__" and CHILD in os.environ:  # of a process that multiprocessing started anew
    _side, _source, *_old = json.loads(os.environ[CHILD])
    prepare(_side, pathlib.Path(_source) if _source else None, _old)
