"""Files that are whole or not there: what a save leaves when it fails, is killed, or finds a directory of another kind."""

import errno
import fcntl
import io
import os
import pickle
import signal
import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.serialization._replacing import replacing


def write(path, data):
    with replacing(path) as file:
        file.write(data)


@pytest.fixture(params=["unnamed", "hidden", "no /proc"])
def way(request, monkeypatch):
    """The three ways of writing aside, whichever this file system takes."""
    if request.param == "hidden":
        monkeypatch.delattr(os, "O_TMPFILE")
    if request.param == "no /proc":

        def refuse(*args, **kwargs):
            raise OSError(errno.ENOENT, "No such file or directory")

        monkeypatch.setattr(os, "link", refuse)
    return request.param


def test_a_file_takes_the_place_when_it_is_whole(tmp_path, way):
    path = tmp_path / "a"
    with replacing(path) as file:
        file.write(b"one")
        assert not path.exists()
        # What is there meanwhile is hidden, if it has a name at all.
        assert all(name.startswith(".") and name.endswith(".part") for name in os.listdir(tmp_path))
    assert path.read_bytes() == b"one"
    os.chmod(path, 0o640)
    with pytest.raises(KeyboardInterrupt), replacing(str(path)) as file:
        file.write(b"two")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"one"
    write(path, b"three")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"three", 0o640)
    assert os.listdir(tmp_path) == ["a"]


def test_new_files_have_the_permissions_of_new_files(tmp_path, way):
    before = os.umask(0o027)
    try:
        write(tmp_path / "a", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_pipes_are_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write(pipe, b"through")
    assert os.read(end, 10) == b"through"
    os.close(end)
    assert os.listdir(tmp_path) == ["pipe"] and not pipe.is_file()


def test_names_as_long_as_names_can_be(tmp_path, way):
    path = tmp_path / ("ä" * 127 + "x")
    write(path, b"1")
    write(path, b"2")
    assert path.read_bytes() == b"2" and len(os.listdir(tmp_path)) == 1


def test_what_a_killed_save_left_is_removed_by_the_next(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "O_TMPFILE")
    path = tmp_path / "a"
    code = (
        "import os, sys, signal\n"
        "del os.O_TMPFILE\n"
        "from mindtorch_v2.serialization._replacing import replacing\n"
        f"with replacing({str(path)!r}) as file:\n"
        "    file.write(b'x' * 3_000_000)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = os.listdir(tmp_path)
    assert left.startswith(".") and left.endswith(".part")
    (tmp_path / ".other.part").write_bytes(b"not ours")
    with replacing(path) as file:  # another save to the same path, at work
        file.write(b"late")
        write(path, b"early")
        assert path.read_bytes() == b"early" and left not in os.listdir(tmp_path)
    assert path.read_bytes() == b"late"
    assert sorted(os.listdir(tmp_path)) == [".other.part", "a"]


def test_nothing_is_left_of_a_kill_where_files_need_no_name(tmp_path):
    try:
        os.close(os.open(tmp_path, os.O_TMPFILE | os.O_WRONLY))
    except (OSError, AttributeError):
        pytest.skip("this file system has no unnamed files")
    path = tmp_path / "a"
    code = (
        "import os, signal\n"
        "from mindtorch_v2.serialization._replacing import replacing\n"
        f"with replacing({str(path)!r}) as file:\n"
        "    file.write(b'x' * 3_000_000)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    assert os.listdir(tmp_path) == []


def test_locks_that_the_file_system_lacks(tmp_path, way, monkeypatch):
    def refuse(*args):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    write(tmp_path / "a", b"1")
    assert (tmp_path / "a").read_bytes() == b"1"


def test_other_hard_links_keep_the_old_content(tmp_path):
    path, backup = tmp_path / "a", tmp_path / "backup"
    write(path, b"old")
    os.link(path, backup)
    write(path, b"new")
    assert (path.read_bytes(), backup.read_bytes()) == (b"new", b"old")


def test_links_by_name_stay(tmp_path):
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "folder" / "a")
    write(link, b"1")
    assert link.is_symlink() and os.listdir(tmp_path / "folder") == ["a"]


def test_a_file_in_a_directory_that_takes_no_new_ones(tmp_path):
    """As root everything may be written, so a user that may not is asked."""
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "a"
    write(path, b"old and longer")
    os.chmod(path, 0o666)
    os.chmod(folder, 0o555)
    for parent in (tmp_path, *tmp_path.parents):
        if not parent.stat().st_mode & 0o001 and os.getuid() == 0:
            os.chmod(parent, parent.stat().st_mode | 0o011)
    # A fork of this process: what it imported need not be readable for others.
    child = os.fork()
    if not child:
        try:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            write(path, b"new")
            os._exit(0)
        except BaseException:  # noqa: BLE001  (a child must not go on in the parent's tests)
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    os.chmod(folder, 0o755)
    assert path.read_bytes() == b"new" and os.listdir(folder) == ["a"]


def test_no_room_says_what_to_do(tmp_path, monkeypatch):
    path = tmp_path / "a"
    write(path, b"old")

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as raised:
        write(path, b"new")
    assert "there must be room for both" in raised.value.__notes__[0]
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a"]


def test_the_directory_is_on_the_disk_too(tmp_path, monkeypatch):
    synced = []
    real = os.fsync

    def note(handle):
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))
        real(handle)

    monkeypatch.setattr(os, "fsync", note)
    write(tmp_path / "a", b"1")
    assert len(synced) == 2 and synced[-1] == os.path.realpath(tmp_path)


class Slow(io.RawIOBase):
    """A raw file that takes a few bytes at a time, and none any more after `limit`."""

    def __init__(self, limit=None):
        self.data, self.limit = bytearray(), limit

    def write(self, data):
        room = 1000 if self.limit is None else min(1000, self.limit - len(self.data))
        self.data += bytes(data)[:room]
        return min(room, len(data))


class Silent:
    """A file object whose `write` tells nothing."""

    def __init__(self):
        self.data = bytearray()

    def write(self, data):
        self.data += data


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("kind", [Slow, Silent])
def test_file_objects_that_write_a_part(kind, zipped):
    target, value = kind(), torch.arange(4000.0)
    torch.save({"x": value}, target, _use_new_zipfile_serialization=zipped)
    assert torch.equal(torch.load(io.BytesIO(bytes(target.data)))["x"], value)


@pytest.mark.parametrize("zipped", [True, False])
def test_file_objects_that_stop(zipped):
    with pytest.raises(OSError, match="bytes and no more"):
        torch.save(torch.arange(4000.0), Slow(5000), _use_new_zipfile_serialization=zipped)


def test_a_failed_save_by_torch_leaves_nothing(tmp_path, way):
    path = tmp_path / "x.pt"
    torch.save("old", path)
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        torch.save({"x": torch.ones(10), "bad": lambda: 0}, path)
    assert torch.load(path) == "old" and os.listdir(tmp_path) == ["x.pt"]
