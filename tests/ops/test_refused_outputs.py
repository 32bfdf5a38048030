"""Operators that refuse an `out=` or a tensor to change which other operators would cast into, and joined ends in diff."""

import warnings

import pytest
from agreement import agree, same_error

import mindtorch_v2

EXACT = "bitwise_not ceil conj_physical floor frac neg round sgn sign trunc".split()


@pytest.mark.parametrize("name", EXACT)
def test_results_of_the_same_dtype_alone(name):
    kind = "int32" if name == "bitwise_not" else "float32"
    wide = "int64" if name == "bitwise_not" else "float64"
    same_error(
        lambda torch: getattr(torch, name)(
            torch.ones(2, dtype=getattr(torch, kind)), out=torch.empty(2, dtype=getattr(torch, wide))
        )
    )
    agree(
        lambda torch: getattr(torch, name)(
            torch.ones(2, dtype=getattr(torch, kind)), out=torch.empty(0, dtype=getattr(torch, kind))
        )
    )


@pytest.mark.parametrize("dtype", ["float32", "int32", "int8"])
@pytest.mark.parametrize("name", ["all", "any"])
def test_truth_goes_into_bool_or_bytes(name, dtype):
    same_error(lambda torch: getattr(torch, name)(torch.ones(2, 2), 1, out=torch.empty(2, dtype=getattr(torch, dtype))))
    same_error(lambda torch: getattr(torch, name)(torch.ones(2, 2), out=torch.empty((), dtype=getattr(torch, dtype))))
    agree(lambda torch: getattr(torch, name)(torch.ones(2, 2), 1, out=torch.empty(2, dtype=torch.uint8)))


@pytest.mark.parametrize(
    "text",
    [
        "x.float_power_(2)", "x.float_power_(x)", "x.double().float_power_(2j)", "torch.float_power(x, 2, out=x.clone())",
        "torch.float_power(2, x, out=x.clone())", "torch.float_power(x, x, out=torch.empty(2, dtype=torch.cdouble))",
    ],
)  # fmt: skip
def test_float_power_is_in_double_precision(text):
    same_error(lambda torch: eval(text, {"torch": torch, "x": torch.ones(2)}))
    agree(
        lambda torch: [
            torch.tensor([2.0, 3.0]).double().float_power_(2),
            torch.tensor([2.0, 3.0]).cdouble().float_power_(torch.tensor([2, 3])),
            torch.float_power(torch.tensor([2, 3]), 2.5, out=torch.empty(2, dtype=torch.float64)),
            torch.float_power(2, torch.tensor([2, 3]), out=torch.empty(0, dtype=torch.float64)),
        ]
    )


@pytest.mark.parametrize("text", ["prepend=torch.ones(2)", "append=torch.ones(1, 3)", "dim=0, append=torch.ones(2, 1)"])
def test_what_diff_joins(text):
    same_error(lambda torch: eval(f"torch.diff(torch.ones(2, 2), {text})", {"torch": torch}))


def test_warnings_that_come_once_come_always_on_request():
    x = mindtorch_v2.ones(2)
    mindtorch_v2.set_warn_always(True)
    try:
        for _ in range(2):
            with pytest.warns(UserWarning, match="This overload of add is deprecated"):
                mindtorch_v2.add(x, 1, x)
    finally:
        mindtorch_v2.set_warn_always(False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mindtorch_v2.add(x, 1, x)  # it has been said
