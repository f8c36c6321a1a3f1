"""Machines in network namespaces and control groups of this machine."""
