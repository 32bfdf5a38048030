"""The steps that algorithms with no fused kernel share: state creation and the lists their functional forms take."""

from mindtorch_v2.optim.optimizer import _zero_step


def collect(optimizer, group, create, names, sparse_error):
    """The group's parameters with a gradient, their gradients, and one list of state tensors per name in `names`.

    `create(p)` returns a new parameter's state without `step`, which is put in front. Raises RuntimeError with
    `sparse_error` for a sparse gradient. Returns `(has_complex, params, grads, *lists)`.
    """
    has_complex = False
    params, grads, columns = [], [], [[] for _ in names]
    for p in group["params"]:
        if p.grad is None:
            continue
        has_complex |= p.dtype.is_complex
        if p.grad.is_sparse:
            raise RuntimeError(sparse_error)
        params.append(p)
        grads.append(p.grad)
        state = optimizer.state[p]
        if not state:
            state["step"] = _zero_step(group["capturable"], device=p.device)
            state.update(create(p))
        for column, name in zip(columns, names, strict=True):
            column.append(state[name])
    return has_complex, params, grads, *columns


def set_group_defaults(optimizer, **defaults):
    """Gives groups of old state dicts the settings that they were written without."""
    for group in optimizer.param_groups:
        for key, value in defaults.items():
            group.setdefault(key, value)
