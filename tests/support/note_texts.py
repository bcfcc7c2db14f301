"""Passages as they stand in people's notes, for tests of embedders. Written for these tests."""

from __future__ import annotations

PASSAGES = (
    "Decided with Mara today: the backend stays on PostgreSQL. SQLite was fast enough in the "
    "spike, but we want row level security before the pilot in May.",
    "## Weekly standup\n- Tom: import finished, 41k rows, two duplicates\n- Ines: waiting for the "
    "certificate\n- me: wrote the migration, still untested on staging",
    "Sourdough, third attempt. 450 g flour, 320 g water, 90 g starter, 9 g salt. Bulk 5 h at 24 "
    "degrees, shaped, 14 h in the fridge. Crumb open, crust too dark at 250.",
    "To renew the wildcard certificate run `certbot renew --dns-cloudflare` on the jump host; the "
    "timer died in March because the API token had expired.",
    "Reading notes, 'The Design of Everyday Things': affordance is what an object lets you do, a "
    "signifier is how it tells you. Doors with handles to be pushed are the classic failure.",
    "Dentist moved to Thursday 9:40. Bring the insurance card, ask about the crown on 36.",
    "```python\ndef chunks(rows, size):\n    for start in range(0, len(rows), size):\n"
    "        yield rows[start : start + size]\n```\nBetter than islice here: rows is a list.",
    "Lisbon in October: stay near Graça, tram 28 only before nine. Pastéis at Manteigaria. The "
    "ferry to Cacilhas for sunset, eat at Ponto Final, book a week ahead.",
    "| city | rent | commute |\n|---|---|---|\n| Graz | 780 | 20 min |\n| Linz | 690 | 45 min |",
    "Budget review: hosting went up 18 % after we moved the archive to hot storage. Action: cold "
    "tier for everything older than 90 days, saves about 240 a month.",
    "Grandfather's story about the winter of 1956: the Danube froze over and they walked across "
    "to the other village for the wedding, carrying the cake on a sledge.",
    "Backpropagation is the chain rule with bookkeeping: each node keeps its local derivative, "
    "gradients are multiplied along the path and summed where paths meet.",
    "[[Garden]] tomatoes: San Marzano under cover, sown 2 March, pricked out 20 March. Blight on "
    "the outdoor ones again in August; next year copper early or only resistant varieties.",
    "Password manager export failed because of a comma in a note field. Fixed by quoting, then "
    "imported 312 of 312 entries. Delete the CSV from Downloads!",
    "Meeting with the landlord: new windows in spring, rent stays until 2027, he pays for the "
    "painting if we move the furniture ourselves.",
    "Kubernetes: a pod that is OOMKilled with exit code 137 has hit its memory limit, not the "
    "node's. Raise limits.memory or find the leak with `kubectl top pod --containers`.",
)

QUESTIONS = (
    "What did we decide about the database?",
    "how long does the dough rest in the fridge",
    "When is my dentist appointment?",
    "why did the certificate renewal stop working",
    "What does exit code 137 mean?",
    "places to eat in Lisbon",
)
