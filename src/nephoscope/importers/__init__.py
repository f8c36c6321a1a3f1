"""Other people's results -> measurements."""
