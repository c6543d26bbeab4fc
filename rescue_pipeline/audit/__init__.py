"""The leak audit: can the gold be guessed from anything but what a question is meant to show?

Requests are taken apart here without the code that made them; `docs/audit.md` says what is checked and what is not.
Nothing here asks a model, and no finding holds a word of a session.
"""
