"""Break the kit in many small ways and see that tests and lessons notice: `python tests/mutants.py`.

Each mutant is a copy of the kit with one text replaced. It is run by the unit tests of its module; and, where a lesson
is to notice it, by the worked notebooks alone under nbval as well. A test that fails kills it. A mutant that one of the
two lets live, one that no test could be run on, and an unmutated copy that fails are each a failure of this script.

    python tests/mutants.py [--only NAME ...] [--jobs N]
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 1800  # seconds for one run; the unmutated copy, which runs all, takes several minutes
UNIT = {
    **dict.fromkeys(("distributions", "sampling", "law"), ("distributions", "sampling", "law", "models")),
    "uncertainty": ("uncertainty",),
    **{name: (name,) for name in ("blocks", "schemes", "acceptance", "models", "drafts", "greedy")},
    **{name: (name,) for name in ("clocks", "timing", "recordings")},
    **{name: (name,) for name in ("mysteries", "investigation")},
    "battery": ("battery", "audit"),
    "diagnosis": ("diagnosis", "audit"),
    "token_audit": ("audit",),
    "cache_audit": ("audit",),
    "coursework/slices": ("slices",),
    **dict.fromkeys(("coursework/plain", "coursework/sandbox", "coursework/remote"), ("remote",)),
}
"""The test files that are to kill the mutants of a module."""
SLOW = "tests/test_audit.py::test_false_alarms_of_two_thousand_batteries"  # left out


class Mutant(NamedTuple):
    name: str
    file: str
    old: str
    new: str
    lesson: str = "01"  # the notebook that is likeliest to notice; "" where none is to
    tests: str = ""  # which of the unit tests alone are to notice, by a part of their names; "" for all


# fmt: off
MUTANTS = [
    # --- distributions
    Mutant("overlap: the larger of the two", "distributions",
           "return np.minimum(target, draft).sum(axis=-1)", "return np.maximum(target, draft).sum(axis=-1)"),
    Mutant("total variation: without the half", "distributions",
           "np.abs(target - draft).sum(axis=-1) / 2", "np.abs(target - draft).sum(axis=-1)"),
    Mutant("acceptance: ratio inverted", "distributions",
           "np.minimum(target, draft)[proposed] / draft[proposed]",
           "np.minimum(target, draft)[proposed] / target[proposed]"),
    Mutant("acceptance: without min", "distributions",
           "np.minimum(target, draft)[proposed] / draft[proposed]", "target[proposed] / draft[proposed]"),
    Mutant("acceptance: 1 where q = 0", "distributions", "np.full(target.shape, np.nan,", "np.full(target.shape, 1,"),
    Mutant("residual: not clipped", "distributions",
           "lacking = np.maximum(target - draft, 0)", "lacking = target - draft"),
    Mutant("residual: absolute difference", "distributions",
           "lacking = np.maximum(target - draft, 0)", "lacking = np.abs(target - draft)"),
    Mutant("residual: q - p", "distributions",
           "lacking = np.maximum(target - draft, 0)", "lacking = np.maximum(draft - target, 0)"),
    Mutant("residual: not normalised", "distributions", "return lacking / total", "return lacking"),
    Mutant("residual: NaN where p = q", "distributions", "if np.any(total == 0):", "if np.any(total < 0):"),
    Mutant("laws: a wrong sum passes", "distributions",
           "if not (law.min() >= 0 and np.max(np.abs(law.sum(axis=-1) - 1)) <= most):", "if not law.min() >= 0:", "00"),
    Mutant("laws: a negative entry passes", "distributions",
           "if not (law.min() >= 0 and", "if not (law.min() >= -1 and", "00"),
    Mutant("laws: float16 is not renormalised", "distributions",
           "return law / law.sum(axis=-1, keepdims=True) if coarsest > EPSILON else law", "return law"),
    Mutant("softmax: not normalised", "distributions",
           "return weight / weight.sum(axis=-1, keepdims=True)", "return weight", "02"),
    Mutant("softmax: overflows", "distributions", "weight = np.exp(z - top)", "weight = np.exp(z)", "02"),
    Mutant("temperature: multiplies", "distributions",
           "keepdims=True)) / float(t))", "keepdims=True)) * float(t))", "02"),
    Mutant("temperature 0: the least probable", "distributions", "law.argmax(axis=-1)", "law.argmin(axis=-1)", "02"),
    Mutant("top-k: one too many", "distributions", "np.arange(law.shape[-1]) < k", "np.arange(law.shape[-1]) <= k",
           "02"),
    Mutant("top-k: the last of equals", "distributions",
           'order = np.argsort(-law, axis=-1, kind="stable")\n    return _keep(law, np.broadcast_to',
           'order = np.argsort(law, axis=-1, kind="stable")[..., ::-1]\n    return _keep(law, np.broadcast_to', "02"),
    Mutant("top-p: one too many at the boundary", "distributions", "before < mass", "before <= mass", "02"),
    Mutant("top-p: up to the mass, not past it", "distributions", "- ranked  # mass", "# mass", "02"),
    Mutant("top-k, top-p: not normalised", "distributions",
           "return cut / cut.sum(axis=-1, keepdims=True)", "return cut", "02"),
    # --- sampling
    Mutant("inverse CDF: side left", "sampling", 'side="right"', 'side="left"', "02"),
    Mutant("inverse CDF: summed from the end", "sampling", "cdf = np.cumsum(p)", "cdf = np.cumsum(p[::-1])", "02"),
    Mutant("inverse CDF: not divided by its last", "sampling", "cdf / cdf[-1], u", "cdf, u", "02"),
    Mutant("test: u = 0 lets p = 0 pass", "sampling", "< target[drafts]", "<= target[drafts]", "02"),
    Mutant("test: ratio inverted", "sampling",
           "draft[drafts] < target[drafts]", "target[drafts] < draft[drafts]", "02"),
    Mutant("test: reuses the draft's uniforms", "sampling",
           "rng.random(shape))\n    # Strictly below: u can be 0, and a token with p = 0 must not pass.\n"
           "    accepted = rng.random(shape) *",
           "u := rng.random(shape))\n    accepted = u *", "02"),
    Mutant("sampler: target and draft swapped", "sampling",
           "target, draft = as_pair(p, q)", "draft, target = as_pair(p, q)", "02"),
    Mutant("sampler: the accepted ones are replaced", "sampling",
           "np.flatnonzero(~accepted)", "np.flatnonzero(accepted)", "02"),
    Mutant("sampler: says the opposite of accepted", "sampling",
           "return Draws(tokens, drafts, accepted)", "return Draws(tokens, drafts, ~accepted)", "02"),
    Mutant("sampler: returns drafts", "sampling",
           "return Draws(tokens, drafts, accepted)", "return Draws(drafts, drafts, accepted)", "02"),
    Mutant("sampler: returns the draft, one draw", "sampling",
           "return Draws(int(tokens[0])", "return Draws(int(drafts[0])", "02"),
    Mutant("residual draw: from p", "sampling",
           "lacking = np.maximum(target - draft, 0)", "lacking = target", "02"),
    Mutant("residual draw: one uniform for all", "sampling",
           "rng.random(rejected.size)", "rng.random()", "02"),
    Mutant("residual draw: from a seed of its own", "sampling",
           "rng.random(rejected.size)", "np.random.default_rng(7).random(rejected.size)", "02"),
    Mutant("residual draw: from nothing, where p = q but for rounding", "sampling",
           "if lacking.any():", "if True:", "02"),
    # --- law
    Mutant("uniform: not narrowed below a cut", "law", "self.high = cut", "pass", "02"),
    Mutant("uniform: not narrowed above a cut", "law", "self.low = cut", "pass", "02"),
    Mutant("uniform: the branches swap their masses", "law", "[share, 1 - share]", "[1 - share, share]"),
    Mutant("uniform: the share of the whole, not of the part", "law",
           "share = (cut - self.low) / (self.high - self.low)", "share = cut - self.low", "02"),
    Mutant("uniform: > is not turned round", "law",
           "return below if below is NotImplemented else not below", "return below", "02"),
    Mutant("uniform: < with a falling line is not turned round", "law",
           "return self._drawn.below(cut) if line._slope > 0 else not self._drawn.below(cut)",
           "return self._drawn.below(cut)", "02"),
    Mutant("uniform: 1 - u is 1 + u", "law", "return self._line(other, -1, 1)", "return self._line(other, 1, 1)", "02"),
    Mutant("uniform: floor one too high", "law", "return n - 1", "return n", "02"),
    Mutant("uniforms: two may be compared", "law",
           "if other._drawn is not self._drawn:", "if False:", "02"),
    Mutant("walk: branches without mass are walked", "law",
           "support = [i for i, x in enumerate(p) if x]", "support = list(range(len(p)))"),
    Mutant("walk: only the likeliest branch is walked", "law",
           "self.leave(index, mass, len(masses))\n        #", "pass\n        #"),
    Mutant("walk: a repeated outcome replaces the first", "law",
           "law[outcome] = law.get(outcome, Fraction(0)) + walk.mass", "law[outcome] = walk.mass"),
    Mutant("walk: stopped runs count as covered", "law", "law, covered,\n", "law, Fraction(1),\n"),
    Mutant("walk: hidden state is not noticed", "law",
           "if len(masses) != count or masses[index] != mass:", "if False:", "02"),
    Mutant("walk: global state is not noticed", "law", "if before != _global_states():", "if False:", "02"),
    Mutant("rng.integers: low is left out", "law", "int(low) + self._walk.choose(equal)", "self._walk.choose(equal)",
           "00"),
    Mutant("rng.integers: endpoint is left out", "law", "int(high) - int(low) + endpoint", "int(high) - int(low)",
           "00"),
    Mutant("rng.choice: p is left out", "law",
           "values = np.arange(a) if isinstance(a, int | np.integer) else np.asarray(a)",
           "values, p = np.arange(a) if isinstance(a, int | np.integer) else np.asarray(a), None"),
    Mutant("rng.choice: wrong arguments pass", "law",
           "_NUMPY.choice(a, size, replace, weights, axis, shuffle)", "pass"),
    Mutant("numbers: floats are taken to the last bit", "law",
           "return near if abs(near - Fraction(x)) <= Fraction(abs(x)) / 2**46 else Fraction(x)",
           "return Fraction(x)"),
    Mutant("numbers: near is too far", "law", "Fraction(abs(x)) / 2**46", "Fraction(abs(x)) / 2**26", "02"),
    Mutant("law.map: the last outcome replaces the others", "law",
           "image[value] = image.get(value, Fraction(0)) + mass", "image[value] = mass", "02"),
    Mutant("law.total_variation: without the half", "law", "            )\n            / 2\n", "            )\n"),
    # --- uncertainty
    Mutant("Clopper-Pearson: one-sided", "uncertainty",
           "k, tail = _within(counts, draws), (1 - _level(level)) / 2",
           "k, tail = _within(counts, draws), 1 - _level(level)", "03"),
    Mutant("Clopper-Pearson: ends swapped", "uncertainty",
           "np.stack([low, high], axis=-1)", "np.stack([high, low], axis=-1)", "03"),
    Mutant("Clopper-Pearson: upper end of one count less", "uncertainty",
           "special.betainccinv(k + 1, draws - k, tail)", "special.betainccinv(k, draws - k + 1, tail)", "03"),
    Mutant("Wilson: centre at the frequency", "uncertainty",
           "centre = (k + z**2 / 2) / (draws + z**2)", "centre = k / draws", "03"),
    Mutant("band: without Bonferroni", "uncertainty",
           "1 - (1 - _level(level)) / k.size)", "level)", "03"),
    Mutant("p-value: one-sided", "uncertainty",
           "np.minimum(1.0, 2 * np.minimum(stats", "np.minimum(1.0, np.minimum(stats", "03"),
    Mutant("p-value: as many or more is more", "uncertainty",
           "stats.binom.sf(counts - 1, draws, p)", "stats.binom.sf(counts, draws, p)", "03"),
    Mutant("fit: without Bonferroni", "uncertainty",
           "float(each.min()) * int(possible.sum())", "float(each.min())", "03"),
    Mutant("fit: χ² is believed in the far tail", "uncertainty", "if pearson >= reach:", "if True:", "03"),
    Mutant("fit: χ² is believed with few expected", "uncertainty",
           "due.min().round(9) < 5", "due.min().round(9) < 1", ""),
    Mutant("power: one test of many", "uncertainty", "isf(alpha / tests / 2)", "isf(alpha / 2)", "03"),
    Mutant("noise floor: halved twice", "uncertainty",
           "float(deviation.sum() / 2)", "float(deviation.sum() / 4)", "03"),
    Mutant("noise floor: ⌊np⌋", "uncertainty", "m = np.floor(n * law) + 1", "m = np.floor(n * law)", ""),
    Mutant("looking: another logarithm", "uncertainty", ">= -np.log(self.alpha)", ">= -np.log10(self.alpha)", "03"),
    Mutant("looking: only the last look counts", "uncertainty", "self.counts += np", "self.counts = np", "03"),
    Mutant("report: α for each of two tests", "uncertainty", "> self.alpha / 2", "> self.alpha", ""),
    Mutant("report: one test is enough to pass", "uncertainty",
           "min(self.smallest, self.fit.pvalue)", "max(self.smallest, self.fit.pvalue)", ""),
    # --- blocks
    Mutant("block: the bonus from the row before", "blocks", "rows[gamma], rng", "rows[gamma - 1], rng", "05"),
    Mutant("block: rows one late", "blocks",
           '"target", context + drafted[:n])', '"target", context + drafted[: max(n - 1, 0)])', "05"),
    Mutant("block: the draft forgets what it drafted", "blocks",
           '"draft", context + drafted)', '"draft", context)', "05"),
    Mutant("block: u = 0 lets p = 0 pass", "blocks", "* q[x] < p[x]", "* q[x] <= p[x]", ""),
    Mutant("block: residual not clipped", "blocks", "lacking = np.maximum(p - q, 0)", "lacking = p - q", "05"),
    Mutant("block: a residual that is all zero", "blocks", "if lacking.any():", "if True:", ""),
    Mutant("block: the rejected one counts as accepted", "blocks",
           "return Round(drafted, n, (", "return Round(drafted, n + 1, (", "05"),
    Mutant("block: the corrected one counts as accepted", "blocks",
           'if n < self.accepted else last', 'if n <= self.accepted else last', "05"),
    Mutant("block: fewer rows than places pass", "blocks", "if len(rows) != len(drafted) + 1:", "if not rows:", ""),
    Mutant("block: vocabularies of any size", "blocks", "if len(words) != len(others):", "if not words:", ""),
    Mutant("text: one token too many", "blocks", "tokens=done.tokens[:left]", "tokens=done.tokens[: left + 1]", ""),
    Mutant("text: without its end", "blocks", "done.tokens.index(end) + 1]", "done.tokens.index(end)]", "05"),
    Mutant("text: goes on after its end", "blocks",
           "                return\n\n    return stream()", "                pass\n\n    return stream()", "05"),
    Mutant("text: an end in the prompt ends it", "blocks",
           "yield done\n            if end in done.tokens", "yield done\n            if end in text", ""),
    Mutant("text: only the last block is passed on", "blocks",
           "draft, text, min(", "draft, start + (rounds[-1].tokens if rounds else ()), min(", "05"),
    Mutant("text: drafts that cannot be kept", "blocks", "min(drafts, left - 1)", "min(drafts, left)", ""),
    Mutant("text: γ as at first", "blocks", "size(text, rounds)", "size(start, ())", "05"),
    # --- schemes
    Mutant("matching: keeps what differs", "schemes", "        if x != y:", "        if x == y:", "05"),
    Mutant("noise: uniform", "schemes", "-np.log1p(-rng.random(len(law)))", "rng.random(len(law))", ""),
    Mutant("noise: not shared", "schemes",
           "zip(rows, noise, strict=False)]", "zip(rows, noise[::-1], strict=False)]", ""),
    Mutant("noise: p and q swapped", "schemes", "above / p[order] + below / q[order]",
           "above / q[order] + below / p[order]", "05"),
    Mutant("whole block: weights above 1", "schemes", "weight = min(1, weight *", "weight = (weight *", "05"),
    Mutant("whole block: weights forgotten", "schemes", "min(1, weight * rows", "min(1, rows", "05"),
    Mutant("whole block: the residual without its weight", "schemes", "accepted, lacking = n, left",
           "accepted, lacking = n, np.maximum(rows[n] - laws[n], 0) if n < gamma else left", ""),
    # --- acceptance
    Mutant("tokens a round: without the last", "acceptance", "range(gamma + 1))", "range(gamma))", "05"),
    Mutant("tally: all drafts count as tested", "acceptance",
           "tested = min(one.accepted + 1, len(one.drafted))", "tested = len(one.drafted)", "05"),
    Mutant("places: the rejected one passed", "acceptance", "n < one.accepted", "n <= one.accepted", "05"),
    # --- models, drafts, greedy, transcript
    Mutant("reshaped: always at temperature 1", "models", "temperature(law, t)", "temperature(law, 1)", "05"),
    Mutant("reshaped: without top-p", "models", "if mass is None else top_p(law, mass)", "if True else None", ""),
    Mutant("lookup: the first of several", "drafts", "tokens[ends[-1] + 1]", "tokens[ends[0] + 1]", ""),
    Mutant("n-gram: without the shorter context", "drafts", "law *= rest[at] / total", "law *= 0", ""),
    Mutant("near-tie: within δ", "greedy", "<= 2 * self.change", "<= self.change", ""),
    Mutant("gap: to the least", "greedy", "return first - second", "return first - rows.min(axis=-1)", ""),
    # --- clocks, timing, recordings
    Mutant("clock: does not wait for the end", "clocks",
           "run()\n        self.synchronise()\n", "run()\n", "06"),
    Mutant("clock: counts what was ordered before", "clocks",
           "        self.synchronise()\n        start = self.now()\n", "        start = self.now()\n", ""),
    Mutant("device: each run is cold", "clocks", "took += 0 if name in self.runs else self.cold",
           "took += self.cold", "06"),
    Mutant("turns: in one order", "timing", "for n in shuffled(len(names), rng):", "for n in range(len(names)):", ""),
    Mutant("turns: those before the count are counted", "timing", "turn >= 0, clock.time", "True, clock.time", "06"),
    Mutant("ratio: of quick over slow", "timing",
           "a.sum(axis=-1) / b.sum(axis=-1)", "b.sum(axis=-1) / a.sum(axis=-1)", "06"),
    Mutant("cost curve: means", "timing", "float(np.median(times(self.samples, n)))",
           "float(np.mean(times(self.samples, n)))", "06"),
    Mutant("speed-up: a pass over the drafts alone", "timing",
           "verify_cost(gamma + 1)", "verify_cost(max(gamma, 1))", "06"),
    Mutant("speed-up: one call of the draft", "timing", "else 1.0) + gamma * c)", "else 1.0) + c)", "06"),
    Mutant("rounds: a pass over the drafts alone", "timing",
           "curve.seconds(gamma + 1)", "curve.seconds(max(gamma, 1))", "06"),
    Mutant("roofline: both one after the other", "timing",
           "np.maximum(weights / bandwidth, rows * operations / peak)",
           "weights / bandwidth + rows * operations / peak", "06"),
    Mutant("prediction: without the prompt", "recordings",
           "text.prompt_seconds + seconds_of_rounds", "seconds_of_rounds", "06"),
    Mutant("prediction: greedy rounds at the cost of the others", "recordings",
           'f"{what}, greedy" for what in whats', "what for what in whats", "06"),
    Mutant("recordings: of any device", "recordings",
           'if device in ("", one.provenance["device"]["kind"])', "if True", "06"),
    Mutant("bootstrap: the last row is never drawn", "uncertainty", "count)) * count)", "count)) * (count - 1))", "06"),
    # --- mysteries, investigation
    Mutant("mysteries: all of p is lacking", "mysteries", "rest = np.maximum(p - q, 0)", "rest = p", "07"),
    Mutant("mysteries: nothing is lacking, and drawn from", "mysteries", "return rest if rest.any() else p",
           "return rest", ""),
    Mutant("mysteries: the source stays hidden", "mysteries", "    linecache.cache[", "    {}[", ""),
    Mutant("score: nothing came true", "investigation", "stated.get(kind, 0) - (kind == truth)", "stated.get(kind, 0)",
           "07"),
    Mutant("score: without squares", "investigation", "- (kind == truth)) ** 2 for", "- (kind == truth)) for", "07"),
    Mutant("score: all classes are alike", "investigation", "mass * brier(stated, truth)", "brier(stated, truth) / 2",
           "07"),
    Mutant("budget: without end", "investigation", "if times > self.left:", "if False:", "07"),
    Mutant("budget: the same call is refused", "investigation", "if known == call:", "if False:", "07"),
    Mutant("budget: a seed for all draws", "investigation", "default_rng([seed, number])", "default_rng([1, number])",
           "07"),
    Mutant("budget: one stream for all samplers", "investigation", "default_rng([seed, number])", "default_rng(seed)",
           "07"),
    Mutant("draws: of the first token alone", "investigation", "Counter(text[:n] for text in self.texts)",
           "Counter(text[:1] for text in self.texts)", "07"),
    Mutant("predictions: after the draws", "investigation",
           "if self.draws(self._known(name)) and self.predicted.get(name) != made:", "if False:", ""),
    Mutant("verdict: changed once it is seen", "investigation",
           "if self._known(name) in self.revealed and self.verdicts[name] != made:", "if False:", ""),
    Mutant("verdict: not needed", "investigation", "if self._known(name) not in self.verdicts:", "if False:", ""),
    Mutant("verdict: NaN is a probability", "investigation", "not abs(sum(masses.values()) - 1) <= 1e-9",
           "abs(sum(masses.values()) - 1) > 1e-9", ""),
    Mutant("counterexample: each text by itself", "investigation", "tuple(found.band[at]", "tuple(found.interval[at]",
           "07"),
    Mutant("counterexample: any text", "investigation", "if not made.excludes:", "if False:", ""),
    Mutant("transfer: in any unit", "investigation", "if unit != QUANTITIES[quantity][0]:", "if False:", "07"),
    Mutant("transfer: several things change", "investigation", "if len(change) != 1 or not", "if not", ""),
    Mutant("page: a reader's words are markup", "investigation",
           'f"<td>{html.escape(cell)}</td>" for cell in rest', 'f"<td>{cell}</td>" for cell in rest', ""),
    # --- battery
    Mutant("battery: α for each test", "battery", "draws, alpha / self.TESTS", "draws, alpha", ""),
    Mutant("battery: one generator, ever the same", "battery", "self.seeds.spawn(1)[0]", "self.seeds", ""),
    Mutant("count: p-values of one cell", "battery", "cells * each.min()", "each.min()", ""),
    Mutant("count: without the event", "battery",
           "np.append(k, k[inside].sum()), n, np.clip(np.append(p, mass)", "k, n, np.clip(p", ""),
    Mutant("count: a bias found every other time", "battery",
           "share / cells / 2, 0.99)", "share / cells / 2, 0.5)", ""),
    Mutant("count: does not end in time", "battery", "if i >= LEAST and time", "if False and time", ""),
    Mutant("control: not off", "battery",
           "off = np.clip(p + min(1.2 * bias, 0.9 * mass) * shift, 0, None)", "off = p", ""),
    Mutant("control: missed, and passes", "battery",
           "and judged.control > share and", "and False and", "", "control_is_missed"),
    Mutant("exact: a hundredth is rounding", "battery", "ROUNDING = 1e-6", "ROUNDING = 1e-2", "", "explained"),
    Mutant("exact: what was not walked is right", "battery", "if tv > ROUNDING or unknown < ROUNDING:", "if True:", ""),
    Mutant("findings: a note is a fault", "battery",
           "and all(check.note for check in self.findings)", "and not self.findings", "", "note"),
    # --- token_audit
    Mutant("audit: no u = 0", "token_audit", '(("u = 0", 0.0), ("u just', '(("u just', "", "boundary"),
    Mutant("audit: no float16", "token_audit",
           "(np.float64, np.float32, np.float16)", "(np.float64, np.float32)", "", "short_floats"),
    Mutant("audit: inputs and states unwatched", "token_audit",
           "with untouched(*given):", "if True:", "", "misbehaviour"),
    Mutant("audit: replay compares nothing", "token_audit",
           "if first == again == moved:", "if True:", "", "misbehaviour"),
    Mutant("audit: replay on the same clock", "token_audit", "with clock():", "if True:", "", "misbehaviour"),
    Mutant("audit: no joint laws", "token_audit", "            self.joint()", "            pass", "", "next_token"),
    Mutant("audit: rows of a batch unseen", "token_audit",
           "self.batch() if self.rows else []", "[]", "", "rows"),
    Mutant("audit: no wide cases", "token_audit",
           "self.cases[case] = np.array(p), np.array(q)",
           "self.cases.update({case: (np.array(p), np.array(q))} if len(p) < 9 else {})", "", "any_style"),
    Mutant("audit: any branch that raises is a fault", "battery",
           "and mass > ROUNDING]", "and mass > 0]", "", "never_met"),
    # --- diagnosis
    Mutant("known: redrawn from p has q's law", "diagnosis",
           "(\n        _redrawn(lambda p, q: p)\n", "(\n        _redrawn(lambda p, q: q)\n", ""),
    Mutant("known: tries again, divided by the rejected", "diagnosis", "kept / (1 - rejected) if", "kept / rejected if",
           ""),
    Mutant("known: inverted ratio, nothing kept where p = 0", "diagnosis",
           "np.where(p > 0, p, 1)), q)", "np.where(p > 0, p, 1)), 0)", ""),
    Mutant("known: softmax of p", "diagnosis", "np.exp(_parts(p, q)[2])", "np.exp(p)", ""),
    Mutant("known: the likeliest of p alone", "diagnosis", "np.argmax(_parts(p, q)[2] if", "np.argmax(p if", ""),
    Mutant("known: |p − q| is clipped", "diagnosis", "np.abs(np.subtract(p, q)) if", "np.maximum(p - q, 0) if", ""),
    Mutant("fits: too narrow for counts", "diagnosis", "2.5 * noise", "0.25 * noise", "", "explained"),
    Mutant("fits: without what was not walked", "diagnosis",
           "2.5 * noise + seen.unknown", "2.5 * noise", "", "trying_again"),
    Mutant("pattern: p = q is not asked first", "diagnosis",
           'if "p = q" in wrong:', 'if "p = q" in wrong and False:', "", "explained"),
    # --- cache_audit
    Mutant("cache: NaN passes", "cache_audit", "if not tv <= atol:", "if tv > atol:", "", "cache"),
    Mutant("cache: half of a law passes", "cache_audit", "if not tv <= atol:", "if not tv <= 0.5:", "", "cache"),
    Mutant("cache: nothing is taken back", "cache_audit",
           "text = (*text[:kept], (text[kept] + 1) % vocabulary, *longer) if kept < len(text) else text + longer",
           "text = text + longer", "", "cache"),
    Mutant("cache: taken back, and nothing in its place", "cache_audit",
           "(*text[:kept], (text[kept] + 1) % vocabulary, *longer)", "text[:kept]", "", "cache"),
    Mutant("cache: no other text", "cache_audit",
           "text = longer if rng.random() < 0.5 else texts[int(rng.random() * len(texts))]", "text += longer",
           "", "cache"),
    Mutant("cache: answers are not written over", "cache_audit",
           "self.law(context, vocabulary)[:] = 0.0", "self.law(context, vocabulary)", "", "cache"),
    # --- coursework
    Mutant("slices: what changes a name is passed over", "coursework/slices",
           "changes = uses.changes | (uses.calls - (imports - assigned))", "changes = set()", ""),
    Mutant("slices: nothing of the lesson's", "coursework/slices",
           "if theirs.first.get(name, math.inf) >= before and not hasattr(builtins, name):", "if False:", ""),
    Mutant("plain: texts are arrays", "coursework/plain", '"biufO":', '"biufOU":', ""),
    Mutant("plain: any kind is a tuple", "coursework/plain",
           'case ["tuple", list(items)]:', "case [_, list(items)]:", ""),
    Mutant("sandbox: no fence", "coursework/sandbox", "        fence(os.path.realpath(home))\n", "", "", "fence"),
    Mutant("sandbox: no limit of memory", "coursework/sandbox",
           "lower(resource.RLIMIT_AS,", "lower(resource.RLIMIT_RSS,", "", "memory"),
    Mutant("sandbox: one seed for all", "coursework/sandbox",
           "function, rng, given = self.function(name), np.random.default_rng(seed)",
           "function, rng, given = self.function(name), np.random.default_rng(0)", ""),
    Mutant("remote: answers without end", "coursework/remote", "if size > LARGEST:", "if False:", "", "reason"),
    Mutant("remote: the reason is forgotten", "coursework/remote", "if not self._why:", "if True:", ""),
    Mutant("remote: any method of the case", "coursework/remote",
           'what == "step" and asked[0] in STEPS', 'what == "step"', "", "only_its_steps"),
]
# fmt: on


class Result(NamedTuple):
    killed: bool | None  # None: no verdict
    by: str
    output: str


def mutate(root, mutant):
    """Replace the text, which must stand in the file exactly once."""
    path = root / "specdec_kit" / f"{mutant.file}.py"
    source = path.read_text(encoding="utf-8")
    if source.count(mutant.old) != 1:
        raise ValueError(f"{mutant.name}: the text to replace stands {source.count(mutant.old)} times in {path.name}")
    path.write_text(source.replace(mutant.old, mutant.new), encoding="utf-8")


def copy_of_the_kit(folder):
    """What tests and lessons need, in a folder of its own."""
    for part in ("specdec_kit", "data", "notebooks"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"))
    (folder / "tests").mkdir()
    for name in {name for names in UNIT.values() for name in names}:
        shutil.copy(ROOT / "tests" / f"test_{name}.py", folder / "tests")
    shutil.copy(ROOT / "pyproject.toml", folder)


def unit_tests(folder, mutant):
    """Those of the mutated module, its own file first; all of them for the unmutated copy."""
    names = UNIT[mutant.file] if mutant else dict.fromkeys(name for names in UNIT.values() for name in names)
    names = sorted(names, key=lambda name: mutant is None or name != mutant.file)
    chosen = ["-k", mutant.tests] if mutant and mutant.tests else []
    return [*(f"tests/test_{name}.py" for name in names), f"--deselect={SLOW}", *chosen]


def lessons(folder, mutant):
    """nbval on all notebooks, the likeliest to notice first."""
    names = sorted(path.name for path in (folder / "notebooks").glob("*.ipynb"))
    names.sort(key=lambda name: mutant is None or not name.startswith(mutant.lesson))
    return ["-p", "nbval.plugin", "--nbval", "--nbval-cell-timeout=120", *(f"notebooks/{name}" for name in names)]


SUITES = {"unit tests": unit_tests, "nbval alone": lessons}


def pytest(folder, arguments):
    """Run pytest on a copy of the kit, which comes before the installed one, in kernels as well."""
    quick = {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    steady = {"CI": "true"}  # hypothesis then has no deadline, so that a busy machine kills no mutant
    environment = {**os.environ, **quick, **steady, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=short", "-rf", *arguments]
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return "none", f"still running after {LONGEST} s"
    return done.returncode, done.stdout + done.stderr


def trial(mutant, suite):
    """Run a suite, a function of SUITES, on a copy of the kit with one mutation, or with none."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        copy_of_the_kit(folder)
        if mutant is not None:
            mutate(folder, mutant)
        code, output = pytest(folder, suite(folder, mutant))
    failed = re.search(r"^FAILED \w+/(\S+?::(?:\w+\[.*?\]|.*?))(?: - |$)", output, flags=re.MULTILINE)
    if code == 1 and failed:
        return Result(True, failed[1], output)
    if code == 0:
        return Result(False, "nobody", output)
    return Result(None, f"no verdict, exit code {code}", output)  # no test failed: none was collected, or pytest itself


def called(mutant):
    return mutant.name if mutant else "unmutated"


def as_due(mutant, results):
    """Whether a mutant was killed, or the unmutated copy was not."""
    return results[mutant].killed is (mutant is not None)


def table(suite, results):
    """The results of one suite, one line each."""
    width = max(len(mutant.name) for mutant in results if mutant)
    print(f"\n--- {suite}\n{'mutant':{width}}  file           killed by")
    for mutant, result in results.items():
        if mutant:
            print(f"{mutant.name:{width}}  {mutant.file:13}  {result.by}")
    killed = sum(result.killed is True for mutant, result in results.items() if mutant)
    control = results[None]
    print(f"{killed} of {len(results) - 1} killed; unmutated: {'passes' if control.killed is False else control.by}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="mutants whose name holds one of these texts")
    parser.add_argument("--jobs", type=int, default=2, help="how many to run at a time")
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if not options.only or any(text in mutant.name for text in options.only)]
    if not chosen:
        parser.error(f"no mutant's name holds {' or '.join(options.only)}")

    start = time.monotonic()
    with ThreadPoolExecutor(options.jobs) as pool:
        runs = {
            suite: {mutant: pool.submit(trial, mutant, SUITES[suite]) for mutant in [None, *mutants]}
            for suite, mutants in (("unit tests", chosen), ("nbval alone", [m for m in chosen if m.lesson]))
            if mutants
        }
        found = {suite: {mutant: run.result() for mutant, run in made.items()} for suite, made in runs.items()}
    again = [(suite, mutant) for suite, results in found.items() for mutant in results if not as_due(mutant, results)]
    for suite, mutant in again:  # by itself: what a busy machine did does not happen twice, a fault does
        print(f"\ntried again, {suite}: {called(mutant)}, {found[suite][mutant].by}", found[suite][mutant].output)
        found[suite][mutant] = trial(mutant, SUITES[suite])
    for suite, results in found.items():
        table(suite, results)
    wrong = [f"{suite}: {called(mutant)}, {found[suite][mutant].by}" for suite, mutant in again
             if not as_due(mutant, found[suite])]  # fmt: skip
    print(f"\n{sum(map(len, runs.values()))} runs in {time.monotonic() - start:.0f} s", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
