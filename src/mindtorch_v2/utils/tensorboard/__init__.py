"""`SummaryWriter` needs a writer of TensorBoard's event files, which is missing."""

raise ImportError(
    "torch.utils.tensorboard is not implemented in mindtorch_v2; the package tensorboardX writes the same files"
)
