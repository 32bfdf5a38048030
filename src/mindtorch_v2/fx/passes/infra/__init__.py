"""The parts that passes are made of."""
