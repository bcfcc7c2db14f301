"""How well ragvault finds, and how honestly it refuses: a set of questions in, figures out.

In: questions with their gold places, JSON Lines (``dataset``). ``runner`` asks them all as ``ask``
does; ``judging`` holds each ranking and answer against the gold (by ``metrics``), and what a person
read against what is right. Out: an ``Evaluation``, figures with 95 % intervals.
"""
