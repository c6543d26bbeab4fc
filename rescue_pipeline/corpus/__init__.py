"""Reading and checking a corpus: annotations and transcripts in, the tables raw.* out.

What belongs here: finding the files, reading them strictly, refusing what breaks the format, storing the rest in one
transaction, and the quality gate over what was stored. What does not: anything that derives a question or a gold answer
(that is SQL, in dbt_project/models).
"""
