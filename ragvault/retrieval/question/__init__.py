"""What is asked, of which time, and where to look.

In: a question's text (a follow-up is made whole by ``followup``), the time of day, what the catalog
holds. Out: a ``Query``, by ``query``; the filter, k and folders of its search, by ``scope`` and
``folders``.
"""
