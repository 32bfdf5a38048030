"""Steps replayed on clusters that are described only: closed forms of links, overlap and turns; what is recorded of real steps."""

import math

import pytest
import ranks

from mindtorch_v2.distributed.simulate import Cluster, Link, Schedule, predict
from mindtorch_v2.distributed.simulate.__main__ import main

MB = 1_000_000
WORLD = {"default_pg": {"ranks": [0], "description": "default_pg"}}


def schedule(*events, groups=WORLD, steps=1):
    """One rank's schedule."""
    return Schedule(steps, groups, [list(map(list, events))])


def beside(seconds, nbytes=MB):
    """A collective that is begun, computing beside it, and waiting for it."""
    return schedule(
        ("compute", 1.0), ("begin", 0, "all_reduce", nbytes, "default_pg", None), ("compute", seconds), ("wait", 0)
    )


@pytest.mark.parametrize(
    ("kind", "size", "engine", "expected"),
    [
        ("all_reduce", 2, "gloo", 2 * (0.5 + 0.01)),  # two rounds, each rank sends a half
        ("all_reduce", 8, "gloo", 2 * (7 / 8 + 0.01)),
        ("all_reduce", 16, "gloo", 30 * (1 / 16 + 0.01)),  # a ring there, and one back
        ("all_gather", 4, "gloo", 3 / 4 + 0.01),
        ("reduce_scatter", 16, "gloo", 15 * (1 / 16 + 0.01)),
        ("broadcast", 4, "gloo", 3 + 0.01),
        ("broadcast", 16, "gloo", 4 * (1 + 0.01)),
        ("all_to_all", 4, "gloo", 3 / 16 + 0.01),
        ("gather", 4, "gloo", 3 / 4 + 0.01),
        ("all_reduce", 1024, "tree", 2 * 10 * 0.01 + 2 * 1023 / 1024),
        ("all_gather", 4, "tree", 2 * 0.01 + 3 / 4),
        ("all_reduce", 1, "tree", 0.0),
    ],
)
def test_a_collective_takes_what_its_turns_take(kind, size, engine, expected):
    cluster = Cluster(Link(MB, 0.01), engine=engine)
    assert cluster.collective(kind, MB, range(size)) == pytest.approx(expected)


def test_ranks_of_a_node_share_its_link():
    cluster = Cluster(Link(MB), inside=Link(100 * MB), ranks_per_node=4, engine="gloo")
    # 4 ranks of a node send an eighth to each of the 4 beyond, twice.
    assert cluster.collective("all_reduce", MB, range(8)) == pytest.approx(2 * 4 * 4 / 8)
    assert cluster.collective("all_reduce", MB, range(4)) == pytest.approx(2 * 3 / 4 / 100)
    tree = Cluster(Link(MB), inside=Link(100 * MB), ranks_per_node=4)
    assert tree.collective("all_reduce", MB, range(8)) == pytest.approx(2 * 3 / 4 / 100 + 2 * 1 / 2)


def test_messages_and_what_a_rank_has_to_do_take_time():
    cluster = Cluster(Link(MB, 0.5), inside=Link(2 * MB), ranks_per_node=2, overhead=0.1, combine=MB, engine="gloo")
    assert cluster.message(MB, 0, 1) == pytest.approx(0.5 + 0.1)
    assert cluster.message(MB, 1, 2) == pytest.approx(1 + 0.5 + 0.1)
    assert cluster.collective("all_reduce", MB, range(2)) == pytest.approx(2 * (0.25 + 0.1) + 1)


@pytest.mark.parametrize(("seconds", "step", "hidden"), [(2.0, 3.0, 1.0), (0.25, 2.0, 0.25), (0.0, 2.0, 0.0)])
def test_communication_hides_behind_what_is_computed_beside_it(seconds, step, hidden):
    found = predict(beside(seconds), Cluster(Link(MB), engine="gloo"), 2)
    assert (found.step, found.hidden) == pytest.approx((step, hidden))
    assert found.communication == pytest.approx(1.0)
    assert found.compute == pytest.approx(1.0 + seconds)
    assert found.bound_by == "compute"


def test_collectives_follow_each_other_on_a_link():
    events = [("begin", n, "all_reduce", MB, "default_pg", None) for n in range(3)] + [("wait", n) for n in range(3)]
    found = predict(schedule(*events), Cluster(Link(MB), engine="gloo"), 2)
    assert found.step == pytest.approx(3.0)
    assert found.bound_by == "communication"


def test_all_wait_for_the_slowest():
    cluster = Cluster(Link(MB), compute=2.0, jitter=0.1)
    found = predict(schedule(("compute", 1.0)), cluster, 1000)
    assert found.step == pytest.approx(2 * (1 + 0.1 * math.sqrt(2 * math.log(1000))))
    assert found.efficiency == 1.0


def test_groups_grow_that_are_said_to():
    groups = {
        "1": {"ranks": [0, 2], "description": "mesh_dp"},
        "2": {"ranks": [0, 1], "description": "mesh_tp"},
    }
    groups |= {"3": {"ranks": [1, 3], "description": "mesh_dp"}, "4": {"ranks": [2, 3], "description": "mesh_tp"}}
    ranks_of = [("1", "2"), ("3", "2"), ("1", "4"), ("3", "4")]
    events = [
        [
            [
                ["begin", 0, "all_reduce", MB, data, None],
                ["wait", 0],
                ["begin", 1, "all_gather", MB, model, None],
                ["wait", 1],
            ]
        ]
        for data, model in ranks_of
    ]
    made = Schedule(1, groups, [each[0] for each in events])
    cluster = Cluster(Link(MB), inside=Link(4 * MB), ranks_per_node=2, engine="tree")
    within = 0.5 / 4  # the gathers: between two ranks of a node
    # Two ranks on two nodes; one of two nodes' links carries both groups' sums, which the closed form counts once.
    assert predict(made, cluster, 4).step == pytest.approx(2 * 1 / 2 + within)
    assert predict(made, cluster, 16, ["mesh_dp"]).step == pytest.approx(2 * 7 / 8 + within)
    with pytest.raises(
        ValueError, match="no group of the schedule is called 'mesh_pp'; there are 1, 2, 3, 4, mesh_dp, mesh_tp"
    ):
        predict(made, cluster, 16, ["mesh_pp"])


def test_messages_come_when_they_were_sent():
    world = {"default_pg": {"ranks": [0, 1], "description": "default_pg"}}
    made = Schedule(
        1,
        world,
        [
            [["compute", 1.0], ["begin", 0, "send", MB, "default_pg", 1], ["compute", 3.0], ["wait", 0]],
            [["begin", 0, "recv", MB, "default_pg", 0], ["wait", 0], ["compute", 0.5]],
        ],
    )
    found = predict(made, Cluster(Link(MB)), 2)
    assert (found.step, found.compute) == (pytest.approx(4.0), pytest.approx(4.0))
    made.ranks[0][2:] = [["wait", 0]]
    assert predict(made, Cluster(Link(MB)), 2).step == pytest.approx(2.5)
    del made.ranks[0][1:]
    with pytest.raises(ValueError, match=r"the ranks \[1\] of the schedule wait for what no other rank begins"):
        predict(made, Cluster(Link(MB)), 2)


def test_numbers_of_ranks_that_cannot_be():
    made = Schedule(1, WORLD, [[], []])
    for size in (0, 3):
        with pytest.raises(ValueError, match=f"2 ranks were recorded: {size} is no multiple of them"):
            predict(made, Cluster(Link(MB)), size)


@pytest.mark.parametrize(
    ("kind", "kinds"),
    [
        ("ddp", {"all_reduce": [2, 2 * 64 * 64 * 4]}),
        # Gathered for forward, and again for backward but for the last; the root has nothing of its own.
        ("fsdp", {"all_gather": [4, 4 * 64 * 64 * 4], "reduce_scatter": [2, 2 * 64 * 64 * 4]}),
    ],
)
@pytest.mark.parametrize("size", [1, 2])
def test_steps_are_recorded_as_they_are(tmp_path, kind, kinds, size):
    path = str(tmp_path / "step.json")
    found = ranks.results("recorded.py", size, kind, path)[0]
    assert found["kinds"] == kinds
    assert all(0.2 <= each < 1.0 for each in found["computed"])  # slept: two layers, two steps
    assert {tuple(each["ranks"]) for each in found["groups"]} == {tuple(range(size))}
    made = Schedule.load(path)
    nothing = predict(made, Cluster(Link(math.inf)), 64 * size)
    assert nothing.step == pytest.approx(max(found["computed"]) / 2, rel=0.2)  # ranks wait for each other
    slow = predict(made, Cluster(Link(1e5)), 64 * size)
    assert slow.communication > slow.step / 2 > nothing.step


def test_messages_are_recorded_on_both_sides(tmp_path):
    found = ranks.results("recorded.py", 2, "messages", str(tmp_path / "step.json"))[0]
    assert found["kinds"] == {"send": [1, 256]}
    made = Schedule.load(str(tmp_path / "step.json"))
    assert predict(made, Cluster(Link(math.inf)), 2).step == pytest.approx(max(found["computed"]) / 2, rel=0.2)


def test_the_command_says_from_where_communication_binds(tmp_path, capsys):
    beside(0.25, 4 * MB).save(str(tmp_path / "step.json"))
    (tmp_path / "cluster.toml").write_text("engine = 'tree'\n[between]\nbandwidth = 4e6\nlatency = 0.05\n")
    arguments = [str(tmp_path / "step.json"), "--cluster", str(tmp_path / "cluster.toml")]
    assert main([*arguments, "--ranks", "1,2,4,8", "--plot", str(tmp_path / "found.svg")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1 x all_reduce, 4.000 MB in a step of a rank"
    assert [line.split()[:2] for line in lines[2:6]] == [
        ["1", "1250.00"], ["2", "2100.00"], ["4", "2700.00"], ["8", "3050.00"]
    ]  # fmt: skip
    assert lines[-1] == "bound by communication from 4 ranks on"
    assert (tmp_path / "found.svg").read_text().count("<polyline") == 4
    assert main([*arguments, "--ranks", "3", "--grow", "nobody"]) == 2
    assert "no group of the schedule is called 'nobody'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("engine = 'fast'\n[between]\nbandwidth = 1.0", 'the engine of a cluster is "gloo" or "tree", not \'fast\''),
        ("[between]\nbandwidth = 0", "a link has a bandwidth above 0"),
        ("[inside]\nbandwidth = 1", "describes no cluster"),
        ("ranks = 3\n[between]\nbandwidth = 1", "describes no cluster"),
    ],
)
def test_clusters_that_are_none(tmp_path, text, problem):
    (tmp_path / "cluster.toml").write_text(text)
    with pytest.raises(ValueError, match=problem):
        Cluster.load(str(tmp_path / "cluster.toml"))


def test_files_that_are_no_schedules(tmp_path):
    (tmp_path / "step.json").write_text("[]")
    with pytest.raises(ValueError, match="is no schedule of the form 1"):
        Schedule.load(str(tmp_path / "step.json"))
