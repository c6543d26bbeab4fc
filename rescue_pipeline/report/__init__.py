"""What people read: the published database, report.html, report.md and the CSV tables.

Every figure here was computed earlier and is read from results.duckdb; this package chooses, words and prints.
No metric is computed and no session text is printed.
"""
