"""Foreign data for tests, no part of this repository: the folder that OVERSTORY_TEST_DATA names.

It holds `odd/` (odd files and what is to become of each), `qa/` (question sets) and `versions/` (document sets through their versions).
"""

import os
from pathlib import Path

DATA = Path(os.environ.get("OVERSTORY_TEST_DATA") or "no folder is named")
REASON = "OVERSTORY_TEST_DATA names no folder with"
