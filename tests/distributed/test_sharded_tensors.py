"""Distributed tensors on four ranks: numbers and gradients of plain ones, however their pieces lie."""

import pytest
import ranks

# Where results lie: facts of the rules, as PyTorch's are.
PLACES = {
    "mm S(0)|R": "S(0)",
    "mm R|S(1)": "S(1)",
    "mm S(1)|S(0)": "P(sum)",
    "linear S(0)|R|R": "S(0)",
    "linear R|S(0)|S(0)": "S(2)",
    "linear S(2)|S(1)|R": "P(sum)",
    "mean of squares S(0)": "P(avg)",
    "attention S(1)|S(1)|S(1)": "S(1)",
    "layer_norm S(0)|R|R": "S(0)",
    "embedding S(1)|R": "S(2)",
    "cat and split S(0)|S(0)": "S(0)",
    "mixed": True,
    "sums": [["P(sum)"] * 4, 0],
    "loaded": True,
    "pair": True,
    "checked": True,
}


def test_numbers_and_gradients_are_those_of_plain_tensors():
    for found in ranks.results("tensors.py", 4):
        assert len(found) > 300
        assert {name: found[name] for name in PLACES} == PLACES


def test_states_of_sharded_models(tmp_path):
    for number, found in enumerate(ranks.results("states.py", 4, str(tmp_path / "checkpoint"))):
        assert found.pop("names of states") == ["0.bias", "0.weight", "2.0.bias", "2.0.weight"]
        assert found.pop("first rank only") == [4, 0], number
        assert len(found) == 25
        assert all(found.values()), found


def test_optimizers_attention_functions_and_files_of_several_ranks(tmp_path):
    names = ["zero", "attention", "causal attention", "mapped", "registered", "safetensors"]
    for found in ranks.results("beyond_layers.py", 2, str(tmp_path / "files")):
        assert found == dict.fromkeys(names, True)


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_a_checkpoint_of_four_ranks_loads_on_any_number(tmp_path, size):
    folder = str(tmp_path / "checkpoint")
    ranks.results("checkpoints.py", 4, "save", folder)
    for found in ranks.results("checkpoints.py", size, "load", folder):
        assert found == {"loaded": True, "missing": "Missing key in checkpoint state_dict: nothing"}


@pytest.mark.parametrize(("saves", "loads"), [(ranks.OURS, ranks.PYTORCH), (ranks.PYTORCH, ranks.OURS)])
def test_checkpoints_of_the_real_pytorch(request, tmp_path, saves, loads):
    if not request.config.getoption("--live"):
        pytest.skip("needs the real PyTorch: --live")
    folder = str(tmp_path / "checkpoint")
    ranks.results("checkpoints.py", 4, "save", folder, launcher=saves)
    for found in ranks.results("checkpoints.py", 3, "load", folder, launcher=loads):
        assert found["loaded"]
