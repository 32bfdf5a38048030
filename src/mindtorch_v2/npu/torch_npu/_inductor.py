"""The place of torch_npu's kernels for `torch.compile`, of which there are none: graphs on NPUs are those of GE (`torchair`)."""
