"""Damaged, truncated and malicious files: a clear error, nothing run, and saving never harms what is there."""

import errno
import io
import os
import pickle
import random
import signal
import subprocess
import sys
import time
import warnings
import zipfile

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.serialization import _archive as archive_module

RAN = []


def _run(*args):
    RAN.append(args)


class Evil:
    """Object that pickles as a call."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


def saved(obj, **settings):
    stream = io.BytesIO()
    torch.save(obj, stream, **settings)
    return stream.getvalue()


def with_records(data, **changes):
    """An archive with some records replaced (None: left out); names as `data_pkl`, `data_0`."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            short = name.split("/", 1)[1].replace("/", "_").replace(".", "_")
            record = changes.get(short, old.read(name))
            if record is not None:
                new.writestr(name, record)
    out.seek(0)
    return out


@pytest.mark.parametrize(
    "evil",
    [
        Evil(_run, 1),
        Evil(os.system, "true"),
        Evil(eval, "RAN.append(1)"),
        Evil(exec, "1"),
        Evil(__import__, "os"),
        Evil(getattr, torch.Tensor, "sum"),
        Evil(setattr, torch.nn.Parameter, "x", 1),
        Evil(torch.load, "x"),
        Evil(pickle.loads, b"x"),
    ],
)
@pytest.mark.parametrize("zipped", [True, False])
def test_calls_are_refused(evil, zipped):
    RAN.clear()
    data = saved({"a": torch.ones(2), "evil": evil}, _use_new_zipfile_serialization=zipped)
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        torch.load(io.BytesIO(data))
    assert not RAN


def test_messages():
    with pytest.raises(pickle.UnpicklingError) as raised:
        torch.load(io.BytesIO(saved(Evil(_run, 1))))
    name = f"{_run.__module__}._run"
    assert f"Unsupported global: GLOBAL {name} was not an allowed global by default" in str(raised.value)
    assert f"torch.serialization.add_safe_globals([{name}])" in str(raised.value)
    with pytest.raises(pickle.UnpicklingError, match="whose module posix is blocked"):
        torch.load(io.BytesIO(saved(Evil(os.system, "true"))))


PICKLES = {
    "string id": b"\x80\x02X\x01\x00\x00\x00aQ.",
    "other id": b"\x80\x02(X\x01\x00\x00\x00aX\x01\x00\x00\x00btQ.",
    "build int": b"\x80\x02K\x01}b.",
    "call int": b"\x80\x02K\x01)R.",
    "build class": b"\x80\x02ctorch\nTensor\n}X\x01\x00\x00\x00xK\x01sb.",
    "build function": b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}X\x01\x00\x00\x00xK\x01sb.",
    "attributes of class": b"\x80\x02ctorch\nTensor\nN}X\x03\x00\x00\x00sumK\x01s\x86b.",
    "new object": b"\x80\x02ctorch\nTensor\n)\x81.",
    "rebuild type": b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(K\x01ctorch\nTensor\n)NtR.",
    "append to int": b"\x80\x02K\x01K\x02a.",
    "set on list": b"\x80\x02]K\x01K\x02s.",
    "no mark": b"\x80\x02t.",
    "empty stack": b"\x80\x02.",
    "memo": b"\x80\x02h\x07.",
    "opcode": b"\x80\x02\xff.",
    "inst": b"\x80\x02(ios\nsystem\n.",
    "obj": b"\x80\x02(cos\nsystem\no.",
    "extension": b"\x80\x02\x82\x01.",
    "truncated": b"\x80\x02}q\x00",
    "text": b"hello",
    "empty": b"",
}


@pytest.mark.parametrize("case", PICKLES)
def test_hostile_pickles(case):
    data = saved({"a": torch.ones(2)})
    with pytest.raises(pickle.UnpicklingError):
        torch.load(with_records(data, data_pkl=PICKLES[case]))
    assert callable(torch.Tensor.sum)


def doubled(times):
    """A pickle of a tuple that holds the one before it twice, `times` times over."""
    return b"\x80\x02)q\x00" + b"h\x00\x86q\x00" * times


def nested(times):
    """A pickle of tuples inside each other."""
    return b"\x80\x02)" + b"\x85" * times


@pytest.mark.parametrize("tuples", [doubled(60), nested(1_000_000), nested(501)])
@pytest.mark.parametrize("use", ["key", "keys", "member", "set", "alone"])
def test_tuples_that_take_for_ever_to_hash(tuples, use):
    """As keys they would be hashed, part by part: for longer than there is time, or deeper than there is stack."""
    body = tuples[2:]
    data = {
        "key": b"\x80\x02}" + body + b"Ns.",
        "keys": b"\x80\x02}(" + body + b"Nu.",
        "member": b"\x80\x02\x8f(" + body + b"\x90.",
        "set": b"\x80\x02c__builtin__\nset\n](" + body + b"e\x85R.",
        "alone": b"\x80\x02" + body + b".",
    }[use]
    with pytest.raises(pickle.UnpicklingError, match="if written out: at most"):
        torch.load(with_records(saved(1), data_pkl=data))


def test_tuples_in_tuples_as_programs_have_them():
    value = ((1, (2, (3,))), ((1, 2), (1, 2)))
    for _ in range(400):
        value = (value,)
    assert torch.load(io.BytesIO(saved({value: [value]}))) == {value: [value]}


def test_memory_that_the_file_does_not_hold():
    with pytest.raises(pickle.UnpicklingError, match="bytearray is allowed with the bytes that it holds only"):
        torch.load(with_records(saved(1), data_pkl=b"\x80\x02cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R."))
    with pytest.raises(pickle.UnpicklingError, match="Ran out of input"):
        torch.load(with_records(saved(1), data_pkl=b"\x80\x02B\xff\xff\xff\xffab."))
    assert torch.load(io.BytesIO(saved(bytearray(b"ab")))) == bytearray(b"ab")


def test_exceptions_of_the_caller_are_handed_on():
    def where(storage, location):
        raise KeyError("mine")

    for zipped in (True, False):
        with pytest.raises(KeyError, match="mine"):
            torch.load(io.BytesIO(saved(torch.ones(2), _use_new_zipfile_serialization=zipped)), map_location=where)


def legacy(data, **changes):
    """A file of the old format with its pickles changed: the list of keys, or the object's."""
    stream = io.BytesIO(data)
    for _ in range(3):
        pickle.load(stream)
    head = data[: stream.tell()]
    body = data[stream.tell() :]
    end = body.index(b".\x80\x02]") + 1
    keys_end = body.index(b".", end + 3) + 1
    parts = {"object": body[:end], "keys": body[end:keys_end], "rest": body[keys_end:]} | changes
    return io.BytesIO(head + parts["object"] + parts["keys"] + parts["rest"])


def test_old_files_without_the_data_of_a_storage():
    data = saved(torch.ones(1000), _use_new_zipfile_serialization=False)
    assert torch.load(legacy(data)).sum() == 1000
    with pytest.raises(RuntimeError, match="names 1 storages whose data it does not hold"):
        torch.load(legacy(data, keys=pickle.dumps([], protocol=2)))
    for keys in (5, [None], [("a",)], "text"):
        with pytest.raises((RuntimeError, pickle.UnpicklingError)):
            torch.load(legacy(data, keys=pickle.dumps(keys, protocol=2)))


def test_old_files_that_claim_more_than_they_hold():
    data = saved(torch.ones(1000), _use_new_zipfile_serialization=False)
    body = data.replace(b"M\xe8\x03N", b"J\xff\xff\xff\x7fN")
    assert body != data
    with pytest.raises(RuntimeError, match="is larger than the whole file"):
        torch.load(io.BytesIO(body))


@pytest.mark.parametrize("zipped", [True, False])
def test_random_damage_raises_one_of_two(zipped):
    """RuntimeError or UnpicklingError, as promised, whatever a byte more, less or other makes of a file."""
    data = saved({"a": torch.arange(6.0), ("b", 1): [2, {"c"}, b"d"]}, _use_new_zipfile_serialization=zipped)
    if zipped:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            pickled = archive.read("archive/data.pkl")
    generator = random.Random(7)
    loaded = 0
    for _ in range(2000):
        damaged = bytearray(pickled if zipped else data)
        for _ in range(generator.randint(1, 3)):
            at = generator.randrange(len(damaged))
            damaged[at : at + generator.randint(0, 2)] = generator.randbytes(generator.randint(0, 2))
        file = with_records(data, data_pkl=bytes(damaged)) if zipped else io.BytesIO(bytes(damaged))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                torch.load(file)
            except (RuntimeError, pickle.UnpicklingError):  # one of the two, as promised
                continue
            loaded += 1
    assert loaded < 1000


def storage_pickle(offset, size, stride, kind=b"FloatStorage", count=b"K\x02"):
    return (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\n" + kind + b"\n"
        b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpu" + count + b"tQ" + offset + size + b"\x85" + stride + b"\x85\x89NtR."
    )


@pytest.mark.parametrize(
    ("offset", "size", "stride"),
    [
        (b"K\x00", b"J\xff\xff\xff\x00", b"K\x01"),
        (b"J\xff\xff\xff\xff", b"K\x01", b"K\x01"),
        (b"K\x02", b"K\x01", b"K\x01"),
        (b"K\x00", b"K\x02", b"M\xff\xff"),
        (b"K\x00", b"J\xff\xff\xff\xff", b"K\x01"),
        (b"K\x00", b"K\x02", b"J\xff\xff\xff\xff"),
        (b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", b"K\x01", b"K\x01"),
        (b"K\x00", b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"),
        (b"N", b"K\x01", b"K\x01"),
    ],
)
def test_tensors_cannot_reach_outside_their_storage(offset, size, stride):
    data = saved({"a": torch.ones(2)})
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        torch.load(with_records(data, data_pkl=storage_pickle(offset, size, stride)))


@pytest.mark.parametrize("count", [b"K\x03", b"J\xff\xff\xff\x7f", b"J\xff\xff\xff\xff", b"N"])
def test_storage_sizes_must_match(count):
    data = saved({"a": torch.ones(2)})
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        torch.load(with_records(data, data_pkl=storage_pickle(b"K\x00", b"K\x02", b"K\x01", count=count)))


def test_every_truncation_is_an_error(tmp_path):
    data = saved({"a": torch.arange(50.0), "b": [1, "x"]})
    path = tmp_path / "cut.pt"
    for length in [*range(0, 200, 7), *range(200, len(data), 41), len(data) - 1]:
        with pytest.raises((RuntimeError, pickle.UnpicklingError)):
            torch.load(io.BytesIO(data[:length]))
        path.write_bytes(data[:length])
        with pytest.raises((RuntimeError, pickle.UnpicklingError)):
            torch.load(path, mmap=True)


def test_truncated_old_format():
    data = saved({"a": torch.arange(50.0)}, _use_new_zipfile_serialization=False)
    for length in [*range(0, len(data), 13), len(data) - 1]:
        with pytest.raises((RuntimeError, pickle.UnpicklingError)):
            torch.load(io.BytesIO(data[:length]))


def test_flipped_bytes_are_found():
    data = saved({"a": torch.zeros(100), "b": torch.ones(100)})
    at = data.index(b"\x00\x00\x80\x3f" * 100)
    damaged = bytearray(data)
    damaged[at + 17] ^= 0x10
    with pytest.raises(RuntimeError, match="CRC-32 check failed.*checkpoint file is corrupted"):
        torch.load(io.BytesIO(bytes(damaged)))


def test_files_without_checksums_load():
    torch.serialization.set_crc32_options(False)
    try:
        data = saved(torch.ones(3))
    finally:
        torch.serialization.set_crc32_options(True)
    assert torch.load(io.BytesIO(data)).tolist() == [1.0] * 3


def test_missing_and_wrong_records():
    data = saved({"a": torch.ones(2)})
    with pytest.raises(RuntimeError, match="PytorchStreamReader failed locating file data/0: file not found"):
        torch.load(with_records(data, data_0=None))
    with pytest.raises(RuntimeError, match="does not match expected size"):
        torch.load(with_records(data, data_0=b"1234"))
    with pytest.raises(RuntimeError, match="version 99, but the maximum supported version for reading is 10"):
        torch.load(with_records(data, version=b"99\n"))
    with pytest.raises(ValueError, match="Unknown endianness type: middle"):
        torch.load(with_records(data, byteorder=b"middle"))
    with pytest.raises(RuntimeError, match="hasRecord"):
        torch.load(with_records(data, version=None))


def test_bad_arguments(tmp_path):
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "none.pt")
    with pytest.raises(RuntimeError, match=r"Parent directory .* does not exist"):
        torch.save(1, tmp_path / "none" / "x.pt")
    with pytest.raises(RuntimeError, match="Is a directory"):
        torch.save(1, tmp_path)
    with pytest.raises(AttributeError, match="You can only torch.load from a file that is seekable"):
        torch.load([1])
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like object"):
        torch.save(1, [1])
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module"):
        torch.load(io.BytesIO(saved(1)), pickle_module=pickle, weights_only=True)


def test_unsafe_globals_are_listed():
    data = saved({"a": torch.ones(1), "e": Evil(_run, 1), "s": Evil(os.system, "true")})
    found = torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))
    assert sorted(found) == sorted([f"{_run.__module__}._run", "posix.system"])


def test_allowed_globals():
    before = torch.serialization.get_safe_globals()
    torch.serialization.add_safe_globals([_run, (_run, "other.name")])
    try:
        RAN.clear()
        torch.load(io.BytesIO(saved(Evil(_run, 5))))
        assert RAN == [(5,)]
        assert len(torch.serialization.get_safe_globals()) == len(before) + 2
    finally:
        torch.serialization.clear_safe_globals()


def test_a_failed_save_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.pt"
    torch.save("old", path)
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        torch.save({"x": torch.ones(10), "bad": lambda: 0}, path)
    assert torch.load(path) == "old"

    def full(self, data):
        if self._position > 100:
            raise OSError(errno.ENOSPC, "No space left on device")
        self._file.write(data)
        self._position += len(data)

    monkeypatch.setattr(archive_module.ArchiveWriter, "_write", full)
    with pytest.raises(OSError, match="No space left"):
        torch.save({"x": torch.ones(10)}, path)
    monkeypatch.undo()
    assert torch.load(path) == "old"
    assert os.listdir(tmp_path) == ["x.pt"]


def test_a_full_device_is_an_error():
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    # By its file, not by its path: a fault in what replaces files must not replace a device.
    with open("/dev/full", "wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        torch.save(torch.ones(100000), file)


def test_killed_while_saving(tmp_path):
    path = tmp_path / "x.pt"
    torch.save("old", path)
    code = (
        "import mindtorch_v2 as torch, sys\n"
        "data = {str(i): torch.ones(200000) for i in range(60)}\n"
        "print('go', flush=True)\n"
        f"torch.save(data, {str(path)!r})\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    process.stdout.readline()
    time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    loaded = torch.load(path)
    assert loaded == "old" or len(loaded) == 60


def test_what_starts_programs_is_refused_even_if_the_user_allows_it():
    data = saved(os.execv)
    with torch.serialization.safe_globals([os.execv]):
        with pytest.raises(
            pickle.UnpicklingError, match="unsupported GLOBAL posix.execv whose module posix is blocked"
        ):
            torch.load(io.BytesIO(data))
