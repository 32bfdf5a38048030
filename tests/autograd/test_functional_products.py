"""torch.autograd.functional: Jacobians, Hessians and products with them, in all their options, as PyTorch computes them."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from agreement import same, same_error

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's vmap warns of slow paths
Program = Callable[[ModuleType], Any]
_TOGETHER = {"vectorize": True}
_FORWARD = {"vectorize": True, "strategy": "forward-mode"}
_OPTIONS: list[dict[str, Any]] = [{}, {"create_graph": True}, {"strict": True}, _TOGETHER, _FORWARD]
_OPTIONS += [{"create_graph": True, "strict": True}, {"create_graph": True, "vectorize": True}]
_HESSIAN: list[dict[str, Any]] = [
    {},
    {"create_graph": True},
    {"strict": True},
    _TOGETHER,
    {"vectorize": True, "outer_jacobian_strategy": "forward-mode"},
    {"create_graph": True, "strict": True},
]


def _x(torch: ModuleType) -> Any:
    return torch.tensor([[0.5, -1.5], [2.0, 0.25]], dtype=torch.float64)


def _y(torch: ModuleType) -> Any:
    return torch.tensor([1.0, 3.0], dtype=torch.float64)


def _one(x: Any) -> Any:
    return (x**3).sum(0)


def _scalar(x: Any) -> Any:
    return (x**3).sum()


def _number(x: Any) -> Any:
    return (x**2).sum() + x[0, 0] * x[1, 1]


def _pair(x: Any, y: Any) -> Any:
    return x @ y, (y**2).sum() * x[0]


def _energy(x: Any, y: Any) -> Any:
    return ((x @ y) ** 2).sum() + (y**3).sum()


def _first_only(x: Any, y: Any) -> Any:
    return (x**3).sum(0)


def _energy_of_first(x: Any, y: Any) -> Any:
    return (x**3).sum()


def _linear(x: Any, y: Any) -> Any:
    return x.sum() + y.sum() ** 2


def _functions(torch: ModuleType) -> Any:
    return torch.autograd.functional


def _history(result: Any, told: bool = True) -> Any:
    """A result with what it says of its history; PyTorch's vmap gives constants one too."""
    if isinstance(result, tuple | list):
        return tuple(_history(item, told) for item in result)
    return result.detach(), result.requires_grad and told


_JACOBIANS: dict[str, tuple[Any, Callable[[ModuleType], Any]]] = {
    "one": (_one, _x),
    "scalar": (_scalar, _x),
    "one in a tuple": (_one, lambda torch: (_x(torch),)),
    "results in a tuple": (lambda x: (x * 2, x.sum() ** 2), _x),
    "two": (_pair, lambda torch: (_x(torch), _y(torch))),
    "two, one matters": (_first_only, lambda torch: (_x(torch), _y(torch))),
    "leaf": (_one, lambda torch: _x(torch).requires_grad_()),
    "with history": (_one, lambda torch: _x(torch).requires_grad_() * 2),
    "float32": (_one, lambda torch: _x(torch).float()),
    "constant": (lambda x: x.detach() * 2, _x),
    "complex": (lambda x: x * x, lambda torch: _x(torch) * (1 + 2j)),
}


@pytest.mark.parametrize("options", _OPTIONS, ids=lambda options: "+".join(f"{k}={v}" for k, v in options.items()))
@pytest.mark.parametrize("name", _JACOBIANS)
def test_jacobian(name: str, options: dict[str, Any]) -> None:
    function, inputs = _JACOBIANS[name]

    def program(torch: ModuleType) -> Any:
        try:
            return _history(_functions(torch).jacobian(function, inputs(torch), **options), "vectorize" not in options)
        except RuntimeError as error:
            return type(error).__name__

    same(program, rtol=1e-12, atol=1e-12)


_HESSIANS: dict[str, tuple[Any, Callable[[ModuleType], Any]]] = {
    "one": (_number, _x),
    "cube": (_scalar, _x),
    "one in a tuple": (_scalar, lambda torch: (_x(torch),)),
    "two": (_energy, lambda torch: (_x(torch), _y(torch))),
    "two, one matters": (_energy_of_first, lambda torch: (_x(torch), _y(torch))),
    "one linear": (_linear, lambda torch: (_x(torch), _y(torch))),
    "one element": (lambda x: (x**3).sum().reshape(1, 1), _x),
    "leaf": (_scalar, lambda torch: _x(torch).requires_grad_()),
    "no single tensor": (lambda x: (x.sum(), x.sum()), _x),
    "several elements": (lambda x: x**2, _x),
    "constant": (lambda x: x.detach().sum(), _x),
}


@pytest.mark.parametrize("options", _HESSIAN, ids=lambda options: "+".join(f"{k}={v}" for k, v in options.items()))
@pytest.mark.parametrize("name", _HESSIANS)
def test_hessian(name: str, options: dict[str, Any]) -> None:
    function, inputs = _HESSIANS[name]

    def program(torch: ModuleType) -> Any:
        try:
            return _history(_functions(torch).hessian(function, inputs(torch), **options), "vectorize" not in options)
        except RuntimeError as error:
            return type(error).__name__

    same(program, rtol=1e-12, atol=1e-12)


_V = {"none": lambda torch: None, "x": lambda torch: _x(torch) / 2, "y": lambda torch: _y(torch) / 2}
_V["x in a tuple"] = lambda torch: (_x(torch) / 2,)
_V["both"] = lambda torch: (_x(torch) / 2, -_y(torch))
_V["both, with history"] = lambda torch: ((_x(torch) / 2).requires_grad_(), -_y(torch))
_V["wrong size"] = lambda torch: _x(torch)[0, :1]
_V["wrong size in a tuple"] = lambda torch: (_x(torch)[:1], _y(torch))
_V["three"] = lambda torch: (_x(torch),) * 3
_V["no tensor"] = lambda torch: 3
_PRODUCTS: list[tuple[str, str, str]] = [
    *(("vjp", name, v) for name in ("one", "leaf") for v in ("y", "wrong size", "three", "none", "no tensor")),
    *(("vjp", "two", v) for v in ("both", "wrong size in a tuple", "y", "none")),
    *(("vjp", name, v) for name in ("two, one matters",) for v in ("y", "x")),
    *(("vjp", name, "none") for name in ("scalar", "one in a tuple", "results in a tuple", "constant")),
    *(("jvp", name, v) for name in ("one", "leaf", "scalar") for v in ("x", "wrong size", "three", "none")),
    *(("jvp", "two", v) for v in ("both", "both, with history", "wrong size in a tuple", "x", "none")),
    *(("jvp", "two, one matters", v) for v in ("both",)),
    *(("jvp", name, "x") for name in ("results in a tuple", "constant")),
    *(("jvp", "one in a tuple", v) for v in ("x in a tuple", "x")),
]
_OF_SCALARS: list[tuple[str, str, str]] = [
    *((kind, name, v) for kind in ("vhp", "hvp") for name in ("one", "cube", "leaf") for v in ("x", "none", "three")),
    *((kind, name, "both") for kind in ("vhp", "hvp") for name in ("two", "two, one matters", "one linear")),
    *((kind, "one in a tuple", "x in a tuple") for kind in ("vhp", "hvp")),
    *((kind, name, "x") for kind in ("vhp", "hvp") for name in ("one element", "constant", "no single tensor")),
    *((kind, "several elements", v) for kind in ("vhp", "hvp") for v in ("x", "wrong size")),
]
_PRODUCT_OPTIONS: list[dict[str, Any]] = [{}, {"create_graph": True}, {"strict": True}]
_PRODUCT_OPTIONS += [{"create_graph": True, "strict": True}]


@pytest.mark.parametrize("case", [*_PRODUCTS, *_OF_SCALARS], ids=", ".join)
def test_product(case: tuple[str, str, str]) -> None:
    kind, name, v = case
    function, inputs = (_JACOBIANS if kind in ("vjp", "jvp") else _HESSIANS)[name]

    def program(torch: ModuleType) -> Any:
        found: list[Any] = []
        for options in _PRODUCT_OPTIONS:
            try:
                found.append(
                    _history(getattr(_functions(torch), kind)(function, inputs(torch), _V[v](torch), **options))
                )
            except (RuntimeError, TypeError) as error:
                found.append(type(error).__name__)
        return found

    same(program, rtol=1e-12, atol=1e-12)


def test_products_of_one_element_need_no_vector() -> None:
    def program(torch: ModuleType) -> Any:
        f, x = _functions(torch), torch.tensor([1.5], dtype=torch.float64)
        return [
            f.vjp(lambda x: (x**3).sum(), x),
            f.jvp(lambda x: (x**3, x), x),
            f.vhp(lambda x: (x**3).sum(), x),
            f.hvp(lambda x: (x**3).sum(), x),
        ]

    same(program, rtol=1e-12)


_REFUSED: dict[str, Program] = {
    "strategy": lambda torch: _functions(torch).jacobian(_one, _x(torch), strategy="sideways"),
    "outer strategy": lambda torch: _functions(torch).hessian(_number, _x(torch), outer_jacobian_strategy="sideways"),
    "forward, not vectorized": lambda torch: _functions(torch).jacobian(_one, _x(torch), strategy="forward-mode"),
    "forward, strict": lambda torch: _functions(torch).jacobian(
        _one, _x(torch), strict=True, vectorize=True, strategy="forward-mode"
    ),
    "forward, graph": lambda torch: _functions(torch).jacobian(
        _one, _x(torch), create_graph=True, vectorize=True, strategy="forward-mode"
    ),
    "strict and vectorized": lambda torch: _functions(torch).jacobian(_one, _x(torch), strict=True, vectorize=True),
    "no tensor": lambda torch: _functions(torch).jacobian(_one, 3),
    "no tensor in a tuple": lambda torch: _functions(torch).jacobian(_one, (_x(torch), 3)),
    "a list": lambda torch: _functions(torch).hessian(_one, [_x(torch)]),
    "result is no tensor": lambda torch: _functions(torch).jacobian(lambda x: 3, _x(torch)),
    "a result is no tensor": lambda torch: _functions(torch).vjp(lambda x: (x, 3), _x(torch)),
    "result of hessian": lambda torch: _functions(torch).hessian(lambda x: 3, _x(torch)),
    "result of vhp": lambda torch: _functions(torch).vhp(lambda x: 3, _x(torch)),
    "result of hvp": lambda torch: _functions(torch).hvp(lambda x: [x], _x(torch)),
    "result of jvp": lambda torch: _functions(torch).jvp(lambda x: [x], _x(torch), _x(torch)),
}


@pytest.mark.parametrize("name", _REFUSED)
def test_refused(name: str) -> None:
    same_error(_REFUSED[name])


def test_graphs_go_on() -> None:
    def program(torch: ModuleType) -> Any:
        f, found = _functions(torch), []
        for kind, v in (("jacobian", ()), ("vjp", (_y(torch),)), ("jvp", (_x(torch),))):
            x = _x(torch).requires_grad_()
            result = getattr(f, kind)(_one, x, *v, create_graph=True)
            result = result if kind == "jacobian" else result[1]
            found.append(torch.autograd.grad((result**2).sum(), x))
        for kind, v in (("hessian", ()), ("vhp", (_x(torch),)), ("hvp", (_x(torch),))):
            x = _x(torch).requires_grad_()
            result = getattr(f, kind)(_scalar, x, *v, create_graph=True)
            result = result if kind == "hessian" else result[1]
            found.append(torch.autograd.grad((result**2).sum(), x))
        return found

    same(program, rtol=1e-12)


def test_gradients_are_on_within() -> None:
    def program(torch: ModuleType) -> Any:
        with torch.no_grad():
            f, x = _functions(torch), _x(torch)
            return [
                f.jacobian(_one, x),
                f.hessian(_number, x),
                f.vjp(_one, x, _y(torch)),
                f.jvp(_one, x, x),
                f.hvp(_number, x, x),
            ]

    same(program, rtol=1e-12)
