"""Machines over SSH."""
