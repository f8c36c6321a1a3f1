"""Stored trials -> statistics."""
