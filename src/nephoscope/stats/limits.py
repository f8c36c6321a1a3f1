"""Limits of this package that others print or compare with, without the libraries that compute."""

MIN_CHANGE = 0.05
"""Of the higher level: less is no throttling. Half of the steps of 10 % that must be found."""
