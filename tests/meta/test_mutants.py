"""The planted faults of `make mutants`: each kind changes what it says, nothing else, and a planted one is caught."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tools.mutants import native, native_sites
from tools.mutants.areas import AREAS, ROOT, SOURCE, TESTS, found
from tools.mutants.judge import Outcome, given, outcome
from tools.mutants.sites import planted, sites

pytestmark = pytest.mark.no_torch

KINDS = [
    ("f(a + b)", {"f(a - b)"}),
    ("f(a * b)", {"f(a / b)"}),
    ("x += y", {"x -= y", "pass"}),
    ("f(a < b)", {"f(a <= b)"}),
    ("f(a is None)", {"f(a is not None)"}),
    ("f(a and b)", {"f(a or b)"}),
    ("f(3)", {"f(4)", "f(2)"}),
    ("f(True)", {"f(False)"}),
    ("f(a, k=b)", {"f(a)"}),
    ("f(a, b)", {"f(b, a)"}),
    ("if a:\n    return f()", {"if not a:\n    return f()", "if a:\n    return None"}),
    ("if not a:\n    f()", {"if a:\n    f()", "if not a:\n    pass"}),
    ("return f()", {"return None"}),
    ("raise f()", {"pass"}),
    ("def g(a=1):\n    return a", {"def g(a=2):\n    return a", "def g(a=0):\n    return a", "def g(a=1):\n    return None"}),
    ("op('f(Tensor x) -> Tensor', samples=[S(3)], linear=True)", {"op('f(Tensor x) -> Tensor', samples=[S(3)], linear=False)"}),
    ("def g(a: f(3)) -> f(4):\n    pass", set()),
    ("'text' + a", {"pass"}),
    ("import a", set()),
    ("@overload\ndef g(a=1): ...", set()),
    ("__all__ = ['a']", set()),
    ("isinstance(a, b)", {"pass"}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), KINDS)
def test_what_is_planted(text: str, expected: set[str]) -> None:
    found = {ast.unparse(planted(text, site, "a.py")) for site in sites(text)}
    plain = {"pass"} if text.startswith(("f(", "op(")) else set()  # the statement itself can go
    rows = text.startswith("op(")
    assert found == {ast.unparse(ast.parse(each)) for each in expected} | (set() if rows else plain)


def test_a_site_says_where_it_is() -> None:
    text = "class A:\n    @property\n    def b(self):\n        return 1 + self.c\n\n\nop('f.x(Tensor x) -> Tensor', grad={'x': lambda g: g * 2})\n"
    found = {(site.before, site.line, site.scope, site.scope_line, site.row) for site in sites(text)}
    assert ("1 + self.c", 4, "A.b", 2, "") in found
    assert ("g * 2", 7, "<lambda>", 7, "f.x") in found


@pytest.mark.parametrize(("line", "names"), [(1, {"A", "B"}), (3, {"C"}), (4, {"D"}), (6, {"d"}), (9, set())])
def test_whose_tests_are_asked_first_for_a_fault_outside_of_functions(line: int, names: set[str]) -> None:
    text = "A, B = 1, 2\n\nC: int = 3\nclass D(list):\n    e: int\n    d = 1\n\n\ndef f(a=1):\n    b = 2\n"
    assert given(ast.parse(text), line) == names


def test_areas_have_sources() -> None:
    for area in AREAS:
        assert [pattern for pattern in area.sources if not found(pattern)] == [], area.name
        assert all((ROOT / folder).exists() for folder in (*area.tests, *area.signatures)), area.name
    assert [name for name in TESTS if not (ROOT / name).exists()] == []


ENDS = [
    ("import no_such_module", "test_a.py", Outcome.CAUGHT, "ImportError while loading conftest"),
    ("raise ValueError", "test_a.py", Outcome.CAUGHT, "ImportError while loading conftest"),
    ("", "test_missing.py", Outcome.ERROR, "ERROR: file or directory not found: test_missing.py"),
    ("", "test_a.py --no-such-option", Outcome.ERROR, "ERROR: usage:"),
    ("", "test_a.py", Outcome.CAUGHT, "FAILED test_a.py::test_a"),
    ("", "test_b.py", Outcome.SURVIVED, "all tests pass"),
]


@pytest.mark.parametrize(("conftest", "arguments", "expected", "how"), ENDS)
def test_how_a_run_ended(tmp_path: Path, conftest: str, arguments: str, expected: Outcome, how: str) -> None:
    (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    (tmp_path / "test_a.py").write_text("def test_a():\n    raise AssertionError\n", encoding="utf-8")
    (tmp_path / "test_b.py").write_text("def test_b():\n    pass\n", encoding="utf-8")
    log = tmp_path / "log"
    with log.open("w", encoding="utf-8") as file:
        command = [sys.executable, "-m", "pytest", "-q", "--rootdir=.", "-c", "/dev/null", *arguments.split()]
        done = subprocess.run(command, cwd=tmp_path, stdout=file, stderr=file, check=False)
    found, told = outcome(done.returncode << 8, log)
    assert found == expected
    assert told.startswith(how)


# Plants the faults of one function in SGD, and runs five tests of its settings.
_PROGRAM = """
import tempfile
from pathlib import Path
import pytest
from tools.mutants import native, native_sites
from tools.mutants.areas import AREAS
from tools.mutants.coverage import Coverage, Test
from tools.mutants.judge import Mutant, judge
from tools.mutants.judge import Outcome, given, outcome
from tools.mutants.sites import sites

area = next(area for area in AREAS if area.name == "optim")
file = next(file for file in area.files() if file.name == "sgd.py")
test, coverage = "tests/optim/test_algorithms.py", Coverage()
chosen = [site for site in sites(file.read_text()) if site.scope == "SGD.__init__" and site.kind in ("comparison", "condition")]
for site in chosen:
    nodes = [f"{test}::test_bad_settings[SGD-settings{place}]" for place in range(5)]
    coverage.by_function["optim/sgd.py", site.scope_line, "__init__"] = [Test(test, node, 0.01) for node in nodes]
with tempfile.NamedTemporaryFile() as log:
    for site in chosen:
        verdict = judge(Mutant(area, file, site), coverage, Path(log.name))
        print(int(verdict.caught), site.before, "->", site.after, verdict.how)
"""


def _runs_from_the_sources() -> bool:
    """Whether a process of ours takes the package from the sources, where faults are planted; not where it is installed."""
    found = importlib.util.find_spec("mindtorch_v2")
    return found is not None and found.origin is not None and Path(found.origin).is_relative_to(SOURCE)


@pytest.mark.skipif(not _runs_from_the_sources(), reason="the package under test is an installed copy of the sources")
def test_a_planted_fault_is_caught_and_a_harmless_one_is_not() -> None:
    before = (SOURCE / "optim" / "sgd.py").read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    caught = {line[2:].partition(" -> ")[0] for line in done.stdout.splitlines() if line[0] == "1"}
    survived = {line[2:].partition(" -> ")[0] for line in done.stdout.splitlines() if line[0] == "0"}
    assert "if momentum < 0.0: ..." in caught, done.stdout
    assert "dampening != 0" in survived, done.stdout  # none of the five tests asks for it
    assert (SOURCE / "optim" / "sgd.py").read_bytes() == before


NATIVE = [
    ("x = a + b;", {"x = a - b;", ";"}),
    ("x += a * b;", {"x -= a * b;", "x += a / b;", ";"}),
    ("if (a < b) f();", {"if (a <= b) f();", "if (!(a < b)) f();"}),
    ("if (f(a) && !b) {", {"if (f(a) || !b) {", "if (!(f(a) && !b)) {"}),
    ("return a[i] == 2;", {"return a[i] != 2;", "return a[i] == (2 + 1);", "return a[i] == (2 - 1);"}),
    ("const float* x = data<float>(a);", set()),
    ("copy_into(*to, from.b, c);", {";"}),
    ("copy_into(to, from.b);", {"copy_into(from.b, to);", ";"}),
    ("std::max(a, b);", {";"}),
    ('check(a, "b + c == 3");  // d + e', {";"}),
    ("#define A (b + c)", set()),
    ("static_assert(a == b);", set()),
    ("Tensor made = f(a);", set()),
    ("break;", {";"}),
]


@pytest.mark.parametrize(("line", "expected"), NATIVE)
def test_what_is_planted_in_cpp(line: str, expected: set[str]) -> None:
    before = "void f() {\n"
    text = f"{before}    {line}\n}}\n"
    found = {
        native_sites.planted(text, site).removeprefix(before).splitlines()[0].strip()
        for site in native_sites.native_sites(text)
    }
    assert found == {each.replace("  // d + e", "") + ("  // d + e" if "// d" in line else "") for each in expected}


def test_where_nothing_is_planted_in_cpp() -> None:
    before = "namespace mt {\nconstexpr int kA = 1 + 2;\ntemplate <int n = 3>\nvoid f() {\n"
    text = before + '    x = 1 +\n        f(a);\n}\nKERNELS\n{\n    direct<f>("a", 1 + 2);\n}\n'
    # A statement over two lines is not taken away by halves.
    assert {(site.line, site.kind) for site in native_sites.native_sites(text)} == {(5, "constant")}
    assert native_sites.operators(text) == {"a"}


def test_sources_and_tests_of_faults_in_cpp() -> None:
    patterns = [list(ROOT.glob(pattern)) for pattern in native.SOURCES]
    assert all(patterns)
    text = (ROOT / "csrc/cpu/softmax.cpp").read_text(encoding="utf-8")
    names = native_sites.operators(text)
    assert {"softmax", "log_softmax"} <= names
    tests = native.nearest(ROOT / "csrc/cpu/softmax.cpp", names)
    assert tests[:2] == ["tests/ops/test_derived.py", "tests/ops/test_softmax.py"]
    assert all((ROOT / name).exists() for name in (*tests, *native.nearest(ROOT / "csrc/core/tensor.cpp", set())))
    sites = native_sites.native_sites(text)
    assert {site.kind for site in sites} == {
        "operator",
        "comparison",
        "constant",
        "condition",
        "arguments",
        "statement",
    }
    assert all(text[site.start : site.end] == site.before != site.after for site in sites)
