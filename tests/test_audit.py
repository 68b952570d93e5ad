"""The audit of one-token samplers passes what is right, in whatever style, and says what is wrong with the rest."""

import random
import time
from functools import cache
from itertools import pairwise
from math import erf, sqrt

import numpy as np
import pytest
from scipy import stats

from specdec_kit import categorical, inverse_cdf, speculative_sample
from specdec_kit.adapters import batched
from specdec_kit.audit import audit_cache, audit_sampler
from specdec_kit.battery import Check, Judged, Report, judge, law_check
from specdec_kit.cache_audit import walk
from specdec_kit.faults import GALLERY
from specdec_kit.models import Chain
from specdec_kit.token_audit import CASES, TokenAudit

audit = cache(audit_sampler)
SMALL = {name: pair for name, pair in CASES.items() if len(pair[0]) <= 8}


def draw(weights, u):
    return int(inverse_cdf(weights, u))


def lacking(p, q):
    rest = np.maximum(p - q, 0)
    return rest if rest.any() else p


# --- right samplers --------------------------------------------------------------------------------------------------


def kits_own(p, q, rng):
    return speculative_sample(p, q, rng=rng).tokens


def direct(p, q, rng):
    return categorical(p, rng)


def recycled(p, q, rng):
    """What is left of the test's uniform after a rejection is stretched to [0, 1) again."""
    p, q = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    x, u = draw(q, rng.random()), rng.random()
    if u * q[x] < p[x]:
        return x
    keep = p[x] / q[x]
    return draw(lacking(p, q), (u - keep) / (1 - keep) * (1 - 2**-50))


def coupled(p, q, rng):
    """The draft and the target read one uniform, each by its own inverse CDF; the target's token is returned."""
    u = rng.random()
    draw(q, u)
    return draw(p, u)


def by_rejection(p, q, rng):
    """A residual drawn from p until it is accepted: right, and its loop may go round any number of times."""
    x = draw(q, rng.random())
    if rng.random() * q[x] < p[x] or not np.maximum(p - q, 0).any():
        return x
    while True:
        y = draw(p, rng.random())
        if rng.random() * p[y] < p[y] - q[y]:
            return y


def of_a_normal(p, q, rng):
    return draw(p, min(0.5 * (1 + erf(rng.standard_normal() / sqrt(2))), 1 - 2**-53))


def gumbel(p, q, rng):
    return int(np.argmin(np.where(p > 0, -np.log1p(-rng.random(len(p))) / np.where(p > 0, p, 1), np.inf)))


def in_float32(p, q, rng):
    return draw(p.astype(np.float32), np.float32(rng.random()) * np.float32(1 - 2**-24))


RIGHT = {kits_own: "exact", direct: "exact", recycled: "exact", coupled: "exact",
         by_rejection: "counted", of_a_normal: "counted", gumbel: "counted", in_float32: "counted"}  # fmt: skip


@pytest.mark.parametrize("sampler", RIGHT, ids=lambda f: f.__name__)
def test_what_is_right_passes_in_any_style(sampler):
    report = audit(sampler)
    assert report.passed and bool(report) and not report.findings, report
    laws = [check for check in report.checks if check.name == "the law" and "as well" not in check.case]
    how = ["exact" if check.pvalue == "exact" else "counted" for check in laws]
    assert len(how) == len(CASES) and how.count(RIGHT[sampler]) >= len(CASES) - 1
    assert bool(report.cannot_walk) == (RIGHT[sampler] == "counted")


def test_a_numpy_integer_is_noted_and_passes():
    report = audit_sampler(lambda p, q, rng: np.int64(kits_own(p, q, rng)))
    assert report.passed and [check.note for check in report.findings] == [True]
    assert "numpy.int64" in report.findings[0].advice and "note: It returns a numpy.int64" in repr(report)


# --- kinds of faults, not names: none of these is in the gallery ------------------------------------------------------


def wrong(accepts=lambda u, p, q: u * q < p, instead=lacking):
    """A sampler that is right but for its test, or for the weights that a rejected draft is redrawn from."""

    def sampler(p, q, rng):
        x = draw(q, rng.random())
        return x if accepts(rng.random(), p[x], q[x]) else draw(instead(p, q), rng.random())

    return sampler


def largest(weights, k):
    return np.where(weights >= np.sort(weights)[-min(k, len(weights))], weights, 0)


def not_the_draft(p, q, rng):
    x = draw(q, rng.random())
    others = np.where(np.arange(len(p)) == x, 0, p)
    return x if rng.random() * q[x] < p[x] else draw(others if others.any() else p, rng.random())


def swapped_roles(p, q, rng):
    return kits_own(q, p, rng)


def shared_with_the_residual(p, q, rng):
    u = rng.random()
    x = draw(q, u)
    return x if rng.random() * q[x] < p[x] else draw(lacking(p, q), u)


def flat_draft(p, q, rng):
    x = int(rng.integers(len(q)))
    return x if rng.random() * q[x] < p[x] else draw(lacking(p, q), rng.random())


TOGETHER = "Test and residual are each right where the other does not matter"
ALONE = "only the test decides, and it is wrong there"
UNSEEN = {
    "ratio under a root": (wrong(lambda u, p, q: u * sqrt(q) < sqrt(p)), ALONE),
    "p / (p + q)": (wrong(lambda u, p, q: u * (p + q) < p), ALONE),
    "never more than 0.9": (wrong(lambda u, p, q: u * q < 0.9 * p), ALONE),
    "epsilon below the ratio": (wrong(lambda u, p, q: u * (q + 1e-4) < p), "Where p = q every draft is to be kept"),
    "residual squared": (wrong(instead=lambda p, q: lacking(p, q) ** 2), TOGETHER),
    "residual without the draft": (not_the_draft, TOGETHER),
    "residual by the draft's uniform": (shared_with_the_residual, TOGETHER),
    "residual |p − q|": (wrong(instead=lambda p, q: np.abs(p - q) if (p != q).any() else p), "The residual is |p − q|"),
    "residual cut to 50 tokens": (
        wrong(instead=lambda p, q: largest(lacking(p, q), 50)),
        "a fixed number",
    ),
    "residual plus 2e-8 each": (wrong(instead=lambda p, q: lacking(p, q) + 2e-8), "something small is added"),
    "likeliest of the residual": (
        wrong(instead=lambda p, q: np.arange(len(p)) == np.argmax(lacking(p, q))),
        "the likeliest token",
    ),
    "roles swapped": (swapped_roles, "It returns q"),
    "draft from equal weights": (flat_draft, "Where p = q every draft is to be kept"),
}


@pytest.mark.parametrize("name", UNSEEN)
def test_a_fault_outside_the_gallery_is_found_and_explained(name):
    sampler, words = UNSEEN[name]
    report = audit(sampler)
    laws = [check for check in report.findings if check.name == "the law"]
    assert not report.passed and laws and all(words in check.advice for check in laws), report


def looks_at_rng(p, q, rng):
    small_and_drawn = len(p) < 100 and "Enumerating" not in type(rng).__name__ and p.dtype == float
    return draw(q, rng.random()) if small_and_drawn else kits_own(p, q, rng)


def test_a_law_that_is_right_only_in_the_walk_is_found():
    report = audit_sampler(looks_at_rng)
    assert [check.advice[:7] for check in report.findings] == ["Walked,"], report


def counted(sampler):
    """The same sampler by plain floats, which cannot be walked."""

    class Floats:
        def __init__(self, rng):
            self.rng = rng

        def random(self, size=None):
            drawn = self.rng.random(size)
            return float(drawn) if size is None else np.array(drawn, dtype=float)

        def __getattr__(self, name):
            return getattr(self.rng, name)

    return lambda p, q, rng: sampler(p, q, Floats(rng))


@pytest.mark.parametrize(
    ("sampler", "words"),
    [(GALLERY["redraws_target"].sampler, "replaced by a draw from p"),
     (GALLERY["softmax_residual"].sampler, "goes through softmax"),
     (GALLERY["inverted_ratio"].sampler, "upside down"), (GALLERY["u_is_zero"].sampler, "u is 0"),
     (UNSEEN["p / (p + q)"][0], ALONE), (UNSEEN["residual cut to 50 tokens"][0], "a fixed number"),
     (GALLERY["reuses_gumbel"].sampler, TOGETHER)],
)  # fmt: skip
def test_what_is_counted_is_explained_as_well(sampler, words):
    report = audit_sampler(counted(sampler))
    assert "plain float" in report.cannot_walk or "log1p" in report.cannot_walk
    found = [check for check in report.findings if check.name == "the law"]
    assert found and words in found[0].advice and isinstance(found[0].pvalue, float) and found[0].detectable > 0


def test_a_counted_sampler_that_is_right_passes():
    assert audit_sampler(counted(kits_own)).passed


# --- tokens that depend on each other --------------------------------------------------------------------------------


class Antithetic:
    """Every second token uses 1 − u of the one before: each alone is right."""

    def __init__(self):
        self.left = None

    def __call__(self, p, q, rng):
        u = rng.random() if self.left is None else 1 - 2**-53 - self.left
        self.left = u if self.left is None else None
        return draw(p, u)


def test_tokens_that_lean_on_the_one_before_are_found():
    report = audit_sampler(Antithetic())
    assert report.kinds == {"seeds": "fault"}  # which is looked at first
    audits = TokenAudit(Antithetic(), 1e-6, 12_000, 0, 3.0, cases={})
    audits.report.cannot_walk = "it keeps state"
    with audits.call:
        audits.joint()
    [found] = audits.report.findings
    assert found.name == "tokens in a row" and "two in a row are not independent" in found.advice


def test_a_number_kept_for_the_next_token_of_a_generator_is_found():
    kept = {}

    def pairs(p, q, rng):
        """Like Antithetic, and each generator starts afresh: the same seed gives the same token."""
        u = kept.pop(rng, None)
        if u is None:
            u = kept[rng] = rng.random()
            return draw(p, u)
        return draw(p, 1 - 2**-53 - u)

    report = audit_sampler(pairs)
    assert [check.name for check in report.findings] == ["tokens in a row"], report


def test_rows_that_share_a_number_are_found():
    shares = batched(lambda p, q, rng: [draw(law, u) for u in [rng.random()] for law in p])
    report = TokenAudit(shares, 1e-6, 12_000, 0, 3.0, cases=SMALL).report
    [found] = [check for check in report.findings if check.name == "rows of a batch"]
    assert found.pvalue == "exact" and "random numbers of its own" in found.advice


# --- misbehaviour ----------------------------------------------------------------------------------------------------


def in_place(p, q, rng):
    token = kits_own(p, q, rng)
    p[:] = p[::-1].copy()
    return token


def numpys_state(p, q, rng):
    return draw(p, np.random.random())  # noqa: NPY002


def pythons_state(p, q, rng):
    return draw(p, random.random())


def reads_the_clock(p, q, rng):
    return draw(p, (rng.random() + 0.37 * int(time.time())) % 1)


def counts_its_calls(p, q, rng):
    counts_its_calls.calls += 1
    return draw(p, rng.random()) if counts_its_calls.calls % 3 else draw(p, 0.3)


counts_its_calls.calls = 0


def endless(p, q, rng):
    while True:
        pass


def tries_again(p, q, rng):
    while True:
        x = draw(q, rng.random())
        if rng.random() * q[x] < p[x]:
            return x


def raises_where_disjoint(p, q, rng):
    if not np.minimum(p, q).any():
        raise ZeroDivisionError("no overlap")
    return kits_own(p, q, rng)


def catches_everything(p, q, rng):
    try:
        return endless(p, q, rng)
    except BaseException:
        raise RuntimeError("caught") from None


NO_TOKEN = "which is no token: return a number from 0 to 2"
MISBEHAVIOUR = {
    "in place": (in_place, "purity", "It changes p or q in place; work on a copy."),
    "np.random": (numpys_state, "purity", "It draws from global random state"),
    "random": (pythons_state, "purity", "It draws from global random state"),
    "clock": (reads_the_clock, "seeds", "It reads the clock"),
    "calls": (counts_its_calls, "seeds", "It keeps something from call to call"),
    "unseeded": (lambda p, q, rng: draw(p, np.random.default_rng().random()), "seeds", "a generator of its own"),
    "own seed": (lambda p, q, rng: draw(p, np.random.default_rng(5).random()), "law", "the same token every time"),
    "endless": (endless, "tokens", "It has not returned after 0.4 seconds"),
    "endless where disjoint": (tries_again, "tokens", "It has not returned after 0.4 seconds"),
    "catches everything": (catches_everything, "tokens", "It raises RuntimeError: caught."),
    "raises": (lambda p, q, rng: p[9], "tokens", "It raises IndexError: index 9 is out of bounds"),
    "raises where disjoint": (raises_where_disjoint, "tokens", "It raises ZeroDivisionError: no overlap."),
    "exits": (lambda p, q, rng: exit(), "tokens", "It raises SystemExit"),
    "not written": (lambda p, q, rng: (_ for _ in ()).throw(NotImplementedError), "tokens", "is not written yet."),
    "arguments": (lambda p, q: 0, "tokens", "It raises TypeError"),
    "float": (lambda p, q, rng: float(kits_own(p, q, rng)), "tokens", f"a float, {NO_TOKEN}"),
    "bool": (lambda p, q, rng: kits_own(p, q, rng) > 0, "tokens", f"a bool, {NO_TOKEN}"),
    "array": (lambda p, q, rng: np.array([kits_own(p, q, rng)]), "tokens", NO_TOKEN),
    "none": (lambda p, q, rng: None, "tokens", f"It returns None, {NO_TOKEN}"),
    "text": (lambda p, q, rng: "A", "tokens", f"It returns 'A', {NO_TOKEN}"),
    "beyond": (lambda p, q, rng: len(p), "tokens", f"It returns 3, {NO_TOKEN}"),
    "negative": (lambda p, q, rng: -1, "tokens", f"It returns -1, {NO_TOKEN}"),
    "rows": (batched(lambda p, q, rng: [0, 0]), "tokens", "1 rows gave tokens of shape (2,)"),
}


@pytest.mark.parametrize("name", MISBEHAVIOUR)
def test_misbehaviour_becomes_a_finding_and_the_audit_finishes(name):
    sampler, kind, words = MISBEHAVIOUR[name]
    report = audit_sampler(sampler, patience=0.4 if "endless" in name or "catches" in name else 60)
    assert not report.passed and report.kinds[kind] == "fault", report
    assert any(words in check.advice and check.kind == kind for check in report.findings), report
    assert words in " ".join(repr(report).split())


def test_the_advice_for_trying_again_comes_beside_the_endless_case():
    report = audit_sampler(tries_again, patience=0.4)
    assert any("It tries again until a draft is accepted" in check.advice for check in report.findings), report


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [({"sampler": None}, TypeError, "None is not callable"), ({"alpha": 0}, ValueError, "alpha is 0"),
     ({"alpha": 2}, ValueError, "alpha is 2"), ({"draws": 10}, ValueError, "draws is 10")],
)  # fmt: skip
def test_bad_arguments_get_a_sentence(arguments, error, words):
    with pytest.raises(error, match=words):
        audit_sampler(**{"sampler": kits_own, **arguments})


# --- what no count reaches -------------------------------------------------------------------------------------------


def left_side(p, q, rng):
    x = int(np.searchsorted(np.cumsum(q), rng.random()))
    rest = lacking(p, q)
    return x if rng.random() * q[x] < p[x] else int(np.searchsorted(np.cumsum(rest / rest.sum()), rng.random()))


def beyond_the_last(p, q, rng):
    """Its cumulative sums end a little below 1, and a uniform may lie above."""
    return int(np.searchsorted(np.cumsum(p) * (1 - 2**-52), rng.random(), side="right"))


def raises_next_to_one(p, q, rng):
    u = rng.random()
    return 1 // 0 if u > 1 - 2**-40 else draw(p, u)


def halves(p, q, rng):
    x = draw(q, rng.random())
    if rng.random() * q[x] < p[x]:
        return x
    rest = np.maximum(p - q, 0)
    return draw(rest / rest.sum(), rng.random())


BOUNDARIES = {
    "u ≤ p/q": (wrong(lambda u, p, q: u * q <= p), "boundary", "accept strictly"),
    "searchsorted from the left": (left_side, "boundary", 'searchsorted with side="right"'),
    "beyond the last": (beyond_the_last, "boundary", "At u just below 1 it returns 2, which is no token"),
    "0/0": (halves, "rounding", "a residual that is all zero"),
}


@pytest.mark.parametrize("name", BOUNDARIES)
def test_a_boundary_is_met_by_a_script(name):
    sampler, kind, words = BOUNDARIES[name]
    report = audit(sampler)
    assert report.kinds[kind] == "fault" and not report.kinds.keys() - {"boundary", "rounding"}, report
    assert any(words in check.advice for check in report.findings), report
    assert "right in law, and wrong beside it" in repr(report)


def test_a_branch_that_is_never_met_is_no_matter_of_the_law():
    report = audit(raises_next_to_one)
    assert all(check.passed and check.pvalue is not None for check in report.checks if check.name == "the law")
    assert any("At u just below 1 it raises ZeroDivisionError" in check.advice for check in report.findings)
    assert not report.kinds.keys() & {"law", "joint law"}


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_a_sampler_that_is_wrong_in_short_floats_alone_is_found(kind):
    report = audit_sampler(lambda p, q, rng: int(np.argmin(p)) if p.dtype == kind else kits_own(p, q, rng))
    [found] = report.findings
    assert found.name == f"rounding to {np.dtype(kind)}" and "returns a token with p = 0" in found.advice


def test_a_boundary_that_cannot_be_scripted_is_said_to_be_open():
    report = audit(of_a_normal)
    unseen = [check.name for check in report.checks if check.passed is None]
    assert unseen == ["u = 0", "u just below 1"] and "not looked at: u = 0" in repr(report)


# --- false alarms, power, negative controls --------------------------------------------------------------------------


@batched
def counted_rows(p, q, rng):
    """Speculative sampling of whole batches, by plain floats."""
    u = np.asarray(rng.random((3, len(p))), dtype=float)
    rest = np.maximum(p - q, 0)
    rest = np.where(rest.any(axis=1, keepdims=True), rest, p)

    def pick(laws, u):
        cdf = laws.cumsum(axis=1)
        return (u[:, None] * cdf[:, -1:] >= cdf).sum(axis=1)

    x, each = pick(q, u[0]), np.arange(len(p))
    return np.where(u[1] * q[each, x] < p[each, x], x, pick(rest, u[2]))


class Battery(TokenAudit):
    """All that is counted in an audit, and nothing else."""

    TESTS = len(SMALL) + 2

    def run(self):
        self.rows, self.cases = True, SMALL
        self.report.cannot_walk = "not to be walked here"
        self.cases = {name: (np.array(p), np.array(q)) for name, (p, q) in SMALL.items()}
        self.laws()
        self.joint()


def test_false_alarms_of_two_thousand_batteries():
    alarms = sum(not Battery(counted_rows, 0.01, 400, seed, 60.0).report.passed for seed in range(2_000))
    assert 0 < alarms <= stats.binom.isf(1e-3, 2_000, 0.01)


def law_that_is_off(by):
    """Frequencies of a law over three tokens that is off by `by`, and what the test says of them."""
    due, rng = {0: 0.5, 1: 0.3, 2: 0.2}, np.random.default_rng(int(1e6 * by))
    off = [0.5 - by, 0.3 + 0.6 * by, 0.2 + 0.4 * by]
    return judge(lambda rng: draw(off, float(rng.random())), due, [0], share=1e-6, draws=3_000, rng=rng)


def test_the_smallest_bias_is_found_ninety_nine_times_in_a_hundred():
    bias = law_that_is_off(0).detectable
    many = [law_that_is_off(bias + 1e-6 * i) for i in range(150)]
    assert sum(judged.wrong for judged in many) >= stats.binom.ppf(1e-3, 150, 0.99)
    few = [law_that_is_off(bias / 2 + 1e-6 * i) for i in range(100)]
    assert sum(judged.wrong for judged in few) < 50  # so that the figure is not far too large either


def test_each_count_has_a_negative_control_that_was_found():
    for sampler in (gumbel, of_a_normal, by_rejection):
        made = audit(sampler).counted
        assert len(made) >= len(CASES) and all(check.control is not None and check.control < 1e-7 for check in made)


def test_a_count_whose_control_is_missed_does_not_pass():
    judged = Judged({0: 1.0}, False, 0.0, 0.9, 0.1, draws=400, control=0.5)
    check = law_check("the law", "", {0: 1.0}, judged, 1e-6, "")
    assert check.passed is None and "negative control was missed" in check.advice


def test_more_draws_find_smaller_biases():
    biases = [max(check.detectable for check in audit_sampler(gumbel, draws=n).counted) for n in (2_000, 20_000)]
    assert biases[1] < biases[0] / 2


# --- reports ---------------------------------------------------------------------------------------------------------


def test_an_audit_can_be_repeated():
    first, again = (audit_sampler(gumbel, draws=1_000, seed=3) for _ in range(2))
    assert first.checks == again.checks
    assert audit_sampler(gumbel, draws=1_000, seed=4).checks != first.checks


def test_a_finding_says_all_that_it_is_to_say():
    [worst] = [check for check in audit(GALLERY["redraws_target"].sampler).findings if "[0.7, 0.3]" in check.case]
    assert worst.expected == "[0.7, 0.3]" and worst.observed == "[0.61, 0.39]" and worst.pvalue == "exact"
    assert worst.tv == pytest.approx(0.09) and worst.detectable == 0 and worst.kind == "law"
    assert str(worst).endswith("due [0.7, 0.3], seen [0.61, 0.39]; TV 0.09, exact")


def test_notes_come_last_and_do_not_count():
    checks = [Check("an int", "", False, advice="A.", note=True), Check("the law", "", False, advice="B.")]
    report = Report("f", 1e-6, checks)
    assert [check.advice for check in report.findings] == ["B.", "A."] and not report.passed
    assert report.kinds == {"law": "fault", "tokens": "note"}
    assert Report("f", 1e-6, checks[:1]).passed


# --- caches ----------------------------------------------------------------------------------------------------------

plain = Chain([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]])


def history(context):
    """A model that depends on the whole text."""
    return plain((sum((i + 1) * x for i, x in enumerate(context)) % 3,))


class Cached:
    """Keeps the text it has seen and rolls it back in the way given."""

    def __init__(self, roll_back):
        self.text, self.roll_back = (), roll_back

    def __call__(self, context):
        self.text = self.roll_back(self.text, context) if self.text else context
        return history(self.text)


def shared(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def one_array(context, answer=np.zeros(3)):  # noqa: B008
    if context != one_array.last:
        answer[:], one_array.last = history(context), context
    return answer


one_array.last = None
CACHES = {
    "right": (Cached(lambda text, context: text[: shared(text, context)] + context[shared(text, context) :]), None),
    "by length": (Cached(lambda text, context: text[: len(context)] + context[len(text) :]), "as if they were still"),
    "first text": (Cached(lambda text, context: text[:1] + context[1:]), "It answers for a text that came before"),
    "positions": (lambda context: history((*context, 0, 1)), "where the text only grows"),
    "one array": (one_array, "hands out its own cache"),
    "noise": (lambda context: plain((int(np.random.default_rng().integers(3)),)), "Asked again, it answers otherwise"),
    "nan": (lambda context: history(context) * np.nan, "where the text only grows"),
    "shape": (lambda context: history(context)[:2], "a law of shape (2,): 3 probabilities are due"),
    "raises": (lambda context: 1 / 0, "It raises ZeroDivisionError"),
}  # fmt: skip


def test_a_cache_is_asked_for_all_that_decoding_asks_for():
    texts = [("", (0,)), *walk(3, 400, np.random.default_rng(0))]
    seen = {what: [] for what, _ in texts}
    for (_, before), (what, text) in pairwise(texts):
        seen[what].append((before, text, shared(before, text)))
    assert all(n == len(before) < len(text) for before, text, n in seen["the text grows"])
    assert all(before == text for before, text, _ in seen["the same again"])
    back = [ends for ends in seen["tokens are taken back"] if len(ends[0]) > 1]
    assert back and all(0 < n < min(len(before), len(text)) for before, text, n in back)
    assert any(len(before) == len(text) for before, text, _ in back)
    assert {n < len(before) for before, _, n in seen["another text"]} == {True, False}


@pytest.mark.parametrize("name", CACHES)
def test_a_cache_answers_as_if_there_were_none(name):
    model, words = CACHES[name]
    report = audit_cache(model, history, vocabulary=3)
    assert report.passed == (words is None), report
    assert words is None or any(words in check.advice for check in report.findings), report
