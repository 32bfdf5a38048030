"""Make the wheels: `python -m tools.wheels`, called by `make wheels`. docs/wheels.md says how and why."""
