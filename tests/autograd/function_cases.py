"""The programs behind `function_cases.json`: each does one thing to a `torch.autograd.Function` and says what it saw."""

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.autograd import forward_ad

CASES: dict[str, Callable[[], Any]] = {}


def case(name: str) -> Callable[[Callable], Callable]:
    def keep(program: Callable) -> Callable:
        CASES[name] = program
        return program

    return keep


def function(**methods: Any) -> Any:
    """A Function called MyFn with these static methods; what is not given doubles its input."""
    plain = {name: methods.pop(name) for name in ("generate_vmap_rule",) if name in methods}
    methods.setdefault("forward", lambda ctx, x: x * 2)
    methods.setdefault("backward", lambda ctx, g: g * 2)
    made = {name: staticmethod(value) for name, value in methods.items() if value is not None}
    return type("MyFn", (torch.autograd.Function,), {**made, **plain, "__module__": "__main__"})


def leaf(*values: float) -> Any:
    return torch.tensor(values or (2.0,), requires_grad=True)


# ---- what a Function has to define ----


@case("basic")
def _() -> Any:
    y = function().apply(leaf())
    return y.detach(), type(y.grad_fn).__name__, y.grad_fn.name(), repr(y.grad_fn)[:58]


@case("setup_context defined but forward takes ctx")
def _() -> Any:
    return function(setup_context=lambda ctx, inputs, output: None).apply(leaf())


@case("no forward")
def _() -> Any:
    return function(forward=None).apply(leaf())


@case("no backward")
def _() -> Any:
    return function(backward=None).apply(leaf()).backward()


@case("both backward and vjp")
def _() -> Any:
    return function(vjp=lambda ctx, g: g).apply(leaf()).backward()


@case("instantiate and call")
def _() -> Any:
    return function()()(leaf())


# ---- what backward returns ----


def _two(backward: Callable) -> Any:
    a, b = leaf(), leaf()
    function(forward=lambda ctx, x, y: x * y, backward=backward).apply(a, b).backward()
    return a.grad


def _gradient(backward: Callable, *values: float) -> Any:
    x = leaf(*values)
    function(backward=backward).apply(x).sum().backward()
    return x.grad


@case("backward too few grads (2 inputs,1 grad)")
def _() -> Any:
    return _two(lambda ctx, g: g)


@case("backward too many grads (trailing None)")
def _() -> Any:
    return _gradient(lambda ctx, g: (g, None, None))


@case("backward grad for non-tensor input")
def _() -> Any:
    x = leaf()
    function(forward=lambda ctx, x, n: x * n, backward=lambda ctx, g: (g, g)).apply(x, 3).backward()
    return x.grad


@case("backward returns non-tensor")
def _() -> Any:
    return _gradient(lambda ctx, g: 1.0)


@case("backward wrong shape not reducible")
def _() -> Any:
    return _gradient(lambda ctx, g: torch.ones(2), 1.0, 2.0, 3.0)


@case("backward larger broadcast shape is summed")
def _() -> Any:
    return _gradient(lambda ctx, g: torch.ones(2, 3), 1.0, 2.0, 3.0)


@case("backward wrong dtype is cast")
def _() -> Any:
    return _gradient(lambda ctx, g: g.double()).dtype


@case("backward complex for real input")
def _() -> Any:
    return _gradient(lambda ctx, g: g.to(torch.complex64))


@case("backward raises")
def _() -> Any:
    def backward(ctx: Any, g: Any) -> Any:
        raise ValueError("my error")

    return _gradient(backward)


# ---- what forward returns ----


@case("forward returns non-tensor")
def _() -> Any:
    return function(forward=lambda ctx, x: 5).apply(leaf())


@case("forward returns list")
def _() -> Any:
    r = function(forward=lambda ctx, x: [x * 1]).apply(leaf())
    return type(r).__name__, r


@case("forward returns 1-tuple")
def _() -> Any:
    return type(function(forward=lambda ctx, x: (x * 1,)).apply(leaf())).__name__


@case("forward returns input as-is, input non requires grad")
def _() -> Any:
    x = torch.ones(1)
    y = function(forward=lambda ctx, x, w: x).apply(x, leaf())
    return y is x, y.requires_grad


@case("forward returns view of input; then inplace")
def _() -> Any:
    y = function(forward=lambda ctx, x: x.view(-1)).apply(leaf())
    return y.add_(1)


@case("forward returns 2 views; inplace on one")
def _() -> Any:
    fn = function(forward=lambda ctx, x: (x.view(-1), x.view(-1)), backward=lambda ctx, a, b: a + b)
    y, _ = fn.apply(leaf() + 0)
    return y.add_(1)


@case("no tensor inputs")
def _() -> Any:
    return function(forward=lambda ctx, n: torch.ones(1) * n).apply(3).requires_grad


@case("apply() with no args")
def _() -> Any:
    return function(forward=lambda ctx: torch.ones(1)).apply()


case("super().apply with wrong arg count")(lambda: function(forward=lambda ctx, x: x).apply())


# ---- grad mode, needs_input_grad ----


def _needs(*arguments: Any) -> Any:
    seen = []

    def forward(ctx: Any, *xs: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return xs[0] * 1

    y = function(forward=forward, backward=lambda ctx, g: (g, *[None] * (len(arguments) - 1))).apply(*arguments)
    return y, seen


@case("grad disabled: no grad_fn; needs_input_grad value")
def _() -> Any:
    with torch.no_grad():
        y, seen = _needs(leaf())
    return y.requires_grad, seen


@case("needs_input_grad for mixed")
def _() -> Any:
    return _needs(leaf(), torch.ones(1), 3, None)[1]


@case("forward grad mode is off inside forward; on in backward w/ create_graph")
def _() -> Any:
    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        seen.append(torch.is_grad_enabled())
        return x * 2

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(torch.is_grad_enabled())
        return g * 2

    fn = function(forward=forward, backward=backward)
    x = leaf()
    torch.autograd.grad(fn.apply(x), x, create_graph=True)
    torch.autograd.grad(fn.apply(x), x)
    return [seen[0], seen[1], *seen[2:]]


@case("double backward")
def _() -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * g

    x = leaf(3.0)
    (g,) = torch.autograd.grad(function(forward=forward, backward=backward).apply(x), x, create_graph=True)
    return g, torch.autograd.grad(g, x)


@case("once_differentiable double backward")
def _() -> Any:
    once = torch.autograd.function.once_differentiable
    x = leaf()
    (g,) = torch.autograd.grad(function(backward=once(lambda ctx, g: g * 2)).apply(x), x, create_graph=True)
    return torch.autograd.grad(g, x)


@case("once_differentiable single backward; grad mode inside")
def _() -> Any:
    seen = []

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(torch.is_grad_enabled())
        return g

    x = leaf()
    fn = function(backward=torch.autograd.function.once_differentiable(backward))
    torch.autograd.grad(fn.apply(x), x, create_graph=True)
    return seen


# ---- marks ----


def _in_place(ctx: Any, x: Any) -> Any:
    x.add_(1)
    ctx.mark_dirty(x)
    return x


@case("mark_dirty ok")
def _() -> Any:
    x = leaf() + 0
    y = function(forward=lambda ctx, x: _in_place(ctx, x)).apply(x)
    return y is x, x._version, type(y.grad_fn).__name__


@case("mark_dirty on leaf requiring grad")
def _() -> Any:
    return function(forward=_in_place).apply(leaf())


@case("mark_dirty on view of leaf")
def _() -> Any:
    return function(forward=_in_place).apply(leaf().view(-1))


@case("mark_dirty non-tensor")
def _() -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(3)
        return x * 1

    return function(forward=forward).apply(leaf())


@case("in-place in forward without mark_dirty, returned")
def _() -> Any:
    x = leaf() + 0
    y = function(forward=lambda ctx, x: x.add_(1)).apply(x)
    return y is x, y._is_view(), type(y.grad_fn).__name__


def _marked(mark: Callable) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        mark(ctx, y)
        return y

    return function(forward=forward).apply(leaf(1.0))


@case("mark_non_differentiable on float output: requires_grad")
def _() -> Any:
    return _marked(lambda ctx, y: ctx.mark_non_differentiable(y)).requires_grad


@case("mark_non_differentiable not an output")
def _() -> Any:
    return _marked(lambda ctx, y: ctx.mark_non_differentiable(torch.ones(1))).requires_grad


@case("mark_shared_storage removed")
def _() -> Any:
    return _marked(lambda ctx, y: ctx.mark_shared_storage(y))


@case("materialize_grads default True")
def _() -> Any:
    seen = []

    def backward(ctx: Any, a: Any, b: Any) -> Any:
        seen.append((a, b))
        return a

    function(forward=lambda ctx, x: (x * 1, x * 2), backward=backward).apply(leaf())[0].backward()
    return seen


@case("set_materialize_grads('x')")
def _() -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads("x")
        return x * 2

    return function(forward=forward).apply(leaf())


# ---- saved tensors ----


def _saving(*what: Any) -> Callable:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(*(x if item is Ellipsis else item for item in what))
        return x * 2

    return forward


def _read(ctx: Any, g: Any) -> Any:
    ctx.saved_tensors
    return g


@case("save_for_backward None ok")
def _() -> Any:
    seen = []

    def backward(ctx: Any, g: Any) -> Any:
        seen.append([t is not None for t in ctx.saved_tensors])
        return g

    function(forward=_saving(..., None, ...), backward=backward).apply(leaf()).backward()
    return seen


@case("save_for_backward list arg")
def _() -> Any:
    return function(forward=_saving([1])).apply(leaf())


@case("saved_tensors in forward (before apply done)")
def _() -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return ctx.saved_tensors[0]

    return function(forward=forward).apply(leaf())


@case("saved_tensors after inplace modification (version check)")
def _() -> Any:
    x = leaf() + 0
    y = function(forward=_saving(...), backward=_read).apply(x)
    x.add_(1)
    y.backward()


@case("saved output modified in place")
def _() -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.save_for_backward(y)
        return y

    y = function(forward=forward, backward=_read).apply(leaf())
    y.add_(1)
    y.backward()


@case("saved leaf modified under no_grad")
def _() -> Any:
    x = leaf()
    y = function(forward=_saving(...), backward=_read).apply(x)
    with torch.no_grad():
        x.add_(1)
    y.backward()


@case("backward twice without retain_graph (saved freed)")
def _() -> Any:
    y = function(forward=_saving(...), backward=_read).apply(leaf())
    y.backward()
    y.backward()


@case("saved_tensors outside after backward")
def _() -> Any:
    y = function(forward=_saving(...), backward=_read).apply(leaf())
    y.backward()
    return y.grad_fn.saved_tensors


@case("saved_tensors_hooks")
def _() -> Any:
    seen = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: (seen.append("pack"), t)[1], lambda t: (seen.append("unpack"), t)[1]
    ):
        y = function(forward=_saving(...), backward=_read).apply(leaf())
    y.backward()
    return seen


@case("inference_mode input saved")
def _() -> Any:
    with torch.inference_mode():
        x = torch.ones(1)
    return function(
        forward=lambda ctx, x, w: (ctx.save_for_backward(x), x * w)[1], backward=lambda ctx, g: (None, g)
    ).apply(x, leaf())


# ---- the context ----


@case("ctx attribute tensor")
def _() -> Any:
    def forward(ctx: Any, x: Any, n: int) -> Any:
        ctx.n, ctx.x = n, x
        return x * n

    seen = []

    def backward(ctx: Any, g: Any) -> Any:
        seen.append((ctx.n, ctx.x is x))
        return g, None

    x = leaf()
    function(forward=forward, backward=backward).apply(x, 3).backward()
    return seen[0]


@case("ctx unknown attribute")
def _() -> Any:
    return _gradient(lambda ctx, g: ctx.zz)


@case("ctx.needs_input_grad set in user")
def _() -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.needs_input_grad = (False,)
        return x * 2

    seen = []
    function(forward=forward, backward=lambda ctx, g: (seen.append(ctx.needs_input_grad), g)[1]).apply(
        leaf()
    ).backward()
    return seen[0]


@case("isinstance grad_fn Node")
def _() -> Any:
    node = function().apply(leaf()).grad_fn
    return (
        isinstance(node, torch.autograd.graph.Node),
        type(node).__mro__[1].__name__,
        node._forward_cls.__name__,
    )


@case("ctx.dirty_tensors / to_save attrs visible")
def _() -> Any:
    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        seen.append((hasattr(ctx, "dirty_tensors"), ctx.saved_tensors, ctx.to_save, ctx.dirty_tensors))
        return x * 2

    function(forward=forward).apply(leaf())
    return seen


@case("ctx._get_compiled_autograd_symints etc dir")
def _() -> Any:
    names = [name for name in dir(function().apply(leaf()).grad_fn) if not name.startswith("__")]
    return names


@case("non-contiguous grad passed as is; expanded grad")
def _() -> Any:
    seen = []

    def backward(ctx: Any, g: Any) -> Any:
        seen.append((g.stride(), g.is_contiguous()))
        return g

    function(backward=backward).apply(leaf(1.0, 2.0)).sum().backward()
    return seen


@case("InplaceFunction")
def _() -> Any:
    class G(torch.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    G.__qualname__ = "_.<locals>.G"
    G.__module__ = "__main__"
    return G(inplace=True).inplace


# ---- forward mode ----


def _dual(fn: Any, x: Any = None) -> Any:
    with forward_ad.dual_level():
        x = torch.tensor([3.0]) if x is None else x
        y = fn.apply(forward_ad.make_dual(x, torch.ones(1)))
        return tuple(forward_ad.unpack_dual(y))


@case("jvp basic")
def _() -> Any:
    return _dual(function(forward=lambda ctx, x: x * 1, jvp=lambda ctx, t: t * 6))


@case("jvp missing")
def _() -> Any:
    return _dual(function())


@case("jvp wrong number of outputs")
def _() -> Any:
    return _dual(function(jvp=lambda ctx, t: (t, t)))


@case("jvp returns non-tensor")
def _() -> Any:
    return _dual(function(jvp=lambda ctx, t: 1))


@case("save_for_forward + saved_for_forward")
def _() -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_forward(x)
        return x * x

    return _dual(function(forward=forward, jvp=lambda ctx, t: 2 * ctx.saved_for_forward[0] * t))


@case("saved_tensors in jvp are those of save_for_forward")
def _() -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x + 1)
        ctx.save_for_forward(x)
        return x * x

    return _dual(function(forward=forward, jvp=lambda ctx, t: 2 * ctx.saved_tensors[0] * t))


@case("save_for_forward non tensor")
def _() -> Any:
    return function(forward=lambda ctx, x: (ctx.save_for_forward(3), x * 2)[1]).apply(leaf())


@case("jvp with mark_dirty not inplace on tangent")
def _() -> Any:
    return _dual(function(forward=_in_place, jvp=lambda ctx, t: t * 1))


@case("jvp with mark_dirty inplace ok")
def _() -> Any:
    return _dual(function(forward=_in_place, jvp=lambda ctx, t: t.mul_(2)), torch.ones(1))


# ---- torch.func ----


def _new_style(**methods: Any) -> Any:
    return function(
        forward=lambda x: x * 3,
        setup_context=lambda ctx, inputs, output: None,
        backward=lambda ctx, g: g * 3,
        **methods,
    )


@case("torch.func.grad with old style")
def _() -> Any:
    return torch.func.grad(lambda x: function().apply(x).sum())(torch.ones(2))


@case("torch.func.grad with setup_context")
def _() -> Any:
    return torch.func.grad(lambda x: _new_style().apply(x).sum())(torch.ones(2))


@case("vmap no rule")
def _() -> Any:
    return torch.func.vmap(_new_style().apply)(torch.ones(2, 3))


@case("vmap generate_vmap_rule")
def _() -> Any:
    fn = _new_style(generate_vmap_rule=True)
    x = torch.ones(2, 3)
    return torch.func.vmap(fn.apply)(x), torch.func.vmap(torch.func.grad(lambda x: fn.apply(x).sum()))(x)


@case("vmap returns non tuple")
def _() -> Any:
    return torch.func.vmap(_new_style(vmap=lambda info, in_dims, x: x).apply)(torch.ones(2, 3))


@case("vmap old style function w/o setup_context")
def _() -> Any:
    return torch.func.vmap(function().apply)(torch.ones(2, 3))


# ---- checks ----


@case("gradcheck wrong backward")
def _() -> Any:
    fn = function(backward=lambda ctx, g: g)
    return torch.autograd.gradcheck(fn.apply, torch.ones(2, dtype=torch.float64, requires_grad=True))


@case("set_detect_anomaly traceback warning")
def _() -> Any:
    def backward(ctx: Any, g: Any) -> Any:
        raise ValueError("x")

    with torch.autograd.set_detect_anomaly(True):
        function(forward=lambda ctx, x: x * 1, backward=backward).apply(leaf()).backward()
