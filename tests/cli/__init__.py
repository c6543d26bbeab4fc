"""The command line, as its users type it."""
