"""`torch._utils_internal`: places of files, as test suites ask for them."""

from __future__ import annotations

import os
import tempfile

import mindtorch_v2

TEST_MASTER_ADDR = "127.0.0.1"
TEST_MASTER_PORT = 29500


def get_file_path(*path_components: str) -> str:
    """A path below the folder that the package lies in."""
    return os.path.join(os.path.dirname(os.path.dirname(mindtorch_v2.__file__)), *path_components)


def get_file_path_2(*path_components: str) -> str:
    """A path of these parts."""
    return os.path.join(*path_components)


def get_writable_path(path: str) -> str:
    """The path, or a new folder where that cannot be written to."""
    if os.access(path, os.W_OK):
        return path
    return tempfile.mkdtemp(suffix=os.path.basename(path))
