"""Operators that gradients and composites call, with arguments taken from such calls: shapes, gradients, vmap's slices.

They have no sample of their own. The calls are those that the samples of all rows make, forward and backward.
"""

import math
from typing import Any

import pytest
from expected import RAISED
from mapped_calls import LOOPS, ROWS_TO_MAP, Call, Sample, tensors_in
from samples import samples

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.batched._call import RULES
from mindtorch_v2._operators.table import ROWS
from mindtorch_v2.nn import functional as F
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode

pytestmark = pytest.mark.no_torch

MOST = 12  # calls of an operator; no two of the same sizes and other arguments
# Give no tensor, or memory that nobody wrote, or write to an argument.
ELSEWHERE = (
    "_fused_sdp_choice", "_linalg_check_errors", "_native_batch_norm_legit", "new_empty_strided",
    # What they are for is a number, a slope that is none, and a warning.
    "_debug_has_internal_overlap", "_test_autograd_multiple_dispatch.fullcoverage", "_test_warn_in_autograd",
    "_sparse_addmm", "_to_dense",  # of sparse matrices, which no sample has: tests/sparse has their slices
)  # fmt: skip
# They have no gradient, or their gradients have none of their own: refused by this name.
ONCE = {
    "_ldl_solve": "linalg_ldl_solve",
    "_lstm_scan_backward": "_lstm_scan_backward",
    "_scaled_dot_product_flash_attention_for_cpu_backward": "_scaled_dot_product_flash_attention_for_cpu_backward",
    "grid_sampler_2d_backward": "grid_sampler_2d_backward",
    "scatter.value_reduce": "scatter",
}
NO_SHAPE = ("_local_scalar_dense",)


def _x(*sizes: int) -> torch.Tensor:
    n = math.prod(sizes)
    return torch.linspace(-1.0, 1.5, n, dtype=torch.float64).mul(7).sin().reshape(sizes)


_I = torch.tensor([[2, 0], [1, 2]])
_DIAGONAL = 5 * torch.eye(3, dtype=torch.float64)
_SQUARE = _x(3, 3) + _DIAGONAL
# Programs that call others than the samples do, and are asked for gradients.
PROGRAMS = (
    lambda x: F.cross_entropy(x, torch.tensor([1, 0, 3])),
    lambda x: F.cross_entropy(x, torch.tensor([1, -100, 3]), _x(4).abs(), label_smoothing=0.2),
    lambda x: F.cross_entropy(x, torch.tensor([1, 0, 3]), _x(4).abs(), reduction="sum"),
    lambda x: F.cross_entropy(x, torch.tensor([1, 0, 3]), reduction="none", label_smoothing=0.1),
    lambda x: F.rms_norm(x, (4,), _x(4), 0.1),
    lambda x: F.rms_norm(x, (3, 4)),
    lambda x: torch.linalg.lu_solve(*torch.linalg.lu_factor(x[:, :3] + _DIAGONAL), x),
    lambda x: torch.linalg.lu_solve(*torch.linalg.lu_factor(x[:, :3] + _DIAGONAL), x.T, left=False, adjoint=True),
    lambda x: torch.linalg.ldl_solve(*torch.linalg.ldl_factor(_DIAGONAL + 1), x.detach()),
    lambda x: torch.nn.LSTM(4, 2, bidirectional=True, dtype=torch.float64)(x)[0],
)
# Arguments for operators that are taken apart before a mode sees them.
DIRECT = {
    "_linalg_det": [(_SQUARE,), (_x(2, 3, 3) - _DIAGONAL,)],
    "_linalg_eigh": [(_SQUARE + _SQUARE.T, "L", True), (_SQUARE + _SQUARE.T, "U", True)],
    "_linalg_slogdet": [(_SQUARE,), (_x(2, 3, 3) - _DIAGONAL,)],
    "_linalg_solve_ex": [(_SQUARE, _x(3, 2)), (_SQUARE, _x(3)), ((_SQUARE, _x(2, 3)), {"left": False})],
    "_native_batch_norm_legit_no_training": [(_x(3, 2, 2), _x(2), _x(2), _x(2), _x(2).abs(), 0.1, 1e-5)],
    "_neg_view": [(_x(3, 2),)],
    "_ormqr": [(_x(3, 3), _x(3), _x(3, 4), True, False), (_x(3, 2), _x(2), _x(4, 3), False, True)],
    "_lazy_view": [(_x(3, 2), False, True)],
    "_reshape_alias": [(_x(3, 2), [6], [1]), (_x(3, 2), [2, 3], [3, 1])],
    "_unsafe_index.Tensor": [(_x(3, 4), [_I]), (_x(3, 4), [None, _I]), (_x(3, 4), [_I, _I])],
    "_unsafe_index_put": [(_x(3, 4), [_I[1]], _x(4), False), (_x(3, 4), [None, _I], _x(3, 2, 2), True)],
    "reshape": [(_x(3, 4), [2, 6]), (_x(3, 4), [-1]), (_x(3, 4), [4, -1, 1])],
    "scatter.value_reduce": [((_x(3, 4), d, _I, 2.0), {"reduce": r}) for d in (0, -1) for r in ("add", "multiply")],
}
INNER = sorted(
    name for name, row in ROWS.items() if not samples(row) and row.handle.form == "functional" and name not in ELSEWHERE
)
MAPPED = [name for name in INNER if ROWS[name].handle in RULES]


class _Recorder(TorchDispatchMode):
    """Keep the calls of operators without samples."""

    sees_parts = False  # the operators are this package's own

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[str, dict[str, tuple]] = {name: {} for name in INNER}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        made = self.calls.get(func._schema.name.partition("::")[2] + ("." + func._overloadname).replace(".default", ""))
        result = func(*args, **kwargs)  # first: what is refused is no call
        if made is not None and len(made) < MOST:
            made.setdefault(_signature([args, kwargs]), (func, args, kwargs))
        return result


def _signature(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{value.dtype}{tuple(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(_signature, value))})"
    return _signature(list(value.items())) if isinstance(value, dict) else repr(value)


@pytest.fixture(scope="module")
def calls() -> dict[str, dict[str, tuple]]:
    """The calls by operator."""
    recorder = _Recorder()
    for name in ROWS_TO_MAP:
        row = ROWS[name]
        for index in range(len(samples(row))):
            try:
                sample = Sample(row, index)
                leaves = [t for t in sample.tensors if t.is_floating_point() or t.is_complex()]
                for wanted in [leaves, *([leaf] for leaf in leaves if len(leaves) > 1)]:
                    _run(sample, wanted, recorder)
            except RAISED:
                continue  # the sample is for something else
    for program in PROGRAMS:
        x = _x(3, 4).requires_grad_()
        with recorder:
            made = program(x).sum()
            if made.requires_grad:
                made.backward()
    for name, listed in DIRECT.items():
        for args in listed:
            positional, named = args if isinstance(args[-1], dict) else (args, {})
            recorder.calls[name][_signature(args)] = ROWS[name].handle, positional, named
    return recorder.calls


def _run(sample: Sample, wanted: list, recorder: _Recorder) -> None:
    given = [t.detach().clone().requires_grad_(any(t is each for each in wanted)) for t in sample.tensors]
    with recorder:
        made = [m for m in sample(*given) if isinstance(m, torch.Tensor) and m.requires_grad]
        if made:
            leaves = [t for t in given if t.requires_grad]
            torch.autograd.grad(made, leaves, [torch.full_like(m, 0.5) for m in made], allow_unused=True)


@pytest.mark.parametrize("name", MAPPED)
def test_slices(name: str, calls: dict[str, dict[str, tuple]]) -> None:
    assert calls[name], "no sample of any row calls it"
    for func, args, kwargs in calls[name].values():
        call = _Given(func, *_detached([args, kwargs]), may_loop=name in LOOPS)
        for mapped in call.patterns():
            call.check(call, mapped)
        call.check_nested(call)


class _Given(Call):
    """A call without the results that were not asked for."""

    def __call__(self, *tensors: Any) -> tuple:
        return tuple(made for made in super().__call__(*tensors) if made is not None)


def _detached(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, dict):
        return {key: _detached(each) for key, each in value.items()}
    return type(value)(map(_detached, value)) if isinstance(value, (list, tuple)) else value


class _Differentiable(_Given):
    """A call's results with a gradient, as a function of the arguments that its row has a formula for."""

    def __init__(self, row: Any, *given: Any) -> None:
        super().__init__(row.handle, *_detached(given))
        named = {name for key in row.grad for name in ((key,) if isinstance(key, str) else key)}
        order = [argument["name"] for argument in row.handle.arguments]
        arguments = [*zip(order, self.values[0], strict=False), *zip(self.names, self.values[1], strict=True)]
        wanted = [t for name, value in arguments if name in named for t in tensors_in([value])]
        self.leaves = [
            t.clone().requires_grad_(t.dtype.is_floating_point and any(t is each for each in wanted))
            for t in self.tensors
        ]

    def __call__(self, *tensors: Any) -> tuple:
        return tuple(made for made in super().__call__(*tensors) if made.requires_grad)


# Defined up to signs or for symmetric matrices: their callers' gradients are compared instead.
INDEFINITE = ("_linalg_eigh", "_linalg_svd")
DIFFERENTIABLE = [name for name in INNER if ROWS[name].grad and name not in (*ONCE, *INDEFINITE)]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name: str, calls: dict[str, dict[str, tuple]]) -> None:
    """Gradients are the difference quotients."""
    for _, args, kwargs in calls[name].values():
        call = _Differentiable(ROWS[name], args, kwargs)
        if any(t.requires_grad for t in call.leaves):
            torch.autograd.gradcheck(call, call.leaves)


@pytest.mark.parametrize("name", ONCE)
def test_gradients_without_gradients(name: str, calls: dict[str, dict[str, tuple]]) -> None:
    _, args, kwargs = next(iter(calls[name].values()))
    call = _Differentiable(ROWS[name], args, kwargs)
    with pytest.raises(RuntimeError, match=f"derivative for aten::{ONCE[name]} is not implemented"):
        torch.autograd.gradcheck(call, call.leaves)


@pytest.mark.parametrize("name", [name for name in INNER if name not in NO_SHAPE])
def test_shapes(name: str, calls: dict[str, dict[str, tuple]]) -> None:
    """Tensors without memory give results of the same shapes."""
    for func, args, kwargs in calls[name].values():
        call = _Given(func, *_detached([args, kwargs]))
        made, bare = call(*call.tensors), call(*(t.to("meta") for t in call.tensors))
        assert [(m.shape, m.dtype) for m in bare] == [(m.shape, m.dtype) for m in made]
