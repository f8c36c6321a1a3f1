"""Spare Cores' inspector data and its SQLite database."""
