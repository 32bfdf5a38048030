"""Operators in terms of others: the table that graph passes and `make_fx` take decompositions from."""

from collections import defaultdict

from mindtorch_v2._ops_namespace import OpOverload, OpOverloadPacket

__all__ = [
    "core_aten_decompositions",
    "decomposition_table",
    "get_decompositions",
    "register_decomposition",
    "remove_decompositions",
]

global_decomposition_table = defaultdict(dict)
decomposition_table = global_decomposition_table["post_autograd"]
"""What `register_decomposition` has registered: OpOverload -> function."""


def _overloads(op):
    if isinstance(op, OpOverload):
        return [op]
    if isinstance(op, OpOverloadPacket):
        return [getattr(op, name) for name in op.overloads()]
    raise TypeError(f"expected an operator of torch.ops, got {type(op)}")


def register_decomposition(aten_op, registry=None, *, type="post_autograd", unsafe=False):
    """A decorator: the function says what an operator, or each of several, does in terms of others.

    RuntimeError for an operator that has a decomposition in that registry. TypeError for what is no operator.
    """
    if type not in ("post_autograd", "pre_autograd", "meta"):
        raise AssertionError(f"type must be one of post_autograd, pre_autograd, meta, got {type}")
    table = global_decomposition_table[type] if registry is None else registry
    ops = aten_op if isinstance(aten_op, (list, tuple)) else [aten_op]

    def register(function):
        for op in ops:
            for overload in _overloads(op):
                if overload in table:
                    raise RuntimeError(f"duplicate registrations for {overload}")
                table[overload] = function
        return function

    return register


def _body(op):
    """The composition that an operator is defined by, or None."""
    kernels = op._handle.kernels()
    for key in ("CompositeImplicitAutograd", "CompositeExplicitAutograd"):
        if callable(kernels.get(key)):
            return kernels[key]
    return None


def get_decompositions(aten_ops, type="post_autograd"):
    """The decompositions of these operators, by overload: what was registered, else what defines a composition.

    Operators that have none are left out.

    >>> import mindtorch_v2 as torch
    >>> list(get_decompositions([torch.ops.aten.silu.default]))
    [<OpOverload(op='aten.silu', overload='default')>]
    """
    from mindtorch_v2._decomp import decompositions  # noqa: F401  (registers them)

    table, found = global_decomposition_table[type], {}
    for op in aten_ops:
        for overload in _overloads(op):
            rule = table.get(overload) or _body(overload)
            if rule is not None:
                found[overload] = rule
    return found


def core_aten_decompositions():
    """A table of every decomposition that is registered: OpOverload -> function."""
    from mindtorch_v2._decomp import decompositions  # noqa: F401  (registers them)

    return dict(decomposition_table)


def remove_decompositions(decompositions, aten_ops):
    """Take these operators out of a table."""
    for op in aten_ops:
        for overload in _overloads(op):
            decompositions.pop(overload, None)
