"""What INSTRUCTORS.md promises is what the kit does."""

import re
from pathlib import Path

import pytest

from specdec_kit.coursework.exercises import BY_HAND, EXERCISES

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "INSTRUCTORS.md").read_text(encoding="utf-8")


def points_faults(page):
    """Rows of the table of points that say something else than the table of exercises."""
    rows = re.findall(r"^\| (\d\d) [^|]*\|[^|]*\| (\d+) \| ([^|]*) \| (\d+) \|$", page, flags=re.MULTILINE)
    faults = []
    for number, minutes, functions, total in rows:
        said = [(name, int(points)) for name, points in re.findall(r"`(\w+)` (\d+)", functions)]
        due = [(one.function, one.points) for one in EXERCISES if one.lesson.startswith(number)]
        hand = sum(one.points for one in BY_HAND if one.lesson.startswith(number))
        if said != due or int(total) != sum(points for _, points in due) + hand:
            faults.append(number)
        (path,) = (ROOT / "notebooks").glob(f"{number}_*.ipynb")
        if f"**Time.** {minutes} minutes." not in path.read_text(encoding="utf-8"):
            faults.append(f"{number}: minutes")
    lessons = {one.lesson[:2] for one in EXERCISES}
    return faults + sorted(lessons - {row[0] for row in rows})


def test_the_points_of_the_page_are_those_of_the_exercises():
    assert not points_faults(PAGE)
    total, machine = map(int, re.search(r"in all (\d+), of which the machine gives (\d+)", PAGE).groups())
    assert machine == sum(one.points for one in EXERCISES) and total == machine + sum(one.points for one in BY_HAND)
    minutes = [int(m) for m in re.findall(r"^\| \d\d [^|]*\|[^|]*\| (\d+) \|", PAGE, flags=re.MULTILINE)]
    assert f"{sum(minutes)} minutes of lessons in all" in PAGE


@pytest.mark.parametrize(
    ("old", "new"), [("`die` 5 | 5", "`die` 5 | 6"), ("`speedup` 5", "`speedup` 6"), ("| 110 | `mean", "| 111 | `mean")]
)
def test_a_wrong_row_is_found(old, new):
    assert old in PAGE and points_faults(PAGE.replace(old, new))


def test_the_rubric_of_the_page_is_that_of_the_investigation():
    from specdec_kit.investigation import Investigation

    said = [int(points) for points in re.findall(r"^\| [^|]+ \| (\d+) \| [^|]*\|$", PAGE, flags=re.MULTILINE)]
    assert said == [mark.points for mark in Investigation().marks()] and sum(said) == 100


def test_the_limits_of_the_page_are_those_of_the_grader():
    import inspect

    from specdec_kit.coursework.remote import Remote

    default = {name: one.default for name, one in inspect.signature(Remote.__init__).parameters.items()}
    assert "within 30 s of the processor, 120 s in all and 2 GB" in PAGE
    assert (default["cpu"], default["limit"], default["megabytes"]) == (30, 120.0, 2048)
