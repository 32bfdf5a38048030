"""`torch.distributed.elastic`: of it there is what programs that are launched use."""
