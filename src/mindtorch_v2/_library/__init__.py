"""What `torch.library` is made of: schemas from annotations, libraries, operators made of functions, their checks."""
