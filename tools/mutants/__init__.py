"""Planted faults, and whether the tests catch them: `python -m tools.mutants --help`."""
