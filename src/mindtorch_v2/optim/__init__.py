"""`torch.optim`: optimizers, learning-rate schedules, weight averaging."""

from mindtorch_v2.optim import lr_scheduler, swa_utils
from mindtorch_v2.optim.adadelta import Adadelta
from mindtorch_v2.optim.adafactor import Adafactor
from mindtorch_v2.optim.adagrad import Adagrad
from mindtorch_v2.optim.adam import Adam
from mindtorch_v2.optim.adamax import Adamax
from mindtorch_v2.optim.adamw import AdamW
from mindtorch_v2.optim.asgd import ASGD
from mindtorch_v2.optim.lbfgs import LBFGS
from mindtorch_v2.optim.muon import Muon
from mindtorch_v2.optim.nadam import NAdam
from mindtorch_v2.optim.optimizer import Optimizer
from mindtorch_v2.optim.radam import RAdam
from mindtorch_v2.optim.rmsprop import RMSprop
from mindtorch_v2.optim.rprop import Rprop
from mindtorch_v2.optim.sgd import SGD
from mindtorch_v2.optim.sparse_adam import SparseAdam

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
]
