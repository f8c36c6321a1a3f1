"""What machines, storage and transfer cost: quotes and prices everything."""
