"""Benchmarks: they print figures and ratios and assert nothing. `make bench` runs all of them."""
