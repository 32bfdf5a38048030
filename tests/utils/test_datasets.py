"""Datasets, samplers and collation against PyTorch."""

import collections

import pytest
from agreement import same

import mindtorch_v2

Point = collections.namedtuple("Point", "x y")


def as_plain(value):
    """Tensors as (dtype, list), containers with their types, for comparison across libraries."""
    if hasattr(value, "untyped_storage"):
        return str(value.dtype).split(".")[1], value.tolist()
    if isinstance(value, dict):
        return type(value).__name__, {key: as_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [as_plain(item) for item in value]
    return value


class Numbers:
    @staticmethod
    def of(lib, n=10, stream=False):
        data = lib.utils.data
        if stream:

            class Stream(data.IterableDataset):
                def __iter__(self):
                    return iter(range(n))

            return Stream()

        class Items(data.Dataset):
            def __len__(self):
                return n

            def __getitem__(self, i):
                if not -n <= i < n:
                    raise IndexError(i)
                return i

        return Items()


CASES = {
    "no getitem": lambda lib: lib.utils.data.Dataset()[0],
    "tensors": lambda lib: lib.utils.data.TensorDataset(lib.arange(4), lib.ones(4, 2))[2],
    "tensors differ": lambda lib: lib.utils.data.TensorDataset(lib.ones(2), lib.ones(3)),
    "stack": lambda lib: lib.utils.data.StackDataset(Numbers.of(lib), Numbers.of(lib))[3],
    "stack named": lambda lib: lib.utils.data.StackDataset(a=Numbers.of(lib), b=Numbers.of(lib)).__getitems__([1, 2]),
    "stack differ": lambda lib: lib.utils.data.StackDataset(Numbers.of(lib), Numbers.of(lib, 3)),
    "stack both": lambda lib: lib.utils.data.StackDataset(Numbers.of(lib), a=Numbers.of(lib)),
    "stack none": lambda lib: lib.utils.data.StackDataset(),
    "concat": lambda lib: [(Numbers.of(lib, 3) + Numbers.of(lib, 4))[i] for i in (0, 2, 3, 6, -1, -7)],
    "concat none": lambda lib: lib.utils.data.ConcatDataset([]),
    "concat stream": lambda lib: lib.utils.data.ConcatDataset([Numbers.of(lib, stream=True)]),
    "concat far": lambda lib: lib.utils.data.ConcatDataset([Numbers.of(lib)])[-11],
    "chain": lambda lib: list(Numbers.of(lib, 2, True) + Numbers.of(lib, 3, True)),
    "chain bad": lambda lib: list(lib.utils.data.ChainDataset([Numbers.of(lib)])),
    "subset": lambda lib: lib.utils.data.Subset(Numbers.of(lib), [3, 5, 7]).__getitems__([0, 2]),
    "split": lambda lib: [
        s.indices for s in lib.utils.data.random_split(Numbers.of(lib), [3, 7], lib.Generator().manual_seed(3))
    ],
    "split fractions": lambda lib: [
        s.indices
        for s in lib.utils.data.random_split(Numbers.of(lib, 7), [0.3, 0.3, 0.4], lib.Generator().manual_seed(3))
    ],
    "split sum": lambda lib: lib.utils.data.random_split(Numbers.of(lib), [3, 3]),
    "split negative": lambda lib: lib.utils.data.random_split(Numbers.of(lib), [-0.5, 1.5]),
    "random": lambda lib: list(lib.utils.data.RandomSampler(range(9), generator=lib.Generator().manual_seed(1))),
    "random default": lambda lib: [
        lib.manual_seed(2),
        list(lib.utils.data.RandomSampler(range(9))),
    ][1],
    "random more": lambda lib: list(
        lib.utils.data.RandomSampler(range(5), num_samples=12, generator=lib.Generator().manual_seed(1))
    ),
    "replacement": lambda lib: list(
        lib.utils.data.RandomSampler(range(9), True, 70, generator=lib.Generator().manual_seed(1))
    ),
    "random bad": lambda lib: lib.utils.data.RandomSampler(range(3), replacement=1),
    "random none": lambda lib: lib.utils.data.RandomSampler(range(0)),
    "subset random": lambda lib: list(
        lib.utils.data.SubsetRandomSampler([5, 6, 7, 8], generator=lib.Generator().manual_seed(1))
    ),
    "weighted": lambda lib: list(
        lib.utils.data.WeightedRandomSampler([0.1, 2.0, 0.5], 20, generator=lib.Generator().manual_seed(1))
    ),
    "weighted without": lambda lib: list(
        lib.utils.data.WeightedRandomSampler([0.1, 2.0, 0.5], 3, False, generator=lib.Generator().manual_seed(1))
    ),
    "weighted bad": lambda lib: lib.utils.data.WeightedRandomSampler([[1]], 1),
    "weighted none": lambda lib: lib.utils.data.WeightedRandomSampler([1], 0),
    "batches": lambda lib: [list(lib.utils.data.BatchSampler(range(7), 3, drop)) for drop in (False, True)],
    "batches len": lambda lib: [len(lib.utils.data.BatchSampler(range(7), 3, drop)) for drop in (False, True)],
    "batches bad": lambda lib: lib.utils.data.BatchSampler(range(7), True, False),
    "batches drop": lambda lib: lib.utils.data.BatchSampler(range(7), 3, 0),
    "distributed": lambda lib: [
        list(lib.utils.data.DistributedSampler(range(11), 3, rank, drop_last=drop, seed=4))
        for rank in range(3)
        for drop in (False, True)
    ],
    "distributed small": lambda lib: list(lib.utils.data.DistributedSampler(range(2), 5, 4, shuffle=False)),
    "distributed rank": lambda lib: lib.utils.data.DistributedSampler(range(11), 2, 2),
    "collate": lambda lib: lib.utils.data.default_collate(
        [
            {
                "a": 1,
                "c": "x",
                "d": b"x",
                "e": 1.5,
                "f": lib.ones(2),
                "g": (1, 2.0),
                "p": Point(1, True),
            },
            {
                "a": 2,
                "c": "y",
                "d": b"z",
                "e": 2.5,
                "f": lib.zeros(2),
                "g": (3, 4.0),
                "p": Point(2, False),
            },
        ]
    ),
    "collate ordered": lambda lib: lib.utils.data.default_collate([collections.OrderedDict(a=1), {"a": 2}]),
    "collate none": lambda lib: lib.utils.data.default_collate([None]),
    "collate ragged": lambda lib: lib.utils.data.default_collate([[1, 2], [1]]),
    "collate shapes": lambda lib: lib.utils.data.default_collate([lib.ones(1), lib.ones(2)]),
    "collate empty": lambda lib: lib.utils.data.default_collate([]),
    "convert": lambda lib: lib.utils.data.default_convert([Point(1, "a"), {"x": (1, 2)}, lib.ones(1)]),
}


@pytest.mark.parametrize("case", CASES)
def test_agrees_with_pytorch(case):
    def program(lib):
        try:
            return as_plain(CASES[case](lib))
        except Exception as error:  # noqa: BLE001  (what PyTorch raises is what is expected)
            return type(error).__name__, str(error)

    same(program)


def test_numpy_samples():
    numpy = pytest.importorskip("numpy")
    batches = [
        [numpy.ones(2), numpy.zeros(2)],
        [numpy.float32(2), numpy.float32(3)],
        [numpy.array(2), numpy.array(3)],
        [{"x": numpy.ones((2, 2), dtype="int16")}] * 2,
    ]
    for batch in batches:
        same(lambda lib, batch=batch: as_plain(lib.utils.data.default_collate(batch)))
    with pytest.raises(TypeError, match="found <U1"):
        mindtorch_v2.utils.data.default_collate([numpy.array(["a"])])


def test_split_of_zero_length_warns():
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        mindtorch_v2.utils.data.random_split(range(3), [0.1, 0.1, 0.8])
