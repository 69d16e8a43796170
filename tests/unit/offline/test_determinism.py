import os
import subprocess
import sys

SCRIPT = """
from overstory.offline.areas import extractive_area
from overstory.offline.hashing import HashingEmbedder
from overstory.offline.writer import read_text
from overstory.writer import AreaInput, AreaTask
from overstory import ids

texts = [
    "Anna Hofer leads the Northstar project of Delta Freight Ltd. in Vienna. On 3 May she moved the launch to 9 June.",
    "Die Stadt Graz baut eine Brücke über den Fluss. Das Museum am Hafen öffnet im Mai. Luis Ortega kommt auch.",
    "图书馆每天早上九点开门。图书馆的管理员是林小梅。 この駅は一九二六年に開業しました。 駅長の佐藤さん。",
    "The gate, the port, the pier and the ferry were painted. The board approved a plan, a budget and a map.",
]
readings = [read_text(text) for text in texts]
children = [ids.make_id(n) for n in range(len(texts))]
inputs = tuple(
    AreaInput(number=n + 1, key=str(n), text=r.summary, child_id=children[n], summary_ids=(children[n],))
    for n, r in enumerate(readings)
)
draft = extractive_area(AreaTask(is_root=False, level=0, inputs=inputs, max_tokens=300))
vectors = HashingEmbedder().embed_now(texts)
print(ascii((readings, draft)), vectors.round(5).tobytes().hex())
"""


def output_with_hash_seed(seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_the_output_is_the_same_in_every_process() -> None:
    assert output_with_hash_seed("1") == output_with_hash_seed("2")
