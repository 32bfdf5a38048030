"""Recording and backward: grad modes, custom functions, hooks, the Python face of the native engine."""
