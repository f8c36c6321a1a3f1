"""What machines cost: quotes and prices everything."""
