"""The zip archive of saved files: sizes and numbers of records past 32 and 16 bits, streams, versions, byte order, checksums."""

import collections
import contextlib
import io
import mmap
import pickle
import struct
import sys
import zipfile

import pytest
from recording import answer

import mindtorch_v2 as torch
from mindtorch_v2.serialization import _archive as archive
from mindtorch_v2.serialization import _zip_format as zip_format

FOUR_GIB = 1 << 32


def saved(obj, **settings):
    stream = io.BytesIO()
    torch.save(obj, stream, **settings)
    return stream.getvalue()


def changed(data, compress=(), drop=(), **records):
    """A saved file with other records, named as `data_pkl`."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            short = name.split("/", 1)[1].replace("/", "_").replace(".", "_")
            if short not in drop:
                kind = zipfile.ZIP_DEFLATED if short in compress else zipfile.ZIP_STORED
                new.writestr(name, records.get(short, old.read(name)), kind)
    out.seek(0)
    return out


class Sparse:
    """A file that skips what is large."""

    def __init__(self, file):
        self.file = file

    def write(self, data):
        size = memoryview(data).nbytes
        if size > 1 << 20:
            self.file.seek(size, io.SEEK_CUR)
        else:
            self.file.write(data)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """An archive of more than four GiB, on a file with holes: names, sizes, and the memory that was written last."""
    folder = tmp_path_factory.mktemp("large")
    with open(folder / "source", "w+b") as source:
        source.truncate(FOUR_GIB + 9)
        memory = mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ)
    sizes = {"under": FOUR_GIB - 2, "after": 3, "at": FOUR_GIB - 1, "over": FOUR_GIB + 9, "end": 5}
    with open(folder / "large.zip", "wb") as file:
        writer = archive.ArchiveWriter(Sparse(file), "large", compute_crc32=False)
        for name, size in sizes.items():
            writer.write(name, b"x" * size if size < 100 else memoryview(memory)[:size])
        writer.close()
    with open(folder / "large.zip", "rb") as file:
        yield file, sizes


def test_records_of_more_than_four_gib(large):
    file, sizes = large
    found = {info.filename.partition("/")[2]: info for info in zipfile.ZipFile(file).infolist()}
    assert list(found) == [*sizes, ".data/serialization_id"]
    position = 0
    for name, info in found.items():
        size = sizes.get(name, 40)
        assert (info.file_size, info.compress_size) == (size, size)
        assert info.header_offset == position
        assert info.extract_version == (45 if size >= FOUR_GIB - 1 or position >= FOUR_GIB - 1 else 0)
        # The header before the data says the same as the directory.
        file.seek(position)
        header = struct.unpack("<4s5H3I2H", file.read(30))
        assert header[:1] == (b"PK\x03\x04",)
        assert header[1] == (45 if size >= FOUR_GIB - 1 else 0)
        assert header[2:7] == (0x0800, 0, 0, 0, 0)
        assert header[7:9] == (min(size, FOUR_GIB - 1),) * 2
        assert file.read(header[9]) == f"large/{name}".encode()
        extra, position = file.read(header[10]), file.tell()
        assert position % 64 == 0
        if size >= FOUR_GIB - 1:
            assert struct.unpack("<2H2Q", extra[:20]) == (1, 16, size, size)
            extra = extra[20:]
        assert extra[:2] == b"FB"
        assert extra[2:] == struct.pack("<H", len(extra) - 4) + b"Z" * (len(extra) - 4)
        position += size
    reader = archive.ArchiveReader(file)
    assert reader.read("end") == b"xxxxx"
    assert [reader.size(name) for name in sizes] == list(sizes.values())
    assert [reader.check_extent(name) % 64 for name in sizes] == [0] * len(sizes)
    assert reader.names() == [*sizes, ".data/serialization_id"]
    assert reader.has("end") and not reader.has("large/end")


@pytest.mark.parametrize("count", [1, 65534, 65535])
def test_ends_of_the_directory(count):
    stream = io.BytesIO()
    writer = archive.ArchiveWriter(stream, "a")
    writer._entries = [(b"a/b", 0, 0, 0)] * count
    writer.close()
    data, total = stream.getvalue(), count + 1
    end, locator = struct.unpack("<4s4H2IH", data[-22:]), struct.unpack("<4sIQI", data[-42:-22])
    wide = struct.unpack("<4sQ2H2I4Q", data[-98:-42])
    length = total * 46 + count * 3 + len("a/.data/serialization_id")
    start = len(data) - 98 - length
    assert end == (b"PK\x05\x06", 0, 0, min(total, 65535), min(total, 65535), length, start, 0)
    assert locator == (b"PK\x06\x07", 0, len(data) - 98, 1)
    assert wide == (b"PK\x06\x06", 44, 798, 45, 0, 0, total, total, length, start)
    first = struct.unpack("<4s6H3I5H2I", data[start : start + 46])
    assert first == (b"PK\x01\x02", 0, 0, 0x0800, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0)
    assert len(zipfile.ZipFile(stream).infolist()) == total


def test_a_serialization_id_says_what_is_in_the_file():
    def number(obj, **settings):
        with zipfile.ZipFile(io.BytesIO(saved(obj, **settings))) as file:
            return file.read("archive/.data/serialization_id")

    same = {"a": torch.ones(3)}
    assert number(same) == number({"a": torch.ones(3)})
    assert number(same).endswith(b"06") and len(number(same)) == 40
    assert (
        len({number(same), number({"a": torch.zeros(3)}), number({"b": torch.ones(3)}), number({"a": torch.ones(4)})})
        == 4
    )


def test_several_files_in_one_stream():
    stream = io.BytesIO(b"before")
    stream.seek(6)
    torch.save({"a": torch.arange(3)}, stream)
    old = stream.tell()
    torch.save([1, 2], stream, _use_new_zipfile_serialization=False)
    torch.save({"b": torch.ones(2)}, stream, _use_new_zipfile_serialization=False)
    stream.seek(0, io.SEEK_END)
    place = stream.tell()
    torch.save({"c": torch.ones(2)}, stream)
    stream.seek(old)
    assert torch.load(stream) == [1, 2]
    assert torch.load(stream)["b"].tolist() == [1.0, 1.0]
    assert stream.tell() == place
    assert torch.load(stream)["c"].tolist() == [1.0, 1.0]
    assert stream.tell() == len(stream.getvalue())
    alone = io.BytesIO(b"before" + saved({"a": torch.arange(3)}))
    alone.seek(6)
    assert torch.load(alone)["a"].tolist() == [0, 1, 2]
    assert alone.tell() == len(alone.getvalue())


def test_streams_of_few_methods(tmp_path):
    class Written:
        def __init__(self):
            self.data = b""

        def write(self, data):
            self.data += bytes(data)

    class Read:
        def __init__(self, data):
            stream = io.BytesIO(data)
            self.seek, self.tell, self.read, self.readline = stream.seek, stream.tell, stream.read, stream.readline

    class Slow(io.BytesIO):
        def readinto(self, view):
            return super().readinto(memoryview(view)[:7])

    written = Written()
    torch.save({"a": torch.arange(100)}, written)
    for stream in (Read(written.data), Slow(written.data)):
        assert torch.load(stream)["a"].tolist() == list(range(100))
    with pytest.raises(AttributeError, match="'Read' object has no attribute 'tell'"):
        stream = Read(written.data)
        del stream.tell
        torch.load(stream)
    with pytest.raises(AttributeError, match="'Read' object has no attribute 'seek'"):
        stream = Read(written.data)
        del stream.seek
        torch.load(stream)


def test_the_folder_in_the_archive(tmp_path):
    for name, folder in (("a.pt", "a"), ("b", "b"), ("c.d.pt", "c.d"), (".pt", ".pt"), (".e.pt", ".e")):
        torch.save(1, tmp_path / name)
        with zipfile.ZipFile(tmp_path / name) as file:
            assert {each.partition("/")[0] for each in file.namelist()} == {folder}
        assert torch.load(tmp_path / name) == 1


@pytest.mark.parametrize("version", [b"0\n", b"1", b"3\n", b"9\n", b"10\n", b"11\n", b"-1", b"x", b""])
def test_versions(version):
    file = changed(saved([1]), version=version)
    if version in (b"x", b""):
        with pytest.raises(RuntimeError, match="Attempted to read a PyTorch file whose version is not a number"):
            torch.load(file)
    elif version == b"11\n":
        with pytest.raises(RuntimeError, match="with version 11, but the maximum supported version for reading is 10"):
            torch.load(file)
    else:
        assert torch.load(file) == [1]


@pytest.fixture
def orders():
    yield torch.serialization.LoadEndianness
    torch.serialization.set_default_load_endianness(None)


def test_byte_orders(orders):
    known = torch.serialization
    numbers = answer(lambda theirs: {each.name: each.value for each in theirs.serialization.LoadEndianness})
    assert {each.name: each.value for each in orders} == numbers
    assert known.get_default_load_endianness() is None
    data = saved(torch.tensor([1, 256], dtype=torch.int16), _disable_byteorder_record=True)
    assert b"byteorder" not in data
    native = [1, 256] if sys.byteorder == "little" else [256, 1]
    for order, expected in ((None, native), (orders.LITTLE, native), (orders.NATIVE, [1, 256]), (orders.BIG, [256, 1])):
        known.set_default_load_endianness(order)
        assert known.get_default_load_endianness() is order
        assert torch.load(io.BytesIO(data)).tolist() == expected
        reader = archive.ArchiveReader(io.BytesIO(data))
        assert zip_format.byte_order(reader) == {orders.BIG: "big", orders.NATIVE: sys.byteorder}.get(order, "little")
    # What a file says goes before.
    assert torch.load(io.BytesIO(saved(torch.tensor([1, 256], dtype=torch.int16)))).tolist() == [1, 256]
    with pytest.raises(TypeError, match="Invalid argument type in function set_default_load_endianness"):
        known.set_default_load_endianness("little")


@pytest.mark.parametrize(
    "dtype",
    [
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "bool",
        "uint8",
    ],
)
def test_other_byte_orders(dtype):
    tensor = torch.arange(1, 4).to(getattr(torch, dtype))
    width = tensor.element_size() // (2 if tensor.is_complex() else 1)
    data = saved(tensor)
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        raw = file.read("archive/data/0")
    turned = b"".join(raw[at : at + width][::-1] for at in range(0, len(raw), width))
    assert torch.load(changed(data, byteorder=b"big", data_0=turned)).tolist() == tensor.tolist()


def test_checksums():
    known = torch.serialization
    assert known.get_crc32_options() is True
    tensor = torch.arange(100, dtype=torch.uint8)
    known.set_crc32_options(False)
    try:
        assert known.get_crc32_options() is False
        without = saved(tensor)
    finally:
        known.set_crc32_options(True)
    with_them = saved(tensor)
    raw = bytes(range(100))
    for data, checked in ((without, False), (with_them, True)):
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            assert all((info.CRC != 0) == checked for info in file.infolist())
        damaged = data.replace(raw, b"\xff" + raw[1:])
        if checked:
            with pytest.raises(RuntimeError, match="reading file data/0: CRC-32 check failed"):
                torch.load(io.BytesIO(damaged))
        else:
            assert torch.load(io.BytesIO(damaged))[:3].tolist() == [255, 1, 2]


def test_archives_that_are_none_of_ours():
    data = saved(torch.ones(3))
    with pytest.raises(RuntimeError, match="reading file data.pkl: compressed records are not supported"):
        torch.load(changed(data, compress=["data_pkl"]))
    with pytest.raises(RuntimeError, match="locating file data.pkl: file not found. This is an internal miniz error"):
        torch.load(changed(data, drop=["data_pkl"]))
    plain = io.BytesIO()
    with zipfile.ZipFile(plain, "w") as file:
        file.writestr("name", b"")
    with pytest.raises(RuntimeError, match=r"file in archive is not in a subdirectory: \['name'\]"):
        torch.load(io.BytesIO(plain.getvalue()))
    with zipfile.ZipFile(plain, "a") as file:
        file.writestr("other", b"")
    with pytest.raises(RuntimeError, match=r"file in archive is not in a subdirectory: \['name'\]"):
        torch.load(io.BytesIO(plain.getvalue()))
    with pytest.raises(
        RuntimeError, match="failed reading zip archive: failed finding central directory. This is an internal"
    ):
        torch.load(io.BytesIO(data[:-30]))
    script = io.BytesIO(data)
    with zipfile.ZipFile(script, "a") as file:
        file.writestr("archive/constants.pkl", b"")
        file.writestr("other/version", b"99")
    with pytest.raises(RuntimeError, match="Cannot use ``weights_only=True`` with TorchScript archives"):
        torch.load(io.BytesIO(script.getvalue()))
    with pytest.raises(ValueError, match="Unknown endianness type: mid"):
        torch.load(changed(data, byteorder=b"mid"))


def test_records_of_another_folder_are_not_seen():
    stream = io.BytesIO(saved([1]))
    with zipfile.ZipFile(stream, "a") as file:
        file.writestr("other/version", b"99")
        file.writestr("archive/more/deep", b"x")
    reader = archive.ArchiveReader(stream)
    assert reader.folder == "archive"
    assert reader.read("version") == b"3\n"
    assert reader.read("more/deep") == b"x"
    assert not reader.has("other/version")


def test_damaged_headers():
    data = bytearray(saved(torch.ones(3)))
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as file:
        at = {info.filename: info.header_offset for info in file.infolist()}["archive/data/0"]
    broken = bytes(data[:at]) + b"PK\x03\x05" + bytes(data[at + 4 :])
    with pytest.raises(RuntimeError, match="reading file data/0: invalid header"):
        torch.load(io.BytesIO(broken))
    reader = archive.ArchiveReader(io.BytesIO(bytes(data)))
    with pytest.raises(RuntimeError, match="failed locating file none: file not found"):
        reader.offset("none")
    reader._info["data/0"].header_offset = len(data) - 10
    with pytest.raises(RuntimeError, match="reading file data/0: invalid header"):
        reader.offset("data/0")
    reader._info["data/0"].header_offset = at
    reader._info["data/0"].file_size = len(data)
    with pytest.raises(RuntimeError, match="reading file data/0: file read failed"):
        reader.check_extent("data/0")
    with pytest.raises(RuntimeError, match="reading file data/0: file read failed"):
        reader.read("data/0")
    reader._info["data/0"].file_size = len(data) + 1
    with pytest.raises(RuntimeError, match="reading file data/0: file read failed"):
        reader.read("data/0")
    # The last byte of the file may be a record's.
    reader._info["data/0"].file_size = len(data) - reader.offset("data/0")
    assert reader.check_extent("data/0") == reader.offset("data/0")
    reader._info["data/0"].file_size += 1
    with pytest.raises(RuntimeError, match="reading file data/0: file read failed"):
        reader.check_extent("data/0")


COUNTS = [b"K\x04", b"K\x02", b"J\xff\xff\xff\xff", b"N", b"G?\xf0\x00\x00\x00\x00\x00\x00"]


@pytest.mark.parametrize("count", COUNTS)
def test_lengths_of_storages(count):
    pid = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu" + count + b"tQ"
    body = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + pid + b"K\x00K\x03\x85K\x01\x85\x89NtR."
    size = {COUNTS[0]: 16, COUNTS[1]: 8}.get(count)
    kind, said = RuntimeError, f"record size \\(12 bytes\\) does not match expected size \\({size} bytes"
    if size is None:
        kind, said = pickle.UnpicklingError, "a storage's length must be a number, got"
    with pytest.raises(kind, match=said):
        torch.load(changed(saved(torch.ones(3)), data_pkl=body))


WORDS = {
    "none": (b")Q", "Unknown typename for persistent_load, expected 'storage' but got 'None'"),
    "number": (b"K\x01Q", "persistent_load id must be a tuple"),
    "four": (b"(X\x07\x00\x00\x00storageK\x01K\x01K\x01tQ", "expected 'storage' but got 'storage'"),
    "six": (b"(X\x07\x00\x00\x00storageK\x01K\x01K\x01K\x01K\x01tQ", "expected 'storage' but got 'storage'"),
    "class": (
        b"(X\x07\x00\x00\x00storageK\x01X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x01tQ",
        "expected a storage class, got 1",
    ),
}


@pytest.mark.parametrize("case", WORDS)
@pytest.mark.parametrize("weights_only", [True, False])
def test_words_that_are_no_storage(case, weights_only):
    body, said = WORDS[case]
    file = changed(saved(torch.ones(3)), data_pkl=b"\x80\x02" + body + b".")
    with pytest.raises((RuntimeError, pickle.UnpicklingError), match=said):
        torch.load(file, weights_only=weights_only)


def test_words_of_python_2():
    body = (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((U\x07storagectorch\nFloatStorage\nU\x010U\x03cpuK\x03tQ"
        b"K\x00K\x03\x85K\x01\x85\x89NtR."
    )
    file = changed(saved(torch.ones(3)), data_pkl=body)
    assert torch.load(file).tolist() == [1.0] * 3
    file.seek(0)
    assert torch.load(file, weights_only=False, encoding="bytes").tolist() == [1.0] * 3


def test_a_storage_is_read_once(tmp_path):
    both = torch.load(io.BytesIO(saved([torch.zeros(3).untyped_storage()] * 2)))
    assert both[0].data_ptr() == both[1].data_ptr()
    base = torch.arange(6.0)
    path = tmp_path / "m.pt"
    torch.save({"a": base, "b": base[2:], "empty": torch.empty(0), "c": torch.ones(2)}, path)
    mapped = torch.load(path, mmap=True)
    mapped["a"].fill_(5)
    assert mapped["b"].tolist() == [5.0] * 4
    assert mapped["c"].tolist() == [1.0, 1.0]
    assert mapped["empty"].shape == (0,)
    on_meta = torch.load(path, mmap=True, map_location="meta")
    assert {value.device.type for value in on_meta.values()} == {"meta"}


def test_other_devices_are_copied_to_be_saved():
    stream = io.BytesIO()
    torch.save(torch.empty(3, device="meta"), stream)
    stream.seek(0)
    loaded = torch.load(stream)
    assert (loaded.device.type, loaded.shape) == ("meta", (3,))


class Renamed(pickle.Pickler):
    used = 0

    def __init__(self, *args, **settings):
        Renamed.used += 1
        super().__init__(*args, **settings)


class Module:
    """A pickle module of the caller's."""

    Pickler, Unpickler = Renamed, pickle.Unpickler
    dump, load = staticmethod(pickle.dump), staticmethod(pickle.load)


def test_pickle_modules_of_the_callers():
    before = Renamed.used
    data = saved({"a": [1, 2]}, pickle_module=Module)
    assert Renamed.used == before + 1
    assert torch.load(io.BytesIO(data), pickle_module=Module) == {"a": [1, 2]}
    stored = saved(torch.ones(2).untyped_storage(), pickle_module=Module)
    assert torch.load(io.BytesIO(stored), pickle_module=Module, weights_only=False).nbytes() == 8


@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
def test_protocols_of_the_pickle(protocol):
    value = {"a": torch.ones(2), "n": list(range(100)), "d": {str(i): i for i in range(100)}, "t": torch.float16}
    for zipped in (True, False):
        data = saved(value, pickle_protocol=protocol, _use_new_zipfile_serialization=zipped)
        loaded = torch.load(io.BytesIO(data), weights_only=False)
        assert list(loaded) == list(value)
        assert (loaded["a"].tolist(), loaded["n"], loaded["d"], loaded["t"]) == (
            [1.0, 1.0],
            value["n"],
            value["d"],
            torch.float16,
        )
    if protocol >= 2:
        with zipfile.ZipFile(io.BytesIO(saved(value, pickle_protocol=protocol))) as file:
            assert file.read("archive/data.pkl")[:2] == bytes([0x80, protocol])


class Outer:
    class Inner:
        pass


def test_what_is_pickled_by_name():
    for value in (
        collections.OrderedDict,
        torch.nn.Linear,
        torch.Tensor,
        Outer,
        len,
        type(None),
        type(...),
        torch.strided,
        torch.channels_last,
    ):
        for protocol in (2, 4):
            assert torch.load(io.BytesIO(saved(value, pickle_protocol=protocol)), weights_only=False) is value
    assert torch.load(io.BytesIO(saved(Outer.Inner, pickle_protocol=4)), weights_only=False) is Outer.Inner
    assert torch.load(io.BytesIO(saved(torch.nn.functional.relu)), weights_only=False) is torch.nn.functional.relu
    assert type(torch.load(io.BytesIO(saved(torch.nn.Linear(2, 1))), weights_only=False)) is torch.nn.Linear


def test_long_lists_are_pickled_without_memory():
    """Texts that come again in a list of at most 64 items are kept once, in longer ones as often as they come."""

    def count(obj, **settings):
        with zipfile.ZipFile(io.BytesIO(saved(obj, **settings))) as file:
            return file.read("archive/data.pkl").count(b"again")

    text = "again"
    assert (count([text] * 64), count([text] * 65)) == (1, 65)
    assert (count(dict.fromkeys(range(64), text)), count(dict.fromkeys(range(65), text))) == (1, 65)
    assert count([text] * 65, pickle_protocol=3) == 65
    assert count([text] * 65, pickle_protocol=4) == 1
    assert count([text] * 64 + [()]) == 1
    assert count({**dict.fromkeys(range(65), text), (): 1}) == 1
    assert count({**dict.fromkeys(range(65), text), 1: []}) == 1
    for value in ([text] * 65, dict.fromkeys(range(65), text)):
        again = torch.load(io.BytesIO(saved([value, value])))
        assert again == [value, value]
        assert again[0] is again[1]


def test_mapping_options(tmp_path):
    known = torch.serialization
    assert (known.MAP_SHARED, known.MAP_PRIVATE) == (mmap.MAP_SHARED, mmap.MAP_PRIVATE)
    assert known.get_default_mmap_options() == mmap.MAP_PRIVATE
    path = tmp_path / "m.pt"
    torch.save(torch.zeros(3), path)
    torch.load(path, mmap=True).fill_(1)
    assert torch.load(path).tolist() == [0.0] * 3
    with known.set_default_mmap_options(mmap.MAP_SHARED):
        assert known.get_default_mmap_options() == mmap.MAP_SHARED
        with known.set_default_mmap_options(mmap.MAP_PRIVATE):
            torch.load(path, mmap=True).fill_(1)
        torch.load(path, mmap=True)[1:].fill_(2)
    assert known.get_default_mmap_options() == mmap.MAP_PRIVATE
    assert torch.load(path, mmap=True).tolist() == [0.0, 2.0, 2.0]
    kept = known.set_default_mmap_options(mmap.MAP_SHARED)
    assert known.get_default_mmap_options() == mmap.MAP_SHARED
    kept.__exit__(None, None, None)
    for flags in (0, 3, mmap.MAP_SHARED | mmap.MAP_PRIVATE):
        with pytest.raises(ValueError, match=f"expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}"):
            known.set_default_mmap_options(flags)
    assert known.get_default_mmap_options() == mmap.MAP_PRIVATE


ENVIRONMENT = [
    # (force, forbid, weights_only, pickle module given) -> only weights
    ("0", "0", None, False, True), ("0", "0", None, True, False), ("0", "0", True, False, True), ("0", "0", False, False, False),
    ("1", "0", None, False, True), ("1", "0", False, False, True), ("yes", "0", False, False, True), ("y", "0", False, False, True),
    ("true", "0", False, False, True), ("no", "0", False, False, False),
    ("0", "1", None, False, False), ("0", "1", True, False, True), ("0", "1", False, False, False),
]  # fmt: skip


@pytest.mark.parametrize(("force", "forbid", "given", "module", "expected"), ENVIRONMENT)
def test_what_decides_that_only_weights_are_read(monkeypatch, force, forbid, given, module, expected):
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", force)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", forbid)
    settings = {"pickle_module": pickle} if module else {}
    for zipped in (True, False):
        file = io.BytesIO(saved(Outer(), _use_new_zipfile_serialization=zipped))
        if expected:
            with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
                torch.load(file, weights_only=given, **settings)
        else:
            told = pytest.warns(UserWarning, match="forcing weights_only=False")
            with told if forbid == "1" and given is None else contextlib.nullcontext():
                assert type(torch.load(file, weights_only=given, **settings)) is Outer


def test_orders_of_the_environment_that_exclude_each_other(monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"):
        torch.load(io.BytesIO(saved(1)), pickle_module=pickle)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or"):
        torch.load(io.BytesIO(saved(1)))


def test_texts_of_refusals():
    def said(body):
        with pytest.raises(pickle.UnpicklingError) as raised:
            torch.load(changed(saved(1), data_pkl=b"\x80\x02" + body))
        assert raised.value.__suppress_context__
        return str(raised.value)

    start = "Weights only load failed. Re-running `torch.load` with `weights_only` set to `False` will likely succeed"
    assert said(b"ca\nb\n.").startswith(start)
    assert (
        "source.\n\tOtherwise see the remedy in the following message.\n\tWeightsUnpickler error: Unsupported global: GLOBAL a.b"
        in said(b"ca\nb\n.")
    )
    assert "source.\n\n\nTrying to load unsupported GLOBAL os.b whose module os is blocked." in said(b"cos\nb\n.")
    assert "source.\n\tWeightsUnpickler error: \n\nUnsupported operand 254" in said(b"\xfe.")
    with pytest.raises(pickle.UnpicklingError, match="invalid load key"):
        torch.load(changed(saved(1), data_pkl=b"\x80\x02\xfe."), weights_only=False)


def test_layouts_and_storage_classes():
    known = torch.serialization
    assert known._get_layout("torch.strided") is torch.strided
    assert known._get_layout("torch.sparse_coo") is torch.sparse_coo
    with pytest.raises(KeyError):
        known._get_layout("torch.float32")
    assert known.normalize_storage_type(torch.FloatStorage) is torch.FloatStorage
    assert known.storage_to_tensor_type(torch.FloatStorage()) is torch.FloatTensor
    assert known.storage_to_tensor_type(torch.ones(2).long().storage()) is torch.LongTensor


# Quantized storages hold no numbers of their own.
STORED = sorted(
    str(dtype).removeprefix("torch.")
    for dtype in torch.storage._dtype_to_storage_type_map()
    if not str(dtype).startswith("torch.q")
)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("dtype", STORED)
def test_storages_of_every_dtype(dtype, zipped):
    kind = getattr(torch, dtype)
    tensor = torch.arange(4).to(kind)
    for made in (tensor.storage(), tensor):
        loaded = torch.load(io.BytesIO(saved(made, _use_new_zipfile_serialization=zipped)), weights_only=False)
        assert type(loaded) is type(made)
        assert loaded.dtype == kind
        assert loaded.tolist() == tensor.tolist()
    whole = torch.load(io.BytesIO(saved([tensor[1:], tensor.storage()], _use_new_zipfile_serialization=zipped)))
    assert whole[0].data_ptr() == whole[1].data_ptr() + tensor.element_size()


NEW = [
    "uint16",
    "uint32",
    "uint64",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "complex32",
]


@pytest.mark.parametrize("dtype", NEW)
def test_dtypes_without_storage_classes(dtype):
    data = answer(lambda theirs: _of_theirs(theirs, dtype))
    loaded = torch.load(io.BytesIO(data))
    assert loaded.dtype == getattr(torch, dtype)
    assert bytes(loaded.untyped_storage()) == bytes(range(16))
    with zipfile.ZipFile(io.BytesIO(data)) as theirs, zipfile.ZipFile(io.BytesIO(saved(loaded))) as ours:
        assert ours.read("archive/data.pkl") == theirs.read("archive/data.pkl")


def _of_theirs(theirs, dtype):
    stream = io.BytesIO()
    theirs.save(theirs.arange(16, dtype=theirs.uint8).view(getattr(theirs, dtype)), stream)
    return stream.getvalue()


def test_mapped_files(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    mapped = archive.map_file(path)
    mapped[0] = 120
    assert (path.read_bytes(), bytes(mapped)) == (b"abc", b"xbc")
    shared = archive.map_file(path, shared=True)
    shared[0] = 121
    assert path.read_bytes() == b"ybc"


def test_texts_in_an_archive(monkeypatch):
    def reader(text, kind):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as new:
            new.writestr("a/code/it.py", text, kind)
        out.seek(0)
        return archive.ArchiveReader(out)

    for kind in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        assert reader("größer\n" * 50, kind).read_text("code/it.py") == "größer\n" * 50
        with pytest.raises(RuntimeError, match="failed reading file code/it.py"):
            reader(b"\xff\xfe", kind).read_text("code/it.py")
    monkeypatch.setattr(archive, "_LARGEST_TEXT", 4)
    assert reader("four", zipfile.ZIP_STORED).read_text("code/it.py") == "four"
    with pytest.raises(RuntimeError, match="5 bytes of text, at most 4 are read"):
        reader("fives", zipfile.ZIP_STORED).read_text("code/it.py")


def test_storages_without_a_type_come_back_as_they_were():
    storage = torch.load(io.BytesIO(saved(torch.UntypedStorage([1, 2, 3]))))
    assert type(storage) is torch.UntypedStorage
    assert list(storage) == [1, 2, 3]
    typed = torch.load(io.BytesIO(saved(torch.ones(2).storage())), weights_only=False)
    assert type(typed) is torch.storage.TypedStorage
