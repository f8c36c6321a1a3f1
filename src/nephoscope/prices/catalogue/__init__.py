"""Machine types that clouds sell today, as data: facts in `types.parquet`, prices by region in `prices.parquet`.

`types.csv` has a line for each type, for people and for diffs. `scripts/catalogue` writes all three. Nothing here is
read before somebody asks for a type that the price book lacks.
"""
