"""Kills and damaged inputs, by seed, whose counts add up over runs."""
