"""The Dagster side: what the graph declares, what its runs touch, and what it does by itself."""
