"""Rows as tables of the page."""
