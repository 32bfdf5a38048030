"""`torch.distributed._shard`: tensors of pieces that processes hold, as checkpoints of Megatron and FSDP describe them."""
