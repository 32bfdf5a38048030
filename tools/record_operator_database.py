"""PyTorch's answers to a sample of its own operator database, as data: what tests/ops/test_operator_database.py replays.

    PYTHONPATH=src path/to/python-with-torch tools/record_operator_database.py [NAME...]    # all, or these anew

It writes tests/snapshots/operator_database.jsonl.gz: one operator a line, with its calls and the sums of their results, of
their gradients and of the gradients of these. Numbers and names only.
"""

import gzip
import json
import pathlib
import sys
import types
import unittest
import warnings

_ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(_ROOT / "tests" / "support"))
# A package for text that PyTorch's test files expect, which the database imports and does not need.
vars(sys.modules.setdefault("expecttest", types.ModuleType("expecttest")))["TestCase"] = unittest.TestCase

import torch  # noqa: E402  (after the path is set)
from operator_calls import Made, first_order, second_order  # noqa: E402  (likewise)
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402  (likewise)
from weighed import STEP, decode, encode, flat, is_tensor, unlike, weigh  # noqa: E402  (likewise)

PLACE = _ROOT / "tests" / "snapshots" / "operator_database.jsonl.gz"
# How many calls of each dtype, and how many elements the tensors of one may have together.
_COUNTS = {
    "float64": 14,
    "complex128": 5,
    "int64": 4,
    "float32": 2,
    "bool": 2,
    "uint8": 1,
    "bfloat16": 1,
    "complex64": 1,
}
_ELEMENTS = 300
# Matrices whose rank and condition must stay what they are: rounded inputs are others.
_EXACT = (
    "linalg",
    "cholesky",
    "lu",
    "svd",
    "inverse",
    "pinverse",
    "qr",
    "det",
    "triangular",
    "solve",
    "ormqr",
    "lobpcg",
    "cov",
)
# Entries whose function makes the draws repeat, or takes the arguments in another order: here the public one is called.
_OTHERWISE = {
    "uniform": ".uniform_",
    "geometric": ".geometric_",
    "exponential": ".exponential_",
    "cauchy": ".cauchy_",
    "log_normal": ".log_normal_",
    "normal.in_place": ".normal_",
    "zero_": ".zero_",
} | {
    name: name
    for name in (
        *("randn", "randn_like", "rand_like", "randint", "randint_like", "multinomial", "normal", "bernoulli"),
        *("svd_lowrank", "pca_lowrank", "nn.functional.embedding", "nn.functional.rrelu", "nn.functional.dropout"),
        *("nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.alpha_dropout"),
        *("nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d", "special.polygamma"),
    )
}
_UNDEFINED = ("empty", "new_empty", "resize")  # Memory that nobody wrote.
_ABSENT = ("jiterator",)


def main():
    """Write the file."""
    warnings.simplefilter("ignore")
    only = sys.argv[1:]
    lines = dict(_kept()) if only else {}
    for info in sorted(op_db, key=lambda each: each.full_name):
        if info.name.startswith(_ABSENT) or (only and info.full_name not in only):
            continue
        calls = [*_calls(info), *_errors(info)]
        if calls:
            lines[info.full_name] = json.dumps({"name": info.full_name, "calls": calls}, separators=(",", ":"))
        else:
            print("no calls:", info.full_name)
    text = "".join(line + "\n" for _, line in sorted(lines.items())).encode()
    packed = gzip.compress(text, 9, mtime=0)
    PLACE.write_bytes(packed)
    print(f"{len(lines)} operators, {len(text)} bytes, {len(packed)} packed")


def _kept():
    for line in gzip.decompress(PLACE.read_bytes()).decode().splitlines():
        yield json.loads(line)["name"], line


def _calls(info):
    """The calls of one entry, over its dtypes."""
    for dtype, most in _COUNTS.items():
        kind = getattr(torch, dtype)
        if kind not in info.dtypes:
            continue
        grad = dtype in ("float64", "complex128") and info.supports_autograd
        torch.manual_seed(1)
        try:
            found = list(info.sample_inputs("cpu", kind, requires_grad=grad))
        except Exception as error:  # noqa: BLE001  (the database's own functions fail in any way)
            print("no samples:", info.full_name, dtype, type(error).__name__)
            continue
        for place, sample in enumerate(_chosen(found, most)):
            try:
                call = _call(info, sample, grad, extra=place < 4)
            except (LookupError, RuntimeError, ValueError, TypeError, NotImplementedError) as error:
                print("left out:", info.full_name, dtype, type(error).__name__, str(error)[:70].replace("\n", " "))
                continue
            if call is not None:
                yield call


def _size(sample):
    return sum(item.numel() for item in flat([sample.input, list(sample.args), sample.kwargs]) if is_tensor(item))


def _chosen(samples, most):
    """So many samples, evenly spread over those that are small."""
    small = [each for each in samples if _size(each) <= _ELEMENTS]
    small = small or sorted(samples, key=_size)[:1]
    if small and _size(small[0]) > 20 * _ELEMENTS:
        return []
    return [small[place * len(small) // most] for place in range(most)] if len(small) > most else small


def _rounded(value, exact):
    """An argument with its numbers rounded to multiples of the step."""
    if isinstance(value, torch.Tensor):
        if exact or not (value.is_floating_point() or value.is_complex()):
            return value
        with torch.no_grad():
            plain = value.detach().resolve_conj().resolve_neg()
            kept = (
                torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
                if 0 not in value.stride()
                else torch.empty_like(plain)
            )
            parts = (torch.view_as_real(plain.to(torch.complex128)) if value.is_complex() else plain.double()) * STEP
            parts = parts.round() / STEP
            kept.copy_(torch.view_as_complex(parts.contiguous()) if value.is_complex() else parts)
        return kept.requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(_rounded(item, exact) for item in value)
    return value


def _written(sample, exact):
    args = encode([_rounded(item, exact) for item in (sample.input, *sample.args)])
    kwargs = {name: encode(_rounded(value, exact)) for name, value in sample.kwargs.items()}
    return {"p": "", "a": args, "k": kwargs}


def _call(info, sample, grad, extra):
    if info.name == "einsum":
        sample.input, sample.args = sample.args[0], (list(sample.input),)
    call = _written(sample, info.name.startswith(_EXACT) or any(f".{each}" in info.name for each in _EXACT))
    if not call["k"]:
        del call["k"]
    undefined = info.name.startswith(_UNDEFINED)
    call["p"] = _path(info, call, undefined)
    if call["p"] is None:
        raise LookupError("no public path")
    made = Made(torch, call)
    call["o"] = [weigh(item, not undefined) for item in made.results]
    if grad and made.leaves:
        call["g"] = [None if item is None else weigh(item) for item in first_order(torch, made)]
        if info.supports_gradgrad and call["g"]:
            try:
                call["h"] = [None if item is None else weigh(item) for item in second_order(torch, Made(torch, call))]
            except RuntimeError:  # not every formula has one
                pass
    if extra and not undefined:
        call |= _forms(info, call)
    return call


def _path(info, call, undefined):
    """The public place of an entry's function: one that gives on this call what the function gives."""
    if info.name == "einsum":
        return info.name
    for name in (info.full_name, info.name):
        if name in _OTHERWISE:
            if _OTHERWISE[name].endswith("_"):
                call |= _plain(call)
            Made(torch, call, path=_OTHERWISE[name])
            return _OTHERWISE[name]
    args = decode(torch, call["a"], torch.Tensor.detach)
    kwargs = {name: decode(torch, value, torch.Tensor.detach) for name, value in call.get("k", {}).items()}
    torch.manual_seed(0)
    expected = flat(info.op(*args, **kwargs))
    for path in (info.name, f".{info.name}", f"ops.aten.{info.name}", f"_C._nn.{info.name}"):
        try:
            found = Made(torch, call, path=path).results
        except Exception:  # noqa: BLE001  (any failure says that it is another function)
            continue
        if len(found) == len(expected) and (
            undefined
            or all(
                unlike(one, json.loads(json.dumps(weigh(other)))) is None
                for one, other in zip(found, expected, strict=True)
            )
        ):
            return path
    return None


def _forms(info, call):
    """Answers of the method ("m": the same), the in-place form ("i": results or an error) and `out=` ("w": the same)."""
    found = {}
    plain = _plain(call)
    if not call["p"].startswith(".") and info.method_variant is not None:
        name = getattr(info.method_variant, "__name__", "")
        if _agrees(call, plain, f".{name}"):
            found["m"] = name
    name = getattr(info.inplace_variant, "__name__", "")
    if name and hasattr(torch.Tensor, name) and not call["p"].endswith("_"):
        try:
            made = Made(torch, plain, path=f".{name}")
            found["i"] = [name, weigh(made.args[0])]
        except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError) as error:
            found["i"] = [name, type(error).__name__]
    if not call["p"].startswith(".") and all(is_tensor(item) for item in Made(torch, plain).results):
        if _agrees(call, plain, call["p"], out=True):
            found["w"] = 1
    return found


def _plain(call):
    """A call without leaves."""
    text = json.dumps(call).replace(', "g": 1}', "}")
    return json.loads(text)


def _agrees(call, plain, path, out=False):
    try:
        more = {}
        if out:
            places = [torch.empty(0, dtype=item.dtype) for item in Made(torch, plain).results]
            more = {"out": places[0] if len(places) == 1 else tuple(places)}
        found = Made(torch, plain, path=path, more=more).results
    except Exception:  # noqa: BLE001  (any failure says that there is no such form)
        return False
    return len(found) == len(call["o"]) and all(
        unlike(one, json.loads(json.dumps(other))) is None for one, other in zip(found, call["o"], strict=True)
    )


def _errors(info):
    """Calls that PyTorch refuses, with the class of the error."""
    if info.error_inputs_func is None:
        return
    torch.manual_seed(1)
    try:
        found = list(info.error_inputs("cpu"))
    except Exception:  # noqa: BLE001  (the database's own functions fail in any way)
        return
    for each in found:
        try:
            call = _written(each.sample_input, True)
        except (LookupError, ValueError):  # a tensor of 65 dimensions
            continue
        if len(json.dumps(call)) > 4000:
            continue
        for path in (info.name, f".{info.name}"):
            try:
                Made(torch, call, path=path)
            except AttributeError:
                continue
            except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, OverflowError) as error:
                yield {**call, "p": path, "x": type(error).__name__}
            break


if __name__ == "__main__":
    main()
