"""The only package that knows file names in a results folder."""
