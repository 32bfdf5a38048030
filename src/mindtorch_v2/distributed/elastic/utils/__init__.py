"""`torch.distributed.elastic.utils`: loggers of programs that are launched."""
