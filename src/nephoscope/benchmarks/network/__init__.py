"""What crosses the network between two machines."""
