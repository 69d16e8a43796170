"""Writing by a language model: a chunk's graph and summary, a bucket's or the root's draft, an answer."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Generic

from overstory import prompts
from overstory.errors import ConfigurationError, ModelInputError, ModelOutputError, ModelRefusedError
from overstory.ids import fold, normalize_name
from overstory.llm import Gateway, price_of
from overstory.model_checks import check_summary
from overstory.models import Category, ChunkGraph, Mention, Relation, Usage
from overstory.obedience import obeys
from overstory.parsing import FORM_REASONS, AnswerT, parse_answer, strict_schema
from overstory.schemas import ANSWERS, AreaAnswer, ChunkAnswer, GraphAnswer, SummaryAnswer
from overstory.settings import ModelSettings
from overstory.tokens import TokenRuler, estimate_tokens
from overstory.writer import AreaDraft, AreaInput, AreaTask, ChunkInput, ChunkReading, DraftFact, Writer

_TEXTS = (
    "read_chunk",
    "extract_graph",
    "summarize_chunk",
    "chunk_message",
    "write_area",
    "area_message",
    "scope_bucket",
    "scope_root",
    "problems",
)
_FACT_TOKENS = 25
_CATEGORY_TOKENS = 300
_NAME_TOKENS = 150
_NAME_CHARACTERS = 120
_MENTIONS = 40
_RELATIONS = 60
_RESERVE_TOKENS = 700
"""For names, categories and the problems of a last try, beside the inputs."""
_LEAST_INPUT_TOKENS = 256
_CEILING = 1.25
"""What a provider's tokenizer may count beyond our estimate."""
_UNKNOWN = "unknown"

_UNUSABLE = (ModelOutputError, ModelRefusedError, ModelInputError)
"""What a model can't do with one text, while it may well do with others."""


def input_tokens(settings: ModelSettings) -> int:
    """What of the model's window is left for the inputs of an area, or for a chunk."""
    longest = max(estimate_tokens(prompts.text(name)) for name in ("read_chunk", "write_area"))
    return settings.context_tokens - settings.output_tokens - longest - _RESERVE_TOKENS


def check_window(settings: ModelSettings) -> None:
    """Refuse a window that leaves no room to write in.

    Raises:
        ConfigurationError: it names both settings and the least that works.
    """
    if (left := input_tokens(settings)) < _LEAST_INPUT_TOKENS:
        least = settings.context_tokens - left + _LEAST_INPUT_TOKENS
        raise ConfigurationError(
            f"LLM_CONTEXT_TOKENS={settings.context_tokens} leaves no room for texts beside "
            f"LLM_OUTPUT_TOKENS={settings.output_tokens} and the instructions: set it to {least} or more, or lower LLM_OUTPUT_TOKENS."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question(Generic[AnswerT]):
    """What is asked about one chunk."""

    prompt: str
    schema: type[AnswerT]
    model: str
    check: Callable[[AnswerT], Sequence[str]]


class ModelWriter:
    """A `Writer` that asks a model.

    Args:
        settings: which model, and its limits.
        fallback: reads the chunks that the model could not.
        gateway: where calls go; by default one for these settings.
        attempts: proposals for one chunk before the fallback.

    Raises:
        ConfigurationError: the model's window is too small for its answers and instructions.
    """

    def __init__(
        self, settings: ModelSettings, *, fallback: Writer, gateway: Gateway | None = None, attempts: int = 3
    ) -> None:
        check_window(settings)
        self._settings = settings
        self._fallback = fallback
        self._gateway = gateway or Gateway(settings)
        self._attempts = attempts

    @property
    def model(self) -> str:
        return self._settings.model

    @property
    def prompt_version(self) -> str:
        return _prompt_version()

    @property
    def input_tokens(self) -> int:
        return input_tokens(self._settings)

    @property
    def calls_a_chunk(self) -> int:
        return len(self._settings.chunk_models)

    async def read_chunk(self, chunk: ChunkInput) -> ChunkReading:
        """See `Writer.read_chunk`: one call, or two where the settings name a model for summaries."""
        usage = Usage()
        try:
            graph, summary = await self._read(chunk, usage)
        except _UNUSABLE as error:
            return await self._by_rules(chunk, str(error), usage)
        model = self._settings.summarization_model or self.model
        return ChunkReading(graph=_graph(graph, chunk), summary=summary, model=model, usage=usage)

    async def write_area(
        self, task: AreaTask, problems: Sequence[str], usage: Usage, *, again: bool = False
    ) -> AreaDraft:
        """See `Writer.write_area`."""
        answer = await self._gateway.complete(
            _messages("write_area", _area_message(task), problems),
            schema=AreaAnswer,
            usage=usage,
            max_tokens=self._settings.output_tokens,
            again=again,
        )
        return _draft(self._parse(answer, AreaAnswer, self.model))

    def token_ceiling(self, task: AreaTask) -> tuple[int, int]:
        """See `Writer.token_ceiling`: the schema counts as part of the prompt, and the estimate leans high."""
        said = [message["content"] for message in _messages("write_area", _area_message(task), ())]
        schema = json.dumps(strict_schema(AreaAnswer))
        prompt = sum(map(estimate_tokens, [*said, schema, schema]))
        return int(prompt * _CEILING) + _RESERVE_TOKENS, self._settings.output_tokens

    def cost_usd(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """See `Writer.cost_usd`: by the settings, else by litellm's table."""
        price = price_of(self.model, self._settings)
        return None if price is None else price.cost(prompt_tokens, completion_tokens)

    def text_ceiling_usd(self) -> float | None:
        """See `Writer.text_ceiling_usd`: a chunk's calls, each with a full window; an area takes one of them."""
        prices = [price_of(model, self._settings) for model in self._settings.chunk_models]
        window = self._settings.context_tokens, self._settings.output_tokens
        return None if None in prices else sum(price.cost(*window) for price in prices if price)

    def answer(self, prompt: str, *, system_prompt: str | None, usage: Usage) -> AsyncIterator[str]:
        """See `Writer.answer`."""
        messages = [{"role": "user", "content": prompt}]
        if system_prompt:
            messages.insert(0, {"role": "system", "content": system_prompt})
        return self._gateway.stream(messages, usage=usage, max_tokens=self._settings.output_tokens)

    async def _read(self, chunk: ChunkInput, usage: Usage) -> tuple[GraphAnswer | ChunkAnswer, str]:
        if not self._settings.summarization_model:
            both = await self._ask(_question_both(self.model, chunk), chunk, usage)
            return both, both.summary.strip()
        graph = await self._ask(_question_graph(self.model), chunk, usage)
        summary = await self._ask(_question_summary(self._settings.summarization_model, chunk), chunk, usage)
        return graph, summary.summary.strip()

    async def _ask(self, question: _Question[AnswerT], chunk: ChunkInput, usage: Usage) -> AnswerT:
        problems: Sequence[str] = ()
        message = _chunk_message(chunk, input_tokens(self._settings))
        for attempt in range(self._attempts):
            text = await self._gateway.complete(
                _messages(question.prompt, message, problems),
                schema=question.schema,
                usage=usage,
                max_tokens=self._settings.output_tokens,
                model=question.model,
                again=attempt > 0,
            )
            try:
                answer = self._parse(text, question.schema, question.model)
            except ModelOutputError as error:
                problems = (error.reason,)
                continue
            problems = question.check(answer)
            if not problems:
                return answer
        raise ModelOutputError(question.model, "; ".join(problems))

    def _parse(self, text: str, schema: type[AnswerT], model: str) -> AnswerT:
        try:
            return parse_answer(model, text, schema)
        except ModelOutputError as error:
            if error.reason in FORM_REASONS:
                self._gateway.schema_ignored(model)
            raise

    async def _by_rules(self, chunk: ChunkInput, reason: str, usage: Usage) -> ChunkReading:
        reading = await self._fallback.read_chunk(chunk)
        return replace(reading, usage=usage, degraded=reason)


@cache
def _prompt_version() -> str:
    return prompts.version(_TEXTS, *(json.dumps(strict_schema(answer), sort_keys=True) for answer in ANSWERS))


# --- what is asked about a chunk -------------------------------------------------------------------


def _question_both(model: str, chunk: ChunkInput) -> _Question[ChunkAnswer]:
    return _Question(
        prompt="read_chunk",
        schema=ChunkAnswer,
        model=model,
        check=lambda answer: check_summary(answer.summary, chunk.text, _heading(chunk)),
    )


def _question_summary(model: str, chunk: ChunkInput) -> _Question[SummaryAnswer]:
    return _Question(
        prompt="summarize_chunk",
        schema=SummaryAnswer,
        model=model,
        check=lambda answer: check_summary(answer.summary, chunk.text, _heading(chunk)),
    )


def _question_graph(model: str) -> _Question[GraphAnswer]:
    return _Question(prompt="extract_graph", schema=GraphAnswer, model=model, check=lambda _: ())


def _heading(chunk: ChunkInput) -> str:
    """What a summary of the chunk may repeat beside its text."""
    return "\n".join(part for part in (chunk.title, chunk.occurred_at) if part)


# --- messages --------------------------------------------------------------------------------------


def _messages(prompt: str, message: str, problems: Sequence[str]) -> list[dict[str, str]]:
    if problems:
        told = "\n".join(f"- {prompts.one_line(problem)}" for problem in problems)
        message = f"{message}\n\n{prompts.fill('problems', problems=told)}"
    return [{"role": "system", "content": prompts.text(prompt)}, {"role": "user", "content": message}]


def _chunk_message(chunk: ChunkInput, budget_tokens: int) -> str:
    title = prompts.one_line(chunk.title)[:_NAME_CHARACTERS] or _UNKNOWN
    text = chunk.text[: TokenRuler(chunk.text).reach(budget_tokens)]
    return prompts.fill("chunk_message", title=title, date=chunk.occurred_at or _UNKNOWN, text=prompts.unfenced(text))


def _area_message(task: AreaTask) -> str:
    return prompts.fill(
        "area_message",
        scope=prompts.text("scope_root" if task.is_root else "scope_bucket"),
        tokens=str(task.max_tokens),
        facts=str(max(2, task.max_tokens // _FACT_TOKENS)),
        names=_short(", ".join(map(prompts.one_line, task.entities)), _NAME_TOKENS) or _UNKNOWN,
        categories=_categories_line(task.categories) or _UNKNOWN,
        inputs="\n".join(map(_input_line, task.inputs)),
    )


def _categories_line(categories: Sequence[Category]) -> str:
    line = "; ".join(f"{category.name}: {', '.join(category.topics)}" for category in categories)
    return _short(prompts.one_line(line), _CATEGORY_TOKENS)


def _short(line: str, tokens: int) -> str:
    return line[: TokenRuler(line).reach(tokens)]


def _input_line(given: AreaInput) -> str:
    notes = ", ".join([given.occurred_at] * bool(given.occurred_at) + ["superseded"] * given.superseded)
    marked = f"({notes}) " if notes else ""
    return f"[{given.number}] {marked}{prompts.one_line(given.text)}"


# --- answers ---------------------------------------------------------------------------------------


def _draft(answer: AreaAnswer) -> AreaDraft:
    return AreaDraft(
        categories=tuple(Category(name=c.name, topics=tuple(c.topics)) for c in answer.categories),
        facts=tuple(DraftFact(text=f.text, inputs=tuple(f.inputs), superseded=f.superseded) for f in answer.facts),
    )


def _graph(answer: GraphAnswer | ChunkAnswer, chunk: ChunkInput) -> ChunkGraph:
    """The graph without names that the chunk does not say or orders to be named, and relations between the others."""
    said = fold(f"{chunk.text}\n{_heading(chunk)}")
    mentions: dict[str, Mention] = {}
    for entity in answer.entities:
        if (name := _line(entity.name)) and _occurs(name, said) and not obeys(name, [chunk.text]):
            made = Mention(name=name, type=_line(entity.type).casefold(), description=_line(entity.description))
            mentions.setdefault(normalize_name(name), made)
    mentions = dict(list(mentions.items())[:_MENTIONS])
    relations = [
        relation
        for given in answer.relations
        if (relation := _relation(given.source, given.name, given.target, given.text, mentions))
    ]
    distinct = {(r.source, normalize_name(r.name), r.target): r for r in reversed(relations)}
    return ChunkGraph(mentions=tuple(mentions.values()), relations=tuple(reversed(distinct.values()))[:_RELATIONS])


def _relation(source: str, name: str, target: str, text: str, mentions: dict[str, Mention]) -> Relation | None:
    ends = mentions.get(normalize_name(source)), mentions.get(normalize_name(target))
    if ends[0] is None or ends[1] is None or ends[0] is ends[1] or not _line(name):
        return None
    return Relation(source=ends[0].name, name=_line(name), target=ends[1].name, text=_line(text))


def _occurs(name: str, said: str) -> bool:
    """The whole name, or one of its words, stands in the text."""
    wanted = normalize_name(name)
    return wanted in said or any(word in said for word in wanted.split() if len(word) > 2)


def _line(text: str) -> str:
    return " ".join(text.split())[: 4 * _NAME_CHARACTERS]
