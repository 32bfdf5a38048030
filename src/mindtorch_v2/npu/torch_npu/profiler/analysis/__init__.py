"""Tables that are made of a profile's record, and names around them, by the modules that programs take them from."""
