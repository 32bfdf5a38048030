"""Checks of paths that tools of Ascend make before they read and write."""

from __future__ import annotations

import os
import pathlib
import shutil
import warnings

from ._error_code import ErrCode, pta_error

__all__ = ["PathManager"]


class PathManager:
    """Functions on paths. What cannot be done is a RuntimeError; what is only suspect (a link, a long name) is a warning."""

    MAX_PATH_LENGTH = 4096
    MAX_FILE_NAME_LENGTH = 255
    DATA_FILE_AUTHORITY = 0o640
    DATA_DIR_AUTHORITY = 0o750

    @classmethod
    def check_input_directory_path(cls, path: str) -> None:
        """Refuse a file where a directory is meant; nothing need be there."""
        cls._warn_of(path)
        if os.path.isfile(path):
            raise RuntimeError(f"Invalid input path is a file path: {path}" + pta_error(ErrCode.PARAM))

    @classmethod
    def check_input_file_path(cls, path: str) -> None:
        """Refuse a directory where a file is meant; nothing need be there."""
        cls._warn_of(path)
        if os.path.isdir(path):
            raise RuntimeError(f"Invalid input path is a directory path: {path}" + pta_error(ErrCode.PARAM))

    @classmethod
    def check_directory_path_writeable(cls, path: str) -> None:
        """Refuse a path where nothing is; warn of one that cannot be written to."""
        cls._check_access(path, os.W_OK)

    @classmethod
    def check_directory_path_readable(cls, path: str) -> None:
        """Refuse a path where nothing is; warn of one that cannot be read."""
        cls._check_access(path, os.R_OK)

    @staticmethod
    def check_path_is_readable(path: str) -> bool:
        """Whether a path can be read."""
        return os.access(path, os.R_OK)

    @staticmethod
    def check_path_is_writeable(path: str) -> bool:
        """Whether a path can be written to."""
        return os.access(path, os.W_OK)

    @classmethod
    def remove_path_safety(cls, path: str) -> None:
        """Remove a directory with what is in it; nothing where there is none."""
        if cls._there(path, "Failed to remove path"):
            try:
                shutil.rmtree(path)
            except OSError as error:
                raise RuntimeError(f"Failed to remove path: {path}" + pta_error(ErrCode.SYSCALL)) from error

    @classmethod
    def remove_file_safety(cls, file: str) -> None:
        """Remove a file; nothing where there is none."""
        if cls._there(file, "Failed to remove file"):
            try:
                pathlib.Path(file).unlink(missing_ok=True)
            except OSError as error:
                raise RuntimeError(f"Failed to remove file: {file}" + pta_error(ErrCode.SYSCALL)) from error

    @classmethod
    def make_dir_safety(cls, path: str) -> None:
        """Make a directory, for the owner and his group, where nothing is yet."""
        if not cls._there(path, "Failed to make directory"):
            try:
                os.makedirs(path, mode=cls.DATA_DIR_AUTHORITY, exist_ok=True)
            except OSError as error:
                raise RuntimeError(f"Failed to make directory: {path}" + pta_error(ErrCode.SYSCALL)) from error

    @classmethod
    def create_file_safety(cls, path: str) -> None:
        """Make an empty file, for the owner and his group, where nothing is yet."""
        if not cls._there(path, "Failed to create file"):
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT, cls.DATA_FILE_AUTHORITY))
            except OSError as error:
                raise RuntimeError(f"Failed to create file: {path}" + pta_error(ErrCode.SYSCALL)) from error

    @staticmethod
    def _there(path: str, what: str) -> bool:
        if os.path.islink(path):
            warnings.warn(f"{what}: {path} is a symbolic link", stacklevel=3)
        return os.path.exists(path)

    @classmethod
    def _check_access(cls, path: str, mode: int) -> None:
        if not os.path.exists(path):
            raise RuntimeError(f"The path does not exist: {path}")
        if os.path.islink(path):
            warnings.warn(f"Invalid path is a symbolic link: {path}", stacklevel=3)
        if not os.access(path, mode):
            warnings.warn(f"The path permission check failed: {path}", stacklevel=3)

    @classmethod
    def _warn_of(cls, path: str) -> None:
        if os.path.islink(path):
            warnings.warn(f"Invalid input path is a symbolic link: {path}", stacklevel=3)
        if len(path) > cls.MAX_PATH_LENGTH or max(map(len, path.split("/"))) > cls.MAX_FILE_NAME_LENGTH:
            warnings.warn("Length of input path exceeds the limit.", stacklevel=3)
