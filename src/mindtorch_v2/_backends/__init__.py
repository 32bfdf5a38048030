"""Back ends: a device type each. They are loaded when their device is first asked for."""
