"""Operators as GE operators, torch_npu's above all: `fused.tsv` has a row for each way to say one of them.

Columns: the operator; GE's name; its inputs, outputs and attributes, in GE's order. A word is GE's name, with `=` what stands there
if that is called otherwise: an argument of the operator, or for outputs the number of a result.

    inputs      x=self           a tensor, or numbers as a constant
                mask?            may be left out
                key*             any number of tensors: those of a list, or the one that the argument is
                x~=self          a tensor or a number, in the dtype of the first result
                bias+            the same as `*`, and one without elements where there are none
                scales@axis      a vector, laid along that dimension of the first input
    outputs     y*               as many as the result, a list, has
                y=x1             what becomes of an argument that is written
    attributes  epsilon          the argument's value; left out where it is None
                sorted=True      a constant
                n=lse:len        how many tensors the argument has
                dst_type=d:type  GE's number for the first result's dtype, for which the argument is PyTorch's
                mode=m:half>0    by words
                ?div_mode=False  no attribute: the argument has to have this value
                -sync            no attribute: the argument changes no number

An argument that no word names has to have its default, else the row does not fit. An output with the name of an input is that
input, written, and it gets a copy. The emulator has no kernels for these operators: `run` reads a row backwards, and the
operator's own kernel for the device does the work.
"""

from __future__ import annotations

import ast
import functools
import importlib
import math
import pathlib
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import _C
from . import apis, attr
from .graph import Tensor
from .proto import Message
from .types import DataType

_FORMS: dict[str, Callable[[Any], attr.Attr]] = {"int": attr.Int, "float": attr.Float, "Scalar": attr.Float, "bool": attr.Bool, "str": attr.Str,
          "ScalarType": lambda dtype: attr.DataType(DataType.of(dtype)), "int[]": attr.ListInt, "float[]": attr.ListFloat, "bool[]": attr.ListBool}  # fmt: skip
_CODES = {
    "int8": 1,
    "int32": 3,
    "float16": 5,
    "float32": 6,
    "bfloat16": 15,
}  # what torch_npu calls dtypes, of those GE has


class Input(NamedTuple):
    """An input of the GE operator."""

    name: str
    form: str  # "", "?", "*", "+" or "~"
    source: str
    along: str | None  # the argument that names the dimension along which a vector is laid


class Output(NamedTuple):
    """An output of the GE operator, and the result that it is, or the argument that it is when it was written."""

    name: str
    several: bool
    source: int | str


class Attribute(NamedTuple):
    """An attribute of the GE operator."""

    name: str
    source: str | None  # the argument; None for a constant
    word: str  # "", "len" or "type"
    choices: dict[Any, Any]  # of the argument's value
    constant: Any


class Row(NamedTuple):
    """One way to say an operator in GE."""

    handle: Any
    type: str
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    attributes: tuple[Attribute, ...]
    required: dict[str, Any]  # arguments that have no place, and the value that they have to have

    @property
    def written(self) -> dict[str, str]:
        """The input of each argument that the operator writes."""
        marked = {a["name"] for a in self.handle.arguments if a["is_write"]}
        return {each.source: each.name for each in self.inputs if each.source in marked}


_INPUT = re.compile(r"(\w+)([?*+~]?)(?:=(\w+))?(?:@(\w+))?")
_OUTPUT = re.compile(r"(\w+)(\*?)(?:=(\w+))?")
_ATTRIBUTE = re.compile(r"(\w+)(?:=([^:\s]+)(?::(\S+))?)?")


def _number(text: str) -> Any:
    return int(text) if text.lstrip("-").isdigit() else text


def _literal(text: str) -> Any:
    return ast.literal_eval(text)


def _matched(pattern: re.Pattern[str], word: str, line: str) -> tuple[Any, ...]:
    found = pattern.fullmatch(word)
    if found is None:
        raise ValueError(f"fused.tsv: '{word}' is no word of a row: {line}")
    return found.groups()


def _attribute(word: str, arguments: dict[str, Any], line: str) -> Attribute:
    name, source, rest = _matched(_ATTRIBUTE, word, line)
    source = source or name
    if source not in arguments:
        return Attribute(name, None, "", {}, _literal(source))
    if rest in (None, "len", "type"):
        return Attribute(name, source, rest or "", {}, None)
    pairs = (pair.partition(">") for pair in rest.split(","))
    return Attribute(name, source, "", {_number(a): _number(b) for a, _, b in pairs}, None)


def parse(line: str) -> Row:
    """A row of the table. ValueError for a word that is none, KeyError for an operator or an argument that there is not."""
    operator, type, inputs, outputs, attributes = line.split("\t")
    name, _, overload = operator.partition(".")
    handle = _C._find_operator(name, overload)
    if handle is None:
        raise KeyError(f"fused.tsv: {operator} is no operator")
    arguments = {a["name"]: a for a in handle.arguments}
    taken = [_matched(_INPUT, word, line) for word in inputs.split()]
    places = tuple(Input(name, form, source or name, along) for name, form, source, along in taken)
    writes = {each.name: each.source for each in places if arguments[each.source]["is_write"]}
    results: list[Output] = []
    for name, star, source in (_matched(_OUTPUT, word, line) for word in outputs.split()):
        chosen = writes.get(name) if source is None else _number(source)
        chosen = sum(isinstance(each.source, int) for each in results) if chosen is None else chosen
        results.append(Output(name, bool(star), chosen))
    stated = [word for word in attributes.split() if word[0] not in "?-"]
    made = tuple(_attribute(word, arguments, line) for word in stated)
    used = {each.source for each in places} | {each.along for each in places} | {one.source for one in made}
    required = {name: a["default"] for name, a in arguments.items() if name not in used}
    for word in attributes.split():
        if word[0] == "-":
            del required[word[1:]]
        elif word[0] == "?":
            key, _, value = word[1:].partition("=")
            required[key] = _literal(value)
    return Row(handle, type, places, tuple(results), made, required)


@functools.cache
def rows() -> dict[Any, list[Row]]:
    """The rows of each operator."""
    importlib.import_module("..npu.rows", __package__)  # which defines them
    made: dict[Any, list[Row]] = {}
    for line in (pathlib.Path(__file__).parent / "fused.tsv").read_text().splitlines():
        if not line.startswith("#"):
            row = parse(line)
            made.setdefault(row.handle, []).append(row)
    return made


@functools.cache
def types() -> dict[str, list[Row]]:
    """The rows of each GE operator."""
    made: dict[str, list[Row]] = {}
    for row in (row for those in rows().values() for row in those):
        made.setdefault(row.type, []).append(row)
    return made


def _same(value: Any, wanted: Any) -> bool:
    if isinstance(value, (list, tuple)) and isinstance(wanted, (list, tuple)):
        return list(value) == list(wanted)
    return value is wanted or (not isinstance(value, (_C.TensorBase, Tensor)) and bool(value == wanted))


def _fits(row: Row, values: dict[str, Any]) -> bool:
    """Whether a call of the operator can be said by this row."""
    if not all(_same(values[name], wanted) for name, wanted in row.required.items()):
        return False
    for each in row.inputs:
        value = values[each.source]
        if value is None and each.form in ("", "~"):
            return False
        if each.form in ("", "?") and isinstance(value, (list, tuple)) and value and not _numbers(value):
            if len(value) > 1:
                return False
    for one in row.attributes:
        value = None if one.source is None else values[one.source]
        if value is None:
            continue
        if (one.choices and value not in one.choices) or (one.word == "type" and value not in _CODES.values()):
            return False
    return True


def _numbers(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(each, int) for each in value)


def row_for(handle: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Row | None:
    """The first row that says this call of an operator; None if there is none."""
    for row in rows().get(handle, ()):
        if _fits(row, called(handle, args, kwargs)):
            return row
    return None


def called(handle: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The value of each argument in a call."""
    names = [a["name"] for a in handle.arguments]
    given = {**dict(zip(names, args)), **kwargs}
    return {a["name"]: given.get(a["name"], a["default"]) for a in handle.arguments}


# ---- forward: a call as a GE operator ----


def _laid(value: Tensor, like: Tensor, axis: int) -> Tensor:
    shape = [1] * like.rank
    shape[axis] = math.prod(value.shape or [])
    made: Tensor = apis.function("Reshape")(value, shape)
    return made


def _place(each: Input, values: dict[str, Any], first: Tensor | None, meta: Any) -> Any:
    """A tensor, None, or a list of them for an input; `meta` is what the first result looks like."""
    value = values[each.source]
    if each.form == "~":
        kind = DataType.of(meta.dtype)
        return apis.Cast(value, dst_type=kind) if isinstance(value, Tensor) else apis.Const(value, kind)
    if _numbers(value) and value:
        value = apis.Const(list(value), DataType.DT_INT64)
    if each.form in ("*", "+"):
        made = [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]
        if not made and each.form == "+":
            made = [apis.Const([], DataType.DT_FLOAT)]
        return made
    if isinstance(value, (list, tuple)):
        value = value[0] if value else None
    if each.along is not None and value is not None and first is not None:
        return _laid(value, first, values[each.along])
    return value


def _kind(argument: dict[str, Any]) -> str:
    """The type of an argument, without marks: "int[2]?" is "int[]", and so is "SymInt[]"."""
    return re.sub(r"\d+", "", argument["type"].rstrip("?")).removeprefix("Sym").replace("Int", "int")


def _attributes(row: Row, values: dict[str, Any], metas: Sequence[Any]) -> dict[str, attr.Attr]:
    made: dict[str, attr.Attr] = {}
    kinds = {a["name"]: _kind(a) for a in row.handle.arguments}
    for each in row.attributes:
        if each.source is None:
            forms = {bool: attr.Bool, int: attr.Int, float: attr.Float, str: attr.Str, list: attr.ListInt}
            made[each.name] = forms[type(each.constant)](each.constant)
            continue
        value = values[each.source]
        if each.word == "type":
            made[each.name] = attr.Int(int(DataType.of(metas[0].dtype)))
        elif value is None:
            continue
        elif each.word == "len":
            made[each.name] = attr.Int(len(value))
        elif each.choices:
            chosen = each.choices[value]
            made[each.name] = attr.Int(chosen) if isinstance(chosen, int) else attr.Str(chosen)
        else:
            made[each.name] = _FORMS[kinds[each.source]](value)
    return made


def build(row: Row, values: dict[str, Any], metas: Sequence[Any]) -> list[Any]:
    """The GE operator of a row in the graph that is being built; the operator's results, then the arguments that it writes.

    `metas` are what the results look like. One that the GE operator does not give is the number that is none, 0, or a constant
    without elements.
    """
    names = {each.name for each in row.outputs}
    inputs: dict[str, Any] = {}
    first: Tensor | None = None
    for each in row.inputs:
        value = _place(each, values, first, metas[0])
        if each.name in names and value is not None:
            value = apis.Clone(value)
        inputs[each.name] = value
        first = first or (value if isinstance(value, Tensor) else None)
    outputs: list[Any] = []
    for out in row.outputs:
        outputs.append((out.name, len(metas[int(out.source)])) if out.several else out.name)
    made = apis.custom_op(row.type, inputs=inputs, outputs=outputs, attrs=_attributes(row, values, metas))
    of = dict(zip((out.source for out in row.outputs), made if len(outputs) != 1 else [made], strict=True))
    count = len(metas) - len(row.written)
    results = [of[place] if place in of else _nothing(metas[place]) for place in range(count)]
    return results + [of[name] for name in row.written]


def _nothing(meta: Any) -> Any:
    """Stand-in for a result that the GE operator does not give. ValueError for one with elements."""
    if isinstance(meta, int):
        return 0
    if meta is None:
        return None
    if meta.numel():
        raise ValueError(f"GE's operator has no output for a result of the sizes {list(meta.shape)}")
    return apis.Const([], DataType.of(meta.dtype))


def converter(source: Any) -> Callable[..., Any] | None:
    """The converter of an operator, which is of what it writes a copy; None if no row is of it."""
    if source not in rows():
        return None

    def convert(*args: Any, meta_outputs: Any = None, **kwargs: Any) -> Any:
        row = row_for(source, args, kwargs)
        if row is None:
            raise ValueError("no GE operator says this call")
        several = isinstance(meta_outputs, (list, tuple)) and not (len(source.returns) == 1 and row.outputs[0].several)
        metas = list(meta_outputs) if several else [meta_outputs]
        made = build(row, called(source, args, kwargs), metas)
        return tuple(made) if several else made[0]

    convert.__name__ = f"fused_{source.name}"
    return convert


# ---- backward: a GE operator as a call ----


def _meant(type: str, op: Message, given: dict[str, Any]) -> Row:
    """The row that a GE operator was made by, or another that means the same. LookupError if none is."""
    for row in types()[type]:
        named = {each.name for each in row.inputs}
        fed = {n for n, value in given.items() if value is not None}
        constants = {each.name: each.constant for each in row.attributes if each.source is None}
        if all(n in named or n.rstrip("0123456789") in named for n in fed) and all(
            _stored(op, name, value.__class__.__name__) == value for name, value in constants.items() if name in op.attr
        ):
            return row
    raise LookupError(f"no operator of torch_npu is the GE operator {type} with the inputs {sorted(given)}")


def _stored(op: Message, name: str, kind: str) -> Any:
    """An attribute of an operator's message, of the type that a schema names."""
    stored = op.attr[name]
    if kind == "str":
        return stored.s.decode()
    if kind == "ScalarType":
        return DataType(stored.dt).torch
    if kind in ("float", "Scalar"):
        return stored.f
    if kind == "bool":
        return bool(stored.b)
    lists: dict[str, Any] = {"float[]": stored.list.f, "bool[]": stored.list.b, "int[]": stored.list.i}
    lists["list"] = lists["int[]"]  # a constant of several numbers
    return list(lists[kind]) if "[" in kind or kind == "list" else stored.i


def _value(argument: dict[str, Any], each: Input, given: dict[str, Any]) -> Any:
    """The argument that inputs of the GE operator stand for."""
    if each.form in ("*", "+"):
        rows = [n for n in given if n.startswith(each.name) and n.removeprefix(each.name).isdigit()]
        made = [given[n] for n in sorted(rows, key=lambda n: int(n.removeprefix(each.name)))]
        if "[" not in argument["type"]:
            return made[0] if made else None
        return None if each.form == "+" and all(0 in one.shape for one in made) else made
    value = given.get(each.name)
    if value is None:
        return None
    if argument["type"].startswith("Tensor"):
        value = value.reshape(-1) if each.along is not None else value
        return [value] if "[" in argument["type"] else value
    return value.tolist()


def arguments(row: Row, op: Message, given: dict[str, Any]) -> dict[str, Any]:
    """The operator's arguments that a GE operator of a row says; `given` are its inputs by their names."""
    stated = {a["name"]: a for a in row.handle.arguments}
    values = {name: a["default"] for name, a in stated.items()} | row.required
    for each in row.inputs:
        values[each.source] = _value(stated[each.source], each, given)
    for one in row.attributes:
        if one.source is None or one.word == "len":
            continue
        argument = stated[one.source]
        if one.name not in op.attr:
            values[one.source] = None if "?" in argument["type"] else argument["default"]
        elif one.word == "type":
            dtype = str(DataType(op.attr[one.name].i).torch).rpartition(".")[2]
            values[one.source] = _CODES[dtype]
        elif one.choices:
            told = _stored(op, one.name, "str" if isinstance(next(iter(one.choices.values())), str) else "int")
            values[one.source] = next(mine for mine, theirs in one.choices.items() if theirs == told)
        else:
            values[one.source] = _stored(op, one.name, _kind(argument))
    return values


def run(type: str, op: Message, given: dict[str, Any]) -> list[Any]:
    """The outputs of a GE operator, by the operator that it stands for; `given` are its inputs by their names."""
    row = _meant(type, op, given)
    values = arguments(row, op, given)
    by_place = [values[a["name"]] for a in row.handle.arguments if not a["kwarg_only"]]
    by_name = {a["name"]: values[a["name"]] for a in row.handle.arguments if a["kwarg_only"]}
    made = row.handle(*by_place, **by_name)
    results = list(made) if isinstance(made, (list, tuple)) else [made]
    outputs: list[Any] = []
    for out in row.outputs:
        if isinstance(out.source, str):
            outputs.append(values[out.source])
        elif out.several:
            outputs += results
        else:
            outputs.append(results[out.source])
    return outputs
