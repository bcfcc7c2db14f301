"""What is asked, of which time, and where to look.

In: a question's text, the time of day, what the catalog holds. Out: a ``Query``; the filter, the
folders and k of its search.
"""
