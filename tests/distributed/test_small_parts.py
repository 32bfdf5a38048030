"""Options of the launcher, files and plans of checkpoints, steps that ranks take together: PyTorch's answers."""

import argparse
import dataclasses
import importlib
import os
import sys

import pytest
import ranks
from agreement import same, same_error

import mindtorch_v2 as torch


def _part(torch, name):
    return importlib.import_module(f"{torch.__name__}.distributed.{name}")


@pytest.mark.parametrize("nodes", ["1", "2:4", "0"])
def test_numbers_of_machines(nodes):
    same(lambda torch: _part(torch, "run").parse_min_max_nnodes(nodes))


@pytest.mark.parametrize("nodes", ["a", "1:2:3", ""])
def test_numbers_of_machines_that_are_none(nodes):
    same_error(lambda torch: _part(torch, "run").parse_min_max_nnodes(nodes))


def test_numbers_of_processes():
    same(lambda torch: _part(torch, "run").determine_local_world_size("3"))
    same_error(lambda torch: _part(torch, "run").determine_local_world_size("many"))
    count = _part(torch, "run").determine_local_world_size
    assert count("cpu") == os.cpu_count()
    if not torch.npu.is_available():
        assert count("auto") == os.cpu_count()
        with pytest.raises(ValueError, match="there is no accelerator"):
            count("gpu")


@pytest.mark.parametrize(
    "options",
    [
        ["--rdzv-endpoint=host:3"],
        ["--master-port=3"],
        ["--rdzv-backend=c10d", "--rdzv-endpoint=host:3"],
        ["--rdzv-backend=c10d"],
    ],
)
def test_where_machines_meet(options):
    def program(torch):
        run = _part(torch, "run")
        return run.get_rdzv_endpoint(run.parse_args([*options, "train.py"]))

    same(program)


def test_where_programs_find_their_rank():
    for known in ({}, {"use_env": False}, {"use_env": True}):
        same(lambda torch, known=known: _part(torch, "run").get_use_env(argparse.Namespace(**known)))


def test_a_program_is_run_in_this_process(tmp_path, monkeypatch, capsys):
    (tmp_path / "program.py").write_text("import sys; print(__name__, sys.argv[1:])")
    monkeypatch.setattr(sys, "argv", ["this"])
    _part(torch, "run").run_script_path(str(tmp_path / "program.py"), "--lr=0.1")
    assert capsys.readouterr().out == "__main__ ['--lr=0.1']\n"


def test_the_launcher_by_its_old_name(monkeypatch):
    launch, started = _part(torch, "launch"), []
    monkeypatch.setattr(launch._run, "run", started.append)
    launch.launch(launch.parse_args(["--nproc-per-node=2", "train.py"]))
    assert started[0].nproc_per_node == "2"


@pytest.mark.parametrize("arguments", [["--must", "1"], ["--must=1", "--foo=9", "-b", "x", "--no"]])
def test_options_from_the_environment(arguments, monkeypatch):
    for name, value in {"PET_FOO": "7", "PET_FLAG": "1", "PET_OFF": "0"}.items():
        monkeypatch.setenv(name, value)

    def program(torch):
        actions, parser = _part(torch, "argparse_util"), argparse.ArgumentParser()
        parser.add_argument("--foo", action=actions.env, type=int, default=3, required=True)
        parser.add_argument("--bar", "-b", action=actions.env, default=4)
        for name in ("flag", "off", "no"):
            parser.add_argument(f"--{name}", action=actions.check_env)
        parser.add_argument("--must", action=actions.env, required=True)
        return vars(parser.parse_args(arguments))

    same(program)


@pytest.mark.parametrize("name", "SUM AVG PRODUCT MIN MAX BAND BOR BXOR".split())
def test_operations_of_complex_numbers(name):
    def program(torch):
        return _part(torch, "distributed_c10d").supports_complex(getattr(torch.distributed.ReduceOp, name))

    same(program)


def _index(torch, *said):
    return _part(torch, "checkpoint.metadata").MetadataIndex(*said)


FOUND = {
    "object": lambda torch: {"step": 3}[_index(torch, "step").fqn],
    "tensor": lambda torch: _find(torch, {"w": torch.ones(2)}, "w"),
    "origin": lambda torch: _find(torch, {"w": torch.ones(2, 3)}, "w", torch.Size([0, 0])),
    "number": lambda torch: _find(torch, {"step": 3}, "step"),
}
MISSED = {
    "no_name": lambda torch: _find(torch, {}, "w"),
    "no_piece": lambda torch: _find(torch, {"w": torch.ones(2)}, "w", torch.Size([1])),
    "piece_of_object": lambda torch: _find(torch, {"step": 3}, "step", torch.Size([0])),
}


def _find(torch, state, *said):
    return _part(torch, "checkpoint.utils").find_state_dict_object(state, _index(torch, *said))


@pytest.mark.parametrize("name", FOUND)
def test_entries_that_an_index_names(name):
    same(FOUND[name])


@pytest.mark.parametrize("name", MISSED)
def test_entries_that_are_not_there(name):
    same_error(MISSED[name])


def _plans(torch, hints):
    planner, default = _part(torch, "checkpoint.planner"), _part(torch, "checkpoint.default_planner")
    plan = default.create_default_local_save_plan({"w": torch.ones(2), "step": 3}, True)
    (item,) = [each for each in plan.items if each.tensor_data is not None]
    item = dataclasses.replace(item, type=planner.WriteItemType.SHARD)
    moved = dataclasses.replace(
        item,
        index=_index(torch, "w", torch.Size([2])),
        tensor_data=dataclasses.replace(item.tensor_data, chunk=_chunk(torch, [2], [2]), size=torch.Size([4])),
    )
    first = dataclasses.replace(item, tensor_data=dataclasses.replace(item.tensor_data, size=torch.Size([4])))
    plans, metadata = default.create_default_global_save_plan(
        [planner.SavePlan([first]), planner.SavePlan([moved])], hints
    )
    assert default.create_default_global_load_plan([1]) == [1]
    return plans, metadata.state_dict_metadata["w"]


def _chunk(torch, offsets, sizes):
    return _part(torch, "checkpoint.metadata").ChunkStorageMetadata(torch.Size(offsets), torch.Size(sizes))


@pytest.mark.parametrize("hints", [True, False])
def test_plans_of_all_ranks(hints):
    def program(torch):
        plans, entry = _plans(torch, hints)
        chunks = [(tuple(each.offsets), tuple(each.sizes)) for each in entry.chunks]
        return [[item.index.index for item in plan.items] for plan in plans], chunks, tuple(entry.size)

    same(program)


def test_parts_of_pieces_that_are_read():
    def program(torch):
        _, entry = _plans(torch, True)
        helpers = _part(torch, "checkpoint.planner_helpers")
        items = helpers.create_read_items_for_chunk_list("w", entry, [_chunk(torch, [1], [2]), _chunk(torch, [3], [1])])
        return [
            [tuple(each) for each in (item.dest_index.offset, item.dest_offsets, item.storage_offsets, item.lengths)]
            for item in items
        ]

    same(program)


def test_bytes_of_objects():
    planner = _part(torch, "checkpoint.planner")
    item = planner.WriteItem(_index(torch, "step"), planner.WriteItemType.BYTE_IO, planner.BytesIOWriteData(12))
    assert item.bytes_io_data.nbytes == 12 and item.tensor_data is None


def test_files_of_this_machine(tmp_path):
    def program(torch):
        files = _part(torch, "checkpoint.filesystem").FileSystem()
        folder = files.concat_path(files.init_path(str(tmp_path)), torch.__name__)
        files.mkdir(files.concat_path(folder, "below"))
        path = files.concat_path(folder, "note")
        with files.create_stream(path, "w") as stream:
            stream.write("two words")
        files.rename(str(path), files.concat_path(folder, "other"))
        told = [files.exists(path), files.exists(str(folder)), len(files.ls(folder))]
        files.rm_file(files.concat_path(folder, "other"))
        valid = [files.validate_checkpoint_id(each) for each in (folder, str(folder), "hf://x", "no/such/place")]
        return told, len(files.ls(str(folder))), valid

    same(program)


def test_steps_of_one_process():
    utils = _part(torch, "collective_utils")
    assert utils.broadcast(lambda: 3) == 3 and utils.all_gather(4) == [4]
    for call in (
        lambda torch: _part(torch, "collective_utils").broadcast(lambda: 1 / 0, stage_name="read"),
        lambda torch: _part(torch, "collective_utils").broadcast(None, success=False),
        lambda torch: _part(torch, "collective_utils").broadcast(3, success=False),
    ):
        same_error(call)
    with pytest.raises(RuntimeError, match="all_gather failed with exception division by zero"):
        utils.all_gather(lambda: 1 / 0)


def test_steps_of_two_processes():
    for found in ranks.results("agreed.py", 2):
        assert found["broadcast"] == {"rank": 1} and found["all_gather"] == [0, 10]
        assert found["failed"] == "Rank 0 failed: stage read: exception no file"
        assert "all_gather failed on ranks [1]" in found["gathered"] and "not of this type" in found["gathered"]
        assert found["types"] == "Object type at index 1 is <class 'str'>, while first object type is <class 'int'>"
        assert "all_gather: this rank is at stage stage" in found["stages"]
