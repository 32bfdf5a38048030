"""What is made of a profile's record, and the names around it, by the modules that programs take them from."""
