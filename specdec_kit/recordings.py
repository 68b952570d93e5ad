"""Recorded timings: each single time, in CSV, and where it comes from, in JSON.

A recording is a folder of ``data/timing/``: ``steps.csv`` (passes, rounds, drafts, memory), ``texts.csv`` (whole
texts) and ``provenance.json``. A file is written whole or not at all; a run that was broken off keeps its rows.
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from specdec_kit.files import write_whole
from specdec_kit.models import DATA_FOLDERS, DataError
from specdec_kit.timing import CostCurve, Sample, ratio, seconds_of_rounds

FORMAT = 1
FOLDER = "timing"
PROVENANCE = "provenance.json"


class Step(NamedTuple):
    """One timed step."""

    order: int
    """When it ran: the steps and texts of a recording are numbered together, from 0."""
    model: str
    what: str
    """ "copy" and "matmul" of the device; "start", the same pass from the first one on; "round" of the kit, "draft …" a
    call of that draft, "pass" of the network alone; "direct" and "generate", a text without drafts; "verify"."""
    batch: int
    tokens: int
    """Of each text in the batch; of "copy" megabytes, of "matmul" the side, of "start" which pass it is."""
    warm: bool
    seconds: float


class Case(NamedTuple):
    """What is compared with writing directly: the same prompts at the same temperature, by way of a draft."""

    model: str
    workload: str
    temperature: float
    method: str


class Text(NamedTuple):
    """One timed text."""

    order: int
    model: str
    workload: str
    prompt: int
    """Which of the prompts of the workload."""
    temperature: float
    method: str
    """ "direct", or the draft's name."""
    gamma: int
    """Drafts in a round, at most."""
    repeat: int
    seed: int
    tokens: int
    blocks: str
    """How many rounds had how many drafts: "7x12 2x1" is twelve rounds with seven and one with two."""
    tested: int
    accepted: int
    prompt_seconds: float
    seconds: float
    """Of the tokens, the prompt left out."""

    @property
    def case(self) -> Case:
        """What it is an example of."""
        return Case(self.model, self.workload, self.temperature, self.method)

    @property
    def drafted(self) -> dict[int, int]:
        """Rounds with so many drafts, by the number of drafts."""
        return {int(size): int(count) for size, count in (pair.split("x") for pair in self.blocks.split())}

    @property
    def whole(self) -> float:
        """Seconds of prompt and tokens together."""
        return self.prompt_seconds + self.seconds


def blocks_of(rounds: Iterable[Any]) -> str:
    """The field `blocks` of some rounds."""
    return " ".join(f"{size}x{count}" for size, count in sorted(Counter(len(one.drafted) for one in rounds).items()))


ROWS: dict[str, type[Any]] = {"steps.csv": Step, "texts.csv": Text}


class Recording:
    """What was timed on one device.

    Parameters
    ----------
    folder : path
        Of a recording.

    Attributes
    ----------
    name : str
        Name of the folder.
    provenance : dict
        Device, versions, threads, seed, command, commit, notes, and whether the run was finished.
    steps : list of Step
    texts : list of Text

    Raises
    ------
    DataError
        Where a file is missing, damaged or of another format.
    """

    def __init__(self, folder: Path):
        self.name = folder.name
        try:
            self.provenance: dict[str, Any] = json.loads((folder / PROVENANCE).read_text(encoding="utf-8"))
            found = self.provenance["format"]
            if found == FORMAT:
                self.provenance["device"]["kind"], self.provenance["device"]["name"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{folder.name}/{PROVENANCE} is missing or damaged: get it again with `git checkout -- data`, or "
                "record anew"
            ) from error
        if found != FORMAT:
            raise DataError(
                f"{folder.name} was recorded in format {found!r}, and this version of the kit reads format {FORMAT}: "
                "use the version that wrote it, or record anew with `python -m specdec_kit.timing --record`"
            )
        self.steps: list[Step] = _read(folder / "steps.csv")
        self.texts: list[Text] = _read(folder / "texts.csv")

    def samples(self, what: str, *, model: str | None = None, batch: int = 1) -> list[Sample]:
        """Steps of one kind as samples, with `tokens` as their job."""
        return [
            Sample(step.tokens, step.warm, step.seconds)
            for step in self.steps
            if (step.what, step.batch) == (what, batch) and model in (None, step.model)
        ]

    def curve(self, what: str, *, model: str | None = None, batch: int = 1) -> CostCurve:
        """Cost curve of one kind of steps: "pass" or "round"."""
        return CostCurve(self.samples(what, model=model, batch=batch))

    def median(self, what: str, *, model: str | None = None, batch: int = 1) -> float:
        """Median seconds of the warm steps of one kind."""
        found = [one.seconds for one in self.samples(what, model=model, batch=batch) if one.warm]
        if not found:
            raise DataError(f"{self.name} has no steps {what!r}: it has {sorted({step.what for step in self.steps})}")
        return float(np.median(found))

    def cases(self) -> list[Case]:
        """All cases that stand beside direct ones: at least one prompt was written both ways."""
        found = dict.fromkeys(text.case for text in self.texts)
        return [case for case in found if case.method != "direct" and len(self._beside(case, lambda text: 0.0)[0])]

    def by_prompt(self, case: Case, seconds: Callable[[Text], float] = lambda text: text.whole) -> dict[int, float]:
        """Mean seconds over the repeats of each prompt, by the prompt."""
        found: dict[int, list[float]] = {}
        for text in self.texts:
            if text.case == case:
                found.setdefault(text.prompt, []).append(seconds(text))
        return {prompt: float(np.mean(found[prompt])) for prompt in sorted(found)}

    def _beside(self, case: Case, seconds: Callable[[Text], float]) -> tuple[Any, Any]:
        """Seconds of writing directly and of a case, for the prompts that were written both ways."""
        direct, way = self.by_prompt(case._replace(method="direct"), seconds), self.by_prompt(case, seconds)
        both = [prompt for prompt in way if prompt in direct]
        return np.array([direct[prompt] for prompt in both]), np.array([way[prompt] for prompt in both])

    def measured(self, case: Case) -> tuple[float, float, float]:
        """Speed-up over writing directly, prompts included, with a 95 % interval over the prompts: value, low, high."""
        return ratio(*self._beside(case, lambda text: text.whole), np.random.default_rng(0))

    def predicted(self, case: Case) -> float:
        """Speed-up that the cost curve promises: the rounds as they were, each at the cost of its size.

        The times of the texts do not enter, except that of reading each prompt.
        """
        whats = ("round", f"draft {case.method.partition(', gamma')[0]}")
        what, draft = whats if case.temperature else (f"{what}, greedy" for what in whats)
        curve, call = self.curve(what, model=case.model), self.median(draft, model=case.model)

        def promised(text: Text) -> float:
            return text.prompt_seconds + seconds_of_rounds(text.drafted, curve, call)

        direct, way = self._beside(case, promised)
        return float(direct.sum() / way.sum())

    def __repr__(self) -> str:
        device = self.provenance["device"]["name"]
        return f"Recording({self.name}: {device}, {len(self.steps)} steps, {len(self.texts)} texts)"


def _read(path: Path) -> list[Any]:
    """Rows of one file."""
    row = ROWS[path.name]
    kinds = [row.__annotations__[name] for name in row._fields]
    try:
        with path.open(encoding="utf-8", newline="") as file:
            head, *lines = csv.reader(file)
        if tuple(head) != row._fields:
            raise ValueError(f"the columns are {head}")
        return [row(*(_value(kind, text) for kind, text in zip(kinds, line, strict=True))) for line in lines]
    except (OSError, ValueError, KeyError, csv.Error) as error:
        raise DataError(
            f"{path.parent.name}/{path.name} is missing or damaged ({error}): get it again with "
            "`git checkout -- data`, or record anew"
        ) from error


def _value(kind: type, text: str) -> Any:
    value = {"True": True, "False": False}[text] if kind is bool else kind(text)
    if kind is float and not 0 <= value < np.inf:
        raise ValueError(f"{text} is no time")
    return value


def recordings(device: str = "") -> list[Recording]:
    """All recordings of ``data/timing/``, or those on one kind of device.

    Parameters
    ----------
    device : str
        "cpu" or "cuda"; all kinds if not given.

    Returns
    -------
    list of Recording
        In the order of their names; none where nothing was recorded.

    Raises
    ------
    DataError
        As `Recording`.
    """
    places = [folder / FOLDER for folder in DATA_FOLDERS if (folder / FOLDER).is_dir()][:1]
    found = [Recording(file.parent) for place in places for file in sorted(place.glob(f"*/{PROVENANCE}"))]
    return [one for one in found if device in ("", one.provenance["device"]["kind"])]


def recording(name: str) -> Recording:
    """The recording of that name, the one of its folder.

    Raises
    ------
    ValueError
        Where there is none.
    DataError
        As `Recording`.
    """
    found = {one.name: one for one in recordings()}
    if name not in found:
        raise ValueError(f"no recording is named {name!r}: there are {', '.join(map(repr, found)) or 'none'}")
    return found[name]


class Recorder:
    """Keep the rows of a run as they come.

    Parameters
    ----------
    folder : path
        Where to write. If there is a recording, the new one goes beside it, into a folder with "-2", "-3", … at its
        end: what was recorded stays.
    provenance : dict
        What to say of the run; ``format`` and ``finished`` are added.

    Attributes
    ----------
    folder : Path
        Where it writes.
    """

    def __init__(self, folder: Path, provenance: dict[str, Any]):
        taken, number = folder, 1
        while taken.exists():
            number += 1
            taken = folder.with_name(f"{folder.name}-{number}")
        self.folder, self.provenance = taken, {"format": FORMAT, "finished": False, **provenance}
        self.rows: dict[str, list[Any]] = {name: [] for name in ROWS}

    @property
    def count(self) -> int:
        """How many rows there are: the `order` of the next one."""
        return sum(map(len, self.rows.values()))

    def add(self, *rows: Any) -> None:
        """Keep rows of one kind, and write the files anew."""
        for row in rows:
            self.rows[next(name for name, kind in ROWS.items() if type(row) is kind)].append(row)
        self.write()

    def write(self, **said: Any) -> None:
        """Write all files, each whole; `said` goes into the provenance."""
        self.provenance |= said
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, rows in self.rows.items():
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows([ROWS[name]._fields, *map(_shown, rows)])
            write_whole(self.folder / name, text.getvalue())
        write_whole(self.folder / PROVENANCE, json.dumps(self.provenance, indent=1, ensure_ascii=False) + "\n")


def _shown(row: Any) -> list[Any]:
    """Values of a row; seconds to six digits, which is finer than any clock's noise."""
    return [f"{value:.6g}" if isinstance(value, float) else value for value in row]
