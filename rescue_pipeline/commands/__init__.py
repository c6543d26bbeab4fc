"""The commands of the command line, by what they are about. Every command parses, calls and prints; what it does lives
elsewhere. Libraries that take long to import are imported by the command that needs them.
"""
