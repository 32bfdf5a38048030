"""`torch.distributed.elastic.multiprocessing`: how launched processes end."""
