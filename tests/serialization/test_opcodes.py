"""The safe pickle reader, opcode by opcode: plain values as `pickle` reads them, and what it refuses."""

import collections
import io
import pickle
import warnings

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _weights_only_unpickler as reader


def read(body, encoding="ASCII"):
    return reader.load(io.BytesIO(body), encoding=encoding)


def shape(value):
    """A value with its classes, dicts and sets in an order of their own."""
    if isinstance(value, dict):
        return type(value).__name__, [(shape(k), shape(v)) for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [shape(v) for v in value]
    if isinstance(value, set):
        return "set", sorted(value)
    return type(value).__name__, repr(value)


_twice = ["twice"]
_itself = []
_itself.append(_itself)
VALUES = [
    *(2**exponent + add for exponent in (7, 8, 15, 16, 31, 32, 63, 64, 71, 2032) for add in (-1, 0, 1)),
    *(-(2**exponent) + add for exponent in (0, 7, 8, 15, 16, 31, 32, 63, 64, 2032) for add in (-1, 0, 1)),
    *(0.0, -0.0, 0.1, 1e300, float("inf"), float("nan"), None, True, False),
    *("", "a", "\u00e9\u4e2d\U0001f600", "\ud800", "x" * 255, "y" * 256, "z" * 70000),
    *(b"\x00\xff", b"x" * 255, b"y" * 256, b"z" * 70000),
    *([], [1], [1, 2], list(range(2500)), [[], [[]]], {}, {1: 2}, {1: 2, "a": [3]}, dict.fromkeys(range(2500))),
    *((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), ((), ((),))),
    *(set(), {1}, set(range(1500)), 1 + 2j, bytearray(b"ab"), bytearray()),
    *(collections.OrderedDict(b=1, a=[2]), collections.OrderedDict(), collections.Counter("aab")),
    [_twice, _twice],
    [str(number) for number in range(300)] * 2,
]  # fmt: skip


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("place", range(len(VALUES)))
@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_plain_values(place, protocol):
    value = VALUES[place]
    body = pickle.dumps(value, protocol)
    if b"\x96" in body[:16] and isinstance(value, bytearray):
        with pytest.raises(pickle.UnpicklingError, match="Unsupported operand 150"):
            read(body)
        return
    found = read(body)
    assert shape(found) == shape(pickle.loads(body)) == shape(value)


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_what_was_one_object_is_one_again(protocol):
    first, second = read(pickle.dumps([_twice, _twice], protocol))
    assert first is second
    many = read(pickle.dumps([[str(number) for number in range(300)]] * 2 + [_twice, _twice], protocol))
    assert many[0] is many[1]
    assert many[2] is many[3]
    itself = read(pickle.dumps(_itself, protocol))
    assert itself[0] is itself


BODIES = [
    b"K\x00.", b"K\xff.", b"M\x01\x02.", b"M\xff\xff.", b"J\x01\x02\x03\x04.", b"J\xff\xff\xff\xff.", b"J\x00\x00\x00\x80.",
    b"\x8a\x00.", b"\x8a\x01\xff.", b"\x8a\x02\x00\x80.", b"\x8a\x03\x01\x02\x03.", b"G?\xf0\x00\x00\x00\x00\x00\x01.",
    b"X\x00\x00\x00\x00.", b"X\x02\x00\x00\x00\xc3\xa9.", b"\x8c\x00.", b"\x8c\x01a.", b"U\x00.", b"U\x02ab.",
    b"B\x00\x00\x00\x00.", b"B\x02\x00\x00\x00\x00\xff.", b"C\x00.", b"C\x03abc.",
    b"N.", b"\x88.", b"\x89.", b"].", b"}.", b").", b"\x8f.", b"(t.", b"(K\x01t.", b"(K\x01K\x02K\x03K\x04t.",
    b"K\x01\x85.", b"K\x01K\x02\x86.", b"K\x01K\x02K\x03\x87.", b"K\x09K\x01\x85\x86.",
    b"]K\x01a.", b"](K\x01K\x02e.", b"](e.", b"]K\x05aK\x06a.", b"}K\x01K\x02s.", b"}(K\x01K\x02K\x03K\x04u.", b"}(u.",
    b"\x8f(K\x01K\x02\x90.", b"\x8f(\x90.",
    b"]q\x00h\x00\x86.", b"]q\x07h\x07\x86.", b"]q\xffh\xff\x86.", b"]r\x01\x00\x00\x00j\x01\x00\x00\x00\x86.",
    b"]r\x00\x01\x00\x00j\x00\x01\x00\x00\x86.", b"]\x94h\x00\x86.", b"]\x94}\x94h\x00h\x01\x86.",
    b"\x95\x03\x00\x00\x00\x00\x00\x00\x00K\x03.",
    b"((K\x01tK\x02t.", b"(K\x01(K\x02tK\x03t.",
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES)
def test_opcodes(body):
    assert shape(read(b"\x80\x02" + body)) == shape(pickle.loads(b"\x80\x02" + body))


@pytest.mark.parametrize("body", [body for body in BODIES if len(body) > 2 and body not in (b"].", b"}.")])
def test_opcodes_that_are_cut_off(body):
    for length in range(1, len(body)):
        with pytest.raises((EOFError, pickle.UnpicklingError)):
            read(b"\x80\x02" + body[:length])


def test_python_2_strings():
    assert read(b"\x80\x02U\x02ab.", "bytes") == b"ab"
    assert read(b"\x80\x02U\x02\xc3\xa9.", "utf-8") == "\u00e9"
    with pytest.raises(pickle.UnpicklingError, match="UnicodeDecodeError: 'ascii' codec can't decode byte 0xff"):
        read(b"\x80\x02U\x01\xff.")
    assert reader.Unpickler(io.BytesIO(b"U\x01a.")).load() == b"a"


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5, 200])
def test_only_protocol_2_is_silent(protocol):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        unpickler = reader.Unpickler(io.BytesIO(b"\x80" + bytes([protocol]) + b"K\x01."))
        assert unpickler.proto == -1
        assert unpickler.load() == 1
    assert unpickler.proto == protocol
    assert len(seen) == (protocol != 2)
    if seen:
        assert str(seen[0].message).startswith(f"Detected pickle protocol {protocol} in the checkpoint")
        assert seen[0].category is UserWarning


class Plain:
    pass


class Slotted:
    __slots__ = ("__dict__", "x")


class Stateful:
    def __setstate__(self, state):
        self.state = state


class Keyed(dict):
    pass


def double(*values):
    return [2 * value for value in values]


def raised_from(body):
    with pytest.raises(pickle.UnpicklingError) as raised:
        read(b"\x80\x02" + body)
    return str(raised.value)


def name_of(kind):
    return f"c{kind.__module__}\n{kind.__qualname__}\n".encode()


TENSOR, PARAMETER, REBUILD = (
    b"ctorch\nTensor\n",
    b"ctorch.nn.parameter\nParameter\n",
    b"ctorch._utils\n_rebuild_parameter\n",
)
FROM_TYPE = b"ctorch._tensor\n_rebuild_from_type_v2\n"
REFUSED = [
    (b"\x93.", "unexpected end of the stack"), (b"K\x01\x93.", "unexpected end of the stack"),
    (b"K\x01K\x02\x93.", "STACK_GLOBAL requires str"), (b"X\x01\x00\x00\x00aK\x02\x93.", "STACK_GLOBAL requires str"),
    (b"K\x02X\x01\x00\x00\x00a\x93.", "STACK_GLOBAL requires str"),
    (b"K\x01)R.", "Trying to call reduce for unrecognized function 1"), (b"R.", "unexpected end of the stack"),
    (b"cbuiltins\nset\nK\x01R.", "REDUCE requires a tuple of arguments"),
    (b"cbuiltins\nset\n]R.", "REDUCE requires a tuple of arguments"),
    (FROM_TYPE + b")R.", r"Trying to call reduce for unrecognized function ()"),
    (FROM_TYPE + b"(cbuiltins\nset\n" + TENSOR + b")tR.", "Trying to call reduce for unrecognized function (<class 'set'>,)"),
    (FROM_TYPE + b"(cbuiltins\nset\n" + TENSOR + b")NNtR.", "Trying to call reduce for unrecognized function (<class 'set'>,)"),
    (FROM_TYPE + b"(K\x01" + TENSOR + b")NtR.", "Trying to call reduce for unrecognized function (1,)"),
    (FROM_TYPE + b"(cbuiltins\nset\ncbuiltins\nset\n)NtR.", "Trying to rebuild a tensor of unrecognized type <class 'set'>"),
    (b"b.", "unexpected end of the stack"), (b"}b.", "unexpected end of the stack"),
    (b"]}b.", "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got <class 'list'>"),
    (b"cbuiltins\nset\n)R}b.", "types allowlisted via `add_safe_globals`, but got <class 'set'>"),
    (b"K\x01)\x81.", "Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got 1"),
    (REBUILD + b")\x81.", "Can only create new object for nn.Parameter or classes allowlisted"),
    (TENSOR + b")\x81.", "Can only create new object for nn.Parameter or classes allowlisted"),
    (b"ccollections\nOrderedDict\nK\x01\x81.", "NEWOBJ requires a tuple of arguments"), (b"\x81.", "unexpected end of the stack"),
    (b"a.", "unexpected end of the stack"), (b"K\x01a.", "unexpected end of the stack"),
    (b"}K\x01a.", "Can only append to lists, but got <class 'dict'>"), (b")K\x01a.", "Can only append to lists, but got <class 'tuple'>"),
    (b"e.", "could not find MARK"), (b"}(K\x01e.", "Can only extend lists, but got <class 'dict'>"),
    (b"(K\x01e.", "unexpected end of the stack"),
    (b"\x90.", "could not find MARK"), (b"](K\x01\x90.", "Can only add to sets, but got <class 'list'>"),
    (b"s.", "unexpected end of the stack"), (b"}K\x01s.", "unexpected end of the stack"),
    (b"]K\x01K\x02s.", "Can only SETITEM for dict, collections.OrderedDict, collections.Counter, but got <class 'list'>"),
    (b"u.", "could not find MARK"), (b"](K\x01K\x02u.", "Can only SETITEMS for dict, collections.OrderedDict, collections.Counter, but got <class 'list'>"),
    (b"}(K\x01u.", "odd number of items for SETITEMS"), (b"}(K\x01K\x02K\x03u.", "odd number of items for SETITEMS"),
    (b"t.", "could not find MARK"), (b"\x85.", "unexpected end of the stack"), (b"K\x01\x86.", "unexpected end of the stack"),
    (b"K\x01K\x02\x87.", "unexpected end of the stack"),
    (b"h\x00.", "Memo value not found at index 0"), (b"]q\x01h\x00.", "Memo value not found at index 0"),
    (b"]j\x05\x00\x00\x00.", "Memo value not found at index 5"), (b"q\x00.", "unexpected end of the stack"),
    (b"\x94.", "unexpected end of the stack"), (b".", "unexpected end of the stack"),
    (b"Q.", "unexpected end of the stack"), (b"K\x01Q.", "unsupported persistent id encountered"),
    (b"]Q.", "persistent_load id must be tuple or int, but got <class 'list'>"),
    (b"X\x01\x00\x00\x00aQ.", "persistent_load id must be tuple or int, but got <class 'str'>"),
    (b"X\x01\x00\x00\x00a\x85Q.", "Only persistent_load of storage is allowed, but got <class 'str'>"),
    (b"C\x01a\x85Q.", "Only persistent_load of storage is allowed, but got <class 'bytes'>"),
    (b"C\x07storage\x85Q.", "unsupported persistent id encountered"),
    (b"X\x07\x00\x00\x00storage\x85Q.", "unsupported persistent id encountered"), (b")Q.", "unsupported persistent id encountered"),
    (b"cos\nsystem\n.", "Trying to load unsupported GLOBAL os.system whose module os is blocked."),
    (b"cos.path\njoin\n.", "Trying to load unsupported GLOBAL os.path.join whose module os is blocked."),
    (b"csys\nexit\n.", "Trying to load unsupported GLOBAL sys.exit whose module sys is blocked."),
    (b"cnt\nsystem\n.", "whose module nt is blocked."), (b"cposix\nsystem\n.", "whose module posix is blocked."),
    (b"cbuiltins\neval\n.", "Unsupported global: GLOBAL eval was not an allowed global by default. Please use `torch.serialization.add_safe_globals([eval])`"),
    (b"c__builtin__\nopen\n.", "Unsupported global: GLOBAL open was not an allowed global"),
    (b"ctorch\nload\n.", "Unsupported global: GLOBAL torch.load was not an allowed global"),
    (b"cmindtorch_v2\nload\n.", "Unsupported global: GLOBAL torch.load was not an allowed global"),
    (b"cmindtorch_v2.nn\nLinear\n.", "Unsupported global: GLOBAL torch.nn.Linear was not an allowed global"),
    (b"cmindtorch_v2x\nload\n.", "Unsupported global: GLOBAL mindtorch_v2x.load was not an allowed global"),
    (b"c_codecs\nencode\n(X\x01\x00\x00\x00aX\x05\x00\x00\x00utf-8tR.", "_codecs.encode is allowed with text and latin1 only"),
    (b"c_codecs\nencode\n(C\x01aX\x06\x00\x00\x00latin1tR.", "_codecs.encode is allowed with text and latin1 only"),
    (b"\xfe.", "Unsupported operand 254"), (b"0.", "Unsupported operand 48"), (b"\x8b\x01\x00\x00\x00\x01.", "Unsupported operand 139"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "said"), REFUSED)
def test_refusals(body, said):
    assert said in raised_from(body)


@pytest.mark.parametrize("body", [b"ctorch\n", b"ctorch", b"c", b"ctorch\nTensor", b"\x80", b"", b"\x95\x01\x02"])
def test_names_that_are_cut_off(body):
    with pytest.raises(EOFError):
        read(body)


def test_calls_that_are_allowed():
    assert read(b"\x80\x02c_codecs\nencode\n(X\x02\x00\x00\x00\xc3\xa9X\x06\x00\x00\x00latin1tR.") == b"\xe9"
    assert read(b"\x80\x02c_codecs\nencode\n(X\x01\x00\x00\x00aX\x05\x00\x00\x00asciitR.") == b"a"
    assert read(b"\x80\x02cbuiltins\ncomplex\nK\x01K\x02\x86R.") == 1 + 2j
    assert read(b"\x80\x02c__builtin__\nbytearray\nC\x01a\x85R.") == bytearray(b"a")
    assert read(b"\x80\x02ctorch\nSize\n](K\x02K\x03e\x85R.") == torch.Size([2, 3])
    assert read(b"\x80\x02ctorch\ndevice\nX\x04\x00\x00\x00meta\x85R.") == torch.device("meta")
    assert read(b"\x80\x02ctorch\nfloat16\n.") is torch.float16
    assert read(b"\x80\x02cmindtorch_v2\nfloat16\n.") is torch.float16
    assert read(b"\x80\x02ctorch\nchannels_last\n.") is torch.channels_last
    assert read(b"\x80\x02ctorch.serialization\n_get_layout\nX\x0d\x00\x00\x00torch.strided\x85R.") is torch.strided
    assert repr(read(b"\x80\x02ctorch\nFloatStorage\n.")) == "StorageType(dtype=torch.float32)"
    assert str(read(b"\x80\x02ctorch.storage\nUntypedStorage\n.")) == "StorageType(dtype=torch.uint8)"
    made = read(b"\x80\x02ccollections\nOrderedDict\n)\x81}X\x01\x00\x00\x00nK\x05sb.")
    assert (type(made), made.n) == (collections.OrderedDict, 5)
    assert read(b"\x80\x02ccollections\nCounter\n)\x81K\x05K\x06s.") == collections.Counter({5: 6})
    assert isinstance(read(b"\x80\x02" + PARAMETER + b")\x81."), torch.nn.Parameter)


@pytest.fixture
def nothing_allowed():
    torch.serialization.clear_safe_globals()
    yield
    torch.serialization.clear_safe_globals()


@pytest.mark.usefixtures("nothing_allowed")
def test_objects_of_classes_that_are_allowed():
    torch.serialization.add_safe_globals([Plain, Slotted, Stateful, Keyed, double])
    assert read(b"\x80\x02" + name_of(Plain) + b")\x81}X\x01\x00\x00\x00xK\x07sb.").__dict__ == {"x": 7}
    assert read(b"\x80\x02" + name_of(Plain) + b")R}X\x01\x00\x00\x00xK\x07sb.").x == 7
    assert read(b"\x80\x02" + name_of(Plain) + b")\x81Nb.").__dict__ == {}
    both = read(b"\x80\x02" + name_of(Slotted) + b")\x81}X\x01\x00\x00\x00yK\x07s}X\x01\x00\x00\x00xK\x08s\x86b.")
    assert (both.x, both.y) == (8, 7)
    slots = read(b"\x80\x02" + name_of(Slotted) + b")\x81N}X\x01\x00\x00\x00xK\x08s\x86b.")
    assert (slots.x, slots.__dict__) == (8, {})
    state = read(b"\x80\x02" + name_of(Slotted) + b")\x81}X\x01\x00\x00\x00yK\x07sN\x86b.")
    assert (state.y, hasattr(state, "x")) == (7, False)
    assert read(b"\x80\x02" + name_of(Stateful) + b")\x81K\x05K\x06\x86b.").state == (5, 6)
    assert dict(read(b"\x80\x02" + name_of(Keyed) + b")\x81(K\x01K\x02K\x03K\x04u.")) == {1: 2, 3: 4}
    assert dict(read(b"\x80\x02" + name_of(Keyed) + b")\x81K\x01K\x02s.")) == {1: 2}
    assert read(b"\x80\x02" + name_of(double) + b"K\x04K\x05\x86R.") == [8, 10]
    assert "Can only create new object" in raised_from(name_of(double) + b")\x81.")
    assert "NEWOBJ requires a tuple" in raised_from(name_of(Plain) + b"]\x81.")
    assert "types allowlisted" in raised_from(name_of(double) + b"}b.")


class Tracked(torch.Tensor):
    pass


@pytest.mark.usefixtures("nothing_allowed")
def test_tensors_of_subclasses():
    tensor = torch.ones(2).as_subclass(Tracked)
    tensor.note = 3
    stream = io.BytesIO()
    torch.save(tensor, stream)
    stream.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="GLOBAL .*Tracked was not an allowed global"):
        torch.load(stream)
    with torch.serialization.safe_globals([Tracked]):
        stream.seek(0)
        loaded = torch.load(stream)
    assert (type(loaded), loaded.note, loaded.tolist()) == (Tracked, 3, [1.0, 1.0])


@pytest.mark.usefixtures("nothing_allowed")
def test_lists_of_what_is_allowed():
    known = torch.serialization
    known.add_safe_globals([Plain, (double, "some.name")])
    assert known.get_safe_globals() == [Plain, (double, "some.name")]
    assert read(b"\x80\x02csome\nname\n.") is double
    with known.safe_globals([Plain, Keyed]):
        assert known.get_safe_globals() == [Plain, (double, "some.name"), Keyed]
        with known.safe_globals([(Plain, "other.name")]):
            assert read(b"\x80\x02cother\nname\n.") is Plain
        assert "GLOBAL other.name was not" in raised_from(b"cother\nname\n.")
    assert known.get_safe_globals() == [Plain, (double, "some.name")]
    known.add_safe_globals([Plain])
    assert known.get_safe_globals() == [Plain, (double, "some.name")]
    known.add_safe_globals([len, (eval, "builtins.eval")])
    assert read(b"\x80\x02cbuiltins\nlen\n.") is len
    assert read(b"\x80\x02c__builtin__\neval\n.") is eval
    known.clear_safe_globals()
    assert known.get_safe_globals() == []
    assert f"GLOBAL {Plain.__module__}.Plain was not" in raised_from(name_of(Plain) + b".")
    with pytest.raises(ValueError, match="expected a tuple of \\(callable, full path of callable\\)"):
        known.add_safe_globals([(Plain, "a", "b")])
    with pytest.raises(ValueError, match="expected a tuple of"):
        known.add_safe_globals([(Plain,)])


def archive_of(body):
    """A saved file whose pickle is another one."""
    import zipfile

    stream, out = io.BytesIO(), io.BytesIO()
    torch.save({"a": torch.ones(2)}, stream)
    with zipfile.ZipFile(stream) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, body if name.endswith("data.pkl") else old.read(name))
    out.seek(0)
    return out


LISTED = [
    (b"cos\nsystem\nK\x01\x85R.", ["os.system"]),
    (b"ca\nb\n)\x81}b.", ["a.b"]),
    (b"](ca\nb\nca\nb\ncc\nd\ne.", ["a.b", "c.d"]),
    (b"]ca\nb\na.", ["a.b"]),
    (b"}X\x01\x00\x00\x00aca\nb\ns.", ["a.b"]),
    (b"}(X\x01\x00\x00\x00aca\nb\nu.", ["a.b"]),
    (b"\x8f(ca\nb\n\x90.", ["a.b"]),
    (b"ca\nb\n\x85Q.", ["a.b"]),
    (b"ca\nb\nQca\nc\n\x86.", ["a.b", "a.c"]),
    (b"ca\nb\n)Rca\nc\n\x86.", ["a.b", "a.c"]),
    (b"ca\nb\n)\x81ca\nc\n\x86.", ["a.b", "a.c"]),
    (b"cmindtorch_v2\nload\nctorch\nload\n\x86.", ["torch.load"]),
    (b"ctorch\nTensor\ncbuiltins\nset\n\x86.", []),
    (b"cbuiltins\neval\n.", ["builtins.eval"]),
    (b"K\x01.", []),
]


@pytest.mark.parametrize(("body", "names"), LISTED)
def test_globals_that_a_file_would_need(body, names):
    ask = torch.serialization.get_unsafe_globals_in_checkpoint
    assert sorted(ask(archive_of(b"\x80\x02" + body))) == names


@pytest.mark.usefixtures("nothing_allowed")
def test_globals_that_are_allowed_are_not_listed():
    ask = torch.serialization.get_unsafe_globals_in_checkpoint
    with torch.serialization.safe_globals([Plain, (double, "a.b")]):
        assert ask(archive_of(b"\x80\x02" + name_of(Plain) + b"ca\nb\ncc\nd\n\x87.")) == ["c.d"]
    with pytest.raises(ValueError, match="Expected input to be a checkpoint returned by torch.save"):
        ask(io.BytesIO(b"nothing of that kind"))
    with pytest.raises(pickle.UnpicklingError, match="Unsupported operand 254"):
        ask(archive_of(b"\x80\x02\xfe."))
    with pytest.raises(EOFError):
        ask(archive_of(b"\x80\x02K\x01"))


def test_the_largest_tuple(monkeypatch):
    """As many parts as the limit says are read, one more is refused."""
    tuples = reader._Tuples()
    monkeypatch.setattr(reader._Tuples, "MOST", 4)
    assert tuples.made((1, 2, 3)) == (1, 2, 3)
    with pytest.raises(pickle.UnpicklingError, match="a tuple of 5 parts"):
        tuples.made((1, 2, 3, 4))


def test_the_longest_line():
    """65,536 bytes with their end are read as a name, one more is not."""
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global|was not an allowed global"):
        read(b"c" + b"m" * 65535 + b"\nn\n.")
    with pytest.raises(pickle.UnpicklingError, match="Ran out of input"):
        read(b"c" + b"m" * 65536 + b"\nn\n.")


def test_words_and_lengths_of_files():
    from mindtorch_v2.serialization import _unpickler as reading

    assert reading.word("a", "a name") == "a" == reading.word(b"a", "a name")
    for value in (b"\xff", 3, None):
        with pytest.raises(pickle.UnpicklingError, match="a name must be a word, got"):
            reading.word(value, "a name")
    assert reading.length((1 << 62) - 1) == (1 << 62) - 1 and reading.length(0) == 0
    for value in (1 << 62, -1, "3", 1.0):
        with pytest.raises(pickle.UnpicklingError, match="a storage's length must be a number, got"):
            reading.length(value)


def test_globals_of_tensors_of_classes():
    body = b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor_v2\ncsomewhere\nKind\n)}tR."
    assert "somewhere.Kind" in reader.get_globals_in_pkl(io.BytesIO(body))
