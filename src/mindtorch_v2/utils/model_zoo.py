"""`torch.utils.model_zoo`: the former place of `torch.hub.load_state_dict_from_url`."""

from mindtorch_v2._core.unavailable import unavailable_class
from mindtorch_v2.hub import load_state_dict_from_url as load_url

try:
    from tqdm import tqdm
except ImportError:
    tqdm = unavailable_class("torch.utils.model_zoo.tqdm", "pip install tqdm")

__all__ = ["load_url", "tqdm"]
