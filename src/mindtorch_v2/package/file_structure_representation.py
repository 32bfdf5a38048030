"""The files of a package as a tree that is printed."""

from __future__ import annotations

from collections.abc import Sequence

from .glob_group import GlobGroup, GlobPattern


class Directory:
    """A folder or file of a package; printed, the tree below it.

    >>> import io
    >>> file = io.BytesIO()
    >>> with torch.package.PackageExporter(file) as exporter:
    ...     exporter.save_source_string("mine", "answer = 42")
    ...     exporter.save_text("notes", "first.txt", "two words")
    >>> _ = file.seek(0)
    >>> importer = torch.package.PackageImporter(file)
    >>> tree = importer.file_structure(include="mine.py")
    >>> tree.has_file("mine.py"), tree.has_file("other.py")
    (True, False)
    """

    def __init__(self, name: str, is_dir: bool) -> None:
        self.name = name
        self.is_dir = is_dir
        self.children: dict[str, Directory] = {}

    def _add_file(self, path: str) -> None:
        *folders, file = path.split("/")
        place = self
        for folder in folders:
            place = place.children.setdefault(folder, Directory(folder, True))
        place.children[file] = Directory(file, False)

    def has_file(self, filename: str) -> bool:
        """Whether there is a file of that path, which starts below this folder."""
        place = self
        for name in filename.split("/"):
            if name not in place.children:
                return False
            place = place.children[name]
        return not place.is_dir

    def __str__(self) -> str:
        return "\n".join(self._lines("─── ", "    ")) + "\n"

    def _lines(self, here: str, below: str) -> list[str]:
        lines = [f"{here}{self.name}"]
        folders_first = sorted(self.children.values(), key=lambda child: (not child.is_dir, child.name))
        for number, child in enumerate(folders_first, 1):
            last = number == len(folders_first)
            made = child._lines("└── " if last else "├── ", "    " if last else "│   ")
            lines += [below + line for line in made]
        return lines


def _create_directory_from_file_list(
    filename: str, file_list: Sequence[str], include: GlobPattern = "**", exclude: GlobPattern = ()
) -> Directory:
    """The tree of those files whose paths match."""
    chosen = GlobGroup(include, exclude=exclude, separator="/")
    top = Directory(filename, True)
    for path in file_list:
        if chosen.matches(path):
            top._add_file(path)
    return top
