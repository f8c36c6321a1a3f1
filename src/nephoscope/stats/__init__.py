"""Numbers -> numbers; pure."""
