"""`torch.utils.data`: datasets, samplers, and the data loader with its worker processes."""

from mindtorch_v2.utils.data.dataloader import (
    DataLoader,
    _DatasetKind,
    default_collate,
    default_convert,
    get_worker_info,
)
from mindtorch_v2.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from mindtorch_v2.utils.data.distributed import DistributedSampler
from mindtorch_v2.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from mindtorch_v2._core.unavailable import unavailable_class as _unavailable_class

IterDataPipe = _unavailable_class("torch.utils.data.IterDataPipe", "write an IterableDataset", (IterableDataset,))
MapDataPipe = _unavailable_class("torch.utils.data.MapDataPipe", "write a Dataset", (Dataset,))

__all__ = [
    "IterDataPipe",
    "MapDataPipe",
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "_DatasetKind",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]
