"""`opcheck`: whether an operator does what its registrations say, on samples of its arguments."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mindtorch_v2 import _C
from mindtorch_v2._behaviours import functional as _functionalize
from mindtorch_v2._behaviours.functional._variants import bound, written_without_kernel
from mindtorch_v2._core.autograd import fallback_mode
from mindtorch_v2._dispatch.schema import schema_of
from mindtorch_v2._operators.table import row_of
from mindtorch_v2._ops import OpOverload, OpOverloadPacket
from mindtorch_v2._tensor import Tensor
from mindtorch_v2.random import get_rng_state, set_rng_state

from .definition import CustomOpDef

if TYPE_CHECKING:
    from mindtorch_v2._dispatch.schema import FunctionSchema


__all__ = ["DEFAULT_TESTS", "OpCheckError", "opcheck"]


class OpCheckError(Exception):
    """A check of `opcheck` failed."""


def opcheck(
    op: int | CustomOpDef | OpOverload,
    args: Any,
    kwargs: Any = None,
    *,
    test_utils: str | Sequence[str] | None = None,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Check an operator's registrations with sample arguments. Not its mathematics: for that there is gradcheck.

    The tests:

    - `test_schema`: what is written and what shares memory is what the schema says (marked but never written: a warning).
    - `test_autograd_registration`: a gradient is made at an autograd key, not inside the kernel of a device.
    - `test_faketensor`: the fake kernel gives the shapes, dtypes, strides and devices of the real results.
    - `test_aot_dispatch_static`: the operator gives the same results, effects and gradients when its mutations are carried out
      functionally, and forward and backward work on fake tensors.
    - `test_aot_dispatch_dynamic`: the same, and the call becomes one graph with open sizes (`make_fx(tracing_mode="symbolic")`),
      forward and backward, which gives what the operator gives, for the sizes of the sample and for others: samples of
      other sizes are made of the given values. Sizes that the operator refuses are left out.

    Args:
        op: an OpOverload, an OpOverloadPacket of one overload, or what `custom_op` returns.
        args, kwargs: of one call.
        test_utils: names of the tests; all but the static one unless given.
        raise_exception: raise OpCheckError at the first failure; else failures stand in the result.
        atol, rtol: tolerances of the comparisons, given both or neither.

    Returns a dict of test names to "SUCCESS" or the exception. ValueError for wrong arguments of its own.

    >>> torch.library.opcheck(torch.ops.aten.sin.default, (torch.ones(3),))["test_schema"]
    'SUCCESS'
    """
    if (atol is None) != (rtol is None):
        raise ValueError("opcheck(op, ...): if you specify one of rtol/atol, you must specify both")
    if isinstance(op, CustomOpDef):
        op = op._opoverload
    if isinstance(op, OpOverloadPacket):
        overloads = op.overloads()
        if len(overloads) != 1:
            raise RuntimeError(
                "opcheck can only test operators without overloads. "
                f"Got the following overloads for {op._qualified_op_name}: {['' if each == 'default' else each for each in overloads]}"
            )
        op = getattr(op, overloads[0])
    if not isinstance(op, OpOverload):
        raise ValueError(
            "opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default, got "
            f"{type(op)}"
        )
    names = DEFAULT_TESTS if test_utils is None else (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if not set(names) <= set(_TESTS):
        raise ValueError(
            f"opcheck(op, ..., test_utils={test_utils}), expected test_utils to be subset of {tuple(_TESTS)} but it was not"
        )
    tolerances = {} if rtol is None else {"rtol": rtol, "atol": atol}
    results: dict[str, Any] = {}
    for name in names:
        sample = _Sample(args, kwargs or {})
        try:
            _TESTS[name](op, sample, tolerances)
            results[name] = "SUCCESS"
        except Exception as error:  # whatever the operator raises is the finding
            results[name] = error
            if raise_exception:
                raise OpCheckError(
                    f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                ) from error
    return results


# ---- trees of arguments ----


def _map(function, value):
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_map(function, item) for item in value)
    if isinstance(value, dict):
        return {key: _map(function, item) for key, item in value.items()}
    return value


def _tensors(value: Any) -> list[Any]:
    found: list[Any] = []
    _map(found.append, value)
    return found


def _copy(tensor):
    """A leaf with the same numbers, strides and requires_grad."""
    copy = _C._find_operator("aten::empty_strided", "")(
        tuple(tensor.shape), tensor.stride(), dtype=tensor.dtype, device=tensor.device
    )
    if not tensor.is_meta:
        copy.copy_(tensor.detach())
    return copy.requires_grad_(tensor.requires_grad)


class _Fakes:
    """A block in which `convert` gives tensors without data that have the devices of the given ones."""

    def __init__(self) -> None:
        # Slow to load, and half of the checks need them.
        from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
        from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv

        self._mode = FakeTensorMode(shape_env=ShapeEnv(), static_shapes=True)

    def __enter__(self) -> _Fakes:
        self._mode.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._mode.__exit__(*exception)

    def convert(self, tensor: Any) -> Any:
        empty = _C._find_operator("aten::empty_strided", "")
        fake = empty(tuple(tensor.shape), tensor.stride(), dtype=tensor.dtype, device=tensor.device)
        return fake.requires_grad_(tensor.requires_grad)


class _Sample:
    """The arguments of one call, copied anew for every run."""

    def __init__(self, args: Any, kwargs: Any) -> None:
        self._args = tuple(args)
        self._kwargs = dict(kwargs)

    def bound(self, schema: FunctionSchema, convert: Callable[..., Any] = _copy) -> dict:
        """Argument name -> (copied) value; one that is left out is not there. A tensor given twice stays one tensor."""
        made = {}

        def once(tensor: Any) -> Any:
            if id(tensor) not in made:
                made[id(tensor)] = convert(tensor)
            return made[id(tensor)]

        values = dict(zip((argument.name for argument in schema.arguments), self._args, strict=False))
        values.update(self._kwargs)
        return {name: _map(once, value) for name, value in values.items()}


def _call(op, schema, values):
    positional = [a for a in schema.arguments if not a.kwarg_only]
    args = []
    for argument in positional:
        if argument.name not in values:
            break
        args.append(values[argument.name])
    rest = {name: value for name, value in values.items() if name not in {a.name for a in positional[: len(args)]}}
    return op(*args, **rest)


def _call_without_data(op, schema, values):
    """The call on tensors without data. What gives nothing, or what it writes, needs no kernel for it."""
    try:
        return _call(op, schema, values)
    except NotImplementedError:
        known = written_without_kernel(op._handle, bound(op._handle, (), values))
        if known is None:
            raise
        return None if not known else known[0] if len(known) == 1 else tuple(known)


def _same(first, second) -> bool:
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    if first.is_meta or first.numel() == 0:
        return True
    first, second = first.detach(), second.detach()
    equal = first == second
    if first.is_floating_point() or first.is_complex():
        equal = equal | ((first != first) & (second != second))
    return bool(equal.all())


def _close(first, second, tolerances):
    if first.is_meta or second.is_meta:
        return True
    if not (first.is_floating_point() or first.is_complex()):
        return _same(first, second)
    return first.detach().allclose(second.detach(), equal_nan=True, **(tolerances or {"rtol": 1e-5, "atol": 1e-8}))


# ---- the tests ----


def _test_schema(op, sample, tolerances) -> None:
    from mindtorch_v2._subclasses.schema_check_mode import CallCheck  # of the package of fake tensors, like those

    schema = schema_of(op._handle)
    values = sample.bound(schema)
    versions = {name: [tensor._version for tensor in _tensors(value)] for name, value in values.items()}
    check = CallCheck(schema, values)
    with _without_gradient(schema, values):
        outputs = _call(op, schema, values)
    check.compare(outputs)
    for argument in schema.arguments:
        tensors = _tensors(values.get(argument.name))
        unwritten = argument.is_write and tensors and not check.changed(argument.name)
        if unwritten and all(t._version - v <= 1 for t, v in zip(tensors, versions[argument.name], strict=True)):
            warnings.warn(
                f"opcheck(op, ...): the schema {schema} marks {argument.name} as written, but the call did not change it. If "
                "the operator never writes to it, leave the mark out",
                stacklevel=3,
            )


class _without_gradient:  # a block, used with `with`
    """No recording while an operator writes to arguments that require grad; or, without an operator, at all."""

    def __init__(self, schema: FunctionSchema | None = None, values: dict[str, Any] | Sequence[Any] = ()) -> None:
        self._wanted = schema is None or schema.is_mutable and any(tensor.requires_grad for tensor in _tensors(values))

    def __enter__(self) -> None:
        self._before = _C.is_grad_enabled()
        if self._wanted:
            _C._set_grad_enabled(False)

    def __exit__(self, *exception: Any) -> None:
        _C._set_grad_enabled(self._before)


def _test_autograd_registration(op, sample, tolerances) -> None:
    schema = schema_of(op._handle)
    values = sample.bound(schema)
    if not any(tensor.requires_grad for tensor in _tensors(values)) or schema.is_mutable:
        return
    kernels = op._handle.kernels()
    if any(key.startswith("Autograd") for key in kernels) or "CompositeImplicitAutograd" in kernels:
        return
    if row_of(op._handle) is not None and op._handle.has_kernel("AutogradCPU"):  # from a formula of the row
        return
    before = fallback_mode.get_mode()
    fallback_mode.set_mode("nothing")  # else results require grad that the kernel gives without
    try:
        outputs = _call(op, schema, values)
    finally:
        fallback_mode.set_mode(before)
    if any(tensor.requires_grad for tensor in _tensors(outputs)):
        raise RuntimeError(
            f"{op.name()}: at least one output of this operator has requires_grad=True but the operator does not have an "
            "autograd kernel defined at an autograd key (e.g. DispatchKey::Autograd). This could mean that you have "
            "incorrectly registered an autograd kernel to a non-Autograd DispatchKey, which may lead to silently incorrect "
            "results. If your operator consists of regular PyTorch operations, consider not using an operator at all or "
            "registering your operator as CompositeImplicitAutograd. If you have an autograd.Function registered to a "
            "backend (CPU/CUDA/XPU) key, the correct location for it is the Autograd key."
        )


def _compare_metadata(op, fake, real) -> None:
    def fail(text: str) -> None:
        raise AssertionError(
            f"When comparing the output of {op} on FakeTensor and concrete Tensors, found mismatched tensor metadata: {text}"
        )

    fakes, reals = _tensors(fake), _tensors(real)
    if len(fakes) != len(reals):
        fail(f"{len(fakes)} tensors and {len(reals)} tensors are not equal!")
    for first, second in zip(fakes, reals, strict=True):
        sizes = first.shape
        of_data = [not isinstance(size, int) for size in sizes]
        if len(sizes) != second.dim() or any(a != b for a, b, free in zip(sizes, second.shape, of_data) if not free):
            fail(f"Shapes {first.shape} and {second.shape} are not equal!")
        if first.dtype is not second.dtype:
            fail(f"Dtypes {first.dtype} and {second.dtype} are not equal!")
        strides = zip(first.stride(), second.stride(), strict=True)
        if any(of_data) or not second.numel():
            continue
        if any(a != b and size > 1 for (a, b), size in zip(strides, sizes, strict=True)):
            fail(f"Strides {first.stride()} and {second.stride()} are not equal!")


def _test_faketensor(op, sample, tolerances) -> None:
    schema = schema_of(op._handle)
    values = sample.bound(schema)
    with _without_gradient(schema, values):
        with _Fakes() as fakes:
            fake = _call_without_data(op, schema, sample.bound(schema, fakes.convert))
        real = _call(op, schema, values)
    _compare_metadata(op, fake, real)


def _loss(outputs):
    """One number that depends on every differentiable output."""
    terms = [tensor.sum() for tensor in _tensors(outputs) if tensor.requires_grad]
    if not terms:
        return None
    total = terms[0]
    for term in terms[1:]:
        total = total + term.to(total.dtype)
    return total


def _call_functionally(op, schema, values):
    """The call through the key Functionalize: its writes become values, which the arguments are given at the end."""
    with _functionalize.entered() as level:
        arguments = _functionalize.Arguments(_tensors(values), level)
        outputs = _map(arguments.result, _call(op, schema, _map(arguments.show, values)))
    arguments.write_back()
    return outputs


def _run(op, schema, values, call=_call) -> tuple:
    """Outputs, mutated arguments and gradients of one call."""
    with _without_gradient(schema, values):
        outputs = call(op, schema, values)
    loss = _loss(outputs)
    if loss is not None:
        (loss.abs() if loss.is_complex() else loss).backward()
    gradients = [tensor.grad for tensor in _tensors(values)]
    return _tensors(outputs), _tensors(values), gradients


def _test_aot_dispatch(op, sample, tolerances) -> None:
    schema = schema_of(op._handle)
    state = get_rng_state()
    eager = _run(op, schema, sample.bound(schema))
    set_rng_state(state)
    functional = _run(op, schema, sample.bound(schema), _call_functionally)
    for what, firsts, seconds in zip(("outputs", "arguments", "gradients"), eager, functional, strict=True):
        for number, (first, second) in enumerate(zip(firsts, seconds, strict=True)):
            if first is None and second is None:
                continue
            if first is None or second is None or not _close(first, second, tolerances):
                raise AssertionError(
                    f"{op}: the {what} of a call whose mutations are carried out functionally differ from those of the call "
                    f"itself, at tensor {number}"
                )
    with _Fakes() as fakes:
        fake = _run(op, schema, sample.bound(schema, fakes.convert), _call_without_data)
    _compare_metadata(op, fake[0], eager[0])
    for first, second in zip(fake[2], eager[2], strict=True):
        if (first is None) != (second is None):
            raise AssertionError(f"{op}: the backward formula gives other gradients on fake tensors than on real ones")


def _test_aot_dispatch_dynamic(op, sample, tolerances) -> None:
    _test_aot_dispatch(op, sample, tolerances)
    schema = schema_of(op._handle)
    graph = _OpenGraph(lambda values: _flat(_run(op, schema, values, _call_functionally)), sample.bound(schema))
    for number, values in enumerate(graph.samples()):
        state = get_rng_state()
        try:
            expected = _flat(_run(op, schema, _map(_copy, values)))
        except Exception:
            if number == 0:
                raise
            continue  # the operator is not for arguments of these sizes
        set_rng_state(state)
        for first, second in zip(graph(values), expected, strict=True):
            if first.shape != second.shape or not _close(first, second, tolerances):
                sizes = [tuple(tensor.shape) for tensor in _tensors(values)]
                raise AssertionError(
                    f"{op}: traced with open sizes, it gives other results than the call itself, for arguments of the sizes {sizes}"
                )


def _flat(results) -> list:
    """The outputs, mutated arguments and gradients that there are."""
    return [tensor.detach() for each in results for tensor in each if tensor is not None]


class _OpenGraph:
    """`run(values)`, which returns a list of tensors, as a graph with open sizes."""

    def __init__(self, run: Callable, values: Any) -> None:
        from mindtorch_v2.fx.experimental.proxy_tensor import make_fx  # slow to load, and one check needs it

        self._values = values
        self._tensors = list({id(tensor): tensor for tensor in _tensors(values)}.values())

        def flat(*tensors: Any) -> Any:
            return run(self._with(tensors))

        self._module = make_fx(flat, tracing_mode="symbolic")(*self._tensors)

    def _with(self, tensors):
        """The arguments with other tensors."""
        others = {id(own): other for own, other in zip(self._tensors, tensors, strict=True)}
        return _map(lambda own: others[id(own)], self._values)

    def samples(self) -> Any:
        """The arguments, then such of other sizes."""
        from mindtorch_v2._sizes.opening import near_sizes, sizes_under  # likewise

        yield self._values
        shown = [node.meta["val"] for node in self._module.graph.find_nodes(op="placeholder")]
        for symbols in near_sizes(self._module.shape_env, 2):
            yield self._with([_resized(t, *sizes_under(s, symbols)) for t, s in zip(self._tensors, shown, strict=True)])

    def __call__(self, values: Any) -> Any:
        """The results of the graph for copies of these arguments."""
        given = {id(tensor): tensor for tensor in _tensors(values)}
        with _without_gradient():
            return self._module(*(_copy(tensor).requires_grad_(False) for tensor in given.values()))


def _resized(tensor, sizes, strides):
    """A tensor with other sizes: its numbers, over and over."""
    made = _C._find_operator("aten::empty_strided", "")(sizes, strides, dtype=tensor.dtype, device=tensor.device)
    if tensor.numel() and not tensor.is_meta:
        numbers = tensor.detach().reshape(-1)
        times = -(-made.numel() // numbers.numel())
        made.copy_(numbers.repeat(times)[: made.numel()].view(tuple(sizes)))
    return made.requires_grad_(tensor.requires_grad)


_TESTS = {
    "test_schema": _test_schema,
    "test_autograd_registration": _test_autograd_registration,
    "test_faketensor": _test_faketensor,
    "test_aot_dispatch_static": _test_aot_dispatch,
    "test_aot_dispatch_dynamic": _test_aot_dispatch_dynamic,
}
DEFAULT_TESTS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
"""The checks that `opcheck` runs unless told otherwise."""
