"""Release the course, and grade a class: `python tests/benchmarks/bench_grading.py [--students 30] [--jobs 2]`.

Each student hands in all eight lessons: a submission of tests/submissions where it has the lesson, right, wrong and
cheating in turn, and the worked lesson elsewhere; with a line of their own, so that nobody's cases are another's.
Prints seconds and points, and asserts nothing about time.
"""

import argparse
import csv
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import nbformat
from nbformat.v4 import new_code_cell

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from submissions import LESSONS, submission  # noqa: E402
from submissions.cheats import CHEATS  # noqa: E402
from submissions.right import RIGHT  # noqa: E402
from submissions.wrong import WRONG  # noqa: E402


def hand_in(folder, students):
    """Write the class; return who handed in which submission."""
    kinds = [list(kind.items()) for kind in (RIGHT, WRONG, CHEATS)]
    who = {}
    for n in range(students):
        kind = kinds[n % 3]
        name, one = kind[(n // 3) % len(kind)]
        special = submission(one)
        for lesson in LESSONS:
            notebook = special.get(lesson) or nbformat.read(ROOT / "notebooks" / f"{lesson}.ipynb", as_version=4)
            notebook.cells.append(new_code_cell(f"# student {n}"))
            path = folder / f"student{n:02}" / f"{lesson}.ipynb"
            path.parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(notebook, path)
        who[f"student{n:02}"] = ("right", "wrong", "cheat")[n % 3], name, sorted(special)
    return who


def run(*command):
    """Seconds that a command took."""
    start = perf_counter()
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False)
    print(f"{' '.join(command[:1])}: exit code {done.returncode}, {perf_counter() - start:.1f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        course, folder = Path(place) / "course", Path(place) / "handed_in"
        run("specdec_kit.coursework.release", "--into", str(course))
        who = hand_in(folder, options.students)
        grade = ["specdec_kit.coursework.grade", str(folder), "--course", str(course), "--jobs", str(options.jobs)]
        run(*grade)
        run(*grade)  # again: nothing is left to grade
        with (course / "grades.csv").open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                kind, name, special = who[row["student"]]
                print(
                    f"{row['student']}  {row['total']:>7} of {row['of']}  {kind}: {name} in", *(s[:2] for s in special)
                )


if __name__ == "__main__":
    main()
