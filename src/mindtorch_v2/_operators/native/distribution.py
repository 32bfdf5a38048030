"""Random numbers whose distribution differs by element."""

from ..table import aten, like, op, rule


def _zero(grad):
    return aten.zeros_like(grad)


def _binomial_has_none(grad):
    raise RuntimeError("derivative for aten::binomial is not implemented")


def _sample_dirichlet_grad(grad, self, result):
    total = self.sum(-1, keepdim=True).expand_as(self)
    return aten._dirichlet_grad(result, self, total) * (grad - (result * grad).sum(-1, keepdim=True))


op(
    "_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor",
    "How a coordinate of a Dirichlet point moves with its concentration, at a given total concentration.",
    bind="function out",
    out_tags="generated",
    meta=like("x"),
    grad=None,
)
op(
    "_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor",
    "Points of a Dirichlet distribution.",
    bind="function generated_out",
    tags="nondeterministic_seeded",
    meta=rule("contiguous_like", "self"),
    grad={"self": _sample_dirichlet_grad},
)
op(
    "_standard_gamma(Tensor self, Generator? generator=None) -> Tensor",
    "Numbers of gamma distributions of rate one.",
    bind="function generated_out",
    tags="nondeterministic_seeded",
    meta=rule("contiguous_like", "self"),
    grad={"self": lambda grad, self, result: grad * aten._standard_gamma_grad(self, result)},
)
op(
    "_standard_gamma_grad(Tensor self, Tensor output) -> Tensor",
    "How a gamma number moves with its shape parameter.",
    bind="function generated_out",
    meta=rule("standard_gamma_grad"),
    grad=None,
)
op(
    "binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor",
    "How many of `count` trials succeed.",
    bind="function generated_out",
    tags="nondeterministic_seeded",
    meta=rule("binomial", "count", "prob"),
    grad={"prob": _binomial_has_none},
    node="NotImplemented",
)
op(
    "multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor",
    "Categories drawn with the weights of each row.",
    bind="function method out",
    quiet_out=True,
    out_dtype="multinomial expects Long tensor out, got: {out}",
    tags="nondeterministic_seeded",
    raises_by_values=True,
    meta=rule("multinomial"),
    grad=None,
)
op(
    "poisson(Tensor self, Generator? generator=None) -> Tensor",
    "Poisson numbers with the elements as rates.",
    bind="function generated_out",
    tags="nondeterministic_seeded",
    meta=rule("contiguous_like", "self"),
    grad={"self": _zero},
)
