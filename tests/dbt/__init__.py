"""The SQL project, run by the real dbt on a real DuckDB file."""
