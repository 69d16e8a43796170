"""The comparison of benchmarks with their baseline."""

import json

import pytest

from benchmarks.compare import changes


def write(folder, rows, yardstick=1.0):
    folder.mkdir()
    run = {"machine": {"yardstick_cpu_seconds": yardstick}, "rows": rows}
    (folder / "plan.json").write_text(json.dumps(run), encoding="utf-8")
    return folder


def compared(tmp_path, before, now, yardstick=1.0):
    return list(changes(write(tmp_path / "before", before), write(tmp_path / "now", now, yardstick)))


@pytest.mark.parametrize(("seconds", "worse"), [(1.0, False), (1.29, False), (1.31, True), (0.1, False)])
def test_cpu_may_vary_but_not_by_a_third(tmp_path, seconds, worse):
    row = {"what": "plan", "figure": "", "cpu_seconds": 1.0}

    [change] = compared(tmp_path, [row], [row | {"cpu_seconds": seconds}])

    assert (change.ratio, change.worse) == (pytest.approx(seconds), worse)


def test_a_slower_machine_is_no_slower_program(tmp_path):
    row = {"what": "plan", "figure": "", "cpu_seconds": 1.0}

    [change] = compared(tmp_path, [row], [row | {"cpu_seconds": 2.0}], yardstick=2.0)

    assert change.ratio == pytest.approx(1.0)


def test_one_call_more_in_ten_is_worse(tmp_path):
    row = {"what": "index", "figure": "", "count": 10}

    [change] = compared(tmp_path, [row], [row | {"count": 11}])

    assert (change.kind, change.worse) == ("count", True)


def test_rows_that_belong_to_others_are_told_apart_by_them(tmp_path):
    rows = [
        {"what": "recall, 1,000 notes", "figure": "", "cpu_seconds": 1.0},
        {"what": "  with the prelude", "figure": "", "cpu_seconds": 2.0},
        {"what": "recall, 10,000 notes", "figure": "", "cpu_seconds": 3.0},
        {"what": "  with the prelude", "figure": "", "cpu_seconds": 4.0},
    ]

    found = compared(tmp_path, rows, rows)

    assert [(change.what, change.before) for change in found] == [
        ("recall, 1,000 notes", 1.0),
        ("recall, 1,000 notes ›  with the prelude", 2.0),
        ("recall, 10,000 notes", 3.0),
        ("recall, 10,000 notes ›  with the prelude", 4.0),
    ]


def test_wall_seconds_and_rows_without_a_counterpart_are_not_compared(tmp_path):
    row = {"what": "plan", "figure": "3 s", "cpu_seconds": 1.0}

    assert compared(tmp_path, [row], [{"what": "plan", "figure": "9 s"}, {"what": "new", "count": 1}]) == []
