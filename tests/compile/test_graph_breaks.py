"""Programs that no graph can hold whole: compiled, they do what they do eagerly, through graphs of their parts.

Each is run as it is and compiled, on equal arguments and random numbers; results, what is written to arguments, gradients and
the state of the random numbers afterwards are compared, and the number of graphs is that of the parts between breaks.
"""

import copy
import io
import logging
import os
import pickle
import threading

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _C, nn
from mindtorch_v2._dynamo import config
from mindtorch_v2._dynamo.backends import inductor
from mindtorch_v2._dynamo.testing import CompileCounterWithBackend
from mindtorch_v2._dynamo.utils import counters
from mindtorch_v2.utils import _pytree as pytree

LARGE = 1e9  # no sum here comes near
log = logging.getLogger("a user's program")
log.addHandler(logging.StreamHandler(io.StringIO()))
log.propagate = False


@pytest.fixture(autouse=True)
def _from_the_start():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def _outcome(function, make, seed, with_gradients):
    torch.manual_seed(seed)
    args = make()
    torch.manual_seed(seed)
    result = function(*args)
    leaves = [x.detach() if isinstance(x, torch.Tensor) else x for x in pytree.tree_leaves((result, args))]
    state = torch.get_rng_state()
    required = [isinstance(x, torch.Tensor) and x.requires_grad for x in pytree.tree_leaves(result)]
    if with_gradients:
        sum(x.double().square().sum() for x, r in zip(pytree.tree_leaves(result), required) if r).backward()
    gradients = [x.grad for x in pytree.tree_leaves(args) if isinstance(x, torch.Tensor)]
    return leaves, required, gradients, state


def _same(mine, theirs):
    assert type(mine) is type(theirs)
    if isinstance(mine, torch.Tensor):
        assert _C._pending_of(mine) is None
        assert mine.dtype is theirs.dtype
        assert torch.allclose(mine, theirs, equal_nan=True)
    else:
        assert mine == theirs


def _compare(function, make, graphs, with_gradients=True, backend="aot_eager"):
    counter = CompileCounterWithBackend(backend)
    compiled = torch.compile(function, backend=counter)
    for seed in range(3):
        expected = _outcome(function, make, seed, with_gradients)
        found = _outcome(compiled, make, seed, with_gradients)
        for mine, theirs in zip(found[0], expected[0], strict=True):
            _same(mine, theirs)
        assert found[1] == expected[1]
        for mine, theirs in zip(found[2], expected[2], strict=True):
            _same(mine, theirs)
        assert torch.equal(found[3], expected[3])
    assert counter.frame_count == graphs


def _leaf(*sizes):
    return lambda: (torch.randn(*sizes, requires_grad=True),)


def _plain(*sizes):
    return lambda: (torch.randn(*sizes),)


# ---- programs ----


def prints(x):
    y = x.sin()
    said = repr(y.detach())
    return y.cos(), said


def leaves_early(x):
    for count in range(10):
        x = x * 1.5
        if x.abs().max().item() > 10:
            return x, count
    return x, -1


def decides(x):
    return x.exp() if x.sum() > -LARGE else x.sin()


def logs(x):
    y = x.relu()
    log.warning("mean %s", y.mean())
    return y * 2


_embedding, _head = nn.Embedding(11, 8), nn.Linear(8, 11)


def generates(ids):
    found = [ids]
    with torch.no_grad():
        for _ in range(6):
            following = _head(_embedding(found[-1]).mean(0)).argmax(-1, keepdim=True)
            found.append(following)
            if following.item() == 11:
                break
    return torch.cat(found)


def draws(x):
    y = torch.dropout(x, 0.5, True)
    y.sum().item()
    z = torch.dropout(y, 0.5, True)
    torch.manual_seed(5)
    return y, z, torch.rand(3)


def writes_to_views(x):
    y = x.clone()
    view = y[1:]
    view.mul_(2)
    y.sum().item()
    y[0] = 5
    last = view.view(-1)
    last.add_(1)
    return y, view, last


def goes_backward(x, w):
    loss = (x @ w).square().mean()
    loss.backward()
    gradient = w.grad.clone()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
    return loss.detach(), gradient


def hooks(x):
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 3)
    return y.sin(), y


def changes_modes(x):
    with torch.no_grad():
        a = x * 2
    b = x * a
    with torch.autocast("cpu", dtype=torch.bfloat16):
        c = b @ b
        d = torch.einsum("ij,jk->ik", c, b)
    return (a, b, c, d) if d.sum() < LARGE else a


def catches(x):
    y = x + 1
    try:
        torch.linalg.cholesky(-torch.eye(3))
    except RuntimeError:
        y = y * 2
    try:
        y[torch.tensor([100])].sum().item()
    except IndexError:
        y = y * 3
    return y


def transforms(x):
    y = x * 2
    if x.sum() > LARGE:
        return y
    return torch.func.grad(lambda t: t.square().sum())(y.detach()), torch.vmap(lambda row: row * 2)(y)


class _Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 3 + 1

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x


def differentiates_by_hand(x):
    seen = {x.sum().item() > LARGE}
    return _Scaled.apply(x.sin()).cos(), len(seen)


def depends_in_size(x):
    kept = x[x > 0]
    return kept * kept.shape[0], torch.nonzero(x.detach())


def pickles(x):
    return pickle.loads(pickle.dumps(x.detach() * 2)), copy.deepcopy(x.detach() * 3)


def trains(x):
    parameter = nn.Parameter(x.detach() * 2)
    optimizer = torch.optim.Adam([parameter], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = parameter.square().sum()
        loss.backward()
        optimizer.step()
    return parameter.detach(), loss.item()


def asks_another_thread(x):
    y, found = x * 2, []
    thread = threading.Thread(target=lambda: found.append(y.sum().item()))
    thread.start()
    thread.join()
    return y + 1, found


def recomputes(x):
    if x.sum() > LARGE:
        return x
    return torch.utils.checkpoint.checkpoint(lambda t: t.sin().cos(), x * 2, use_reentrant=False).sum()


def works_in_inference_mode(x):
    with torch.inference_mode():
        y = x.detach() * 2
        y = y if y.sum() < LARGE else -y
    return y.clone()


@pytest.mark.parametrize(
    ("function", "make", "graphs"),
    [
        (prints, _leaf(3), 2),
        (leaves_early, _leaf(3), 2),
        (decides, _leaf(4), 2),
        (logs, _leaf(4), 2),
        (generates, lambda: (torch.randint(0, 11, (4,)),), 3),
        (draws, _leaf(40), 3),
        (writes_to_views, _leaf(4, 3), 3),
        (goes_backward, lambda: (torch.randn(3, 4), torch.randn(4, 2, requires_grad=True)), 2),
        (hooks, _leaf(4), 2),
        (changes_modes, _leaf(3, 3), 1),
        (catches, _leaf(4), 3),
        (transforms, _leaf(3, 2), 3),
        (differentiates_by_hand, _leaf(3), 3),
        (pickles, _plain(3), 3),
        (trains, _plain(3), 4),
        (asks_another_thread, _leaf(3), 2),
        (recomputes, _leaf(3), 4),
        (works_in_inference_mode, _plain(3), 2),
    ],
)
def test_programs_of_users(function, make, graphs):
    _compare(function, make, graphs, with_gradients=make()[0].requires_grad)


def test_sizes_that_depend_on_values_end_a_graph():
    with config.patch(recompile_limit=2):  # each size is another graph
        compiled = torch.compile(depends_in_size, backend="eager")
        for seed in range(6):
            torch.manual_seed(seed)
            x = torch.randn(6)
            for mine, theirs in zip(compiled(x), depends_in_size(x)):
                assert torch.equal(mine, theirs)


def test_memory_that_numpy_shares_is_never_read_late():
    np = pytest.importorskip("numpy")

    def function(x, array):
        shared, from_numpy = x.numpy(), torch.from_numpy(array)
        y, z = x * 2, from_numpy * 3
        shared[0], array[0] = 7, 9
        x.add_(1)
        return y, z, x.clone(), shared.copy(), array.copy()

    compiled = torch.compile(function, backend="eager")
    for _ in range(2):
        mine = compiled(torch.ones(3), np.ones(3))
        theirs = function(torch.ones(3), np.ones(3))
        for a, b in zip(mine, theirs):
            assert np.array_equal(np.asarray(a), np.asarray(b))


def test_what_is_kept_outside_is_ordinary():
    kept = []

    def function(x, fail):
        y = x * 2
        kept.append(y)
        if fail:
            raise ValueError("no")
        kept.append(y[0])
        return y.sum()

    compiled = torch.compile(function, backend="eager")
    for fail in (False, True):
        kept.clear()
        x = torch.ones(2, requires_grad=True)
        if fail:
            with pytest.raises(ValueError, match="no"):
                compiled(x, fail)
        else:
            assert compiled(x, fail).item() == 4
            assert kept[1]._base is kept[0]
            with torch.no_grad():
                kept[0].zero_()
            assert kept[1].item() == 0
        assert type(kept[0]) is torch.Tensor
        assert kept[0].grad_fn is not None
        assert not _C._tls_keys()[0] & _C._key_bit("Tracer")


def test_an_error_in_a_graph_leaves_what_came_before():
    kept = []

    def function(x, index):
        kept.append(x * 2)
        kept.append(x[index])
        return kept[1] + 1

    compiled = torch.compile(function, backend="aot_eager")
    with pytest.raises(IndexError):
        compiled(torch.ones(3), torch.tensor([7]))
    assert kept[0].tolist() == [2] * 3
    with pytest.raises(RuntimeError, match="has failed"):
        kept[1].tolist()

    class Uses(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + kept[1]  # where nothing is put off

    with pytest.raises(RuntimeError, match="has failed"):
        Uses.apply(torch.ones(1))


def test_a_module_with_a_counter():
    class Counted(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.calls, self.seen = nn.Linear(4, 4), 0, []

        def forward(self, x):
            self.calls += 1
            self.seen.append(self.calls)
            y = self.linear(x)
            return y.relu() if self.calls % 2 else y

    module = Counted()
    eager = copy.deepcopy(module)
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(module, backend=counter)
    for _ in range(4):
        x = torch.randn(2, 4)
        assert torch.allclose(compiled(x), eager(x))
    assert module.seen == eager.seen
    assert counter.frame_count == 2


def test_running_statistics_are_written_before_they_are_read():
    norm = nn.BatchNorm1d(3)
    eager = copy.deepcopy(norm)

    def function(norm, x):
        y = norm(x)
        return y, norm.running_mean.tolist(), norm.num_batches_tracked.item()

    compiled = torch.compile(function, backend="aot_eager")
    for _ in range(3):
        x = torch.randn(5, 3)
        mine, theirs = compiled(norm, x), function(eager, x)
        assert torch.allclose(mine[0], theirs[0])
        assert mine[1] == pytest.approx(theirs[1])
        assert mine[2] == theirs[2]


def test_breaks_are_counted_and_told(capfd):
    def function(x):
        y = x.sin()
        if y.sum().item() > LARGE:
            return y
        return y.cos()

    torch._logging.set_logs(graph_breaks=True)
    try:
        compiled = torch.compile(function, backend="eager")
        for _ in range(3):
            compiled(torch.ones(2))
    finally:
        torch._logging.set_logs()
    said = capfd.readouterr().err
    assert said.count("Graph break in") == 1
    assert "test_graph_breaks.py" in said
    assert "if y.sum().item() > LARGE:" in said
    assert list(counters["graph_break"].values()) == [1]
    assert counters["stats"]["unique_graphs"] == 2


def test_the_limit_holds_for_parts():
    with config.patch(recompile_limit=2):
        compiled = torch.compile(lambda x, n: (x.sum().item() > LARGE, x * n)[1], backend="eager")
        for n in range(2, 8):
            assert compiled(torch.ones(2), n).tolist() == [n, n]
        assert counters["stats"]["unique_graphs"] <= 4


def test_inner_compiled_functions_and_disabled_ones():
    inner = CompileCounterWithBackend("eager")
    compiled_inner = torch.compile(lambda x: x.cos(), backend=inner)

    @torch.compiler.disable
    def disabled(x):
        return x + 1

    def function(x):
        y = compiled_inner(x.sin())
        y = disabled(y) * 2
        return y if y.sum() < LARGE else -y

    outer = CompileCounterWithBackend("eager")
    compiled = torch.compile(function, backend=outer)
    x = torch.ones(3)
    assert torch.allclose(compiled(x), (x.sin().cos() + 1) * 2)
    assert inner.frame_count == 1
    assert outer.frame_count == 2


def _without_source():
    space = {"torch": torch, "FACTORS": [2]}
    exec("def function(x):\n    return torch.sin(x) * FACTORS[0]\n", space)
    return space["function"]


_kept, _count = set(), 0


def _adds_to_a_set(x):
    _kept.add(len(_kept))
    return x * len(_kept)


def _defines_a_class(x):
    class Scale:
        value = 2

    return (x * Scale.value).relu()


def _writes_a_global(x):
    global _count
    _count += 1
    return x + _count


@pytest.mark.parametrize(
    ("function", "graphs"), [(_without_source(), 1), (_adds_to_a_set, 3), (_defines_a_class, 1), (_writes_a_global, 3)]
)
def test_what_the_capture_of_the_whole_refuses_is_compiled_in_parts(function, graphs):
    global _count
    x, outcomes = torch.randn(3), []
    counter = CompileCounterWithBackend("aot_eager")
    for run in (function, torch.compile(function, backend=counter)):
        _kept.clear()
        _count = 0
        outcomes.append([run(x) for _ in range(3)])
    for theirs, mine in zip(*outcomes, strict=True):
        assert torch.equal(mine, theirs)
    assert counter.frame_count == graphs
    assert counters["not_captured_whole"]


def test_fullgraph_error_has_the_reason_the_line_and_the_remedy():
    @torch.compile(fullgraph=True)
    def f(x):
        if x.sum() > 0:
            return x
        return -x

    with pytest.raises(torch._dynamo.exc.Unsupported) as caught:
        f(torch.ones(2))
    said = str(caught.value).splitlines()
    assert "depends on values" in said[0]
    assert "if x.sum() > 0:" in said[2]
    assert said[3].startswith("  Remedy: torch.where chooses between tensors, torch.cond between functions")


def test_a_function_that_gains_nothing_is_told_of_once(caplog):
    @torch.compile
    def f(x):
        return os.getpid()

    for _ in range(20):
        f(3)
    (record,) = (each for each in caplog.records if "brings nothing" in each.message)
    assert "f:" in record.message
    assert "return os.getpid()" in record.message


def test_a_graph_in_which_nothing_fuses_is_told_of_once(caplog, monkeypatch):
    monkeypatch.setattr(inductor, "_said", False)
    for _ in range(2):
        f = torch.compile(lambda x, w: torch.linalg.inv(x) @ w)
        f(torch.eye(3), torch.eye(3))
    assert sum("brings nothing" in each.message for each in caplog.records) == 1
    caplog.clear()
    monkeypatch.setattr(inductor, "_said", False)
    torch.compile(lambda x: (x * 2 + 1).sin())(torch.ones(3))
    assert not caplog.records
