"""Operators that no function or method of Python has, a file a family: programs find them as `torch.ops.aten.NAME`, and their rows
are read when the first is asked for."""
