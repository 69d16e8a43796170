"""What users do, as compositions of steps: one file a verb.

Beside the verbs: `batches`, which `index` and `remember` share, and `deployed`, the verbs as Prefect's forms show them.
"""

from . import batches, forget, improve, index, remember

__all__ = ["batches", "forget", "improve", "index", "remember"]
