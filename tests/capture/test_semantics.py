"""The instrumented copy of a function means what the function means: the same results, for each part of the language."""

import collections
import contextlib
import dataclasses
import enum
import functools
import heapq
import itertools
import types

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._capture import capture

PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


@program
def closures(x):
    fs = []
    for i in range(3):

        def f(j, k=i):
            return i * 10 + j + k

        fs.append(f)
    return [f(1) for f in fs]


@program
def generators(x):

    def g():
        try:
            r = yield 1
            yield r
        except ValueError as e:
            yield str(e)
        finally:
            out.append("fin")

    out = []
    a = g()
    v = [next(a), a.send(5)]
    b = g()
    next(b)
    v.append(b.throw(ValueError("q")))
    a.close()
    b.close()

    def h():
        r = yield from g2()
        yield r

    def g2():
        yield 1
        return 7

    return (v, out, list(h()))


@program
def exceptions(x):
    r = []
    for k in range(5):
        try:
            if k == 0:
                raise ValueError("a")
            if k == 1:
                raise KeyError("b") from ValueError("c")
            if k == 2:
                continue
            if k == 3:
                [][1]
        except (ValueError, KeyError) as e:
            r.append((type(e).__name__, str(e), type(e.__cause__).__name__))
        except IndexError:
            r.append("idx")
        else:
            r.append("else")
        finally:
            r.append(f"f{k}")
    return r


@program
def nonlocals(x):
    n = 0

    def inc():
        nonlocal n
        n += 1
        return n

    return (inc(), inc(), n)


@program
def unpacking(x):
    a, *b, (c, [d, *e]) = (1, 2, 3, (4, [5, 6, 7]))
    (f,) = [8]
    g = h = [1]
    g += [2]
    i = {"a": 1}
    i["b"] = i["a"] = 5
    k = [0] * 3
    k[1:] = [7, 8]
    del k[0]
    return (a, b, c, d, e, f, g, h, i, k, {**i, "z": 1}, [*b, *e], (*b,), {*b})


@program
def comparisons(x):
    l = []

    def t(v):
        l.append(v)
        return v

    return (
        1 < t(2) < t(3),
        5 < t(4) < t(9),
        t(0) or t(3),
        t(1) and t(0),
        not t(1),
        t(1) if t(0) else t(2),
        l,
        1 in [1],
        2 not in (1,),
        None is None,
        l is not l,
    )


@program
def texts(x):
    v = 3.14159
    n = "a"
    w = 8
    return (
        f"{v:.2f}|{v!r:>10}|{n:>{w}}|n={n!r}|{('x' if v > 3 else 'y')}|{{}}|{[1, 'a']}|{None}|{1000:,}|{v:{w}.{3}}",
        "%s %d %r" % ("a", 1, "b"),  # noqa: UP031  (what is tested)
        "{} {a[0]} {b!r}".format(1, a=[5], b="q"),
    )


class A:
    z = 1

    def __init__(s, v):
        s.v = v
        s.__p = 2

    def __eq__(s, o):
        return isinstance(o, A) and s.v == o.v

    def __lt__(s, o):
        return s.v < o.v

    def __add__(s, o):
        return A(s.v + (o.v if isinstance(o, A) else o))

    __radd__ = __add__

    def __iadd__(s, o):
        s.v += o
        return s

    def __getitem__(s, i):
        return s.v + i

    def __len__(s):
        return s.v

    def __bool__(s):
        return s.v > 1

    def __contains__(s, i):
        return i == s.v

    def __iter__(s):
        return iter(range(s.v))

    def __call__(s, *a, **k):
        return (s.v, a, sorted(k.items()))

    def __repr__(s):
        return f"A({s.v})"

    def __neg__(s):
        return A(-s.v)

    def __enter__(s):
        s.v += 1
        return s

    def __exit__(s, *e):
        s.v -= 1
        return e[0] is ValueError

    def __hash__(s):
        return 1

    def p(s):
        return s.__p

    @property
    def q(s):
        return s.v * 2

    @q.setter
    def q(s, n):
        s.v = n

    @classmethod
    def mk(c, v):
        return c(v)


class B(A):
    def p(self):
        return (super().p() + 1, [super(B, self).p() for _ in range(1)])


@program
def operators_of_classes(x):
    a, b = (A(1), B.mk(3))
    c = a + b
    d = 1 + b
    a += 4
    b.q = 9
    r = [
        a == A(5),
        a != b,
        a < b,
        a > b,
        c.v,
        d.v,
        a[2],
        len(a),
        bool(A(0)),
        5 in a,
        [*A(3)],
        a(1, k=2),
        repr(b),
        f"{b}|{b!r}",
        (-b).v,
        b.p(),
        b.q,
        sum([A(1), A(2)], A(0)).v,
        a.z,
        A.z,
        getattr(a, "no", 7),
        hasattr(a, "v"),
        isinstance(b, A),
        type(b).__name__,
        max([A(1), A(3)], key=lambda t: t.v).v,
    ]
    with A(1) as e, A(2) as f:
        r += [e.v, f.v]
        raise ValueError
    r.append("after")
    x1, y1 = A(2)
    r += [x1, y1]
    return r


@program
def assignment_expressions(x):
    if (n := len([1, 2])) > 1:
        pass
    while (m := n) < 4:
        n += 1
    return (n, m, [(y := 3), y * 2], [t for q in range(4) if (t := (q * 2)) > 2], y)


@program
def patterns(x):

    def f(v):
        match v:
            case 0 | 1:
                return "01"
            case str(s) if s:
                return s
            case [a, *b]:
                return (a, b)
            case {"k": kk, **rest}:
                return (kk, rest)
            case None:
                return "none"
            case _:
                return "other"

    return [f(v) for v in (0, 1, "a", "", [1, 2, 3], {"k": 1, "z": 2}, None, 3.5)]


@program
def loops(x):
    r = []
    for i in range(5):
        if i == 1:
            continue
        if i == 3:
            break
        r.append(i)
    else:
        r.append("no")
    for i, (a, b) in enumerate([(1, 2), (3, 4)], 1):
        r.append((i, a, b))
    else:
        r.append("yes")
    d = dict(a=1)
    d |= {"b": 2}
    s = {1}
    s |= {2}
    s &= {2, 3}
    for d["c"] in [9]:
        pass
    return (
        r,
        d,
        s,
        [*zip("ab", [1, 2])],
        [*map(str, [1, 2])],
        [*filter(None, [0, 1])],
        [*reversed([1, 2])],
        dict(zip("ab", [1, 2])),
        any(v > 1 for v in [1, 2]),
        all([]),
        sorted([3, 1], reverse=True),
        min(3, 1),
        max([1], default=0),
        sum([[1], [2]], []),
    )


@dataclasses.dataclass(order=True)
class D:
    a: int
    b: list = dataclasses.field(default_factory=list)
    c: int = 5

    def __post_init__(self):
        self.d = self.a + self.c


@program
def dataclass_instances(x):
    v = D(1)
    v.b.append(2)
    w = D(1, [2], c=6)
    return (v.a, v.b, v.c, v.d, w.d, [f.name for f in dataclasses.fields(v)], dataclasses.is_dataclass(w))


class E(enum.Enum):
    R = 1
    G = 2

    def f(self):
        return self.value * 2


@program
def enums(x):
    return (E.R.f(), E(2).name, E["G"] is E.G, [e.name for e in E], E.R in (E.G,))


@program
def decorators(x):

    def d(f):

        @functools.wraps(f)
        def w(*a, **k):
            return f(*a, **k) + 1

        return w

    @d
    @d
    def g(a, /, b, *, c=1):
        return a + b + c

    return (g(1, 2), g(1, b=2, c=5), g.__name__, functools.partial(g, 1)(2))


@contextlib.contextmanager
def cmgr(v):
    try:
        yield v
    except ZeroDivisionError:
        pass


@program
def context_managers(x):
    r = []
    with cmgr(3) as v:
        r.append(v)
        1 / 0
    with contextlib.suppress(KeyError):
        {}["a"]
    return r


@program
def defaults(x, *, k=[1]):

    def f(a, b=[], *c, d=3, **e):
        b.append(a)
        return (b, c, d, e)

    return (f(1), f(2), f(3, [9], 4, 5, d=6, z=7), k)


@program
def recursion(x):

    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    return fib(12)


@program
def scopes(x):
    a = 1

    def f():
        b = [a for _ in range(2)]

        def g(a=a + 1):
            return [a + q for q in b]

        return g()

    return (
        f(),
        [[i * j for j in range(i)] for i in range(3)],
        {k: v for k, v in {"a": a}.items()},
        (lambda *z, a=a: (z, a))(1, 2),
    )


@program
def deletion(x):
    a = [1, 2, 3]
    b = a
    del a
    try:
        a
    except (UnboundLocalError, NameError) as e:
        r = type(e).__name__
    o = types.SimpleNamespace(q=1)
    del o.q
    d = {"a": 1, "b": 2}
    del d["a"]
    return (r, b, hasattr(o, "q"), d)


@program
def standard_library(x):
    heap = [5, 1, 4]
    heapq.heapify(heap)
    heapq.heappush(heap, 0)
    return (
        heap,
        heapq.nlargest(2, [1, 5, 3]),
        heapq.nsmallest(2, [1, 5, 3], key=lambda v: -v),
        list(itertools.accumulate([1, 2, 3], lambda a, b: a * b)),
        [(k, list(v)) for k, v in itertools.groupby([1, 1, 2])],
        list(itertools.islice(itertools.count(3), 2)),
        functools.reduce(lambda a, b: a * b, range(1, 6)),
    )


@program
def methods_that_are_not_called(x):
    return (
        [callable(x.sin), callable(x.__add__), callable(x.shape), callable(x), callable([].append)],
        [hasattr(x, "sin"), x.sin is None, bool(x.sin), x.sin().shape],
    )


@program
def named_tuples_made_within(x):
    kind = collections.namedtuple("kind", ["u", "v"], defaults=[3])
    pair = kind(x, x + 1)
    u, v = pair._replace(u=pair.v * 2)
    return (u + v, pair[1], len(pair), kind._fields, isinstance(pair, tuple), kind(x).v, kind._make([x, 2]).v, pair)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_program(function):
    x = torch.ones(2)
    expected = repr(function(x))
    captured = capture(function, (x,), {})
    assert captured.guards.check((x,), {})
    assert repr(captured.run(captured.graph, (x,), {})) == expected
