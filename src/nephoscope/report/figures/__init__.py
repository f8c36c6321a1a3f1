"""Charts, and the figures that sections are made of."""
