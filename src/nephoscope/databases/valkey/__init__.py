"""Valkey and Redis."""
