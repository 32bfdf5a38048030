"""`torch.optim.lr_scheduler`: the learning-rate schedules under their public name."""

from mindtorch_v2.optim._schedules.base import (
    EPOCH_DEPRECATION_WARNING,
    LRScheduler,
    _enable_get_lr_call,
    _format_param,
    _initial_mode,
    _LRScheduler,
    _param_groups_val_list,
    _update_param_group_val,
    _warn_get_lr_called_within_step,
)
from mindtorch_v2.optim._schedules.compose import ChainedScheduler, SequentialLR
from mindtorch_v2.optim._schedules.cycle import CyclicLR, OneCycleLR
from mindtorch_v2.optim._schedules.decay import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from mindtorch_v2.optim._schedules.plateau import ReduceLROnPlateau
from mindtorch_v2.optim.optimizer import Optimizer

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

# What PyTorch's module holds besides, and programs import from it.
_ALSO_HERE = (
    EPOCH_DEPRECATION_WARNING,
    Optimizer,
    _LRScheduler,
    _enable_get_lr_call,
    _format_param,
    _initial_mode,
    _param_groups_val_list,
    _update_param_group_val,
    _warn_get_lr_called_within_step,
)

# Pickles name the public module, as PyTorch's do.
for _class in (_LRScheduler, *(globals()[name] for name in __all__)):
    _class.__module__ = __name__
