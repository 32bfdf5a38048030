"""`out=` of operators that make new tensors; expected values are PyTorch 2.13's."""

import pytest

import mindtorch_v2 as torch


def _new(dtype=torch.float32):
    return torch.empty(0, dtype=dtype)


@pytest.mark.parametrize(
    ("call", "dtype", "expected"),
    [
        (lambda out: torch.zeros(2, 3, out=out), torch.int64, [0] * 6),
        (lambda out: torch.ones((2,), out=out), torch.float32, [1.0, 1.0]),
        (lambda out: torch.full((2,), 3, out=out), torch.int64, [3, 3]),
        (lambda out: torch.arange(5, out=out), torch.float32, [0.0, 1.0, 2.0, 3.0, 4.0]),
        (lambda out: torch.arange(1, 5, 2, out=out), torch.int64, [1, 3]),
        (lambda out: torch.linspace(0, 1, 3, out=out), torch.float32, [0.0, 0.5, 1.0]),
        (lambda out: torch.logspace(0, 1, 3, out=out), torch.int64, [1, 3, 10]),
        (lambda out: torch.randint(5, (4,), out=out), torch.int64, [4, 4, 3, 0]),
        (lambda out: torch.randint(2, 9, (4,), out=out), torch.float32, [6.0, 5.0, 2.0, 4.0]),
        (lambda out: torch.randperm(4, out=out), torch.int64, [0, 1, 3, 2]),
        (lambda out: torch.max(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 1.0]), out=out), torch.float32, [2.0, 2.0]),
        (lambda out: torch.min(torch.tensor([1.0, 2.0]), out=out), torch.float32, [1.0]),
        (lambda out: torch.nonzero(torch.tensor([1, 0, 2]), out=out), torch.int64, [0, 2]),
        (
            lambda out: torch.take_along_dim(torch.eye(2), torch.tensor([[0], [1]]), 1, out=out),
            torch.float32,
            [1.0, 1.0],
        ),
        (lambda out: torch.tensordot(torch.eye(2), torch.eye(2), out=out), torch.float32, [2.0]),
        (lambda out: torch.cholesky(4 * torch.eye(2), out=out), torch.float64, [2.0, 0.0, 0.0, 2.0]),
    ],
)
def test_the_result_is_out(call, dtype, expected):
    torch.manual_seed(0)
    out = _new(dtype)
    assert call(out) is out
    assert out.dtype == dtype
    assert out.flatten().tolist() == expected


def test_random_numbers_go_into_out():
    torch.manual_seed(0)
    assert torch.rand(3, out=_new()).tolist() == pytest.approx([0.4962566, 0.7682218, 0.0884774])
    torch.manual_seed(0)
    assert torch.randn(3, out=_new(torch.float64)).tolist() == pytest.approx([1.5409961, -0.2934289, -2.1787894])
    torch.manual_seed(0)
    assert torch.normal(torch.zeros(3), torch.ones(3), out=_new()).tolist() == pytest.approx(
        [1.5409961, -0.2934289, -2.1787894]
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: torch.zeros(2, dtype=torch.float32, out=_new(torch.int64)),
            r"dtype Float does not match dtype of out parameter \(Long\)",
        ),
        (lambda: torch.arange(1, 5, 0, out=_new()), "step must be nonzero"),
        (lambda: torch.max(torch.ones(2), out=_new(torch.int64)), "Expected canCast"),
        (lambda: torch.nonzero(torch.ones(2), out=_new()), "nonzero: Expected out tensor to have scalar type Long"),
        (
            lambda: torch.addr(torch.ones(2, 2), torch.ones(2), torch.ones(2), out=_new(torch.int64)),
            "result type Float can't be cast to the desired output type Long",
        ),
    ],
)
def test_an_out_of_the_wrong_dtype_is_refused(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_factors_go_into_a_tuple():
    q, r = _new(), _new()
    result = torch.linalg.qr(torch.eye(2), out=(q, r))
    assert result[0] is q and result[1] is r
    assert r.abs().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    values = torch.svd(torch.diag(torch.tensor([1.0, 3.0])), out=(_new(), _new(), _new()))[1]
    assert values.tolist() == [3.0, 1.0]


def test_numbers_may_be_named():
    assert torch.add(input=1, other=2).item() == 3
    assert torch.mul(input=2.5, other=torch.ones(2)).tolist() == [2.5, 2.5]


def test_the_device_may_be_named_too():
    assert torch.zeros(2, out=_new(), device="cpu").tolist() == [0.0, 0.0]
    assert torch.arange(3, out=_new(), device=torch.device("cpu")).tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(RuntimeError, match=r"device type meta does not match device type of out parameter \(cpu\)"):
        torch.zeros(2, out=_new(), device="meta")


def test_a_factory_takes_options_that_are_those_of_out():
    out = _new()
    assert torch.zeros(2, out=out, dtype=torch.float32, device="cpu", layout=torch.strided, pin_memory=True) is out
    out = _new(torch.int64)
    assert torch.randperm(5, generator=torch.Generator(), out=out, dtype=torch.int64) is out
    assert torch.normal(0.0, 1.0, (2,), out=_new(), requires_grad=True).requires_grad
    with pytest.raises(RuntimeError, match=r"dtype Long does not match dtype of out parameter \(Int\)"):
        torch.randperm(5, out=_new(torch.int32), dtype=torch.int64)
    with pytest.raises(RuntimeError, match=r"layout Sparse does not match layout of out parameter \(Strided\)"):
        torch.zeros(2, out=_new(), layout=torch.sparse_coo)
    with pytest.raises(RuntimeError, match=r"device type meta does not match device type of out parameter \(cpu\)"):
        torch.ones(2, out=_new(), device="meta")
    with pytest.raises(RuntimeError, match="'memory_format' argument is incompatible with 'out' tensor argument"):
        torch.empty(2, 3, 4, 5, out=_new(), memory_format=torch.channels_last)
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        torch.zeros(2, out=_new(torch.int64), requires_grad=True)
    with pytest.raises(TypeError, match="zeros"):
        torch.zeros(2, out=_new(), foo=1)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("zeros.out", "(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)"),
        ("empty.out", "(SymInt[] size, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)"),
        ("randperm.out", "(SymInt n, *, Tensor(a!) out) -> Tensor(a!)"),
        ("randperm.generator_out", "(SymInt n, *, Generator? generator, Tensor(a!) out) -> Tensor(a!)"),
        ("arange.start_out", "(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)"),
        (
            "normal.float_float_out",
            "(float mean, float std, SymInt[] size, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)",
        ),
    ],
)
def test_schemas_of_factories_with_out_are_pytorchs(name, expected):
    base, _, overload = name.partition(".")
    schema = getattr(getattr(torch.ops.aten, base), overload)._schema
    assert str(schema) == f"aten::{name}{expected}"
