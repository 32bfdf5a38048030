"""`torch.hub`: files by their address, and entry points of a program in a folder.

Fetching a program from a repository, to run it, is missing: clone it and give its folder with `source="local"`.
"""

from __future__ import annotations

import builtins
import contextlib
import hashlib
import importlib.util
import os
import re
import sys
import tempfile
import types
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from mindtorch_v2._core.unavailable import unavailable_function
from mindtorch_v2.serialization import load as _load_file

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

try:
    from tqdm import tqdm
except ImportError:

    class tqdm:  # type: ignore[no-redef]  # (the library is optional)
        """A bar that is not drawn: what of the library's class downloads call."""

        def __init__(self, total: int | None = None, **options: Any) -> None:
            self.total, self.n = total, 0

        def update(self, n: int) -> None:
            """Count `n` further."""
            self.n += n

        def close(self) -> None:
            """End the bar."""

        def __enter__(self) -> tqdm:
            return self

        def __exit__(self, *exception: Any) -> None:
            self.close()


_directory: str | None = None
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # resnet18-bf5a0269.pth
_CHUNK = 1 << 17
_fetch = unavailable_function(
    "torch.hub with source='github'", "clone the repository and give its folder with source='local'"
)


def _get_torch_home() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder for downloads: `set_dir`'s, else $TORCH_HOME/hub, else $XDG_CACHE_HOME/torch/hub, else ~/.cache.

    >>> isinstance(torch.hub.get_dir(), str)
    True
    """
    return os.path.join(_get_torch_home(), "hub") if _directory is None else _directory


def set_dir(d: str) -> None:
    """Make `d` the folder for downloads.

    >>> import tempfile
    >>> before = torch.hub.get_dir()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     torch.hub.set_dir(folder)
    ...     torch.hub.get_dir() == folder
    True
    >>> torch.hub.set_dir(before)
    """
    global _directory
    _directory = os.path.expanduser(d)


def download_url_to_file(url: str, dst: str | Path, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Download `url` to the file `dst`, which appears whole or not at all.

    `hash_prefix`: how the file's SHA-256 starts, in hexadecimal. Raises RuntimeError where it does not, and what
    `urllib` raises where the address cannot be read.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "there").write_text("weights")
    >>> download_url_to_file((folder / "there").as_uri(), folder / "here", progress=False)
    >>> (folder / "here").read_text()
    'weights'
    """
    dst = os.path.expanduser(dst)
    digest = hashlib.sha256()
    request = urllib.request.Request(url, headers={"User-Agent": "torch.hub"})
    with urllib.request.urlopen(request) as source:
        total = source.headers.get("Content-Length")
        handle, aside = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(dst)), prefix=".download-")
        try:
            with open(handle, "wb") as file, _bar(int(total) if total else None, progress) as bar:
                while block := source.read(_CHUNK):
                    file.write(block)
                    digest.update(block)
                    bar.update(len(block))
            found = digest.hexdigest()
            if hash_prefix is not None and not found.startswith(hash_prefix):
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{found}")')
            os.replace(aside, dst)
        except BaseException:
            os.unlink(aside)
            raise


def _bar(total, shown):
    try:
        from tqdm import tqdm  # optional, and only downloads use it
    except ImportError:
        return contextlib.nullcontext(types.SimpleNamespace(update=lambda count: None))
    return tqdm(total=total, disable=not shown, unit="B", unit_scale=True, unit_divisor=1024)


def load_state_dict_from_url(
    url: str,
    model_dir: Path | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """`torch.load` of a file by its address, kept in `model_dir` (`get_dir()`/checkpoints): it is fetched once.

    `check_hash`: the file's name ends in "-" and the start of its SHA-256, which must agree. No code of the file runs
    unless `weights_only` is False.

    >>> import contextlib
    >>> import io
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
    ...     torch.save({"weight": torch.tensor([1.0])}, f"{folder}/model.pt")
    ...     url = f"file://{folder}/model.pt"
    ...     state = torch.hub.load_state_dict_from_url(url, model_dir=f"{folder}/kept", progress=False)
    >>> state
    {'weight': tensor([1.])}
    """
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stdout.write(f'Downloading: "{url}" to {path}\n')
        named = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, named and named[1], progress=progress)
    return _load_file(path, map_location=map_location, weights_only=weights_only)


def _entries(repo_or_dir, source):
    """The module `hubconf.py` of a folder."""
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        _fetch()
    folder = os.path.expanduser(repo_or_dir)
    spec: Any = importlib.util.spec_from_file_location("hubconf", os.path.join(folder, "hubconf.py"))
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    missing = [d for d in getattr(module, "dependencies", ()) if importlib.util.find_spec(d) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(module, name):
    found = getattr(module, name, None)
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return found


def list(
    github: Path,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = None,
    verbose: bool = True,
    *,
    source: str = "github",
) -> builtins.list[str]:
    """The names of the entry points of a program: the public functions of its `hubconf.py`.

    Only folders are supported (`source="local"`).

    >>> import pathlib
    >>> import tempfile
    >>> repository = tempfile.TemporaryDirectory()
    >>> code = "def double(x):", "    'Twice a number.'", "    return x * 2"
    >>> with pathlib.Path(repository.name, "hubconf.py").open("w") as file:
    ...     print(*code, sep=chr(10), file=file)
    >>> torch.hub.list(repository.name, source="local")
    ['double']
    >>> repository.cleanup()
    """
    module = _entries(github, source)
    return [n for n in dir(module) if callable(getattr(module, n)) and not n.startswith("_")]


def help(
    github: Path,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = None,
    *,
    source: str = "github",
) -> str | None:
    """The docstring of the entry point `model`; see `load`.

    >>> import pathlib
    >>> import tempfile
    >>> repository = tempfile.TemporaryDirectory()
    >>> code = "def double(x):", "    'Twice a number.'", "    return x * 2"
    >>> with pathlib.Path(repository.name, "hubconf.py").open("w") as file:
    ...     print(*code, sep=chr(10), file=file)
    >>> torch.hub.help(repository.name, "double", source="local")
    'Twice a number.'
    >>> repository.cleanup()
    """
    return _entry(_entries(github, source), model).__doc__


def load(
    repo_or_dir: str | Path,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: bool | str | None = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """The result of the entry point `model` of a program's `hubconf.py` gives for `args` and `kwargs`.

    Only folders are supported (`source="local"`). Code of the folder runs. Raises RuntimeError for an entry point or a
    dependency that is not there.

    >>> import pathlib
    >>> import tempfile
    >>> repository = tempfile.TemporaryDirectory()
    >>> code = "def double(x):", "    'Twice a number.'", "    return x * 2"
    >>> with pathlib.Path(repository.name, "hubconf.py").open("w") as file:
    ...     print(*code, sep=chr(10), file=file)
    >>> torch.hub.load(repository.name, "double", torch.ones(2), source="local")
    tensor([2., 2.])
    >>> repository.cleanup()
    """
    return _entry(_entries(repo_or_dir, source), model)(*args, **kwargs)
