"""`torch.save` and `torch.load`, in PyTorch's zip format and the one before it.

Files written here load in PyTorch and the other way round. Loading is safe by default (`weights_only=True`): nothing
in the file is run. Saving to a path writes aside and renames, so that the old file survives until the new is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType, TracebackType
from typing import Any, TYPE_CHECKING

import contextlib
import copyreg
import io
import os
import pickle
import threading
import types
import warnings
from enum import Enum

import mindtorch_v2 as torch
from mindtorch_v2 import _weights_only_unpickler
from mindtorch_v2.serialization import _archive as _archive
from mindtorch_v2.serialization import _legacy_format as legacy_format
from mindtorch_v2.serialization import _replacing
from mindtorch_v2.serialization import _zip_format as zip_format
from mindtorch_v2.serialization._legacy_format import MAGIC_NUMBER, PROTOCOL_VERSION
from mindtorch_v2.serialization._locations import default_restore_location, location_tag, register_package
from mindtorch_v2.serialization._records import folder_of as _folder_of
from mindtorch_v2.serialization._records import is_path as _is_path
from mindtorch_v2.serialization._records import open_reader as _open_zipfile_reader
from mindtorch_v2.serialization._records import open_writer as _open_zipfile_writer
from mindtorch_v2.serialization._unpickler import StorageType

if TYPE_CHECKING:
    from mindtorch_v2.types import FileLike


__all__ = [
    "MAGIC_NUMBER",
    "PROTOCOL_VERSION",
    "LoadEndianness",
    "SourceChangeWarning",
    "StorageType",
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "normalize_storage_type",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    "storage_to_tensor_type",
]

DEFAULT_PROTOCOL = 2
STORAGE_KEY_SEPARATOR = ","
MAP_SHARED = 1
MAP_PRIVATE = 2

safe_globals = _weights_only_unpickler._safe_globals

_options = threading.local()
_serialization_tls = torch._utils.skipping


class SourceChangeWarning(Warning):
    """A class in a loaded file has another source now than when it was saved.

    >>> issubclass(torch.serialization.SourceChangeWarning, Warning)
    True
    """


class LoadEndianness(Enum):
    """The byte order to assume of files that do not tell theirs.

    >>> [kind.name for kind in torch.serialization.LoadEndianness]
    ['NATIVE', 'LITTLE', 'BIG']
    """

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order assumed of files that do not tell theirs; None is little.

    >>> torch.serialization.get_default_load_endianness() is None
    True
    """
    return getattr(_options, "endianness", None)


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order to assume of files that do not tell theirs.

    >>> from mindtorch_v2.serialization import LoadEndianness
    >>> torch.serialization.set_default_load_endianness(LoadEndianness.BIG)
    >>> torch.serialization.get_default_load_endianness().name
    'BIG'
    >>> torch.serialization.set_default_load_endianness(None)
    """
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _options.endianness = endianness


def get_crc32_options() -> bool:
    """Whether `save` computes checksums.

    >>> torch.serialization.get_crc32_options()
    True
    """
    return getattr(_options, "crc32", True)


def set_crc32_options(compute_crc32: bool) -> None:
    """Set whether `save` computes checksums; without them `load` cannot tell a damaged file from a whole one.

    >>> torch.serialization.set_crc32_options(True)
    """
    _options.crc32 = compute_crc32


def get_default_mmap_options() -> int:
    """How `load(mmap=True)` maps: MAP_PRIVATE (changes stay in memory) or MAP_SHARED (changes reach the file).

    >>> torch.serialization.get_default_mmap_options()
    2
    """
    return getattr(_options, "mmap_flags", MAP_PRIVATE)


class set_default_mmap_options:
    """Set how `load(mmap=True)` maps, until undone if used as a context manager.

    >>> import mmap
    >>> with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
    ...     torch.serialization.get_default_mmap_options() == mmap.MAP_SHARED
    True
    """

    def __init__(self, flags: int) -> None:
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, "
                f"expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}"
            )
        self.previous = get_default_mmap_options()
        _options.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _options.mmap_flags = self.previous


class skip_data:
    """Within it `save` writes no data, but zeros in its place, to be written into the file by other means.

    Where the bytes of a storage go, `torch.serialization._open_zipfile_reader` tells: `get_record_offset("data/0")`. With
    `materialize_fake_tensors` fake tensors are saved as tensors of their devices, of which there are no data. Files cannot be
    loaded within it, nor written in the format before the zip files: RuntimeError.

    >>> import io
    >>> file = io.BytesIO()
    >>> with torch.serialization.skip_data():
    ...     torch.save(torch.ones(2), file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    tensor([0., 0.])
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        tls = _serialization_tls
        self._before = tls.skip_data, tls.materialize_fake_tensors, tls.places
        tls.skip_data, tls.materialize_fake_tensors, tls.places = True, self.materialize_fake_tensors, {}

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        tls = _serialization_tls
        tls.skip_data, tls.materialize_fake_tensors, tls.places = self._before


def add_safe_globals(safe_globals: Sequence[tuple[Callable[..., Any], str] | Callable[..., Any]]) -> None:
    """Allow functions and classes, or `(object, "dotted name in the file")`, in files loaded with `weights_only`.

    >>> from collections import Counter
    >>> torch.serialization.add_safe_globals([Counter])
    >>> Counter in torch.serialization.get_safe_globals()
    True
    >>> torch.serialization.clear_safe_globals()
    """
    _weights_only_unpickler._add_safe_globals(safe_globals)


def get_safe_globals() -> list[tuple[Callable[..., Any], str] | Callable[..., Any]]:
    """The globals that `add_safe_globals` allowed.

    >>> from collections import Counter
    >>> with torch.serialization.safe_globals([Counter]):
    ...     torch.serialization.get_safe_globals() == [Counter]
    True
    """
    return _weights_only_unpickler._get_safe_globals()


def clear_safe_globals() -> None:
    """Take back all that `add_safe_globals` allowed.

    >>> from collections import Counter
    >>> torch.serialization.add_safe_globals([Counter])
    >>> torch.serialization.clear_safe_globals()
    >>> torch.serialization.get_safe_globals()
    []
    """
    _weights_only_unpickler._clear_safe_globals()


def get_unsafe_globals_in_checkpoint(f: FileLike) -> list:
    """The dotted names in a zip file that `load` would refuse; runs nothing.

    >>> import io
    >>> from collections import Counter
    >>> file = io.BytesIO()
    >>> torch.save({"words": Counter("aab"), "weight": torch.ones(1)}, file)
    >>> _ = file.seek(0)
    >>> torch.serialization.get_unsafe_globals_in_checkpoint(file)
    []
    """
    with _opened(f, "rb") as file:
        if not _is_zipfile(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        archive = _archive.ArchiveReader(file)
        found = _weights_only_unpickler.get_globals_in_pkl(io.BytesIO(archive.read("data.pkl")))
    allowed = set(_weights_only_unpickler._get_allowed_globals()) | set(_weights_only_unpickler._user_globals)
    normalized = {_weights_only_unpickler._normalized(*path.rpartition(".")[::2]): path for path in sorted(found)}
    return [path for name, path in normalized.items() if name not in allowed and path not in allowed]


def normalize_storage_type(storage_type: type) -> type:
    """`torch.FloatStorage` for any storage class of that dtype.

    >>> torch.serialization.normalize_storage_type(torch.HalfStorage).__name__
    'HalfStorage'
    """
    return getattr(torch, storage_type.__name__)


def storage_to_tensor_type(storage: Any) -> type:
    """The old tensor class, such as `torch.FloatTensor`, that goes with a storage.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.serialization.storage_to_tensor_type(torch.ones(2).storage()).__name__
    'FloatTensor'
    """
    name = storage.pickle_storage_type() if hasattr(storage, "pickle_storage_type") else type(storage).__name__
    return getattr(torch, name.replace("Storage", "Tensor"))


def _get_layout(name):
    """The layout that a file names, such as `torch.strided`."""
    layouts = {str(value): value for value in vars(torch).values() if isinstance(value, torch.layout)}
    return layouts[name]


copyreg.pickle(torch.layout, lambda layout: (_get_layout, (str(layout),)))


def _opened(f, mode):
    """`f` as an open binary file: a path is opened and closed again, a file object stays open."""
    return open(f, mode) if _is_path(f) else contextlib.nullcontext(f)


def _is_zipfile(f):
    """Whether a zip file begins at the current position, which is kept."""
    start = f.tell()
    signature = f.read(4)
    f.seek(start)
    return signature == b"PK\x03\x04"


def _check_seekable(f) -> None:
    for name in ("seek", "tell"):
        if not hasattr(f, name):
            raise AttributeError(
                f"'{type(f).__name__}' object has no attribute '{name}'. You can only torch.load from a file that is "
                "seekable. Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
            )


def _check_save_filelike(f) -> None:
    if not _is_path(f) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")


def save(
    obj: object,
    f: FileLike,
    pickle_module: ModuleType = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Save an object to a path or to a file object with `write`.

    Tensors that share memory share it again when loaded; a view is saved with the whole of its memory. A path is
    written aside and renamed at the end: if anything fails, what was there stays.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> torch.save({"weight": torch.ones(2)}, buffer)
    >>> _ = buffer.seek(0)
    >>> torch.load(buffer)
    {'weight': tensor([1., 1.])}
    """
    _check_save_filelike(f)
    target: Any = f
    with _replacing.replacing(target) if _is_path(f) else contextlib.nullcontext(target) as file:
        if _use_new_zipfile_serialization:
            writer = _archive.ArchiveWriter(file, _folder_of(f), get_crc32_options())
            zip_format.write(obj, writer, pickle_module, pickle_protocol, not _disable_byteorder_record)
        elif torch._utils.skipping.skip_data:
            raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
        else:
            legacy_format.write(obj, file, pickle_module, pickle_protocol)
        # A file object stays open, and may be read by its name next.
        if hasattr(file, "flush"):
            file.flush()


def _is_weights_only(given, pickle_module):
    """Whether only weights are read: the environment's word, else what is given, else whether the pickle is our own."""
    forced = _flag("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    forbidden = _flag("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    if forced and forbidden:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but both "
            "were set."
        )
    if given is not None:
        return forced or given
    if forbidden:
        warnings.warn(
            "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD is set and `weights_only` was not given to `torch.load`: forcing "
            "weights_only=False",
            UserWarning,
            stacklevel=3,
        )
    return forced or (pickle_module is None and not forbidden)


def _flag(name) -> bool:
    return os.getenv(name, "0") in ("1", "y", "yes", "true")


def load(
    f: FileLike,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Load what `save`, here or in PyTorch, wrote to a path or a seekable file object.

    `map_location` says where storages go: a device, its name, a dict of names, or `fn(storage, tag)` that returns a
    storage or None; "meta" reads no data. `mmap=True` (zip files, paths) maps the file: data is read when touched,
    and changes stay in memory.

    With `weights_only` (the default) only tensors, plain containers and what `add_safe_globals` allows can be in the
    file, and nothing in it is run; anything else raises `pickle.UnpicklingError`. With `weights_only=False` the file
    can run any code: only for files that you trust.
    Raises RuntimeError for damaged files; nothing is returned half-loaded.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save({"x": torch.ones(2)}, file)
    >>> torch.load(io.BytesIO(file.getvalue()))
    {'x': tensor([1., 1.])}
    """
    weights_only = _is_weights_only(weights_only, pickle_module)
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if mmap is None:
        mmap = False
    if mmap and not _is_path(f):
        raise ValueError("f must be a file path in order to use the mmap argument")
    encoding = pickle_load_args.setdefault("encoding", "utf-8")
    if weights_only:
        pickle_load_args = {"encoding": encoding}
    if torch._utils.skipping.skip_data:
        raise RuntimeError(
            "torch.load: within torch.serialization.skip_data files are only written. Please call torch.load outside the "
            "skip_data context manager."
        )

    with _opened(f, "rb") as file:
        _check_seekable(file)
        try:
            if _is_zipfile(file):
                return _load_zip(f, file, map_location, pickle_module, weights_only, mmap, pickle_load_args)
            if mmap:
                raise RuntimeError(
                    "mmap can only be used with files saved with "
                    f"`torch.save({f}, _use_new_zipfile_serialization=True), "
                    "please torch.save your checkpoint with this option in order to use mmap."
                )
            return legacy_format.read(file, map_location, pickle_module, weights_only, **pickle_load_args)
        except pickle.UnpicklingError as error:
            if not weights_only:
                raise
            raise pickle.UnpicklingError(_refusal(str(error))) from None


def _load_zip(f, file, map_location, pickle_module, weights_only, mmap, pickle_load_args):
    start = file.tell()
    # An archive may lie in the middle of a stream; its offsets count from its own beginning.
    archive = _archive.ArchiveReader(io.BytesIO(file.read()) if start else file)
    if archive.has("constants.pkl"):
        raise RuntimeError(
            "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``: TorchScript "
            "programs cannot be run here, save the module's state_dict instead"
        )
    mapping = None
    if mmap:
        shared = get_default_mmap_options() == MAP_SHARED
        mapping = memoryview(_archive.map_file(os.fspath(f), shared))
    result = zip_format.read(archive, map_location, pickle_module, weights_only, mapping, **pickle_load_args)
    if start:
        file.seek(0, io.SEEK_END)
    return result


def _refusal(reason) -> str:
    """The text of the error for a file that is not safe to load."""
    caution = (
        "Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in "
        "arbitrary code execution. Do it only if you got the file from a trusted source."
    )
    if reason.startswith("Unsupported global"):
        advice = f"{caution}\n\tOtherwise see the remedy in the following message.\n\tWeightsUnpickler error: {reason}"
    elif reason.startswith("Trying to load unsupported GLOBAL"):
        advice = f"{caution}\n\n\n{reason}"
    else:
        advice = f"{caution}\n\tWeightsUnpickler error: \n\n{reason}"
    return f"Weights only load failed. {advice}"


def check_module_version_greater_or_equal(
    module: types.ModuleType, req_version_tuple: tuple[Any, ...], error_if_malformed: bool = True
) -> bool:
    """Whether a module's `__version__` is at least that of the tuple.

    A version that is not numbers with dots raises RuntimeError, or warns and counts as new enough.

    >>> from types import SimpleNamespace
    >>> from mindtorch_v2.serialization import check_module_version_greater_or_equal
    >>> module = SimpleNamespace(__name__="dill", __version__="0.3.8")
    >>> [check_module_version_greater_or_equal(module, least) for least in ((0, 3, 1), (0, 4))]
    [True, False]
    """
    try:
        found = tuple(
            kind(part) for kind, part in zip((type(each) for each in req_version_tuple), module.__version__.split("."))
        )
    except ValueError as error:
        text = f"'{module.__name__}' module version string is malformed '{module.__version__}' and cannot be compared"
        if error_if_malformed:
            raise RuntimeError(f"{text} with tuple {req_version_tuple}") from error
        warnings.warn(
            f"{text} with tuple {req_version_tuple}, but continuing assuming that requirement is met", stacklevel=2
        )
        return True
    return found >= req_version_tuple
