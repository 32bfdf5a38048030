"""transformers' own tests of its families of models, beside the real PyTorch."""
