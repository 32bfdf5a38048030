"""The parts of `torch.library`: schemas from annotations, libraries, operators made of functions, their checks."""
