"""`torch._export`: parts of exporting that programs import by these names."""
