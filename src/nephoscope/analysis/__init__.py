"""Turns stored trials into statistics."""
