"""Orders of steps: for each rank what it does, one after the other. Each is valid as it stands: ranks wait for what they need."""

from __future__ import annotations

from collections.abc import Sequence

from ._actions import Action
from ._actions import ComputationType as Kind

__all__ = [
    "all_forward_all_backward",
    "interleaved",
    "looped",
    "one_forward_one_backward",
    "overlapped",
    "with_whole_backward",
    "zero_bubble",
]

F, B, I, W = Kind.FORWARD, Kind.FULL_BACKWARD, Kind.BACKWARD_INPUT, Kind.BACKWARD_WEIGHT  # noqa: E741  (the letters that are written)


def one_forward_one_backward(stages: int, stage: int, micro_batches: int) -> list[Action]:
    """As many micro-batches forward as stages follow, then one forward and one backward in turn."""
    ahead = min(micro_batches, stages - stage)
    made = [Action(stage, F, each) for each in range(ahead)]
    for each in range(micro_batches):
        made.append(Action(stage, B, each))
        if each + ahead < micro_batches:
            made.append(Action(stage, F, each + ahead))
    return made


def all_forward_all_backward(stage: int, micro_batches: int) -> list[Action]:
    """All micro-batches forward, then all backward."""
    return [Action(stage, way, each) for way in (F, B) for each in range(micro_batches)]


def looped(ranks: int, rank: int, local: int, micro_batches: int) -> list[Action]:
    """Each stage all micro-batches forward, then in the opposite order backward."""
    stages = [rank + ranks * each for each in range(local)]
    forward = [Action(stage, F, each) for stage in stages for each in range(micro_batches)]
    backward = [Action(stage, B, each) for stage in reversed(stages) for each in reversed(range(micro_batches))]
    return forward + backward


def interleaved(ranks: int, rank: int, local: int, micro_batches: int) -> list[Action]:
    """One forward and one backward in turn, on stages that lie `ranks` apart, in rounds of micro-batches."""
    rounds = max(1, micro_batches // ranks)
    per_round = micro_batches // rounds
    total = local * micro_batches
    warm_up = min(total, (local - 1) * per_round + 2 * (ranks - 1 - rank))

    def place(step: int, kind: Kind) -> Action:
        turn, within = divmod(step, per_round)
        loop = turn % local
        micro_batch = (turn // local) * per_round + within
        stage = rank + ranks * (local - 1 - loop if kind is B else loop)
        return Action(stage, kind, micro_batch)

    made = [place(step, F) for step in range(warm_up)]
    for step in range(warm_up, total):
        made += [place(step, F), place(step - warm_up, B)]
    return made + [place(step, B) for step in range(total - warm_up, total)]


def zero_bubble(owners: Sequence[int], micro_batches: int, ahead: int) -> list[list[Action]]:
    """Steps of all ranks where backward of inputs and of weights are steps of their own, the latter put off to where nothing else is to do.

    They are found by going through the time in which all ranks work, with equally long steps: each takes a backward step of inputs
    if it may, else a forward step, of late stages first, else one of weights (Qi et al., Zero Bubble Pipeline Parallelism, 2023).

    Args:
        owners: the rank of each stage.
        micro_batches: how many there are.
        ahead: how many micro-batches a rank's first stage may have forward that have not come back.
    """
    stages, ranks = len(owners), max(owners) + 1
    local = [[stage for stage in range(stages) if owners[stage] == rank] for rank in range(ranks)]
    done = {kind: [0] * stages for kind in (F, I, W)}  # micro-batches, which go in their order
    made: list[list[Action]] = [[] for _ in range(ranks)]

    def ready(kind: Kind, stage: int, before: dict[Kind, list[int]]) -> bool:
        place = done[kind][stage]
        if place == micro_batches:
            return False
        if kind is F:
            first = local[owners[stage]][0]
            if stage == first and place - done[I][first] >= ahead:
                return False
            return stage == 0 or before[F][stage - 1] > place
        if kind is I:
            return before[F][stage] > place and (stage == stages - 1 or before[I][stage + 1] > place)
        return before[I][stage] > place

    while any(count < micro_batches for count in done[W]):
        before = {kind: list(counts) for kind, counts in done.items()}
        for rank in range(ranks):
            wanted = [(I, stage) for stage in local[rank]]
            wanted += [(F, stage) for stage in reversed(local[rank])]
            wanted += [(W, stage) for stage in reversed(local[rank])]
            for kind, stage in wanted:
                if ready(kind, stage, before):
                    made[rank].append(Action(stage, kind, done[kind][stage]))
                    done[kind][stage] += 1
                    break
    return made


def with_whole_backward(order: Sequence[Action]) -> list[Action]:
    """The steps of a rank where backward of inputs and, directly behind it, of weights of the same micro-batch are one."""
    made: list[Action] = []
    for action in order:
        if made and action.computation_type is W and made[-1] == action._replace(computation_type=I):
            made[-1] = action._replace(computation_type=B)
        else:
            made.append(action)
    return made


def overlapped(order: Sequence[Action]) -> list[Action]:
    """The steps of a rank where a forward step and a whole backward step that follows it directly are one, to be overlapped."""
    made: list[Action] = []
    for action in order:
        before = made[-1] if made else None
        if (
            before is not None
            and (before.computation_type, action.computation_type) == (F, B)
            and before.stage_index != action.stage_index
        ):
            made[-1] = Action(-1, Kind.OVERLAP_F_B, None, (before, action))
        else:
            made.append(action)
    return made
