"""Evidence -> verdict."""
