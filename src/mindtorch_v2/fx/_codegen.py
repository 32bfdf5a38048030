"""Python code for a graph: the text of its `forward`, and the objects that the text names."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
import types
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._ops import OpOverload
from mindtorch_v2.utils import _pytree as pytree

from ._naming import BUILTINS, from_torch
from .node import DTYPE_NAMES, Node, _get_qualified_name, _type_repr, described_value, shape_text

if TYPE_CHECKING:
    from mindtorch_v2.fx._naming import Namespace
    from mindtorch_v2.fx.graph import _Nodes


REFLECTABLE = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}", "truediv": "{} / {}",
    "div": "{} / {}", "mod": "{} % {}", "pow": "{} ** {}", "lshift": "{} << {}", "rshift": "{} >> {}",
    "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}", "getitem": "{}[{}]", "matmul": "{} @ {}",
}  # fmt: skip
MAGIC = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}",
    "pos": "+{}", "neg": "-{}", "invert": "~{}", **REFLECTABLE,
}  # fmt: skip
INPLACE = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}", "imod": "{} %= {}",
    "imul": "{} *= {}", "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}", "irshift": "{} >>= {}",
    "isub": "{} -= {}", "itruediv": "{} /= {}", "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}  # fmt: skip
_COLORS = {"red": "31", "blue": "34", "dim": "2", "dim_blue": "2m\033[34", "dim_green": "2m\033[32"}
_COUNTER = re.compile(r"# COUNTER: (\d+)")


@dataclasses.dataclass
class PythonCode:
    """A graph as code: `src`, and `globals`, the objects that it names.

    >>> code = torch.fx.symbolic_trace(lambda x: x.relu()).graph.python_code("self")
    >>> [line.strip() for line in code.src.splitlines() if "relu" in line]
    ['relu = x.relu();  x = None', 'return relu']
    """

    src: str
    globals: dict
    _lineno_map: dict | None
    _prologue_start: int = 0


@dataclasses.dataclass
class Style:
    """How much the code says beside what runs."""

    verbose: bool = False
    include_stride: bool = False
    include_device: bool = False
    colored: bool = False
    expanded_def: bool = False
    additional_meta: list | None = None

    def paint(self, color: str, text: str) -> str:
        return f"\033[{_COLORS[color]}m{text}\033[0m" if self.colored else text


def dotted(base: str, path: str) -> str:
    """`base.a.b`, with getattr for parts that are no identifiers."""
    for part in path.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base


def trace_summary(trace: Any) -> str | None:
    """The innermost frame that a recorded trace names, in one line; None if there is none."""
    lines = trace.strip().split("\n")
    for place in range(len(lines) - 2, -1, -1):
        found = re.match(r'^File "(.+)", line (\d+), in (.+)$', lines[place].strip())
        if found:
            file, line, function = found.groups()
            return f"File: {file}:{line} in {function}, code: {lines[place + 1].strip()}"
    return None


class CodeGen:
    """Make the code of a graph; a subclass may give the function another signature or another return.

    >>> graph = torch.fx.symbolic_trace(torch.nn.ReLU()).graph
    >>> type(graph._codegen).__name__, "def forward" in graph.python_code("self").src
    ('CodeGen', True)
    """

    def __init__(self) -> None:
        self._body_transformer = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        """The line (or lines) that begin the function with the parameters `free_vars`."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        if expanded_def:
            parameters = "".join(f"    {_with_comment(each)}\n" for each in free_vars)
            return f"def {self._func_name}(\n{parameters}){maybe_return_annotation}:"
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any, *, descs: Any = None, repr_fn: Callable[..., Any] | None = repr) -> str:
        """The return statement."""
        return "return " + _returned(output_args, descs, repr_fn or repr)

    def process_inputs(self, *args: Any) -> Any:
        """The values that the graph's placeholders get where the function gets `args`."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The result of the function where the graph gives `outputs`."""
        return outputs

    def additional_globals(self) -> list:
        """Further names of the code, as pairs of name and object."""
        return []

    def _gen_python_code(self, nodes, root_module, namespace, **style):
        style.pop("record_func", None)
        return _Writer(self, nodes, root_module, namespace, Style(**style)).code()


def _with_comment(parameter) -> str:
    code, mark, comment = parameter.partition("#")
    return f"{code.rstrip()},  # {comment.lstrip()}" if mark else f"{parameter},"


def _returned(value, descriptions, text) -> str:
    if descriptions is None or not isinstance(value, (list, tuple)):
        return text(value)
    begin, end = "()" if isinstance(value, tuple) else "[]"
    lines = "".join(f"    {text(each)},  # {said}\n" for each, said in zip(value, descriptions))
    return f"{begin}\n{lines}{end}"


class PyTreeInfo(typing.NamedTuple):
    """The structure of a function's arguments and result, where the graph sees only their leaves."""

    orig_args: list
    in_spec: typing.Any
    out_spec: typing.Any


class PyTreeCodeGen(CodeGen):
    """Code for a graph whose placeholders are the leaves of nested arguments."""

    def __init__(self, pytree_info: PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        return pytree.arg_tree_leaves(*inputs)

    def process_outputs(self, out: Any) -> Any:
        spec = self.pytree_info.out_spec
        if spec is None:
            return out
        return pytree.tree_unflatten(out if isinstance(out, (list, tuple)) else [out], spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        parameters = self.pytree_info.orig_args
        if parameters and parameters[0] == "self":
            free_vars.insert(0, "self")
        begin = super().gen_fn_def(parameters[:], maybe_return_annotation, expanded_def=expanded_def)
        return begin + self._bindings(parameters, free_vars, expanded_def) if free_vars else begin

    def _bindings(self, parameters, free_vars, expanded_def) -> str:
        annotated = [each for each in free_vars if ":" in each]
        text = ""
        if annotated and expanded_def:
            text = "\n    " + "\n    ".join(annotated)
        elif annotated:
            text = "\n    " + "".join(f"{each}; " for each in annotated) + "\n"
        names = ", ".join(each.split(":")[0].split("#")[0] for each in free_vars)
        return f"{text}\n    {names}, = fx_pytree.tree_flatten_spec({self._given(parameters)}, self._in_spec)"

    def _given(self, parameters) -> str:
        spec = self.pytree_info.in_spec
        children = spec.children() if spec.type is tuple else []
        if len(children) != 2 or children[0].type is not tuple or children[1].type is not dict:
            return f"[{', '.join(parameters)}]"
        names = self.pytree_info.orig_args
        count = children[0].num_children
        pairs = ", ".join(f"'{key}':{name}" for key, name in zip(children[1].context, names[count:]))
        return f"([{', '.join(names[:count])}], {{{pairs}}})"

    def generate_output(self, output_args: Any, *, descs: Any = None, repr_fn: Callable[..., Any] | None = repr) -> str:
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args, descs=descs, repr_fn=repr_fn)
        return f"return pytree.tree_unflatten({_returned(output_args, descs, repr_fn or repr)}, self._out_spec)"


class _Writer:
    """Write one graph: a line for each node, then the function around them."""

    def __init__(self, generator: CodeGen, nodes: _Nodes, root: Any, namespace: Namespace, style: Style) -> None:
        self.generator, self.nodes, self.root, self.style = generator, nodes, root, style
        self.namespace = namespace
        self.parameters: list[Any] = []
        self.body: list[Any] = []
        self.globals: dict[Any, Any] = {}
        self.wrapped: dict[Any, Any] = {}
        self.returns = ""
        self.said: Any = None
        for name, (_, value) in BUILTINS.items():
            self.name_of(name, value)

    # ---- names ----

    def name_of(self, hint: str, value: Any) -> str:
        """How the code refers to an object outside of the graph."""
        if from_torch(value) and value is not torch.device:
            return _get_qualified_name(value)
        name = self.namespace.create_name(hint, value)
        if self.globals.setdefault(name, value) is not value and self.globals[name] != value:
            raise AssertionError(f"Global name {name} already assigned to different object")
        return name

    def annotation(self, kind: Any) -> str:
        if kind == ():
            return "()"
        text = _type_repr(kind)
        if isinstance(kind, types.UnionType) and "|" in text:
            return "|".join(map(self.annotation, typing.get_args(kind)))
        origin = getattr(kind, "__origin__", None)
        if origin is None:
            return self.name_of(text, kind)
        if isinstance(kind, typing._GenericAlias):  # type: ignore[attr-defined]  # (not in the stubs of the library)
            spelled = {list: typing.List, dict: typing.Dict, set: typing.Set, frozenset: typing.FrozenSet}
            origin = (spelled | {tuple: typing.Tuple}).get(origin, origin)
        name, arguments = self.name_of(_type_repr(origin), origin), typing.get_args(kind)
        return f"{name}[{','.join(map(self.annotation, arguments))}]" if arguments else name

    def value(self, arg: Any) -> str:
        if isinstance(arg, Node):
            return repr(arg)
        if isinstance(arg, tuple) and hasattr(arg, "_fields"):
            return f"{self.name_of(_get_qualified_name(type(arg)), type(arg))}{tuple(arg)!r}"
        if isinstance(arg, OpOverload):
            return self.name_of(_get_qualified_name(arg), arg)
        if isinstance(arg, enum.Enum):
            return f"{self.name_of(type(arg).__name__, type(arg))}.{arg.name}"
        if isinstance(arg, torch.Tensor):
            return f"torch.Tensor(size={list(arg.size())}, dtype={str(arg.dtype).partition('.')[2]})"
        if isinstance(arg, tuple):
            return f"({self.value(arg[0])},)" if len(arg) == 1 else f"({', '.join(map(self.value, arg))})"
        if isinstance(arg, list):
            return f"[{', '.join(map(self.value, arg))}]"
        if isinstance(arg, slice):
            return f"slice({self.value(arg.start)}, {self.value(arg.stop)}, {self.value(arg.step)})"
        return self.style.paint("blue", repr(arg))

    def arguments(self, args: Any, kwargs: Any) -> str:
        return ", ".join([*map(self.value, args), *(f"{key} = {self.value(value)}" for key, value in kwargs.items())])

    # ---- one node ----

    def described(self, node: Node) -> str:
        """The annotation of a node's value."""
        told = "" if node.type is None else f" : {self.annotation(node.type)}"
        if not self.style.verbose:
            return told
        value: Any = described_value(node.meta)
        paint = self.style.paint
        if isinstance(value, torch.Tensor):
            stride = shape_text(value.stride()) if self.style.include_stride else ""
            device = str(value.device) if self.style.include_device else ""
            text = paint("red", DTYPE_NAMES[value.dtype]) + paint("blue", shape_text(value.shape))
            text += paint("dim_blue", stride) + paint("dim_green", device)
            plain = type(value) is torch.Tensor or type(value).__name__ in ("FakeTensor", "SymbolicFakeTensor")
            return f': "{text}"' if plain else f': "{type(value).__name__}({text})"'
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return f': "Sym({value})"'
        if type(value).__name__ == "TensorMetadata":
            return f': "{DTYPE_NAMES[value.dtype]}{shape_text(value.shape)}"'
        return told

    def placeholder(self, node: Node) -> str:
        default = f" = {self.value(node.args[0])}" if node.args else ""
        desc = node.meta.get("desc") if self.style.expanded_def else None
        self.parameters.append(f"{node.target}{self.described(node)}{default}" + (f"  # {desc}" if desc else ""))
        raw = node.target.replace("*", "")
        return "" if raw == repr(node) else f"{node!r} = {raw}\n"

    def call_method(self, node: Node) -> str:
        call = dotted(self.value(node.args[0]), node.target)
        return f"{node!r}{self.described(node)} = {call}({self.arguments(node.args[1:], node.kwargs)})"

    def call_module(self, node: Node) -> str:
        call = dotted(self.root, node.target)
        return f"{node!r}{self.described(node)} = {call}({self.arguments(node.args, node.kwargs)})"

    def get_attr(self, node: Node) -> str:
        return f"{node!r}{self.described(node)} = {dotted(self.root, node.target)}"

    def call_function(self, node: Node) -> str:
        begin = f"{node!r}{self.described(node)}"
        if getattr(node.target, "__module__", "") == "_operator":
            short = node.target.__name__
            if short in MAGIC:
                return f"{begin} = {MAGIC[short].format(*map(self.value, node.args))}"
            if short in INPLACE:
                return f"{INPLACE[short].format(*map(self.value, node.args))};  {begin} = {self.value(node.args[0])}"
        name = self.name_of(_get_qualified_name(node.target), node.target)
        if name == "getattr" and len(node.args) == 2 and isinstance(node.args[1], str) and node.args[1].isidentifier():
            return f"{begin} = {dotted(self.value(node.args[0]), node.args[1])}"
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(name)
        return f"{begin} = {name}({self.arguments(node.args, node.kwargs)})"

    def output(self, node: Node) -> str:
        if node.type is not None:
            self.returns = f" -> {self.annotation(node.type)}"
        generate, options = self.generator.generate_output, {}
        known = inspect.signature(generate).parameters
        if "descs" in known:
            options["descs"] = node.meta.get("desc") if self.style.expanded_def else None
        if "repr_fn" in known:
            options["repr_fn"] = self.value
        return generate(node.args[0], **options)

    def _ending(self, node, last_uses) -> str:
        """The end of a node's line, where values that nobody needs any more are dropped."""
        if node.op == "placeholder":
            return ""
        dropped = [] if node.op == "output" else [*last_uses.get(node, ())]
        if node.op != "output" and not node.users:
            dropped.append(node)
        return f";  {self.style.paint('dim', ' = '.join([*map(repr, dropped), 'None']))}\n" if dropped else "\n"

    def _origin(self, node) -> str:
        """A comment that says where the node comes from, unless the node before came from there too."""
        if node.op in ("placeholder", "output"):
            return ""
        noted = [f"{key}: {node.meta[key]}" for key in self.style.additional_meta or () if key in node.meta]
        said = f"# {', '.join(noted)} #" if noted else "#"
        custom = {
            key: text[:40] + "..." if len(text := str(value)) > 40 else value
            for key, value in node.meta.get("custom", {}).items()
        }
        if custom:
            said += f" Annotation: {custom}"
        summary = trace_summary(node.stack_trace) if node.stack_trace else None
        said = f"\n{self.style.paint('dim', f'{said} ' + (summary or 'No stacktrace found for following nodes'))}\n"
        if said == self.said:
            return ""
        self.said = said
        return said

    # ---- the whole ----

    def _last_uses(self):
        found: dict[Any, Any] = {}
        seen: set[Any] = set()
        for node in reversed(self.nodes):
            for used in node._input_nodes:
                if used not in seen:
                    seen.add(used)
                    found.setdefault(node, []).append(used)
        return found

    def code(self) -> PythonCode:
        last_uses = self._last_uses()
        place: int | None
        for place, node in enumerate(self.nodes):
            if self.style.verbose:
                origin = self._origin(node)
                if origin:
                    self.body.append(origin)
            self.body.append(f"# COUNTER: {place}\n")
            self.body += [text for text in (getattr(self, node.op)(node), self._ending(node, last_uses)) if text]
        if not self.body:
            self.body.append("pass\n")
        wraps = ""
        if self.wrapped:
            wrap = self.name_of("wrap", torch.fx.wrap)
            wraps = "\n".join(f'{wrap}("{name}")' for name in self.wrapped)
        body = self.generator._body_transformer(self.body) if self.generator._body_transformer else self.body
        for name, value in self.generator.additional_globals():
            self.name_of(name, value)
        begin = self.generator.gen_fn_def
        options = {"expanded_def": True} if self.style.expanded_def else {}
        prologue = begin(self.parameters, self.returns, **options)
        lines: list[Any] = []
        line_of: dict[Any, Any] = {}
        place = None
        for line in "".join(body).split("\n"):
            counter = _COUNTER.search(line)
            if counter:
                place = int(counter.group(1))
            else:
                line_of[len(lines) + prologue.count("\n") + 1] = place
                lines.append(line)
        text = "\n".join(lines).lstrip("\n")
        text = "\n".join(f"    {line}" for line in text.split("\n"))
        return PythonCode(f"\n{wraps}\n\n{prologue}\n{text}", self.globals, line_of, wraps.count("\n") + 4)
