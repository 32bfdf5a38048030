"""Saved files: PyTorch reads ours and we read PyTorch's; sharing, views, devices, mapping, the archive's layout."""

import collections
import io
import os
import pickle
import stat
import zipfile

import pytest
from recording import answer

import mindtorch_v2
from mindtorch_v2.serialization import _locations as locations

ours = mindtorch_v2

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


def saved(lib, obj, **settings):
    stream = io.BytesIO()
    lib.save(obj, stream, **settings)
    stream.seek(0)
    return stream


def values(lib):
    """One of everything that a checkpoint holds."""
    base = lib.arange(24, dtype=lib.float32).reshape(4, 6)
    items = {
        "base": base,
        "view": base[1:3, ::2],
        "transposed": base.t(),
        "scalar": lib.tensor(2.5, dtype=lib.float64),
        "empty": lib.empty(0, 3),
        "parameter": lib.nn.Parameter(lib.ones(3)),
        "frozen": lib.nn.Parameter(lib.ones(2), requires_grad=False),
        "leaf": lib.ones(2, requires_grad=True),
        "ordered": collections.OrderedDict([("b", 1), ("a", lib.zeros(1))]),
        "counter": collections.Counter("aab"),
        "nested": [(1, (2.5, None)), {"x": [True, b"bytes", "text \u00e9"]}, {1, 2}, 1 + 2j],
        "large": 2**70,
        "negative": -5,
        "size": lib.Size([2, 3]),
        "dtype": lib.bfloat16,
        "device": lib.device("cpu"),
        "meta": lib.empty(2, 3, device="meta", dtype=lib.float16),
        "conjugate": lib.tensor([1 + 2j]).conj(),
        "numbers": list(range(1000)),
        "names": {f"key {i}": i / 3 for i in range(200)},
    }
    for dtype in DTYPES:
        items[dtype] = lib.arange(5).to(getattr(lib, dtype))
    return items


def plain(value):
    """A value without its library: tensors as (kind, dtype, shape, stride, offset, grad, elements)."""
    if hasattr(value, "untyped_storage"):
        data = None if value.device.type == "meta" else value.detach().resolve_conj()
        return (
            type(value).__name__,
            str(value.dtype),
            tuple(value.shape),
            value.stride(),
            value.storage_offset(),
            value.requires_grad,
            data if data is None else data.tolist(),
        )
    if isinstance(value, dict):
        return type(value).__name__, {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(item) for item in value]
    if type(value).__module__.startswith(("torch", "mindtorch_v2")):
        return str(value)
    return value


def assert_same(found, expected):
    found, expected = plain(found)[1], plain(expected)[1]
    assert list(found) == list(expected)
    for key in expected:
        assert found[key] == expected[key], key


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("weights_only", [True, False])
def test_round_trip(zipped, weights_only):
    stream = saved(ours, values(ours), _use_new_zipfile_serialization=zipped)
    assert_same(ours.load(stream, weights_only=weights_only), values(ours))


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("weights_only", [True, False])
def test_pytorch_reads_ours(zipped, weights_only):
    theirs = pytest.importorskip("torch")
    stream = saved(ours, values(ours), _use_new_zipfile_serialization=zipped)
    assert_same(theirs.load(stream, weights_only=weights_only), values(ours))


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("weights_only", [True, False])
def test_we_read_pytorchs(zipped, weights_only):
    def ask(theirs):
        stream = saved(theirs, values(theirs), _use_new_zipfile_serialization=zipped)
        return stream.getvalue(), [[key, repr(value)] for key, value in plain(values(theirs))[1].items()]

    stream, expected = answer(ask)
    found = plain(ours.load(io.BytesIO(stream), weights_only=weights_only))[1]
    assert [[key, repr(value)] for key, value in found.items()] == expected


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_protocols(protocol):
    theirs = pytest.importorskip("torch")
    stream = saved(ours, {"a": ours.ones(2), "o": collections.OrderedDict(x=1)}, pickle_protocol=protocol)
    loaded = theirs.load(stream, weights_only=False)
    assert loaded["a"].tolist() == [1.0, 1.0]
    stream.seek(0)
    assert ours.load(stream, weights_only=False)["a"].tolist() == [1.0, 1.0]


def test_module_and_optimizer_states_cross_over():
    theirs = pytest.importorskip("torch")

    def trained(lib):
        lib.manual_seed(0)
        model = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.BatchNorm1d(4), lib.nn.Linear(4, 2))
        optimizer = lib.optim.AdamW(model.parameters())
        model(lib.ones(5, 3)).sum().backward()
        optimizer.step()
        return model, optimizer

    model, optimizer = trained(ours)
    stream = saved(ours, {"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    their_model, their_optimizer = trained(theirs)
    state = theirs.load(stream)
    their_model.load_state_dict(state["model"])
    their_optimizer.load_state_dict(state["optimizer"])
    stream = saved(theirs, {"model": their_model.state_dict(), "optimizer": their_optimizer.state_dict()})
    state = ours.load(stream)
    assert [v.tolist() for v in state["model"].values()] == [v.tolist() for v in model.state_dict().values()]
    optimizer.load_state_dict(state["optimizer"])


def test_shared_memory_stays_shared():
    base = ours.zeros(10)
    loaded = ours.load(saved(ours, {"base": base, "part": base[2:5], "again": base}))
    loaded["part"].fill_(7)
    assert loaded["base"].tolist() == [0.0, 0.0, 7.0, 7.0, 7.0] + [0.0] * 5
    assert loaded["again"] is loaded["base"]


def test_one_memory_as_two_dtypes_is_refused():
    base = ours.zeros(4)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        saved(ours, [base, base.view(ours.int32)])


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storages():
    loaded = ours.load(saved(ours, ours.arange(3, dtype=ours.uint8).untyped_storage()))
    assert loaded.tolist() == [0, 1, 2]
    stored = answer(lambda theirs: saved(theirs, theirs.arange(3, dtype=theirs.uint8).untyped_storage()).getvalue())
    assert ours.load(io.BytesIO(stored)).tolist() == [0, 1, 2]


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_pytorch_reads_our_storages():
    theirs = pytest.importorskip("torch")
    loaded = theirs.load(saved(ours, ours.arange(3, dtype=ours.uint8).untyped_storage()))
    assert loaded.tolist() == [0, 1, 2]


def test_layout_of_the_archive(tmp_path):
    path = tmp_path / "weights.v2.pt"
    ours.save({"a": ours.arange(10.0), "b": ours.ones(3)}, path)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert names == [
            "weights.v2/data.pkl",
            "weights.v2/.format_version",
            "weights.v2/.storage_alignment",
            "weights.v2/byteorder",
            "weights.v2/data/0",
            "weights.v2/data/1",
            "weights.v2/version",
            "weights.v2/.data/serialization_id",
        ]
        assert archive.read("weights.v2/version") == b"3\n"
        assert archive.read("weights.v2/byteorder") == b"little"
        assert len(archive.read("weights.v2/.data/serialization_id")) == 40
        for info in archive.infolist():
            assert info.compress_type == zipfile.ZIP_STORED
            with open(path, "rb") as file:
                file.seek(info.header_offset + 26)
                name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
            assert (info.header_offset + 30 + name + extra) % 64 == 0
        data = archive.read("weights.v2/data.pkl")
    assert b"mindtorch" not in data
    assert b"ctorch._utils\n_rebuild_tensor_v2\n" in data
    assert b"ctorch\nFloatStorage\n" in data


def test_mapping(tmp_path):
    path = tmp_path / "m.pt"
    ours.save({"a": ours.arange(1000.0)}, path)
    before = path.read_bytes()
    loaded = ours.load(path, mmap=True)["a"]
    assert loaded.sum().item() == 499500.0
    loaded.fill_(1)
    assert path.read_bytes() == before
    theirs = pytest.importorskip("torch")
    assert theirs.load(path, mmap=True)["a"][999].item() == 999.0
    theirs.save({"a": theirs.arange(1000.0)}, path)
    assert ours.load(str(path), mmap=True)["a"][999].item() == 999.0
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        ours.load(io.BytesIO(before), mmap=True)
    ours.save({"a": ours.ones(2)}, path, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        ours.load(path, mmap=True)


def test_mapping_shared(tmp_path):
    path = tmp_path / "m.pt"
    ours.save({"a": ours.zeros(100)}, path)
    with ours.serialization.set_default_mmap_options(1):
        ours.load(path, mmap=True)["a"].fill_(3)
    assert ours.serialization.get_default_mmap_options() == 2
    with ours.serialization.set_default_mmap_options(1):
        assert ours.load(path, mmap=True)["a"][5].item() == 3.0


@pytest.mark.parametrize("zipped", [True, False])
def test_map_location(zipped):
    def load(location):
        return ours.load(saved(ours, ours.ones(3), _use_new_zipfile_serialization=zipped), map_location=location)

    for location in (None, "cpu", ours.device("cpu"), {"cpu": "cpu"}, {}, lambda s, tag: s, lambda s, tag: None):
        assert load(location).tolist() == [1.0] * 3
    for location in ("meta", ours.device("meta"), {"cpu": "meta"}):
        assert load(location).device.type == "meta"
        assert load(location).shape == (3,)
    tags = []
    load(lambda storage, tag: tags.append((type(storage), tag)))
    assert tags == [(ours.UntypedStorage, "cpu")]
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        load("cuda")
    with pytest.raises(RuntimeError, match="don't know how to restore data location"):
        load("xyz")


def test_meta_reads_no_data():
    stream = saved(ours, {"a": ours.ones(1000)})
    data = bytearray(stream.getvalue())
    at = data.find(ours.ones(1000).numpy().tobytes()) if hasattr(ours.Tensor, "numpy") else -1
    if at < 0:
        pytest.skip("needs NumPy exchange")
    data[at : at + 4000] = b"\xff" * 4000
    assert ours.load(io.BytesIO(bytes(data)), map_location="meta")["a"].shape == (1000,)
    with pytest.raises(RuntimeError, match="CRC-32 check failed"):
        ours.load(io.BytesIO(bytes(data)))


def test_byte_order():
    stream = saved(ours, {"a": ours.arange(3.0), "c": ours.tensor([1 + 2j])})
    swapped = io.BytesIO()
    with zipfile.ZipFile(stream) as old, zipfile.ZipFile(swapped, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("byteorder"):
                data = b"big"
            elif "/data/" in name:
                data = b"".join(data[i : i + 4][::-1] for i in range(0, len(data), 4))
            new.writestr(name, data)
    swapped.seek(0)
    loaded = ours.load(swapped)
    assert loaded["a"].tolist() == [0.0, 1.0, 2.0]
    assert loaded["c"].tolist() == [1 + 2j]


class Point:
    def __init__(self, x):
        self.x = x


def test_user_classes_need_trust():
    stream = saved(ours, {"p": Point(ours.ones(1))})
    assert ours.load(stream, weights_only=False)["p"].x.item() == 1.0
    stream.seek(0)
    with ours.serialization.safe_globals([Point]):
        assert ours.load(stream)["p"].x.item() == 1.0


def test_own_modules_need_trust_by_the_name_that_files_have():
    layer = ours.nn.TransformerEncoderLayer(4, 2)
    kinds = [type(each) for each in layer.modules()]
    stream = saved(ours, layer)
    with ours.serialization.safe_globals([*kinds, ours.nn.functional.relu]):
        assert repr(ours.load(stream)) == repr(layer)
    stream.seek(0)
    with (
        ours.serialization.safe_globals(kinds[1:]),
        pytest.raises(pickle.UnpicklingError, match="TransformerEncoderLayer"),
    ):
        ours.load(stream)


def test_pickles_of_tensors():
    tensor = ours.arange(6.0).reshape(2, 3)[:, 1:]
    again = pickle.loads(pickle.dumps(tensor))
    assert again.tolist() == tensor.tolist()
    parameter = pickle.loads(pickle.dumps(ours.nn.Parameter(ours.ones(2))))
    assert isinstance(parameter, ours.nn.Parameter)


def test_attributes_and_subclasses():
    tensor = ours.ones(2)
    tensor.note = "kept"
    loaded = ours.load(saved(ours, tensor), weights_only=False)
    assert loaded.note == "kept"
    theirs = pytest.importorskip("torch")
    loaded = theirs.load(saved(ours, tensor), weights_only=True)
    assert loaded.note == "kept"


def test_tensors_with_a_history_are_leaves_when_they_come_back():
    file = saved(ours, ours.ones(2, requires_grad=True) * 2)
    loaded = ours.load(file)
    assert loaded.tolist() == [2.0, 2.0] and loaded.is_leaf and loaded.requires_grad
    theirs = pytest.importorskip("torch")
    file.seek(0)
    loaded = theirs.load(file)
    assert loaded.tolist() == [2.0, 2.0] and loaded.is_leaf and loaded.requires_grad


def test_files_and_paths(tmp_path):
    path = tmp_path / "x.pt"
    ours.save(1, str(path))
    ours.save(2, path)
    assert ours.load(path) == 2
    with open(path, "rb") as file:
        assert ours.load(file) == 2
    with open(path, "wb") as file:
        ours.save(3, file)
    assert ours.load(str(path)) == 3
    assert oct(os.stat(path).st_mode & 0o777) == oct(0o666 & ~_umask())
    os.chmod(path, 0o600)
    ours.save(4, path)
    assert os.stat(path).st_mode & 0o777 == 0o600
    link = tmp_path / "link.pt"
    link.symlink_to(path)
    ours.save(5, link)
    assert link.is_symlink()
    assert ours.load(path) == 5


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_map_of_devices_is_asked_for_its_own_tags_only(monkeypatch):
    file = io.BytesIO()
    with monkeypatch.context() as patch:
        patch.setattr(locations, "location_tag", lambda storage: "cuda:0")
        ours.save(ours.ones(2), file)
    file.seek(0)
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        ours.load(file, map_location={"cuda:1": "cpu"})
    file.seek(0)
    assert ours.load(file, map_location={"cuda:0": "cpu"}).tolist() == [1, 1]


def test_all_is_on_the_disk_before_the_name_is(tmp_path, monkeypatch):
    """The whole file is synced, then the directory: nothing waits in a buffer of the program."""
    path, synced = tmp_path / "saved.pt", []

    def sync(descriptor):
        status = os.fstat(descriptor)
        assert path.exists() == stat.S_ISDIR(status.st_mode)
        synced.append(status.st_size)

    monkeypatch.setattr(os, "fsync", sync)
    ours.save({"x": ours.arange(1000)}, path)
    assert synced[:1] == [path.stat().st_size]


def _wrapper_of(torch):
    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype)

        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return cls(func(args[0].inner)) if func is torch.ops.aten.detach.default else NotImplemented

    return Wrapper


def test_wrappers_are_saved_by_what_they_hold():
    """They have no memory of their own: nothing of what lies where it would be gets into the file, as in PyTorch's."""
    kind = _wrapper_of(ours)
    globals()["Wrapper"] = kind
    kind.__qualname__ = "Wrapper"
    stream = io.BytesIO()
    ours.save(kind(ours.arange(6.0).view(2, 3)), stream)
    with zipfile.ZipFile(io.BytesIO(stream.getvalue())) as archive:
        pickled = archive.read("archive/data.pkl")
        assert [name for name in archive.namelist() if "/data/" in name] == ["archive/data/0"]
    assert b"_rebuild_wrapper_subclass" in pickled
    stream.seek(0)
    with ours.serialization.safe_globals([kind]):
        loaded = ours.load(stream)
    assert type(loaded) is kind and loaded.shape == (2, 3) and loaded.inner.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("zipped", [True, False])
def test_a_file_object_is_flushed(tmp_path, zipped):
    with open(tmp_path / "a.pt", "wb") as file:
        ours.save(ours.arange(3), file, _use_new_zipfile_serialization=zipped)
        assert ours.load(tmp_path / "a.pt").tolist() == [0, 1, 2]


@pytest.mark.parametrize("zipped", [True, False])
def test_empty_memory_of_two_dtypes(zipped):
    stream, x = io.BytesIO(), ours.empty(0)
    ours.save([x, x.view(ours.uint8)], stream, _use_new_zipfile_serialization=zipped)
    stream.seek(0)
    assert [each.dtype for each in ours.load(stream)] == [ours.float32, ours.uint8]


def test_old_files_are_read_into_their_place():
    """Not into bytes first: a large file has no room twice."""

    class Counting(io.BytesIO):
        largest = 0

        def read(self, size=-1):
            data = super().read(size)
            self.largest = max(self.largest, len(data))
            return data

    stream = Counting()
    ours.save(ours.arange(100_000), stream, _use_new_zipfile_serialization=False)
    stream.seek(0)
    assert ours.load(stream).sum() == 4_999_950_000 and stream.largest < 10_000
    stream.seek(0)
    assert ours.load(stream, map_location="meta").shape == (100_000,)
