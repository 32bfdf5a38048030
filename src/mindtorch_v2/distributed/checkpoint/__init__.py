"""`torch.distributed.checkpoint`: state dictionaries that ranks save and load together, each its pieces.

What some number of ranks saved loads on any other number, and in PyTorch, and what PyTorch saved loads here.
"""

from mindtorch_v2.distributed.checkpoint.api import CheckpointException
from mindtorch_v2.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
from mindtorch_v2.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from mindtorch_v2.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorStorageMetadata,
)
from mindtorch_v2.distributed.checkpoint.planner import (
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
)
from mindtorch_v2.distributed.checkpoint.state_dict_loader import load, load_state_dict
from mindtorch_v2.distributed.checkpoint.state_dict_saver import async_save, save, save_state_dict
from mindtorch_v2.distributed.checkpoint.storage import StorageReader, StorageWriter

__all__ = [
    "BytesStorageMetadata",
    "CheckpointException",
    "ChunkStorageMetadata",
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "FileSystemReader",
    "FileSystemWriter",
    "LoadPlan",
    "LoadPlanner",
    "Metadata",
    "ReadItem",
    "SavePlan",
    "SavePlanner",
    "StorageReader",
    "StorageWriter",
    "TensorStorageMetadata",
    "WriteItem",
    "async_save",
    "load",
    "load_state_dict",
    "save",
    "save_state_dict",
]
