"""Error rates and powers of the questions of a leaderboard, by simulation: `python -m bench.simulations`."""
