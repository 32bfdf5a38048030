"""GE's protobuf messages: what is written is read by other decoders."""

import math
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import torchair
from mindtorch_v2._backends.ge.lower import lower
from mindtorch_v2._backends.ge.proto import ENUMS, MESSAGES, Message
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.torchair.ge import attr

# The public field numbers that a reader of .air files relies on, written down apart from the encoder's table.
NUMBERS = {
    ("ModelDef", "graph"): 7,
    ("GraphDef", "op"): 6,
    ("OpDef", "name"): 1,
    ("OpDef", "type"): 2,
    ("OpDef", "input"): 5,
    ("OpDef", "attr"): 10,
    ("OpDef", "input_desc"): 33,
    ("OpDef", "output_desc"): 34,
    ("TensorDescriptor", "dtype"): 2,
    ("TensorDescriptor", "shape"): 3,
    ("ShapeDef", "dim"): 1,
    ("TensorDef", "desc"): 1,
    ("TensorDef", "data"): 2,
    ("AttrDef", "list"): 1,
    ("AttrDef", "s"): 2,
    ("AttrDef", "i"): 3,
    ("AttrDef", "f"): 4,
    ("AttrDef", "b"): 5,
    ("AttrDef", "t"): 12,
    ("AttrDef", "dt"): 15,
    ("ListValue", "i"): 3,
}


def _model() -> Message:
    def program(x: torch.Tensor, w: torch.Tensor) -> tuple:
        y = torch.nn.functional.linear(x, w)
        x.add_(1)
        return y.softmax(-1), x[:, 1:].sum(1)

    inputs = torch.ones(2, 3), torch.ones(4, 3)
    return lower(make_fx(torch.func.functionalize(program), tracing_mode="fake")(*inputs), "example").model


def _raw(data: bytes) -> dict[int, list]:
    """The fields of a message, by the wire format alone."""
    fields: dict[int, list] = {}
    at = 0

    def varint() -> int:
        nonlocal at
        number = shift = 0
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            value: Any = varint()
        else:
            length = varint() if tag & 7 == 2 else 4
            value = data[at : at + length]
            at += length
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def test_numbers_are_the_public_ones() -> None:
    assert {key: MESSAGES[key[0]][key[1]].number for key in NUMBERS} == NUMBERS


def test_a_reader_of_the_wire_format_finds_the_graph() -> None:
    model = _model()
    graph = _raw(_raw(model.serialize())[7][0])
    ops = [_raw(each) for each in graph[6]]
    assert [op[2][0].decode() for op in ops] == [op.type for op in model.graph[0].op]
    names = {op[1][0].decode() for op in ops}
    for op in ops:
        assert all(edge.decode().rpartition(":")[0] in names for edge in op.get(5, []) if edge)
        assert len(op.get(5, [])) == len(op.get(33, []))
    product = next(op for op in ops if op[2] == [b"MatMulV2"])
    described = _raw(product[34][0])
    assert described[2] == [1] and _raw(described[3][0])[1] == [b"\x02\x04"]  # DT_FLOAT, [2, 4]


def test_what_is_read_is_what_was_written() -> None:
    model = _model()
    data = model.serialize()
    assert Message.parse("ModelDef", data) == model
    assert Message.parse("ModelDef", data).serialize() == data


def test_the_protobuf_package_reads_it() -> None:
    """Classes that the protobuf package makes of the field numbers."""
    pytest.importorskip("google.protobuf")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

    file = descriptor_pb2.FileDescriptorProto(name="ge.proto", package="ge.proto", syntax="proto3")
    for name, values in ENUMS.items():
        enum = file.enum_type.add(name=name)
        for each, number in values.items():
            enum.value.add(name=each, number=number)
    kinds = {"string": 9, "bytes": 12, "int64": 3, "uint32": 13, "bool": 8, "float": 2}

    def describe(made: Any, type_name: str) -> None:
        if type_name in kinds:
            made.type = kinds[type_name]
        else:
            made.type = 14 if type_name in ENUMS else 11
            made.type_name = f".ge.proto.{type_name}"

    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        if name == "AttrDef":  # its fields are one value: zero is written, too
            message.oneof_decl.add(name="value")
        for field in fields.values():
            made = message.field.add(name=field.name, number=field.number, label=1 if field.count == "one" else 3)
            if name == "AttrDef":
                made.oneof_index = 0
            if field.count != "map":
                describe(made, field.type)
                continue
            entry = message.nested_type.add(name=f"{field.name.title()}Entry")
            entry.options.map_entry = True
            entry.field.add(name="key", number=1, label=1, type=9)
            describe(entry.field.add(name="value", number=2, label=1), field.type)
            made.type, made.type_name = 11, f".ge.proto.{name}.{field.name.title()}Entry"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    model_class = message_factory.GetMessageClass(pool.FindMessageTypeByName("ge.proto.ModelDef"))
    ours = _model()
    theirs = model_class()
    theirs.ParseFromString(ours.serialize())
    assert [op.type for op in theirs.graph[0].op] == [op.type for op in ours.graph[0].op]
    assert Message.parse("ModelDef", theirs.SerializeToString()) == ours
    from_text = model_class()
    text_format.Parse(ours.text(), from_text)
    assert from_text == theirs


@pytest.mark.parametrize(
    ("value", "field", "stored"),
    [
        (attr.Int(-3), "i", -3),
        (attr.Float(0.5), "f", 0.5),
        (attr.Bool(False), "b", False),
        (attr.Str("ä"), "s", "ä".encode()),
        (attr.DataType(torchair.ge.DataType.DT_BF16), "dt", 27),
    ],
)
def test_attributes(value: Any, field: str, stored: Any) -> None:
    read = Message.parse("AttrDef", value.message().serialize())
    assert read.has(field) and getattr(read, field) == stored


def test_lists_of_attributes() -> None:
    def kept(value: Any) -> Message:
        return Message.parse("AttrDef", value.message().serialize())

    assert kept(attr.ListInt([1, -2])).list.i == [1, -2]
    assert kept(attr.ListFloat([1, 0.5])).list.f == [1.0, 0.5]
    assert kept(attr.ListBool([True, False])).list.b == [1, 0]
    assert kept(attr.ListStr(["a", ""])).list.s == [b"a", b""]
    assert kept(attr.ListListInt([[1], [2, 3]])).list_list_int.list_list_i[1].list_i == [2, 3]
    assert kept(attr.ListListFloat([[0.5]])).list_list_float.list_list_f[0].list_f == [0.5]


@pytest.mark.parametrize(
    "wrong", [lambda: attr.Int(True), lambda: attr.Int(1.0), lambda: attr.ListInt(3), lambda: attr.Str(1)]
)
def test_attributes_of_another_type(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"ge\.attr\.\w+ takes"):
        wrong()


@pytest.mark.parametrize("data", [b"\x3a\x05ab", b"\x3b", b"\x08", b"\x08" + b"\xff" * 11])
def test_bytes_that_are_no_message(data: bytes) -> None:
    with pytest.raises(ValueError, match="protobuf data"):
        Message.parse("ModelDef", data)


def test_an_unknown_field_is_an_error() -> None:
    with pytest.raises(AttributeError, match="OpDef has no field 'nam'"):
        Message("OpDef", nam="x")


@pytest.mark.parametrize(
    ("dtype", "values", "size"),
    [("DT_BF16", [1.0, math.nan, -3.0], 6), ("DT_FLOAT16", [1.0], 2), ("DT_BOOL", [True], 1), ("DT_INT64", [-1], 8)],
)
def test_constants(dtype: str, values: list, size: int) -> None:
    kind = torchair.ge.DataType[dtype]
    data = attr.packed(values, kind)
    assert len(data) == size
    found = torch.frombuffer(bytearray(data), dtype=kind.torch)
    assert torch.equal(found.nan_to_num(), torch.tensor(values, dtype=kind.torch).nan_to_num())


def test_dump(tmp_path: Any) -> None:
    program = lower(make_fx(lambda x: x + 1, tracing_mode="fake")(torch.ones(2)), "small")
    torchair.dump(program, tmp_path / "a.air")
    torchair.dump(program, tmp_path / "a.pbtxt")
    assert Message.parse("ModelDef", (tmp_path / "a.air").read_bytes()) == program.model
    text = (tmp_path / "a.pbtxt").read_text()
    assert 'type: "Add"' in text and 'input: "add_Const:0"' in text and "dtype: DT_FLOAT" in text
