"""Systems whose primary is killed again and again, for bench.failover."""
