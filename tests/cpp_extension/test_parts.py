"""parts.cpp: smaller parts of ATen and c10. Expected values are PyTorch 2.13's streams, and closed forms."""

import math

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "expanding",
        "memory",
        "operators",
        "texts",
        "braces",
        "types",
        "views",
        "generators",
        "misfits",
        "ordered",
        "backends",
    ],
)
def test_in_cpp(parts, name):
    getattr(parts.module, name)()


@pytest.mark.parametrize("name", ["e5m2", "e4m3fn", "e5m2fnuz", "e4m3fnuz", "e8m0fnu"])
def test_small_floats_are_those_of_tensors(parts, name):
    torch = parts.torch
    like = torch.arange(256, dtype=torch.uint8).view(getattr(torch, f"float8_{name}"))
    assert torch.equal(parts.module.float8_values(like).nan_to_num(-1), like.float().nan_to_num(-1))
    # Every value, half way between two, beside that, and what no number here is.
    exact = like.float()[:-1].nan_to_num(7.0, 9.0, -9.0)
    half = exact + (exact.roll(-1) - exact) / 2
    numbers = [exact, half, half * 1.0001, half * 0.9999, exact * 1e6, exact * 1e-6]
    numbers += [torch.tensor([0.0, -0.0, math.nan, 1e38, -1e38, 1e-45, 448.0, 465.0, 248.0, 61440.0])]
    numbers = torch.cat(numbers)
    if name == "e8m0fnu":
        numbers = numbers[numbers > 0]  # it has no sign
    expected = numbers.to(like.dtype).view(torch.uint8)
    assert torch.equal(parts.module.float8_bytes(like, numbers), expected)


def test_distributions_draw_as_operators_do(parts):
    torch, drawn = parts.torch, parts.module.drawn

    def generator():
        return torch.Generator().manual_seed(11)

    uniform = torch.rand(5, dtype=torch.float64, generator=generator()).tolist()
    assert drawn(5, "uniform", generator()) == uniform
    assert drawn(5, "uniform_float", generator()) == torch.rand(5, generator=generator()).tolist()
    # Fewer than 16: the operator draws more of them in another order.
    normal = torch.randn(5, dtype=torch.float64, generator=generator()).tolist()
    assert drawn(5, "normal", generator()) == pytest.approx(normal, rel=1e-12)
    assert drawn(5, "exponential", generator()) == pytest.approx([-math.log1p(-u) / 2 for u in uniform], rel=1e-12)
    assert drawn(5, "bernoulli", generator()) == [u < 0.25 for u in uniform]
    whole = torch.randint(-5, 5, (5,), generator=generator()).tolist()
    assert drawn(5, "whole", generator()) == whole


def test_the_default_generator(parts):
    torch = parts.torch
    torch.manual_seed(2)
    first = parts.module.drawn(3, "uniform", None)
    torch.manual_seed(2)
    assert first == torch.rand(3, dtype=torch.float64).tolist()


def test_schemas_as_objects(parts):
    op = parts.torch.ops.parts.twice
    assert str(op.default._schema) == "parts::twice(Tensor x) -> Tensor"
    assert op(parts.torch.ones(1)).item() == 2


def test_counted_pointers_hold_objects_of_python(parts):
    box = parts.module.Box(3)
    assert parts.module.same(box) is box and box.n == 3


def test_values_of_pythons_c_interface(parts):
    torch, m = parts.torch, parts.module
    whole, real = ["long", "double"], ["double"]
    for value, expected in [
        (3, whole),
        (True, ["bool", "double"]),
        (2.5, real),
        (1j, []),
        ("text", ["string"]),
        (b"text", ["string"]),
        (None, []),
        (torch.float32, ["dtype"]),
        (torch.strided, ["layout"]),
        (torch.channels_last, ["memory_format"]),
        (torch.Generator(), ["generator"]),
        (torch.ones(1), ["variable"]),
    ]:
        assert m.checks(value) == expected, value
    assert [m.unpack_long(-5), m.unpack_int(7), m.unpack_uint32(2**32 - 1), m.unpack_uint64(2**64 - 1)] == [
        -5,
        7,
        2**32 - 1,
        2**64 - 1,
    ]
    assert [m.unpack_index(torch.tensor(4)), m.unpack_double(3), m.unpack_string(b"b"), m.unpack_string("\u00e9")] == [
        4,
        3.0,
        "b",
        "\u00e9",
    ]
    assert [m.unpack_bool(True), m.unpack_number_as_bool(0.5), m.unpack_number_as_bool(0)] == [True, True, False]
    for name, value, error, text in [
        ("unpack_long", 2**63, ValueError, "Overflow when unpacking long long"),
        ("unpack_int", 2**31, ValueError, "Overflow when unpacking long"),
        ("unpack_uint32", 2**32, ValueError, "Overflow when unpacking"),
        ("unpack_uint64", -1, OverflowError, "negative"),
        ("unpack_index", 1.5, TypeError, "integer"),
        ("unpack_double", "x", TypeError, "real number"),
        ("unpack_bool", 1, RuntimeError, "couldn't convert python object to boolean"),
        ("unpack_string", 3, RuntimeError, "expected bytes or unicode object"),
    ]:
        with pytest.raises(error, match=text):
            getattr(m, name)(value)
    assert m.packed() == [-5, 2**64 - 1, "text", (3, -1)]


def test_objects_of_types_show_their_number(parts):
    torch, m = parts.torch, parts.module
    numbers = {"uint8": 0, "int64": 4, "float32": 6, "bool": 11, "bfloat16": 15}
    assert {name: m.scalar_type_of(getattr(torch, name)) for name in numbers} == numbers
    assert [m.layout_of(torch.strided), m.layout_of(torch.sparse_coo)] == [0, 1]
    assert [m.memory_format_of(torch.contiguous_format), m.memory_format_of(torch.channels_last)] == [0, 2]
    assert m.double_dtype() is torch.float64
    generator = torch.Generator().manual_seed(3)
    assert m.same_generator(generator).initial_seed() == 3


def test_objects_become_values_and_come_back(parts):
    torch, m = parts.torch, parts.module
    x = torch.ones(2)
    for value, type_name, expected in [
        (3, "int", 3),
        (3, "float", 3.0),
        ([1, 2.5], "float[]", [1.0, 2.5]),
        ((1, 2), "int[]", [1, 2]),
        (None, "int?", None),
        (4, "int?", 4),
        ("s", "str", "s"),
        ([True], "bool[]", [True]),
    ]:
        got = m.through(value, type_name)
        assert got == expected and type(got) is type(expected), (value, type_name)
    assert m.through(x, "Tensor") is x and m.through([x], "Tensor[]")[0] is x
    assert m.through({"a": x}, "Dict(str, Tensor)")["a"] is x
    for value, type_name in [("s", "int"), (1.5, "int"), (3, "str"), ([x], "int[]"), (3, "Tensor")]:
        with pytest.raises((RuntimeError, TypeError)):
            m.through(value, type_name)


def test_text_that_is_no_utf8(parts):
    torch, m = parts.torch, parts.module
    with pytest.raises(UnicodeDecodeError):
        torch.ops.parts.bad_text()
    assert m.ignore_bad_text(True) is False
    try:
        assert torch.ops.parts.bad_text() == "ab" and torch.ops.parts.bad_texts() == ["", "c"]
    finally:
        assert m.ignore_bad_text(False) is True
    with pytest.raises(UnicodeDecodeError):
        torch.ops.parts.bad_text()
