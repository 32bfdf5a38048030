"""Files of pipes: lists of them, open ones, and the check of a function's arguments."""

from __future__ import annotations

import fnmatch
import functools
import importlib.util
import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

__all__ = [
    "StreamWrapper",
    "check_picklable",
    "get_file_binaries_from_pathnames",
    "get_file_pathnames_from_root",
    "match_masks",
    "validate_input_col",
    "validate_pathname_binary_tuple",
]


def check_picklable(fn: Any) -> None:
    """Raise TypeError for what is no function; warn of one that workers which are started anew cannot be sent.

    >>> from mindtorch_v2.utils.data.datapipes.utils.common import check_picklable
    >>> check_picklable(len)
    """
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but {type(fn)} is provided.")
    inner = fn
    while isinstance(inner, functools.partial):
        inner = inner.func
    name = getattr(inner, "__qualname__", "") if inspect.isfunction(inner) else ""
    kind = "Lambda" if name.endswith("<lambda>") else "Local" if "<locals>" in name else ""
    if kind and importlib.util.find_spec("dill") is None:  # which pickles both
        warnings.warn(
            f"{kind} function is not supported by pickle, please use regular python function or functools.partial instead.",
            stacklevel=3,
        )


def validate_input_col(fn: Callable[..., Any], input_col: int | tuple | list | None) -> None:
    """Raise ValueError if `fn` cannot be called with as many positional arguments as `input_col` picks columns.

    >>> from mindtorch_v2.utils.data.datapipes.utils.common import validate_input_col
    >>> validate_input_col(lambda a, b: a + b, [0, 1])
    >>> try:
    ...     validate_input_col(lambda a: a, [0, 1])
    ... except ValueError as error:
    ...     print(type(error).__name__)
    ValueError
    """
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (ValueError, TypeError):  # of a builtin
        return
    given = len(input_col) if isinstance(input_col, list | tuple) else 1
    positional = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    name = _function_name(fn)
    keyword_only = [each.name for each in parameters if each.kind == each.KEYWORD_ONLY and each.default is each.empty]
    if keyword_only:
        raise ValueError(
            f"The function {name} takes {len(keyword_only)} non-default keyword-only parameters, which is not allowed."
        )
    needed = sum(each.default is each.empty for each in positional)
    takes_more = any(each.kind == each.VAR_POSITIONAL for each in parameters)
    if given < needed:
        kind = "partial function" if isinstance(fn, functools.partial) else "function"
        raise ValueError(f"The {kind} {name} takes {needed} positional parameters, but {given} are required.")
    if not takes_more and given > len(positional):
        raise ValueError(f"The function {name} takes {len(positional)} parameters, but {given} are required.")


def _function_name(fn: Any) -> str:
    return str(getattr(fn, "__name__", getattr(getattr(fn, "func", None), "__name__", repr(fn))))


def match_masks(name: str, masks: str | list[str]) -> bool:
    """Whether a name matches one of the patterns; any does where there is none.

    >>> from mindtorch_v2.utils.data.datapipes.utils.common import match_masks
    >>> match_masks("a.txt", ["*.csv", "*.txt"]), match_masks("a.txt", "*.csv"), match_masks("a.txt", "")
    (True, False, True)
    """
    if not masks:
        return True
    return any(fnmatch.fnmatch(name, mask) for mask in ([masks] if isinstance(masks, str) else masks))


def get_file_pathnames_from_root(
    root: str,
    masks: str | list[str],
    recursive: bool = False,
    abspath: bool = False,
    non_deterministic: bool = False,
) -> Iterator[str]:
    """The paths of files below a folder; a file for `root` itself gives that, if its name matches.

    >>> import os
    >>> import pathlib
    >>> import tempfile
    >>> from mindtorch_v2.utils.data.datapipes.utils.common import get_file_pathnames_from_root
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pathlib.Path(folder, "a.txt").touch()
    ...     print([os.path.basename(path) for path in get_file_pathnames_from_root(folder, "*.txt")])
    ['a.txt']
    """

    def refuse(error: OSError) -> None:
        warnings.warn(f"{error.filename} : {error.strerror}", stacklevel=2)
        raise error

    if os.path.isfile(root):
        path = os.path.abspath(root) if abspath else root
        if match_masks(os.path.basename(path), masks):
            yield path
        return
    for folder, folders, files in os.walk(root, onerror=refuse):
        folder = os.path.abspath(folder) if abspath else folder
        if not non_deterministic:
            files.sort()
            folders.sort()
        for name in files:
            if match_masks(name, masks):
                yield os.path.join(folder, name)
        if not recursive:
            break


def get_file_binaries_from_pathnames(
    pathnames: Iterable[str], mode: str, encoding: str | None = None
) -> Iterator[tuple[str, StreamWrapper]]:
    """Pairs of a path and the open file; "b" and "t" stand for reading. TypeError for a path that is no string.

    >>> import pathlib
    >>> import tempfile
    >>> from mindtorch_v2.utils.data.datapipes.utils.common import get_file_binaries_from_pathnames
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.txt")
    ...     _ = path.write_text("two words")
    ...     print([file.read() for _, file in get_file_binaries_from_pathnames([str(path)], "b")])
    [b'two words']
    """
    if not isinstance(pathnames, Iterable):
        pathnames = [pathnames]
    mode = f"r{mode}" if mode in ("b", "t") else mode
    for name in pathnames:
        if not isinstance(name, str):
            raise TypeError(f"Expected string type for pathname, but got {type(name)}")
        yield name, StreamWrapper(open(name, mode, encoding=encoding))


def validate_pathname_binary_tuple(data: tuple[str, IO[bytes]]) -> None:
    """Raise TypeError or ValueError unless `data` is a pair of a path and an open file.

    >>> import io
    >>> from mindtorch_v2.utils.data.datapipes.utils.common import validate_pathname_binary_tuple
    >>> validate_pathname_binary_tuple(("a.bin", io.BytesIO()))
    >>> try:
    ...     validate_pathname_binary_tuple((3, io.BytesIO()))
    ... except TypeError as error:
    ...     print(type(error).__name__)
    TypeError
    """
    if not isinstance(data, tuple):
        raise TypeError(f"pathname binary data should be tuple type, but it is type {type(data)}")
    if len(data) != 2:
        raise TypeError(f"pathname binary stream tuple length should be 2, but got {len(data)}")
    if not isinstance(data[0], str):
        raise TypeError(f"pathname within the tuple should have string type pathname, but it is type {type(data[0])}")
    if not hasattr(data[1], "read"):
        raise TypeError(f"binary stream within the tuple should have file-like type, but it is type {type(data[1])}")


class StreamWrapper:
    """An open file, or anything alike, that is closed with the last who holds it.

    >>> import io
    >>> from mindtorch_v2.utils.data.datapipes.utils.common import StreamWrapper
    >>> stream = StreamWrapper(io.StringIO("two words"))
    >>> stream.read()
    'two words'
    >>> stream.close()
    """

    def __init__(self, file_obj: Any, parent_stream: Any = None, name: str | None = None) -> None:
        self.file_obj = file_obj
        self.parent_stream = parent_stream
        self.name = name
        self.closed = False

    @classmethod
    def close_streams(cls, v: Any, depth: int = 0) -> None:
        """Close the files in a structure of lists and dicts."""
        if depth > 10:
            return
        if isinstance(v, StreamWrapper):
            v.close()
        elif isinstance(v, dict):
            for each in v.values():
                cls.close_streams(each, depth + 1)
        elif isinstance(v, list | tuple):
            for each in v:
                cls.close_streams(each, depth + 1)

    def close(self, *args: Any, **kwargs: Any) -> None:
        """Close the file."""
        if not self.closed:
            self.closed = True
            close = getattr(self.file_obj, "close", None)
            if close is not None:
                close(*args, **kwargs)

    autoclose = close

    def __getattr__(self, name: str) -> Any:
        if name == "file_obj":  # a copy that is being made
            raise AttributeError(name)
        return getattr(self.file_obj, name)

    def __iter__(self) -> Iterator[Any]:
        yield from self.file_obj

    def __next__(self) -> Any:
        return next(self.file_obj)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *dir(self.file_obj)]

    def __del__(self) -> None:
        if "file_obj" in self.__dict__:
            self.close()

    def __repr__(self) -> str:
        return f"StreamWrapper<{self.name if self.name is not None else self.file_obj!r}>"

    def __getstate__(self) -> Any:
        return self.file_obj

    def __setstate__(self, obj: Any) -> None:
        self.__init__(obj)  # type: ignore[misc]  # (a copy begins anew)
