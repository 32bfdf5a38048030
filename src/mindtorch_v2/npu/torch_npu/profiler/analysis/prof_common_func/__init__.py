"""Words, folders and messages of the profiler."""
