"""A teacher's course folder: where things lie in it, and its settings, ``course.toml``."""

import math
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from specdec_kit.coursework.exercises import BY_HAND, EXERCISES

SETTINGS = "course.toml"
GRADE = "grade-"  # begins the id of a grade cell; the function's name follows
CONFIG = "nbgrader_config.py"
SUBMITTED, AUTOGRADED, FEEDBACK = "submitted", "autograded", "feedback"
LESSONS = tuple(dict.fromkeys(one.lesson for one in EXERCISES))


class Invalid(ValueError):
    """What is wrong with a course folder, as a sentence that says what to do."""


class Settings(NamedTuple):
    """What a teacher decides."""

    seed: int
    """Of the hidden cases; who knows it, knows them."""
    points: Mapping[str, Mapping[str, float]]
    """Of each lesson the points of each graded thing, by its name."""


def defaults() -> dict[str, dict[str, float]]:
    """Points of each lesson's functions, and of what a person grades in it."""
    points: dict[str, dict[str, float]] = {lesson: {} for lesson in LESSONS}
    for one in EXERCISES:
        points[one.lesson][one.function] = one.points
    for hand in BY_HAND:
        points[hand.lesson][hand.what] = hand.points
    return points


def written(seed: int) -> str:
    """Return the text of a new ``course.toml``."""
    lines = [
        "# Written once by `make release`; it is yours to change. After a change run `make release` again.",
        "# The hidden cases come from this seed: keep it to yourself, and keep it while the course runs.",
        f"seed = {seed}",
    ]
    for lesson, points in defaults().items():
        lines += ["", f'[points."{lesson}"]', *(f"{_key(name)} = {value:g}" for name, value in points.items())]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if name.replace("_", "").isalnum() else f'"{name}"'


def settings(course: Path) -> Settings:
    """Read the settings of a course folder; points that are not named there are the defaults.

    Raises
    ------
    Invalid
        Where there are none, or a name or value in them is wrong.
    """
    try:
        found = tomllib.loads((course / SETTINGS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Invalid(f"There is no {SETTINGS} in {course.name}/: run `make release` first") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise Invalid(f"{SETTINGS} cannot be read: {problem}") from None
    known = defaults()
    _only(found, ("seed", "points"), "")
    seed, points = found.get("seed"), found.get("points", {})
    if type(seed) is not int or seed < 0:
        raise Invalid(f"{SETTINGS}: seed is {seed!r}, but it must be a whole number from 0 on")
    if not isinstance(points, dict):
        raise Invalid(f"{SETTINGS}: points is {points!r}, but it must be a table for each lesson")
    _only(points, known, "points of ")
    for lesson, of_lesson in points.items():
        if not isinstance(of_lesson, dict):
            raise Invalid(f"{SETTINGS}: the points of {lesson} are {of_lesson!r}, but they must be a table")
        _only(of_lesson, known[lesson], f"{lesson}: points of ")
        for name, value in of_lesson.items():
            if type(value) not in (int, float) or not (math.isfinite(value) and value >= 0):
                raise Invalid(f"{SETTINGS}: {lesson}, {name} is {value!r}, but points are a number from 0 on")
            known[lesson][name] = value
    return Settings(seed, known)


def _only(found: Iterable[str], known: Iterable[str], where: str) -> None:
    strange = [name for name in found if name not in known]
    if strange:
        raise Invalid(f"{SETTINGS}: {where}{strange[0]!r} is unknown; known are {', '.join(known)}")
