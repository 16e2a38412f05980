"""What is concluded from measured times."""

from __future__ import annotations

import doctest
import random

import pytest

import compare
import goals
import instructions
from harness import machine, results
from harness.results import Measurement, load, median_interval, roof_seconds, save
from harness.table import goals_table
from rows import roof


@pytest.mark.parametrize("module", [compare, instructions, machine, results, roof])
def test_examples_in_docstrings_hold(module):
    tried = doctest.testmod(module)
    assert tried.attempted > 0
    assert tried.failed == 0


def line(ours, peers, **options):
    return Measurement(
        **{
            "work": "search",
            "goal": 2.0,
            "unit": "s",
            "seconds": {"fastrecall": ours, **peers},
            **options,
        }
    )


def row(*measurements, name="exact19k", **options):
    return {
        "row": name,
        "quick": False,
        "provenance": {
            "date": "2026-01-01T00:00:00+00:00",
            "cpu": "CPU",
            "cores": 2,
            "isa": "scalar",
            "build": {"compiler": "gcc"},
            "versions": {"numpy": "2.0", "scann": "absent"},
            "commit": "0123456789abcdef",
            "changed_files": 0,
        },
        "surroundings": {"others_share": 0.0},
        "absent": {"scann": "not installed"},
        "measurements": list(measurements),
        **options,
    }


def test_interval_holds_the_true_median_as_often_as_it_says():
    dice = random.Random(1)
    inside = 0
    for _ in range(2000):
        _, low, high = median_interval([dice.expovariate(1.0) for _ in range(9)])
        inside += low <= 0.6931 <= high  # ln 2
    assert inside / 2000 >= 0.95


@pytest.mark.parametrize(("count", "left_out"), [(1, 0), (5, 0), (8, 0), (9, 1), (12, 2), (20, 5)])
def test_interval_leaves_out_as_many_extremes_as_the_binomial_lets_it(count, left_out):
    values = [float(i) for i in range(count)]
    assert median_interval(values)[1:] == (left_out, count - 1 - left_out)


def test_ratios_are_taken_within_a_round_against_the_fastest_right_peer():
    one = line(
        [1.0, 2.0],
        {"slow": [9.0, 9.0], "fast": [3.0, 8.0], "wrong": [0.1, 0.1]},
        recall={"wrong": 0.9, "fastrecall": 1.0},
        enough=1.0,
    )
    assert one.best_peer == "fast"
    assert one.ratios() == [3.0, 4.0]
    assert one.verdict() == "yes"


def test_our_own_other_path_is_no_peer():
    one = line([1.0], {"fastrecall float32": [0.5], "numpy": [3.0]})
    assert one.best_peer == "numpy"


def test_wrong_answers_meet_no_goal():
    one = line([1.0], {"numpy": [9.0]}, recall={"fastrecall": 0.99}, enough=1.0)
    assert one.verdict() == "no: wrong answers"


def test_a_goal_inside_the_interval_is_left_open():
    assert line([1.0, 1.0], {"numpy": [1.9, 2.1]}).verdict() == "within noise"
    assert line([1.0, 1.0], {"numpy": [1.8, 1.9]}).verdict() == "no"
    assert line([1.0], {}).verdict() == "not measured"


def test_parts_of_one_work_add_up():
    one = line([1.0, 3.0], {"faiss": [4.0, 4.0], "usearch": [1.0, 8.0]}, whole=True)
    assert one.best_peer == "faiss"
    assert one.interval() == (2.0, 4.0 / 3.0, 4.0)


def test_a_cap_is_met_from_below():
    cap = {"kind": "at most", "goal": 2.0, "seconds": {}}
    assert line([], {}, **cap, values=[1.0, 1.9]).verdict() == "yes"
    assert line([], {}, **cap, values=[1.9, 2.1]).verdict() == "within noise"


def test_files_come_back_as_they_were(tmp_path):
    one = line([1.0], {"numpy": [3.0]}, recall={"numpy": 1.0}, bound={"int8": 2e9})
    save(tmp_path / "exact19k.json", row(one))
    (tmp_path / "instructions.json").write_text('{"GNU 12": {"search": 1}}')
    rows = load(tmp_path)
    assert list(rows) == ["exact19k"]
    assert rows["exact19k"]["measurements"] == [one]


def test_bound_is_the_slower_of_computing_and_reading():
    measured = {"int8": {"2": 1000.0}, "read 1024 MiB": {"2": 10.0}, "read 16 MiB": {"2": 50.0}}
    one = line([1.0], {}, threads=2, bound={"int8": 2e12, "bytes": 1e9})
    assert roof_seconds(one, measured) == pytest.approx(2.0)
    small = line([1.0], {}, threads=2, bound={"bytes": 1e7})
    assert roof_seconds(small, measured) == pytest.approx(1e7 / 50e9)
    assert roof_seconds(line([1.0], {}), measured) is None


def test_kernels_are_held_to_the_roof_of_their_own_instruction_set():
    lines = [
        "roof int8\tavx512vnni\t1\t400\tGop/s",
        "roof int8\tavx2\t1\t200\tGop/s",
        "roof int8\tavx512vnni\t2\t800\tGop/s",
        "screen\tavx2\t1\t100\tGop/s",
        "screen\tscalar\t1\t1\tGop/s",
    ]
    found = roof.parse("\n".join(lines))
    assert found["roof"] == {"int8": {"1": 400.0, "2": 800.0}}
    assert [one["share"] for one in found["kernels"]] == [0.5, None]


def test_table_tells_what_spoils_a_result():
    busy = {"surroundings": {"others_share": 0.5}, "quick": True}
    table = goals_table({"exact19k": row(line([1.0], {"numpy": [3.0]}), **busy)})
    assert "| search | 1 | numpy | 3 s | 1 s | 3.00 (3.00–3.00) | ≥ 2 | yes |" in table
    assert "exact19k (50%)" in table
    assert "try only: exact19k" in table
    assert "Absent: scann, not installed." in table


def test_tables_go_between_their_marks_and_nowhere_else():
    page = "a\n<!-- goals: begin -->\nold\n<!-- goals: end -->\nb\n<!-- kernels: begin -->\n"
    page += "<!-- kernels: end -->\nc\n"
    once = goals.filled(page, {"exact19k": row(line([1.0], {"numpy": [3.0]}))})
    assert once.startswith("a\n<!-- goals: begin -->\n| work |")
    assert "old" not in once
    assert once.endswith("<!-- kernels: end -->\nc\n")
    with pytest.raises(ValueError, match="goals: begin"):
        goals.filled("no marks", {})


def test_page_shows_what_the_committed_results_say():
    page = goals.PAGE.read_text(encoding="utf-8")
    assert goals.filled(page, goals._rows(goals.RESULTS)) == page


def test_fall_is_told_only_beyond_noise(tmp_path, monkeypatch, capsys):
    peers = {"numpy": [4.0, 4.0, 4.0]}
    for name, ours in (("a", [1.0, 1.0, 1.0]), ("b", [1.3, 1.4, 1.5]), ("c", [0.9, 1.4, 1.5])):
        save(tmp_path / f"{name}.json", row(line(ours, peers)))
    for after, code in (("a", 0), ("b", 1), ("c", 0)):
        command = ["compare.py", str(tmp_path / "a.json"), str(tmp_path / f"{after}.json")]
        monkeypatch.setattr("sys.argv", command)
        assert compare.main() == code
    assert "0.71x (0.67–0.77) | fell |" in capsys.readouterr().out


def test_a_machine_that_is_slower_for_all_is_no_fall(tmp_path, monkeypatch):
    save(tmp_path / "a.json", row(line([1.0, 1.1], {"numpy": [4.0, 4.4]})))
    save(tmp_path / "b.json", row(line([2.0, 2.2], {"numpy": [8.0, 8.8]})))
    monkeypatch.setattr("sys.argv", ["", str(tmp_path / "a.json"), str(tmp_path / "b.json")])
    assert compare.main() == 0
