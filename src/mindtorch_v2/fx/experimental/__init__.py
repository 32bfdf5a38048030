"""Parts of `torch.fx` whose interface PyTorch calls experimental."""

from mindtorch_v2.fx.experimental import _config

__all__ = ["_config"]
