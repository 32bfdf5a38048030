"""The parts of the operator table by themselves: facts that words state, shape rules, names, status, result and tensor types."""

import pickle
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._dispatch.tags import Tag
from mindtorch_v2._operators import tensor_types
from mindtorch_v2._operators.table import ROWS, S, T, aten, composite, facts, formula, names, op, returns, rules

pytestmark = pytest.mark.no_torch

_SCHEMA = "f(Tensor self) -> Tensor"


def test_a_row_without_words_has_no_facts() -> None:
    for value in (facts.Facts(), facts.NO_FACTS, facts.stated_facts(_SCHEMA, {})):
        assert value._asdict() == {
            **dict.fromkeys(("tags", "inplace_tags", "out_tags", "linear", "multilinear", "out_apart"), ()),
            **dict.fromkeys(("elementwise", "draws", "cheap", "sizes_by_values", "gives_value"), False),
            **dict.fromkeys(
                ("raises_by_values", "keeps_zero", "lifts", "takes_numbers", "gives_back", "unfilled"), False
            ),
            **dict.fromkeys(("crosses_devices", "underived", "unlisted", "quiet_out"), False),
            "flops": None,
            **dict.fromkeys(
                (
                    "autocast",
                    "devices",
                    "batching",
                    "sharding",
                    "written_twice",
                    "out_dtype",
                    "seen_as",
                    "old_order",
                    "edges",
                ),
                "",
            ),
            "tangent": None,
            "reads_elements": None,
        }


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"tags": "pointwise"}, {"elementwise": True, "cheap": True, "draws": False, "sizes_by_values": False}),
        ({"tags": "core"}, {"elementwise": False, "cheap": False, "draws": False, "gives_value": False}),
        ({"tags": "pointwise", "cheap": False}, {"elementwise": True, "cheap": False}),
        ({"tags": "pointwise", "elementwise": False}, {"elementwise": False, "cheap": False}),
        ({"elementwise": True}, {"elementwise": True, "cheap": True, "tags": ()}),
        ({"elementwise": True, "draws": True}, {"elementwise": True, "cheap": False, "draws": True}),
        ({"tags": "nondeterministic_seeded pointwise"}, {"draws": True, "cheap": False, "elementwise": True}),
        ({"tags": "nondeterministic_seeded", "draws": False}, {"draws": False}),
        ({"tags": "maybe_aliasing_or_mutating"}, {"gives_back": True, "unfilled": False}),
        ({"tags": "maybe_aliasing_or_mutating", "gives_back": False}, {"gives_back": False}),
        ({"tags": "dynamic_output_shape"}, {"sizes_by_values": True, "gives_value": False}),
        ({"tags": "dynamic_output_shape", "sizes_by_values": False}, {"sizes_by_values": False}),
        ({"tags": "data_dependent_output"}, {"gives_value": True, "sizes_by_values": False}),
        ({"tags": "data_dependent_output", "gives_value": False}, {"gives_value": False}),
        ({"linear": "a b"}, {"linear": ("a", "b"), "multilinear": ()}),
        ({"multilinear": "a b"}, {"linear": (), "multilinear": ("a", "b")}),
        ({"tags": "core pointwise"}, {"inplace_tags": (Tag.pointwise,), "out_tags": (Tag.pointwise,)}),
        (
            {"tags": "core", "inplace_tags": "pointwise"},
            {"tags": (Tag.core,), "inplace_tags": (Tag.pointwise,), "out_tags": ()},
        ),
        ({"tags": "pointwise", "out_tags": ""}, {"inplace_tags": (Tag.pointwise,), "out_tags": ()}),
        ({"tags": "pointwise", "out_tags": "generated"}, {"out_tags": (Tag.generated,)}),
        ({"devices": {"self": "any"}}, {"devices": {"self": "any"}}),
        ({"devices": "host"}, {"devices": "host"}),
        ({"autocast": "lower"}, {"autocast": "lower"}),
        ({"batching": "dims+1"}, {"batching": "dims+1"}),
        ({"reads_elements": False}, {"reads_elements": False}),
    ],
    ids=str,
)
def test_words_state_facts(words: dict[str, Any], expected: dict[str, Any]) -> None:
    found = facts.stated_facts(_SCHEMA, words)._asdict()
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        ({"tags": "pointwize"}, ValueError, "no torch.Tag is called 'pointwize'"),
        ({"tags": "inplace"}, ValueError, "follow from the schema"),
        ({"tags": "core out"}, ValueError, "follow from the schema"),
        ({"tags": "pt2_compliant_tag"}, ValueError, "follow from the schema"),
        ({"autocast": "higher"}, ValueError, "autocast='higher' is none of"),
        ({"batching": "dim"}, ValueError, "batching='dim' is none of"),
        ({"pointwise": True}, TypeError, "pointwise"),
    ],
)
def test_words_that_state_nothing(words: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        facts.stated_facts(_SCHEMA, words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"elementwise": "yes"}, "elementwise='yes' is a str, and has to be a bool"),
        ({"cheap": 3}, "cheap=3 is a int, and has to be a bool"),
        ({"reads_elements": "no"}, "reads_elements='no' is a str, and has to be a bool"),
        ({"written_twice": 7}, "written_twice=7 is a int, and has to be a str"),
        ({"linear": ("self",)}, "linear=.* is a tuple, and has to be a str"),
        ({"devices": 1}, "devices=1 is a int, and has to be a dict or str"),
        ({"tangent": "self_t"}, "tangent='self_t' is no function of Python"),
        ({"sizes_by_values": 2}, "sizes_by_values=2 is a int, and has to be a bool"),
    ],
)
def test_facts_have_the_type_of_their_word(words: dict, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        facts.stated_facts(_SCHEMA, words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"out_dtype": "exakt"}, "out_dtype='exakt' is neither one of .'exact', 'found'. nor a sentence"),
        ({"out_dtype": "not {results} but {out}"}, "out_dtype='not {results} but {out}' is neither one of"),
        (
            {"written_twice": "tensor.copy_"},
            "written_twice='tensor.copy_' is no assignment like 'tensor.mask. = scalar'",
        ),
    ],
)
def test_texts_of_facts_say_something(words: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        facts.stated_facts(_SCHEMA, words)


def test_facts_that_are_functions_or_texts() -> None:
    def by_count(self: torch.Tensor) -> bool:
        return self.numel() > 1

    said = facts.stated_facts(_SCHEMA, {"sizes_by_values": by_count, "out_dtype": "{out} is not {result_cpp}"})
    assert said.sizes_by_values is by_count
    assert said.out_dtype == "{out} is not {result_cpp}"
    assert facts.stated_facts(_SCHEMA, {"out_dtype": "found"}).out_dtype == "Found dtype {out} but expected {result}"


def test_dtypes_are_names_or_sets_of_them() -> None:
    for words in ("", "floating+complex", "real bool", "float32 bfloat16", "integer all float"):
        facts.check_dtypes(words)
    with pytest.raises(ValueError, match="dtypes='flaoting': 'flaoting' is neither a dtype nor one of"):
        facts.check_dtypes("flaoting")
    with pytest.raises(ValueError, match="dtypes='real boul': 'boul' is neither"):
        composite("_never(Tensor self) -> Tensor", "Nothing.", dtypes="real boul")(lambda self: self)


def test_a_tangent_reads_arguments_and_their_tangents() -> None:
    handle = ROWS["add.Tensor"].handle
    for tangent in (lambda self_t, other: self_t * other, lambda self, other_t, alpha: self):
        facts.check_arguments(handle, facts.stated_facts(_SCHEMA, {"tangent": tangent}))
    for tangent in (lambda selv_t: selv_t, lambda self, *, selv_t: self, lambda self_p, selv_t: self_p):
        with pytest.raises(
            ValueError, match="add: tangent= reads 'sel[vf]_[tp]', which is neither an argument nor the ta"
        ):
            facts.check_arguments(handle, facts.stated_facts(_SCHEMA, {"tangent": tangent}))


def test_an_overload_for_numbers_is_seen_as_one_that_there_is() -> None:
    with pytest.raises(
        ValueError, match="aten::add: no overload above this row is called 'nope', which seen_as= names"
    ):
        facts.tell_core(ROWS["add.Scalar"].handle, facts.NO_FACTS._replace(seen_as="nope"), ())
    for name, overload in {
        "floor_divide": "default",
        "floor_divide_": "Tensor",
        "add": "Tensor",
        "div_": "Tensor",
    }.items():
        handle = getattr(torch.ops.aten, name).Scalar._handle
        assert handle.__dict__["seen_as"] == overload
        assert getattr(torch.ops.aten, name).overloads().count(overload) == 1


def test_facts_name_arguments_that_there_are() -> None:
    handle = ROWS["add.Tensor"].handle
    for words in ({"linear": "self other"}, {"multilinear": "other"}, {}):
        facts.check_arguments(handle, facts.stated_facts(_SCHEMA, words))
    facts.check_arguments(handle, facts.stated_facts(_SCHEMA, {"old_order": "self alpha other, alpha self other"}))
    with pytest.raises(ValueError, match="add: old_order= names 'beta', which is no argument"):
        facts.check_arguments(handle, facts.stated_facts(_SCHEMA, {"old_order": "self alpha other, beta self other"}))
    for words in ({"linear": "self x"}, {"multilinear": "x"}):
        with pytest.raises(ValueError, match="add: it is stated to be linear in 'x', which is no argument"):
            facts.check_arguments(handle, facts.stated_facts(_SCHEMA, words))


class _Form:
    def __init__(self, form: str):
        self.form, self.said = form, {}

    def state(self, **said: Any) -> None:
        self.said = said


@pytest.mark.parametrize(
    ("form", "words", "said"),
    [
        ("functional", {}, {}),
        ("inplace", {"tags": "inplace_view"}, {"inplace_view": True, "reads_elements": False}),
        ("functional", {"reads_elements": True}, {"reads_elements": True}),
        ("inplace", {"tags": "inplace_view", "reads_elements": True}, {"inplace_view": True, "reads_elements": True}),
        ("functional", {"crosses_devices": True}, {"crosses_devices": True}),
        ("functional", {"underived": True}, {"underived": True}),
        ("inplace", {"written_twice": "x[i] = y"}, {"written_twice": "x[i] = y"}),
        ("functional", {"written_twice": "x[i] = y"}, {}),
    ],
)
def test_the_core_is_told_what_it_acts_on(form: str, words: dict[str, Any], said: dict[str, Any]) -> None:
    handle, stated = _Form(form), facts.stated_facts(_SCHEMA, words)
    facts.tell_core(handle, stated, stated.tags)
    assert handle.said == said


@pytest.mark.parametrize(
    ("rule", "name", "params", "broadcasts"),
    [
        (rules.like("a", "b"), "like", ("a", "b"), False),
        (rules.pointwise("a"), "pointwise", ("a",), True),
        (rules.pointwise("a", to="float"), "pointwise_float", ("a",), True),
        (rules.reduce("a", "dim"), "reduce", ("a", "dim"), False),
        (rules.reduce("a", to="bool"), "reduce_bool", ("a",), False),
        (rules.rule("where", "a", 1), "where", ("a", 1), True),
        (rules.rule("loss", "a"), "loss", ("a",), True),
        (rules.rule("masked_fill", "a"), "masked_fill", ("a",), True),
        (rules.rule("div_mode", "a"), "div_mode", ("a",), True),
        (rules.rule("matmul", "a"), "matmul", ("a",), False),
    ],
)
def test_rules(rule: Any, name: str, params: tuple[Any, ...], broadcasts: bool) -> None:
    assert (rule.name, rule.params, rule.broadcasts) == (name, params, broadcasts)


def test_samples() -> None:
    assert T(3, 4, low=0) == ((3, 4), {"low": 0})
    assert T() == ((), {})
    assert S(3, 4) == ((T(3, 4),), {})
    assert S(T(3), 4, keepdim=True) == ((T(3), 4), {"keepdim": True})
    assert S(True) == ((True,), {})
    assert S(3.0) == ((3.0,), {})
    assert S() == ((), {})
    assert S(3, p=2) == ((T(3),), {"p": 2})


def test_result_types() -> None:
    made = returns.return_type("table_test", ("first", "second"))
    assert returns.return_type("table_test", ("first", "second")) is made
    assert returns.return_type("table_test", ("first", "third")) is not made
    value = made((1, "b"))
    assert (value.first, value.second, value[0], value[1], len(value)) == (1, "b", 1, "b", 2)
    assert repr(value) == "torch.return_types.table_test(\nfirst=1,\nsecond='b')"
    assert (made.__module__, made.__name__, made.n_fields, made._fields) == (
        "torch.return_types",
        "table_test",
        2,
        ("first", "second"),
    )
    assert pickle.loads(pickle.dumps(value)) == (1, "b")
    found = torch.max(torch.tensor([[1.0, 3.0]]), 1)
    assert type(found).__name__ == "max"
    assert repr(found) == "torch.return_types.max(\nvalues=tensor([3.]),\nindices=tensor([1]))"
    assert type(torch.linalg.slogdet(torch.eye(2))).__name__ == "linalg_slogdet"
    assert type(torch.linalg.inv_ex(torch.eye(2))).__name__ == "linalg_inv_ex"
    assert type(torch.var_mean(torch.eye(2))) is tuple
    out = (torch.empty(0), torch.empty(0, dtype=torch.int64))
    assert type(torch.max(torch.tensor([[1.0, 3.0]]), 1, out=out)).__name__ in ("max", "max_out")


def test_names() -> None:
    assert names.namespace("aten") is aten
    with pytest.raises(AttributeError, match="no operator is called 'aten::never'"):
        _ = aten.never
    with pytest.raises(AttributeError, match="no operator is called 'never::add'"):
        _ = names.namespace("never").add
    for spelled in ("gelu(", "a b(c) )", "a  (b)"):
        with pytest.raises(ValueError, match="is no list of names and signatures"):
            names.record_functional("_never", spelled, "Nothing.")
    before = dict(names.FUNCTIONAL)
    try:
        names.record_functional("_never", "_one(input, n=1) _two _never_", "Nothing.")
        added = {name: entry for name, entry in names.FUNCTIONAL.items() if name not in before}
        assert added == {
            "_one": ("_never", "input, n=1", "Nothing."),
            "_two": ("_never", "", "Nothing."),
            "_never_": ("_never_", "", "Nothing."),
        }
    finally:
        names.FUNCTIONAL.clear()
        names.FUNCTIONAL.update(before)
    low, high = ROWS["add.Scalar"].handle, ROWS["add.Tensor"].handle
    assert names.in_order([low, high]) == sorted([low, high], key=lambda each: each.precedence)
    assert names.in_order([low]) == [low]
    first = names.bound("function")["add"]
    assert names.bound("function")["add"] is first
    assert "norm" in names.bound("linalg") and "linalg_norm" not in names.bound("linalg")
    assert "erfcx" in names.bound("special") and "fft2" in names.bound("fft") and "add_" in names.bound("method")


@pytest.mark.parametrize(
    ("name", "overload", "node"),
    [
        ("table_test_add", "Tensor", "TableTestAddBackward0"),
        ("table_test_add", "Scalar", "TableTestAddBackward0"),
        ("table_test_add", "other", "TableTestAddBackward1"),
        ("table_test_add", "third", "TableTestAddBackward2"),
        ("table_test_add", "other", "TableTestAddBackward1"),
        ("table_test_add_", "", "TableTestAddBackward0"),
        ("table_test_pool2d", "", "TableTestPool2DBackward0"),
        ("_table_test", "", "TableTestBackward0"),
        ("__table_and__", "", "TableAndBackward0"),
    ],
)
def test_names_of_nodes(name: str, overload: str, node: str) -> None:
    for known in ("Tensor", "other", "third"):
        formula.node_name("table_test_add", known)
    assert formula.node_name(name, overload) == node


def test_conjugates() -> None:
    assert formula.conj(2 + 1j) == 2 - 1j
    assert formula.conj(2.5) == 2.5
    real, complex_one = torch.ones(2), torch.tensor([1 + 2j])
    assert formula.conj(real) is real
    assert formula.conj(complex_one).tolist() == [1 - 2j]


@pytest.mark.parametrize(
    ("grad", "message"),
    [
        ({"x": lambda grad: grad}, "a formula is given for 'x', which is no argument"),
        ({("self", "y"): lambda grad: (grad, grad)}, "a formula is given for 'y', which is no argument"),
        ({"self": lambda grad, z: grad}, "a formula reads 'z', which is no argument, result or grad"),
        ({"self": lambda grad, z_sizes: grad}, "a formula reads 'z_sizes'"),
        ({"self": lambda grad, z_geometry: grad}, "a formula reads 'z_geometry'"),
    ],
)
def test_formulas_that_cannot_be(grad: dict[Any, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        formula.compile_formula(ROWS["add.Tensor"].handle, grad)


def test_what_formulas_ask_for() -> None:
    def both(grads: Any, needs: Any, other: Any, self_sizes: Any, result: Any) -> Any:
        return grads, needs, other, self_sizes, result

    parts, differentiable, inputs, results, sizes = formula.compile_formula(
        ROWS["add.Tensor"].handle, {("self", "other"): both}
    )
    ((positions, found, parameters, many),) = parts
    assert (positions, found, many) == ([0, 1], both, True)
    assert parameters == [(1, 0), (4, 0), (2, 0), (5, 0), (3, 1)]
    assert (differentiable, inputs, results, sizes) == ([0, 1], [1], [0], [])

    def second(grad1: Any, result2: Any, result: Any, alpha: Any, self: Any) -> Any:
        return grad1, result2, result, alpha, self

    parts, differentiable, inputs, results, sizes = formula.compile_formula(
        ROWS["add.Tensor"].handle, {"other": second}
    )
    ((positions, found, parameters, many),) = parts
    assert (positions, many) == ([1], False)
    assert parameters == [(0, 1), (3, 3), (3, 2), (2, 1), (2, 0)]
    assert (differentiable, inputs, results, sizes) == ([1], [0, 2], [0, 2], [])

    parts, _, inputs, results, sizes = formula.compile_formula(
        ROWS["add.Tensor"].handle, {"self": lambda grad, self_geometry: grad}
    )
    assert parts[0][2] == [(0, 0), (6, 0)] and (inputs, results, sizes) == ([], [], [0])
    parts, _, inputs, results, sizes = formula.compile_formula(
        ROWS["cat"].handle, {"tensors": lambda grad, tensors_sizes, result: grad}
    )
    assert parts[0][2] == [(0, 0), (6, 1), (3, 0)] and (inputs, results, sizes) == ([], [0], [0])


def test_a_kernel_that_is_not_there() -> None:
    with pytest.raises(ImportError, match="has no kernel called _never_ever.x or _never_ever"):
        op("table_test::_never_ever.x(Tensor self) -> Tensor", "Nothing.", grad=None)
    with pytest.raises(ImportError, match="has no kernel called nothing"):
        op("table_test::_never_again(Tensor self) -> Tensor", "Nothing.", grad=None, kernel="nothing")


def test_rows_of_other_namespaces() -> None:
    @composite("table_test::twice(Tensor self, int n=2) -> Tensor", "Twice.", bind="inplace out", tags="pointwise")
    def twice(self: Any, n: int = 2) -> Any:
        return self * n

    row = names.namespace("table_test").twice
    assert row(torch.ones(2)).tolist() == [2.0, 2.0]
    x, out = torch.ones(2), torch.empty(2)
    assert torch.ops.table_test.twice_(x, 3) is x and x.tolist() == [3.0, 3.0]
    assert torch.ops.table_test.twice.out(x, 2, out=out) is out and out.tolist() == [6.0, 6.0]
    assert "twice" not in ROWS
    handle = torch.ops.table_test.twice.default
    assert Tag.pointwise in handle.tags
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        torch.ops.table_test.twice.out(x, 2, out=torch.empty(2, dtype=torch.int64))
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        torch.ops.table_test.twice.out(x, 2, out=torch.empty(3))
    leaf = torch.ones(2, requires_grad=True)
    made = leaf.clone()
    torch.ops.table_test.twice_(made)
    made.sum().backward()
    assert leaf.grad.tolist() == [2.0, 2.0]


_OLD = {
    "BFloat16Tensor": "bfloat16",
    "BoolTensor": "bool",
    "ByteTensor": "uint8",
    "CharTensor": "int8",
    "DoubleTensor": "float64",
    "FloatTensor": "float32",
    "HalfTensor": "float16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "ShortTensor": "int16",
}


@pytest.mark.parametrize("name", _OLD)
def test_old_types(name: str) -> None:
    kind, dtype = getattr(tensor_types, name), getattr(torch, _OLD[name])
    assert sorted(tensor_types.__all__) == sorted(_OLD)
    assert (kind.dtype, kind.__name__, kind.__module__, kind.is_cuda) == (dtype, name, "torch", False)
    for made, shape in (
        (kind(), (0,)),
        (kind(2, 3), (2, 3)),
        (kind(torch.Size([4])), (4,)),
        (kind([1, 0]), (2,)),
        (kind((1,)), (1,)),
    ):
        assert (made.dtype, tuple(made.shape)) == (dtype, shape)
        assert isinstance(made, kind) and made.type() == f"torch.{name}"
    assert kind([1, 0]).tolist() == [1, 0]
    base = torch.ones(2, dtype=dtype)
    assert kind(base).data_ptr() == base.data_ptr()
    assert not isinstance(torch.ones(1, dtype=torch.complex64), kind)
    assert not isinstance(3, kind)
    assert (
        torch.ones(2).type(f"torch.{name}").dtype
        == torch.ones(2).type(kind).dtype
        == torch.ones(2).type(dtype).dtype
        == dtype
    )
    with pytest.raises(TypeError, match=f"expected {name} .got torch.ComplexFloatTensor"):
        kind(torch.ones(1, dtype=torch.complex64))
    with pytest.raises(TypeError, match=r"new\(\) received an invalid combination of arguments - got \(int, float\)"):
        kind(2, 3.0)
    with pytest.raises(
        RuntimeError, match="legacy constructor expects device type: cpu but device type: meta was passed"
    ):
        kind(2, device="meta")
    assert kind(2, device="cpu").shape == (2,)


def test_names_of_types() -> None:
    for dtype, name in (
        ("complex64", "ComplexFloatTensor"),
        ("complex128", "ComplexDoubleTensor"),
        ("uint16", "UInt16Tensor"),
    ):
        assert torch.empty(1, dtype=getattr(torch, dtype)).type() == f"torch.{name}"
    assert torch.empty(1, dtype=torch.float8_e5m2).type() == "torch.Float8_e5m2Tensor"
    assert torch.eye(2).to_sparse().type() == "torch.sparse.FloatTensor"
    assert torch.empty(1, device="meta").type() == "torch.meta.FloatTensor"
    assert not isinstance(torch.eye(2).to_sparse(), tensor_types.FloatTensor)
    assert not isinstance(torch.empty(1, device="meta"), tensor_types.FloatTensor)
    with pytest.raises(ValueError, match="invalid type: 'torch.Float'"):
        torch.ones(1).type("torch.Float")
    with pytest.raises(TypeError, match="dtype must be a type, str, or dtype object"):
        torch.ones(1).type(3)


def test_made_types() -> None:
    kind = tensor_types.make_type("FloatTensor", "float32", "meta", "torch.meta")
    assert (kind.device, kind.__module__, kind.dtype) == ("meta", "torch.meta", torch.float32)
    assert kind(2).device.type == "meta" and isinstance(kind(2), kind)
    assert not isinstance(torch.ones(2), kind)
    assert _C.device("meta").type == kind([1.0]).device.type


def test_types_of_cuda_have_no_complex_or_wide_unsigned_ones() -> None:
    names = "BFloat16 Bool Byte Char Double Float Half Int Long Short".split()
    assert sorted(tensor_types._CUDA_TYPES) == [f"{name}Tensor" for name in names]


def test_functions_stand_in_the_class_that_pytorch_keeps_them_in() -> None:
    assert torch._C._VariableFunctionsClass.add is torch.add
    assert torch._C._VariableFunctionsClass.sort is torch.sort


def test_functions_of_nn_come_from_their_rows() -> None:
    functional = torch.nn.functional
    x = torch.tensor([-1.0, 2.0])
    assert functional.relu(x, inplace=True) is x
    assert x.tolist() == [0, 2]
    assert functional.relu(torch.tensor([-1.0, 2.0])).tolist() == [0, 2]
    assert functional.layer_norm(torch.tensor([1.0, 3.0]), [2], eps=0.0).tolist() == [-1, 1]
    with pytest.raises(TypeError, match="inplace"):
        functional.layer_norm(x, [2], inplace=True)  # type: ignore[call-arg]


def test_functions_that_are_not_where_they_say_are_not_pickled(monkeypatch: pytest.MonkeyPatch) -> None:
    function = torch._C._nn.log_sigmoid
    assert pickle.loads(pickle.dumps(function)) is function
    monkeypatch.delattr(torch._C._nn, "log_sigmoid")
    with pytest.raises(TypeError, match="cannot pickle .*: it is not found as .*_nn.log_sigmoid"):
        pickle.dumps(function)


def test_elementwise_follows_from_the_tag() -> None:
    assert facts._resolved("f(Tensor x) -> Tensor", {"tags": "pointwise"}).elementwise
    assert not facts._resolved("f(Tensor x) -> Tensor", {"tags": "pointwise", "elementwise": False}).elementwise
    assert facts._resolved("f(Tensor x) -> Tensor", {"elementwise": True}).cheap
    assert not facts._resolved("f(Tensor x) -> Tensor", {}).elementwise
