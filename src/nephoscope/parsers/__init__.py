"""What tools print -> frozen values; pure."""
