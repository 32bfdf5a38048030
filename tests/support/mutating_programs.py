"""Random programs of views, writes and other operators, for whatever has to leave their meaning as it is.

A program is a list of instructions over a growing list of tensors. Each instruction names tensors by number and does
nothing where they do not fit it, so that every list is a program. `run` carries one out with a `torch` of the caller's,
`outcome` says what it comes to.
"""

import random
import re

from hypothesis import strategies as st

SHAPE = (4, 6)

# name -> the tensors that it makes of a tensor; n is any whole number
VIEWS = {
    "flat": lambda t, n: [t.view(-1)],
    "pairs": lambda t, n: [t.view(-1, 2)] if t.numel() % 2 == 0 else [],
    "select": lambda t, n: [t.select(n % t.dim(), n % t.shape[n % t.dim()])],
    "negative_select": lambda t, n: [t.select(-1 - n % t.dim(), -1)],
    "slice": lambda t, n: [t[n % t.shape[0] :]],
    "step": lambda t, n: [t[..., :: 1 + n % 3]],
    "narrow": lambda t, n: [t.narrow(n % t.dim(), 0, 1 + n % t.shape[n % t.dim()])],
    "transpose": lambda t, n: [t.transpose(0, n % t.dim())],
    "permute": lambda t, n: [t.permute(*reversed(range(t.dim())))],
    "t": lambda t, n: [t.t()] if t.dim() <= 2 else [],
    "unsqueeze": lambda t, n: [t.unsqueeze(n % (t.dim() + 1))],
    "squeeze": lambda t, n: [t.squeeze()],
    "squeeze_dim": lambda t, n: [t.squeeze(n % t.dim())],
    "diagonal": lambda t, n: [t.diagonal()] if t.dim() >= 2 else [],
    "expand": lambda t, n: [t.expand(2, *t.shape)],
    "expand_one": lambda t, n: [t.expand(1, *t.shape)],
    "chunk": lambda t, n: list(t.chunk(2, n % t.dim())),
    "split": lambda t, n: list(t.split(1 + n % 3, n % t.dim())),
    "unbind": lambda t, n: list(t.unbind(n % t.dim()))[:3],
    "unfold": lambda t, n: [t.unfold(n % t.dim(), 1, 1 + n % 2)],
    "as_strided": lambda t, n: [t.as_strided((2,), (1,), t.storage_offset())] if t.numel() >= 2 and t.is_contiguous() else [],
    "alias": lambda t, n: [t.view_as(t)],
    "detach": lambda t, n: [t.detach()],
}  # fmt: skip

# name -> what it does to a tensor, with another one of a shape that broadcasts to it
WRITES = {
    "add": lambda t, u, n: t.add_(u, alpha=0.5),
    "add_number": lambda t, u, n: t.add_(n),
    "mul": lambda t, u, n: t.mul_(u),
    "mul_number": lambda t, u, n: t.mul_(0.5),
    "copy": lambda t, u, n: t.copy_(u),
    "zero": lambda t, u, n: t.zero_(),
    "fill": lambda t, u, n: t.fill_(n),
    "sin": lambda t, u, n: t.sin_(),
    "tanh": lambda t, u, n: t.tanh_(),
    "neg": lambda t, u, n: t.neg_(),
    "clamp": lambda t, u, n: t.clamp_(-1, 1),
    "masked_fill": lambda t, u, n: t.masked_fill_(t.detach() > 0, n),
    "addcmul": lambda t, u, n: t.addcmul_(u, u, value=0.1),
    "lerp": lambda t, u, n: t.lerp_(u.expand(t.shape), 0.25),
    "cumsum": lambda t, u, n: t.cumsum_(n % t.dim()) if t.dim() else t,
    "setitem": lambda t, u, n: t.__setitem__(0, n) if t.dim() else None,
    "setitem_mask": lambda t, u, n: t.__setitem__(t.detach() > 0.5, 0.25),
}

# name -> the new tensors that it makes
PURE = {
    "times_two": lambda torch, t, u, n: [t * 2],
    "plus": lambda torch, t, u, n: [t + u],
    "clone": lambda torch, t, u, n: [t.clone()],
    "relu": lambda torch, t, u, n: [torch.relu(t)],
    "sum": lambda torch, t, u, n: [t.sum()],
    "cat": lambda torch, t, u, n: [torch.cat([t, t])] if t.dim() else [],
    "where": lambda torch, t, u, n: [torch.where(t.detach() > 0, t, u)],
    "reshape": lambda torch, t, u, n: [t.reshape(-1)],
    "contiguous": lambda torch, t, u, n: [t.contiguous()],
    "to_same": lambda torch, t, u, n: [t.to(t.dtype)],
    "zeros": lambda torch, t, u, n: [torch.zeros(2, 3, dtype=t.dtype)],
    "zeros_like": lambda torch, t, u, n: [torch.zeros_like(t)],
}

# name -> what becomes of the tensor's own sizes and strides
METADATA = {
    "transpose_": lambda t, n: t.transpose_(0, n % t.dim()) if t.dim() else t,
    "t_": lambda t, n: t.t_() if t.dim() <= 2 else t,
    "unsqueeze_": lambda t, n: t.unsqueeze_(n % (t.dim() + 1)) if t.dim() < 5 else t,
    "squeeze_": lambda t, n: t.squeeze_(),
}

NUMBERS = st.integers(0, 40)
INSTRUCTIONS = st.one_of(
    st.tuples(st.just("view"), st.sampled_from(sorted(VIEWS)), NUMBERS, NUMBERS, NUMBERS),
    st.tuples(st.just("write"), st.sampled_from(sorted(WRITES)), NUMBERS, NUMBERS, NUMBERS),
    st.tuples(st.just("view"), st.sampled_from(sorted(VIEWS)), NUMBERS, NUMBERS, NUMBERS),
    st.tuples(st.just("write"), st.sampled_from(sorted(WRITES)), NUMBERS, NUMBERS, NUMBERS),
    st.tuples(st.just("pure"), st.sampled_from(sorted(PURE)), NUMBERS, NUMBERS, NUMBERS),
    st.tuples(st.just("metadata"), st.sampled_from(sorted(METADATA)), NUMBERS, NUMBERS, NUMBERS),
)
PROGRAMS = st.lists(INSTRUCTIONS, min_size=4, max_size=16)
HOW_ALIASED = ["none", "same", "row", "columns", "transposed"]
ALIASING = st.sampled_from(HOW_ALIASED)
SEEDS = 80


def seeded(seed):
    """A program and how its arguments share memory: the same ones wherever it is asked for."""
    draw = random.Random(seed)  # programs, not secrets
    kinds: dict[str, dict] = {"view": VIEWS, "write": WRITES, "pure": PURE, "metadata": METADATA}
    program = []
    for _ in range(draw.randint(4, 16)):
        kind = draw.choice(["view", "view", "write", "write", "pure", "metadata"])
        name = draw.choice(sorted(kinds[kind]))
        program.append((kind, name, draw.randint(0, 40), draw.randint(0, 40), draw.randint(0, 40)))
    return program, draw.choice(HOW_ALIASED)


def _fits(torch, t, u):
    """`u` as something that broadcasts to `t`'s sizes."""
    try:
        return u if tuple(torch.broadcast_shapes(tuple(t.shape), tuple(u.shape))) == tuple(t.shape) else None
    except RuntimeError:
        return None


def step(torch, tensors, kind, name, i, j, n):
    """One instruction on tensor `i`, with tensor `j` (None: what fits) as the other one; new tensors join the list."""
    t = tensors[i]
    if kind == "view":
        if t.dim():
            tensors += VIEWS[name](t, n)
    elif kind == "metadata":
        METADATA[name](t, n)
    elif kind == "write":
        WRITES[name](t, torch.full((), 0.75, dtype=t.dtype) if j is None else tensors[j].clone(), n)
    else:
        tensors += PURE[name](torch, t, t if j is None else tensors[j], n)


def carried_out(torch, program, tensors, writes_metadata=True):
    """Carry a program out on a list of tensors, which grows; give each step that fitted, as `step` takes it."""
    given = len(tensors)
    for kind, name, which, other, n in program:
        i, j = which % len(tensors), other % len(tensors)
        if not tensors[i].numel() or len(tensors) > 40:
            continue
        # Whether the caller's own tensor follows new sizes is a question of its own.
        if kind == "metadata" and not (writes_metadata and i >= given):
            continue
        fits = kind in ("write", "pure") and _fits(torch, tensors[i], tensors[j]) is not None
        found = (kind, name, i, j if fits else None, n)
        try:
            step(torch, tensors, *found)
        except RuntimeError as error:
            if kind == "view" and "view size is not compatible" in str(error):
                continue
            raise
        yield found


def run(torch, program, inputs, writes_metadata=True):
    """All the tensors that the program ends up with, the inputs among them."""
    tensors = list(inputs)
    for _ in carried_out(torch, program, tensors, writes_metadata):
        pass
    return tensors


def leaves(torch):
    """The numbers that programs start from, as leaves of the graph."""
    count = SHAPE[0] * SHAPE[1]
    first = (torch.arange(count, dtype=torch.float64) * 0.37).cos().reshape(SHAPE)
    second = (torch.arange(count, dtype=torch.float64) * 0.61).sin().reshape(SHAPE)
    return [first.requires_grad_(), second.requires_grad_()]


def arguments(made_from, aliasing):
    """The arguments of a program: two tensors, and a third that may share memory with the first."""
    x, y = (leaf * 1 for leaf in made_from)
    third = {
        "none": lambda: y[0] * 1,
        "same": lambda: x,
        "row": lambda: x[1],
        "columns": lambda: x[:, 1:3],
        "transposed": lambda: x.t(),
    }[aliasing]
    return [x, y, third()]


def body(torch, program, writes_metadata=True):
    """The program as a function of its arguments."""
    return lambda *args: run(torch, program, args, writes_metadata)


def outcome(torch, function, aliasing, grad):
    """("ok", final values, gradients) or ("error", class, text)."""
    made_from = leaves(torch)
    if not grad:
        made_from = [leaf.detach() for leaf in made_from]
    args = arguments(made_from, aliasing)
    try:
        everything = [*function(*args), *args]
        values = [t.detach().clone() for t in everything]
        terms = [((i + 1) * t).sum() for i, t in enumerate(everything) if t.requires_grad]
        gradients = torch.autograd.grad(sum(terms), made_from, allow_unused=True) if terms else ()
    except RuntimeError as error:
        return "error", type(error).__name__, str(error)
    return "ok", values, list(gradients)


_MADE_BY = re.compile(r"which is output \d+ of \w+, is at version \d+; expected version \d+")


def assert_same(torch, found, expected, by_graph=False):
    """Two outcomes are the same. `by_graph` says that a graph gave the first: its results are made by the graph.

    They are views like any other then, where eager refuses to write to one of several views of an operator.
    """
    if by_graph and expected[0] == "error" and "that returns multiple views" in expected[2]:
        return
    assert found[0] == expected[0], (found, expected)
    if expected[0] == "error":
        texts = [_MADE_BY.sub("", text) if by_graph else text for text in (found[2], expected[2])]
        assert found[1] == expected[1] and texts[0] == texts[1]
        return
    for mine, theirs in zip((*found[1], *found[2]), (*expected[1], *expected[2]), strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            assert mine.shape == theirs.shape
            assert torch.allclose(mine, theirs, rtol=1e-9, atol=1e-9, equal_nan=True)


def summary(found):
    """An outcome in few numbers: of each tensor the shape and a sum that depends on every element's place."""
    if found[0] == "error":
        return list(found)

    def short(t):
        if t is None:
            return None
        flat = t.detach().reshape(-1).tolist()
        return [list(t.shape), sum((i % 7 + 1) * value for i, value in enumerate(flat))]

    return [found[0], [short(t) for t in found[1]], [short(t) for t in found[2]]]
