"""NPU kernels: a file a family."""
