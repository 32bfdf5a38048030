"""Element-wise kernels: a row's expression becomes CUDA C++ for the dtypes and the memory order that a call brings.

    pointwise("add.Tensor", "self + alpha * other")

In the expression stand the schema's arguments, each as the type T that the row computes in (`self`, `other`, numbers too), what
`kernels/functions.cuh` and CUDA offer, and `has_<name>` for arguments that may be None. `min` and `max` are `lo` and `hi`.
An operator of several results assigns `r0`, `r1`, ... Words and flags of the call are known when the source is made: an
expression that depends on them is a function of their dictionary.

The launch is the core's (csrc/cuda/pointwise.cpp), which looks compiled kernels up by a key and asks `source_of` for those that it
has not met: the key says of each output and argument, in their order,

    t, o        a tensor, or one with a single element; then its dtype
    m           a tensor of the host; then what it holds
    i, d, c     a number: an integer, a real one, a complex one
    n, T, F, s  None, True, False, a string up to the next semicolon; - is anything else

and behind "|" the dtype of the arguments' promotion, the device, whether places need 64 bits (w), and how the memory lies: dense
and aligned (v), dense (c), the number of dimensions (from 0), or the number of dimensions (from A) of which the last is loaded in
vectors, and for each tensor whether it has neighbours there (1) or one element for all (0).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ... import _C
from ..._core.dtype import NUMBERED
from ..._operators.table import ROWS
from . import compiler

Expression = str | Callable[[dict[str, Any]], str]
ELEMENTS = {
    0: "uint8_t", 1: "int8_t", 2: "int16_t", 3: "int32_t", 4: "int64_t", 5: "f16", 6: "float", 7: "double", 9: "c64", 10: "c128",
    11: "b8", 15: "bf16", 27: "uint16_t", 28: "uint32_t", 29: "uint64_t",
}  # fmt: skip
"""PyTorch's number of a dtype -> the type of its elements in kernels."""
_BYTES = {"b8": 1, "c64": 8, "c128": 16, "double": 8, "float": 4, "f16": 2, "bf16": 2}
RENAMED = {"min": "lo", "max": "hi"}
"""Arguments whose names are functions of CUDA -> how expressions call them."""
_MAY_ALIAS = 2  # the output may be an input
_THREADS = 256


def itemsize(element: str) -> int:
    """Bytes of an element type of kernels."""
    return _BYTES.get(element) or int("".join(c for c in element if c.isdigit())) // 8


class Operand(NamedTuple):
    """An output or an argument of one call, as its key tells it."""

    kind: str  # "t", "o", "i", "d", "c", or "static"
    element: str = ""  # of a tensor
    value: Any = None  # of what is known when the source is made


class Key(NamedTuple):
    """A key, read."""

    operands: list[Operand]
    common: str
    device: int
    wide: bool
    layout: str
    ndim: int  # of what is not dense
    inner: str  # of what is loaded in vectors though not dense: "1" or "0" for each tensor


def read(key: bytes) -> Key:
    """The parts of a key. NotImplementedError for a dtype that kernels have no elements of."""
    operands: list[Operand] = []
    at, text = 0, key.decode("latin-1")

    def element(place: int) -> str:
        number = ord(text[place]) - 33
        if number not in ELEMENTS:
            raise NotImplementedError(f"CUDA kernels have no elements of {NUMBERED[number]}")
        return ELEMENTS[number]

    while text[at] != "|":
        letter = text[at]
        at += 1
        if letter in "to":
            operands.append(Operand(letter, element(at)))
            at += 1
        elif letter == "m":
            continue  # the number follows
        elif letter in "idc":
            operands.append(Operand(letter))
        elif letter == "s":
            end = text.index(";", at)
            operands.append(Operand("static", value=text[at:end]))
            at = end + 1
        else:
            operands.append(Operand("static", value={"n": None, "T": True, "F": False}.get(letter)))
    layout = text[at + 4]
    ndim = 0 if layout in "vc" else ord(layout) - ord("A" if layout >= "A" else "0")
    return Key(operands, element(at + 1), ord(text[at + 2]) - 48, text[at + 3] == "w", layout, ndim, text[at + 5 :])


class Pointwise:
    """The expression of a row, and the C++ that it becomes.

    Args:
        name: what errors and sources call it.
        outputs: how many results it has.
        names: the arguments, in their order.
        expression: of the result, or statements.
        compute: the type T: "out" (that of the first result), "common" (the promotion of the arguments), or the name of an
            argument.
        raw: arguments that stay what they are.
        listed: whether it is one of the package's own, which `MADE` has.
    """

    def __init__(
        self,
        name: str,
        outputs: int,
        names: list[str],
        expression: Expression,
        compute: str = "out",
        raw: tuple[str, ...] = (),
        *,
        listed: bool = True,
    ) -> None:
        self.name, self.outputs, self.expression, self.compute, self.raw = name, outputs, expression, compute, raw
        self.names = [RENAMED.get(n, n) for n in names]
        self.launcher = _C._CudaPointwise(self.compile)
        if listed:
            MADE.append(self)

    def compile(self, key: bytes) -> tuple[int, int, int]:
        """(function, elements of a block, threads of a block) of the kernel for a key."""
        read_key = read(key)
        source, per_block = self.source_of(read_key)
        return compiler.function(source, "pointwise", read_key.device, self.name), per_block, _THREADS

    def source_of(self, key: Key) -> tuple[str, int]:
        """The C++ of a key's kernel, and how many elements a block does."""
        outputs, inputs = key.operands[: self.outputs], key.operands[self.outputs :]
        elements = dict(zip(self.names, (o.element for o in inputs), strict=True))
        if self.compute == "out":
            computed = outputs[0].element
        else:
            computed = key.common if self.compute == "common" else elements[self.compute]
        tensors = [o for o in key.operands if o.kind in "to"]
        dense = key.layout in "vc"
        vector = 16 // max(itemsize(o.element) for o in tensors) if key.layout == "v" or key.inner else 1
        rounds = 2 if dense else 4
        body = self._body(outputs, inputs, computed, key, dense)
        count = sum(o.kind in "idc" for o in inputs)
        members = [f"    void* p[{len(tensors)}];"]
        if count:
            members.append(f"    Number s[{count}];")
        if not dense:
            members += [f"    int64_t size[{key.ndim}];", f"    int64_t stride[{key.ndim}][{len(tensors)}];"]
        lines = [
            '#include "base.cuh"',
            '#include "functions.cuh"',
            "struct Args {",
            "    int64_t n;",
            *members,
            "};",
            f"typedef {'int64_t' if key.wide else 'int32_t'} Index;",
            f"constexpr int VECTOR = {vector}, ROUNDS = {rounds}, THREADS = {_THREADS};",
            f"typedef math_of<{computed}>::type T;",
            *(["#define DENSE"] if dense else []),
            body,
            '#include "pointwise.cuh"',
        ]
        return "\n".join(lines) + "\n", _THREADS * vector * rounds

    def _body(self, outputs: list[Operand], inputs: list[Operand], computed: str, key: Key, dense: bool) -> str:
        statics = {n: o.value for n, o in zip(self.names, inputs, strict=True) if o.kind == "static"}
        expression = self.expression if isinstance(self.expression, str) else self.expression(statics)
        results = [f"r{i}" for i in range(self.outputs)]
        parameters = ["const Args& a"]
        convert: list[str] = []
        loads: list[tuple[str, Operand, int]] = []
        place, number = self.outputs, 0
        for name, operand in zip(self.names, inputs, strict=True):
            raw = name in self.raw
            if operand.kind in "to":
                parameters.append(f"{operand.element} x_{name}")
                target = f"math_of<{operand.element}>::type" if raw else "T"
                convert.append(given(target, name, f"x_{name}"))
                loads.append((f"x_{name}", operand, place))
                place += 1
            elif operand.kind in "idc":
                made = {
                    "i": f"a.s[{number}].integer()",
                    "d": f"a.s[{number}].real",
                    "c": f"c128(a.s[{number}].real, a.s[{number}].imaginary)",
                }[operand.kind]
                target = {"i": "int64_t", "d": "double", "c": "c128"}[operand.kind] if raw else "T"
                convert.append(given(target, name, made))
                number += 1
            elif operand.value is None or isinstance(operand.value, bool):
                convert.append(constant(name, operand.value))
        computes = assigned(expression)
        stores = " ".join(f"o{i} = to<{o.element}>({r});" for i, (r, o) in enumerate(zip(results, outputs)))
        declared = "".join(f"math_of<{o.element}>::type {r}; " for r, o in zip(results, outputs))
        returns = ", ".join(f"{o.element}& o{i}" for i, o in enumerate(outputs))
        lines = [
            f"DEVICE void element({', '.join([*parameters, returns])}) {{",
            *(f"    {line}" for line in convert),
            f"    {declared}",
            f"    {computes}",
            f"    {stores}",
            "}",
        ]
        passed = ["a", *(name for name, _, _ in loads)]

        one = ["DEVICE void one(const Args& a, Index i) {"]
        tensor_places = [*range(self.outputs), *(at for _, _, at in loads)]
        if dense:
            index = dict.fromkeys(tensor_places, "i")
        else:
            index = {at: f"at{at}" for at in tensor_places}
            one.append("    Index " + ", ".join(f"at{at} = 0" for at in tensor_places) + ";")
            one += _places(key.ndim, tensor_places)
        for name, operand, at in loads:
            where = "0" if operand.kind == "o" else index[at]
            one.append(f"    const {operand.element} {name} = {_pointer(operand.element, at)}[{where}];")
        one.append(
            f"    element({', '.join([*passed, *(f'{_pointer(o.element, i)}[{index[i]}]' for i, o in enumerate(outputs))])});"
        )
        one.append("}")
        many = self._many(outputs, loads, key, dense, tensor_places)
        return "\n".join([*lines, *one, *many])

    def _many(
        self, outputs: list[Operand], loads: list[tuple[str, Operand, int]], key: Key, dense: bool, places: list[int]
    ) -> list[str]:
        """The function for VECTOR neighbours: with each row's tensors at `at0`, `at1`, ..., or all of them at `i`."""
        lines = ["DEVICE void many(const Args& a, Index i) {"]
        if key.inner:
            lines.append("    Index " + ", ".join(f"at{at} = 0" for at in places) + ";")
            lines += _places(key.ndim, places, "VECTOR")
        if not (dense or key.inner):
            return [*lines, "}"]
        arguments = ["a"]
        for name, operand, at in loads:
            where = f"at{at}" if key.inner else "i"
            address = _pointer(operand.element, at)
            if operand.kind == "o" or (key.inner and key.inner[at] == "0"):
                place = "0" if operand.kind == "o" else where
                lines.append(f"    const {operand.element} {name} = {address}[{place}];")
                arguments.append(name)
            else:
                kind = f"Vector<{operand.element}, VECTOR>"
                lines.append(f"    const {kind} v_{name} = *reinterpret_cast<{kind}*>({address} + {where});")
                arguments.append(f"v_{name}.item[k]")
        lines += [f"    Vector<{o.element}, VECTOR> w{i};" for i, o in enumerate(outputs)]
        arguments += [f"w{i}.item[k]" for i in range(len(outputs))]
        lines += ["#pragma unroll", f"    for (int k = 0; k < VECTOR; k++) element({', '.join(arguments)});"]
        for i, operand in enumerate(outputs):
            kind, where = f"Vector<{operand.element}, VECTOR>", f"at{i}" if key.inner else "i"
            lines.append(f"    *reinterpret_cast<{kind}*>({_pointer(operand.element, i)} + {where}) = w{i};")
        return [*lines, "}"]


def given(kind: str, name: str, value: str) -> str:
    """The C++ of an argument that an expression reads: `name`, of type `kind`, and `has_<name>`."""
    return f"const {kind} {name} = to<{kind}>({value}); constexpr bool has_{name} = true;"


def constant(name: str, value: bool | None) -> str:
    """The C++ of a flag, or of an argument that is None."""
    if value is None:
        return f"const T {name} = T(); constexpr bool has_{name} = false;"
    return f"constexpr bool {name} = {str(value).lower()}, has_{name} = true;"


def assigned(expression: str) -> str:
    """An expression as statements that assign the results `r0`, `r1`, ..."""
    return expression if "r0 =" in expression else f"r0 = {expression};"


def _pointer(element: str, at: int) -> str:
    return f"reinterpret_cast<{element}*>(a.p[{at}])"


def _places(ndim: int, places: list[int], vector: str = "") -> list[str]:
    """Lines that add to `at0`, `at1`, ... where element i lies; with `vector`, where group i of so many neighbours does."""
    lines = []
    for d in reversed(range(ndim)):
        grouped = bool(vector) and d == ndim - 1
        size = f"static_cast<Index>(a.size[{d}])" + (f" / {vector}" if grouped else "")
        lines.append(f"    {{ const Index n = {size}, k = {'i % n' if d else 'i'};")
        if d:
            lines.append("      i /= n;")
        step = f"k * {vector}" if grouped else "k"
        lines += [f"      at{at} += {step} * static_cast<Index>(a.stride[{d}][{at}]);" for at in places]
        lines.append("    }")
    return lines


def pointwise(name: str, expression: Expression, *, compute: str = "out", raw: str = "") -> None:
    """State the kernel of an element-wise row. See the module."""
    row = ROWS[name]
    made = Pointwise(
        name,
        len(row.handle.returns),
        [a["name"] for a in row.handle.arguments],
        expression,
        compute,
        tuple(raw.split()),
    )
    KERNELS[name] = made
    for handle in (row.handle, row.inplace, row.out):
        if handle is not None and _C._has_shape_rule(handle):
            made.launcher.impl(handle, _MAY_ALIAS)


KERNELS: dict[str, Pointwise] = {}
"""The rows' kernels, by the name of the row."""
MADE: list[Pointwise] = []
"""All of the package's, those too that are no row's."""
