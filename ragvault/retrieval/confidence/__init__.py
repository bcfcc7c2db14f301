"""Whether what was found is evidence to answer from.

In: ``Findings``. Out: a ``Judgement``: evidence or an abstention, the confidence, and what that is
made from. Nothing is judged twice: ``--debug`` and evaluations read it from the ``Retrieval``.

    features     what was found, reduced to a few numbers; the closer look at the best hits
    calibration  the logistics that turn them into a confidence, one set for each model
    gate         the decision, with its caveats
"""
