"""torch.autograd.functional: Jacobians, Hessians and products with them.

Rows of a Jacobian come from one backward each, or, with ``vectorize``, from all of them at once under vmap. Results are
detached unless ``create_graph`` is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _C
from .._core.autograd import tangents
from .._core.autograd.backward import grad
from .._core.autograd.grad_mode import enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _op(name: str) -> Any:
    return _C._find_operator(f"aten::{name}", "")


def _as_tuple(value: Any, name: str | None = None, function: str = "") -> tuple[bool, tuple]:
    """Whether the value is a tuple, and the value as one. TypeError if it holds anything but tensors."""
    many = isinstance(value, tuple)
    values = value if many else (value,)
    for place, each in enumerate(values):
        if isinstance(each, _C.TensorBase):
            continue
        if many:
            what = f"value at index {place} has type {type(each)}."
        else:
            what = f"given {name or 'outputs of the user-provided function'} has type {type(each)}."
        if name is None:
            raise TypeError(
                f"The outputs of the user-provided function given to {function} must be either a Tensor or a tuple of Tensors "
                f"but the {what}"
            )
        raise TypeError(f"The {name} given to {function} must be either a Tensor or a tuple of Tensors but the {what}")
    return many, values


def _inputs(values: Any, function: str, create_graph: bool) -> tuple[bool, tuple]:
    if _C._change_transforms(0) > 0:
        raise RuntimeError(
            "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) "
            "inside of a function being transformed by a functorch transform. This is unsupported, please attempt to "
            "use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of "
            "a function being transformed instead."
        )
    many, given = _as_tuple(values, "inputs", function)
    if create_graph:
        return many, tuple(x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in given)
    return many, tuple(x.detach().requires_grad_() for x in given)


def _vector(v: Any, other: tuple, other_is_tuple: bool, function: str, create_graph: bool) -> tuple:
    _, values = _as_tuple(v, "v", function)
    if len(values) != len(other):
        if other_is_tuple:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(other)} but got {len(values)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for place, (each, model) in enumerate(zip(values, other, strict=True)):
        if each.shape != model.shape:
            where = f"Entry {place} in " if other_is_tuple else ""
            raise RuntimeError(f"{where}v has invalid size: should be {model.shape} but got {each.shape}.")
    # The products are differentiable in v too.
    return tuple(each.view_as(each) if create_graph else each.detach() for each in values)


def _strict_outputs(outputs: tuple) -> None:
    for place, output in enumerate(outputs):
        if not output.requires_grad:
            raise RuntimeError(
                f"Output {place} of the user-provided function does not require gradients. The outputs must be computed in a "
                "differentiable manner from the input when running in strict mode."
            )


# Errors of strict mode, by what was found: the number is that of an input, or of an output for the third.
_INDEPENDENT = (
    "The output of the user-provided function is independent of input {}. This is not allowed in strict mode."
)
_INDEPENDENT_JACOBIAN = (
    "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode."
)
_INDEPENDENT_HESSIAN = (
    "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is not allowed in "
    "strict mode as it prevents from using the double backward trick to replace forward mode AD."
)
_INDEPENDENT_SEED = (
    "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double backward "
    "trick to compute forward mode gradients. This is not allowed in strict mode."
)
_CONSTANT = (
    "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode when "
    "create_graph=True."
)
_CONSTANT_HESSIAN = (
    "The hessian of the user-provided function is independent of input {}. This is not allowed in strict mode when "
    "create_graph=True."
)
_LINEAR = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for example)."
)


def _gradients(
    outputs: tuple, inputs: tuple, seeds: Any, create_graph: bool, absent: str = "", constant: str = ""
) -> tuple:
    """Gradients, zeros where there is none. ``absent`` and ``constant``: errors for one that is not there or has no history."""
    used = [(o, None if seeds is None else seeds[i]) for i, o in enumerate(outputs) if o.requires_grad]
    if used:
        weights = None if seeds is None else [w for _, w in used]
        found: Any = grad(
            [o for o, _ in used], inputs, weights, retain_graph=True, create_graph=create_graph, allow_unused=True
        )
    else:
        found = (None,) * len(inputs)
    made = []
    for place, (gradient, x) in enumerate(zip(found, inputs, strict=True)):
        if gradient is None:
            if absent:
                raise RuntimeError(absent.format(place))
            gradient = _op("zeros_like")(x.detach())
        if constant and not gradient.requires_grad:
            raise RuntimeError(constant.format(place))
        made.append(gradient)
    return tuple(made)


def _result(values: tuple, many: bool, create_graph: bool) -> Any:
    values = values if create_graph else tuple(v.detach() for v in values)
    return values if many else values[0]


@enable_grad()
def jacobian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of ``func``: for each output and input a tensor of shape output.shape + input.shape.

    ``strategy="forward-mode"`` (with ``vectorize``) computes columns instead of rows. With ``strict``, an output that does
    not depend on an input raises RuntimeError.

    >>> torch.autograd.functional.jacobian(torch.square, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than '
            'inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported '
                'together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
            )
        return _forward_jacobian(func, inputs, strict, vectorize)
    if strict and vectorize:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please either "
            "set `strict=False` or `vectorize=False`."
        )
    many_in, xs = _inputs(inputs, "jacobian", create_graph)
    many_out, outputs = _as_tuple(func(*xs), None, "jacobian")
    if strict:
        _strict_outputs(outputs)
    rows = [_rows(output, number, xs, create_graph, strict, vectorize) for number, output in enumerate(outputs)]
    made = tuple(row if many_in else row[0] for row in rows)
    return made if many_out else made[0]


def _rows(output: Any, number: int, xs: tuple, create_graph: bool, strict: bool, vectorize: bool) -> tuple:
    shapes = [(*output.shape, *x.shape) for x in xs]
    if not output.requires_grad or not output.numel():
        return tuple(x.new_zeros(shape) for x, shape in zip(xs, shapes, strict=True))
    independent = (
        f"Output {number} of the user-provided function is independent of input {{}}. This is not allowed in strict mode."
        if strict
        else ""
    )
    if vectorize:
        from ..func import vmap  # it differentiates by this package

        n = output.numel()
        basis = _op("eye")(n, dtype=output.dtype, device=output.device)
        found = vmap(lambda seed: _gradients((output,), xs, (seed,), create_graph))(basis.view(n, *output.shape))
    else:
        flat = output.reshape(-1)
        constant = _CONSTANT if strict and create_graph else ""
        each = [_gradients((flat[i],), xs, None, create_graph, independent, constant) for i in range(flat.numel())]
        found = [_op("stack")(list(column), 0) for column in zip(*each, strict=True)]
    made = tuple(column.view(shape) for column, shape in zip(found, shapes, strict=True))
    return made if create_graph else tuple(m.detach() for m in made)


def _forward_jacobian(func: Callable, inputs: Any, strict: bool, vectorize: bool) -> Any:
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported together (yet). '
            'Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`."
        )
    from ..func import vmap  # it differentiates by this package

    many_in, xs = _as_tuple(inputs, "inputs", "jacobian")
    many_out = False

    def push(which: int) -> Callable:
        def along(direction: Any) -> tuple:
            nonlocal many_out
            level = _C._enter_forward_level()
            try:
                given = list(xs)
                given[which] = tangents.make_dual(given[which], direction, level)
                many_out, outputs = _as_tuple(func(*given), None, "jacobian")
                pairs = [tangents.unpack_dual(output, level) for output in outputs]
                return tuple(_op("zeros_like")(value) if t is None else t for value, t in pairs)
            finally:
                _C._exit_forward_level(level)

        return along

    columns = []
    for which, x in enumerate(xs):
        n = x.numel()
        basis = _op("eye")(n, dtype=x.dtype, device=x.device)
        made = vmap(push(which))(basis.view(n, *x.shape))
        columns.append([m.movedim(0, -1).reshape((*m.shape[1:], *x.shape)) for m in made])
    rows = tuple(tuple(row) if many_in else row[0] for row in zip(*columns, strict=True))
    return rows if many_out else rows[0]


def _construct_standard_basis_for(tensors: tuple, tensor_numels: tuple) -> tuple:
    """The vectors of the standard basis of all elements together, a column block with its dtype for each tensor.

    A block has as many rows as there are elements in all: each is 1 at one place of one block.
    """
    if len(tensors) != len(tensor_numels) or not tensors:
        raise AssertionError("Expected at least one tensor, and a number of elements for each")
    total, blocks, start = sum(tensor_numels), [], 0
    for tensor, count in zip(tensors, tensor_numels, strict=True):
        block = _op("zeros")([total, count], dtype=tensor.dtype, device=tensor.device)
        block.diagonal(-start).fill_(1)
        blocks.append(block)
        start += count
    return tuple(blocks)


def hessian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a scalar function: for each pair of inputs a tensor of both their shapes.

    Raises RuntimeError if ``func`` does not return a single element.

    >>> torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    many, _ = _as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def gradient(*xs: Any) -> Any:
        given = tuple(x if x.requires_grad else x.view_as(x).requires_grad_() for x in xs)
        output = _single(func(*given), "hessian")
        if strict:
            _strict_outputs((output,))
        found = _gradients((output,), given, None, True, constant=_LINEAR if strict else "")
        return found if many else found[0]

    return jacobian(enable_grad()(gradient), inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def _single(output: Any, function: str) -> Any:
    many, outputs = _as_tuple(output, None, function)
    if many or not isinstance(output, _C.TensorBase):
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if output.numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")
    return output


@enable_grad()
def vjp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(outputs, vᵀ·Jacobian).

    >>> torch.autograd.functional.vjp(torch.exp, torch.zeros(2), torch.ones(2))
    (tensor([1., 1.]), tensor([1., 1.]))
    """
    many_in, xs = _inputs(inputs, "vjp", create_graph)
    many_out, outputs = _as_tuple(func(*xs), None, "vjp")
    if strict:
        _strict_outputs(outputs)
    if v is None:
        if len(outputs) != 1 or outputs[0].numel() != 1:
            raise RuntimeError(
                "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
            )
        seeds = (_op("ones_like")(outputs[0].detach()),)
    else:
        seeds = _vector(v, outputs, many_out, "vjp", create_graph)
    absent, constant = (_INDEPENDENT, _CONSTANT if create_graph else "") if strict else ("", "")
    found = _gradients(outputs, xs, seeds, create_graph, absent, constant)
    return _result(outputs, many_out, create_graph), _result(found, many_in, create_graph)


@enable_grad()
def jvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(outputs, Jacobian·v), by differentiating vjp with respect to its vector.

    >>> torch.autograd.functional.jvp(torch.exp, torch.zeros(2), torch.ones(2))
    (tensor([1., 1.]), tensor([1., 1.]))
    """
    many_in, xs = _inputs(inputs, "jvp", create_graph)
    if v is None:
        if len(xs) != 1 or xs[0].numel() != 1:
            raise RuntimeError(
                "The vector v can only be None if the input to the user-provided function is a single Tensor with a single "
                "element."
            )
        directions = (_op("ones_like")(xs[0].detach()),)
    else:
        directions = _vector(v, xs, many_in, "jvp", create_graph)
    many_out, outputs = _as_tuple(func(*xs), None, "jvp")
    if strict:
        _strict_outputs(outputs)
    seeds = tuple(_op("zeros_like")(o.detach()).requires_grad_() for o in outputs)
    pulled = _gradients(outputs, xs, seeds, True, _INDEPENDENT if strict else "")
    absent, constant = (_INDEPENDENT_SEED, _CONSTANT if create_graph else "") if strict else ("", "")
    pushed = _gradients(pulled, seeds, directions, create_graph, absent, constant)
    return _result(outputs, many_out, create_graph), _result(pushed, many_out, create_graph)


@enable_grad()
def vhp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(output, vᵀ·Hessian) of a scalar function.

    >>> torch.autograd.functional.vhp(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    many_in, xs = _inputs(inputs, "vhp", create_graph)
    directions = _directions(xs, v, many_in, "vhp", create_graph)
    output, first = _value_and_gradients(func, xs, "vhp", strict)
    absent, constant = (_INDEPENDENT_JACOBIAN, _CONSTANT_HESSIAN if create_graph else "") if strict else ("", "")
    found = _gradients(first, xs, directions, create_graph, absent, constant)
    return _result((output,), False, create_graph), _result(found, many_in, create_graph)


@enable_grad()
def hvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(output, Hessian·v) of a scalar function.

    >>> torch.autograd.functional.hvp(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    many_in, xs = _inputs(inputs, "hvp", create_graph)
    directions = _directions(xs, v, many_in, "hvp", create_graph)
    output, first = _value_and_gradients(func, xs, "hvp", strict)
    seeds = tuple(_op("zeros_like")(x.detach()).requires_grad_() for x in xs)
    pulled = _gradients(first, xs, seeds, True, _INDEPENDENT_HESSIAN if strict else "")
    absent, constant = (_INDEPENDENT_SEED, _CONSTANT_HESSIAN if create_graph else "") if strict else ("", "")
    found = _gradients(pulled, seeds, directions, create_graph, absent, constant)
    return _result((output,), False, create_graph), _result(found, many_in, create_graph)


def _value_and_gradients(func: Callable, xs: tuple, function: str, strict: bool) -> tuple[Any, tuple]:
    output = _single(func(*xs), function)
    if not strict:
        return output, _gradients((output,), xs, None, True)
    _strict_outputs((output,))
    return output, _gradients((output,), xs, None, True, _INDEPENDENT, _LINEAR)


def _directions(xs: tuple, v: Any, many: bool, function: str, create_graph: bool) -> tuple:
    if v is not None:
        return _vector(v, xs, many, function, create_graph)
    if len(xs) != 1 or xs[0].numel() != 1:
        raise RuntimeError(
            "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element."
        )
    return (_op("ones_like")(xs[0].detach()),)
