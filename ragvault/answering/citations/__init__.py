"""Citations: from what a model writes to links that hold.

In: a draft, a few characters at a time, and the hits of its prompt. Out: what may be shown of it,
sentence by sentence, each citation resolved to a chunk and written in one style. ``stream`` runs
``sentences``, ``parse`` and ``render``.
"""
