"""`torch.utils.tensorboard`: writes what TensorBoard shows, through the package `tensorboard`.

Importing it raises ModuleNotFoundError where that package is not installed.
"""

import tensorboard  # its absence is to be said in its own name
from tensorboard.summary.writer.record_writer import RecordWriter

from mindtorch_v2.utils.tensorboard.writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
