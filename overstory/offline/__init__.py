"""What works without any model service: a writer by rules, and two embedders on this machine."""

from overstory.offline.answers import extract_answer
from overstory.offline.areas import extractive_area
from overstory.offline.hashing import HashingEmbedder
from overstory.offline.minilm import MiniLmEmbedder, local_embedder_available
from overstory.offline.writer import OfflineWriter, read_text

__all__ = [
    "HashingEmbedder",
    "MiniLmEmbedder",
    "OfflineWriter",
    "extract_answer",
    "extractive_area",
    "local_embedder_available",
    "read_text",
]
