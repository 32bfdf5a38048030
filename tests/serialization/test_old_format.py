"""The format before zip files, and where storages go: what each part of a file may be, and the devices that packages bring."""

import io
import pickle
import struct
import sys

import pytest
from agreement import same

import mindtorch_v2 as torch
from mindtorch_v2.serialization import _legacy_format as old
from mindtorch_v2.serialization import _locations as locations
from mindtorch_v2.serialization._pickler import Pickler, public_name, stored
from mindtorch_v2.serialization._unpickler import StorageType, is_storage_name, text


def saved(obj, **settings):
    stream = io.BytesIO()
    torch.save(obj, stream, _use_new_zipfile_serialization=False, **settings)
    return stream.getvalue()


def file_of(obj, persistent_id, storages, magic=old.MAGIC_NUMBER, version=old.PROTOCOL_VERSION):
    """A file whose parts are said one by one; `storages` as (key, length, bytes)."""
    stream = io.BytesIO()
    for part in (magic, version, {"little_endian": True}):
        pickle.dump(part, stream, protocol=2)
    Pickler(stream, 2, persistent_id).dump(obj)
    pickle.dump([key for key, _, _ in storages], stream, protocol=2)
    for _, length, data in storages:
        stream.write(struct.pack("<q", length) + data)
    stream.seek(0)
    return stream


FLOATS = struct.pack("<10f", *range(10))


def pid_of(*rest, kind=None, tag="storage"):
    def persistent_id(item):
        return None if stored(item) is None else (tag, kind or torch.FloatStorage, "root", "cpu", *rest)

    return persistent_id


@pytest.mark.parametrize("weights_only", [True, False])
def test_storages_that_are_parts_of_others(weights_only):
    ids = iter([("one", 2, 3), ("two", 5, 5), ("one", 2, 3), None])

    def persistent_id(item):
        return None if stored(item) is None else ("storage", torch.FloatStorage, "root", "cpu", 10, next(ids))

    tensors = [torch.zeros(3), torch.zeros(5), torch.zeros(3), torch.zeros(10)]
    loaded = torch.load(file_of(tensors, persistent_id, [("root", 10, FLOATS)]), weights_only=weights_only)
    assert [tensor.tolist() for tensor in loaded] == [[2, 3, 4], [5, 6, 7, 8, 9], [2, 3, 4], list(range(10))]
    loaded[3][2] = 100
    assert loaded[0][0].item() == loaded[2][0].item() == 100
    assert loaded[0].untyped_storage().nbytes() == 12


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_classes_that_kept_their_source():
    def persistent_id(item):
        if item is collected:
            return "module", dict, "file.py", "class dict: pass"
        return None

    collected = set
    assert torch.load(file_of([collected], persistent_id, []), weights_only=False) == [dict]


@pytest.mark.parametrize("weights_only", [True, False])
def test_files_that_are_none(weights_only):
    def said(kind, *arguments, **settings):
        with pytest.raises(kind) as raised:
            torch.load(file_of(*arguments, **settings), weights_only=weights_only)
        return str(raised.value)

    root = [("root", 10, FLOATS)]
    value = torch.zeros(10)
    assert torch.load(file_of(value, pid_of(10, None), root)).tolist() == list(range(10))
    assert said(RuntimeError, 1, pid_of(), [], magic=7) == "Invalid magic number; corrupt file?"
    assert said(RuntimeError, 1, pid_of(), [], version=7) == "Invalid protocol version: 7"
    assert said(RuntimeError, value, pid_of(10), root) == "Unknown saved id type: storage"
    assert said(RuntimeError, value, pid_of(10, None, None), root) == "Unknown saved id type: storage"
    assert "expected a storage class, got" in said(
        pickle.UnpicklingError, value, pid_of(10, None, kind=dict if not weights_only else set), root
    )
    for count in (-1, None, 1.0):
        assert "a storage's length must be a number, got" in said(
            pickle.UnpicklingError, value, pid_of(count, None), root
        )
    assert (
        said(RuntimeError, value, pid_of(10, None), [("other", 10, FLOATS)])
        == "storage of an unknown key; corrupt file?"
    )
    assert (
        said(RuntimeError, value, pid_of(10, None), [("root", 9, FLOATS)])
        == "storage has wrong byte size; corrupt file?"
    )
    assert (
        said(RuntimeError, value, pid_of(10, None), [("root", 11, FLOATS)])
        == "storage has wrong byte size; corrupt file?"
    )
    cut = said(RuntimeError, value, pid_of(10, None), [("root", 10, FLOATS[:-3])])
    assert cut == "unexpected EOF, expected 3 more bytes. The file might be corrupted."


def test_a_tag_of_another_kind():
    with pytest.raises(RuntimeError, match="Unknown saved id type: other"):
        torch.load(file_of(torch.zeros(2), pid_of(2, None, tag="other"), []), weights_only=False)


def test_a_file_that_is_refused_is_where_it_was():
    stream = io.BytesIO(b"??" + pickle.dumps(7, protocol=2))
    stream.seek(2)
    with pytest.raises(RuntimeError, match="Invalid magic number"):
        torch.load(stream)
    assert stream.tell() == 2


def test_lengths_of_none_and_of_meta():
    loaded = torch.load(io.BytesIO(saved({"none": torch.empty(0), "some": torch.ones(2)})))
    assert (loaded["none"].shape, loaded["some"].tolist()) == ((0,), [1.0, 1.0])
    moved = torch.load(io.BytesIO(saved({"none": torch.empty(0), "some": torch.ones(2)})), map_location="meta")
    assert {value.device.type for value in moved.values()} == {"meta"}
    # What follows the file is not read.
    stream = io.BytesIO(saved(torch.ones(2)) + b"after")
    torch.load(stream, map_location="meta")
    assert stream.read() == b"after"


def test_what_pytorch_wrote():
    def program(torch):
        base = torch.arange(6, dtype=torch.float64)
        stream = io.BytesIO()
        torch.save(
            [base[1:4], base, torch.nn.Parameter(base[:2]), {"s": torch.Size([2])}],
            stream,
            _use_new_zipfile_serialization=False,
        )
        parts = io.BytesIO(stream.getvalue())
        head = [pickle.load(parts) for _ in range(3)]
        return head[:2], head[2]["protocol_version"], head[2]["little_endian"], head[2]["type_sizes"]

    same(program)


def test_two_types_of_one_memory_are_refused():
    base = torch.zeros(4)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        saved([base, base.view(torch.int32)])
    loaded = torch.load(io.BytesIO(saved([base, base[1:]])))
    assert loaded[1].data_ptr() == loaded[0].data_ptr() + 4


def test_storages_of_a_legacy_file_are_filled():
    loaded = torch.load(io.BytesIO(saved({str(n): torch.full((n,), n, dtype=torch.int16) for n in range(1, 5)})))
    assert {name: value.tolist() for name, value in loaded.items()} == {str(n): [n] * n for n in range(1, 5)}


@pytest.fixture
def registry():
    before = list(locations._package_registry)
    yield locations._package_registry
    locations._package_registry[:] = before


def test_packages_are_asked_in_their_order(registry):
    asked = []

    def package(name, tag=None, found=None):
        def tagger(storage):
            asked.append(name)
            return tag

        def deserializer(storage, location):
            asked.append((name, location))
            return found

        return tagger, deserializer

    storage = torch.ones(2).untyped_storage()
    torch.serialization.register_package(9, *package("late"))
    torch.serialization.register_package(-1, *package("early"))
    torch.serialization.register_package(1, *package("mine", "mine", storage))
    assert [priority for priority, _, _ in registry] == sorted(priority for priority, _, _ in registry)
    assert torch.serialization.location_tag(torch.zeros(1).untyped_storage()) == "mine"
    assert torch.serialization.default_restore_location(torch.zeros(1).untyped_storage(), "x") is storage
    assert asked == ["early", "mine", ("early", "x"), ("mine", "x")]
    registry[:] = registry[:1]
    with pytest.raises(RuntimeError, match="don't know how to determine data location of"):
        torch.serialization.location_tag(storage)
    with pytest.raises(
        RuntimeError, match=r"don't know how to restore data location of .*UntypedStorage \(tagged with cpu\)"
    ):
        torch.serialization.default_restore_location(storage, "cpu")


def test_locations():
    cpu, meta = torch.ones(2).untyped_storage(), torch.UntypedStorage(8, device="meta")
    tag, restore = torch.serialization.location_tag, torch.serialization.default_restore_location
    assert (tag(cpu), tag(meta)) == ("cpu", "meta")
    assert restore(cpu, "cpu") is cpu
    assert (restore(cpu, "meta").device.type, restore(cpu, "meta").nbytes()) == ("meta", 8)
    for name in ("cuda", "cuda:0", "cuda:3"):
        with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
            restore(cpu, name)
    for name in ("cudax", "other", "xcuda:0", "npux", "cpu:0", ""):
        with pytest.raises(RuntimeError, match="don't know how to restore data location"):
            restore(cpu, name)


def test_forms_of_map_location():
    stream = saved({"a": torch.ones(2)})

    def load(location):
        return torch.load(io.BytesIO(stream), map_location=location)["a"]

    assert load({"cpu": "meta"}).is_meta and not load({"meta": "cpu", "cuda:0": "meta"}).is_meta
    assert load(torch.device("meta")).is_meta and not load(torch.device("cpu")).is_meta
    given = []

    def moved(storage, tag):
        given.append((type(storage), tag, storage.nbytes()))
        return torch.UntypedStorage(8, device="meta")

    assert load(moved).is_meta
    assert given == [(torch.UntypedStorage, "cpu", 8)]
    assert load(lambda storage, tag: None).tolist() == [1.0, 1.0]
    assert locations.is_meta("meta") and locations.is_meta(torch.device("meta"))
    for other in (None, "cpu", {"cpu": "meta"}, lambda storage, tag: storage, torch.device("cpu")):
        assert not locations.is_meta(other)


def test_names_of_globals():
    assert public_name(torch.float32) == ("torch", "float32")
    assert public_name(torch.nn.Linear) == ("torch.nn.modules.linear", "Linear")
    assert public_name(torch.Size) == ("torch", "Size")
    assert public_name(torch.Tensor) == ("torch", "Tensor")
    assert public_name(torch._utils._rebuild_tensor_v2) == ("torch._utils", "_rebuild_tensor_v2")
    assert public_name(torch._utils._rebuild_from_type_v2) == ("torch._tensor", "_rebuild_from_type_v2")
    assert public_name(torch.UntypedStorage) == ("torch.storage", "UntypedStorage")
    assert public_name(torch.device) == ("torch", "device")
    assert public_name(torch.nn.Linear, "Other") == ("torch.nn.modules.linear", "Other")
    assert public_name(dict) is None
    assert public_name(3) is None

    class Strange:
        __module__ = "mindtorch_v2x"

    assert public_name(Strange) is None
    Strange.__module__ = "torch"
    assert public_name(Strange) == ("torch", "test_names_of_globals.<locals>.Strange")
    Strange.__module__ = "mindtorch_v2"
    assert public_name(Strange) == ("torch", "test_names_of_globals.<locals>.Strange")
    Strange.__module__ = None
    assert public_name(Strange) is None
    with pytest.raises(pickle.PicklingError, match="a class inside of another one needs protocol 4"):
        saved(_Holder.Inner, pickle_protocol=2)


class _Holder:
    class Inner:
        pass


_Holder.Inner.__module__ = "mindtorch_v2.made_up"


def test_names_of_storages():
    for module in ("torch", "torch.storage", "torch.cuda"):
        for name in ("UntypedStorage", "FloatStorage", "BFloat16Storage", "ComplexDoubleStorage"):
            assert is_storage_name(module, name)
    assert not is_storage_name("torch", "Tensor")
    assert not is_storage_name("torch.nn", "FloatStorage")
    kind = StorageType("HalfStorage")
    assert (kind.name, kind.untyped, kind.dtype, repr(kind)) == (
        "HalfStorage",
        False,
        torch.float16,
        "StorageType(dtype=torch.float16)",
    )
    kind = StorageType("UntypedStorage")
    assert (kind.untyped, kind.dtype, str(kind)) == (True, torch.uint8, "StorageType(dtype=torch.uint8)")
    assert (text(b"ab"), text("ab"), text(3)) == ("ab", "ab", 3)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_what_is_stored():
    assert stored(3) is None
    assert stored(torch.ones(2)) is None
    memory, kind, count, dtype = stored(torch.ones(2).untyped_storage())
    assert (kind, count, dtype, memory.nbytes()) == (torch.UntypedStorage, 8, torch.uint8, 8)
    memory, kind, count, dtype = stored(torch.ones(2).storage())
    assert (kind, count, dtype, memory.nbytes()) == (torch.FloatStorage, 2, torch.float32, 8)


def test_globals_of_trusted_files():
    def load(body):
        stream = io.BytesIO()
        for part in (old.MAGIC_NUMBER, old.PROTOCOL_VERSION, {}):
            pickle.dump(part, stream, protocol=2)
        stream.write(b"\x80\x02" + body + b".")
        pickle.dump([], stream, protocol=2)
        stream.seek(0)
        return torch.load(stream, weights_only=False)

    assert load(b"ctorch.nn.modules.linear\nLinear\n") is torch.nn.Linear
    assert load(b"ctorch\nzeros\n") is torch.zeros
    assert load(b"ctorch\nSize\n") is torch.Size
    assert load(b"ctorch._tensor\n_rebuild_from_type_v2\n") is torch._utils._rebuild_from_type_v2
    assert load(b"cmindtorch_v2.nn\nLinear\n") is torch.nn.Linear
    assert load(b"ccollections\nOrderedDict\n").__name__ == "OrderedDict"
    assert load(b"c__builtin__\nset\n") is set
    assert repr(load(b"ctorch.cuda\nFloatStorage\n")) == "StorageType(dtype=torch.float32)"
    assert sys.intern(load(b"ctorch\nfloat64\n").__repr__()) == "torch.float64"
    with pytest.raises(ModuleNotFoundError):
        load(b"ctorchx\nzeros\n")
    with pytest.raises(AttributeError):
        load(b"ctorch\nno_such_thing\n")


def test_the_old_format_is_not_mapped(tmp_path):
    file = tmp_path / "old"
    torch.save({"a": torch.ones(2)}, file, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        torch.load(file, mmap=True)
    assert torch.load(file, mmap=False)["a"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("view", [("one", 8, 3), ("one", 10, 1), ("one", 11, 0)])
def test_parts_that_reach_beyond_their_storage(view):
    made = file_of([torch.zeros(3)], pid_of(10, view), [("root", 10, FLOATS)])
    with pytest.raises(RuntimeError, match="a view of a storage reaches beyond it; corrupt file"):
        torch.load(made, weights_only=False)


@pytest.mark.parametrize("view", [("one", 8), ["one", 1, 3], 7])
def test_parts_that_are_none(view):
    made = file_of([torch.zeros(3)], pid_of(10, view), [("root", 10, FLOATS)])
    with pytest.raises(pickle.UnpicklingError, match="a view of a storage is .key, offset, size."):
        torch.load(made, weights_only=False)


def test_places_of_the_framework_come_in_pytorchs_order(registry):
    """Packages of a program lie between them by their numbers: as in PyTorch, 22 is the meta device's."""
    assert [number for number, _, _ in registry] == sorted(number for number, _, _ in registry)
    torch.serialization.register_package(21, lambda storage: "mine" if storage.nbytes() == 1 else None, lambda *_: None)
    torch.serialization.register_package(22.5, lambda storage: "other", lambda storage, location: None)
    tag = torch.serialization.location_tag
    assert tag(torch.UntypedStorage(1)) == "cpu"
    assert tag(torch.UntypedStorage(1, device="meta")) == "mine"
    assert tag(torch.UntypedStorage(2, device="meta")) == "meta"


def test_storages_of_other_devices_are_asked_to_go_there():
    class Storage:
        def to(self, device="cpu"):
            return device

    restore = torch.serialization.default_restore_location
    assert restore(Storage(), "npu:1") == "npu:1"
    assert restore(Storage(), "npu") == "npu"
    with pytest.raises(RuntimeError, match="don't know how to restore data location"):
        restore(Storage(), "npux")
