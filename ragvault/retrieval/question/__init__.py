"""What is asked, of which time, and where to look.

In: a question's text, the time of day, what the catalog holds. Out: a ``Query``; the filter, the
folders and k of its search.

    query           words, terms, intent, breadth: the text as the search needs it
    wordlists       the words that it knows
    subject         the question less what only frames it ("what did I write about …")
    timehints       a time in a question, and the value of --since and --until
    timepatterns    the phrases for times, and the days that each means
    tasks           whether it asks for tasks: which, of when, about what
    scope           vaults, tags and folders that the user named; k
    folders         the folders that a question points at, and what each place weighs
"""
