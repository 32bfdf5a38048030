"""Names of an instrumented function: its global variables, its cells and its imports.

Owns the values that one instrumented copy has read of them.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from typing import TYPE_CHECKING, Any

from mindtorch_v2._capture._outside import outside_of
from mindtorch_v2._capture._sources import Attribute, Constant, Item, Source, absent

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder


__all__ = ["Frame"]


class Frame:
    """The names that an instrumented function has of its own: global variables and the cells that it closes over."""

    def __init__(self, trace: Recorder, function: types.FunctionType, source: Source | None) -> None:
        self.trace, self.function, self.source = trace, function, source
        self.names: dict[str, Any] = {}
        self.cells: dict[str, Any] = {}

    def read_global(self, name: str) -> Any:
        """A global variable or a builtin."""
        written = self.trace.writes.item_written(self.function.__globals__, name)
        if written is not None:
            return written[0]
        found = self.names.get(name, absent)
        if found is absent:
            found = self.names[name] = self._global(name)
        return found

    def _global(self, name: str) -> Any:
        function: Any = self.function
        trace, space = self.trace, function.__globals__
        where = trace.sources.source(Constant, space, f"G[{space.get('__name__', '?')}]")
        if name in space:
            return trace.sources.wrap(space[name], trace.sources.source(Item, where, name))
        trace.guards.note("absent", where, name)
        builtins = function.__builtins__
        if name not in builtins:
            raise NameError(f"name {name!r} is not defined")
        where = trace.sources.source(Constant, builtins, "builtins")
        return trace.sources.wrap(builtins[name], trace.sources.source(Item, where, name))

    def read_cell(self, name: str) -> Any:
        """The content of a cell."""
        cell, of = self._cell(name)
        written = self.trace.writes.to(cell)
        if written is not None:
            return written.values["cell_contents"]
        found = self.cells.get(name, absent)
        if found is not absent:
            return found
        try:
            value = cell.cell_contents
        except ValueError:
            raise NameError(f"cannot access free variable {name!r}") from None
        where = self.trace.sources.source(Attribute, of, "cell_contents")
        found = self.cells[name] = self.trace.sources.wrap(value, where)
        return found

    def _cell(self, name: str) -> tuple[types.CellType, Source]:
        """The cell of a variable, and where it comes from."""
        sources, function = self.trace.sources, self.function
        assert function.__closure__ is not None  # it has free variables
        index = function.__code__.co_freevars.index(name)
        cell = function.__closure__[index]
        if self.source is None:
            return cell, sources.source(Constant, cell, f"{function.__qualname__}.<{name}>")
        return cell, sources.source(Item, sources.source(Attribute, self.source, "__closure__"), index, False)

    def write_global(self, value: Any, name: str) -> None:
        """Assignment to a global variable."""
        if not self.trace.keeps_writes:
            self.trace.refuse(f"assignment to the global variable {name!r}", "write")
        trace, space = self.trace, self.function.__globals__
        where = trace.sources.source(Constant, space, f"G[{space.get('__name__', '?')}]")
        trace.sources.register(space, where)
        trace.writes.item(space, name, value)

    def write_cell(self, value: Any, name: str) -> None:
        """Assignment to a variable of a function around, which has been left."""
        if not self.trace.keeps_writes:
            self.trace.refuse(f"assignment to the variable {name!r} of a function around", "write")
        self.trace.writes.cell(*self._cell(name), value)

    def imported(self, name: str, whole: bool) -> types.ModuleType:
        """`import name`."""
        module = self._module(name)
        return module if whole else self._module(name.partition(".")[0])

    def imported_from(self, module: str, name: str, level: int) -> Any:
        """`from module import name`."""
        if level:
            package = self.function.__globals__.get("__package__") or ""
            module = importlib.util.resolve_name("." * level + module, package)
        found = self._module(module)
        try:
            return self.trace.attributes.get(found, name)
        except AttributeError:
            try:
                return self._module(f"{module}.{name}")
            except ImportError:
                raise ImportError(f"cannot import name {name!r} from {module!r}") from None

    def _module(self, name: str) -> types.ModuleType:
        """The module of this name, imported if it was not."""
        if name not in sys.modules:
            with outside_of():
                importlib.import_module(name)
        module, sources = sys.modules[name], self.trace.sources
        where = sources.source(Item, sources.source(Constant, sys.modules, "sys.modules"), name)
        self.trace.guards.note("identity", where, module)
        return module
