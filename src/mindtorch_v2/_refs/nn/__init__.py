"""`torch._refs.nn`."""
