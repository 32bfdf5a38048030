"""Call every operator with arguments that mostly do not fit, and report what harms the process.

A call may succeed or raise an ordinary exception. It must not crash, hang, raise SystemError or leave a tensor that reaches
beyond its storage. Each call is decided by three things, the seed, the row's name and the call's number, so that whatever is
reported can be called again:

    python tools/fuzz_ops.py --calls 50                             every row
    python tools/fuzz_ops.py --rows 'conv|pool' --seed 7            rows whose names match
    python tools/fuzz_ops.py --rows '^add.Tensor$' --only 17        one call, with its arguments and its outcome

The calls are made by a worker process. The parent sees where a worker died or stood still, says so, and has another one go
on behind that call. The exit status is 1 if anything was found.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import select
import signal
import subprocess
import sys
import time
import traceback
import warnings
import zlib
from typing import Any, NamedTuple

import numpy

# What no operator may answer bad arguments with: each of these is a mistake of ours.
FORBIDDEN = (SystemError, AttributeError, NameError, RecursionError, AssertionError, ImportError, SyntaxError)
ADDRESS_SPACE = 6 << 30  # a worker that is not instrumented gets no more, so that huge sizes fail at once
BACKWARD_LIMIT = 1 << 20
MEMORY_LIMIT = 1 << 24  # elements; results beyond this are not read back

SMALL = (0, 1, 2, 3, 4, 5)
EXTREME = (-(2**63), -(2**62), -(2**31) - 1, -(2**31), 100_000, 2**31, 2**40, 2**62, 2**63 - 1, 2**64)
FLOATS = (0.0, 1.0, -1.0, 0.5, 2.0, 1e-30, 1e30, float("nan"), float("inf"), float("-inf"))
WORDS = (
    "none mean sum max add prod amax amin multiply trunc floor ceil linear lower higher midpoint nearest constant reflect "
    "replicate circular bilinear bicubic fro nuc tanh erf zeros border reduced complete r L R U left right ij i,i-> ... "
    "ij,jk->ik bad"
).split() + ["", "é\0"]
FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
DTYPES = "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128".split()
ARRANGEMENTS = (
    "plain",
    "plain",
    "plain",
    "strided",
    "transposed",
    "expanded",
    "offset",
    "sparse_view",
    "coo",
    "hybrid",
    "csr",
    "bytes",
    "meta",
)
FILLS = ("normal", "normal", "small", "small", "zero", "special", "huge", "index")


class Made(NamedTuple):
    """How a tensor argument is made."""

    shape: tuple[int, ...]
    dtype: str
    arrangement: str = "plain"
    fill: str = "normal"
    grad: bool = False
    seed: int = 0

    def build(self, torch: Any) -> Any:
        """The tensor of this description."""
        if self.arrangement == "meta":
            return torch.empty(self.shape, dtype=getattr(torch, self.dtype), device="meta")
        tensor = torch.from_numpy(self._numbers()).to(getattr(torch, self.dtype))
        if self.arrangement == "strided" and tensor.dim():
            tensor = torch.stack([tensor, tensor], -1)[..., 0]
        elif self.arrangement == "transposed" and tensor.dim() >= 2:
            tensor = tensor.transpose(0, -1).contiguous().transpose(0, -1)
        elif self.arrangement == "expanded" and tensor.dim() and tensor.shape[0]:
            tensor = tensor[:1].expand(tensor.shape)
        elif self.arrangement == "offset":
            tensor = torch.cat([tensor.reshape(-1)[:1], tensor.reshape(-1)])[-tensor.numel() or 1 :].reshape(self.shape)
        elif self.arrangement == "bytes" and self.dtype == "bool":  # true, but not 1
            tensor = (tensor.to(torch.uint8) * 128).view(torch.bool)
        elif self.arrangement == "sparse_view" and tensor.dim() == 4:
            tensor = tensor.contiguous(memory_format=torch.channels_last)
        elif self.arrangement == "coo":
            tensor = tensor.to_sparse()
        elif self.arrangement == "hybrid" and tensor.dim():  # rows that are there twice
            tensor = torch.cat([tensor, tensor]).to_sparse(1)
            indices = tensor.indices() % max(1, self.shape[0])
            tensor = torch.sparse_coo_tensor(indices, tensor.values(), self.shape)
        elif self.arrangement == "csr" and tensor.dim() == 2:
            tensor = tensor.to_sparse_csr()
        if self.grad and (tensor.is_floating_point() or tensor.is_complex()):
            tensor = tensor.detach().requires_grad_()
        return tensor

    def _numbers(self) -> numpy.ndarray:
        generator = numpy.random.Generator(numpy.random.PCG64(self.seed))
        if self.fill == "zero":
            return numpy.zeros(self.shape)
        if self.fill == "index":
            return generator.integers(0, 3, self.shape).astype(numpy.int64)
        if self.fill == "small":
            return generator.integers(-3, 6, self.shape).astype(numpy.int64)
        if self.fill == "huge":
            return generator.choice(numpy.array([-(2**63), -(2**40), 2**31, 2**62, 2**63 - 1]), self.shape)
        if self.fill == "special":
            return generator.choice(numpy.array([*FLOATS]), self.shape)
        return numpy.asarray(generator.normal(size=self.shape))


class Calls:
    """The random calls of one row."""

    def __init__(self, torch: Any, row: Any, seed: int, number: int):
        self._torch, self._row = torch, row
        self._random = random.Random(zlib.crc32(f"{seed}/{row.name}/{number}".encode()))
        self._shape = self._random_shape(4)
        self._dtype = self._random.choice(DTYPES) if self._random.random() < 0.6 else "float32"
        self._wild = self._random.random() < 0.4
        forms = [form for form in ("handle", "inplace", "out") if getattr(row, form) is not None]
        self.form = self._random.choice(forms)

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments, tensors as descriptions."""
        row, chance = self._row, self._random
        if row.samples and chance.random() < 0.6:
            sample = chance.choice(row.samples)
            args = [self._from_sample(value) for value in sample.args]
            kwargs = {name: self._from_sample(value) for name, value in sample.kwargs.items()}
            self._mutate(args, kwargs)
        else:
            args, kwargs = [], {}
            for spec in row.handle.arguments:
                if spec["has_default"] and chance.random() < 0.5:
                    continue
                value = self._value(spec["type"])
                if spec["kwarg_only"] or len(args) < row.handle.arguments.index(spec):
                    kwargs[spec["name"]] = value
                else:
                    args.append(value)
        if self.form == "out":
            for spec in row.out.arguments:
                if spec["is_write"]:
                    kwargs[spec["name"]] = self._tensor()
        return args, kwargs

    # -- arguments of the row's own samples --

    def _from_sample(self, value: Any) -> Any:
        if hasattr(value, "options"):
            dtype = str(value.options.get("dtype", self._dtype)).rpartition(".")[2]
            fill = "index" if "int" in dtype else "normal"
            return Made(
                tuple(value.shape), dtype, "plain", fill, self._random.random() < 0.4, self._random.getrandbits(16)
            )
        if isinstance(value, (list, tuple)):
            return type(value)(self._from_sample(item) for item in value)
        return value

    def _mutate(self, args: list[Any], kwargs: dict[str, Any]) -> None:
        for _ in range(self._random.choice((0, 1, 1, 1, 2, 3))):
            place = self._random.randrange(len(args) + len(kwargs)) if args or kwargs else None
            if place is None:
                return
            box: Any = args if place < len(args) else kwargs
            key = place if place < len(args) else list(kwargs)[place - len(args)]
            box[key] = self._changed(box[key])

    def _changed(self, value: Any) -> Any:
        chance = self._random
        if isinstance(value, Made):
            what = chance.randrange(6)
            shape = list(value.shape)
            if what == 0 and shape:
                shape[chance.randrange(len(shape))] = chance.choice((0, 1, 2, 3, 7))
                return value._replace(shape=tuple(shape))
            if what == 1:
                return value._replace(
                    shape=tuple([chance.choice(SMALL), *shape] if chance.random() < 0.5 else shape[1:])
                )
            if what == 2:
                return value._replace(dtype=chance.choice(DTYPES))
            if what == 3:
                return value._replace(arrangement=chance.choice(ARRANGEMENTS))
            if what == 4:
                return value._replace(fill=chance.choice(FILLS))
            return None if chance.random() < 0.2 else self._tensor()
        if isinstance(value, (list, tuple)) and value:
            items = list(value)
            at = chance.randrange(len(items))
            what = chance.randrange(4)
            if what == 0:
                del items[at]
            elif what == 1:
                items.insert(at, items[at])
            else:
                items[at] = self._changed(items[at])
            return type(value)(items)
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return self._int()
        if isinstance(value, float):
            return chance.choice(FLOATS)
        if isinstance(value, str):
            return chance.choice(WORDS)
        return None if chance.random() < 0.3 else value

    # -- arguments from the schema alone --

    def _value(self, kind: str) -> Any:
        chance = self._random
        if kind.endswith("?"):
            return None if chance.random() < 0.3 else self._value(kind[:-1])
        if chance.random() < 0.02:
            return chance.choice((None, "text", (), [], 1.5, Made((2,), "float32"), object))
        if match := re.fullmatch(r"(.*)\[(\d*)\]", kind):
            size = int(match[2]) if match[2] and chance.random() < 0.7 else chance.choice((0, 1, 2, 2, 3, 4))
            if match[2] and chance.random() < 0.2:
                return self._value(match[1])
            return [self._value(match[1]) for _ in range(size)]
        if kind == "Tensor":
            return self._tensor()
        if kind in ("int", "SymInt"):
            return self._int()
        if kind == "float":
            return chance.choice(FLOATS)
        if kind == "Scalar":
            return chance.choice((self._int, lambda: chance.choice(FLOATS), lambda: 1 + 2j, lambda: True))()
        if kind == "bool":
            return chance.random() < 0.5
        if kind == "str":
            return chance.choice(WORDS)
        torch = self._torch
        if kind == "ScalarType":
            return getattr(torch, chance.choice(DTYPES))
        if kind == "Layout":
            return torch.strided
        if kind == "Device":
            return chance.choice(("cpu", "cpu", "meta", "cuda"))
        if kind == "MemoryFormat":
            return getattr(torch, chance.choice(FORMATS))
        if kind == "Generator":
            return torch.Generator()
        if kind == "Stream":
            return torch.cpu.current_stream()
        if kind == "Storage":
            return torch.ones(4).untyped_storage()
        raise NotImplementedError(f"the schema type {kind}")

    def _int(self) -> int:
        chance = self._random
        if chance.random() < 0.12:
            return chance.choice(EXTREME)
        return chance.randrange(-3, 6) if chance.random() < 0.4 else chance.choice(SMALL)

    def _random_shape(self, most: int) -> tuple[int, ...]:
        chance = self._random
        rank = chance.choice((0, 1, 1, 2, 2, 3, 3, 4, 4, 5))
        return tuple(chance.choice((0, 1, 2, 2, 3, 3, 4, 5)) for _ in range(min(rank, most + 1)))

    def _tensor(self) -> Made:
        chance = self._random
        shape = self._shape
        if self._wild:
            shape = self._random_shape(5)
        elif chance.random() < 0.5 and shape:
            cut = chance.randrange(len(shape) + 1)
            shape = chance.choice((shape, shape[cut:], shape[:cut], tuple(reversed(shape))))
        dtype = (
            self._dtype if chance.random() < 0.6 else chance.choice(("float32", "int64", "bool", chance.choice(DTYPES)))
        )
        fill = chance.choice(FILLS) if "int" not in dtype or chance.random() < 0.3 else "index"
        arrangement = chance.choice(ARRANGEMENTS) if chance.random() < 0.4 else "plain"
        return Made(shape, dtype, arrangement, fill, chance.random() < 0.25, chance.getrandbits(16))


def built(torch: Any, value: Any, written: bool = False) -> Any:
    """An argument with its tensors made; what an operator writes to must be no leaf."""
    if isinstance(value, Made):
        made = value.build(torch)
        return made.clone() if written and made.requires_grad else made
    if isinstance(value, (list, tuple)):
        return type(value)(built(torch, item, written) for item in value)
    return value


def tensors(torch: Any, value: Any) -> list[Any]:
    """The tensors in a result or argument."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for item in value for t in tensors(torch, item)] if isinstance(value, (list, tuple)) else []


def check(torch: Any, tensor: Any) -> None:
    """That a tensor lies within its storage; what can be read is read."""
    if any(size < 0 for size in tensor.shape):
        raise AssertionError(f"a size is negative: {tuple(tensor.shape)}")
    if tensor.device.type == "meta" or not tensor.numel():
        return
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    last = tensor.storage_offset() + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    room = tensor.untyped_storage().nbytes()
    if tensor.storage_offset() < 0 or (last + 1) * tensor.element_size() > room:
        raise AssertionError(f"reaches beyond its storage of {room} bytes: {tensor.shape} {tensor.stride()}")
    if tensor.numel() <= MEMORY_LIMIT:
        tensor.detach().clone()


def call(torch: Any, row: Any, form: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """One call of a row's form, its backward where it has one, and the checks of what it left."""
    torch.manual_seed(0)
    args, kwargs = (
        built(torch, args, written=form == "inplace" or "!" in row.schema),
        built(torch, list(kwargs.items())),
    )
    kwargs = dict(kwargs)
    result = None
    try:
        with torch.set_grad_enabled(form != "out"):
            result = getattr(row, form)(*args, **kwargs)
        outputs = [t for t in tensors(torch, result) if t.requires_grad and t.numel() <= BACKWARD_LIMIT]
        if outputs:
            torch.autograd.backward(outputs, [torch.ones_like(t) for t in outputs])
    finally:
        for tensor in tensors(torch, [result, args, kwargs]):
            check(torch, tensor)
    return result


# ---- the worker ----


def work(options: argparse.Namespace) -> None:
    """Make calls from `--start` on and write a line before each, and after each that raised what it must not."""
    if not os.environ.get("ASAN_OPTIONS"):
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    import mindtorch_v2 as torch  # the limits come first

    rows = chosen(options.rows)
    report = os.fdopen(options.report, "w", buffering=1)
    for position, (row, number) in enumerate(plan(rows, options)):
        if position < options.start:
            continue
        calls = Calls(torch, row, options.seed, number)
        args, kwargs = calls.arguments()
        print("call", position, row.name, number, sep="\t", file=report)
        try:
            call(torch, row, calls.form, args, kwargs)
        except FORBIDDEN as error:
            if str(error).startswith("Torch not compiled with"):  # how PyTorch says that a device is absent
                continue
            last = traceback.format_exc(limit=-3).replace("\n", " | ")
            print("found", position, last, sep="\t", file=report)
        except Exception:  # noqa: BLE001  (any other exception is an answer)
            pass
    print("end", file=report)


def chosen(pattern: str) -> list[Any]:
    """The rows whose names match."""
    from mindtorch_v2._operators.table import every_row

    return [row for name, row in sorted(every_row().items()) if re.search(pattern, name)]


def plan(rows: list[Any], options: argparse.Namespace) -> list[tuple[Any, int]]:
    """The calls in their order."""
    numbers = range(options.calls) if options.only is None else [options.only]
    return [(row, number) for row in rows for number in numbers]


# ---- the parent ----


class Worker:
    """A process that makes calls, and where it is."""

    def __init__(self, options: argparse.Namespace, start: int):
        read, write = os.pipe()
        command = [
            sys.executable,
            __file__,
            "--rows",
            options.rows,
            "--seed",
            str(options.seed),
            "--calls",
            str(options.calls),
        ]
        command += ["--start", str(start), "--report", str(write)]
        if options.only is not None:
            command += ["--only", str(options.only)]
        self.errors = open(options.log, "ab")
        self.process = subprocess.Popen(command, pass_fds=[write], stdout=self.errors, stderr=self.errors)
        os.close(write)
        self._read, self._rest = read, b""

    def lines(self, wait: float) -> list[list[str]] | None:
        """The lines that it has reported since; None at its end."""
        if not select.select([self._read], [], [], wait)[0]:
            return []
        data = os.read(self._read, 1 << 16)
        if not data:
            return None
        *whole, self._rest = (self._rest + data).split(b"\n")
        return [line.decode().split("\t") for line in whole]

    def cpu_seconds(self) -> float:
        """Processor time used so far."""
        try:
            with open(f"/proc/{self.process.pid}/stat") as stat:
                fields = stat.read().rpartition(")")[2].split()
        except FileNotFoundError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> int:
        """End it; its exit status."""
        self.process.kill()
        status = self.process.wait()
        os.close(self._read)
        self.errors.close()
        return status


def run(options: argparse.Namespace) -> int:
    """All calls, on as many workers as it takes; the number of findings."""
    found = 0
    start = 0
    ended = False
    while not ended:
        worker = Worker(options, start)
        at: list[str] = []
        since, cpu = time.monotonic(), 0.0
        while True:
            lines = worker.lines(1.0)
            if lines is None:
                break
            for line in lines:
                if line[0] == "call":
                    at = line
                elif line[0] == "found":
                    found += 1
                    print(f"{at[2]} call {at[3]}: {line[2]}", flush=True)
                ended = line[0] == "end"
            if lines:
                since, cpu = time.monotonic(), worker.cpu_seconds()
            elif worker.cpu_seconds() - cpu > options.seconds or time.monotonic() - since > 20 * options.seconds:
                break
        hung = lines is not None
        if not hung:
            worker.process.wait()
        status = worker.stop()
        if ended and not hung and status == 0:
            break
        found += 1
        ended = False
        if not at:
            raise SystemExit(f"the worker did not start (status {status}); see {options.log}")
        end = (
            "stands still"
            if hung
            else f"dies of {signal.Signals(-status).name}"
            if status < 0
            else f"exits with {status}"
        )
        print(f"{at[2]} call {at[3]}: {end}", flush=True)
        start = int(at[1]) + 1
    return found


def show(options: argparse.Namespace) -> int:
    """One call in this process: its arguments, then its outcome."""
    import mindtorch_v2 as torch

    for row, number in plan(chosen(options.rows), options):
        calls = Calls(torch, row, options.seed, number)
        args, kwargs = calls.arguments()
        print(row.name, calls.form, args, kwargs, sep="\n  ", flush=True)
        try:
            print(" ->", call(torch, row, calls.form, args, kwargs))
        except Exception:  # noqa: BLE001  (whatever it raises, it did not crash)
            traceback.print_exc()
    return 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", help="a regular expression for the names of rows")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--calls", type=int, default=20, help="calls of each row")
    parser.add_argument("--only", type=int, help="the one call of this number")
    parser.add_argument("--seconds", type=float, default=10, help="processor time after which a call stands still")
    parser.add_argument("--log", default=os.devnull, help="where the workers' own output goes")
    parser.add_argument("--show", action="store_true", help="make the calls here, and print them")
    parser.add_argument("--start", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--report", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.report is not None:
        work(options)
        return 0
    if options.show:
        return show(options)
    found = run(options)
    print(f"{found} found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
