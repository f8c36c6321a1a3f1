"""The search for the highest sustainable load: which level to measure next, and what the measured levels say."""
