"""os.walk + stat of every file of a folder, and nothing else.

    walk_stat.py FOLDER [MODULE …]

With modules it imports them first: what an indexing command can't do without.
"""

import importlib
import os
import sys

for module in sys.argv[2:]:
    importlib.import_module(module)
total = 0
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        total += os.stat(os.path.join(folder, name)).st_size  # noqa: PTH116, PTH118
print(total)
