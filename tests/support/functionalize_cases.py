"""Programs that write to tensors, each for one way of doing so; what PyTorch 2.13 answers is in
`tests/snapshots/functionalize/cases.json` (see tests/functionalize/record.py)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional as F


class Case(NamedTuple):
    program: Callable
    start: str  # what it is given: see `argument`
    grad: bool  # whether gradients are asked for, too


CASES: dict[str, Case] = {}


def argument(start: str, requires_grad: bool = False) -> tuple[Any, Any]:
    """A leaf, and the tensor made of it that a case is given."""
    if start == "part":
        leaf = (torch.arange(20, dtype=torch.float64) * 0.3).sin().reshape(4, 5)
    elif start == "square":
        leaf = (torch.arange(9, dtype=torch.float64) * 0.4).cos().reshape(3, 3)
    else:
        leaf = (torch.arange(6, dtype=torch.float64) * 0.5).sin().reshape(2, 3)
    leaf.requires_grad_(requires_grad)
    whole = leaf * 1
    return leaf, {"part": lambda: whole[1:3, 1:4], "turned": lambda: whole.t()}.get(start, lambda: whole)()


def case(*starts: str, grad: bool = True) -> Callable:
    """A case for each of the arguments: "plain", "part" (of a larger memory), "turned" (columns first), "square"."""

    def register(program: Callable) -> Callable:
        for start in starts or ("plain",):
            name = program.__name__ if start == "plain" else f"{program.__name__} {start}"
            CASES[name] = Case(program, start, grad)
        return program

    return register


# ---- views and what is written through them ----


@case("plain", "part", "turned")
def view_of_a_view(x):
    rows = x[1:]
    element = rows[0].narrow(0, 1, 1)
    element.mul_(3)
    rows.add_(1)
    return x, rows, element


@case("plain", "part", "turned")
def as_strided_of_a_view(x):
    x = x.contiguous()
    part = x[1].as_strided((2, 2), (1, 2), 1)
    part.mul_(2)
    return x * 1, part * 1


@case("part", grad=False)
def as_strided_beside_the_argument(x):
    part = x.as_strided((2, 2), (1, 2), 1)
    part.add_(10)
    return x, part


@case("plain", "part")
def parts_of_a_list(x):
    y = x * 1
    first, second = y.split([1, 2], 1)
    with torch.no_grad():
        first += second[:, :1]
        second.neg_()
    return y.sum(), x


@case(grad=False)
def chunks(x):
    first, second, third = x.chunk(3, 1)
    first.add_(second)
    second.mul_(third)
    third.zero_()
    return x, first, second, third


@case(grad=False)
def unbound_rows(x):
    first, second = x.unbind(0)
    first.copy_(second)
    second.zero_()
    return first, second, x


@case("square")
def diagonal_and_transpose(x):
    x.t().diagonal().mul_(2)
    x.mT[0].add_(1)
    torch.diagonal(x, 1).zero_()
    return x * 2


@case()
def every_kind_of_view(x):
    x = x.contiguous()
    x.view(-1)[::2].mul_(2)
    x.unsqueeze(0).squeeze().permute(1, 0).transpose(0, 1).add_(1)
    x.unfold(1, 1, 2).mul_(3)
    x.expand(1, 2, 3)[0, 0].sub_(1)
    x.view(3, 2).t()[0].cos_()
    x.flatten().unflatten(0, (3, 2)).movedim(0, 1)[1].sin_()
    return x + 0


@case()
def overlapping_windows(x):
    x.view(-1).as_strided((2, 2), (2, 1)).mul_(2)
    return x * 1


@case(grad=False)
def complex_parts(x):
    z = torch.view_as_complex(x[:, :2].contiguous())
    z.mul_(1j)
    z.real.add_(1)
    z.imag.mul_(2)
    pairs = torch.view_as_real(z)
    pairs[0].zero_()
    return z, pairs, z.real


@case("plain", "part", grad=False)
def another_dtype(x):
    y = x.contiguous()
    whole = y.view(torch.int64)
    whole[0] = 0
    y.view(torch.uint8)[1].fill_(0)
    return y, whole


@case()
def detached_write(x):
    y = x * 2
    y.detach()[0].mul_(3)
    with torch.no_grad():
        y[1] += 1
    return y.sin()


@case("plain", "part")
def read_between_writes(x):
    row = x[0]
    before = x * 1
    row.add_(1)
    between = x * 1
    x.mul_(2)
    return before, between, row * 1


@case(grad=False)
def data_attribute(x):
    x.data.add_(1)
    y = x.data
    y.mul_(2)
    return x


@case()
def loop_over_elements(x):
    for i in range(2):
        for j in range(3):
            x[i, j] *= i + j
    return x + 1


# ---- kinds of writes ----


@case("plain", "part")
def indexing(x):
    x[x.detach() > 0.5] = 0.25
    x[:, torch.tensor([0, 2])] += 1
    x[1] = x[0]
    x[..., 0] = 3
    x.index_add_(1, torch.tensor([1]), x[:, :1].clone())
    x.scatter_(1, torch.tensor([[0], [1]]), 7.0)
    return x * 1


@case()
def masks_and_limits(x):
    x.masked_fill_(x.detach() > 0.6, -1.0)
    x.clamp_(-0.5, 0.5)
    x.cumsum_(1)
    F.relu_(x[0])
    return x * 1


@case(grad=False)
def out_arguments(x):
    out = torch.zeros(2, 3, dtype=torch.float64)
    row = out[0]
    torch.add(x, 1, out=out)
    torch.mul(x[0], 2, out=row)
    empty = torch.empty(0, dtype=torch.float64)
    torch.mul(x, 2, out=empty)
    values, indices = torch.empty(0, dtype=torch.float64), torch.empty(0, dtype=torch.int64)
    torch.topk(x, 2, out=(values, indices))
    return out, row, empty, values, indices


@case(grad=False)
def several_arguments_and_lists(x):
    first, second = x.clone(), x * 2
    torch._foreach_add_([first, second, x], 1.0)
    torch._foreach_mul_([first[0], second], [x[0], x])
    mean, variance = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    normed = F.batch_norm(x, mean, variance, training=True)
    return first, second, normed, mean, variance


@case(grad=False)
def casts(x):
    whole = torch.zeros(2, 3, dtype=torch.int64)
    whole.copy_(x * 10)
    single = torch.ones(2, 3)
    single.add_(x)
    single[0] = x[1]
    return whole, single


@case(grad=False)
def new_tensors(x):
    total = torch.zeros(3, dtype=torch.float64)
    total[1] = x.sum()
    total += torch.ones_like(total)
    rest = torch.full((2,), 5.0).fill_(1)
    return total, rest


# ---- sizes, strides and storage of the tensor itself ----


@case("plain", grad=False)
def turned_in_place(x):
    x.t_()
    x[0].add_(1)
    y = x.clone()
    y.unsqueeze_(0).squeeze_().transpose_(0, 1).swapdims_(0, 1)
    y[0] = 4
    return x, y


@case(grad=False)
def restrided_in_place(x):
    y = x.clone()
    y.as_strided_((2, 2), (1, 2), 1)
    y.add_(10)
    return y


@case(grad=False)
def resized(x):
    y = x.clone()
    flat = y.view(-1)
    y.resize_(2, 2)
    y.mul_(2)
    grown = x.clone()
    grown.resize_(3, 4)
    grown.fill_(1.0)
    return y, flat, grown


@case(grad=False)
def another_storage(x):
    y = x * 3
    z = x.clone()
    z.set_(y)
    z.add_(1)
    z[0].mul_(2)
    empty = x.clone().set_()
    return y, z, empty


# ---- what is an error ----


@case(grad=False)
def error_of_the_shape(x):
    x[0].add_(torch.ones(2, 3, dtype=torch.float64))


@case(grad=False)
def error_of_the_dtype(x):
    torch.ones(2, 3, dtype=torch.int64).add_(1.5)


@case(grad=False)
def error_of_the_out_dtype(x):
    torch.add(x, 1.5, out=torch.zeros(2, 3, dtype=torch.int64))


@case(grad=False)
def error_of_overlap(x):
    x.expand(4, 2, 3).add_(1)


@case(grad=False)
def error_of_a_view(x):
    x.t().view(-1)


def outcome(name: str, transform: Callable = lambda program: program) -> dict:
    """The outcome of a case: results and argument, or the error; and the gradients by the leaf."""
    program, start, grad = CASES[name]
    _, x = argument(start)
    try:
        results = transform(program)(x)
    except (RuntimeError, IndexError, TypeError, ValueError) as error:  # what it is, is the outcome
        return {"error": [type(error).__name__, str(error)]}
    results = [results] if isinstance(results, torch.Tensor) else list(results)
    found = {"results": results, "argument": x, "memory": x if x._base is None else x._base}
    if grad:
        leaf, x = argument(start, requires_grad=True)
        results = transform(program)(x)
        results = [results] if isinstance(results, torch.Tensor) else list(results)
        total = sum((i + 1) * (t * t).sum() for i, t in enumerate([*results, x]) if t.requires_grad)
        (found["gradient"],) = torch.autograd.grad(total, leaf)
    return found
