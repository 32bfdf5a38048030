"""Passes that hold for every dialect whose operators write to nothing."""
