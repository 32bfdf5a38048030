"""Declarations of nn and distributions against PyTorch's: defaults of every function and method, and the attributes of classes.

Also of what is not public in name but has a name of PyTorch's: subclasses override and libraries call it.
"""

import functools
import importlib
import inspect
from types import ModuleType
from typing import Any

import pytest
from recording import answer

import mindtorch_v2

MODULES = (
    *(f"nn.modules.{name}" for name in (
        "activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold instancenorm lazy linear "
        "loss module normalization padding pixelshuffle pooling rnn sparse transformer upsampling utils").split()),
    *(f"nn.utils.{name}" for name in (
        "clip_grad convert_parameters fusion init memory_format parametrizations parametrize prune rnn spectral_norm stateless "
        "weight_norm _named_member_accessor").split()),
    *(f"nn.{name}" for name in (
        "attention attention.flex_attention common_types functional grad init parameter _reduction").split()),
    *(f"distributions.{name}" for name in (
        "bernoulli beta binomial categorical cauchy chi2 constraint_registry constraints continuous_bernoulli dirichlet "
        "distribution exp_family exponential fishersnedecor gamma generalized_pareto geometric gumbel half_cauchy half_normal "
        "independent inverse_gamma kl kumaraswamy laplace lkj_cholesky log_normal logistic_normal "
        "lowrank_multivariate_normal mixture_same_family multinomial multivariate_normal negative_binomial normal "
        "one_hot_categorical pareto poisson relaxed_bernoulli relaxed_categorical studentT transformed_distribution "
        "transforms uniform utils von_mises weibull wishart").split()),
)  # fmt: skip


def _shown(value: Any) -> str:
    """A default or a constant as text; what has no text of its own by its kind."""
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{_shown(key)}: {_shown(item)}" for key, item in value.items())) + "}"
    if isinstance(value, tuple | list):
        value = sorted(value) if all(isinstance(each, str) for each in value) else value
        return f"({', '.join(map(_shown, value))})"
    said = [(name, _asked(value, name)) for name in ("is_discrete", "event_dim", "bijective", "sign", "_cache_size")]
    if any(text for _, text in said) and not isinstance(value, type):
        kind = type(value).__name__.strip("_")
        return f"{kind} {[each for each in said if each[1]]} {'' if 'object at' in repr(value) else value}"
    if _is_plain(value) or type(value).__name__ in ("dtype", "device"):
        return repr(value)
    if isinstance(value, type):
        return value.__name__
    return "a function" if callable(value) else "an object"


def _asked(value: Any, name: str) -> str:
    try:
        said = getattr(value, name, "")
    except NotImplementedError as error:
        return str(error)
    return repr(said) if said != "" and _is_plain(said) else ""


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | complex | str)


def _defaults(function: Any) -> dict[str, str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return {}
    return {each.name: _shown(each.default) for each in parameters if each.default is not each.empty}


def _declared(torch: ModuleType, module: str) -> dict[str, Any]:
    """By dotted name: the defaults of functions, and the text of constants."""
    home = importlib.import_module(f"{torch.__name__}.{module}")
    found: dict[str, Any] = {}
    for name, value in vars(home).items():
        if name.startswith("__") or isinstance(value, ModuleType):
            continue
        if isinstance(value, type):
            if value.__module__ == home.__name__:
                for attribute, item in vars(value).items():
                    found |= _of_class(f"{name}.{attribute}", attribute, item)
        elif inspect.isfunction(inspect.unwrap(value) if callable(value) else value):
            if getattr(value, "__module__", "") == home.__name__:
                found[name] = _defaults(value)
        elif _shown(value) not in ("a function", "an object") and not name.startswith("TYPE"):
            found[name] = _shown(value)
    return found


def _of_class(name: str, attribute: str, item: Any) -> dict[str, Any]:
    if isinstance(item, staticmethod | classmethod):
        return {name: [type(item).__name__, _defaults(item.__func__)]}
    if inspect.isfunction(item):
        return {name: _defaults(item)}
    if attribute in (
        "__doc__",
        "__module__",
        "__annotations__",
        "__qualname__",
        "__firstlineno__",
        "__static_attributes__",
    ):
        return {}
    text = _shown(item)
    return (
        {}
        if text in ("a function", "an object") or attribute.startswith("__") and attribute != "__constants__"
        else {name: text}
    )


# Where we differ, and why.
OTHERWISE = {
    "distributions.kl._KL_REGISTRY": "ours has the Wishart distributions too",
    "distributions.wishart.Wishart.rsample": "no correction of samples",
    "distributions.distribution.Distribution.__init__": "shapes default to none",
    "nn.modules.loss.LinearCrossEntropyLoss.__constants__": "fewer are constant",
    "nn.parameter.UninitializedTensorMixin._allowed_methods": "ours has less to allow",
}


@functools.cache
def _ours(module: str) -> dict[str, Any]:
    return _declared(mindtorch_v2, module)


def _differs(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, dict) and isinstance(theirs, dict):  # defaults: of wrappers PyTorch tells none
        return any(name in ours and _differs(ours[name], theirs[name]) for name in theirs)
    return str(ours).replace("mindtorch_v2", "torch") != str(theirs)


@pytest.mark.parametrize("package", ["nn.modules", "nn.utils", "nn", "distributions"])
def test_declarations(package: str) -> None:
    wrong = []
    for module in MODULES:
        if module.rpartition(".")[0] == package:
            theirs, ours = answer(lambda torch, module=module: _declared(torch, module)), _ours(module)
            assert len(ours) > 0 or not theirs, module
            for name in theirs:
                if name in ours and f"{module}.{name}" not in OTHERWISE and _differs(ours[name], theirs[name]):
                    wrong.append(f"{module}.{name}: {ours[name]}, PyTorch's {theirs[name]}")
    assert wrong == []
