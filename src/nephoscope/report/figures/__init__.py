"""Charts, and the figures that sections consist of."""
