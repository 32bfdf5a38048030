"""A module whose `forward` is the code of a graph."""

from __future__ import annotations

import contextlib
import copy
import itertools
import linecache
import pathlib
import sys
import traceback
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import mindtorch_v2 as torch
from mindtorch_v2._as_torch import is_torch

from ._codegen import PyTreeCodeGen
from ._naming import BUILTINS, torch_name
from .graph import Graph

if TYPE_CHECKING:
    from mindtorch_v2.fx._codegen import PythonCode
    from mindtorch_v2.fx._symbolic_trace import Tracer


__all__ = ["GraphModule", "reduce_graph_module"]

_HOOKS = ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks")


_count = itertools.count()


def _function_of(source, namespace, fields=None):
    """The function `forward` that the source defines.

    Tracebacks and `inspect` find the source as long as the function lives, under the name of a file that does not exist.
    """
    name = f"<eval_with_key>.{next(_count)}"
    if fields:
        name += f" from {fields['co_filename']}:{fields['co_firstlineno']} in {fields['co_name']}"
    namespace = dict(namespace)
    exec(compile(source, name, "exec", dont_inherit=True), namespace)
    made = namespace.pop("forward")
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    weakref.finalize(made.__code__, linecache.cache.pop, name, None).atexit = False
    return made


def _imports(namespace, importer=None) -> str:
    """The statements that make these objects elsewhere. Raises NotImplementedError for one that no module has.

    An importer (`torch.package`) says itself under which names it has them.
    """
    lines = set()
    for name, value in namespace.items():
        if name in BUILTINS:
            lines.add(BUILTINS[name][0])
            continue
        if isinstance(value, str):  # an annotation that was delayed
            lines.add(f"{name} = {value!r}")
            continue
        if importer is not None:
            module, path = importer.get_name(value)
            lines.add(f"from {module} import {path} as {name}")
            continue
        module, path = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        if module is None or path is None or "<" in path or "." in path:
            raise NotImplementedError(
                f"code that names {value!r} cannot be pickled: no module has it as a name of its own"
            )
        lines.add(f"from {torch_name(module)} import {path} as {name}")
    return "\n".join(sorted(lines))


def reduce_graph_module(body: dict[str, Any], import_block: str) -> GraphModule:
    """Load a pickled GraphModule, by its attributes, and the imports of its code, which is traced again.

    >>> import pickle
    >>> traced = torch.fx.symbolic_trace(torch.nn.ReLU())
    >>> reduce, arguments = traced.__reduce__()
    >>> reduce.__name__, reduce(*arguments)(torch.tensor([-1.0, 2.0]))
    ('reduce_graph_module', tensor([0., 2.]))
    """
    forward = _function_of(_as_ours(import_block) + body["_code"], {})
    return _traced_again(forward, body)


def reduce_package_graph_module(importer: Any, body: dict[str, Any], generated_module_name: str) -> GraphModule:
    """Load a GraphModule out of a package, by its attributes, and the module in the package that has its code.

    >>> import io
    >>> file = io.BytesIO()
    >>> with torch.package.PackageExporter(file) as exporter:
    ...     exporter.extern("mindtorch_v2.**")
    ...     exporter.save_pickle("model", "model.pkl", torch.fx.symbolic_trace(torch.nn.ReLU()))
    >>> _ = file.seek(0)
    >>> model = torch.package.PackageImporter(file).load_pickle("model", "model.pkl")
    >>> type(model).__name__, model(torch.tensor([-1.0, 2.0]))
    ('ReLU', tensor([0., 2.]))
    """
    return _traced_again(importer.import_module(generated_module_name).forward, body)


def _as_ours(import_block) -> str:
    """Imports of `torch` as those of this package, where it goes by its own name."""
    if is_torch():
        return import_block
    lines = []
    for line in import_block.split("\n"):
        if line == "import torch":
            line = "import mindtorch_v2 as torch"
        elif line.startswith(("from torch ", "from torch.", "import torch.")):
            line = line.replace("torch", "mindtorch_v2", 1)
        lines.append(line)
    return "\n".join(lines)


class _CodeOnlyModule(torch.nn.Module):
    """The attributes of a GraphModule, as a module to take them from."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


_tracers: list = []  # the class `Tracer`, which makes GraphModules: it registers itself


def register_tracer(tracer_class: type[Tracer]) -> None:
    """Let `tracer_class` trace modules that are unpickled, unless they name another one."""
    _tracers[:] = [tracer_class]


def _traced_again(forward, body):
    tracer_class = body.get("_tracer_cls") or _tracers[0]

    base: Any = tracer_class

    class KeepModules(base):
        def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
            return True

    holder = type("_CodeOnlyModule", (_CodeOnlyModule,), {"forward": forward})(body)
    graph = KeepModules().trace(holder, **body.get("_tracer_extras", {}))
    graph._tracer_cls = tracer_class
    module = GraphModule(holder, graph, class_name=body.get("_graphmodule_cls_name", "GraphModule"))
    for name, value in body.items():
        if not hasattr(module, name):
            setattr(module, name, value)
    return module


def _copy_attribute(source, into, path) -> None:
    """Let the module `into` have what `source` has at a dotted path, with empty modules on the way."""
    *prefix, name = path.split(".")
    for part in prefix:
        below, there = getattr(source, part), getattr(into, part, None)
        if below is there:
            return  # it was copied as a whole
        if there is None:
            there = torch.nn.Module()
            setattr(into, part, there)
        source, into = below, there
    _assign(into, name, getattr(source, name))


def _assign(module, name, value) -> None:
    if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


def _indented(text, by) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * by + line if line.strip() else "" for line in rest)])


def _readable(module, name, options) -> str:
    code = module.graph.python_code(root_module="self", verbose=True, **options).src.lstrip("\n")
    text = _indented(f"class {name}(torch.nn.Module):\n{code}", 4)
    options = {key: value for key, value in options.items() if key != "expanded_def"}
    below = [
        _readable(child, each, options) for each, child in module.named_children() if isinstance(child, GraphModule)
    ]
    return text + _indented("\n".join(["", *below]), 4)


class _Call:
    """`__call__` of a GraphModule's class: shows where in the generated code an error arose."""

    def __init__(self, cls: type[GraphModule], cls_call: Any) -> None:
        self.cls, self.cls_call = cls, cls_call

    def __call__(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if self.cls_call is not None:
                return self.cls_call(obj, *args, **kwargs)
            return super(self.cls, obj).__call__(*args, **kwargs)  # type: ignore[misc]  # (an instance of it)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            if "eval_with_key" not in last.filename:
                raise
            print(self._where(last), file=sys.stderr)
            raise error.with_traceback(None) from None

    @staticmethod
    def _where(frame) -> str:
        lines = linecache.getlines(frame.filename)
        at = frame.lineno
        return "\n".join(
            [
                traceback.format_exc(),
                f"Call using an FX-traced Module, line {at} of the traced Module's generated forward function:",
                "".join(lines[max(at - 2, 0) : at]),
                "~" * len(frame.line or "") + "~~~ <--- HERE",
                "\n".join(lines[at : at + 2]),
            ]
        )


class GraphModule(torch.nn.Module):
    """A module whose `forward` runs a `graph`; `code` is its text.

    `root` gives what the graph's `get_attr` and `call_module` nodes name: a module, or a dict of dotted paths. RuntimeError
    for a path that is not in the dict. Assigning to `graph` makes the code anew; after changes inside the graph,
    `recompile()` does.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> print(traced.code.strip())
    def forward(self, x):
        relu = torch.relu(x);  x = None
        add = relu + 1;  relu = None
        return add
    """

    _wrapped_call: Any

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        # Each instance has a class of its own, which its forward is put on.
        base = next(kind for kind in cls.__mro__ if kind.__qualname__.rpartition(".")[2] != "GraphModuleImpl")
        made = type("GraphModuleImpl", (base,), {"__module__": __name__, "__qualname__": "GraphModuleImpl"})
        return super().__new__(made)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        named: Any = [node.target for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, torch.nn.Module):
            self.training = getattr(root, "training", self.training)
            if isinstance(root, _CodeOnlyModule):
                members = (root.named_children(), root.named_buffers(), root.named_parameters())
                named = [name for name, _ in itertools.chain(*members)] + named
            for path in named:
                _copy_attribute(root, self, path)
        elif isinstance(root, dict):
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and node.target not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {node.target} but that target was not provided in ``root``!"
                    )
            for path in sorted(named, key=lambda path: path.count(".")):
                self._install(path, root[path])
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        tracer = graph._tracer_cls
        self._tracer_cls = tracer if tracer and "<locals>" not in tracer.__qualname__ else None
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[Any, Any] = {}
        for hooks in _HOOKS:
            setattr(self, hooks, [])

    def _install(self, path, value) -> None:
        module: Any = self
        *prefix, name = path.split(".")
        for part in prefix:
            below = getattr(module, part, None)
            if below is None:
                below = torch.nn.Module()
                setattr(module, part, below)
            module = below
        _assign(module, name, value)

    # ---- graph and code ----

    @property
    def graph(self) -> Graph:
        """The graph. AssertionError if something else is assigned."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The text of `forward`."""
        return self._code

    def recompile(self) -> PythonCode:
        """Make the code of the graph anew; to be called after changes in it. Returns a `PythonCode`."""
        if isinstance(self._graph._codegen, PyTreeCodeGen):
            self._in_spec = self._graph._codegen.pytree_info.in_spec
            self._out_spec = self._graph._codegen.pytree_info.out_spec
        code = self._graph.python_code(root_module="self")
        self._code, self._lineno_map, self._prologue_start = code.src, code._lineno_map, code._prologue_start
        cls: Any = type(self)
        cls.forward = _function_of(code.src, code.globals, self._graph._co_fields)
        if "_wrapped_call" not in vars(cls):
            cls._wrapped_call = _Call(cls, vars(cls).get("__call__"))
        for _, child in self.named_children():
            if isinstance(child, GraphModule):
                child.recompile()
        cls.__call__ = _call_wrapped
        return code

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        *,
        fast_sympy_print: bool = False,
        expanded_def: bool = False,
        additional_meta: Sequence[str] | None = None,
    ) -> str:
        """The code with the shapes of values and where they come from, of this module and its graph modules.

        Returned, and printed too unless `print_output` is False.
        """
        options = {
            "include_stride": include_stride,
            "include_device": include_device,
            "colored": colored,
            "additional_meta": additional_meta,
            "expanded_def": expanded_def,
        }
        text = _readable(self, self._get_name(), options)
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        reminder = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self._code, reminder])

    # ---- submodules ----

    def add_submodule(self, target: str, m: torch.nn.Module) -> bool:
        """Put the module `m` at a dotted path, with empty modules on the way; False if something else is in the way."""
        *prefix, name = target.split(".")
        module: Any = self
        for part in prefix:
            below = getattr(module, part, None)
            if below is None:
                below = torch.nn.Module()
                setattr(module, part, below)
            if not isinstance(below, torch.nn.Module):
                return False
            module = below
        module.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Delete the module at a dotted path; False if there is none."""
        *prefix, name = target.split(".")
        module: Any = self
        for part in prefix:
            module = getattr(module, part, None)
            if not isinstance(module, torch.nn.Module):
                return False
        if not isinstance(getattr(module, name, None), torch.nn.Module):
            return False
        delattr(module, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Delete the modules that no node calls or takes an attribute from, and that hold none such."""
        used: set[Any] = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            parts = node.target.split(".")
            used.update(".".join(parts[: n + 1]) for n in range(len(parts)))
            if node.op == "call_module":
                try:
                    below = self.get_submodule(node.target).named_modules()
                except AttributeError:  # a call of what is not there (any more) uses nothing
                    continue
                used.update(f"{node.target}.{name}" for name, _ in below if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # ---- copies ----

    def __reduce__(self) -> tuple:
        body, names = self._saved()
        return reduce_graph_module, (body, _imports(names))

    def __reduce_package__(self, exporter: Any) -> tuple:
        body, names = self._saved()
        module_name = f"fx-generated._{exporter.get_unique_id()}"
        exporter.save_source_string(module_name, _imports(names, exporter.importer) + body["_code"])
        return reduce_package_graph_module, (body, module_name)

    def _saved(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Attributes from which, and from the code among them, the module is made again; and the names that the code has."""
        body = dict(self.__dict__)
        code = self.recompile()
        del body["_graph"]
        body["_graphmodule_cls_name"] = type(self).__name__
        return body, code.globals

    def __deepcopy__(self, memo: dict[Any, Any]) -> Self:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        holder = _CodeOnlyModule(copy.deepcopy(self.__dict__, memo))
        GraphModule.__init__(made, holder, holder.__dict__["_graph"])
        for name in ("_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", *_HOOKS):
            if name in holder.__dict__:
                setattr(made, name, holder.__dict__[name])
        made.meta = holder.__dict__.get("meta", {})
        for hook in self._deepcopy_hooks:
            hook(made)
        return made

    def __copy__(self) -> Self:
        made: Any = GraphModule(self, self.graph)
        made.meta = self.meta
        return made

    def to_folder(self, folder: pathlib.Path, module_name: str = "FxModule") -> None:
        """Write the module as a Python package in `folder`, whose class is `module_name`.

        Weights go to state_dict.pt. Children that are no plain layers are pickled beside it, with a warning.
        """
        folder = pathlib.Path(folder)
        folder.mkdir(exist_ok=True)
        torch.save(self.state_dict(), folder / "state_dict.pt")
        imports = "\n".join(statement for statement, _ in BUILTINS.values())
        lines, pickled = [], []
        for name, child in self.named_children():
            if type(child) in _layers_that_say_how_they_are_made():
                lines.append(f"setattr(self, '{name}', torch.nn.{child!r})")
                continue
            file = folder / f"{name}.pt"
            torch.save(child, file)
            pickled.append(name)
            said = repr(child).replace("\r", " ").replace("\n", " ")
            lines.append(f"setattr(self, '{name}', torch.load(r'{file}', weights_only=False)) # {said}")
        for name, buffer in self._buffers.items():
            if buffer is not None:
                lines.append(f"self.register_buffer('{name}', torch.empty({list(buffer.shape)}, dtype={buffer.dtype}))")
        for name, parameter in self._parameters.items():
            if parameter is not None:
                made = f"torch.nn.Parameter(torch.empty({list(parameter.shape)}, dtype={parameter.dtype}))"
                lines.append(f"setattr(self, '{name}', {made})")
        lines.append(f"self.load_state_dict(torch.load(r'{folder}/state_dict.pt'))")
        body = "".join(f"        {line}\n" for line in lines)
        (folder / "module.py").write_text(
            f"import torch\n{imports}\n\nfrom torch.nn import *\n\n\nclass {module_name}(torch.nn.Module):\n"
            f"    def __init__(self):\n        super().__init__()\n{body}{_indented(self.code, 4)}\n"
        )
        (folder / "__init__.py").write_text("from .module import *\n")
        if pickled:
            warnings.warn(
                "Was not able to save the following children modules as reprs -"
                f"saved as pickled files instead: {pickled}",
                stacklevel=2,
            )

    # ---- hooks on changes ----

    @contextlib.contextmanager
    def _set_replace_hook(self, f):
        """Within the block `f(old, new, user)` hears of each node that another, called `new`, stands in for."""
        if not callable(f):
            raise AssertionError("Replace hook must be a callable.")
        self._replace_hooks.append(f)
        try:
            yield
        finally:
            self._replace_hooks.remove(f)


def _call_wrapped(self, *args, **kwargs):
    return self._wrapped_call(self, *args, **kwargs)


def _layers_that_say_how_they_are_made() -> set:
    nn = torch.nn
    return {nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d}


def _hook_methods(kind, text) -> None:
    """`_register_<kind>_hook` and `_unregister_<kind>_hook`."""
    attribute = "_replace_hooks" if kind == "replace_node" else f"_{kind}_hooks"

    def register(self: GraphModule, f: Callable[..., Any]) -> None:
        if not callable(f):
            raise AssertionError(text)
        getattr(self, attribute).append(f)

    def unregister(self: GraphModule, f: Callable[..., Any]) -> None:
        if not callable(f):
            raise AssertionError(text)
        getattr(self, attribute).remove(f)

    setattr(GraphModule, f"_register_{kind}_hook", register)
    setattr(GraphModule, f"_unregister_{kind}_hook", unregister)


_hook_methods("replace_node", "create_node hook must be a callable.")
_hook_methods("create_node", "create_node hook must be a callable.")
_hook_methods("erase_node", "erase_node hook must be a callable.")
_hook_methods("deepcopy", "deepcopy hook must be a callable.")
