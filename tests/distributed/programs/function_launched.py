"""Start a function in two processes, and a command: function_launched.py. Prints JSON."""

import json
import os
import sys

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist
from mindtorch_v2.distributed.launcher.api import ChildFailedError, LaunchConfig, elastic_launch


def total(base):
    dist.init_process_group("gloo")
    tensor = torch.full((2,), base + dist.get_rank())
    dist.all_reduce(tensor)
    dist.destroy_process_group()
    return {
        "total": tensor.tolist(),
        "local": os.environ["LOCAL_RANK"],
        "restarts": os.environ["TORCHELASTIC_RESTART_COUNT"],
    }


def fail_at_first(number):
    if os.environ["RANK"] == "1" and int(os.environ["TORCHELASTIC_RESTART_COUNT"]) < number:
        raise ValueError("not yet")
    return os.environ["RANK"]


def config(restarts=0, method="spawn"):
    return LaunchConfig(
        1, 1, 2, rdzv_backend="c10d", rdzv_endpoint="localhost:0", max_restarts=restarts, start_method=method
    )


def main():
    found = {method: elastic_launch(config(method=method), total)(10.0) for method in ("spawn", "fork")}
    found["restarted"] = elastic_launch(config(restarts=1), fail_at_first)(1)
    try:
        elastic_launch(config(), fail_at_first)(1)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        found["failed"] = [rank, "not yet" in failure.message]
    command = "import os, sys; sys.exit(int(os.environ['WORLD_SIZE']) - 2)"
    found["command"] = elastic_launch(config(), sys.executable)("-c", command)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
