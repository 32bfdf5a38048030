"""Entries of the operator database, run in this process: on the real PyTorch, or on this package under the name torch.

python worker.py {pytorch,ours} DEVICE FOLDER MOST COLUMNS NAME...

On the real PyTorch the samples of each entry and what it answers go to FOLDER/pytorch/NAME.pickle. On this package these are
read and compared, and FOLDER/ours/NAME.jsonl gets a line for each column: how many samples count, how many agree, and what the
others differ in. A column that was begun and has no end there has ended the process, and is not begun again.
"""

from __future__ import annotations

import faulthandler
import json
import pathlib
import pickle
import re
import resource
import signal
import sys
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.operator_database.columns import ON_DEVICE, SIGNS_OPEN, Column, Sample, changed  # noqa: E402  (after the path is set)
from tests.operator_database.compare import TOLERANCES, as_near, judge  # noqa: E402  (likewise)
from tests.operator_database.databases import entries  # noqa: E402  (likewise)
from tests.operator_database.portable import Raised, decode, decode_call, encode, encode_call  # noqa: E402  (likewise)
from tests.pytorch_suite.worker import InfrastructureFinder, TimedOut, stand_in, wheel_of_pytorch  # noqa: E402  (likewise)

SECONDS = 60  # for one call
MEMORY = 10 << 30  # bytes of address space
SEEDS = 8  # that give a drawn bool more than one value
UNDEFINED = re.compile(r"(new_)?empty|resize_?(as_)?$|empty_")  # results whose numbers nobody wrote
ERRORS = "error inputs"


def _file(folder: pathlib.Path, side: str, name: str) -> pathlib.Path:
    return folder / side / f"{name}.{'pickle' if side == 'pytorch' else 'jsonl'}"


def _samples(torch: Any, info: Any, dtype: str, grad: bool, most: int | None) -> list[tuple[int, Any]]:
    """Samples with their places, evenly taken where they are more than `most`."""
    torch.manual_seed(1)
    found = list(enumerate(info.sample_inputs("cpu", getattr(torch, dtype), requires_grad=grad)))
    if most is not None and len(found) > most:
        found = [found[place * len(found) // most] for place in range(most)]
    return found


def _dtypes(torch: Any, info: Any, column: Column) -> list[str]:
    known = (
        info.supported_backward_dtypes("cpu")
        if column.grad and info.supports_autograd
        else info.supported_dtypes("cpu")
    )
    names = sorted(str(each).rpartition(".")[2] for each in known)
    if column.dtypes is not None:
        chosen = [name for name in names if name in column.dtypes]
        return chosen or [name for name in names if name in ("float32", "int64", "bool")][:1]
    return names


def _needs_grad(torch: Any, info: Any, column: Column, dtype: str) -> bool:
    return column.grad and info.supports_autograd and getattr(torch, dtype) in info.supported_backward_dtypes("cpu")


def _raised(error: BaseException) -> Raised:
    return Raised([kind.__name__ for kind in type(error).__mro__], re.sub(r"\s+", " ", str(error))[:300])


def _run(torch: Any, info: Any, column: Column, sample: Sample, device: str = "cpu") -> Any:
    """Run a call; its results, or its error, as plain Python."""
    torch.manual_seed(0)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return encode(torch, column.run(torch, info, sample), column.bare, device=device)
    except TimedOut:
        return Raised(["TimedOut"], f"took more than {SECONDS} s")
    except Exception as error:  # noqa: BLE001  (whatever it is, it is the outcome)
        return _raised(error)
    finally:
        signal.alarm(0)


def _errors(torch: Any, info: Any) -> Iterator[tuple[Any, list[str], str]]:
    """Calls that are refused: (arguments, the classes of the error, what its text matches)."""
    if info.error_inputs_func is None:
        return
    torch.manual_seed(1)
    for each in info.error_inputs("cpu"):
        sample = each.sample_input
        kinds = each.error_type if isinstance(each.error_type, tuple) else (each.error_type,)
        call = (sample.input, *sample.args), sample.kwargs
        try:
            plain = encode_call(torch, *call)
        except LookupError:
            continue
        try:
            info.op(*call[0], **call[1])
        except kinds as error:
            if re.search(each.error_regex, str(error)):
                yield plain, [type(error).__name__, *(kind.__name__ for kind in kinds)], each.error_regex
        except Exception:  # noqa: BLE001  (the database is wrong about it)
            continue


def _exact(torch: Any, info: Any, column: Column, sample: Sample) -> Any:
    """Answer of PyTorch to a call with less than double precision when it has that; None for other calls."""
    wider = {
        torch.float16: torch.float64,
        torch.bfloat16: torch.float64,
        torch.float32: torch.float64,
        torch.complex64: torch.complex128,
    }
    narrow = []

    def widened(tensor: Any) -> Any:
        if tensor.dtype not in wider:
            return tensor
        narrow.append(tensor)
        return tensor.detach().to(wider[tensor.dtype]).requires_grad_(tensor.requires_grad)

    moved = changed(sample, widened)
    if not narrow or any(isinstance(each, torch.dtype) for each in (*sample.args, *sample.kwargs.values())):
        return None
    answer = _run(torch, info, column, moved)
    return None if isinstance(answer, Raised) else answer


def on_pytorch(torch: Any, info: Any, most: int | None, columns: dict[str, Column]) -> dict[str, Any]:
    """The samples of an entry, and what the real PyTorch answers in each column."""
    samples: dict[tuple[str, bool, int], Any] = {}
    answers: dict[str, list[Any]] = {}
    for name, column in columns.items():
        if not column.applies(info):
            continue
        found = answers[name] = []
        for dtype in _dtypes(torch, info, column):
            grad = _needs_grad(torch, info, column, dtype)
            limits = [each for each in (most, column.most) if each is not None]
            try:
                drawn = _samples(torch, info, dtype, grad, min(limits, default=None))
            except Exception:  # noqa: BLE001  (the database's own functions fail in any way)
                continue
            for place, sample in drawn:
                key = (dtype, grad, place)
                call = (sample.input, *sample.args), sample.kwargs
                try:
                    plain = encode(torch, call)
                    args, kwargs = decode(torch, plain)
                except LookupError:
                    continue
                made = Sample(args, kwargs, sample.output_process_fn_grad)
                answer = _run(torch, info, column, made)
                if not isinstance(answer, Raised):
                    samples[key] = plain
                    exact = None if column.bare or column.strides else _exact(torch, info, column, made)
                    found.append((key, answer, exact))
    return {"samples": samples, "answers": answers, ERRORS: list(_errors(torch, info))}


class Processes:
    """Functions that results go through before they are differentiated, by the sample: from this library's own samples."""

    def __init__(self, torch: Any, info: Any):
        self.torch, self.info = torch, info
        self.known: dict[tuple[str, bool], list[Any]] = {}

    def of(self, key: tuple[str, bool, int]) -> Any:
        """The function of a sample."""
        dtype, grad, place = key
        if (dtype, grad) not in self.known:
            try:
                drawn = _samples(self.torch, self.info, dtype, grad, None)
            except Exception:  # noqa: BLE001  (it is the operator that is judged)
                drawn = []
            self.known[dtype, grad] = [sample.output_process_fn_grad for _, sample in drawn]
        found = self.known[dtype, grad]
        return found[place] if place < len(found) else (lambda value: value)


def _is_drawn(torch: Any, info: Any, column: Column, sample: Callable[[str], Sample], theirs: Any) -> bool:
    """Whether the numbers of a call are drawn: on the CPU the seed of the record gives them, and others do not."""
    real, found = torch.manual_seed, []
    try:
        for shift in range(SEEDS):  # entries of the database set a seed of their own
            torch.manual_seed = lambda seed, shift=shift: real(seed + shift)
            found.append(_run(torch, info, column, sample("cpu")))
    finally:
        torch.manual_seed = real
    if judge(found[0], theirs) or any(isinstance(each, Raised) for each in found):
        return False
    return any(judge(each, theirs) for each in found[1:])


def allowed_for(info: Any) -> dict[str, tuple[float, float]]:
    """Room for numbers by dtype: the usual one, or what the entry says for PyTorch's own tests of it on the CPU."""
    found = dict(TOLERANCES)
    for each in getattr(info, "decorators", ()):
        if getattr(each, "device_type", None) not in (None, "cpu") or getattr(each, "cls_name", None) != "TestCommon":
            continue
        for said in each.decorators:
            for dtype, (absolute, relative) in (said.d if type(said).__name__ == "toleranceOverride" else {}).items():
                name = str(dtype).rpartition(".")[2]
                if name in found:
                    found[name] = max(found[name][0], relative), max(found[name][1], absolute)
    return found


def compared(torch: Any, info: Any, record: dict[str, Any], name: str, device: str) -> tuple[int, int, list[str]]:
    """Of one column: how many samples count, how many agree, and what the others differ in.

    A device has its own random numbers: where numbers are drawn, dtypes and shapes are compared there.
    """
    if name == ERRORS:
        problems = [problem for each in record[ERRORS] if (problem := _refused(torch, info, *each))]
        return len(record[ERRORS]), len(record[ERRORS]) - len(problems), problems
    column, processes, problems = ON_DEVICE[device][name], Processes(torch, info), []
    answers, allowed = record["answers"].get(name, []), allowed_for(info)
    for key, theirs, exact in answers:
        process = processes.of(key) if column.grad or info.name in SIGNS_OPEN else (lambda value: value)

        def made(device: str, key: Any = key, process: Any = process) -> Sample:
            return Sample(*decode(torch, record["samples"][key], device=device), process)

        try:
            sample = made(device)
        except Exception as error:  # noqa: BLE001  (it says that a tensor cannot be made)
            problems.append(f"{key}: not made: {type(error).__name__}: {error}")
            continue
        ours = _run(torch, info, column, sample, device)
        values = not UNDEFINED.match(info.name)
        problem = judge(ours, theirs, column.strides, values, allowed)
        if problem and device != "cpu" and values and _is_drawn(torch, info, column, made, theirs):
            problem = judge(ours, theirs, values=False)
        if problem and not (exact is not None and as_near(ours, theirs, exact, allowed)):
            problems.append(f"{key[0]} {key[2]}: {problem}")
    return len(answers), len(answers) - len(problems), problems


def _refused(torch: Any, info: Any, plain: Any, kinds: list[str], regex: str) -> str:
    try:
        args, kwargs = decode_call(torch, plain)
        signal.alarm(SECONDS)
        info.op(*args, **kwargs)
    except TimedOut:
        return "took too long"
    except Exception as error:  # noqa: BLE001  (its class is compared)
        if not set(kinds) & {kind.__name__ for kind in type(error).__mro__}:
            return f"{type(error).__name__}: {error}, for {kinds[0]}: {regex}"
        return "" if re.search(regex, str(error)) else f"text {str(error)[:120]!r} for {regex!r}"
    finally:
        signal.alarm(0)
    return f"no {kinds[0]}: {regex}"


def _time_out(number: int, frame: types.FrameType | None) -> None:
    raise TimedOut("took too long")


def _pytorch_side(
    torch: Any, folder: pathlib.Path, names: list[str], most: int | None, columns: dict[str, Column]
) -> None:
    known = entries()
    for name in names:
        file = _file(folder, "pytorch", name)
        if file.exists():
            continue
        begun = file.with_suffix(".begun")
        if begun.exists():  # it ended the process
            record: dict[str, Any] = {"samples": {}, "answers": {}, ERRORS: []}
        else:
            begun.touch()
            record = on_pytorch(torch, known[name], most, columns)
        part = file.with_suffix(".part")
        part.write_bytes(pickle.dumps(record, protocol=5))
        part.rename(file)
        begun.unlink()


def _our_side(torch: Any, folder: pathlib.Path, names: list[str], columns: list[str], device: str) -> None:
    known = entries()
    for name in names:
        file = _file(folder, "ours", name)
        lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []
        done = {line["column"] for line in lines if "count" in line}
        ended = {line["column"] for line in lines if "count" not in line} - done
        record = pickle.loads(_file(folder, "pytorch", name).read_bytes())
        with file.open("a", encoding="utf-8") as log:
            for column in columns:
                if column in done or not (record[ERRORS] if column == ERRORS else record["answers"].get(column)):
                    continue
                if column in ended:
                    count = len(record[ERRORS] if column == ERRORS else record["answers"][column])
                    found: tuple[int, int, list[str]] = count, 0, ["the process ended"]
                else:
                    log.write(json.dumps({"column": column}) + "\n")
                    log.flush()
                    try:
                        found = compared(torch, known[name], record, column, device)
                    except Exception:  # noqa: BLE001  (it is told)
                        found = 1, 0, [traceback.format_exc()[-600:]]
                count, agree, problems = found
                log.write(
                    json.dumps({"column": column, "count": count, "agree": agree, "problems": problems[:40]}) + "\n"
                )
                log.flush()


def main() -> None:
    """Run what the arguments name."""
    side, device, folder, most, columns, *names = sys.argv[1:]
    if device == "cpu":  # others keep room for addresses of their memory
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    signal.signal(signal.SIGALRM, _time_out)
    warnings.simplefilter("ignore")
    if side == "ours":
        wheel = wheel_of_pytorch()
        if wheel is None:
            raise SystemExit("operator_database: no PyTorch is installed here: `make test-opdb` makes an environment")
        stand_in()
        sys.meta_path.insert(0, InfrastructureFinder(wheel))
    import torch

    torch.set_num_threads(1)
    (folder_ := pathlib.Path(folder)).joinpath(side).mkdir(parents=True, exist_ok=True)
    if side == "pytorch":
        _pytorch_side(torch, folder_, names, int(most) or None, ON_DEVICE[device])
    else:
        every = [*ON_DEVICE[device], *([ERRORS] if device == "cpu" else ())]
        _our_side(torch, folder_, names, columns.split(",") if columns else every, device)


if __name__ == "__main__":
    main()
