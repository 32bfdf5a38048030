"""Long runs: mixed work that must leave nothing behind (`soak`), and processes that are killed at any moment (`kills`)."""
