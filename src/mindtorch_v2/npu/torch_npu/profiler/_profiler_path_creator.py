"""The folder of a cycle: `<worker>_<process>_<time>_ascend_pt`, where the program, or ASCEND_WORK_PATH, says."""

from __future__ import annotations

import datetime
import os
import shutil
import socket

from ..utils._path_manager import PathManager
from .analysis.prof_common_func._constant import Constant, print_warn_msg

__all__ = ["ProfPathCreator"]


class _PathCreator:
    """Where the folders of cycles are made, and the last that was.

    `is_prof_inited` says whether a cycle has its folder and is not written yet.
    """

    def __init__(self) -> None:
        self._worker_name: str | None = None
        self._dir_path: str | None = None
        self._needless = False  # nobody will ask for files
        self._prof_path = ""
        self.is_prof_inited = False

    def init(self, worker_name: str | None = None, dir_name: str | None = None, export_only_mode: bool = False) -> None:
        """Say where, and whose. With `export_only_mode` a folder is made only if ASCEND_WORK_PATH asks for one."""
        if worker_name is not None and (
            not isinstance(worker_name, str) or not 0 < len(worker_name) < Constant.MAX_WORKER_NAME_LENGTH
        ):
            print_warn_msg(f"worker_name must be a name of a file, not {worker_name!r}; it is left out")
            worker_name = None
        if dir_name is not None and (not isinstance(dir_name, str) or not dir_name):
            print_warn_msg(f"dir_name must be a path, not {dir_name!r}; it is left out")
            dir_name = None
        if dir_name is not None:
            dir_name = os.path.realpath(os.path.expanduser(dir_name))
            PathManager.check_input_directory_path(dir_name)
        self._worker_name, self._dir_path, self._needless = worker_name, dir_name, export_only_mode

    def create_prof_dir(self) -> None:
        """Make the folder of a new cycle."""
        parent = self._dir_path
        if parent is None:
            asked = os.environ.get(Constant.ASCEND_WORK_PATH)
            if not asked and self._needless:
                self._prof_path = ""
                return
            parent = os.path.join(os.path.abspath(asked), Constant.PROFILING_WORK_PATH) if asked else os.getcwd()
        worker = f"{self._worker_name or socket.gethostname()}_{os.getpid()}"
        moment = datetime.datetime.now()
        while True:
            path = os.path.join(parent, f"{worker}_{moment.strftime('%Y%m%d%H%M%S%f')[:-3]}_ascend_pt")
            try:
                os.makedirs(path, PathManager.DATA_DIR_AUTHORITY)
            except FileExistsError:  # two cycles in one millisecond
                moment += datetime.timedelta(milliseconds=1)
            else:
                break
        self._prof_path, self.is_prof_inited = path, True

    def get_prof_dir(self) -> str:
        """The folder that was made last; empty where none was."""
        return self._prof_path

    def delete_prof_dir(self) -> None:
        """Remove that folder."""
        if self._prof_path:
            shutil.rmtree(self._prof_path, ignore_errors=True)


_creator = _PathCreator()


def ProfPathCreator() -> _PathCreator:
    """The one object that makes the folders of a process."""
    return _creator
