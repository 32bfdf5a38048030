"""TorchScript's sources, the text that archives hold, as functions: parsed as Python, of which they are a small part.

Only that part is taken: anything else in a file is refused before it runs. The functions see nothing but operators, the objects of
the archive, and numbers, lists, dicts and strings; attributes are read of the archive's own objects alone.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from typing import Any

from mindtorch_v2._library.compiled import class_named
from mindtorch_v2.jit._script_builtins import builtin, operator_of, primitive

__all__ = ["ClassSource", "Sources"]

_STATEMENTS = (ast.Assign, ast.Expr, ast.For, ast.If, ast.Pass, ast.Return, ast.While)
_EXPRESSIONS = (ast.Constant, ast.Dict, ast.List, ast.Name, ast.Subscript, ast.Tuple, ast.UnaryOp)
_TYPED = {"annotate": 1, "unchecked_cast": 1}  # functions of a type and a value, and the place of the value
_FUNCTIONS: dict[str, Callable[..., Any]] = {"bool": bool, "float": float, "int": int, "range": range, "str": str}
_ROOT = "__torch__"
_COMPILED = f"{_ROOT}.torch.classes."  # what libraries in C++ register, no archive holds


def _refuse(node: ast.AST, what: str, file: str) -> RuntimeError:
    return RuntimeError(f"torch.jit.load: {file}, line {getattr(node, 'lineno', '?')}: {what}")


class ClassSource:
    """A class of an archive: which attributes are parameters and buffers, its constants, its methods by name."""

    def __init__(self, name: str, node: ast.ClassDef, sources: Sources, file: str) -> None:
        self.name, self.file = name, file
        self.is_module = any(isinstance(base, ast.Name) and base.id == "Module" for base in node.bases)
        self.is_tuple = any(isinstance(base, ast.Name) and base.id == "NamedTuple" for base in node.bases)
        self.parameters: list[str] = []
        self.buffers: list[str] = []
        self.fields: list[str] = []
        self.constants: dict[str, Any] = {}
        self._nodes: dict[str, ast.FunctionDef] = {}
        self.sources = sources
        self._methods: dict[str, Callable[..., Any]] = {}
        for each in node.body:
            self._take(each)

    def _take(self, node: ast.stmt) -> None:
        if isinstance(node, ast.FunctionDef):
            self._nodes[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            self.fields.append(node.target.id)
            if node.value is not None:
                self.constants[node.target.id] = _literal(node.value, self.file)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names = {"__parameters__": self.parameters, "__buffers__": self.buffers}
            if node.targets[0].id in names:
                names[node.targets[0].id].extend(_names(node.value, self.file))
        elif not isinstance(node, (ast.Assign, ast.Pass)):  # an assignment to __annotations__ says a type only
            raise _refuse(node, f"a class holds {type(node).__name__}, which TorchScript has not", self.file)

    @property
    def methods(self) -> list[str]:
        """The names of the methods."""
        return list(self._nodes)

    def method(self, name: str) -> Callable[..., Any] | None:
        """The function of a method; None without one of that name."""
        if name not in self._methods:
            if name not in self._nodes:
                return None
            self._methods[name] = self.sources.compiled(self._nodes[name], f"{self.name}.{name}", self.file)
        return self._methods[name]

    def text(self, name: str) -> str:
        """The source of a method."""
        return ast.unparse(self._nodes[name])


def _literal(node: ast.expr, file: str) -> Any:
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "float"
    try:
        if isinstance(node, ast.Call) and named and len(node.args) == 1:
            return float(ast.literal_eval(node.args[0]))
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise _refuse(node, "a constant was expected", file) from None


def _names(node: ast.expr, file: str) -> list[str]:
    """A list of names, as literals."""
    found = _literal(node, file)
    if not isinstance(found, (list, tuple)) or not all(isinstance(each, str) for each in found):
        raise _refuse(node, "a list of names was expected", file)
    return list(found)


class Sources:
    """The sources of an archive by the names of their files; `attribute` and `assign` read and set attributes for them."""

    def __init__(self, texts: dict[str, str], attribute: Callable[..., Any], assign: Callable[..., Any]) -> None:
        self.texts = texts
        self.constants: tuple[Any, ...] = ()
        self._referred: list[str] = []
        self._known: dict[str, Any] = {}
        self._files: dict[str, dict[str, ast.AST]] = {}
        self.attribute, self.assign = attribute, assign
        self.make: Callable[[ClassSource], Any] = lambda source: source

    def find(self, path: str) -> Any:
        """The class or function of a path such as `__torch__.torch.nn.modules.linear.Linear`."""
        if path.startswith(_COMPILED):
            return class_named(path.removeprefix(_COMPILED))
        if path not in self._known:
            module, _, name = path.rpartition(".")
            node = self._definitions(module).get(name)
            file = self._file_name(module)
            if isinstance(node, ast.ClassDef):
                self._known[path] = self.make(ClassSource(path, node, self, file))
            elif isinstance(node, ast.FunctionDef):
                self._known[path] = self.compiled(node, path, file)
            else:
                raise RuntimeError(f"torch.jit.load: the archive has no source of {path}")
        return self._known[path]

    def refer(self, path: str) -> _Later:
        """A stand-in for what is found at a path when it is called: sources refer to each other in rounds."""
        self._referred.append(path)
        return _Later(self, path)

    def find_all(self) -> None:
        """Compile all that was referred to."""
        while self._referred:
            self.find(self._referred.pop())

    @staticmethod
    def _file_name(module: str) -> str:
        return f"code/{module.replace('.', '/')}.py"

    def _definitions(self, module: str) -> dict[str, ast.AST]:
        if module not in self._files:
            file = self._file_name(module)
            text = self.texts.get(file)
            if text is None:
                raise RuntimeError(f"torch.jit.load: the archive has no {file}")
            try:
                tree = ast.parse(text, file)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                raise RuntimeError(f"torch.jit.load: {file} cannot be parsed: {error}") from error
            self._files[module] = {n.name: n for n in tree.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
        return self._files[module]

    def compiled(self, node: ast.FunctionDef, name: str, file: str) -> Callable[..., Any]:
        """The Python function of a definition."""
        translator = _Translator(self, file)
        shown = f"<torch.jit.load of {name} at {id(node):#x}>"
        try:
            made = translator.function(node)
            text = ast.unparse(ast.fix_missing_locations(ast.Module([made], type_ignores=[])))
            code = compile(ast.parse(text), shown, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise _refuse(node, f"{name} cannot be compiled: {error}", file) from error
        linecache.cache[shown] = (len(text), None, text.splitlines(keepends=True), shown)
        names = {**translator.names, "__builtins__": {}}
        exec(code, names)
        function = names[made.name]
        function.__qualname__ = node.name  # as errors about arguments name it
        return function

    def constant(self, name: str) -> Any:
        """`CONSTANTS.c<number>`."""
        if not (name[1:].isdecimal() and int(name[1:]) < len(self.constants)):
            raise RuntimeError(f"torch.jit.load: the archive has no CONSTANTS.{name}")
        return self.constants[int(name[1:])]


class _Translator:
    """Make of a definition in TorchScript one in Python whose names are all in `names`."""

    def __init__(self, sources: Sources, file: str) -> None:
        self._sources, self._file = sources, file
        self.names: dict[str, Any] = {
            "mt_attribute": sources.attribute,
            "mt_assign": sources.assign,
            **{f"mt_{name}": function for name, function in _FUNCTIONS.items()},
        }
        self._locals: set[str] = set()

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """The definition: without types, its defaults constants."""
        given = node.args
        if given.vararg or given.kwarg or given.posonlyargs or node.decorator_list:
            raise _refuse(node, "such parameters are not TorchScript's", self._file)
        parameters = [ast.arg(self._local(each.arg, node)) for each in given.args]
        keyword_only = [ast.arg(self._local(each.arg, node)) for each in given.kwonlyargs]
        defaults = [self._default(each) for each in given.defaults]
        others = [None if each is None else self._default(each) for each in given.kw_defaults]
        arguments = ast.arguments([], parameters, None, keyword_only, others, None, defaults)
        return ast.FunctionDef("mt_function", arguments, self._block(node.body), [])

    def _default(self, node: ast.expr) -> ast.expr:
        """A default, which is made when the file is loaded: nothing may run for it."""
        made = self._expression(node)
        if any(isinstance(each, (ast.Call, ast.Subscript)) for each in ast.walk(made)):
            raise _refuse(node, "a default must be a constant", self._file)
        return made

    def _local(self, name: str, node: ast.AST) -> str:
        if name.startswith(("mt_", "__")):
            raise _refuse(node, f"the name {name} is not TorchScript's", self._file)
        self._locals.add(name)
        return name

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [self._statement(each) for each in body] or [ast.Pass()]

    def _statement(self, node: ast.stmt) -> ast.stmt:
        if not isinstance(node, _STATEMENTS):
            raise _refuse(node, f"{type(node).__name__} is not TorchScript's", self._file)
        if isinstance(node, ast.Pass):
            return node
        if isinstance(node, ast.Return):
            return ast.Return(None if node.value is None else self._expression(node.value))
        if isinstance(node, ast.Expr):
            return ast.Expr(self._expression(node.value))
        if isinstance(node, ast.If):
            return ast.If(self._expression(node.test), self._block(node.body), self._block(node.orelse))
        if isinstance(node, ast.While):
            return ast.While(self._expression(node.test), self._block(node.body), [])
        if isinstance(node, ast.For):
            iterated = self._expression(node.iter)
            return ast.For(self._target(node.target), iterated, self._block(node.body), [])
        return self._assignment(node)

    def _assignment(self, node: ast.Assign) -> ast.stmt:
        target = node.targets[0]
        if len(node.targets) > 1:
            raise _refuse(node, "a value is assigned once", self._file)
        value = self._expression(node.value)
        if isinstance(target, ast.Attribute):
            where = [self._expression(target.value), ast.Constant(target.attr), value]
            return ast.Expr(ast.Call(ast.Name("mt_assign", ast.Load()), where, []))
        return ast.Assign([self._target(target)], value)

    def _target(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Name):
            return ast.Name(self._local(node.id, node), ast.Store())
        if isinstance(node, (ast.Tuple, ast.List)):
            return ast.Tuple([self._target(each) for each in node.elts], ast.Store())
        raise _refuse(node, "only names can be assigned to", self._file)

    def _expression(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if not isinstance(node, _EXPRESSIONS):
            raise _refuse(node, f"{type(node).__name__} is not TorchScript's", self._file)
        if isinstance(node, ast.Name):
            if node.id in self._locals:
                return ast.Name(node.id, ast.Load())
            if node.id in ("inf", "nan"):
                return self._named(float(node.id))
            if node.id in _FUNCTIONS:
                return ast.Name(f"mt_{node.id}", ast.Load())
            raise _refuse(node, f"the name {node.id} is not known", self._file)
        if isinstance(node, ast.Constant):
            return node
        if isinstance(node, ast.UnaryOp):
            if not isinstance(node.op, (ast.USub, ast.Not)):
                raise _refuse(node, "only - and not stand before values", self._file)
            return ast.UnaryOp(node.op, self._expression(node.operand))
        if isinstance(node, ast.Subscript):
            return ast.Subscript(self._expression(node.value), self._expression(node.slice), ast.Load())
        if isinstance(node, ast.Dict):
            if any(key is None for key in node.keys):
                raise _refuse(node, "** is not TorchScript's", self._file)
            keys: Any = [self._expression(key) for key in node.keys if key is not None]
            return ast.Dict(keys, [self._expression(each) for each in node.values])
        listed: Any = node  # a list or a tuple
        items = [self._expression(each) for each in listed.elts]
        return ast.List(items, ast.Load()) if isinstance(node, ast.List) else ast.Tuple(items, ast.Load())

    def _named(self, value: Any) -> ast.expr:
        """A name for an object that the source refers to."""
        name = f"mt_value_{len(self.names)}"
        self.names[name] = value
        return ast.Name(name, ast.Load())

    def _path(self, node: ast.expr) -> list[str] | None:
        """The names of `a.b.c`, where `a` is no local name."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self._locals:
            return None
        return [node.id, *reversed(parts)]

    def _attribute(self, node: ast.Attribute) -> ast.expr:
        path = self._path(node)
        if path is not None:
            return self._named(self._resolved(path, node))
        return self._read(node.value, ast.Constant(node.attr))

    def _read(self, of: ast.expr, name: ast.expr) -> ast.expr:
        return ast.Call(ast.Name("mt_attribute", ast.Load()), [self._expression(of), name], [])

    def _resolved(self, path: list[str], node: ast.AST) -> Any:
        if path[0] == _ROOT:
            return self._sources.refer(".".join(path))
        if path[0] == "torch" and len(path) == 2:
            return builtin(path[1])
        if path[0] == "CONSTANTS" and len(path) == 2:
            return self._sources.constant(path[1])
        if path[:2] == ["ops", "prim"] and len(path) == 3:
            return primitive(path[2])
        if path[0] == "ops" and len(path) == 3:
            return operator_of(path[1], path[2])
        raise _refuse(node, f"{'.'.join(path)} is not known", self._file)

    def _call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name) and node.func.id not in self._locals:
            name = node.func.id
            if len(node.args) < 2 and (name in _TYPED or name == "getattr"):
                raise _refuse(node, f"{name} takes two arguments", self._file)
            if name in _TYPED:
                return self._expression(node.args[_TYPED[name]])
            if name == "uninitialized":
                return ast.Constant(None)
            if name == "getattr":
                if not (isinstance(node.args[1], ast.Constant) and isinstance(node.args[1].value, str)):
                    raise _refuse(node, "getattr takes a name", self._file)
                return self._read(node.args[0], node.args[1])
        if any(isinstance(each, ast.Starred) for each in node.args) or any(each.arg is None for each in node.keywords):
            raise _refuse(node, "* is not TorchScript's", self._file)
        arguments = [self._expression(each) for each in node.args]
        keywords = [ast.keyword(each.arg, self._expression(each.value)) for each in node.keywords]
        return ast.Call(self._expression(node.func), arguments, keywords)


class _Later:
    """A function or class of the archive, found when it is called."""

    def __init__(self, sources: Sources, path: str) -> None:
        self._sources, self._path = sources, path

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._sources.find(self._path)(*args, **kwargs)
