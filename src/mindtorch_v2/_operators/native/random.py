"""Random numbers: PyTorch's streams from the same seed."""

from ..table import aten, op, rule

_FACTORY = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_INTEGERS = "ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_LIKE = f"{_FACTORY}, MemoryFormat? memory_format=None"
_SIZED = rule("factory", "size", "dtype")
_SIZED_INTEGERS = rule("factory_of_integers", "size", "dtype")
_SHAPED = rule("factory_like", "self", "dtype", "memory_format")


def _no_gradient(grad):
    """Say that the gradient is zero: what was drawn does not depend on what was there before."""
    return aten.zeros_like(grad)


def _bernoulli_p_has_none(grad):
    raise RuntimeError("derivative for aten::bernoulli is not implemented")


def _draw(schema, doc, node=None) -> None:
    op(
        schema,
        doc,
        bind="method",
        tags="nondeterministic_seeded",
        grad={"self": _no_gradient},
        node=node,
        meta_kernel=lambda self, *args, **kwargs: self,
    )


op(
    "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
    "1 with the probability that the element gives, else 0.",
    bind="function method",
    tags="nondeterministic_seeded",
    meta=rule("contiguous_like", "self"),
    grad={"self": _no_gradient},
)
_draw(
    "bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)",
    "1 with the probabilities of `p`, else 0.",
    node="BernoulliBackward1",
)
_draw(
    "bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)",
    "1 with probability `p`, else 0.",
    node="BernoulliBackward2",
)
op(
    "bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
    "1 with probability `p`, else 0, shaped like `self`.",
    bind="function method",
    tags="nondeterministic_seeded",
    meta=rule("contiguous_like", "self"),
    grad={"self": _bernoulli_p_has_none},
    node="NotImplemented",
)
_draw(
    "cauchy_(Tensor(a!) self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor(a!)",
    "Numbers of a Cauchy distribution.",
)
_draw(
    "exponential_(Tensor(a!) self, float lambd=1., *, Generator? generator=None) -> Tensor(a!)",
    "Numbers of an exponential distribution.",
)
_draw(
    "geometric_(Tensor(a!) self, float p, *, Generator? generator=None) -> Tensor(a!)",
    "How many trials up to the first success.",
)
_draw(
    "log_normal_(Tensor(a!) self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor(a!)",
    "Numbers whose logarithm is normal.",
)
op(
    f"normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, {_FACTORY}) -> Tensor",
    "Normal numbers of one mean and deviation.",
    bind="function",
    tags="nondeterministic_seeded",
    meta=_SIZED,
    grad=None,
)
_draw(
    "normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)",
    "Normal numbers.",
)
op(
    f"rand(SymInt[] size, *, {_FACTORY}) -> Tensor",
    "Uniform in [0, 1).",
    bind="function",
    tags="core nondeterministic_seeded",
    meta=_SIZED,
    grad=None,
)
op(
    f"rand.generator(SymInt[] size, *, Generator? generator, {_FACTORY}) -> Tensor",
    "Uniform in [0, 1).",
    bind="function",
    tags="nondeterministic_seeded",
    meta=_SIZED,
    grad=None,
)
op(
    f"rand_like(Tensor self, *, {_LIKE}) -> Tensor",
    "Uniform in [0, 1), shaped like `self`.",
    bind="function generated_out",
    tags="nondeterministic_seeded",
    meta=_SHAPED,
    grad=None,
)
op(
    f"rand_like.generator(Tensor self, *, Generator? generator, {_LIKE}) -> Tensor",
    "Uniform in [0, 1), shaped like `self`.",
    bind="function generated_out",
    tags="nondeterministic_seeded",
    meta=_SHAPED,
    grad=None,
)
op(
    f"randint(SymInt high, SymInt[] size, *, {_INTEGERS}) -> Tensor",
    "Integers of [0, high).",
    bind="function",
    tags="nondeterministic_seeded",
    meta=_SIZED_INTEGERS,
    grad=None,
)
op(
    f"randint.generator(SymInt high, SymInt[] size, *, Generator? generator, {_INTEGERS}) -> Tensor",
    "Integers of [0, high).",
    bind="function",
    tags="nondeterministic_seeded",
    meta=_SIZED_INTEGERS,
    grad=None,
)
op(
    f"randint.low(SymInt low, SymInt high, SymInt[] size, *, {_INTEGERS}) -> Tensor",
    "Integers of [low, high).",
    bind="function",
    tags="nondeterministic_seeded",
    meta=_SIZED_INTEGERS,
    grad=None,
)
op(
    f"randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, {_INTEGERS}) -> Tensor",
    "Integers of [low, high).",
    bind="function",
    tags="nondeterministic_seeded",
    meta=_SIZED_INTEGERS,
    grad=None,
)
op(
    f"randint_like(Tensor self, SymInt high, *, {_LIKE}) -> Tensor",
    "Integers of [0, high), shaped like `self`.",
    bind="function generated_out",
    tags="nondeterministic_seeded",
    meta=_SHAPED,
    grad=None,
)
op(
    f"randint_like.Tensor(Tensor self, Tensor high, *, {_LIKE}) -> Tensor",
    "Integers of [0, high), shaped like `self`.",
    bind="function generated_out",
    tags="nondeterministic_seeded",
    meta=_SHAPED,
    grad=None,
)
op(
    f"randint_like.Tensor_generator(Tensor self, Tensor high, *, Generator? generator, {_LIKE}) -> Tensor",
    "Integers of [0, high), shaped like `self`.",
    bind="function generated_out",
    tags="nondeterministic_seeded",
    meta=_SHAPED,
    grad=None,
)
op(
    f"randint_like.generator(Tensor self, SymInt high, *, Generator? generator, {_LIKE}) -> Tensor",
    "Integers of [0, high), shaped like `self`.",
    bind="function generated_out",
    tags="nondeterministic_seeded",
    meta=_SHAPED,
    grad=None,
)
op(
    f"randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, {_LIKE}) -> Tensor",
    "Integers of [low, high), shaped like `self`.",
    bind="function generated_out",
    tags="nondeterministic_seeded",
    meta=_SHAPED,
    grad=None,
)
op(
    f"randint_like.low_generator_dtype(Tensor self, SymInt low, SymInt high, *, Generator? generator, {_LIKE}) -> Tensor",
    "Integers of [low, high), shaped like `self`.",
    bind="function generated_out",
    tags="nondeterministic_seeded",
    meta=_SHAPED,
    grad=None,
)
op(
    f"randn(SymInt[] size, *, {_FACTORY}) -> Tensor",
    "Standard normal numbers.",
    bind="function",
    tags="core nondeterministic_seeded",
    meta=_SIZED,
    grad=None,
)
op(
    f"randn.generator(SymInt[] size, *, Generator? generator, {_FACTORY}) -> Tensor",
    "Standard normal numbers.",
    bind="function",
    tags="nondeterministic_seeded",
    meta=_SIZED,
    grad=None,
)
op(
    f"randn_like(Tensor self, *, {_LIKE}) -> Tensor",
    "Standard normal numbers, shaped like `self`.",
    bind="function generated_out",
    tags="nondeterministic_seeded",
    meta=_SHAPED,
    grad=None,
)
op(
    f"randn_like.generator(Tensor self, *, Generator? generator, {_LIKE}) -> Tensor",
    "Standard normal numbers, shaped like `self`.",
    bind="function generated_out",
    tags="nondeterministic_seeded",
    meta=_SHAPED,
    grad=None,
)
_draw(
    "random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)",
    "Integers over the range of the dtype.",
    node="RandomBackward2",
)
_draw(
    "random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)",
    "Integers of [from, to).",
    node="RandomBackward0",
)
_draw(
    "random_.to(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)",
    "Integers of [0, to).",
    node="RandomBackward1",
)
op(
    f"randperm(SymInt n, *, {_INTEGERS}) -> Tensor",
    "0 to n - 1 in random order.",
    bind="function",
    tags="core nondeterministic_seeded",
    meta=rule("randperm", "n", "dtype"),
    grad=None,
)
op(
    f"randperm.generator(SymInt n, *, Generator? generator, {_INTEGERS}) -> Tensor",
    "0 to n - 1 in random order.",
    bind="function",
    tags="nondeterministic_seeded",
    meta=rule("randperm", "n", "dtype"),
    grad=None,
)
_draw(
    "uniform_(Tensor(a!) self, float from=0., float to=1., *, Generator? generator=None) -> Tensor(a!)",
    "Uniform in [from, to).",
)
