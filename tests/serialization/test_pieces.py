"""Small parts of reading and writing: long texts in pieces, memory formats, what a collector skips, old texts."""

import io
import os
import pickle
import zipfile

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _weights_only_unpickler
from mindtorch_v2.serialization import _replacing
from mindtorch_v2.serialization._legacy_format import MAGIC_NUMBER, PROTOCOL_VERSION


@pytest.mark.parametrize("value", ["x" * 100, b"y" * 100, "é" * 50])
def test_long_texts_are_read_in_pieces(value, monkeypatch) -> None:
    monkeypatch.setattr(_weights_only_unpickler, "_READ_BYTES", 7)
    assert _weights_only_unpickler.load(io.BytesIO(pickle.dumps(value, 2))) == value


@pytest.mark.parametrize("name", ["contiguous_format", "preserve_format", "channels_last", "channels_last_3d"])
def test_memory_formats_come_back(name) -> None:
    file = io.BytesIO()
    torch.save({"format": getattr(torch, name)}, file)
    file.seek(0)
    assert torch.load(file, weights_only=True) == {"format": getattr(torch, name)}


class Stranger:
    def __init__(self, value):
        self.value = value


def test_names_are_collected_past_every_kind_of_change() -> None:
    file = io.BytesIO()
    one, several = {"a": Stranger(1)}, {"a": Stranger(2), "b": [Stranger(3)], "c": [Stranger(4), {5, 6}]}
    torch.save([one, several, {"k": 1}, Stranger({7: 8})], file)
    file.seek(0)
    assert torch.serialization.get_unsafe_globals_in_checkpoint(file) == [f"{__name__}.Stranger"]


def test_texts_of_an_old_file_are_utf_8() -> None:
    parts = [MAGIC_NUMBER, PROTOCOL_VERSION, {"little_endian": True}]
    data = b"".join(pickle.dumps(part, 2) for part in parts)
    data += b"\x80\x02U\x02\xc3\xa9." + pickle.dumps([], 2)  # a text of Python 2
    assert torch.load(io.BytesIO(data), weights_only=True) == "é"


def test_bytes_that_were_copied_are_on_the_disk_before_they_have_their_name(tmp_path, monkeypatch) -> None:
    def refuse(*args, **kwargs):
        raise FileNotFoundError(2, "No such file or directory")

    synced = []
    fsync = os.fsync
    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(os.fstat(file).st_ino), fsync(file))[1])
    with _replacing.replacing(tmp_path / "a") as file:
        file.write(b"one")
    assert (tmp_path / "a").stat().st_ino in synced


def _saved(value: object) -> bytes:
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_where_a_storage_was(device) -> None:
    assert torch.serialization.location_tag(torch.ones(1, device=device).untyped_storage()) == device


class _Versioned:
    __name__ = "versioned"

    def __init__(self, version: str):
        self.__version__ = version


@pytest.mark.parametrize(
    ("version", "needed", "expected"),
    [("1.2.3", (1, 2, 3), True), ("1.2.4", (1, 2, 3), True), ("1.2.2", (1, 2, 3), False), ("1.10.0", (1, 9, 0), True)],
)
def test_versions_of_modules_are_compared(version, needed, expected) -> None:
    assert torch.serialization.check_module_version_greater_or_equal(_Versioned(version), needed) is expected


def test_versions_of_modules_that_are_none() -> None:
    with pytest.raises(RuntimeError, match="'versioned' module version string is malformed 'a.b'"):
        torch.serialization.check_module_version_greater_or_equal(_Versioned("a.b"), (1, 2))
    with pytest.warns(UserWarning, match="continuing assuming that requirement is met"):
        assert torch.serialization.check_module_version_greater_or_equal(_Versioned("a.b"), (1, 2), False) is True


def test_a_stream_is_not_mapped_into_memory() -> None:
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        torch.load(io.BytesIO(_saved(1)), mmap=True)


def test_bytes_of_old_texts_in_an_archive_are_utf8() -> None:
    with zipfile.ZipFile(io.BytesIO(_saved("x"))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, data in parts.items():
            archive.writestr(name, b"\x80\x02U\x02\xc3\xa4." if name.endswith("data.pkl") else data)
    for weights_only in (True, False):
        file.seek(0)
        assert torch.load(file, weights_only=weights_only) == "ä"
    file.seek(0)
    assert torch.load(file, weights_only=False, encoding="latin1") == "\xc3\xa4"


def test_saves_leave_no_descriptor_open(tmp_path) -> None:
    torch.save([1], tmp_path / "file")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        torch.save([1], tmp_path / "file")
    assert len(os.listdir("/proc/self/fd")) == before


class Nested:
    class Inner:
        pass


def test_names_of_allowed_entries() -> None:
    path = _weights_only_unpickler._path_of
    assert path(Nested.Inner) == (f"{__name__}.Nested.Inner", Nested.Inner)
    assert path((Nested, "a.b")) == ("a.b", Nested)
    with pytest.raises(ValueError, match="expected a tuple of"):
        path((Nested,))


def test_collecting_names_passes_storages() -> None:
    saved = io.BytesIO(_saved({"t": torch.ones(2), "s": Stranger(torch.ones(3))}))
    assert torch.serialization.get_unsafe_globals_in_checkpoint(saved) == [f"{__name__}.Stranger"]
