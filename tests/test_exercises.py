"""Each exercise of the table: a right answer passes whatever the hidden cases are, and a wrong one never does."""

import ast
import math
import subprocess
import sys
from functools import cache
from pathlib import Path

import nbformat
import numpy as np
import pytest
from fake_remote import FakeRemote, crossed
from test_selfcheck_06 import by_its_clock, in_turns, long_runs, ratios_of_neighbours

from specdec_kit import categorical, exact_law, overlap, selfcheck, speculative_sample
from specdec_kit.blocks import speculative_round
from specdec_kit.copies import BEGIN
from specdec_kit.coursework import exercises
from specdec_kit.coursework.exercises import BY_HAND, EXERCISES
from specdec_kit.coursework.slices import needed
from specdec_kit.distributions import top_k
from specdec_kit.faults import GALLERY
from specdec_kit.investigation import Investigation
from specdec_kit.mysteries import CLASSES, MYSTERIES
from specdec_kit.round_faults import ROUNDS, rows_one_late
from specdec_kit.token_audit import CASES
from specdec_kit.uncertainty import goodness_of_fit

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))
SEEDS = range(20)
FEW, ONE = range(2), range(1)


@cache
def lesson(name):
    return nbformat.read(next(path for path in NOTEBOOKS if path.stem == name), as_version=4)


@cache
def scope(name, *functions):
    """What the worked lesson says of these functions."""
    found = {}
    cells = [cell.source for cell in lesson(name).cells if cell.cell_type == "code"]
    for statement in needed(cells, functions):
        exec(compile(ast.Module([statement.code], []), name, "exec"), found)
    return found


def exercise(function, within=""):
    return next(one for one in EXERCISES if one.function == function and one.lesson.startswith(within))


def worked(one):
    """The functions of the lesson's own that run in one process with this one."""
    names = [two.function for two in EXERCISES if two == one or (one.shares and two.shares == one.shares)]
    return FakeRemote(*(scope(one.lesson, *names)[name] for name in names))


def judged(function, answer, seed, within="", lies=False):
    """The verdict on another answer, which bears the function's name; visible cases where the seed is None."""
    one = exercise(function, within)
    return one.check(
        FakeRemote(answer, names=[function], lies=lies), seed if seed is None else np.random.default_rng(seed)
    )


# Thousands of draws are counted here, or hundreds of tests made.
SLOW = ("die", "inverted", "my_sampler", "two_tokens", "mended", "my_round", "my_test")


def seeds(function):
    return ONE if function in ("my_round", "hidden_and_shown") else FEW if function in SLOW else SEEDS


ALONE = [one for one in EXERCISES if not one.shares]
NAMES = [f"{one.lesson[:2]} {one.function}" for one in ALONE]


# --- the table


def test_the_table_has_every_exercise_of_the_lessons_and_no_other():
    found = []
    for path in NOTEBOOKS:
        heading = ""
        for cell in lesson(path.stem).cells:
            if cell.cell_type == "markdown":
                heading = next((line for line in cell.source.split("\n")[::-1] if line.startswith("#")), heading)
            elif BEGIN in cell.source:
                (function,) = (
                    one.name for one in ast.parse(cell.source).body
                    if isinstance(one, ast.FunctionDef) and BEGIN in ast.get_source_segment(cell.source, one)
                )  # fmt: skip
                found.append((path.stem, cell.id, function, heading.lstrip("# ")))
    assert found == [(one.lesson, one.cell, one.function, one.title) for one in EXERCISES]


def test_points_are_those_of_the_stated_difficulty_and_of_the_rubric():
    stated, rubric = {}, {mark.what: mark.points for mark in Investigation().marks()}
    for one in EXERCISES:
        cells = lesson(one.lesson).cells
        at = next(n for n, cell in enumerate(cells) if cell.id == one.cell)
        text = next(cell.source for cell in cells[at::-1] if cell.cell_type == "markdown")
        stated[one] = next((mark for mark in ("easy", "medium", "hard") if f"*Difficulty: {mark} ·" in text), None)
    graded = {
        "from_labels": rubric["predictions"],
        "investigate": rubric["seeds and raw results"] + rubric["verdicts with confidence"]
        + rubric["Brier's score, 1 − score/2"],
        "counterexample": rubric["counterexample"],
        "transfer": rubric["transfer test"],
    }  # fmt: skip
    usual = {"easy": 5, "medium": 10, "hard": 15}
    for one, difficulty in stated.items():
        assert one.points == graded.get(one.function, usual.get(difficulty, one.points)), one
    assert [(one.function, one.points) for one, mark in stated.items() if not mark] == [
        ("account", 10), ("my_sampler", 15),
    ]  # fmt: skip
    (reasons,) = BY_HAND
    assert (reasons.what, reasons.points) == ("reasons, in words", rubric["reasons, in words"])
    assert exercise("investigate").cell == reasons.cell and exercise("investigate").lesson == reasons.lesson
    assert sum(graded.values()) + reasons.points == 100


def test_the_table_is_quick_to_import():
    code = "import sys, specdec_kit.coursework.exercises; print({'scipy', 'nbformat', 'IPython'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


# --- what is right


@pytest.mark.parametrize("one", ALONE, ids=NAMES)
def test_the_worked_solution_passes(one):
    remote = worked(one)
    assert one.check(remote, None)
    for seed in seeds(one.function):
        verdict = one.check(remote, np.random.default_rng(seed))
        assert verdict.passed is True, (seed, verdict)


def directly(p, q, rng):
    return int(np.searchsorted(np.cumsum(p), rng.random(), side="right"))  # such p sum to 1 exactly


def counted_up(p, width):
    n = 1
    while 2 * math.sqrt(p * (1 - p) / n) > width:
        n += 1
    return n


def without_rounding(p, q):
    return int(np.argmax([overlap(p, top_k(q, k)) for k in range(1, len(p) + 1)])) + 1


def token_by_token(counts, law):
    from scipy import stats

    n = counts.sum()
    tails = [(2 * stats.binom.cdf(k, n, p), 2 * stats.binom.sf(k - 1, n, p)) for k, p in zip(counts, law, strict=True)]
    return bool(np.min(tails) * len(counts) > 1e-6)


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        ("account", lambda p, q: [1 - abs(p - q).sum() / 2, *p]),
        ("draws_needed", counted_up),
        ("draws_needed", lambda p, width: math.ceil(4 * p * (1 - p) / width**2)),
        ("draws_needed", lambda p, width: math.ceil((2 * math.sqrt(p * (1 - p)) / width) ** 2)),
        ("unseen", lambda draws, level=0.95: -np.expm1(np.log1p(-level) / draws)),
        ("my_test", token_by_token),
        ("best_cut", without_rounding),
        ("mean_tokens", lambda alphas: sum(math.prod(alphas[:n]) for n in range(len(alphas) + 1))),
        ("time_ratio", in_turns(np.median)),
        ("time_ratio", in_turns(np.mean, 300, 5)),
        ("time_ratio", by_its_clock),
        ("time_ratio", ratios_of_neighbours),
        ("time_ratio", long_runs),
        (
            "crossover",
            lambda t, plain, drafted: min((b for b in plain if t / drafted[b] <= 1 / plain[b]), default=None),
        ),
        (
            "crossover",
            lambda t, plain, drafted: min((b for b in plain if plain[b] / drafted[b] * t <= 1), default=None),
        ),
        ("crossover", lambda t, plain, drafted: min((b for b in plain if drafted[b] / t >= plain[b]), default=None)),
        ("my_brier", lambda stated, truth: 1 - 2 * stated[truth] + sum(mass**2 for mass in stated.values())),
    ],
)
def test_right_answers_in_another_style_never_fail(function, answer):
    for seed in seeds(function):
        verdict = judged(function, answer, seed)
        assert verdict, (seed, verdict)


@pytest.mark.parametrize(
    ("function", "sampler"),
    [
        ("die", lambda rng: rng.choice([1, 2, 3, 4, 5, 6], p=[0.1] * 5 + [0.5])),
        ("my_sampler", lambda p, q, rng: np.int64(directly(p, q, rng))),
        ("two_tokens", lambda p, q, rng: np.array([directly(p, q, rng), directly(p, q, rng)])),
        ("my_round", lambda *args: list(speculative_round(*args))),
    ],
)
def test_right_draws_in_another_style_pass(function, sampler):
    assert judged(function, sampler, 1, lies=True)


def test_the_counts_raise_no_more_false_alarms_than_is_stated(monkeypatch):
    monkeypatch.setattr(exercises, "ALPHA", 0.2)
    monkeypatch.setattr(exercises, "DRAWS", 400)
    alarms = sum(not judged("my_sampler", directly, seed, lies=True) for seed in range(100))
    assert 1 <= alarms <= 30  # at most 20 are due; over 30 come once in a hundred


# --- what is wrong


def uncorrected(p, q):
    kept = np.minimum(p, q)
    return [kept.sum(), *kept]


def cut(weighed, k0=1, pick=np.argmax):
    return lambda p, q: int(pick(np.round([weighed(p, q, k) for k in range(1, len(p) + 1)], 12))) + k0


def last(overlaps):
    return len(overlaps) - 1 - np.argmax(overlaps[::-1])


def tokens(alpha, gamma):
    return sum(alpha**n for n in range(gamma + 1))


def due_brier(stated, truth):
    return sum((mass - (kind == truth)) ** 2 for kind, mass in stated.items())


def first(batches):
    return next(iter(batches), None)


# The function of an exercise, a wrong answer, and words of the advice; where there are none, any will do.
WRONG = [
    ("die", lambda rng: int(rng.integers(1, 7)), "This die is fair"),
    ("die", lambda rng: 6 if rng.random() < 0.5 else int(rng.integers(0, 6)), ""),
    ("account", uncorrected, "The rejected mass is missing"),
    ("account", lambda p, q: [np.minimum(p, q).sum(), *q], ""),
    ("account", lambda p, q: [1 - np.minimum(p, q).sum(), *p], ""),
    ("half_accepted", lambda: [0.7, 0.3], "That is p itself"),
    ("half_accepted", lambda: [0.8, 0.2], ""),
    ("inverted", lambda p, q, rng: speculative_sample(p, q, rng=rng).tokens, "That is the right rule"),
    ("inverted", lambda p, q, rng: categorical(q, rng), ""),
    ("blind_pair", lambda: ([0.7, 0.3], [0.4, 0.6]), "the shortcut returns"),
    ("my_sampler", GALLERY["redraws_target"].sampler, "replaced by a draw from p"),
    ("my_sampler", GALLERY["accepts_at_zero"].sampler, "accept strictly"),
    ("my_sampler", lambda p, q, rng: categorical(q, rng), "It returns q"),
    ("draws_needed", lambda p, width: math.ceil(p * (1 - p) / width**2), "for one standard error"),
    ("draws_needed", lambda p, width: round(4 * p * (1 - p) / width**2), ""),
    ("draws_needed", lambda p, width: 1 + int(4 * p * (1 - p) / width**2), ""),
    ("draws_needed", lambda p, width: math.ceil(1 / width**2), ""),
    ("two_tokens", lambda p, q, rng: (categorical(p, rng),) * 2, "come from the same random numbers"),
    ("two_tokens", lambda p, q, rng: (categorical(p, rng), categorical(q, rng)), ""),
    ("unseen", lambda draws, level=0.95: 0.0, "Never seen is not impossible"),
    ("unseen", lambda draws, level=0.95: 1 - level ** (1 / draws), "yours gives it the chance level"),
    ("unseen", lambda draws, level=0.95: 1 - ((1 - level) / 2) ** (1 / draws), "a two-sided interval"),
    ("unseen", lambda draws, level=0.95: -np.log(1 - level) / draws, "is near for large N only"),
    ("unseen", lambda draws, level=0.95: 3 / draws, "3/N is near"),
    ("unseen", lambda draws, level=0.95: 1 - 0.05 ** (1 / draws), ""),
    ("my_test", lambda counts, law: True, "a bias of 0.05"),
    ("my_test", lambda counts, law: bool(np.abs(counts / counts.sum() - law).max() < 0.1), "a bias of 0.05"),
    ("my_test", lambda counts, law: goodness_of_fit(counts, law).pvalue > 0.05, "is the level 10⁻⁶"),
    ("my_test", lambda counts, law: goodness_of_fit(counts, law).pvalue < 1e-6, "is the comparison turned round?"),
    ("fooling", lambda: [0.45, 0.25, 0.2, 0.1], "over 0.0055"),
    ("mended", GALLERY["zero_over_zero"].sampler, "0/0 is no law"),
    ("mended", GALLERY["clamped_residual"].sampler, "clamped at 1e-5"),
    ("best_cut", cut(lambda p, q, k: np.minimum(p, np.where(top_k(q, k) > 0, q, 0)).sum()), "divided by its sum"),
    ("best_cut", cut(lambda p, q, k: overlap(p, top_k(q, k)), 0), "argmax counts from 0"),
    ("best_cut", cut(lambda p, q, k: -overlap(p, top_k(q, k))), "the cut with the least overlap"),
    ("best_cut", cut(lambda p, q, k: overlap(top_k(p, k), top_k(q, k))), "Both sides are cut"),
    ("best_cut", cut(lambda p, q, k: overlap(p, top_k(q, k)), pick=last), "Of equal overlaps the smallest k"),
    ("mean_tokens", lambda alphas: np.cumprod(alphas).sum(), "the corrected one or the bonus: add 1"),
    ("mean_tokens", lambda alphas: 1 + sum(alphas), "multiply the chances up to each place, then add"),
    ("mean_tokens", sum, "before you add, and add 1"),
    ("mean_tokens", lambda alphas: tokens(np.mean(alphas), len(alphas)), "their mean does not replace them"),
    ("mean_tokens", math.prod, "the chance that all drafts pass"),
    ("mean_tokens", lambda alphas: 1 + math.prod(alphas), "add the chance of each place in between"),
    ("mean_tokens", lambda alphas: 1 + np.cumprod(alphas[::-1]).sum(), ""),
    ("my_round", ROUNDS["rows_one_late"].sampler, "the target's row of the place before"),
    ("my_round", ROUNDS["bonus_from_draft"].sampler, ""),
    ("time_ratio", lambda device, slow, quick: 1.25, "was never run"),
    ("time_ratio", in_turns(np.median, runs=1, warm=0), "The first run of each kind is slower"),
    ("time_ratio", in_turns(np.sum, warm=0), ""),
    ("time_ratio", lambda device, slow, quick: 1 / by_its_clock(device, slow, quick), "the other way round"),
    ("speedup", lambda a, g, c, costs: tokens(a, g) / (1 + g * c), "the textbook form"),
    ("speedup", lambda a, g, c, costs: tokens(a, g) / (costs[max(g - 1, 0)] + g * c), "a round of gamma drafts costs"),
    ("speedup", lambda a, g, c, costs: tokens(a, g) / (costs[g] + c), "and each call costs c"),
    ("speedup", lambda a, g, c, costs: tokens(a, g) / (costs[g] + (g + 1) * c), "not once more"),
    ("speedup", lambda a, g, c, costs: tokens(a, g) / costs[g], "add gamma times c"),
    ("speedup", lambda a, g, c, costs: (tokens(a, g) - 1) / (costs[g] + g * c), "the corrected one or the bonus"),
    ("speedup", lambda a, g, c, costs: (1 + g * a) / (costs[g] + g * c), "only if those before it are"),
    ("speedup", lambda a, g, c, costs: (costs[g] + g * c) / tokens(a, g), "one over it"),
    ("speedup", lambda a, g, c, costs: (1 - a ** (g + 1)) / (1 - a) / (costs[g] + g * c), "ZeroDivisionError"),
    ("crossover", lambda t, p, d: first(b for b in sorted(p) if p[b] <= d[b]), "A round brings several tokens"),
    ("crossover", lambda t, p, d: first(b for b in sorted(p) if t * p[b] > d[b]), "the first batch with a gain"),
    ("crossover", lambda t, p, d: first(b for b in sorted(p)[::-1] if t * p[b] > d[b]), "the last batch with a gain"),
    ("crossover", lambda t, p, d: first(b for b in sorted(p) if t * p[b] < d[b]), "At equal times nothing is gained"),
    ("crossover", lambda t, p, d: first(b for b in p if t * p[b] <= d[b]), "in order of size"),
    ("crossover", lambda t, p, d: min(b for b in p if t * p[b] <= d[b]), "ValueError"),
    ("my_brier", lambda stated, truth: (1 - stated[truth]) ** 2, "what was given to the others counts too"),
    ("my_brier", lambda stated, truth: due_brier(stated, truth) / len(stated), "the sum is asked for"),
    ("my_brier", lambda stated, truth: sum(abs(m - (k == truth)) for k, m in stated.items()), "Square each"),
    ("my_brier", lambda stated, truth: sum(mass**2 for mass in stated.values()), "is to stand at 1"),
    ("my_brier", lambda stated, truth: 1 - due_brier(stated, truth), "return the sum itself"),
    ("transfer", lambda: {"quantity": "tokens a round", "unit": "s", "change": {"gamma": 2}, "predicted": 2},
     "is measured in 'tokens'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "answer", "words"), WRONG, ids=[f"{name}-{n}" for n, (name, *_) in enumerate(WRONG)]
)
def test_a_wrong_answer_fails_on_any_hidden_cases_and_is_told_why(function, answer, words):
    for seed in seeds(function):
        verdict = judged(function, answer, seed)
        assert verdict.passed is False and words in verdict.says, (seed, verdict)


def test_every_exercise_that_stands_alone_has_a_wrong_answer_here():
    assert {one.function for one in ALONE} == {function for function, *_ in WRONG} | {"hidden_and_shown"}


@pytest.mark.parametrize("one", EXERCISES, ids=lambda one: f"{one.lesson[:2]} {one.function}")
@pytest.mark.parametrize("seed", [None, 0])
def test_what_is_not_written_is_said_to_be_so(one, seed):
    def gap(*_):
        raise NotImplementedError

    gap.__name__ = one.function
    verdict = judged(one.function, gap, seed, one.lesson)
    assert verdict.passed is False and verdict.says == f"{one.function} is not written yet."


# --- what only looks right


def looked_up(one):
    """The worked answers to the visible cases, and to any other the first of them."""
    table, function = {}, worked(one).function

    def key(args):
        return repr([part.tolist() if isinstance(part, np.ndarray) else part for part in args])

    def noted(*args):
        return table.setdefault(key(args), function(*args))

    assert judged(one.function, noted, None)
    return lambda *args: table.get(key(args), next(iter(table.values())))


VALUES = ("account", "draws_needed", "unseen", "my_test", "best_cut", "mean_tokens", "speedup", "crossover", "my_brier")


@pytest.mark.parametrize("function", VALUES)
def test_the_visible_answers_in_a_table_pass_there_and_fail_on_hidden_cases(function):
    answer = looked_up(exercise(function))
    assert judged(function, answer, None)
    for seed in seeds(function):
        assert not judged(function, answer, seed), seed


def test_the_visible_ratios_fail_on_hidden_devices():
    def nearest(device, slow, quick):
        return min((1.25, 0.4, 4.0, 1.0), key=lambda known: abs(known - by_its_clock(device, slow, quick)))

    assert judged("time_ratio", nearest, None)
    for seed in SEEDS:
        assert not judged("time_ratio", nearest, seed), seed


def on_known(right, wrong):
    """Right on the pairs of the checks, and nowhere else."""
    known = [np.array(pair) for pair in (*selfcheck.PAIRS, *CASES.values())]
    return lambda p, q, rng: (right if any(np.array_equal(one, [p, q]) for one in known) else wrong)(p, q, rng)


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        ("inverted", on_known(GALLERY["inverted_ratio"].sampler, lambda p, q, rng: categorical(p, rng))),
        ("my_sampler", on_known(GALLERY["ignores_draft"].sampler, lambda p, q, rng: categorical(q, rng))),
        ("two_tokens", on_known(lambda p, q, rng: (categorical(p, rng), categorical(p, rng)),
                                lambda p, q, rng: (categorical(p, rng),) * 2)),
        ("my_round", lambda target, draft, context, *rest: (
            speculative_round if len(context) >= 3 else rows_one_late)(target, draft, context, *rest)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_sampler_that_is_right_on_visible_pairs_alone_fails(function, answer):
    assert judged(function, answer, None)
    assert not judged(function, answer, 0)


def test_hidden_cases_are_new_each_time_and_the_same_by_the_same_seed():
    for one in ALONE:
        if one.function not in VALUES or one.function == "my_test":
            continue
        seen = []

        def noted(*args, seen=seen, one=one):
            seen[-1].append(repr(args))
            return worked(one).function(*args)

        for seed in (None, 1, 1, 2):
            seen.append([])
            assert judged(one.function, noted, seed)
        visible, once, again, other = seen
        assert once == again and once != other and not {*once[:3]} & {*visible, *other}, one.function


# --- draws that belie the exact law, which a student's process can forge


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        ("die", lambda rng: int(rng.integers(1, 7))),
        ("inverted", lambda p, q, rng: categorical(p, rng)),
        ("my_sampler", lambda p, q, rng: categorical(q, rng)),
        ("my_sampler", GALLERY["reuses_test"].sampler),
        ("mended", GALLERY["redraws_target"].sampler),
        ("two_tokens", lambda p, q, rng: (categorical(p, rng),) * 2),
        ("my_round", ROUNDS["rows_one_late"].sampler),
        ("my_round", ROUNDS["bonus_of_last_row"].sampler),
        ("my_round", lambda target, draft, context, gamma, rng: (categorical(draft(context), rng),)),
    ],
)
def test_draws_of_another_law_are_found_whatever_the_exact_check_is_made_to_say(function, answer):
    for seed in FEW:
        verdict = judged(function, answer, seed, lies=True)
        assert not verdict and "its law looks right, but " in verdict.says and " is due " in verdict.says


@pytest.mark.parametrize(
    "token",
    [-1, 6, 0.5, None, "0", [0], (0, 1), {0: 1}, math.nan, np.array([0]), pytest.param(10**400, id="huge"), [[[]]]],
)
def test_a_draw_that_is_no_token_is_named(token):
    verdict = judged("my_sampler", lambda p, q, rng: token, 0, lies=True)
    assert not verdict and "a seeded draw gave " in verdict.says and "that cannot come" in verdict.says
    assert len(verdict.says) < 300


def test_draws_that_do_not_repeat_are_found():
    state = np.random.default_rng(1)
    for function, answer in (
        ("die", lambda rng: 1 + categorical([*[0.1] * 5, 0.5], state)),
        ("my_round", lambda target, draft, context, gamma, rng: (categorical(target(context), state),)),
    ):
        assert judged(function, answer, 0, lies=True).says == "the same seed gives other draws: draw from rng alone."


def test_what_draws_raise_is_told():
    assert judged("die", lambda rng: 1 // 0, 0, lies=True).says.startswith("it raises ZeroDivisionError")
    assert judged("die", lambda rng: object(), 0, lies=True).says.startswith("it raises NotPlain: a object cannot")


# --- pairs that hide a fault and show it


def test_the_kits_samplers_have_the_law_of_the_lessons_own():
    theirs = scope("02_seeded_sampling", "residual_reuses_test")["residual_reuses_test"]
    for seed in SEEDS:
        for pair in exercises._all_pairs(np.random.default_rng(seed)):
            assert exact_law(theirs, *pair) == exact_law(GALLERY["reuses_test"].sampler, *pair)
    assert scope("05_draft_blocks", "rows_one_late")["rows_one_late"] is rows_one_late
    for name, sampler in (
        ("02", "residual_reuses_test"),
        ("04", 'GALLERY["tests_argmax"].sampler'),
        ("05", "rows_one_late"),
    ):
        one = exercise("hidden_and_shown", name)
        (source,) = (cell.source for cell in lesson(one.lesson).cells if cell.id == one.cell)
        assert f"(hidden_and_shown, {sampler})" in source


SAME = [[0.7, 0.3], [0.7, 0.3]], [[0.4, 0.6], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("within", "answer", "words"),
    [
        ("02", (([0.7, 0.2, 0.1], [0.4, 0.3, 0.3]),) * 2, "The second pair hides the fault"),
        ("02", (([0.4, 0.4, 0.2], [0.2, 0.1, 0.7]), ([0.7, 0.2, 0.1], [0.4, 0.3, 0.3])), "the wrong way round"),
        ("04", (([0.7, 0.3], [0.4, 0.6]),) * 2, "The first pair shows the fault"),
        ("04", (([0.7, 0.3], [0.7, 0.3]),) * 2, "p ≠ q"),
        ("05", (SAME, SAME), "The second pair hides the fault"),
        ("05", SAME, ""),
        ("05", None, "two pairs are due"),
    ],
)  # fmt: skip
def test_pairs_that_do_not_hide_and_show_are_told_why(within, answer, words):
    verdict = judged("hidden_and_shown", lambda: answer, 0, within)
    assert not verdict and words in verdict.says


# --- the investigation


def report(*functions, seed=0):
    """Each exercise that shares the case, its verdict, and how much of its points is reached."""
    names = [one.function for one in EXERCISES if one.shares]
    remote, outcomes = FakeRemote(*functions, names=names), {}
    for one in EXERCISES:
        if one.shares:
            verdict = one.check(remote, np.random.default_rng(seed))
            outcomes[one.function] = verdict, one.share(remote) if one.share else 1.0
    return outcomes


def predicts(case):
    for name in case.names:
        case.predict(name, dict.fromkeys(CLASSES, 0.25))


def guesses(stated, because="a guess"):
    def investigate(case):
        for name in case.names:
            case.draw(name, 10, seed=1)
            case.conclude(name, stated, because=because)

    return investigate


def shows(case):
    drawn = case.draw("Birch", 4000, seed=2, length=2)
    found = drawn.report()
    case.show_counterexample(drawn, found.tokens[int(np.argmin(found.pvalues))], because="it is not corrected")


def test_the_worked_investigation_passes_and_is_scored():
    remote = worked(exercise("investigate"))
    for one in EXERCISES:
        if one.shares:
            assert one.check(remote, np.random.default_rng(1)), one
    score = np.mean(list(remote.case.scores().values()))
    assert len(remote.case.revealed) == len(MYSTERIES)
    assert exercise("investigate").share(remote) == pytest.approx((20 + 10 + 20 * (1 - score / 2)) / 50)


def test_a_guess_gets_what_the_rubric_gives_it():
    # Equal parts for four classes score 3/4 each: 20 (1 − 3/8) = 12.5 of 20, and 30 for the draws and the verdicts.
    outcomes = report(predicts, guesses(dict.fromkeys(CLASSES, 0.25)), shows)
    assert all(verdict for verdict, _ in outcomes.values())
    assert outcomes["investigate"][1] == pytest.approx(42.5 / 50)


@pytest.mark.parametrize(
    ("functions", "failed", "words"),
    [
        ((lambda case: None, guesses({"joint": 1}), shows), "from_labels", "There is no prediction"),
        ((lambda case: [case.draw("Elm", 1, seed=9), predicts(case)], guesses({"joint": 1}), shows), "from_labels",
         "Elm was drawn from already"),
        ((predicts, lambda case: None, shows), "investigate", "Nothing was drawn from"),
        ((predicts, guesses({"joint": 1}, because=""), shows), "investigate", "0 of 6 verdicts give a reason"),
        ((predicts, lambda case: case.draw("Elm", 50_000, seed=1), shows), "investigate", "OverBudget"),
        ((predicts, guesses({"joint": 1}), lambda case: None), "counterexample", "Nothing was kept"),
    ],
)  # fmt: skip
def test_each_step_of_an_investigation_fails_by_itself(functions, failed, words):
    outcomes = report(*functions)
    assert [name for name, (verdict, _) in outcomes.items() if not verdict] == [failed]
    assert words in outcomes[failed][0].says


def test_what_has_a_verdict_is_revealed_even_where_something_lacks():
    remote = FakeRemote(predicts, guesses({"joint": 1}, because=""), shows,
                        names=("from_labels", "investigate", "counterexample"))  # fmt: skip
    assert not exercise("investigate").check(remote, None)
    assert set(remote.case.revealed) == set(MYSTERIES)


def test_the_stand_in_hands_over_plain_values_alone():
    assert crossed((1, [np.int64(2)], {"a": np.array([0.5])}))[1] == [2]
    with pytest.raises(TypeError, match="cannot be handed over"):
        crossed({1, 2})
