"""`torch.autograd.functional` in strict mode, whose errors say what does not depend on what; and products differentiated in v."""

import pytest
from agreement import same

ELEMENTWISE = {
    "detached": "x.detach()",
    "unrelated": "x.long().float().requires_grad_().clone()",
    "identity": "x.clone()",
    "linear": "3 * x",
    "square": "x * x",
    "by another": "w * x",
    "one of two unrelated": "(x * x, x.long().float().requires_grad_().clone())",
}


def outcome(function):
    try:
        found = function()
    except RuntimeError as error:
        return str(error)
    return [each.detach() for each in found] if isinstance(found, tuple) else found.detach()


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", ["vjp", "jvp", "jacobian", "hessian", "vhp", "hvp"])
@pytest.mark.parametrize("kind", ELEMENTWISE)
def test_strict(kind, name, create_graph):
    def check(torch):
        x, v, w = torch.tensor([0.5, 2.0]), torch.tensor([1.0, -1.0]), torch.tensor([3.0, 4.0], requires_grad=True)

        def elements(x):
            return eval(ELEMENTWISE[kind], {"x": x, "w": w})

        def total(x):
            values = elements(x)
            return sum(value.sum() for value in values) if isinstance(values, tuple) else values.sum()

        function = total if name in ("hessian", "vhp", "hvp") else elements
        seed = (v, v) if name == "vjp" and isinstance(elements(x), tuple) else v
        given = (x,) if name in ("jacobian", "hessian") else (x, seed)
        called = getattr(torch.autograd.functional, name)

        def run():
            found = called(function, *given, create_graph=create_graph, strict=True)
            return found[1] if name not in ("jacobian", "hessian") else found

        return outcome(run)

    same(check, rtol=1e-6)


@pytest.mark.parametrize("name", ["vjp", "jvp", "vhp", "hvp"])
def test_products_are_differentiable_in_their_vector(name):
    def gradients(torch):
        x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
        v = torch.tensor([1.0, -1.0], dtype=torch.float64, requires_grad=True)
        function = (lambda x: (x**3).sum()) if name in ("vhp", "hvp") else (lambda x: x**3)
        _, product = getattr(torch.autograd.functional, name)(function, x, v, create_graph=True)
        return list(torch.autograd.grad((product * product).sum(), (x, v)))

    same(gradients, rtol=1e-9)
