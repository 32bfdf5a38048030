"""Programs as graphs of operators: joint graphs of forward and backward, their parts, memory used again, and what is checked."""
