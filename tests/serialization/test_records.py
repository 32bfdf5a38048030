"""Files as archives of records, and files that are written without their data."""

import io
import sys
import zipfile

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode

known = torch.serialization
DATA = {"a": b"12039810948234589", "c/d": b"94589480984058"}


@pytest.mark.parametrize("kind", ["path", "file", "buffer"])
def test_records_are_written_and_read(tmp_path, kind):
    path = tmp_path / "records.bin"
    place = {"path": lambda: path, "file": lambda: path.open("w+b"), "buffer": io.BytesIO}[kind]()
    with known._open_zipfile_writer(place) as writer:
        for name, data in DATA.items():
            writer.write_record(name, data + b"more", len(data))
        writer.write_record("text", "words", 5)
        assert writer.archive_name() == ("records" if kind == "path" else "archive")
        with pytest.raises(ValueError, match="the record 'x' is said to have 3 bytes, but only 2 were given"):
            writer.write_record("x", b"ab", 3)
    if kind != "path":
        assert not place.closed
        place.seek(0)
    with known._open_zipfile_reader(place) as reader:
        assert {name: reader.get_record(name) for name in DATA} == DATA
        assert reader.get_record("text") == b"words" and reader.get_record("version") == b"3\n"
        assert reader.get_all_records() == [*DATA, "text", "version", ".data/serialization_id"]
        assert reader.has_record("a") and not reader.has_record("b")
        assert len(reader.serialization_id()) == 40
    if kind == "file":
        place.close()


def test_offsets_are_those_of_the_file():
    file = io.BytesIO()
    torch.save({"x": torch.ones(3), "y": torch.zeros(2)}, file)
    reader = torch._C.PyTorchFileReader(file)
    start = reader.get_record_offset("data/0")
    assert start % 64 == 0
    assert file.getvalue()[start : start + 12] == torch.ones(3).numpy().tobytes()
    assert reader.get_record("byteorder").decode() == sys.byteorder
    with pytest.raises(RuntimeError, match="failed locating file data/7"):
        reader.get_record("data/7")


def test_what_is_no_archive_is_refused_and_closed(tmp_path):
    path = tmp_path / "text"
    path.write_text("no archive")
    with pytest.raises(RuntimeError, match="failed reading zip archive"):
        torch.PyTorchFileReader(path)
    with pytest.raises(AttributeError, match="has no `write` to save records with"):
        torch.PyTorchFileWriter(3)


def test_an_error_leaves_the_archive_unfinished():
    file = io.BytesIO()
    with pytest.raises(KeyError):
        with known._open_zipfile_writer(file) as writer:
            writer.write_record("a", b"a", 1)
            raise KeyError
    assert not zipfile.is_zipfile(file)


@pytest.mark.parametrize("size", [0, 5, (1 << 20) + 3])
def test_blank_records_are_zeros_without_a_checksum(size):
    file = io.BytesIO()
    with known._open_zipfile_writer(file) as writer:
        writer.write_record_metadata("data/0", size)
        writer.write_record("after", b"x", 1)
    with known._open_zipfile_reader(file) as reader:
        place = reader.get_record_offset("data/0")
        assert reader.get_record("data/0") == bytes(size) and reader.get_record("after") == b"x"
        file.seek(place)
        file.write(b"\1" * size)
        assert reader.get_record("data/0") == b"\1" * size


@pytest.mark.parametrize("fake", [False, True])
def test_skipped_data_are_filled_in_later(fake):
    with FakeTensorMode() if fake else torch.no_grad():
        x = torch.ones(2, 3)
        saved = {"x": x, "flat": x.view(-1), "row": x[1], "c": torch.ones(2, dtype=torch.complex32)}
        saved["p"] = torch.nn.Parameter(torch.ones(1))
    file = io.BytesIO()
    with known.skip_data(materialize_fake_tensors=fake):
        torch.save(saved, file)
    file.seek(0)
    loaded = torch.load(file)
    assert type(loaded["x"]) is torch.Tensor and loaded["x"].tolist() == [[0] * 3] * 2
    assert loaded["x"].device.type == "cpu" and loaded["row"].storage_offset() == 3
    assert loaded["flat"].untyped_storage()._cdata == loaded["x"].untyped_storage()._cdata
    assert loaded["c"].tolist() == [0, 0] and loaded["p"].requires_grad
    assert fake or isinstance(loaded["p"], torch.nn.Parameter)
    file.seek(torch.PyTorchFileReader(file).get_record_offset("data/0"))
    file.write(torch.arange(6.0).numpy().tobytes())
    file.seek(0)
    assert torch.load(file)["x"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_skipping_ends_with_its_block_and_nests():
    with known.skip_data():
        with known.skip_data(materialize_fake_tensors=True):
            assert known._serialization_tls.materialize_fake_tensors
        assert known._serialization_tls.skip_data and not known._serialization_tls.materialize_fake_tensors
    assert not known._serialization_tls.skip_data
    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    file.seek(0)
    assert torch.load(file).tolist() == [1, 1]


def test_what_skipping_refuses():
    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    with known.skip_data():
        file.seek(0)
        with pytest.raises(RuntimeError, match="Please call torch.load outside the skip_data context manager"):
            torch.load(file)
        with pytest.raises(RuntimeError, match="Cannot use skip_data=True with _use_new_zipfile_serialization=False"):
            torch.save(torch.ones(2), io.BytesIO(), _use_new_zipfile_serialization=False)
        with pytest.raises(RuntimeError, match="Cannot serialize nested tensor under skip_data context manager"):
            torch.save(nested, io.BytesIO())
        with pytest.warns(UserWarning, match="meta device under skip_data context manager is a no-op"):
            torch.save(torch.empty(2, device="meta"), io.BytesIO())


@pytest.mark.parametrize("weights_only", [True, False])
def test_old_texts_are_read_by_the_encoding(weights_only):
    """A list with a text of Python 2, in the format before the zip files: seven Polish letters, 14 bytes in UTF-8."""
    letters = "\u017c\u0105\u0105\xf3\u017c\u0105\u017c"
    text = letters.encode()
    file = io.BytesIO()
    torch.save("marker", file, _use_new_zipfile_serialization=False)
    content = file.getvalue()
    start = content.index(b"X\x06\x00\x00\x00marker")
    end = start + len(b"X\x06\x00\x00\x00marker")
    written = content[:start] + b"U" + bytes([len(text)]) + text + content[end:]
    read = {
        name: torch.load(io.BytesIO(written), weights_only=weights_only, encoding=name)
        for name in ("utf-8", "bytes", "latin1")
    }
    assert read == {"utf-8": letters, "bytes": text, "latin1": text.decode("latin1")}
    assert torch.load(io.BytesIO(written), weights_only=weights_only) == letters
