"""`torch.testing`: the parts that test suites build on; names that are there to be imported; dtypes that name packed numbers."""

import importlib
import inspect

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2._core.absent_modules import absent_modules, absent_names
from mindtorch_v2.testing import FileCheck, _comparison

T = torch.tensor
TEXT = "def f(a):\n    b = a + 1\n    c = b + 1\n    return c\n"


@pytest.mark.parametrize(
    "check",
    [
        FileCheck().check("def").check("return"),
        FileCheck().check("b =").check_next("c ="),
        FileCheck().check("b =").check_same("a + 1"),
        FileCheck().check_count("+ 1", 2, exactly=True),
        FileCheck().check_not("d ="),
        FileCheck().check("b =").check_not("def").check("return"),
        FileCheck().check_dag("c =").check_dag("b =").check("return"),
        FileCheck().check_regex(r"c = \w \+ 1"),
        FileCheck().check_dag("c =").check_not("b =").check("return"),
    ],
)
def test_a_text_that_holds(check):
    assert check.run(TEXT) is None


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (FileCheck().check("return").check("def"), 'Expected to find "def" but did not find it'),
        (FileCheck().check("def").check_next("c ="), 'Expected to find "c =" on the next line'),
        (FileCheck().check("b =").check_same("return"), 'Expected to find "return" on the same line'),
        (FileCheck().check_count("+ 1", 3), 'Expected to find ". 1" but did not find it'),
        (FileCheck().check_count("+ 1", 1, exactly=True), 'Expected to find ". 1" 1 times'),
        (FileCheck().check_not("c ="), 'Expected to not find "c =" but found it'),
        (FileCheck().check("def").check_not("b =").check("return"), 'Expected to not find "b =" but found it'),
        (FileCheck().check_source_highlighted("a + 1"), "highlighted but it is not"),
        (FileCheck().check_not("def").check_dag("c =").check_dag("b ="), 'Expected to not find "def"'),
    ],
)
def test_a_text_that_does_not_hold(check, text):
    with pytest.raises(RuntimeError, match=text.replace("+", r"\+")):
        check.run(TEXT)


def test_expectations_as_lines():
    FileCheck().run("# CHECK: def\n# CHECK-COUNT-2: + 1\n# CHECK-NOT: d =\n  # CHECK-NEXT: return\n", TEXT)
    with pytest.raises(RuntimeError, match='Expected to not find "c ="'):
        FileCheck().run("# CHECK: def\n# CHECK-NOT: c =\n", TEXT)
    with pytest.raises(RuntimeError, match="CHECK-SOME is none of its kinds"):
        FileCheck().run("# CHECK-SOME: def\n", TEXT)


def test_a_highlighted_text():
    FileCheck().check_source_highlighted("a + 1").run("  b = a + 1\n      ~~~~~\n")


class WordPair(_comparison.Pair):
    """Strings, equal without their case."""

    def __init__(self, actual, expected, **other):
        self._check_inputs_isinstance(actual, expected, cls=str)
        super().__init__(actual, expected, **other)

    def compare(self):
        if self.actual.lower() != self.expected.lower():
            self._fail(AssertionError, f"{self.actual} is not {self.expected}")


def test_kinds_of_pairs_of_ones_own():
    differences = _comparison.not_close_error_metas(
        {"a": ["x", "Y"], "b": 1.0, "c": None},
        {"a": ["X", "z"], "b": 1.5, "c": 2},
        pair_types=(WordPair, _comparison.NonePair, _comparison.NumberPair),
        rtol=0.1,
        atol=0.0,
    )
    assert [(each.type, each.id, each.msg.partition("\n")[0]) for each in differences] == [
        (AssertionError, ("a", 1), "Y is not z"),
        (AssertionError, ("b",), "Scalars are not close!"),
        (AssertionError, ("c",), "None mismatch: None is not 2"),
    ]
    assert str(differences[0].to_error()) == "Y is not z\n\nThe failure occurred for item ['a'][1]"
    assert str(differences[0].to_error("mine")) == "mine"
    assert str(differences[0].to_error(str.upper)).startswith("Y IS NOT Z")


def test_values_that_no_kind_takes():
    with pytest.raises(
        TypeError, match="No comparison pair was able to handle inputs of type <class 'str'> and <class 'int'>."
    ):
        _comparison.assert_equal("x", 1, pair_types=(_comparison.NumberPair,))
    with pytest.raises(AssertionError, match="1 != 2"):
        _comparison.assert_equal([1], [2])


def test_the_text_of_a_pair():
    pair = _comparison.NumberPair(np.float32(1), 2.0, id=("k",), rtol=0.5, atol=0.0)
    assert repr(pair) == (
        "NumberPair(\n    id=('k',),\n    actual=1.0,\n    expected=2.0,\n    rtol=0.5,\n    atol=0.0,\n"
        "    equal_nan=False,\n    check_dtype=False,\n)"
    )


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        (T([[1, 0]]).to_sparse(), T([[1, 1]]).to_sparse(), "The number of specified values in sparse COO tensors"),
        (T([[1, 0]]).to_sparse(), T([[0, 1]]).to_sparse(), "Sparse COO indices are not equal!"),
        (T([[1, 0]]).to_sparse(), T([[2, 0]]).to_sparse(), "Sparse COO values are not equal!"),
        (T([[1, 0]]).to_sparse_csr(), T([[0, 1]]).to_sparse_csr(), "Sparse CSR col_indices are not equal!"),
    ],
)
def test_sparse_tensors_that_differ(first, second, text):
    with pytest.raises(AssertionError, match=text):
        torch.testing.assert_close(first, second)


@pytest.mark.parametrize("name", absent_modules())
def test_a_module_that_is_there_to_be_imported(name):
    module = importlib.import_module(name.replace("torch", "mindtorch_v2", 1))
    for each, kind in absent_names(name).items():
        if kind in ("function", "class", "object"):
            with pytest.raises(NotImplementedError, match=rf"torch\..*{each} is not implemented in mindtorch_v2"):
                getattr(module, each)()
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nobody'"):
        module.nobody


def test_kinds_of_names_that_are_there_to_be_imported():
    from mindtorch_v2._higher_order_ops.hints_wrap import hints_wrapper

    from mindtorch_v2.autograd.profiler_util import MEMORY_EVENT_NAME
    from mindtorch_v2.optim.adam import Tensor

    assert MEMORY_EVENT_NAME == "[memory]"
    assert Tensor is torch.Tensor
    for use in (bool, len, iter, lambda it: it.activation, lambda it: it == 3):
        with pytest.raises(NotImplementedError, match=r"hints_wrap.hints_wrapper is not implemented"):
            use(hints_wrapper)
    with pytest.raises(NotImplementedError, match=r"torch.AliasDb is not implemented"):
        type("Mine", (torch.AliasDb,), {})()
    assert issubclass(torch.onnx.errors.UnsupportedOperatorError, Exception)
    assert torch.onnx.TrainingMode.EVAL.value == 0


def test_dtypes_that_name_packed_numbers():
    names = "qint8 quint8 qint32 quint4x2 quint2x4 bits1x8 bits2x4 bits4x2 bits8 bits16".split()
    names += [f"{sign}int{bits}" for sign in ("", "u") for bits in range(1, 8)]
    for name in names:
        dtype = getattr(torch, name)
        assert repr(dtype) == f"torch.{name}"
        assert dtype.itemsize == {"qint32": 4, "bits16": 2}.get(name, 1)
        assert not dtype.is_floating_point
        assert torch.empty(4, dtype=dtype).dtype is dtype
        with pytest.raises(NotImplementedError, match='"copy_" not implemented for'):
            torch.empty(2, dtype=dtype).to(torch.float32)
    assert torch.zeros(4, dtype=torch.uint8).view(torch.int4).dtype is torch.int4
    with pytest.raises(RuntimeError, match="isSignedType not supported for quantized types"):
        torch.qint8.is_signed
    with pytest.raises(RuntimeError, match="Bits types are undefined"):
        torch.bits8.is_signed
    assert (torch.int4.is_signed, torch.uint4.is_signed) == (True, False)
    with pytest.raises(
        RuntimeError, match="promoteTypes with quantized numbers is not handled yet.*offending types: QInt8 Float"
    ):
        torch.promote_types(torch.qint8, torch.float32)


def test_settings_of_a_compiler():
    config = torch._inductor.config
    with config.patch({"max_autotune": True, "triton.cudagraphs": True}), config.patch(freezing=True):
        assert config.max_autotune
        assert config.triton.cudagraphs
        assert config.freezing
    assert not (config.max_autotune or config.triton.cudagraphs or config.freezing)
    with pytest.raises(AttributeError), config.patch("nobody", 1):
        pass


def test_random_numbers_left_as_they_were():
    from mindtorch_v2.testing._utils import freeze_rng_state, wrapper_set_seed

    torch.manual_seed(3)
    with freeze_rng_state():
        inside = torch.rand(2)
    assert torch.equal(inside, torch.rand(2))
    assert torch.equal(wrapper_set_seed(torch.rand, 2), torch.rand(2, generator=torch.Generator().manual_seed(42)))


def test_functions_that_stand_for_overrides():
    with torch.library._scoped_library("testing_parts", "DEF") as library:  # of the same name as a function of torch
        library.define("cross(Tensor from) -> Tensor")
        library.define("tolist(Tensor from) -> Tensor")
        torch.overrides.get_testing_overrides.cache_clear()
        found = torch.overrides.get_testing_overrides()
    assert {found[function]() for function in (torch.cross, torch.aminmax, torch.Tensor.add_)} == {-1}
    assert set(inspect.signature(found[torch.gather]).parameters) == {"input", "dim", "index", "sparse_grad", "out"}
    assert list(inspect.signature(found[torch.nn.functional.lp_pool1d]).parameters) == [
        "input", "norm_type", "kernel_size", "stride", "ceil_mode",
    ]  # fmt: skip
