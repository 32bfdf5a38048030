"""Parts that pipes share: files and the check of functions."""
