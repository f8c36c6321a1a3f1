"""Tables of the page."""
