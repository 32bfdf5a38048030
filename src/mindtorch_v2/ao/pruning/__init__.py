"""`torch.ao.pruning`: weights with zeros, that masks put there during training."""

from mindtorch_v2.ao.pruning._mappings import (
    get_dynamic_sparse_quantized_mapping,
    get_static_sparse_quantized_mapping,
)
from mindtorch_v2.ao.pruning.scheduler.base_scheduler import BaseScheduler
from mindtorch_v2.ao.pruning.scheduler.cubic_scheduler import CubicSL
from mindtorch_v2.ao.pruning.scheduler.lambda_scheduler import LambdaSL
from mindtorch_v2.ao.pruning.sparsifier.base_sparsifier import BaseSparsifier
from mindtorch_v2.ao.pruning.sparsifier.nearly_diagonal_sparsifier import NearlyDiagonalSparsifier
from mindtorch_v2.ao.pruning.sparsifier.utils import (
    FakeSparsity,
    fqn_to_module,
    get_arg_info_from_tensor_fqn,
    module_to_fqn,
)
from mindtorch_v2.ao.pruning.sparsifier.weight_norm_sparsifier import WeightNormSparsifier

__all__ = [
    "BaseScheduler",
    "BaseSparsifier",
    "CubicSL",
    "FakeSparsity",
    "LambdaSL",
    "NearlyDiagonalSparsifier",
    "WeightNormSparsifier",
    "fqn_to_module",
    "get_arg_info_from_tensor_fqn",
    "get_dynamic_sparse_quantized_mapping",
    "get_static_sparse_quantized_mapping",
    "module_to_fqn",
]
