"""A `torch.autograd.Function` under vmap, by a rule that is generated and by its own, against PyTorch."""

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from agreement import same

import mindtorch_v2


def _said(call: Callable[[], Any]) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except Exception as error:  # noqa: BLE001  (what PyTorch raises is what is expected)
        return type(error).__name__, " ".join(str(error).split())


def _wave(torch: ModuleType, *shape: int, start: int = 1) -> Any:
    count = 1
    for n in shape:
        count *= n
    return torch.arange(start, start + count, dtype=torch.float64).mul(0.7).sin().reshape(shape)


def _made(torch: ModuleType, **members: Any) -> Any:
    plain = {name: members.pop(name) for name in ("generate_vmap_rule",) if name in members}
    methods = {name: staticmethod(value) for name, value in members.items()}
    return type("Made", (torch.autograd.Function,), {**methods, **plain})


def product(torch: ModuleType, seen: list | None = None, **settings: Any) -> Any:
    """x * y * factor, with its derivatives both ways."""

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, y, factor = inputs
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)
        ctx.factor = factor

    def backward(ctx: Any, grad: Any) -> Any:
        x, y = ctx.saved_tensors
        if seen is not None:
            seen.append((ctx.needs_input_grad, tuple(x.shape), tuple(y.shape), tuple(grad.shape)))
        return grad * y * ctx.factor, (grad * x * ctx.factor).sum_to_size(y.shape), None

    def jvp(ctx: Any, x_t: Any, y_t: Any, _: Any) -> Any:
        x, y = ctx.saved_for_forward if settings.get("forward_only") else ctx.saved_tensors
        return ctx.factor * ((0 if x_t is None else x_t * y) + (0 if y_t is None else x * y_t))

    return _made(
        torch,
        forward=lambda x, y, factor: x * y * factor,
        setup_context=setup_context,
        backward=backward,
        jvp=jvp,
        generate_vmap_rule=True,
    )


DIMS = [(0, 0, None), (0, None, None), (None, 0, None), (1, 0, None), (0, 1, None), (-1, None, None)]


@pytest.mark.parametrize("dims", DIMS)
def test_generated_rules(dims: Any) -> None:
    def program(torch: ModuleType) -> Any:
        seen: list[Any] = []
        function = product(torch, seen).apply
        x, y = (
            _wave(torch, *((3, 3) if dim is not None else (3,)), start=place + 2).requires_grad_()
            for place, dim in enumerate(dims[:2])
        )
        f = torch.func
        made = f.vmap(function, in_dims=dims)(x, y, 3.0)
        made.sin().sum().backward()
        found = [made, x.grad, y.grad]
        x, y = x.detach(), y.detach()
        for which in (0, 1, (0, 1)):
            found.append(
                f.vmap(f.grad(lambda a, b, c: function(a, b, c).sin().sum(), argnums=which), in_dims=dims)(x, y, 2.0)
            )
            found.append(
                f.grad(lambda a, b: f.vmap(function, in_dims=dims)(a, b, 2.0).sin().sum(), argnums=which)(x, y)
            )
        found.append(
            f.jvp(
                lambda a, b: f.vmap(function, in_dims=dims)(a, b, 2.0),
                (x, y),
                (y if x.shape == y.shape else x * 2, x if x.shape == y.shape else y * 3),
            )
        )
        found.append(f.jvp(lambda a: f.vmap(function, in_dims=dims)(a, y, 2.0), (x,), (x * 2,)))
        found.append(f.vmap(lambda a, b: f.jvp(lambda v: function(v, b, 2.0), (a,), (a,)), in_dims=dims[:2])(x, y))
        return found, [item[1:] for item in seen if torch is not None][:2]

    same(lambda torch: _said(lambda: program(torch)), 1e-9, 1e-12)


def test_generated_rules_nest() -> None:
    def program(torch: ModuleType) -> Any:
        function, f = product(torch).apply, torch.func
        x, y = _wave(torch, 2, 3, 4), _wave(torch, 3, 4, start=5)
        inner = f.vmap(function, in_dims=(0, 0, None))
        outer = f.vmap(inner, in_dims=(0, None, None))
        return (
            outer(x, y, 2.0),
            f.vmap(f.vmap(function, in_dims=(0, None, None)), in_dims=(1, 0, None), out_dims=2)(x, y, 2.0),
            f.grad(lambda a: outer(a, y, 2.0).cos().sum())(x),
            f.vmap(f.grad(lambda b, a: inner(a, b, 2.0).sin().sum()), in_dims=(None, 0))(y, x),
            f.jacrev(lambda a: function(a, y[0], 2.0))(x[0, 0]),
            f.jacfwd(lambda a: function(a, y[0], 2.0))(x[0, 0]),
            f.vmap(f.jacrev(lambda a: function(a, y[0], 2.0)))(x[0]),
            f.hessian(lambda a: function(a, a, 2.0).sum())(x[0, 0]),
        )

    same(lambda torch: _said(lambda: program(torch)), 1e-9, 1e-12)


def several(torch: ModuleType, materialize: bool = True) -> Any:
    """(2 x, whole part of x, x + y): the second has no derivative."""

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(materialize)

    def backward(ctx: Any, double: Any, whole: Any, total: Any) -> Any:
        missing = sum(each is None for each in (double, whole, total))
        by_x = [each for each in (None if double is None else 2 * double, total) if each is not None]
        return sum(by_x[1:], by_x[0]) + missing, total

    return _made(
        torch,
        forward=lambda x, y: (2 * x, x.floor(), x + y),
        setup_context=setup_context,
        backward=backward,
        generate_vmap_rule=True,
    )


@pytest.mark.parametrize("dims", [(0, 0), (0, None), (None, 0)])
def test_several_results(dims: Any) -> None:
    def program(torch: ModuleType) -> Any:
        x, y = (
            _wave(torch, *((3, 2) if dim is not None else (2,)), start=place + 2).requires_grad_()
            for place, dim in enumerate(dims)
        )
        function = several(torch).apply
        made = torch.func.vmap(function, in_dims=dims)(x, y)
        found: list[Any] = [type(made).__name__, made, made[0].requires_grad, made[2].requires_grad]
        for chosen in ((0,), (2,), (0, 2)):
            made = torch.func.vmap(function, in_dims=dims)(x, y)
            total = sum((made[each] ** 2).sum() for each in chosen)
            found.append(torch.autograd.grad(total, (x, y), allow_unused=True))
        return found

    same(lambda torch: _said(lambda: program(torch)), 1e-9, 1e-12)


@pytest.mark.parametrize("chosen", [(0,), (2,), (0, 2)])
def test_gradients_that_are_missing(chosen: tuple[int, ...]) -> None:
    """With `set_materialize_grads(False)`, which PyTorch's generated rules cannot."""
    torch = mindtorch_v2
    x, y = (_wave(torch, 3, 2, start=start).requires_grad_() for start in (2, 5))
    function = several(torch, materialize=False).apply
    together = torch.func.vmap(function)(x, y)
    assert not together[1].requires_grad
    found = torch.autograd.grad(sum((together[each] ** 2).sum() for each in chosen), (x, y), allow_unused=True)
    plain = function(x, y)
    expected = torch.autograd.grad(sum((plain[each] ** 2).sum() for each in chosen), (x, y), allow_unused=True)
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        assert one is None or torch.equal(one, other)


def test_what_a_generated_rule_keeps() -> None:
    def program(torch: ModuleType) -> Any:
        vmap, found = torch.func.vmap, []

        def none(ctx: Any, grad: Any) -> Any:
            return None, grad * 2

        plain = _made(
            torch,
            forward=lambda x, y: x + y * 2,
            setup_context=lambda ctx, inputs, output: None,
            backward=none,
            generate_vmap_rule=True,
        )
        for dims in ((0, 0), (0, None), (None, 0)):
            x, y = (_wave(torch, *((3, 2) if dim is not None else (2,))).requires_grad_() for dim in dims)
            vmap(plain.apply, in_dims=dims)(x, y).sum().backward()
            found.append((x.grad, y.grad))

        # Gradients that are the same for every slice.
        constant = _made(
            torch,
            forward=lambda x: x * 1,
            setup_context=lambda ctx, inputs, output: None,
            backward=lambda ctx, grad: torch.ones(2, dtype=torch.float64),
            generate_vmap_rule=True,
        )
        x = _wave(torch, 3, 2).requires_grad_()
        vmap(constant.apply)(x).sum().backward()
        found.append(x.grad)

        # Results that are the same for every slice, and a tuple of one.
        same_for_all = _made(
            torch,
            forward=lambda x: (torch.ones(2, dtype=torch.float64),),
            setup_context=lambda ctx, inputs, output: None,
            backward=lambda ctx, grad: grad,
            generate_vmap_rule=True,
        )
        made = vmap(same_for_all.apply)(x)
        found.append((type(made).__name__, made))

        # Inputs and results may be kept as they are.
        def keep(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(output, inputs[0], torch.full((2,), 5.0, dtype=torch.float64))

        kept = _made(
            torch,
            forward=lambda x: x.exp(),
            setup_context=keep,
            backward=lambda ctx, grad: grad * ctx.saved_tensors[0] * ctx.saved_tensors[2] + 0 * ctx.saved_tensors[1],
            generate_vmap_rule=True,
        )
        x = _wave(torch, 3, 2).requires_grad_()
        vmap(kept.apply)(x).sum().backward()
        found.append(x.grad)

        def dirty(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.mark_dirty(inputs[0])

        written = _made(
            torch,
            forward=lambda x: x.mul_(2),
            setup_context=dirty,
            backward=lambda ctx, grad: grad,
            generate_vmap_rule=True,
        )
        found.append(_said(lambda: vmap(written.apply)(x.detach()))[0])
        return found

    same(lambda torch: _said(lambda: program(torch)), 1e-9, 1e-12)


def test_gradients_that_a_function_is_asked_for() -> None:
    def program(torch: ModuleType) -> Any:
        found = []
        for wanted in ((True, False), (False, True), (True, True)):
            seen: list[Any] = []
            x, y = (_wave(torch, 3, 2, start=place + 1).requires_grad_(each) for place, each in enumerate(wanted))
            torch.func.vmap(product(torch, seen).apply, in_dims=(0, 0, None))(x, y, 2.0).sum().backward()
            found.append(seen)
        return found

    same(lambda torch: _said(lambda: program(torch)))


def own(torch: ModuleType, rule: Callable) -> Any:
    return _made(
        torch,
        forward=lambda x, y: x * y,
        setup_context=lambda ctx, inputs, output: None,
        backward=lambda ctx, grad: (grad, grad),
        vmap=rule,
    )


def test_rules_of_its_own() -> None:
    def program(torch: ModuleType) -> Any:
        vmap, seen = torch.func.vmap, []

        def rule(info: Any, in_dims: Any, x: Any, y: Any) -> Any:
            seen.append(
                (
                    info.batch_size,
                    info.randomness,
                    in_dims,
                    tuple(x.shape),
                    tuple(y.shape) if hasattr(y, "shape") else y,
                )
            )
            return x * 2, 0 if in_dims[0] is not None else None

        function = own(torch, rule).apply
        x, y = _wave(torch, 3, 2), _wave(torch, 3, 2, start=4)
        found = [
            vmap(function)(x, y), vmap(function, in_dims=(0, None))(x, 3.0), vmap(function, in_dims=(1, 0))(x, x), vmap(function, in_dims=(None, 0))(x, y),
            vmap(function, randomness="same")(x, y), vmap(vmap(function))(x, y), vmap(vmap(function, in_dims=(None, 0)), in_dims=(0, None))(x, x),
        ]  # fmt: skip
        return found, [
            (size, randomness, [None if d is None else "mapped" for d in dims]) for size, randomness, dims, *_ in seen
        ]

    same(lambda torch: _said(lambda: program(torch)), 1e-12)


RULES: dict[str, Callable] = {
    "two": lambda info, dims, x, y: ((x, y * 2), (0, 0)),
    "one dim for two": lambda info, dims, x, y: ((x, y * 2), 0),
    "none of two": lambda info, dims, x, y: ((x, y[0]), (0, None)),
    "last": lambda info, dims, x, y: (x.t(), 1),
    "three": lambda info, dims, x, y: (x, 0, 1),
    "one": lambda info, dims, x, y: (x,),
    "bare": lambda info, dims, x, y: x,
    "other structure": lambda info, dims, x, y: ((x, y), (0, 0, 0)),
    "deep": lambda info, dims, x, y: ((x, y), ((0, 0), 0)),
}


@pytest.mark.parametrize("name", RULES)
def test_what_a_rule_returns(name: str) -> None:
    def program(torch: ModuleType) -> Any:
        said = _said(
            lambda: torch.func.vmap(own(torch, RULES[name]).apply)(_wave(torch, 3, 2), _wave(torch, 3, 2, start=4))
        )
        return said[0] if isinstance(said, tuple) and isinstance(said[0], str) else said

    same(program, 1e-12)


def test_rules_that_are_missing_or_too_many() -> None:
    def program(torch: ModuleType) -> Any:
        x = _wave(torch, 3, 2)
        forms = [
            {},
            {"generate_vmap_rule": True, "vmap": lambda info, dims, x: (x, 0)},
            {"generate_vmap_rule": False, "vmap": lambda info, dims, x: (x * 3, 0)},
        ]
        found = []
        for form in forms:
            function = _made(
                torch,
                forward=lambda x: x * 2,
                setup_context=lambda ctx, inputs, output: None,
                backward=lambda ctx, grad: grad,
                **form,
            )
            said = _said(lambda function=function: torch.func.vmap(function.apply)(x))
            found.append(said if not isinstance(said, tuple) else (said[0], said[1][:60]))
        return found

    same(program, 1e-12)


def test_random_numbers_inside() -> None:
    def program(torch: ModuleType) -> Any:
        drawn = _made(
            torch,
            forward=lambda x: x + torch.rand(2, dtype=torch.float64),
            setup_context=lambda ctx, inputs, output: None,
            backward=lambda ctx, grad: grad,
            generate_vmap_rule=True,
        )
        found = []
        for randomness in ("same", "different", "error"):
            torch.manual_seed(3)
            found.append(
                _said(
                    lambda randomness=randomness: torch.func.vmap(drawn.apply, randomness=randomness)(
                        torch.zeros(3, 2, dtype=torch.float64)
                    )
                )
            )
        return found[0], found[1], found[2][0]

    same(program, 1e-12)


def test_a_users_rule_is_told_which_arguments_are_mapped():
    seen = []

    @mindtorch_v2.library.custom_op("vmap_rules::scale", mutates_args=())
    def scale(x: mindtorch_v2.Tensor, y: mindtorch_v2.Tensor, z: list[mindtorch_v2.Tensor]) -> mindtorch_v2.Tensor:
        return x * y + sum(z)

    @scale.register_vmap
    def rule(info, in_dims, x, y, z):
        seen.append((info.batch_size, in_dims))
        y = y.movedim(in_dims[1], 0)
        return mindtorch_v2.stack([scale(x, each, [z[0], z[1][n]]) for n, each in enumerate(y)]), 0

    x, y, z = mindtorch_v2.tensor([2.0]), mindtorch_v2.arange(3.0).reshape(3, 1), mindtorch_v2.ones(3, 1)
    made = mindtorch_v2.vmap(lambda y, z: scale(x, y, [x, z]))(y, z)
    assert made.tolist() == [[3.0], [5.0], [7.0]]
    assert seen == [(3, (None, 0, [None, 0]))]


def test_a_mask_that_serves_all_batches_under_vmap():
    attention = mindtorch_v2.nn.functional.scaled_dot_product_attention
    query, key, value = (mindtorch_v2.rand(3, 2, 2, 4, 5) for _ in range(3))
    mask = mindtorch_v2.tensor([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]).bool()
    for shape in ((4, 4), (1, 4, 4), (1, 1, 4, 4), (2, 1, 4, 4), (2, 2, 4, 4)):
        given = mask.expand(shape)
        mapped = mindtorch_v2.vmap(lambda q, k, v, given=given: attention(q, k, v, attn_mask=given))(query, key, value)
        one_by_one = [attention(q, k, v, attn_mask=given) for q, k, v in zip(query, key, value, strict=True)]
        assert mindtorch_v2.allclose(mapped, mindtorch_v2.stack(one_by_one), atol=1e-6)
