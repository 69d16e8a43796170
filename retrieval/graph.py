"""GRAPH_COMPLETION: the connections nearest to the question, with the prelude before them when it is asked for."""

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from overstory.results import Evidence
from overstory.telemetry import Kind, step
from overstory.tokens import estimate_tokens

from .adaptive import fit_adaptive
from .context import fit_fragment, join
from .evidence import areas_of, passages_of, texts_of, triplets_of
from .fragment import Fragment, cut
from .prelude import Prelude, fit_beside, read_prelude
from .projections import Material, matching, neighborhood, node_set
from .question import ADAPTIVE
from .relevance import has_to_do_with
from .scene import Findings, Scene
from .waves import wave


async def graph_completion(scene: Scene) -> Findings:
    async with wave() as group:
        local = group.create_task(find_fragment(scene))
        before = group.create_task(read_prelude(scene))
    prelude, fit, budget = before.result(), partial(fit_fragment, local.result()), scene.question.context_token_budget
    if prelude.available and scene.question.index_mode == ADAPTIVE:
        distances = local.result().distances
        (fragment, text), prelude = await fit_adaptive(scene, prelude, fit, _shown, distances)
    else:
        (fragment, text), prelude = fit_beside(prelude, fit, budget)
    context = join(prelude.text, text)
    return Findings(context=context, evidence=await _evidence(scene, fragment, prelude, context))


def _shown(fragment: Fragment) -> set[UUID]:
    return {node.id for node in fragment.nodes}


async def local_findings(scene: Scene, fragment: Fragment, notes: Sequence[str]) -> Findings:
    """A fragment as the context of an answer, nothing of the index before it."""
    kept, text = fit_fragment(fragment, scene.question.context_token_budget)
    prelude = Prelude(notes=tuple(notes) if text else ())
    return Findings(context=text, evidence=await _evidence(scene, kept, prelude, text))


async def find_fragment(scene: Scene) -> Fragment:
    """The best connections of a question, nothing of the index among them."""
    question = scene.question
    return await cut(await find_material(scene), question.top_k, question.feedback_influence)


@step(Kind.RECALL, "find")
async def find_material(scene: Scene) -> Material:
    """What the question's projection holds; nothing when that has nothing to do with it."""
    material = await _project(scene)
    distances = (material.distances[node.id] for node in material.nodes if node.id in material.distances)
    return material if await has_to_do_with(scene, distances) else Material()


async def _project(scene: Scene) -> Material:
    question, tenant, vector = scene.question, scene.tenant, await scene.vector.get()
    limit = question.wide_search_top_k
    if question.node_names:
        return await node_set(tenant, vector, question.node_names, question.every_node_name, limit)
    found = await matching(tenant, vector, limit)
    if question.neighborhood_depth is None or limit is None:
        return found
    return await neighborhood(tenant, vector, found, question.neighborhood_depth)


@step(Kind.RECALL, "gather evidence")
async def _evidence(scene: Scene, fragment: Fragment, prelude: Prelude, context: str) -> Evidence:
    async with wave() as group:
        passages = group.create_task(passages_of(scene.tenant, texts_of(fragment)))
        areas = group.create_task(areas_of(scene.tenant, prelude))
    root, chosen = areas.result()
    return Evidence(
        triplets=triplets_of(fragment),
        passages=passages.result(),
        root=root,
        areas=chosen,
        prelude_tokens=estimate_tokens(prelude.text),
        context_tokens=estimate_tokens(context),
        notes=prelude.notes,
    )
