"""Back ends of `torch.compile`: callables that get a graph and example inputs, and give what runs in its place."""
