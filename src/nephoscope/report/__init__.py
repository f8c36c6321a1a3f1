"""Statistics and sentences -> HTML, CSV, Parquet; computes nothing."""
