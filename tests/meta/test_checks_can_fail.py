"""Every file of tests is free of checks that could not fail; each kind of them is found where it is planted."""

import functools
from pathlib import Path

import pytest
from cannot_fail import WITH_ITSELF, File, checking, problems

pytestmark = pytest.mark.no_torch

TESTS = Path(__file__).resolve().parents[1]
FILES = sorted(str(path.relative_to(TESTS)) for path in TESTS.rglob("*.py"))


def _file(name: str) -> File:
    return File((TESTS / name).read_text(encoding="utf-8"), name)


@functools.cache
def _helpers() -> frozenset[str]:
    return checking([_file(name) for name in FILES if not Path(name).name.startswith("test_")])


PLANTED = {
    "assert (f(), 'text')": "a tuple is always true",
    "assert True": "a constant is always true",
    "assert 'text'": "a constant is always true",
    "assert (x > 0 for x in y)": "not called or consumed",
    "assert lambda: f()": "not called or consumed",
    "assert map(f, y)": "not called or consumed",
    "assert pytest.approx(x)": "compares nothing",
    "assert x.tolist() == x.tolist()": "with itself",
    "assert 0 < x == x": "with itself",
    "(f(x) for x in y)": "nobody consumes",
    "map(f, y)": "nobody consumes",
    "torch.allclose(x, y)": "nobody looks",
    "all(x > 0 for x in y)": "nobody looks",
    "def test_f():\n    return\n    assert x": "never reached",
    "def test_f():\n    pytest.skip('')\n    assert x": "never reached",
    "with pytest.raises(ValueError, match='x'):\n    y = f()\n    assert y": "once the error is raised",
    "with pytest.raises(Exception):\n    f()": "any error would do",
    "def test_f():\n    try:\n        f()\n    except ValueError:\n        pass": "swallowed",
    "def test_f():\n    def program(x):\n        assert x\n    f()": "nobody calls program",
    "def check_it():\n    assert x": "nobody calls check_it",
    "def test_f():\n    f()": "checks nothing",
    "def f():\n    return 1\ndef test_f():\n    f()": "checks nothing",
    "def test_f():\n    try:\n        f()\n    except ValueError:\n        return  # no matter\n    assert x": "as if it passed",
    "def test_f():\n    try:\n        f()\n    except ValueError as error:\n        return\n    assert x": "as if it passed",
    "def test_f():\n    try:\n        assert x\n    except AssertionError:\n        pass  # no matter": "swallowed",
    "def test_f():\n    with contextlib.suppress(Exception):  # no matter\n        f()\n    assert x": "swallowed",
    "def test_f():\n    with suppress(ValueError):\n        f()\n    assert x": "swallowed",
    "with pytest.raises((ValueError, Exception)):\n    f()": "any error would do",
    "with pytest.raises(ValueError, match=''):\n    f()": "any text would do",
    "with pytest.raises(ValueError, match='.*'):\n    f()": "any text would do",
    "assert a == [1] * 10 or len(a) == 10": "weaker half",
    "assert len(a) == 10 or a == [1] * 10": "weaker half",
    "assert [f(x) for x in a] == [1, 2] or len(a) == 2": "weaker half",
    "assert a[1] == 'x' or 'x' in a": "weaker half",
    "assert f is g or callable(f)": "weaker half",
    "assert y and (a == 3 or a)": "weaker half",
    "assert [f() == 1]": "a list is always true",
    "assert {f() == 1}": "a set is always true",
    "assert {'x': f()}": "a dict is always true",
    "assert f'{x}'": "a text is always true",
    "assert x or True": "a constant is always true",
    "assert x and (x or 'text')": "a constant is always true",
    "assert not ()": "not of what is always false",
    "assert not []": "not of what is always false",
    "assert not (x and 0)": "not of what is always false",
    "assert x.all": "not called",
    "assert path.exists": "not called",
    "assert len(x) >= 0": "below 0",
    "assert 0 <= len(x)": "below 0",
    "assert (x == y) is not None": "never None",
    "assert '' in x": "the empty text",
    "assert isinstance(x, object)": "everything is an object",
    "assert all(x for x in [])": "of nothing",
    "assert all([])": "of nothing",
    "assert all((x, y) for x in a)": "a tuple is always true",
    "assert bool([x])": "a list is always true",
    "assert torch.equal(x, x)": "with itself",
    "torch.testing.assert_close(x + 1, x + 1)": "with itself",
    "x == 1": "nobody looks",
    "x == 1 and y": "nobody looks",
    "not x": "nobody looks",
    "if False:\n    assert x": "never reached",
    "for x in ():\n    assert x": "never reached",
}


@pytest.mark.parametrize(("text", "what"), PLANTED.items())
def test_a_planted_one_is_found(text: str, what: str) -> None:
    assert any(what in each for each in problems(File(text)))


@pytest.mark.parametrize(
    "text",
    [
        "assert (f() == 1), 'text'",
        "assert x == pytest.approx(y)",
        "assert f(x) == f(y)",
        "with pytest.raises(ValueError, match='x'):\n    f()\nassert y",
        "def test_f():\n    if x:\n        return\n    assert y",
        "def test_f():\n    def program(x):\n        assert x\n    f(program)",
        "class Watch:\n    def close(self):\n        pass",
        "def test_f():\n    with pytest.raises(ValueError, match='x'):\n        x == 1",
        "def test_f():\n    def program():\n        assert x\n    program()",
        "def expect():\n    assert x\ndef test_f():\n    expect()",
        "def test_f():\n    for x in y:\n        assert_close(x, 1)",
        "def test_f():\n    subprocess.run(command, check=True)",
        "def test_f():\n    def program(x):\n        try:\n            return g(x)\n        except ValueError:\n            return x\n"
        "    assert program(1)",
        "def test_f():\n    try:\n        f()\n    except ValueError as error:\n        assert 'text' in str(error)\n        return\n"
        "    assert x",
        "def test_f():\n    with suppress(ValueError):  # what the first one left\n        f()\n    assert x",
        "assert [f(x) for x in a]",
        "assert [*a]",
        "assert x.requires_grad",
        "assert x.all()",
        "assert a == 'old' or len(a) == 60",
        "assert a == 1 or a == 2",
        "assert x or 0",
        "assert not (x or 1 == y)",
        "assert len(x) > 0",
        "assert x is not None",
    ],
)
def test_a_check_that_can_fail_is_left_alone(text: str) -> None:
    assert problems(File(text)) == []


def test_a_check_in_another_file_counts() -> None:
    helpers = checking(
        [File("def expect(x):\n    assert x\ndef both(x):\n    expect(x)\ndef idle(x):\n    f(x)", "pairs.py")]
    )
    assert helpers == {"expect", "both"}
    assert problems(File("def test_f():\n    both(1)"), helpers) == []
    assert problems(File("def test_f():\n    idle(1)"), helpers) == ["test_it.py:1: checks nothing"]


@pytest.mark.parametrize("name", FILES)
def test_checks_can_fail(name: str) -> None:
    assert problems(_file(name), _helpers()) == []


def test_every_exception_is_needed() -> None:
    text = "".join(
        (TESTS / name).read_text(encoding="utf-8") for name in FILES if name != "meta/test_checks_can_fail.py"
    )
    assert [each for each in WITH_ITSELF if f"assert {each}" not in text] == []
