"""Rehearsals: a study run by the real controller on machines that do not exist, with numbers that a program draws."""
