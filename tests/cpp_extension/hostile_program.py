"""Call the C functions of the stable ABI with arguments that are wrong: `python hostile_program.py LOG [SEED]`.

None may end the process. What the ABI can see (a handle that is none, a null pointer, a number that stands for nothing) must fail
with a text that names it. LOG's last line is the call that runs.
"""

import ctypes
import itertools
import os
import pathlib
import random
import re
import sys

import mindtorch_v2 as torch
from mindtorch_v2.utils import cpp_extension

sys.path.insert(0, os.fspath(pathlib.Path(__file__).parent))
from stable_library import Failed, Kernel, LoopBody, StableABI, double_bits

BIG = (1 << 63) - 1
SIGNED = {8: ctypes.c_int8, 16: ctypes.c_int16, 32: ctypes.c_int32, 64: ctypes.c_int64}
NUMBERS = {
    "int": ctypes.c_int32,
    **{f"int{n}_t": kind for n, kind in SIGNED.items()},
    **{f"uint{n}_t": getattr(ctypes, f"c_uint{n}") for n in SIGNED},
    "size_t": ctypes.c_size_t,
    "StableIValue": ctypes.c_uint64,
    "bool": ctypes.c_bool,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}
HANDLES = {
    "AtenTensorHandle": "a tensor",
    "AtenGeneratorHandle": "a generator",
    "StreamHandle": "a stream",
    "DeviceGuardHandle": "a device guard",
    "StableListHandle": "a list",
    "StringHandle": "a string",
    "TorchLibraryHandle": "a library",
}
# Null is an answer there: it says that there is none.
MAY_BE_NULL = {
    "aoti_torch_convolution": {"bias"},
    "aoti_torch_aten_pad": {"value"},
    "aoti_torch_repeat_interleave_Tensor": {"output_size"},
    "torch_tensor_to_pyobject": {"py_type"},
    **{
        f"aoti_torch_aten_{name}": {"dtype", "layout", "device", "pin_memory"}
        for name in ("full", "new_empty", "new_zeros")
    },
    **{f"aoti_torch_library_init_{kind}": {"file"} for kind in ("def", "fragment", "impl")},
    **{
        name: {"data", "strides_ptr", "opaque_metadata", "deleter", "deleter_ctx"}
        for name in ("torch_from_blob", "aoti_torch_create_tensor_from_blob", "aoti_torch_create_tensor_from_blob_v2")
    },
    "aoti_torch_empty_strided": {"strides_ptr"},
    "torch_parallel_for": {"ctx"},
    "torch_library_set_python_module": {"context"},
}
# CUDA's fail as a whole here, and say so by their code alone.
NO_CUDA = re.compile("cuda")
TEXTS = {
    "op_name": "aten::exp",
    "overload_name": "",
    "k": "CPU",
    "schema": "wrong{}(Tensor x) -> Tensor",
    "name": "kernel",
    "mode": "constant",
    "reduce": "sum",
    "device_string": "cpu",
    "data": "text",
}


def declared(text):
    """(name, [(type, parameter)]) of every function of c.h that says whether it failed."""
    for name, parameters in re.findall(r"AOTI_TORCH_EXPORT AOTITorchError (\w+)\((.*?)\);", text, re.DOTALL):
        flat = " ".join(parameters.split()).replace("void (*fn)(StableIValue*, uint64_t, uint64_t)", "Kernel fn")
        flat = flat.replace("void (*deleter)(void* data, void* ctx)", "Deleter deleter")
        pairs = [p.strip().rsplit(" ", 1) for p in flat.split(",")] if flat != "void" else []
        yield name, [(re.sub(r"^const (?!.*\*)", "", kind), parameter) for kind, parameter in pairs]


class Caller:
    """Valid arguments for any function, and wrong ones in their places."""

    def __init__(self, log):
        self.abi = StableABI("mindtorch_v2")
        self.cuda = ctypes.PyDLL(
            os.fspath(pathlib.Path(torch.__file__).parent / "_lib" / "stable" / "libtorch_cuda.so")
        )
        self.log = log
        self.kept = []
        self.count = 0
        self.calls = self.refused = 0
        self.kernel = Kernel(lambda stack, arguments, results: None)
        self.body = LoopBody(lambda begin, end, context: None)
        self.generator = self.generator_handle()
        library = self.abi.init("fragment", "hostile_deleted")
        self.abi.call("aoti_torch_delete_library_object", library)
        text, items, tensor = self.abi.string("x"), self.abi.list([]), self.abi.tensor([1])
        self.abi.call("torch_delete_string", ctypes.c_void_p(text))
        self.abi.call("torch_delete_list", ctypes.c_void_p(items))
        self.abi.delete(tensor)
        self.deleted = [text, items, tensor.value, library.value]

    def generator_handle(self):
        kept = []
        abi = self.abi
        definitions = abi.init("def", "hostile_kept")
        abi.define(definitions, "keep(Generator g) -> ()")
        kernels = abi.init("impl", "hostile_kept", "CompositeExplicitAutograd")
        abi.implement(kernels, "keep", lambda stack, arguments, results: kept.append(stack[0]))
        torch.ops.hostile_kept.keep(torch.Generator())
        return kept[0]

    def handle(self, kind):
        abi = self.abi
        match kind:
            case "AtenTensorHandle":
                return abi.tensor(range(6), [2, 3]).value
            case "AtenGeneratorHandle":
                return self.generator
            case "StableListHandle":
                return abi.list([3, 5])
            case "StringHandle":
                return abi.string("text")
            case "TorchLibraryHandle":
                return abi.init("fragment", "hostile_calls").value
        return 16  # there is no stream and no guard to be had on a CPU

    def valid(self, function, kind, name):
        """A value for a parameter, as ctypes takes it."""
        if kind in HANDLES:
            return ctypes.c_void_p(self.handle(kind))
        if kind in NUMBERS:
            wanted = {"dtype": 6, "ndim": 2, "length": 4, "line": 7, "num_tags": 2, "end": 4, "grain_size": 1}
            wanted.update(dict.fromkeys(["num_indices", "stride_size", "groups", "err"], 1))
            wanted.update(dict.fromkeys(["size_len", "pad_len"], 2), opaque_metadata_size=0)
            return NUMBERS[kind](wanted.get(name, 1 if name.endswith(("_size", "_len")) else 0))
        if kind == "const char*":
            self.count += 1
            return ctypes.c_char_p(TEXTS.get(name, f"hostile_{self.count}").format(self.count).encode())
        if kind == "Kernel":
            return self.kernel
        if kind == "ParallelFunc":
            return self.body
        if kind == "Deleter":
            return ctypes.c_void_p()
        if kind == "StableIValue*" and name == "stack":
            return (ctypes.c_uint64 * 8)(self.handle("AtenTensorHandle"))
        if kind == "StableIValue*" and name == "value":
            return ctypes.c_void_p(self.abi.call("torch_new_stable_ivalue", out=ctypes.c_void_p))
        if name in ("sizes_ptr", "size"):
            return (ctypes.c_int64 * 2)(2, 3)
        if name == "strides_ptr":
            return (ctypes.c_int64 * 2)(3, 1)
        if name == "indices":
            return (ctypes.c_void_p * 1)(self.handle("AtenTensorHandle"))
        if name == "tags":
            return (ctypes.c_int32 * 2)(16, 17)
        if kind == "const int64_t*":
            return (ctypes.c_int64 * 2)(0, 0)
        if name in ("py_obj", "py_type"):
            return ctypes.py_object(torch.ones(1) if name == "py_obj" else torch.Tensor)
        if name in ("dtype", "layout", "device", "pin_memory", "output_size", "value"):
            return ctypes.c_void_p()
        if name in ("data", "opaque_metadata"):
            return (ctypes.c_float * 64)()
        if kind == "void*":
            return ctypes.c_void_p()
        return ctypes.byref(ctypes.c_uint64())  # a place for a result

    def wrong(self, function, kind, name):
        """(a value, the text that its failure must have or None where it may go well)."""
        null = ctypes.c_void_p()
        optional = name in MAY_BE_NULL.get(function, ())
        if kind in HANDLES:
            what = HANDLES[kind]
            others = [h for k in HANDLES if k != kind and (h := self.handle(k)) != 16]
            if not optional:
                yield null, "null pointer|handle|undefined"
            for h in (8, 16, 1 << 62, (1 << 64) - 1, *self.deleted, *others):
                yield ctypes.c_void_p(h), f"a handle of {what}"
            undefined = self.abi.call("aoti_torch_new_uninitialized_tensor", out=ctypes.c_void_p)
            if kind == "AtenTensorHandle":
                yield ctypes.c_void_p(undefined), None
                for tensor in (self.sparse(torch.eye(3).to_sparse()), self.sparse(torch.ones(2, device="meta"))):
                    yield ctypes.c_void_p(tensor), None
        elif kind in NUMBERS:
            bits = ctypes.sizeof(NUMBERS[kind]) * 8
            if kind in ("float", "double"):
                values = [float("nan"), float("inf"), -1e300]
            else:
                values = [
                    -1,
                    2,
                    3,
                    7,
                    64,
                    65,
                    99,
                    127,
                    128,
                    255,
                    256 + 6,
                    1 << 20,
                    BIG,
                    -BIG - 1,
                    1 << 62,
                    1 << (bits - 2),
                ]
            # What a count of an array or of characters says cannot be seen to be wrong, unless it is absurd.
            if name in ("num_tags", "num_indices", "ndim", "length") or name.endswith(("_len", "_size")):
                values = [v for v in values if v < 0 or v >= 1 << 20]
                if name == "length" or kind == "uint32_t":
                    values = [-1]
            for number in map(NUMBERS[kind], values):
                v = number.value
                if name == "end" and v > 1 << 21 or name == "begin" and v < -(1 << 21):
                    continue  # a loop that long would run
                no_type = name == "dtype" and v not in (0, 2, 3, 7)
                no_device = name == "device_type" and not 0 <= v <= 20
                yield number, "no element type has" if no_type else "no device has" if no_device else None
        elif kind == "const char*":
            if not optional:
                yield null, "null pointer"
            for text in (
                b"",
                b"\xff\xfe",
                b"a" * 100_000,
                b"%s%n%s",
                b"aten::add",
                b"::",
                b"(",
                b"x(Tensor",
                b"x() -> (",
                b"\n",
            ):
                yield ctypes.c_char_p(text + b"\0" * 4), None
        elif kind in ("Kernel", "ParallelFunc"):
            yield null, "null pointer"
        elif not optional and kind != "void*":
            yield null, "null pointer"
        if kind == "const int64_t*" or name == "tags":
            for values in ([-1, -1], [BIG, BIG], [-BIG - 1, 1], [0, 0], [1 << 31, 1 << 31], [1 << 40, 1 << 40]):
                yield (ctypes.c_int64 * 8)(*values * 4), None
        if kind == "int32_t*" and optional:
            for v in (-1, 99, 1 << 20):
                yield (
                    ctypes.byref(ctypes.c_int32(v)),
                    "number|device" if name in ("dtype", "layout", "device") else None,
                )
        if kind == "StableIValue*" and name == "stack":
            for h in (0, 16, *self.deleted[:2]):
                yield (ctypes.c_uint64 * 8)(h), "a handle of a tensor"
        if name == "indices":
            yield (ctypes.c_void_p * 1)(16), "a handle of a tensor"

    def sparse(self, tensor):
        self.kept.append(tensor)
        return self.abi.call("torch_tensor_from_pyobject", ctypes.py_object(tensor), out=ctypes.c_void_p)

    def note(self, text):
        self.log.seek(0)
        self.log.truncate()
        self.log.write(text)
        self.log.flush()

    def run(self, function, given, changed, must):
        self.calls += 1
        self.note(f"{function} {changed}")
        failed = getattr(self.cuda if NO_CUDA.search(function) else self.abi.library, function)(*given)
        self.refused += failed
        what = self.abi.what() if failed else ""
        if must is not None and not NO_CUDA.search(function):
            assert failed, f"{function}: {changed} was taken"
            assert re.search(must, what), f"{function}: {changed} gave: {what}"
        else:
            assert not failed or what or NO_CUDA.search(function), f"{function}: {changed} failed without a word"

    def arguments(self, function, parameters):
        return [self.valid(function, kind, name) for kind, name in parameters]


def one_by_one(caller, functions):
    for function, parameters in functions:
        caller.run(function, caller.arguments(function, parameters), "as it should be", None)
        for at, (kind, name) in enumerate(parameters):
            for value, must in caller.wrong(function, kind, name):
                given = caller.arguments(function, parameters)
                given[at] = value
                shown = list(value) if isinstance(value, ctypes.Array) else getattr(value, "value", value)
                caller.run(function, given, f"{kind} {name} = {str(shown)[:60]}", must)


def several(caller, functions, seed, count):
    rng = random.Random(seed)
    for _ in range(count):
        function, parameters = rng.choice(functions)
        given = caller.arguments(function, parameters)
        places = [i for i in range(len(given)) if rng.random() < 0.5]
        for at in places:
            kind, name = parameters[at]
            options = list(itertools.islice(caller.wrong(function, kind, name), 40))
            if options:
                given[at] = rng.choice(options)[0]
        caller.run(function, given, f"seed {seed}, wrong at {places}", None)


class Cells:
    """Arguments as an operator's schema wants them: undefined tensors, odd sizes and numbers among them."""

    def __init__(self, abi, seed):
        self.abi = abi
        self.rng = random.Random(seed)

    def tensor(self):
        made = self.rng.randrange(5)
        if made == 0:
            return self.abi.call("aoti_torch_new_uninitialized_tensor", out=ctypes.c_void_p)
        return self.abi.full([[2, 3], [3], [], [0, 2]][made - 1], 1.0).value

    def of(self, kind):
        """A cell, or None where the ABI has no form of the type."""
        choice = self.rng.choice
        if kind.startswith("Optional["):
            inner = 0 if choice((True, False)) else self.of(kind[9:-1])
            return inner and self.abi.cell(inner)
        if kind.startswith("List["):
            items = [self.of(kind[5:-1]) for _ in range(self.rng.randrange(4))]
            return None if None in items else self.abi.list(items)
        match kind:
            case "Tensor":
                return self.tensor()
            case "int" | "SymInt":
                return choice((0, 1, 2, 3, (1 << 64) - 1, 1 << 62, 1 << 63))
            case "float":
                return double_bits(choice((0.0, 1.0, -1.0, 1e300, float("nan"))))
            case "bool":
                return choice((0, 1))
            case "str":
                return self.abi.string(choice(("", "mean", "sum", "zeros")))
            case "ScalarType":
                return choice((4, 6, 7, 11))
            case "Layout" | "MemoryFormat":
                return choice((0, 1))
            case "Device":
                return 0xFFFFFFFF
        return None


def every_operator(caller, seed):
    cells = Cells(caller.abi, seed)
    count = 0
    for row in torch._C._all_operators():
        if row.namespace != "aten" or "from_file" in row.name:
            continue
        name = row.name.split("::")[-1]
        schema = getattr(getattr(torch.ops.aten, name), row.overload or "default")._schema
        given = [cells.of(str(argument.type)) for argument in schema.arguments]
        if None in given:
            continue
        caller.note(f"{schema} seed {seed} {[hex(cell) for cell in given]}")
        count += 1
        try:
            caller.abi.dispatch(f"aten::{name}", row.overload, *given, returns=len(schema.returns))
        except Failed as error:
            assert str(error), schema
    return count


def main(log, seed=0):
    header = pathlib.Path(cpp_extension.include_paths()[0]) / "mindtorch" / "stable" / "c.h"
    functions = sorted(declared(header.read_text()))
    assert len(functions) > 100
    with open(log, "w+") as file:
        caller = Caller(file)
        one_by_one(caller, functions)
        several(caller, functions, seed, 2000)
        operators = every_operator(caller, seed)
    print(f"{len(functions)} functions, {caller.calls} calls, {caller.refused} refused, {operators} operators")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
