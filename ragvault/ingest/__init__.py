"""Indexing: a vault on disk → chunks and vectors in both stores, only what changed read again.

    sync       one run over one vault, step by step; what may be cut off where
    walk       which files are notes; ``ignore`` which names are passed over, ``paths`` how a
               path becomes a note's key and which folder can be a vault
    obsidian   what Obsidian's settings in a vault leave out, and how its daily notes are dated
    plan       what the catalog knows against what the walk found → what has to be done
    read       a file → its bytes → its note (by the ``formats``) → what is written of it
    chunk      a note → its chunks; ``split`` cuts a section that is too long
    write      chunks → words → vectors, both stores, in the order that survives a crash
    watch      each burst of changes in a vault → one call

Comes in: a vault's folder, settings, the ports. Goes out: the stores brought up to date, and an
``IndexReport``. The vault is only ever read.
"""
