"""Steps that ranks take together and fail together: agreed.py STORE RANK SIZE. Prints what came of them, as JSON."""

import json
import sys

import torch.distributed as dist
from torch.distributed.collective_utils import all_gather, all_gather_object_enforce_type, broadcast

RANK, SIZE = int(sys.argv[2]), int(sys.argv[3])
dist.init_process_group("gloo", store=dist.FileStore(sys.argv[1], SIZE), rank=RANK, world_size=SIZE)
group = dist.group.WORLD


def fail(error):
    raise error


def text_of(step):
    try:
        return step()
    except (RuntimeError, TypeError) as error:
        return str(error)


found = {
    "broadcast": broadcast(lambda: {"rank": RANK}, rank=1, pg=group),
    "all_gather": all_gather(10 * RANK, pg=group),
    "failed": text_of(lambda: broadcast(lambda: fail(OSError("no file")), stage_name="read", pg=group)),
    "gathered": text_of(lambda: all_gather(lambda: fail(TypeError("not of this type")) if RANK else 1, pg=group)),
    "types": text_of(lambda: all_gather_object_enforce_type(group, [None] * SIZE, "text" if RANK else 3)),
    "stages": text_of(lambda: all_gather(1, stage_name=f"stage {RANK}", pg=group)),
}
dist.destroy_process_group()
print(json.dumps(found))
