"""What an operator says about itself: its schema."""
