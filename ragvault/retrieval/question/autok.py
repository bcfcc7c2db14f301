"""How many hits an answer is made from (notes-engine-rag.md, "Automatic K Selection")."""

from __future__ import annotations

from ragvault.config.settings import RetrievalSettings
from ragvault.model import Breadth, Detail, Query, Request

K_MIN = 3

_BY_DETAIL = {Detail.BRIEF: -2, Detail.NORMAL: 0, Detail.DETAILED: 2}
_BY_BREADTH = {Breadth.NARROW: -1, Breadth.NORMAL: 0, Breadth.BROAD: 2}


def choose_k(request: Request, query: Query, settings: RetrievalSettings) -> int:
    """``k_default``, moved by the detail asked for, the question's breadth and named folders.

    An explicit ``request.k`` wins. Either way within ``K_MIN`` (``k_default``, if that is
    lower) and ``k_max``.
    """
    wanted = request.k
    if wanted is None:
        wanted = settings.k_default + _BY_DETAIL[request.detail] + _BY_BREADTH[query.breadth]
        wanted -= bool(request.folders)
    return max(min(K_MIN, settings.k_default), min(wanted, settings.k_max))
