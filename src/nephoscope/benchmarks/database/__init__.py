"""Workloads that drive a database."""
