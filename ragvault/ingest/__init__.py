"""Indexing: a vault on disk → chunks and vectors in both stores, only what changed read again.

In: a vault's folder, settings, the ports. Out: the stores brought up to date, and an
``IndexReport``. The vault is only ever read. A run is ``sync``: it has ``walk`` find the notes,
``plan`` tell what changed, ``read`` and ``chunk`` take it apart, ``write`` store it.
"""
