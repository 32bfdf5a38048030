"""Every collective in two and in three processes, against what PyTorch's Gloo gives."""

import pytest
import ranks


@pytest.mark.parametrize("key", ranks.RUNS["collectives"])
def test_collectives_give_what_gloo_gives(key, expected):
    wanted, found = expected("collectives", key), ranks.results(*key.split("|"))
    assert len(found) == len(wanted)
    for rank, (theirs, ours) in enumerate(zip(wanted, found, strict=True)):
        assert ours.keys() == theirs.keys()
        for name, value in theirs.items():
            assert ours[name] == value, f"{name} on rank {rank}"


@pytest.mark.parametrize("key", ranks.RUNS["methods"])
def test_methods_of_groups_give_what_pytorchs_give(key, expected):
    for theirs, ours in zip(expected("methods", key), ranks.results(*key.split("|")), strict=True):
        for part, cases in theirs.items():
            assert ours[part].keys() == cases.keys()
            for name, value in cases.items():
                assert ours[part][name] == value, name


@pytest.mark.parametrize("key", ranks.RUNS["functional"])
def test_functional_collectives_give_what_pytorchs_give(key, expected):
    assert ranks.results(*key.split("|")) == expected("functional", key)


def test_what_pytorch_has_no_example_of():
    """Tensors with gaps (of which PyTorch 2.13 overwrites what lies between), any sender, many bytes at once."""
    first, second = ranks.results("beyond.py", 2)
    assert first["gaps"] == [[0, 3, 2, 7], [4, 11, 6, 15], [8, 19, 10, 23]]
    assert second["gaps"] == [[1, 3, 3, 7], [5, 11, 7, 15], [9, 19, 11, 23]]
    assert first["anyone"] == [1, [8.0]]
    assert first["large"] == second["large"] == [3.0 * (1 << 21), 3.0]
    assert first["together"] == second["together"] == [3.0, 5.0, 7.0, 1, 1]
    assert first["in any order"] == [1.0, 2.0]
    assert first["mesh"] == [[[0, 1]], "DeviceMesh((dp=1, tp=2), 'cpu', stride=(2, 1))", 2, 0, [0, 0], 3.0]
    assert second["mesh"][3:] == [1, [0, 1], 3.0]
    assert first["from itself"].startswith("ValueError: Invalid source rank")
