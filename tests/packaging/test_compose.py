"""What `deployments/compose.yaml` hands to the worker. Docker itself is not needed."""

from pathlib import Path

import yaml

FILE = yaml.safe_load((Path(__file__).parents[2] / "deployments" / "compose.yaml").read_text(encoding="utf-8"))
PINNED = {"PREFECT_API_URL", "DO_NOT_TRACK", "OVERSTORY_CODE", "OVERSTORY_HOME", "OVERSTORY_STORE_URL"}


def test_every_setting_of_the_env_file_reaches_the_worker():
    for name in ("setup", "worker"):
        service = FILE["services"][name]

        assert service["env_file"] == [{"path": ".env", "required": False}]
        assert set(service["environment"]) == PINNED, "what stands here wins over .env"


def test_places_are_those_of_the_container():
    settings = FILE["services"]["worker"]["environment"]

    assert (settings["OVERSTORY_CODE"], settings["OVERSTORY_HOME"]) == ("/app", "/data")
    assert "data:/data" in FILE["services"]["worker"]["volumes"]
