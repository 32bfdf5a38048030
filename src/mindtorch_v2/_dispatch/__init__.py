"""The facts that an operator says about itself: its schema."""
