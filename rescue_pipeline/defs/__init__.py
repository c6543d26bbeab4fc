"""The Dagster side: thin assets that read, call, write and report. Rules and arithmetic live in the other packages."""
