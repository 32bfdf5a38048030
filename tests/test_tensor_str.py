"""The text of tensors, character by character against PyTorch."""

import pytest
from agreement import same

import mindtorch_v2

VALUES = {
    "scalar": lambda lib: lib.tensor(3.0),
    "scalar fraction": lambda lib: lib.tensor(3.25),
    "scalar bool": lambda lib: lib.tensor(True),
    "scalar int": lambda lib: lib.tensor(-3),
    "empty": lambda lib: lib.empty(0),
    "empty 2d": lambda lib: lib.empty(0, 3),
    "empty int": lambda lib: lib.empty(2, 0, dtype=lib.int64),
    "empty bool": lambda lib: lib.zeros(0, dtype=lib.bool),
    "empty nested": lambda lib: lib.tensor([[]]),
    "nan inf": lambda lib: lib.tensor([1.5, float("nan"), float("inf"), -float("inf")]),
    "inf only": lambda lib: lib.tensor([float("inf"), -float("inf")]),
    "whole nan": lambda lib: lib.tensor([1.0, float("nan")]),
    "nan": lambda lib: lib.tensor([float("nan")]),
    "zeros": lambda lib: lib.zeros(2, 2),
    "large": lambda lib: lib.tensor([1e10, 1]),
    "large whole": lambda lib: lib.tensor([123456789.0, 1.0]),
    "small": lambda lib: lib.tensor([1e-5, 1]),
    "small with zero": lambda lib: lib.tensor([0.0, 1e-10]),
    "wide": lambda lib: lib.tensor([1e-3, 100.0]),
    "extreme": lambda lib: lib.tensor([1e38, -1e-38]),
    "mixed rows": lambda lib: lib.tensor([[1.5, -2], [1000000, 3]]),
    "thousands": lambda lib: lib.tensor([1745158.25, -978540.3125, 35679.4375]),
    "ints": lambda lib: lib.tensor([[100000000, 1], [-5, 77]]),
    "complex": lambda lib: lib.tensor([1 + 2j, 3.5, -1 - 0.5j]),
    "complex wide": lambda lib: lib.tensor([1e5 + 1e-5j]),
    "complex scalar": lambda lib: lib.tensor(1 - 2j),
    "complex128": lambda lib: lib.tensor([1 + 2j, float("nan")], dtype=lib.complex128),
    "conjugate": lambda lib: lib.tensor(1 + 2j).conj(),
    "one of four": lambda lib: lib.ones(1, 1, 1, 1),
    "cube": lambda lib: lib.arange(8.0).reshape(2, 2, 2),
    "lines": lambda lib: lib.tensor([1.0, 2.0, 3.0] * 30),
    "lines of ints": lambda lib: lib.arange(300),
    "lines 2d": lambda lib: lib.arange(100.0).reshape(2, 50) / 7,
    "long": lambda lib: lib.arange(1001),
    "long floats": lambda lib: lib.arange(2000.0) / 3,
    "long 2d": lambda lib: lib.arange(6000.0).reshape(3, 2000) / 11,
    "long 3d": lambda lib: lib.arange(3000.0).reshape(10, 10, 30) / 11,
    "long 4d": lambda lib: lib.arange(2401).reshape(7, 7, 7, 7),
    "long bool": lambda lib: (lib.arange(3000) % 3 == 0).reshape(2, 1500),
    "long complex": lambda lib: lib.complex(lib.arange(1200.0), -lib.arange(1200.0)),
    "transposed": lambda lib: lib.arange(6.0).reshape(2, 3).t(),
    "requires_grad": lambda lib: lib.ones(2, requires_grad=True),
    "grad_fn": lambda lib: lib.ones(2, requires_grad=True) * 2,
    "grad_fn sum": lambda lib: lib.ones(2, requires_grad=True).sum(),
    "grad_fn view": lambda lib: lib.ones(2, requires_grad=True).view(1, 2),
    "grad_fn long": lambda lib: lib.tensor([1.0, 2.5] * 7, dtype=lib.float64, requires_grad=True).reshape(-1),
    "parameter": lambda lib: lib.nn.Parameter(lib.ones(2)),
    "parameter frozen": lambda lib: lib.nn.Parameter(lib.ones(2), requires_grad=False),
    "parameter meta": lambda lib: lib.nn.Parameter(lib.ones(2, device="meta")),
    "meta": lambda lib: lib.ones(2, 3, device="meta"),
    "meta int": lambda lib: lib.ones(2, 3, device="meta", dtype=lib.int64),
    "meta grad": lambda lib: lib.ones(2, device="meta", requires_grad=True),
    "subclass": lambda lib: lib.ones(2).as_subclass(type("Labelled", (lib.Tensor,), {})),
    "negative zero": lambda lib: lib.tensor([-0.0, 1.0]),
    "rounding": lambda lib: lib.tensor([0.99999, 0.12345, 2.5]),
}

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("case", VALUES)
def test_repr(case):
    same(lambda lib: repr(VALUES[case](lib)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (40, 30)])
def test_dtypes(dtype, shape):
    def program(lib):
        count = 1
        for size in shape:
            count *= size
        values = lib.arange(count, dtype=lib.float32).reshape(shape) * 1.75 - 3
        return repr(values.to(getattr(lib, dtype)))

    same(program)


@pytest.mark.parametrize(
    "settings",
    [
        {"precision": 2},
        {"precision": 8},
        {"threshold": 5, "edgeitems": 1},
        {"threshold": 5, "edgeitems": 0},
        {"linewidth": 40},
        {"profile": "short"},
        {"profile": "full"},
        {"sci_mode": True},
        {"sci_mode": False},
    ],
)
def test_print_options(settings):
    for case in ("small", "extreme", "cube", "long 2d", "lines", "complex", "mixed rows", "ints", "whole nan"):

        def program(lib, case=case):
            with lib._tensor_str.printoptions(**settings):
                return repr(VALUES[case](lib))

        same(program)


def test_default_dtype_goes_unsaid():
    def program(lib):
        lib.set_default_dtype(lib.float64)
        try:
            return repr(lib.ones(2)), repr(lib.ones(2, dtype=lib.float32)), repr(lib.tensor([1j]))
        finally:
            lib.set_default_dtype(lib.float32)

    same(program)


def test_set_printoptions_is_public():
    before = mindtorch_v2._tensor_str.get_printoptions()
    mindtorch_v2.set_printoptions(precision=7)
    assert mindtorch_v2._tensor_str.get_printoptions()["precision"] == 7
    mindtorch_v2.set_printoptions(**before)
    assert mindtorch_v2._tensor_str.get_printoptions() == before


def test_format():
    same(lambda lib: (f"{lib.tensor(3.456):.2f}", f"{lib.tensor([1.0])}"))
    with pytest.raises(TypeError, match="unsupported format string passed to Tensor.__format__"):
        f"{mindtorch_v2.ones(2):.2f}"
