"""The server in figures: the explorer over very many summaries, and 32 clients while one of them builds.

python benchmarks/serve.py [--summaries 100000] [--minutes 1] [--clients 32]

`--summaries 0` leaves the explorer out; `--minutes 5 --clients 32` is the run whose limits are in the table.
"""

import argparse
import asyncio
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from large_tree import write_large_tree
from measuring import Table, percentile

from tests.serve.conftest import Process, texts
from tests.serve.webdriver import browsing

OPENED = 200
FIRST_VIEW_SECONDS, NODE_SECONDS, SLOWER, FLAT = 1.0, 0.1, 3.0, 0.05
SAMPLES = 100
BELOW = ".picture > .cell:last-child .under button"
QUESTION = {"query_text": "Who moved the launch of Northstar?", "query_type": "GRAPH_COMPLETION", "only_context": True}
MAP = {"retriever_specific_config": {"include_global_context_index": True}}


def rss_megabytes(pid: int) -> float:
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) / 1024


# --- the explorer ----------------------------------------------------------------------------------


async def nodes_of(http: httpx.AsyncClient, base: str, number: int) -> list[str]:
    """Some nodes of all levels, by walking down at random."""
    chooser, found = random.Random(4), []
    while len(found) < number:
        branch = (await http.get(f"{base}/tree")).json()["tree"]
        while branch["children"] and len(found) < number:
            found.append(branch["id"])
            child = chooser.choice(branch["below"])
            branch = (await http.get(f"{base}/tree", params={"node": child["id"]})).json()["tree"]
        found.append(branch["id"])
    return found[:number]


async def seconds_of(http: httpx.AsyncClient, path: str, **query: Any) -> float:
    begun = time.perf_counter()
    answer = await http.get(path, params=query)
    answer.raise_for_status()
    return time.perf_counter() - begun


async def explore(url: str, dataset: str, table: Table) -> None:
    base = f"/v1/datasets/{dataset}"
    async with httpx.AsyncClient(base_url=url, timeout=60) as http:
        await seconds_of(http, base)
        first = [
            sum(
                [
                    await seconds_of(http, "/v1/datasets"),
                    await seconds_of(http, base),
                    await seconds_of(http, f"{base}/tree", depth=3),
                ]
            )
            for _ in range(5)
        ]
        table.add("all answers of the first view, one after the other", f"{sorted(first)[2] * 1000:.0f} ms")
        nodes = await nodes_of(http, base, OPENED)
        node = [await seconds_of(http, f"{base}/nodes/{key}") for key in nodes]
        tree = [await seconds_of(http, f"{base}/tree", node=key, depth=3) for key in nodes]
        for what, values in ((f"a node, {OPENED} of all levels", node), ("what is below it, three levels", tree)):
            table.add(what, f"{percentile(values, 0.5) * 1000:.1f} ms, p95 {percentile(values, 0.95) * 1000:.1f} ms", f"≤ {NODE_SECONDS * 1000:.0f} ms")  # fmt: skip
        search = [
            await seconds_of(http, f"{base}/search", q=q) for q in ("Marta Silva hull", "note 4711", "permit") * 3
        ]
        table.add("searching", f"{percentile(search, 0.5) * 1000:.0f} ms")


def look(url: str, dataset: str, table: Table) -> None:
    """The same in a real browser, where there is one."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        print("no chromium and chromedriver here: the page itself was not measured")
        return
    with browsing(chromium, driver) as browser:
        shown = []
        for _ in range(3):
            browser.open("about:blank")
            begun = time.perf_counter()
            browser.open(f"{url}/#/{dataset}/tree")
            browser.find(".facts li")
            shown.append(time.perf_counter() - begun)
        table.add("first view in Chromium, until the root can be read", f"{sorted(shown)[1] * 1000:.0f} ms", f"≤ {FIRST_VIEW_SECONDS * 1000:.0f} ms")  # fmt: skip
        for _ in range(30):
            browser.script(f"(document.querySelector({BELOW!r}) ?? document.querySelector('.crumbs a')).click()")
            time.sleep(0.15)
        elements = browser.script("return document.querySelectorAll('*').length")
        heap = browser.script("return performance.memory.usedJSHeapSize / 1e6")
        table.add("after 30 nodes: elements in the page, its heap", f"{elements:,}, {heap:.0f} MB")


# --- many clients ----------------------------------------------------------------------------------


async def many(url: str, keys: list[str], seconds: float, table: Table, pid: int) -> float:
    """All at once for so long; the p95 of recall in seconds."""
    seen: Counter[int] = Counter()
    foreign: list[str] = []
    waits: list[float] = []
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as http:
        for number, key in enumerate(keys):
            await prepare(http, key, number)
        until = time.perf_counter() + seconds
        asking = [client(http, key, n, len(keys), until, seen, foreign, waits) for n, key in enumerate(keys[1:], 1)]
        memory = asyncio.create_task(rss_often(pid, seconds))
        begun = time.perf_counter()
        builds, *_ = await asyncio.gather(building(http, keys[0], until, seen), *asking)
        took = time.perf_counter() - begun
    table.add(f"{len(keys)} clients, one building, {seconds:.0f} s: answers by status", ", ".join(f"{n} × {s}" for s, n in sorted(seen.items())))  # fmt: skip
    table.add("answers of 5xx", str(sum(n for status, n in seen.items() if status >= 500)), "0")
    table.add("datasets of other users that a client got to see", str(len(foreign)), "0")
    table.add("documents taken in and indexed meanwhile", str(builds))
    p50, p95 = percentile(waits, 0.5), percentile(waits, 0.95)
    table.add("recall over HTTP", f"p50 {p50 * 1000:.0f}, p95 {p95 * 1000:.0f} ms", requests=len(waits))
    table.add("requests a second", f"{sum(seen.values()) / took:.0f}")
    tell_memory(await memory, table)
    return p95


async def rss_often(pid: int, seconds: float) -> list[float]:
    """The server's memory, `SAMPLES` times, evenly."""
    found = []
    for _ in range(SAMPLES):
        await asyncio.sleep(seconds / SAMPLES)
        found.append(rss_megabytes(pid))
    return found


def tell_memory(samples: list[float], table: Table) -> None:
    """By fifths of the time: the first one is spent on warming up, growth is from the second to the last."""
    size = len(samples) // 5
    fifths = [median(samples[i * size : (i + 1) * size]) for i in range(5)]
    grown = fifths[-1] / fifths[1] - 1
    table.add("memory of the server by fifths of the time", ", ".join(f"{one:.0f}" for one in fifths) + " MB")
    table.add("its growth from the second fifth to the last", f"{grown * 100:+.1f} %", f"≤ {FLAT * 100:g} %", samples=samples)  # fmt: skip


async def prepare(http: httpx.AsyncClient, key: str, number: int) -> None:
    mark = [{"source": "own.md", "text": f"Client number {number} owns the launch of Northstar {number}."}]
    headers = {"Authorization": f"Bearer {key}"}
    for path, form in (("/v1/remember", {"dataset": f"notes-{number}", "texts": texts(mark)}), ("/v1/improve", {"dataset": f"notes-{number}"})):  # fmt: skip
        (await http.post(path, json=form, headers=headers)).raise_for_status()


async def client(
    http: httpx.AsyncClient,
    key: str,
    number: int,
    clients: int,
    until: float,
    seen: Counter[int],
    foreign: list[str],
    waits: list[float],
) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    while time.perf_counter() < until:
        begun = time.perf_counter()
        answer = await http.post("/v1/recall", json={**QUESTION, **MAP}, headers=headers)
        waits.append(time.perf_counter() - begun)
        listed = await http.get("/v1/datasets", headers=headers)
        others = await http.get(f"/v1/datasets/notes-{(number + 1) % clients}", headers=headers)
        seen.update([answer.status_code, listed.status_code, others.status_code])
        if answer.is_success:
            foreign += [r["result"]["dataset"] for r in answer.json()["results"] if r["result"]["dataset"] != f"notes-{number}"]  # fmt: skip
        foreign += [others.url.path] if others.status_code != 404 else []


async def building(http: httpx.AsyncClient, key: str, until: float, seen: Counter[int]) -> int:
    """Take in one document after the other, each with its build; how many."""
    headers, number = {"Authorization": f"Bearer {key}"}, 0
    while time.perf_counter() < until:
        number += 1
        text = f"Marta Silva measured the hull for the {number}th time. Porto paid {number} euros."
        form = {"dataset": "notes-0", "texts": [{"source": f"more/{number}.md", "text": text}]}
        seen[(await http.post("/v1/remember", json=form, headers=headers)).status_code] += 1
    return number


async def alone(home: Path, seconds: float, clients: int, table: Table) -> float:
    """The library itself under the same: so many askers at once, one of them building, in one process."""
    import overstory

    os.environ["OVERSTORY_HOME"] = str(home)
    until, waits = time.perf_counter() + seconds, []

    async def ask(number: int) -> None:
        while time.perf_counter() < until:
            begun = time.perf_counter()
            await overstory.recall(user=f"client-{number}", **QUESTION, **MAP)  # type: ignore[arg-type]  # options by name
            waits.append(time.perf_counter() - begun)
            await overstory.datasets.status(f"notes-{number}", f"client-{number}")

    async def build() -> None:
        number = 0
        while time.perf_counter() < until:
            number += 1
            await overstory.remember(f"Marta Silva measured it {number} times. It costs {number} euros.", "notes-0", user="client-0")  # fmt: skip

    await asyncio.gather(build(), *[ask(n) for n in range(1, clients)])
    table.add("recall in the library, as many at once, p95", f"{percentile(waits, 0.95) * 1000:.0f} ms", requests=len(waits))  # fmt: skip
    return percentile(waits, 0.95)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--summaries", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--clients", type=int, default=32)
    given = parser.parse_args()
    os.environ["EMBEDDING_MODEL"] = "hashing"
    table = Table("serve")
    with tempfile.TemporaryDirectory(prefix="overstory-bench-") as folder:
        if given.summaries:
            picture(Path(folder), given.summaries, table)
    with tempfile.TemporaryDirectory(prefix="overstory-bench-") as folder:
        crowd(Path(folder), given.clients, 60 * given.minutes, table)
    table.write()


def picture(home: Path, summaries: int, table: Table) -> None:
    os.environ["OVERSTORY_HOME"] = str(home)
    begun = time.perf_counter()
    dataset = asyncio.run(write_large_tree("large", summaries))
    print(f"{summaries:,} summaries written in {time.perf_counter() - begun:.0f} s")
    server = Process(home, "--requests-per-minute", "1000000")
    try:
        asyncio.run(explore(server.url, str(dataset), table))
        look(server.url, str(dataset), table)
    finally:
        server.kill()


def crowd(home: Path, clients: int, seconds: float, table: Table) -> None:
    from overstory.serve.keys import KeyRing

    ring = KeyRing(home / "serve" / "keys.json")
    keys = [ring.add(f"client-{n}") for n in range(clients)]
    server = Process(home, "--require-key", "--requests-per-minute", "1000000")
    try:
        over_http = asyncio.run(many(server.url, keys, seconds, table, server.process.pid))
    finally:
        server.kill()
    in_library = asyncio.run(alone(home, seconds / 2, clients, table))
    table.add("p95 over HTTP, as a multiple of the library's", f"{over_http / in_library:.1f} ×", f"≤ {SLOWER:g} ×")


if __name__ == "__main__":
    main()
