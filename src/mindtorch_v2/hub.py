"""`torch.hub`: where downloads go. Fetching programs from repositories is missing."""

import os

from mindtorch_v2._unavailable import unavailable_function

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

_directory: str | None = None

download_url_to_file = unavailable_function("torch.hub.download_url_to_file", "download the file yourself")
help = unavailable_function("torch.hub.help")
list = unavailable_function("torch.hub.list")
load = unavailable_function("torch.hub.load", "install the model's package and import it")
load_state_dict_from_url = unavailable_function(
    "torch.hub.load_state_dict_from_url", "download the file yourself and open it with torch.load"
)


def get_dir():
    """The folder for downloads: `set_dir`'s, else $TORCH_HOME/hub, else $XDG_CACHE_HOME/torch/hub, else ~/.cache."""
    if _directory is not None:
        return _directory
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.join(os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))), "hub")


def set_dir(d):
    """Make `d` the folder for downloads."""
    global _directory
    _directory = os.path.expanduser(d)
