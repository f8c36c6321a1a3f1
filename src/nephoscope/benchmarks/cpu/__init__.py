"""What CPUs compute."""
