"""A file that says when and what is profiled, watched by one process of a machine for all."""
