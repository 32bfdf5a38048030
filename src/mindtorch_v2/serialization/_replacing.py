"""Files that are there whole or not at all: written aside, synced, and renamed over what was there.

Where the file system can, what is written has no name until it is whole (`O_TMPFILE`), so that a killed process leaves
nothing. Elsewhere, and for the instant between naming and renaming, the file aside has a hidden name and is locked by
its writer; whoever saves to the same path next removes those that no living process holds.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO

_BUFFER = 1 << 20
# What open(O_TMPFILE) and link() of an unnamed file answer where they are not known or not allowed.
_NOT_HERE = (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL, errno.EPERM, errno.EACCES, errno.ENOSYS)


@contextlib.contextmanager
def replacing(path: str | Path, *, sync: bool = True) -> Iterator[IO[bytes]]:
    """A new binary file that takes the place of `path` when the block ends well; else `path` stays as it was.

    With `sync` it is on the disk before that: else a loss of power may leave neither.

    Old and new lie beside each other until then. Other hard links of the old file keep the old content. In a directory
    that takes no new files, and for devices and pipes, the file itself is written to, as `open` would.
    """
    path = os.path.realpath(os.fspath(path))
    parent = os.path.dirname(path)
    if not os.path.isdir(parent):
        raise RuntimeError(f"Parent directory {parent} does not exist.")
    if os.path.isdir(path):
        raise RuntimeError(f"open file failed with strerror: Is a directory ({path})")
    special = os.path.exists(path) and not os.path.isfile(path)
    if special or (os.path.exists(path) and not os.access(parent, os.W_OK)):
        with open(path, "wb") as file:
            yield file
        return
    _remove_abandoned(path)
    aside = _Aside(path)
    try:
        with aside.file as file:
            yield file
            file.flush()
            if sync:
                os.fsync(file.fileno())
            aside.name()
            os.replace(aside.path, path)
    except BaseException as error:  # an interrupt too leaves nothing behind
        aside.remove()
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            error.add_note(
                f"{path} is as it was: a new file is written beside the old one, so there must be room for both. "
                "Free some space, remove the old file, or save to another place."
            )
        raise
    if sync:
        _sync_directory(parent)


class _Aside:
    """A file in the directory of `path` that nobody sees, or that has a hidden name and is locked."""

    def __init__(self, path: str) -> None:
        self.path = f"{_prefix(path)}{secrets.token_hex(8)}.part"
        self.named = False
        handle = self._unnamed(os.path.dirname(path))
        if handle is None:
            handle = self._locked()
        try:
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(handle, os.stat(path).st_mode & 0o777)
            self.file: IO[bytes] = open(handle, "wb", buffering=_BUFFER)
        except BaseException:
            os.close(handle)
            if self.named:
                os.unlink(self.path)
            raise

    def _unnamed(self, parent: str) -> int | None:
        if not hasattr(os, "O_TMPFILE"):
            return None
        try:
            handle = os.open(parent, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666)
        except OSError as error:
            if error.errno in _NOT_HERE:
                return None
            raise
        try:
            _lock(handle)
        except BaseException:
            os.close(handle)
            raise
        return handle

    def _locked(self) -> int:
        while True:
            handle = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666)
            try:
                _lock(handle)
                # Another process may have taken it for abandoned between the two calls.
                self.named = os.fstat(handle).st_nlink > 0
            except BaseException:
                os.close(handle)
                os.unlink(self.path)
                raise
            if self.named:
                return handle
            os.close(handle)

    def name(self) -> None:
        """Give an unnamed file its hidden name; rename can then put it over what is there, which link cannot."""
        if self.named:
            return
        parent = os.open(os.path.dirname(self.path), os.O_RDONLY | os.O_CLOEXEC)
        try:
            # With a directory's handle CPython calls linkat, which follows the link in /proc; link would not.
            os.link(f"/proc/self/fd/{self.file.fileno()}", self.path, src_dir_fd=parent, follow_symlinks=True)
        except OSError as error:
            if error.errno not in _NOT_HERE:
                raise
            self._copy()
        finally:
            os.close(parent)
        self.named = True

    def _copy(self) -> None:
        """Where /proc is not mounted an unnamed file cannot be linked: its bytes get a named one."""
        unnamed = self.file.fileno()
        size = os.fstat(unnamed).st_size
        named = self._locked()
        reader = -1
        try:
            reader = os.dup(unnamed)
            os.fchmod(named, os.fstat(reader).st_mode & 0o777)
            done = 0
            while done < size:
                done += os.copy_file_range(reader, named, size - done, done, done)
            os.fsync(named)
        finally:
            os.close(named)
            if reader >= 0:
                os.close(reader)

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            self.file.close()
        if self.named:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)


def _lock(handle: int) -> None:
    """Mark a file as one that a living process holds; where there are no locks, nobody will take it for abandoned."""
    with contextlib.suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX)


def _prefix(path: str) -> str:
    """How the hidden names for `path` begin: of one length, as a name may itself be as long as names can be."""
    parent, name = os.path.split(path)
    return os.path.join(parent, f".{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}.")


def _remove_abandoned(path: str) -> None:
    """Remove what killed processes left of saves to `path`; those still at work hold their file's lock."""
    parent, prefix = os.path.split(_prefix(path))
    with os.scandir(parent) as entries:
        names = [entry.path for entry in entries if entry.name.startswith(prefix) and entry.name.endswith(".part")]
    for name in names:
        with contextlib.suppress(OSError):
            handle = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(name)
            finally:
                os.close(handle)


def _sync_directory(path: str) -> None:
    """A rename is on the disk once its directory is; some file systems know no such call."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF, errno.ENOSYS):
            raise
    finally:
        os.close(handle)
