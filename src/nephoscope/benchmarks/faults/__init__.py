"""Faults that a benchmark inflicts on the servers that it measures, and what they cost the clients."""
