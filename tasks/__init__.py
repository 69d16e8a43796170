"""The steps that flows are made of: each opens what it needs, calls the core, returns ids and counts."""

from . import background, enrich, extract, plan, policies, publish, read, remove, report, summarize

__all__ = ["background", "enrich", "extract", "plan", "policies", "publish", "read", "remove", "report", "summarize"]
