"""Programs made up step by step, run here and on PyTorch: `python -m fuzz.stateful [--programs 1000] [--seed 0] [--steps 15]`.

A program has a few tensors, some of them views of each other, some sparse, nested or of a class of the program's own. Its steps make
tensors, views, writes in place, sizes and storages that change, exports to NumPy, hooks, gradients, other dtypes; a step may run on
another thread, compiled, under vmap, or give a tangent or a gradient instead of its result. After each step every tensor has to have
PyTorch's sizes, strides, dtype, history and numbers, and an error where PyTorch has one, of its class. Tensors of the program's own
class have to be asked for the same functions.
"""
