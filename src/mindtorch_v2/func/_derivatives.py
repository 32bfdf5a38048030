"""`torch.func`'s derivatives of functions, by recorded backward passes.

Every transform records what it differentiates, so transforms nest. A result is cut from the graph again unless something
outside the transform (an outer transform's input, a parameter that requires grad) has a part in it.
"""

from __future__ import annotations

from mindtorch_v2 import _C
from mindtorch_v2._autograd.backward import grad as _grad
from mindtorch_v2._autograd.grad_mode import enable_grad
from mindtorch_v2._ops._table import aten
from mindtorch_v2.utils._pytree import tree_flatten, tree_map, tree_unflatten


def _is_tensor(x):
    return isinstance(x, _C.TensorBase)


def _differentiable(x):
    return _is_tensor(x) and (x.is_floating_point() or x.is_complex())


class _Level:
    """The inputs that one call of a transform differentiates by."""

    def __init__(self):
        self._leaves = []

    def enter(self, tree):
        """The same tree, its differentiable tensors replaced by tensors of this level."""

        def wrap(x):
            if not _differentiable(x):
                return x
            if x.requires_grad:
                return x.view_as(x)
            leaf = x.detach().requires_grad_()
            self._leaves.append(leaf)
            return leaf

        return tree_map(wrap, tree)

    def leave(self, tree):
        """The same tree, without history where it leads to this level's inputs only."""
        return tree_map(lambda x: x.detach() if _is_tensor(x) and x.requires_grad and self._is_own(x) else x, tree)

    def _is_own(self, x):
        own = {id(leaf) for leaf in self._leaves}
        if x.grad_fn is None:
            return id(x) in own
        seen, pending = set(), [x.grad_fn]
        while pending:
            node = pending.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            if hasattr(node, "variable") and id(node.variable) not in own:
                return False
            pending += [edge[0] for edge in node.next_functions]
        return True


def _tensors(tree, name, what):
    flat, spec = tree_flatten(tree)
    for x in flat:
        if not _is_tensor(x):
            raise RuntimeError(f"{name}: Expected {what} to be Tensors, got {type(x)}")
    return flat, spec


def _pull(outputs, inputs, seeds):
    """Gradients of `inputs`, zeros where an output does not depend on one."""
    recorded = [(y, g) for y, g in zip(outputs, seeds, strict=True) if y.requires_grad]
    if not recorded:
        return [aten.zeros_like(x) for x in inputs]
    return list(
        _grad(
            [y for y, _ in recorded],
            inputs,
            [g for _, g in recorded],
            create_graph=True,
            allow_unused=True,
            materialize_grads=True,
        )
    )


def _call(func, args, kwargs, has_aux, name):
    result = func(*args, **kwargs)
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{name}(f, *args): output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    for x in tree_flatten(result[1])[0]:
        if not _is_tensor(x):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
    return result


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that gives the gradient of `func`'s one-element result by its arguments `argnums`, and the result.

    Args:
        func: takes tensors (or trees of tensors) and returns a tensor without dimensions; with `has_aux`, a pair of that
            and a tree of further tensors.
        argnums: the number of the argument to differentiate by, or a tuple of numbers.

    Example::

        >>> import mindtorch_v2 as torch
        >>> torch.func.grad_and_value(lambda x: x**3)(torch.tensor(2.0))
        (tensor(12.), tensor(8.))
    """

    def wrapper(*args, **kwargs):
        with enable_grad():
            level = _Level()
            numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
            for n in numbers:
                if not -len(args) <= n < len(args):
                    raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
            inside = list(args)
            for n in numbers:
                inside[n] = level.enter(args[n])
            output, aux = _call(func, inside, kwargs, has_aux, "grad_and_value")
            if not _is_tensor(output):
                raise RuntimeError(
                    "Expected the output of the function passed to grad to be a Tensor, got type " + str(type(output))
                )
            if output.dim() != 0:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            chosen = inside[argnums] if isinstance(argnums, int) else tuple(inside[n] for n in numbers)
            flat, spec = _tensors(chosen, "grad_and_value(f, argnums)(*args)", "all inputs to differentiate by")
            grads = tree_unflatten(_pull([output], flat, [aten.ones_like(output)]), spec)
            grads, output, aux = level.leave((grads, output, aux))
        return (grads, (output, aux)) if has_aux else (grads, output)

    return wrapper


def grad(func, argnums=0, has_aux=False):
    """A function that gives the gradient of `func`'s one-element result by its arguments `argnums`.

    See :func:`grad_and_value` for the arguments. With `has_aux` the result is a pair of gradient and auxiliary output.

    Example::

        >>> import mindtorch_v2 as torch
        >>> torch.func.grad(torch.func.grad(torch.sin))(torch.tensor(0.0))
        tensor(-0.)
    """

    def wrapper(*args, **kwargs):
        grads, output = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (grads, output[1]) if has_aux else grads

    return wrapper


def vjp(func, *primals, has_aux=False):
    """`func(*primals)`, and a function from cotangents of its shape to the gradients of the primals.

    Example::

        >>> import mindtorch_v2 as torch
        >>> output, pull = torch.func.vjp(torch.square, torch.tensor([1.0, 2.0]))
        >>> pull(torch.ones(2))
        (tensor([2., 4.]),)
    """
    with enable_grad():
        level = _Level()
        inside = level.enter(primals)
        output, aux = _call(func, inside, {}, has_aux, "vjp")
    outputs, spec = _tensors(output, "vjp(f, *primals)", "f(*primals)")

    def pull(*cotangents):
        seeds, given = tree_flatten(cotangents[0] if len(cotangents) == 1 else cotangents)
        if given != spec and len(seeds) != len(outputs):
            raise RuntimeError(f"Expected pytree structure of cotangents to be the same as outputs of vjp, got {given}")
        flat, inputs_spec = tree_flatten(inside)
        with enable_grad():
            chosen = [x for x in flat if _differentiable(x)]
            grads = iter(_pull(outputs, chosen, seeds))
            found = [next(grads) if _differentiable(x) else None for x in flat]
            return level.leave(tree_unflatten(found, inputs_spec))

    result, aux = level.leave((output, aux))
    return (result, pull, aux) if has_aux else (result, pull)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """`func(*primals)` and its directional derivative along `tangents`, by differentiating the pull-back.

    Example::

        >>> import mindtorch_v2 as torch
        >>> torch.func.jvp(torch.square, (torch.tensor(3.0),), (torch.tensor(1.0),))
        (tensor(9.), tensor(6.))
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError("jvp(f, primals, tangents): Expected primals and tangents to be tuples.")
    if tree_flatten(primals)[1] != tree_flatten(tangents)[1]:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure."
        )
    with enable_grad():
        level = _Level()
        inside = level.enter(primals)
        output, aux = _call(func, inside, {}, has_aux, "jvp")
        outputs, spec = _tensors(output, "jvp(f, primals, tangents)", "f(*primals)")
        flat = tree_flatten(inside)[0]
        # The pull-back is linear in its seeds, whose values do not matter: its slope by them is the push-forward.
        seeds = [aten.zeros_like(y).requires_grad_() for y in outputs]
        level._leaves += seeds
        pulled = _pull(outputs, flat, seeds)
        pushed = tree_unflatten(_pull(pulled, seeds, tree_flatten(tangents)[0]), spec)
        output, pushed, aux = level.leave((output, pushed, aux))
    return (output, pushed, aux) if has_aux else (output, pushed)


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None):
    """A function that gives the Jacobian of `func`: sizes of the output, then sizes of the argument.

    Example::

        >>> import mindtorch_v2 as torch
        >>> torch.func.jacrev(torch.square)(torch.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    def wrapper(*args, **kwargs):
        with enable_grad():
            level = _Level()
            single = isinstance(argnums, int)
            numbers = (argnums,) if single else tuple(argnums)
            inside = list(args)
            for n in numbers:
                inside[n] = level.enter(args[n])
            output, aux = _call(func, inside, kwargs, has_aux, "jacrev")
            outputs, out_spec = _tensors(output, "jacrev(f, argnums)(*args)", "f(*args)")
            chosen = inside[argnums] if single else tuple(inside[n] for n in numbers)
            flat, spec = _tensors(chosen, "jacrev(f, argnums)(*args)", "all inputs to differentiate by")
            parts = []
            for y in outputs:
                rows = [_pull([item], flat, [aten.ones_like(item)]) for item in y.reshape([-1]).unbind(0)]
                columns = [
                    aten.stack([row[k] for row in rows]).reshape([*y.shape, *x.shape])
                    if rows
                    else x.new_zeros([*y.shape, *x.shape])
                    for k, x in enumerate(flat)
                ]
                parts.append(tree_unflatten(columns, spec))
            result, aux = level.leave((tree_unflatten(parts, out_spec), aux))
        return (result, aux) if has_aux else result

    return wrapper


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """The same Jacobian as :func:`jacrev`; here both go backward.

    Example::

        >>> import mindtorch_v2 as torch
        >>> torch.func.jacfwd(torch.sum)(torch.ones(3))
        tensor([1., 1., 1.])
    """
    return jacrev(func, argnums, has_aux=has_aux)


def hessian(func, argnums=0):
    """A function that gives the second derivatives of `func`.

    Example::

        >>> import mindtorch_v2 as torch
        >>> torch.func.hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
