"""The means that passes are written with."""
