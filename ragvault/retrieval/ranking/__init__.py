"""The order of the candidates, and which of them are kept. Pure, but for the reranker.

In: candidates with their raw scores. Out: hits, every one with its rank, the terms that its score
is the sum of (by ``blend``, then ``rerank``), and what dropped it (by ``pick``).
"""
