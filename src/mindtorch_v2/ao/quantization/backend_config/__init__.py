"""`torch.ao.quantization.backend_config`: what back ends can quantize."""

from mindtorch_v2.ao.quantization.backend_config import utils, x86
from mindtorch_v2.ao.quantization.backend_config.backend_config import (
    BackendConfig,
    BackendPatternConfig,
    DTypeConfig,
    DTypeWithConstraints,
    ObservationType,
)
from mindtorch_v2.ao.quantization.backend_config.executorch import get_executorch_backend_config
from mindtorch_v2.ao.quantization.backend_config.fbgemm import get_fbgemm_backend_config
from mindtorch_v2.ao.quantization.backend_config.native import (
    get_native_backend_config,
    get_native_backend_config_dict,
)
from mindtorch_v2.ao.quantization.backend_config.onednn import get_onednn_backend_config
from mindtorch_v2.ao.quantization.backend_config.qnnpack import get_qnnpack_backend_config
from mindtorch_v2.ao.quantization.backend_config.tensorrt import (
    get_tensorrt_backend_config,
    get_tensorrt_backend_config_dict,
)

__all__ = [
    "BackendConfig",
    "BackendPatternConfig",
    "DTypeConfig",
    "DTypeWithConstraints",
    "ObservationType",
    "get_executorch_backend_config",
    "get_fbgemm_backend_config",
    "get_native_backend_config",
    "get_native_backend_config_dict",
    "get_onednn_backend_config",
    "get_qnnpack_backend_config",
    "get_tensorrt_backend_config",
    "get_tensorrt_backend_config_dict",
]

# Modules that programs reach through this one.
_REACHED_HERE = (utils, x86)
