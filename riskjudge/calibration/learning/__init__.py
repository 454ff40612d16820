"""What a few labels teach about where to test: error curves, an order, a start."""
