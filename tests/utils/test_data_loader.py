"""The data loader: the same batches as PyTorch's for the same seed, worker processes and how they fail."""

import glob
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from agreement import same, same_error
from recording import answer

import mindtorch_v2
from mindtorch_v2.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    TensorDataset,
    get_worker_info,
)

torch = mindtorch_v2

# The warning depends on the machine's processors.
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


class Squares(Dataset):
    def __init__(self, n=10):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.tensor(i * i), {"i": i, "name": str(i)}


class Large(Squares):
    def __getitem__(self, i):
        return torch.full((100, 400), float(i)), torch.full((3,), i)


class Stream(IterableDataset):
    def __init__(self, n=10):
        self.n = n

    def __iter__(self):
        info = get_worker_info()
        if info is None:
            return iter(range(self.n))
        return iter(range(info.id, self.n, info.num_workers))


class Raises(Squares):
    def __getitem__(self, i):
        if i == 3:
            raise KeyError(f"no sample {i}")
        return i


class Dies(Squares):
    def __init__(self, how):
        super().__init__()
        self.how = how

    def __getitem__(self, i):
        if i == 5:
            if self.how == "exit":
                os._exit(3)
            os.kill(os.getpid(), signal.SIGKILL)
        return i


class Sleeps(Squares):
    def __getitem__(self, i):
        time.sleep(5)
        return i


class Seeds(Squares):
    def __getitem__(self, i):
        info = get_worker_info()
        return (
            i,
            torch.initial_seed(),
            torch.rand(1).item(),
            random.random(),
            info.id,
            info.seed - info.id,
        )


def as_lists(value):
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {key: as_lists(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_lists(item) for item in value]
    return value


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_batches_in_order(workers):
    batches = list(DataLoader(Squares(), batch_size=4, num_workers=workers))
    assert [b[0].tolist() for b in batches] == [
        [0, 1, 4, 9],
        [16, 25, 36, 49],
        [64, 81],
    ]
    assert batches[1][1]["name"] == ["4", "5", "6", "7"]
    assert batches[1][1]["i"].tolist() == [4, 5, 6, 7]


@pytest.mark.parametrize("workers", [0, 2])
def test_shuffle_is_seeded(workers):
    orders = []
    for _ in range(2):
        torch.manual_seed(3)
        loader = DataLoader(Squares(), batch_size=5, shuffle=True, num_workers=workers)
        orders.append([as_lists(list(loader)) for _ in range(2)])
    assert orders[0] == orders[1]
    assert orders[0][0] != orders[0][1]


@pytest.mark.parametrize("settings", [{"shuffle": True}, {"shuffle": True, "drop_last": True}, {}])
def test_shuffle_follows_pytorch(settings):
    def program(lib):
        lib.manual_seed(11)
        data = lib.utils.data.TensorDataset(lib.arange(23), lib.rand(23))
        loader = lib.utils.data.DataLoader(data, batch_size=4, **settings)
        own = lib.utils.data.DataLoader(data, shuffle=True, generator=lib.Generator().manual_seed(5))
        # What is drawn afterwards shows that the loaders drew as much.
        return as_lists(list(loader)), as_lists(list(own)), as_lists(list(loader)), lib.rand(2)

    same(program)


def test_worker_seeds_follow_pytorch():
    torch.manual_seed(7)
    rows = sorted(map(tuple, DataLoader(Seeds(4), num_workers=2, batch_size=None)))
    base = {row[-1] for row in rows}
    assert len(base) == 1
    assert [row[1] - row[5] for row in rows] == [row[4] for row in rows]

    def ask(lib):
        lib.manual_seed(7)
        seed = lib.empty((), dtype=lib.int64).random_().item()
        lib.manual_seed(seed)
        return seed, lib.rand(1).item()

    expected, drawn = answer(ask)
    assert base == {expected}
    assert rows[0][2] == drawn
    assert rows[0][3] == random.Random(expected).random()


def test_numpy_seeds():
    numpy = pytest.importorskip("numpy")
    state = mindtorch_v2.utils.data._utils.worker._generate_state(12345678901, 3)
    # PyTorch's numbers for the same arguments.
    assert state == [2973762914, 2096409635, 2530576639, 2673913251]
    numpy.random.seed(state)


def test_large_batches_pass_through_shared_memory():
    before = set(glob.glob("/dev/shm/mindtorch_loader_*"))
    kept = []
    for images, labels in DataLoader(Large(), batch_size=3, num_workers=2):
        assert (images[:, 0, 0] == labels[:, 0]).all()
        images.add_(1)
        kept.append(images)
    assert [batch[0, 5, 5].item() for batch in kept] == [1.0, 4.0, 7.0, 10.0]
    assert set(glob.glob("/dev/shm/mindtorch_loader_*")) <= before


def test_stream():
    assert sorted(int(x) for x in DataLoader(Stream(), batch_size=None)) == list(range(10))
    loader = DataLoader(Stream(11), batch_size=2, num_workers=3)
    assert sorted(int(x) for batch in loader for x in batch) == list(range(11))
    loader = DataLoader(Stream(5), batch_size=2, drop_last=True)
    assert [b.tolist() for b in loader] == [[0, 1], [2, 3]]


@pytest.mark.parametrize("dataset", [Squares(7), Stream(7)])
def test_persistent_workers(dataset):
    loader = DataLoader(dataset, num_workers=2, persistent_workers=True, batch_size=2)
    first = as_lists(list(loader))
    pids = [w.pid for w in loader._iterator._workers]
    assert as_lists(list(loader)) == first
    # An epoch that is left early does not spill into the next.
    next(iter(loader))
    assert as_lists(list(loader)) == first
    assert [w.pid for w in loader._iterator._workers] == pids


def test_out_of_order_gives_all():
    loader = DataLoader(Squares(), num_workers=2, in_order=False, batch_size=None)
    assert sorted(int(x[0]) for x in loader) == [i * i for i in range(10)]


def _mark_worker(worker_id):
    os.environ["LOADER_TEST_WORKER"] = str(worker_id)


class ReadsEnvironment(Squares):
    def __getitem__(self, i):
        return os.environ["LOADER_TEST_WORKER"]


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_worker_init_fn_and_contexts(context):
    loader = DataLoader(
        ReadsEnvironment(4),
        num_workers=2,
        worker_init_fn=_mark_worker,
        multiprocessing_context=context,
        batch_size=None,
    )
    assert list(loader) == ["0", "1", "0", "1"]


def _init_fails(worker_id):
    raise ValueError("no init")


def test_exceptions_carry_the_traceback():
    with pytest.raises(KeyError) as raised:
        list(DataLoader(Raises(), num_workers=1, batch_size=2))
    text = str(raised.value)
    assert text.startswith(
        "Caught KeyError in DataLoader worker process 0.\nOriginal Traceback (most recent call last)"
    )
    assert "no sample 3" in text
    assert "__getitem__" in text
    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker process 0"):
        list(DataLoader(Squares(), num_workers=1, worker_init_fn=_init_fails))


def test_what_cannot_be_pickled_is_an_error():
    with pytest.raises(Exception, match="in DataLoader worker process 0"):
        context = "fork"  # from 3.14 on not Python's own choice: others pickle the function that is given, too
        collate = lambda samples: lambda: samples
        list(DataLoader(Squares(), num_workers=1, collate_fn=collate, multiprocessing_context=context))


@pytest.mark.parametrize("how", ["exit", "kill"])
def test_dead_worker_is_an_error(how):
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly") as raised:
        list(DataLoader(Dies(how), num_workers=1))
    assert time.monotonic() - start < 10
    if how == "kill":
        assert "is killed by signal: Killed" in str(raised.value.__cause__)


def test_timeout():
    with pytest.raises(RuntimeError, match="DataLoader timed out after 1 seconds"):
        list(DataLoader(Sleeps(), num_workers=1, timeout=1))


def test_leaving_early_ends_the_workers():
    iterator = iter(DataLoader(Large(50), num_workers=2, batch_size=2))
    next(iterator)
    workers, directory = iterator._workers, iterator._group.directory.path
    assert os.path.isdir(directory)
    del iterator
    assert not any(w.is_alive() for w in workers)
    assert not os.path.exists(directory)


def test_program_ends_with_workers_running():
    code = (
        "import mindtorch_v2 as torch\n"
        "from mindtorch_v2.utils.data import DataLoader, TensorDataset\n"
        "loader = DataLoader(TensorDataset(torch.ones(1000, 100)), num_workers=2, persistent_workers=True)\n"
        "it = iter(loader); next(it)\n"
        "print('done')\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "done\n"
    assert "Traceback" not in result.stderr


def test_forked_workers_compute_after_threads_were_used():
    a = torch.rand(300, 300)
    (a @ a).sum()
    loader = DataLoader(
        TensorDataset(a),
        num_workers=1,
        batch_size=100,
        collate_fn=_multiply,
        timeout=30,
    )
    assert len([x for x in loader]) == 3


def _multiply(samples):
    rows = torch.stack([s[0] for s in samples])
    return (rows @ rows.T).sum()


def test_shared_memory_full_falls_back_to_the_pipe(monkeypatch, tmp_path):
    transport = mindtorch_v2.utils.data._utils.transport

    def full(buffers, directory):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(transport, "_write_shared", full)
    message = transport.pack({"x": torch.ones(100000)}, str(tmp_path))
    assert message[1] is None
    assert transport.unpack(message)["x"].sum().item() == 100000


BAD = {
    "workers": {"num_workers": -1},
    "timeout": {"timeout": -1},
    "prefetch": {"prefetch_factor": 2},
    "persistent": {"persistent_workers": True},
    "both": {"sampler": [1], "shuffle": True},
    "batch sampler": {"batch_sampler": [[1]], "batch_size": 2},
    "drop": {"batch_size": None, "drop_last": True},
    "batch": {"batch_size": 0},
    "context": {"multiprocessing_context": "fork"},
    "context name": {"num_workers": 1, "multiprocessing_context": "threads"},
    "context type": {"num_workers": 1, "multiprocessing_context": 3},
}


@pytest.mark.parametrize("case", BAD)
def test_bad_settings(case, monkeypatch):
    # The order in which they were recorded, which is another one from 3.14 on.
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["fork", "spawn", "forkserver"])
    same_error(lambda lib: lib.utils.data.DataLoader([1, 2, 3], **BAD[case]))


def test_attributes_are_fixed():
    loader = DataLoader(Squares())
    with pytest.raises(
        ValueError,
        match="batch_size attribute should not be set after DataLoader is initialized",
    ):
        loader.batch_size = 3
