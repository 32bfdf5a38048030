"""behaviours.cpp: what the tests of another framework's operator libraries expect, by their numbers. PyTorch 2.13 gives the same.

docs/design-documents.md says which number is tested where.
"""

import pytest


@pytest.mark.parametrize("name", ["refused", "found", "values", "schemas", "aliases"])
def test_in_cpp(behaviours, name):
    getattr(behaviours.module, name)()


def test_1_a_definition_and_its_kernel(behaviours):
    ones = behaviours.torch.ones(2)
    assert behaviours.torch.ops.behaviours.muladd(ones, ones, 2.0).tolist() == [3, 3]


def test_2_and_25_a_class(behaviours):
    counter = behaviours.torch.classes.behaviours.Counter(1, 2)
    counter.advance()
    assert (counter.get(), counter.plus(10), counter.step) == (3, 13, 2)
    counter.set(7)
    assert counter.get() == 7
    kind = behaviours.torch.classes.behaviours.Counter
    assert (kind.two(4), kind.title()) == (8, "counter")
    with pytest.raises((RuntimeError, TypeError)):
        counter.set(1, 2)
    with pytest.raises((RuntimeError, TypeError)):
        kind(1)


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("add", (3, 4), 7),  # 3
        ("concat", ("Hello, ", "World!"), "Hello, World!"),  # 3
        ("from_schema", (11, 31), 42),  # 4
        ("schema_and_function", (21, 21), 42),  # 5
        ("function_alone", (40, 2), 42),  # 6
        ("sum_of_scalars", (19.5, 22.5), 42.0),  # 13
        ("defaults", (), "3|-25|1|abc"),  # 15, 26
        ("constant", (41,), 42),  # 28
        ("maybe_int", (5,), 6),  # 29
        ("maybe_int", (None,), -1),
        ("sum_of", ([1, 2, 3, 4],), 10),  # 30
        ("maybe_sum_of", ([1, 2, 3, 4],), 10),  # 31
        ("maybe_sum_of", (None,), -1),
        ("maybe_tensor", (None,), False),  # 32
        ("nothing", (1, "text"), None),  # 34
    ],
)
def test_calls_of_numbers_and_texts(behaviours, name, arguments, result):
    assert getattr(behaviours.torch.ops.behaviours, name)(*arguments) == result


def test_7_a_schema_alone(behaviours):
    op = behaviours.torch.ops.behaviours.schema_alone
    assert str(op.default._schema) == "behaviours::schema_alone(Tensor x) -> Tensor"
    with pytest.raises(NotImplementedError):
        op(behaviours.torch.ones(1))


def test_8_a_name_with_a_dot_is_an_overload(behaviours):
    packet = behaviours.torch.ops.behaviours.overload
    assert packet.overloads() == ["name"]
    assert packet.name(40, 2) == 42


def test_9_kernels_of_several_back_ends(behaviours):
    torch = behaviours.torch
    assert torch.ops.behaviours.several(torch.full((1,), 41.0)).item() == 42
    assert torch.ops.behaviours.several(torch.ones(3, device="meta")).is_meta


def test_12_basic_types(behaviours):
    torch = behaviours.torch
    found = torch.ops.behaviours.basic(torch.ones(1), 1, 2.5, True, "ab", torch.device("cpu"), 3.5)
    assert found.item() == 11


def test_14_optional_types(behaviours):
    op = behaviours.torch.ops.behaviours.optionals
    value, given = op(2, 1.5, True, "x", behaviours.torch.ones(1))
    assert (value.item(), given) == (3, 5)
    value, given = op(None, None, None, None, None)
    assert (value.item(), given) == (0, 0)


def test_16_and_22_keywords(behaviours):
    op, x = behaviours.torch.ops.behaviours.keyword_only, behaviours.torch.ones(1)
    assert op(x, index=3, mode="ab") == 5
    assert op(x) == 6
    for wrong in (lambda: op(x, 3), lambda: op(x, unknown=1), lambda: op(), lambda: op(x, x=x)):
        with pytest.raises(RuntimeError, match="keyword_only"):
            wrong()


def test_27_an_element_type(behaviours):
    found = behaviours.torch.ops.behaviours.cast(behaviours.torch.ones(1), behaviours.torch.float64)
    assert found.dtype == behaviours.torch.float64


def test_32_and_33_tensors_in_and_out(behaviours):
    ops, x = behaviours.torch.ops.behaviours, behaviours.torch.zeros(1)
    assert ops.maybe_tensor(x) is True
    assert [t.item() for t in ops.two_in_a_list(x)] == [0, 1]
    assert [t.item() for t in ops.pair(x)] == [0, 1]
    assert [t.item() for t in ops.triple(x)] == [0, 1, 2]


def test_76_to_80_keys_of_a_call_without_tensors(behaviours):
    """As in PyTorch: BackendSelect comes before the back ends, and no back end is chosen for want of another."""
    ops = behaviours.torch.ops.behaviours
    assert ops.selected(41) == 42
    assert ops.preferred(41) == 42
    for name in ("elsewhere", "in_two_places"):
        with pytest.raises(NotImplementedError, match=f"behaviours::{name}"):
            getattr(ops, name)(1)
