"""The tree of a package's modules: which have a source in it, and which come from the environment."""

from __future__ import annotations

from collections.abc import Iterable


class PathNode:
    """A place in the tree."""


class ExternNode(PathNode):
    """A module of the environment, with all that is below it."""


class ModuleNode(PathNode):
    """A module with a source of its own: the name of its record."""

    def __init__(self, source_file: str) -> None:
        self.source_file: str | None = source_file


class PackageNode(PathNode):
    """A package: modules below it, and a source unless it is there for these alone."""

    def __init__(self, source_file: str | None = None) -> None:
        self.source_file = source_file
        self.children: dict[str, PathNode] = {}

    def add_file(self, record: str) -> None:
        """Take a record into the tree: Python's sources are modules, other records make the packages that they lie in."""
        *folders, file = record.split("/")
        package = self._package(folders)
        if package is None:
            raise ImportError(f"inconsistent module structure. {record} lies in a module of the environment")
        if file == "__init__.py":
            package.source_file = record
        elif file.endswith(".py"):
            name = file.removesuffix(".py")
            there = package.children.setdefault(name, ModuleNode(record))
            if isinstance(there, PackageNode):
                there.source_file = there.source_file or record

    def add_extern(self, name: str) -> None:
        """Let a module be the environment's."""
        *parents, last = name.split(".")
        package = self._package(parents)
        if package is not None:
            package.children[last] = ExternNode()

    def _package(self, names: Iterable[str]) -> PackageNode | None:
        """The package of a path, made where it is missing; None below a module of the environment."""
        package = self
        for name in names:
            there = package.children.get(name)
            if isinstance(there, ExternNode):
                return None
            if not isinstance(there, PackageNode):
                there = PackageNode(there.source_file if isinstance(there, ModuleNode) else None)
                package.children[name] = there
            package = there
        return package
