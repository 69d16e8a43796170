"""The steps that flows are made of: each opens what it needs, calls the core, returns ids and counts."""

from . import enrich, extract, plan, publish, read, remove, summarize

__all__ = ["enrich", "extract", "plan", "publish", "read", "remove", "summarize"]
