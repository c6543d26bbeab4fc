"""Reading and checking a corpus."""
