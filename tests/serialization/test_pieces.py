"""Small parts of reading and writing: long texts in pieces, memory formats, what a collector skips, old texts."""

import io
import os
import pickle

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
