"""Running a GE graph on the device, through CANN's model interface (`aclmdl*`).

On hardware the `.air` file is compiled by `atc` into an `.om` file, which is loaded. The emulator loads the `.air` file itself.
Everything is called by ctypes; nothing here is particular to one of the two but `_compiled`.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile
import weakref
from ctypes import c_char_p, c_int, c_size_t, c_uint32, c_void_p
from typing import TYPE_CHECKING, Any

from ... import _C
from ..._core.autograd.grad_mode import no_grad
from .. import npu as _npu
from ..npu import libraries, state
from ..npu.casts import in_rows
from ..npu.errors import NPUError
from ..npu.table import random_state
from . import custom
from .lower import GEConversionError, Program

# name -> (result, argument types); everything that returns c_int is a status
_SIGNATURES: dict[str, tuple] = {
    "aclCreateDataBuffer": (c_void_p, c_void_p, c_size_t),
    "aclDestroyDataBuffer": (c_int, c_void_p),
    "aclmdlAddDatasetBuffer": (c_int, c_void_p, c_void_p),
    "aclmdlCreateDataset": (c_void_p,),
    "aclmdlCreateDesc": (c_void_p,),
    "aclmdlDestroyDataset": (c_int, c_void_p),
    "aclmdlDestroyDesc": (c_int, c_void_p),
    "aclmdlExecuteAsync": (c_int, c_uint32, c_void_p, c_void_p, c_void_p),
    "aclmdlGetDesc": (c_int, c_void_p, c_uint32),
    "aclmdlGetInputSizeByIndex": (c_size_t, c_void_p, c_size_t),
    "aclmdlGetNumInputs": (c_size_t, c_void_p),
    "aclmdlGetNumOutputs": (c_size_t, c_void_p),
    "aclmdlGetOutputSizeByIndex": (c_size_t, c_void_p, c_size_t),
    "aclmdlLoadFromFile": (c_int, c_char_p, c_void_p),
    "aclmdlUnload": (c_int, c_uint32),
}
_LIBRARIES = ("libascendcl.so", "libacl_mdl.so", "libge_executor.so")  # where CANN's versions have them


class Models:
    """CANN's functions for models. NotImplementedError that lists every path tried where they are missing."""

    if TYPE_CHECKING:  # CANN's functions, by their names

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self) -> None:
        _npu.load()
        self.runtime = state.get().runtime
        searched: list[str] = []
        opened = []
        for name in _LIBRARIES:
            path, tried = libraries.find(name)
            searched += tried
            if path is not None:
                opened.append(ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL))
        for name, (result, *arguments) in _SIGNATURES.items():
            function = next((getattr(library, name) for library in opened if hasattr(library, name)), None)
            if function is None:
                places = "\n  ".join(searched)
                raise NotImplementedError(f"{name} is in none of CANN's libraries. Tried:\n  {places}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        self.emulated = self.runtime.libraries.emulated
        self.register = next((x.emulatorGeOperator for x in opened if hasattr(x, "emulatorGeOperator")), None)

    def check(self, function: str, code: int) -> None:
        if code:
            raise NPUError(function, code, self.runtime.message())


@functools.cache
def models() -> Models:
    """CANN's model interface, found once."""
    return Models()


def _compiled(air: pathlib.Path, interface: Models) -> pathlib.Path:
    """The file to load for an `.air` file. RuntimeError with atc's own words if it refuses."""
    if interface.emulated:
        return air
    compiler = shutil.which("atc")
    if compiler is None:
        raise RuntimeError("atc, CANN's graph compiler, is not in PATH: run `source .../set_env.sh` first")
    soc = interface.runtime.soc_name()
    command = [compiler, "--framework=1", f"--model={air}", f"--output={air.with_suffix('')}", f"--soc_version={soc}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"atc refused the graph (status {done.returncode}):\n{done.stdout}{done.stderr}")
    return air.with_suffix(".om")


class Executable:
    """A loaded GE graph; called with the tensors of its Data operators, it returns those of its NetOutput."""

    def __init__(self, program: Program, name: str = "graph") -> None:
        self.program = program
        self.interface = interface = models()
        elsewhere = sorted({str(o.device) for o in program.outputs if o.device.type != "npu"})
        if elsewhere:
            raise GEConversionError(
                f"results of this graph are on {', '.join(elsewhere)}, and a GE graph runs on the NPU: move the program's tensors "
                "and modules there, with .npu()"
            )
        kernels = custom.offer(interface, program) if interface.emulated else None
        self.kernels = kernels
        self.index = interface.runtime.thread.device if program.index is None else program.index
        self.last_stream = 0
        interface.runtime.activate(self.index)
        number = c_uint32()
        with tempfile.TemporaryDirectory(prefix="mindtorch_ge_") as folder:
            air = pathlib.Path(folder) / f"{name}.air"
            air.write_bytes(program.model.serialize())
            path = _compiled(air, interface)
            interface.check("aclmdlLoadFromFile", interface.aclmdlLoadFromFile(os.fsencode(path), ctypes.byref(number)))
        self.number = number.value
        loaded = _Loaded(interface, self.number, self.index)
        weakref.finalize(self, loaded.end).atexit = False
        interface.runtime.finalizers.append(loaded.end)  # weakref's own calls end before the runtime does
        self._compare()

    def _compare(self) -> None:
        """RuntimeError if the loaded model has other inputs or outputs than the graph."""
        interface = self.interface
        described = interface.aclmdlCreateDesc()
        try:
            interface.check("aclmdlGetDesc", interface.aclmdlGetDesc(described, self.number))
            found = interface.aclmdlGetNumInputs(described), interface.aclmdlGetNumOutputs(described)
        finally:
            interface.aclmdlDestroyDesc(described)
        wanted = len(self.program.feeds), len(self.program.outputs)
        if found != wanted:
            raise RuntimeError(f"the loaded model has {found} inputs and outputs, the graph {wanted}")

    def __call__(self, tensors: list[Any]) -> list[Any]:
        from ... import empty  # the namespace is assembled later

        interface, runtime = self.interface, self.interface.runtime
        device = _C.device("npu", self.index)
        given = [in_rows(tensor.contiguous()) for tensor in tensors]
        outputs = [empty(o.shape, dtype=o.dtype, device=device) for o in self.program.outputs]
        stream = runtime.stream_handle(self.index)
        if stream != self.last_stream:  # the memory inside the model is one: runs may not overlap
            runtime.synchronize_stream(self.index, self.last_stream)
            self.last_stream = stream
        runtime.activate(self.index)
        with self._dataset(given) as into, self._dataset(outputs) as out:
            code = interface.aclmdlExecuteAsync(self.number, into, out, stream or None)
        if self.kernels is not None:
            self.kernels.raise_pending()
        interface.check("aclmdlExecuteAsync", code)
        if runtime.blocking:
            runtime.synchronize_stream(self.index, stream)
        return [self._in_order(made, o) for made, o in zip(outputs, self.program.outputs, strict=True)]

    def _in_order(self, made: Any, wanted: Any) -> Any:
        """A result with the strides that it has in the traced graph."""
        from ... import empty_strided  # the namespace is assembled later

        same = all(a == b or n == 1 for a, b, n in zip(made.stride(), wanted.stride, wanted.shape, strict=True))
        if same or made.numel() == 0 or 0 in wanted.stride:
            return made
        return empty_strided(wanted.shape, wanted.stride, dtype=made.dtype, device=made.device).copy_(made)

    @contextlib.contextmanager
    def _dataset(self, tensors: list[Any]) -> Any:
        interface = self.interface
        dataset = interface.aclmdlCreateDataset()
        buffers = []
        try:
            for tensor in tensors:
                buffer = interface.aclCreateDataBuffer(
                    tensor.data_ptr() or None, tensor.numel() * tensor.element_size()
                )
                buffers.append(buffer)
                interface.check("aclmdlAddDatasetBuffer", interface.aclmdlAddDatasetBuffer(dataset, buffer))
            yield dataset
        finally:
            for buffer in buffers:
                interface.aclDestroyDataBuffer(buffer)
            interface.aclmdlDestroyDataset(dataset)


class _Loaded:
    """A model that CANN has loaded, until it is not wanted any more or the runtime ends."""

    def __init__(self, interface: Models, number: int, index: int) -> None:
        self.interface, self.number, self.index = interface, number, index

    def end(self) -> None:
        runtime = self.interface.runtime
        if self.number and not runtime.closed:
            number, self.number = self.number, 0
            runtime.synchronize(self.index)  # what is queued uses the model's memory
            self.interface.aclmdlUnload(number)


class Compiled:
    """Callable that a back end returns for a traced graph: called with the graph's arguments, it gives the graph's results.

    Writes to inputs are carried out when the graph has run. It does not record gradients: the traced graph is of operators
    below autograd.
    """

    def __init__(self, program: Program, name: str = "graph") -> None:
        self.program = program
        self.executable = Executable(program, name)
        self.device = _C.device("npu", self.executable.index)

    def __call__(self, *inputs: Any) -> Any:
        from ...utils import _pytree as pytree  # the namespace is assembled later

        program = self.program
        for place, value in program.fixed:
            if inputs[place] != value:
                raise RuntimeError(
                    f"this graph was made for {value!r} as input {place}, got {inputs[place]!r}: compile it again"
                )
        with no_grad():
            outputs = self.executable(self._fed(inputs))
            results = []
            for kind, what in program.results:
                results.append(outputs[what] if kind == "output" else inputs[what] if kind == "input" else what)
            for place, output in program.writes:
                inputs[place].copy_(outputs[output])
        return pytree.tree_unflatten(results, program.spec)

    def _fed(self, inputs: tuple) -> list[Any]:
        from ... import int64, tensor  # the namespace is assembled later

        draws: dict[int, tuple[int, int]] = {}
        fed = []
        for kind, what in self.program.feeds:
            if kind == "input":
                value = inputs[what]
            elif kind == "attribute":
                value = what
            else:
                if what not in draws:
                    draws[what] = random_state(self.executable.index)
                value = tensor([draws[what][kind == "offset"]], dtype=int64)
            value = value.detach()
            fed.append(value if value.device == self.device else value.to(self.device))
        return fed


__all__ = ["Compiled", "Executable", "models"]
