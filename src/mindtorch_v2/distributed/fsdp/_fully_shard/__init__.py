"""`fully_shard` and what belongs to it."""
