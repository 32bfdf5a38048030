"""Predictions of a training step on a cluster that is described only: its schedule is recorded here, and replayed there.

    with mindtorch_v2.distributed.simulate.record("step.json"):     # in the program, one process or several
        loss = loss_function(model(x), y); loss.backward(); optimizer.step()

    python -m mindtorch_v2.distributed.simulate step.json --cluster cluster.toml --ranks 8,64,1024

docs/scaling.md is the guide.
"""

from mindtorch_v2.distributed.simulate.cluster import Cluster, Link
from mindtorch_v2.distributed.simulate.replay import Prediction, predict
from mindtorch_v2.distributed.simulate.schedule import Schedule, record

__all__ = ["Cluster", "Link", "Prediction", "Schedule", "predict", "record"]
