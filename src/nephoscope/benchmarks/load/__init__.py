"""Everything that drives nephoscope-load: its specification, its output, several of it at once."""
