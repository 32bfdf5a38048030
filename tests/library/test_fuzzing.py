"""Schemas and calls that hypothesis makes up: every schema of the grammar survives being printed, and a call binds exactly
where Python would bind it to a function of the same parameters."""

import inspect
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch_v2 as torch

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True).filter(
    lambda name: (
        name not in {"inf", "nan", "None", "True", "False", "and", "or", "not", "is", "if", "else", "in", "for"}
        and not hasattr(__builtins__, name)
    )
)
SIMPLE = st.sampled_from(
    "Tensor int SymInt float bool str Scalar ScalarType Device Layout MemoryFormat Generator Storage complex Any".split()
)


def _compound(inner):
    return st.one_of(
        inner.map("{}[]".format),
        inner.filter(lambda t: not t.endswith("?")).map("{}?".format),
        st.lists(inner, min_size=2, max_size=3).map(lambda items: f"({', '.join(items)})"),
        inner.map("Dict(str, {})".format),
    )


# A list of stated length stands alone.
TYPES = st.one_of(st.recursive(SIMPLE, _compound, max_leaves=4), st.sampled_from(["int[2]", "float[3]?", "bool[1]"]))
ALIASES = st.sampled_from(["Tensor(a)", "Tensor(a!)", "Tensor(b!)?", "Tensor(a)[]", "Tensor(*)", "Tensor(a -> *)"])
DEFAULTS = {
    "int": ["0", "-3", "2147483648"],
    "float": ["0.5", "-1e-05", "1.0"],
    "bool": ["True", "False"],
    "str": ['"a"', "'b c'", '"\\n"'],
    "Scalar": ["1", "0.5"],
    "int[]": ["[]", "[1, 2]"],
    "int[2]": ["1", "[0, 1]"],
    "float?": ["None", "2.0"],
    "Tensor?": ["None"],
}


@st.composite
def schemas(draw: Any) -> str:
    """A text of the grammar: every one of them is a schema."""
    names = draw(st.lists(NAMES, max_size=5, unique=True))
    star = draw(st.integers(0, len(names)))
    arguments, defaults = [], False
    for at, name in enumerate(names):
        if at == star:
            arguments.append("*")
            defaults = False
        with_default = defaults or draw(st.booleans())
        defaults = with_default
        if with_default:
            kind = draw(st.sampled_from(sorted(DEFAULTS)))
            arguments.append(f"{kind} {name}={draw(st.sampled_from(DEFAULTS[kind]))}")
        else:
            arguments.append(f"{draw(st.one_of(TYPES, ALIASES))} {name}")
    results = draw(st.lists(TYPES, max_size=3))
    text = results[0] if len(results) == 1 and not results[0].startswith("(") else f"({', '.join(results)})"
    space = draw(st.sampled_from(["", "ns::"]))
    overload = draw(st.sampled_from(["", ".out", ".Tensor_x"]))
    return f"{space}{draw(NAMES)}{overload}({', '.join(arguments)}) -> {text}"


@settings(max_examples=1500, deadline=None, derandomize=True, database=None)
@given(schemas())
def test_every_schema_of_the_grammar_prints_as_what_parses_to_it(text: str) -> None:
    schema = torch._C.parse_schema(text)
    assert torch._C.parse_schema(str(schema)) == schema


@settings(max_examples=1500, deadline=None, derandomize=True, database=None)
@given(schemas(), st.integers(0, 80), st.integers(0, 3), st.text(max_size=3))
def test_a_damaged_schema_is_a_schema_or_an_error(text: str, at: int, cut: int, put: str) -> None:
    damaged = text[:at] + put + text[at + cut :]
    try:
        schema = torch._C.parse_schema(damaged)
    except RuntimeError as error:
        assert str(error)
        return
    assert torch._C.parse_schema(str(schema)) == schema


# Of each type a value, another one, and a default.
VALUES: dict[str, tuple[Any, Any, Any]] = {
    "int": (3, -1, 7),
    "float": (2.5, 1e30, 0.5),
    "bool": (True, False, True),
    "str": ("a", "é", "b"),
    "Scalar": (1, 2.5, 4),
    "int[]": ([1, 2], [], [3]),
    "Tensor?": (None, torch.ones(2), None),
    "str?": ("x", None, None),
}


@st.composite
def calls(draw: Any) -> tuple[str, inspect.Signature, list[Any], dict[str, Any]]:
    """A schema's arguments, Python's signature for them, and arguments of a call that may or may not bind."""
    size = draw(st.integers(0, 6))
    star = draw(st.integers(0, size))
    written, parameters, defaults = [], [], False
    kinds = [draw(st.sampled_from(sorted(VALUES))) for _ in range(size)]
    for at, kind in enumerate(kinds):
        if at == star:
            written.append("*")
            defaults = False
        defaults = defaults or draw(st.booleans())
        default = VALUES[kind][2]
        shown = f'"{default}"' if isinstance(default, str) else default
        written.append(f"{kind} a{at}" + (f"={shown}" if defaults else ""))
        parameters.append(
            inspect.Parameter(
                f"a{at}",
                inspect.Parameter.KEYWORD_ONLY if at >= star else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=default if defaults else inspect.Parameter.empty,
            )
        )
    positional = draw(st.integers(0, min(size + 1, star + 1)))
    args = [draw(st.sampled_from(VALUES[kinds[at]][:2])) if at < size else 1 for at in range(positional)]
    missing = draw(st.sets(st.integers(0, max(0, size - 1)), max_size=1))
    keywords = {
        f"a{at}": draw(st.sampled_from(VALUES[kinds[at]][:2]))
        for at in range(max(0, positional - draw(st.integers(0, 1))), size)
        if at not in missing and draw(st.integers(0, 3))
    }
    if draw(st.integers(0, 9)) == 0:
        keywords["zz"] = 1
    return ", ".join(written), inspect.Signature(parameters), args, keywords


@settings(max_examples=1500, deadline=None, derandomize=True, database=None)
@given(calls())
def test_a_call_binds_as_a_python_function_would(
    call: tuple[str, inspect.Signature, list[Any], dict[str, Any]],
) -> None:
    arguments, signature, args, kwargs = call
    try:
        expected = signature.bind(*args, **kwargs)
        expected.apply_defaults()
    except TypeError:
        expected = None
    seen: list[Any] = []
    with torch.library._scoped_library("fuzzed_binding", "FRAGMENT") as library:
        library.define(f"op({arguments}) -> ()")
        library.impl("op", lambda *a, **k: seen.append(signature.bind(*a, **k)), "CompositeExplicitAutograd")
        try:
            torch.ops.fuzzed_binding.op(*args, **kwargs)
        except RuntimeError:
            assert expected is None, (arguments, args, kwargs)
            return
    assert expected is not None, (arguments, args, kwargs)
    (got,) = seen
    got.apply_defaults()
    assert list(got.arguments) == list(expected.arguments)
    for given_value, wanted in zip(got.arguments.values(), expected.arguments.values(), strict=True):
        assert given_value is wanted or (type(given_value) is type(wanted) and given_value == wanted)
