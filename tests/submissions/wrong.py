"""Submissions that are wrong in stated exercises, and right in the others of the same lesson: they lose just those."""

import inspect

from specdec_kit.faults import GALLERY
from specdec_kit.round_faults import ROUNDS
from submissions import Submission

NEEDED = """
from typing import Any
from specdec_kit.round_faults import *
from specdec_kit.round_faults import _draw, _lacking, _of_target, _residual
""".strip()


def gallery(fault: str, function: str) -> str:
    """Source of a sampler or round of the galleries, under the name of the exercise's function."""
    sampler = {**GALLERY, **ROUNDS}[fault].sampler
    source = inspect.getsource(sampler).partition(f"def {fault}(")[2]
    return f"{NEEDED}\n\ndef {function}({source}"


WRONG = {
    "fair die": Submission(
        "A die that is fair.",
        {"00": "# %% exercise-die\ndef die(rng):\n    return rng.integers(1, 7)\n"},
        {"exercise-die": "This die is fair"},
    ),
    "die from zero": Submission(
        "Faces from 0 to 5.",
        {"00": "# %% exercise-die\ndef die(rng):\n    return min(int(10 * rng.random()), 5)\n"},
        {"exercise-die": "add one"},
    ),
    "global die": Submission(
        "Draws from the module random, not from rng.",
        {"00": "# %% exercise-die\nimport random\ndef die(rng):\n    return random.choice([1, 2, 3, 4, 5, 6])\n"},
        {"exercise-die": "global random state"},
    ),
    "die not written": Submission(
        "The stub as it was.",
        {"00": "# %% exercise-die\ndef die(rng):\n    # YOUR CODE HERE\n    raise NotImplementedError()\n"},
        {"exercise-die": "not written yet"},
    ),
    "die without its cell": Submission(
        "The cell deleted.",
        {"00": "# %% - exercise-die\n# %% - exercise-record\n"},
        {"exercise-die": "not written yet"},
    ),
    "die of no Python": Submission(
        "A syntax error in the cell itself.",
        {"00": "# %% exercise-die\ndef die(rng)\n    return 6\n"},
        {"exercise-die": "is no Python"},
    ),
    "no correction": Submission(
        "All four of lesson 01 wrong, each by a mistake that the checks know.",
        {
            "01": """
# %% account
def account(p, q):
    kept = np.minimum(p, q)
    return [kept.sum(), *kept]
# %% exercise-half
def half_accepted():
    return [0.7, 0.3]
# %% exercise-inverted
def inverted(p, q, rng):
    return speculative(p, q, rng)
# %% exercise-blind
def blind_pair():
    return [0.5, 0.5], [0.5, 0.5]
"""
        },
        {
            "account": "rejected mass is missing",
            "exercise-half": "p itself",
            "exercise-inverted": "the right rule",
            "exercise-blind": "nothing is rejected",
        },
    ),
    "two tokens only": Submission(
        "Works for the pair of the lesson alone; and a pair to which the shortcut does harm.",
        {
            "01": """
# %% account
def account(p, q):
    return [min(p[0], q[0]) + min(p[1], q[1]), p[0], 1 - p[0]]
# %% exercise-inverted
def inverted(p, q, rng):
    x = int(rng.random() >= q[0])
    if rng.random() * p[x] < q[x]:
        return x
    return 1 - x
# %% exercise-blind
def blind_pair():
    return [0.7, 0.3], [0.4, 0.6]
"""
        },
        {"account": "is due", "exercise-inverted": "is due", "exercise-blind": "the shortcut returns"},
    ),
    "softmax residual": Submission(
        "The residual by softmax, and half of the draws that are needed.",
        {
            "02": f"""
# %% my-sampler
{gallery("softmax_residual", "my_sampler")}
# %% exercise-draws
def draws_needed(p, width):
    return int(np.ceil(p * (1 - p) / width**2))
"""
        },
        {"my-sampler": "softmax", "exercise-draws": "one standard error"},
    ),
    "redrawn from p": Submission(
        "A rejected draft redrawn from p, and two tokens by the same numbers.",
        {
            "02": f"""
# %% my-sampler
{gallery("redraws_target", "my_sampler")}
# %% exercise-two
def two_tokens(p, q, rng):
    numbers = rng.random(3)
    return token_of(p, q, *numbers), token_of(p, q, *numbers)
"""
        },
        {"my-sampler": "draw it from the residual", "exercise-two": "draw anew"},
    ),
    "upside down": Submission(
        "The ratio upside down, and two tokens that share it; the pairs the wrong way round.",
        {
            "02": f"""
# %% my-sampler
{gallery("inverted_ratio", "my_sampler")}
# %% exercise-two
def two_tokens(p, q, rng):
    return my_sampler(p, q, rng), my_sampler(p, q, rng)
# %% exercise-hidden
def hidden_and_shown():
    return ([0.4, 0.4, 0.2], [0.2, 0.1, 0.7]), ([0.7, 0.2, 0.1], [0.4, 0.3, 0.3])
"""
        },
        {"my-sampler": "upside down", "exercise-two": "is due", "exercise-hidden": "wrong way round"},
    ),
    "tests the argmax": Submission(
        "Tests the likeliest token, and says three where there are two tokens.",
        {
            "02": f"""
# %% my-sampler
{gallery("tests_argmax", "my_sampler")}
# %% exercise-two
def two_tokens(p, q, rng):
    return 3 * (my_sampler(p, q, rng),)
"""
        },
        {"my-sampler": "likeliest", "exercise-two": "is due"},
    ),
    "argmax draft": Submission(
        "Drafts the argmax of q; two pairs that both show.",
        {
            "02": f"""
# %% my-sampler
{gallery("argmax_draft", "my_sampler")}
# %% exercise-two
def two_tokens(p, q, rng):
    raise NotImplementedError
# %% exercise-hidden
def hidden_and_shown():
    return 2 * [([0.4, 0.4, 0.2], [0.2, 0.1, 0.7])]
"""
        },
        {"my-sampler": "argmax", "exercise-two": "not written yet", "exercise-hidden": "first pair shows"},
    ),
    "one number twice": Submission(
        "The number of the test used again for the residual; two pairs that both hide.",
        {
            "02": f"""
# %% my-sampler
{gallery("reuses_test", "my_sampler")}
# %% exercise-two
def two_tokens(p, q, rng):
    return residual_reuses_test(p, q, rng), residual_reuses_test(p, q, rng)
# %% exercise-hidden
def hidden_and_shown():
    return 2 * [([0.7, 0.2, 0.1], [0.4, 0.3, 0.3])]
"""
        },
        {"my-sampler": "used again", "exercise-two": "is due", "exercise-hidden": "second pair hides"},
    ),
    "at most": Submission(
        "Right in law, and forbidden at u = 0; and two tokens with a seed of their own.",
        {
            "02": f"""
# %% my-sampler
{gallery("accepts_at_zero", "my_sampler")}
# %% exercise-two
def two_tokens(p, q, rng):
    rng = np.random.default_rng(7)
    return fresh(p, q, rng), fresh(p, q, rng)
"""
        },
        {"my-sampler": "u = 0", "exercise-two": "is due"},
    ),
    "global state": Submission(
        "Draws from global random state.",
        {
            "02": f"""
# %% my-sampler
{gallery("draws_globally", "my_sampler")}
# %% exercise-two
def two_tokens(p, q, rng):
    return my_sampler(p, q, rng), my_sampler(p, q, rng)
"""
        },
        {"my-sampler": "rng alone", "exercise-two": "global random state"},
    ),
    "one stream for all": Submission(
        "Starts the same stream at each call; keeps the first two tokens for all that follow.",
        {
            "02": f"""
# %% my-sampler
{gallery("replays_one_stream", "my_sampler")}
# %% exercise-two
KEPT = []
def two_tokens(p, q, rng):
    if not KEPT:
        KEPT.extend([fresh(p, q, rng), fresh(p, q, rng)])
    return tuple(KEPT)
"""
        },
        {"my-sampler": "rng", "exercise-two": "keeps state"},
    ),
    "lenient": Submission(
        "Accepts with 2 p/q: lossy by design.",
        {
            "02": f"""
# %% my-sampler
{gallery("lenient", "my_sampler")}
# %% exercise-two
def two_tokens(p, q, rng):
    return typical(p, q, rng), typical(p, q, rng)

{gallery("typical_acceptance", "my_sampler").replace("def my_sampler", "def typical")}
"""
        },
        {"my-sampler": "accepts", "exercise-two": "is due"},
    ),
    "rules of thumb": Submission(
        "3/N, χ² at any expected count, and a law that is too near.",
        {
            "03": """
# %% exercise-unseen
def unseen(draws, level=0.95):
    return 3 / draws
# %% exercise-test
def my_test(counts, law):
    possible = law > 0
    if counts[~possible].any():
        return False
    return bool(stats.chisquare(counts[possible], counts.sum() * law[possible]).pvalue > 1e-6)
# %% exercise-fool
def fooling():
    return [0.41, 0.29, 0.2, 0.1]
"""
        },
        {"exercise-unseen": "3/N", "exercise-test": "exact binomials", "exercise-fool": "TV"},
    ),
    "levels mixed up": Submission(
        "Level for 1 − level, a test at 0.05, and a law in another order.",
        {
            "03": """
# %% exercise-unseen
def unseen(draws, level=0.95):
    return 1 - level ** (1 / draws)
# %% exercise-test
def my_test(counts, law):
    return goodness_of_fit(counts, law).pvalue > 0.05
# %% exercise-fool
def fooling():
    return [0.35, 0.36, 0.19, 0.1]
"""
        },
        {"exercise-unseen": "1 − level", "exercise-test": "10⁻⁶", "exercise-fool": "order"},
    ),
    "always true": Submission(
        "A test that never fails anything, and one number where a law is due.",
        {
            "03": """
# %% exercise-test
def my_test(counts, law):
    return True
# %% exercise-fool
def fooling():
    return 0.05
"""
        },
        {"exercise-test": "a bias of 0.05", "exercise-fool": "InvalidDistribution"},
    ),
    "not mended": Submission(
        "Lesson 02's sampler, 0/0 and all; k counted from 0; the pairs the wrong way round.",
        {
            "04": """
# %% exercise-audit
def mended(p, q, rng):
    x = int(np.searchsorted(np.cumsum(q), rng.random(), side="right"))
    if rng.random() * q[x] < p[x]:
        return x
    lacking = np.maximum(np.subtract(p, q), 0)
    return int(np.searchsorted(np.cumsum(lacking / lacking.sum()), rng.random(), side="right"))
# %% exercise-cut
def best_cut(p, q):
    return int(np.argmax(np.round([overlap(p, top_k(q, k)) for k in range(1, len(p) + 1)], 12)))
# %% exercise-argmax
def hidden_and_shown():
    return ([0.7, 0.3], [0.4, 0.6]), ([0.4, 0.4, 0.2], [0.6, 0.2, 0.2])
"""
        },
        {"exercise-audit": "0/0", "exercise-cut": "counts from 0", "exercise-argmax": "wrong way round"},
    ),
    "clamped": Submission(
        "A residual clamped at 1e-5, which shows in large vocabularies alone; both laws cut.",
        {
            "04": f"""
# %% exercise-audit
{gallery("clamped_residual", "mended")}
# %% exercise-cut
def best_cut(p, q):
    overlaps = [overlap(top_k(p, k), top_k(q, k)) for k in range(1, len(p) + 1)]
    return int(np.argmax(np.round(overlaps, 12))) + 1
"""
        },
        {"exercise-audit": "1e-5", "exercise-cut": "target stays"},
    ),
    "a row late": Submission(
        "Each draft judged by the row before its own; the chances added.",
        {
            "05": f"""
# %% exercise-mean
def mean_tokens(alphas):
    return 1 + sum(alphas)
# %% exercise-round
{gallery("rows_one_late", "my_round")}
"""
        },
        {"exercise-mean": "multiply the chances", "exercise-round": "row"},
    ),
    "bonus always": Submission(
        "A bonus token after a rejection as well; no pair hides the fault.",
        {
            "05": f"""
# %% exercise-round
{gallery("bonus_after_rejection", "my_round")}
# %% exercise-rows
def hidden_and_shown():
    return 2 * [([[0.2, 0.8], [0.6, 0.4]], [[0.5, 0.5], [0.9, 0.1]])]
"""
        },
        {"exercise-round": "after a rejection", "exercise-rows": "first pair shows"},
    ),
    "stale cache": Submission(
        "The target's cache is not rolled back.",
        {"05": f"# %% exercise-round\n{gallery('stale_target_cache', 'my_round')}"},
        {"exercise-round": "between"},
    ),
    "one uniform": Submission(
        "One uniform for all tests of a round; as many tokens as drafts.",
        {
            "05": f"""
# %% exercise-mean
def mean_tokens(alphas):
    return np.cumprod(alphas).sum()
# %% exercise-round
{gallery("one_uniform_for_all", "my_round")}
"""
        },
        {"exercise-mean": "add 1", "exercise-round": "fresh one"},
    ),
    "host clock": Submission(
        "Does not wait for the device; textbook form; the last batch with a gain.",
        {
            "06": """
# %% exercise-ratio
def time_ratio(device, slow, quick):
    def took(name):
        start = device.now()
        device.submit(name)
        return device.now() - start

    return sum(took(slow) for _ in range(100)) / sum(took(quick) for _ in range(100))
# %% exercise-speedup
def speedup(alpha, gamma, c, costs):
    return sum(alpha**n for n in range(gamma + 1)) / (1 + gamma * c)
# %% exercise-crossover
def crossover(tokens, plain, drafted):
    return max((b for b in plain if tokens * plain[b] > drafted[b]), default=None)
"""
        },
        {"exercise-ratio": "Wait for the device", "exercise-speedup": "textbook", "exercise-crossover": "last batch"},
    ),
    "one after the other": Submission(
        "First all of one, then all of the other; costs of one draft less; one token a round.",
        {
            "06": """
# %% exercise-ratio
def time_ratio(device, slow, quick):
    def took(name):
        return np.median([device.time(lambda: device.submit(name)) for _ in range(300)])

    return took(slow) / took(quick)
# %% exercise-speedup
def speedup(alpha, gamma, c, costs):
    return sum(alpha**n for n in range(gamma + 1)) / (costs[max(gamma - 1, 0)] + gamma * c)
# %% exercise-crossover
def crossover(tokens, plain, drafted):
    return next((b for b in sorted(plain) if plain[b] <= drafted[b]), None)
"""
        },
        {"exercise-ratio": "in turns", "exercise-speedup": "costs[gamma]", "exercise-crossover": "several tokens"},
    ),
    "without reasons": Submission(
        "The mean for the sum; one prediction; verdicts without a reason; no counterexample; the wrong unit.",
        {
            "07": """
# %% exercise-brier
def my_brier(stated, truth):
    return np.mean([(mass - (kind == truth)) ** 2 for kind, mass in stated.items()])
# %% exercise-labels
def from_labels(case):
    case.predict("Elm", {"exact": 1})
# %% exercise-investigate
def investigate(case):
    for name in case.names:
        case.draw(name, 100, seed=1, length=2)
        case.conclude(name, {"exact": 1})
# %% exercise-counterexample
def counterexample(case):
    return "AB"
# %% exercise-transfer
def transfer():
    return {"quantity": "tokens a round", "unit": "seconds", "change": {"gamma": 2}, "predicted": 2.19}
"""
        },
        {
            "exercise-brier": "the sum is asked for",
            "exercise-labels": "no prediction, before the first draw, of Alder, Birch, Cedar, Dogwood, Fir",
            "exercise-investigate": "0 of 6 verdicts give a reason",
            "exercise-counterexample": "Nothing was kept",
            "exercise-transfer": "measured in 'tokens'",
        },
    ),
    "afterwards": Submission(
        "Predictions made after draws; a counterexample that is none; the baseline itself.",
        {
            "07": """
# %% exercise-labels
def from_labels(case):
    for name in case.names:
        case.draw(name, 10, seed=1, length=1)
        case.predict(name, {"exact": 0.5, "joint": 0.5})
# %% exercise-investigate
def investigate(case):
    for name in case.names:
        case.draw(name, 1000, seed=2, length=2)
        case.conclude(name, {"exact": 0.5, "joint": 0.5}, because="I have no idea.")
# %% exercise-counterexample
def counterexample(case):
    drawn = case.draws("Elm")[0]
    case.show_counterexample(drawn, "A", because="It looks odd.")
# %% exercise-transfer
def transfer():
    return {"quantity": "tokens a round", "unit": "tokens", "change": {"gamma": 1}, "predicted": 1.7}
"""
        },
        {
            "exercise-labels": "was drawn from already",
            "exercise-counterexample": "holds that",
            "exercise-transfer": "is the baseline itself",
        },
    ),
}
