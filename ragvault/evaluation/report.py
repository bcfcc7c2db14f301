"""An evaluation as one HTML page: curves, figures, and the questions that went worst.

Self-contained (no script, no request), readable in light and dark. All text of notes and
questions is escaped, and stripped of control characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from ragvault.evaluation.bootstrap import Estimate
from ragvault.evaluation.dataset import Gold
from ragvault.evaluation.document import Evaluation
from ragvault.evaluation.results import (
    ANSWER_MEASURES,
    BLEND,
    RANKING_MEASURES,
    Passage,
    QuestionResult,
)
from ragvault.evaluation.summary import RECALL_DEPTHS, AbstentionSummary, Summary
from ragvault.evaluation.svg import Axis, Series, chart, percent_axis
from ragvault.text import strip_controls

WORST = 15  # questions of each list

_STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1c1c1e;--soft:#6b6b70;--rule:#e3e3e6;--card:#f7f7f8;
--c1:#2563eb;--c2:#c2410c;--c3:#15803d;--c4:#9333ea}
@media (prefers-color-scheme:dark){:root{--bg:#161618;--fg:#ececee;--soft:#9a9aa1;--rule:#333338;
--card:#1f1f22;--c1:#7aa7ff;--c2:#ff9a62;--c3:#5fd38a;--c4:#c99bff}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:64rem;padding:2rem 1.25rem 4rem;background:var(--bg);color:var(--fg);
font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:2.5rem 0 .75rem}
p.sub,.soft{color:var(--soft)}p.sub{margin:.25rem 0 0}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(19rem,1fr));gap:1rem}
figure{margin:0;padding:.75rem;background:var(--card);border-radius:.5rem}
figcaption{font-weight:600;margin-bottom:.25rem}
figure p{margin:.25rem 0 0;font-size:.85rem;color:var(--soft)}
svg{width:100%;height:auto;display:block}svg text{font:12px system-ui,sans-serif;fill:var(--soft)}
.grid{stroke:var(--rule);fill:none}.line{fill:none;stroke-width:2}
.guide{fill:none;stroke-width:1.5;stroke-dasharray:4 4}
.s1{stroke:var(--c1)}.s2{stroke:var(--c2)}.s3{stroke:var(--c3)}.s4{stroke:var(--soft)}
.dot.s1{fill:var(--c1)}.dot.s2{fill:var(--c2)}.dot.s3{fill:var(--c3)}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:right;padding:.3rem .6rem;border-bottom:1px solid var(--rule);white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:0}
td small{color:var(--soft)}
ol.worst{padding:0;list-style:none}
ol.worst>li{padding:.75rem 0;border-top:1px solid var(--rule)}
.q{font-weight:600;overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem .75rem;margin:.35rem 0 0;
font-size:.9rem}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
@media print{body{max-width:none}figure{break-inside:avoid}}
"""

NAMES = {
    "ndcg@10": "nDCG@10",
    "mrr@10": "MRR@10",
    "file_hit@5": "note among the first 5 passages",
    "section_hit@5": "section among the first 5 passages",
    "span_recall@5": "span recall, first 5 passages",
    "span_precision@5": "span precision, first 5 passages",
    "citation_valid": "citations that resolve",
    "citation_accuracy": "citations of the right place",
    "groundedness": "statements that the notes hold",
    "answer_words": "words of the known answer said",
    "blend": "blend",
    "bm25": "words alone",
    "vector": "meaning alone",
}


def page(evaluation: Evaluation) -> str:
    """The whole page as text."""
    setting, summary = evaluation.setting, evaluation.summary
    title = f"{setting.name} on {setting.vault.name}"
    own = [r for r in evaluation.results if not r.question.origin]
    answerable = sum(r.question.answerable for r in own)
    about = (
        f"{setting.vault.notes:,} notes, {setting.vault.chunks:,} passages; "
        f"{answerable:,} questions with an answer, {len(own) - answerable:,} without; "
        f"{setting.model}; 95 % intervals by resampling the questions, seed {setting.seed}."
    )
    body = [
        f"<h1>{_text(title)}</h1>",
        f'<p class="sub">{_text(about)}</p>',
        f'<div class="charts">{"".join(_charts(evaluation))}</div>',
        _figures(summary),
        _refusals(summary),
        *_worst(evaluation.results),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(part for part in body if part)
        + "\n</body></html>\n"
    )


def _text(text: str) -> str:
    """One line; a file name that isn't UTF-8 shows as ?."""
    return escape(" ".join(strip_controls(text).encode("utf-8", "replace").decode().split()))


# --------------------------------------------------------------------------- curves


def _charts(evaluation: Evaluation) -> Iterable[str]:
    summary = evaluation.summary
    if summary.recall_by_k:
        yield _recall_chart(summary)
    judged = summary.own if summary.own.curve else summary.everything
    if judged is not None and judged.curve:
        yield _reliability_chart(judged)
        yield _trade_chart(judged, evaluation.setting.threshold)


def _figure(caption: str, drawing: str, told: str) -> str:
    return (
        f"<figure><figcaption>{_text(caption)}</figcaption>{drawing}<p>{_text(told)}</p></figure>"
    )


def _recall_chart(summary: Summary) -> str:
    styles = ("s1", "s2", "s3")
    series = [
        Series(NAMES[leg], tuple((float(k), value) for k, value in curve), style)
        for (leg, curve), style in zip(summary.recall_by_k.items(), styles, strict=False)
    ]
    lowest = min(value for one in series for _, value in one.points)
    low = max(0.0, int(lowest * 10 - 1) / 10)
    marks = (1, 5, 10, 15, RECALL_DEPTHS[-1])
    x = Axis("first k notes", tuple((float(k), str(k)) for k in marks))
    drawing = chart("Recall by k", x, percent_axis("right notes found", low), series)
    return _figure("Recall by k", drawing, "How many of the right notes are among the first k.")


def _reliability_chart(judged: AbstentionSummary) -> str:
    points = tuple((b.confidence, b.observed) for b in judged.reliability)
    ideal = Series("as it should be", ((0.0, 0.0), (1.0, 1.0)), "s4", dashed=True)
    series = [ideal, Series("observed", points, "s1", dots=True)]
    x = percent_axis("confidence")
    drawing = chart("Reliability", x, percent_axis("answerable"), series)
    gap = judged.largest_gap or 0.0
    told = f"Each dot is a fifth of the questions. Largest distance from the line: {gap:.2f}."
    return _figure("Is the confidence true?", drawing, told)


def _trade_chart(judged: AbstentionSummary, threshold: float) -> str:
    wrong_yes = tuple((t.threshold, t.false_answers or 0.0) for t in judged.curve)
    wrong_no = tuple((t.threshold, t.false_refusals or 0.0) for t in judged.curve)
    series = [
        Series("", ((threshold, 0.0), (threshold, 1.0)), "s4", dashed=True),
        Series("false answers", wrong_yes, "s2"),
        Series("false refusals", wrong_no, "s1"),
    ]
    x = percent_axis("refuse below this confidence")
    drawing = chart("Refusal trade-off", x, percent_axis("of the questions"), series)
    told = f"The dashed line is the threshold in force, {threshold:.2f}."
    return _figure("What a threshold costs", drawing, told)


# --------------------------------------------------------------------------- figures


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells are HTML already."""
    if not rows:
        return ""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{top}</tr>{body}</table></div>'


def _cell(estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} <small>{estimate.low:.3f}–{estimate.high:.3f}</small>"


def _figures(summary: Summary) -> str:
    rows = [
        [NAMES.get(m, m), *(_cell(estimates.get(m)) for estimates in summary.legs.values())]
        for m in RANKING_MEASURES
        if any(m in estimates for estimates in summary.legs.values())
    ]
    parts = [_table(["", *(NAMES[leg] for leg in summary.legs)], rows)]
    for lang, legs in summary.by_lang.items():
        rows = [
            [NAMES.get(m, m), *(_cell(estimates.get(m)) for estimates in legs.values())]
            for m in ("ndcg@10", "recall@8", "section_hit@5")
            if any(m in estimates for estimates in legs.values())
        ]
        parts.append(f"<h3>{_text(lang)}</h3>" + _table(["", *(NAMES[g] for g in legs)], rows))
    table = "".join(parts)
    return f"<h2>Ranking</h2>{table}" if table else ""


def _refusals(summary: Summary) -> str:
    own = summary.own
    rows: list[tuple[str, Estimate | None]] = [
        ("answered without an answer there", own.false_answers),
        *((f"answered off topic, {_text(n)}", e) for n, e in summary.off_topic.items()),
        ("refused though the answer is there", own.false_refusals),
        ("AUROC of the confidence", own.auroc),
        *((NAMES[m], summary.answers[m]) for m in ANSWER_MEASURES if m in summary.answers),
    ]
    shown = [[name, _cell(e), f"{e.n:,}"] for name, e in rows if e is not None]
    table = _table(["", "", "of"], shown)
    return f"<h2>Refusals and answers</h2>{table}" if table else ""


# --------------------------------------------------------------------------- questions


def _worst(results: Sequence[QuestionResult]) -> Iterable[str]:
    ranked = [r for r in results if BLEND in r.legs and r.legs[BLEND].values["ndcg@10"] < 1.0]
    ranked.sort(key=lambda r: (r.legs[BLEND].values["ndcg@10"], -r.confidence, r.question.key))
    yield _list("Worst ranked", ranked, "Questions whose right note ranks too low.")
    results = [r for r in results if r.gated]
    wrong_yes = [r for r in results if r.answered and not r.question.answerable]
    wrong_yes.sort(key=lambda r: (-r.confidence, r.question.key))
    yield _list("Answered without an answer there", wrong_yes, "The surest first.")
    wrong_no = [r for r in results if not r.answered and r.question.answerable]
    wrong_no.sort(key=lambda r: (r.confidence, r.question.key))
    yield _list("Refused though the answer is there", wrong_no, "The least sure first.")


def _list(title: str, results: Sequence[QuestionResult], told: str) -> str:
    if not results:
        return ""
    more = f" {WORST} of {len(results):,}." if len(results) > WORST else ""
    items = "".join(_item(result) for result in results[:WORST])
    return (
        f'<h2>{_text(title)}</h2><p class="soft">{_text(told + more)}</p>'
        f'<ol class="worst">{items}</ol>'
    )


def _item(result: QuestionResult) -> str:
    question = result.question
    rows: list[tuple[str, str]] = []
    if question.answerable:
        rows += [("expected", _gold(gold)) for gold in question.gold[:3]]
        if BLEND in result.legs:
            ranks = result.legs[BLEND].ranks
            rows.append(("at rank", ", ".join(map(str, ranks)) or "not found"))
    rows += [("found", _passage(passage)) for passage in result.found] or [("found", "nothing")]
    if result.gated:
        said = "answered" if result.answered else f"refused: {result.reason}".replace("_", " ")
        rows.append(("decision", f"{said}, confidence {result.confidence:.2f}"))
    cells = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in rows)
    origin = f' <span class="soft">({_text(question.origin)})</span>' if question.origin else ""
    return (
        f'<li><div class="q" dir="auto">{_text(question.text)}{origin}</div><dl>{cells}</dl></li>'
    )


def _gold(gold: Gold) -> str:
    place = gold.file if not gold.heading else f"{gold.file} › {gold.heading}"
    if gold.text:
        return f"{place}: “{gold.text[:200]}”"
    return place


def _passage(passage: Passage) -> str:
    place = " › ".join((passage.rel_path, *passage.heading_path))
    score = f" ({passage.score:.2f})" if passage.score is not None else ""
    return f"{place}{score}: {passage.snippet}"
