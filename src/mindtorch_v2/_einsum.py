"""Einstein sums as products of matrices: operands are aligned by their labels, then contracted from left to right."""

import mindtorch_v2 as torch

__all__ = ["contract"]

_ELLIPSIS = "..."


def contract(equation, operands):
    """The sum of products that `equation` says of the tensors `operands`.

    Raises RuntimeError for an equation that is malformed or does not fit the operands.
    """
    inputs, output = _parse(equation, len(operands))
    ellipsis_rank = _check_sizes(inputs, operands)
    dots = [f"{_ELLIPSIS}{i}" for i in range(ellipsis_rank)]
    order, kept = _order(inputs, output, dots)
    aligned = [_align(labels, operand, order, dots) for labels, operand in zip(inputs, operands)]
    last_use = {label: i for i, labels in enumerate(inputs) for label in _expand(labels, dots)}
    result = aligned[0]
    for i in range(len(aligned)):
        done = [dim for dim, label in enumerate(order) if label not in kept and last_use.get(label) == i]
        if i == 0:
            result = result.sum(done, keepdim=True) if done else result
        else:
            result = _multiply(result, aligned[i], done)
    # What is left of summed labels are dimensions of size 1 behind those of the output.
    return result.reshape(result.shape[: len(kept)])


def _parse(equation, count):
    """The labels of each operand and of the output (None if implicit), as lists of letters and "..."."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    inputs = [_labels(part, f"operand {i}") for i, part in enumerate(left.split(","))]
    if len(inputs) < count:
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    if len(inputs) > count:
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    output = _labels(right, "the output") if arrow else None
    return inputs, output


def _labels(text, where):
    labels, i = [], 0
    while i < len(text):
        if text.startswith(_ELLIPSIS, i):
            if _ELLIPSIS in labels:
                raise RuntimeError(f"einsum(): found '.' for {where} for which an ellipsis was already found")
            labels.append(_ELLIPSIS)
            i += 3
            continue
        if text[i] == ".":
            raise RuntimeError(f"einsum(): found '.' for {where} that is not part of any ellipsis")
        if not (text[i].isascii() and text[i].isalpha()):
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {i} in the equation string, subscripts must be in [a-zA-Z]"
            )
        if where == "the output" and text[i] in labels:
            raise RuntimeError(f"einsum(): output subscript {text[i]} appears more than once in the output")
        labels.append(text[i])
        i += 1
    return labels


def _check_sizes(inputs, operands):
    """The greatest number of dimensions of an ellipsis; raises RuntimeError where sizes do not fit."""
    sizes, ellipsis_rank = {}, 0
    for i, (labels, operand) in enumerate(zip(inputs, operands)):
        named = len(labels) - labels.count(_ELLIPSIS)
        rest = operand.dim() - named
        if rest < 0 or (rest > 0 and _ELLIPSIS not in labels):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) "
                f"{'does not match' if _ELLIPSIS not in labels else 'is more than'} the number of dimensions "
                f"({operand.dim()}) for operand {i}{'' if _ELLIPSIS in labels else ' and no ellipsis was given'}"
            )
        if _ELLIPSIS in labels:
            ellipsis_rank = max(ellipsis_rank, rest)
        dim, own = 0, {}
        for label in labels:
            if label == _ELLIPSIS:
                dim += rest
                continue
            size = operand.shape[dim]
            if own.setdefault(label, size) != size:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {i} but the sizes don't match, {size} != "
                    f"{own[label]}"
                )
            known = sizes.get(label, 1)
            if size != known and size != 1 and known != 1:
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {size} for operand {i} which does not broadcast with "
                    f"previously seen size {known}"
                )
            sizes[label] = max(size, known) if 0 not in (size, known) else 0
            dim += 1
    return ellipsis_rank


def _order(inputs, output, dots):
    """All labels, those of the output first; and which those are."""
    every = [label for labels in inputs for label in labels if label != _ELLIPSIS]
    if output is None:
        kept = dots + sorted(label for label in set(every) if every.count(label) == 1)
    else:
        for label in output:
            if label != _ELLIPSIS and label not in every:
                raise RuntimeError(
                    f"einsum(): output subscript {label} does not appear in the equation for any input operand"
                )
        kept = _expand(output, dots)
    summed = [label for label in dict.fromkeys([*every, *dots]) if label not in kept]
    return kept + summed, kept


def _expand(labels, dots):
    return [each for label in labels for each in (dots if label == _ELLIPSIS else [label])]


def _align(labels, operand, order, dots):
    """`operand` with one dimension for each label of `order`, of size 1 where it has none; repeats on the diagonal."""
    if _ELLIPSIS in labels:
        rank = operand.dim() - (len(labels) - 1)
        own = _expand(labels, dots[len(dots) - rank :])
    else:
        own = list(labels)
    for label in set(own):
        while own.count(label) > 1:
            first = own.index(label)
            second = own.index(label, first + 1)
            operand = operand.diagonal(0, first, second).movedim(-1, first)
            del own[second]
    present = [label for label in order if label in own]
    operand = operand.permute([own.index(label) for label in present])
    shape = iter(operand.shape)
    return operand.reshape([next(shape) if label in own else 1 for label in order])


def _multiply(a, b, done):
    """The product of two aligned tensors, summed over the dimensions `done` (kept with size 1)."""
    # A dimension that only one of them has is summed before; the others make a batch of matrix products.
    only_a = [d for d in done if b.shape[d] == 1 and a.shape[d] != 1]
    only_b = [d for d in done if a.shape[d] == 1 and b.shape[d] != 1]
    a = a.sum(only_a, keepdim=True) if only_a else a
    b = b.sum(only_b, keepdim=True) if only_b else b
    dims = range(a.dim())
    # The one with the first dimension that only one of them has gives the rows: the result is laid out in that order.
    own = next((d for d in dims if d not in done and (a.shape[d] == 1) != (b.shape[d] == 1)), None)
    if own is not None and a.shape[own] == 1:
        a, b = b, a
    inner = [d for d in done if a.shape[d] != 1]
    if not inner:
        return a * b
    batch = [d for d in dims if d not in inner and a.shape[d] != 1 and b.shape[d] != 1]
    rows = [d for d in dims if d not in inner and a.shape[d] != 1 and b.shape[d] == 1]
    columns = [d for d in dims if d not in inner and a.shape[d] == 1]
    size = _product
    left = a.permute(batch + rows + inner + columns).reshape(size(a, batch), size(a, rows), size(a, inner))
    right = b.permute(batch + inner + columns + rows).reshape(size(b, batch), size(b, inner), size(b, columns))
    product = torch.bmm(left, right)
    shape = [a.shape[d] for d in batch + rows] + [b.shape[d] for d in columns] + [1] * len(inner)
    product = product.reshape(shape)
    placed = batch + rows + columns + inner
    return product.permute([placed.index(d) for d in dims])


def _product(tensor, dims):
    result = 1
    for dim in dims:
        result *= tensor.shape[dim]
    return result
