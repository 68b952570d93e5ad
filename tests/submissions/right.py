"""Submissions that are right, each in a style of its own: full marks."""

from submissions import Submission

RIGHT = {
    "loops": Submission(
        "Plain loops, one number at a time.",
        {
            "00": """
# %% exercise-die
def die(rng):
    u = rng.random()
    total = 0
    for face in (1, 2, 3, 4, 5):
        total = total + 0.1
        if u < total:
            return face
    return 6
""",
            "01": """
# %% account
def account(p, q):
    accepted = 0
    output = []
    for i in range(len(p)):
        kept = p[i]
        if q[i] < p[i]:
            kept = q[i]
        accepted = accepted + kept
        missing = p[i] - q[i]
        if missing < 0:
            missing = 0
        output.append(kept + missing)
    return [accepted] + output

# %% exercise-half
def half_accepted():
    for k in range(101):
        a = k / 100
        if abs(min(a, 0.7) + min(1 - a, 0.3) - 0.5) < 1e-9:
            return [a, 1 - a]

# %% exercise-inverted
def inverted(p, q, rng):
    u = rng.random()
    total = 0
    for x in range(len(q)):
        total += q[x]
        if u < total:
            break
    if rng.random() * p[x] < q[x]:
        return x
    r = []
    for i in range(len(p)):
        r.append(max(p[i] - q[i], 0))
    u = rng.random() * sum(r)
    total = 0
    for y in range(len(r)):
        total += r[y]
        if u < total:
            return y

# %% exercise-blind
def blind_pair():
    p = [0, 1]
    q = [0.3, 0.7]
    return p, q
""",
            "02": """
# %% my-sampler
def my_sampler(p, q, rng):
    x = 0
    u = rng.random() - q[0]
    while u >= 0:
        x += 1
        u = u - q[x]
    if rng.random() * q[x] < p[x]:
        return x
    total = 0
    for i in range(len(p)):
        if p[i] > q[i]:
            total += p[i] - q[i]
    u = rng.random() * total
    for i in range(len(p)):
        if p[i] > q[i]:
            u = u - (p[i] - q[i])
            if u < 0:
                return i

# %% exercise-draws
def draws_needed(p, width):
    n = 1
    while 4 * p * (1 - p) > n * width**2 + 1e-12:
        n = n + 1
    return n

# %% exercise-two
def two_tokens(p, q, rng):
    result = []
    for _ in range(2):
        result.append(my_sampler(p, q, rng))
    return result[0], result[1]

# %% exercise-hidden
def hidden_and_shown():
    hides = ([0.6, 0.3, 0.1], [0.2, 0.5, 0.3])
    shows = ([0.45, 0.45, 0.1], [0.25, 0.15, 0.6])
    return hides, shows
""",
            "05": """
# %% exercise-mean
def mean_tokens(alphas):
    total = 1
    reached = 1
    for alpha in alphas:
        reached = reached * alpha
        total = total + reached
    return total

# %% exercise-round
def my_round(target, draft, context, gamma, rng):
    drafts = []
    laws = []
    for i in range(gamma):
        q = draft(context + tuple(drafts))
        u = rng.random() * sum(q)
        total = 0
        for j in range(len(q)):
            if q[j] > 0:
                x = j
                total += q[j]
                if u < total:
                    break
        drafts.append(x)
        laws.append(q)
    out = []
    for i in range(gamma):
        p = target(context + tuple(drafts[:i]))
        q = laws[i]
        x = drafts[i]
        if rng.random() * q[x] < p[x]:
            out.append(x)
            continue
        rest = []
        for a, b in zip(p, q):
            rest.append(a - b if a > b else 0)
        if sum(rest) == 0:
            out.append(x)
            continue
        u = rng.random() * sum(rest)
        total = 0
        y = -1
        for j in range(len(rest)):
            if rest[j] > 0:
                y = j
                total += rest[j]
                if u < total:
                    break
        out.append(y)
        return tuple(out)
    p = target(context + tuple(drafts))
    u = rng.random() * sum(p)
    total = 0
    for j in range(len(p)):
        if p[j] > 0:
            y = j
            total += p[j]
            if u < total:
                break
    out.append(y)
    return tuple(out)

# %% exercise-rows
def hidden_and_shown():
    row = [0.5, 0.3, 0.2]
    hides = ([row, row, row], [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.4, 0.4, 0.2]])
    shows = ([[0.9, 0.1], [0.3, 0.7]], [[0.5, 0.5], [0.5, 0.5]])
    return hides, shows
""",
        },
    ),
    "vectorised": Submission(
        "Whole arrays at once, by NumPy and SciPy.",
        {
            "01": """
# %% account
def account(p, q):
    m = np.minimum(p, q)
    return np.concatenate([[m.sum()], m + np.clip(p - q, 0, None)])

# %% exercise-half
def half_accepted():
    grid = np.linspace(0, 1, 1001)
    laws = np.stack([grid, 1 - grid], axis=1)
    return laws[np.argmin(np.abs(np.minimum(laws, [0.7, 0.3]).sum(axis=1) - 0.5))]

# %% exercise-inverted
def inverted(p, q, rng):
    u = rng.random(3)
    x = np.searchsorted(np.cumsum(q), u[0], side="right")
    r = np.clip(np.asarray(p) - np.asarray(q), 0, None)
    return x if u[1] * p[x] < q[x] else np.searchsorted(np.cumsum(r), u[2] * r.sum(), side="right")

# %% exercise-blind
def blind_pair():
    return np.array([0.5, 0.5, 0]), np.array([0.25, 0.25, 0.5])
""",
            "03": """
# %% exercise-unseen
def unseen(draws, level=0.95):
    return -np.expm1(np.log1p(-level) / draws)

# %% exercise-test
def my_test(counts, law):
    counts, law = np.asarray(counts), np.asarray(law, float)
    n = counts.sum()
    both = np.minimum(stats.binom.cdf(counts, n, law), stats.binom.sf(counts - 1, n, law))
    return np.all(2 * both > 1e-6 / len(law))

# %% exercise-fool
def fooling():
    p = np.array([0.4, 0.3, 0.2, 0.1])
    half = np.array([True, False, False, True])
    return p * np.where(half, 1 + 0.05 / p[half].sum(), 1 - 0.05 / p[~half].sum())
""",
            "04": """
# %% exercise-audit
def mended(p, q, rng):
    p, q = np.asarray(p, float), np.asarray(q, float)
    cdf = np.cumsum(q)
    x = np.searchsorted(cdf / cdf[-1], rng.random(), side="right")
    rest = (p - q).clip(0)
    if not rest.any() or rng.random() * q[x] < p[x]:
        return int(x)
    cdf = rest.cumsum()
    return int(np.searchsorted(cdf / cdf[-1], rng.random(), side="right"))

# %% exercise-cut
def best_cut(p, q):
    p, q = np.asarray(p), np.asarray(q)
    order = np.argsort(-q, kind="stable")
    rank = np.empty(len(q), int)
    rank[order] = np.arange(len(q))
    cut = np.where(rank[None, :] < np.arange(1, len(q) + 1)[:, None], q, 0)
    kept = np.minimum(p, cut / cut.sum(axis=1, keepdims=True)).sum(axis=1)
    return np.argmax(kept.round(10)) + 1

# %% exercise-argmax
def hidden_and_shown():
    return np.array([[0.5, 0.5], [0.9, 0.1]]), np.array([[0.8, 0.2], [0.3, 0.7]])
""",
            "06": """
# %% exercise-ratio
def time_ratio(device, slow, quick):
    def once(name):
        device.synchronise()
        start = device.now()
        device.submit(name)
        device.synchronise()
        return device.now() - start

    seconds = np.array([[once(slow), once(quick)] for _ in range(500)])
    return np.divide(*seconds[1:].mean(axis=0))

# %% exercise-speedup
def speedup(alpha, gamma, c, costs):
    return np.power(float(alpha), np.arange(gamma + 1)).sum() / (np.asarray(costs)[gamma] + gamma * c)

# %% exercise-crossover
def crossover(tokens, plain, drafted):
    batches = np.array(sorted(plain))
    lost = tokens * np.array([plain[b] for b in batches]) <= np.array([drafted[b] for b in batches])
    return batches[lost][0] if lost.any() else None
""",
        },
    ),
    "by cdf": Submission(
        "Inverse CDF by hand, with bisect and accumulate, in a helper of its own cell.",
        {
            "00": """
# %% + imports
from bisect import bisect_right
# %% exercise-die
def die(rng):
    return 1 + bisect_right([0.1, 0.2, 0.3, 0.4, 0.5], rng.random())
""",
            "02": """
# %% + imports
from bisect import bisect_right
from itertools import accumulate
# %% + imports
def pick(weights, rng):
    sums = list(accumulate(weights))
    return bisect_right(sums, rng.random() * sums[-1])
# %% my-sampler
def my_sampler(p, q, rng):
    x = pick(q, rng)
    if rng.random() * q[x] < p[x]:
        return x
    return pick([max(a - b, 0) for a, b in zip(p, q)], rng)
# %% exercise-draws
def draws_needed(p, width):
    low, high = 0, 1
    while 4 * p * (1 - p) / high > width**2 * (1 + 1e-12):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if 4 * p * (1 - p) / middle > width**2 * (1 + 1e-12):
            low = middle
        else:
            high = middle
    return high
# %% exercise-two
def two_tokens(p, q, rng):
    def token():
        x = pick(q, rng)
        if rng.random() * q[x] < p[x]:
            return x
        return pick([max(a - b, 0) for a, b in zip(p, q)], rng)

    return token(), token()
# %% exercise-hidden
def hidden_and_shown():
    return [[[0.2, 0.2, 0.6], [0.3, 0.4, 0.3]], [[0.5, 0.4, 0.1], [0.3, 0.2, 0.5]]]
""",
            "04": """
# %% + imports-more
from bisect import bisect_right
from itertools import accumulate

def pick(weights, u):
    sums = list(accumulate(map(float, weights)))
    return bisect_right([s / sums[-1] for s in sums], u)
# %% exercise-audit
def mended(p, q, rng):
    x = pick(q, rng.random())
    if rng.random() * float(q[x]) < float(p[x]):
        return x
    rest = [max(float(a) - float(b), 0.0) for a, b in zip(p, q)]
    return pick(rest, rng.random()) if any(rest) else x
# %% exercise-cut
def best_cut(p, q):
    best, k_best = -1.0, 0
    order = sorted(range(len(q)), key=lambda i: -q[i])
    for k in range(1, len(q) + 1):
        mass = sum(q[i] for i in order[:k])
        accepted = sum(min(p[i], q[i] / mass) for i in order[:k])
        if accepted > best + 1e-9:
            best, k_best = accepted, k
    return k_best
# %% exercise-argmax
def hidden_and_shown():
    return ([0.6, 0.4], [0.7, 0.3]), ([0.6, 0.4], [0.5, 0.5])
""",
        },
    ),
    "by choice": Submission(
        "rng.choice and rng.integers for every draw.",
        {
            "00": """
# %% exercise-die
def die(rng):
    return rng.choice([1, 2, 3, 4, 5, 6], p=[0.1] * 5 + [0.5])
""",
            "01": """
# %% account
def account(p, q):
    return [sum(np.minimum(p, q)), *p]
# %% exercise-half
def half_accepted():
    return 0.2, 0.8
# %% exercise-inverted
def inverted(p, q, rng):
    x = rng.choice(len(q), p=q)
    keep = min(1, q[x] / p[x]) if p[x] > 0 else 1
    if rng.choice([True, False], p=[keep, 1 - keep]):
        return x
    return rng.choice(len(p), p=residual(p, q))
# %% exercise-blind
def blind_pair():
    return np.array([1.0, 0.0, 0.0]), np.array([0.2, 0.3, 0.5])
""",
            "02": """
# %% my-sampler
def my_sampler(p, q, rng):
    x = rng.choice(len(q), p=q)
    if rng.random() < p[x] / q[x]:
        return x
    lacking = np.where(p > q, p - q, 0)
    return rng.choice(len(p), p=lacking / lacking.sum())
# %% exercise-draws
def draws_needed(p, width):
    n = int(4 * p * (1 - p) / width**2)
    return next(m for m in range(max(n - 2, 1), n + 3) if 2 * np.sqrt(p * (1 - p) / m) <= width * (1 + 1e-12))
# %% exercise-two
def two_tokens(p, q, rng):
    out = []
    while len(out) < 2:
        x = rng.choice(len(q), p=q)
        if rng.random() >= p[x] / q[x]:
            lacking = np.where(p > q, p - q, 0)
            x = rng.choice(len(p), p=lacking / lacking.sum())
        out.append(int(x))
    return tuple(out)
# %% exercise-hidden
def hidden_and_shown():
    hides = np.array([0.8, 0.1, 0.1]), np.array([0.1, 0.45, 0.45])
    shows = np.array([0.4, 0.4, 0.2]), np.array([0.3, 0.1, 0.6])
    return hides, shows
""",
            "04": """
# %% exercise-audit
def mended(p, q, rng):
    p, q = np.array(p, dtype=float), np.array(q, dtype=float)
    q /= q.sum()
    x = int(rng.choice(len(q), p=q))
    if rng.random() * q[x] < p[x]:
        return x
    r = np.maximum(p - q, 0)
    if r.sum() < 1e-12:
        return x
    return int(rng.choice(len(p), p=r / r.sum()))
# %% exercise-cut
def best_cut(p, q):
    found = {k: round(float(overlap(p, top_k(q, k))), 9) for k in range(1, len(q) + 1)}
    return max(sorted(found), key=found.get)
# %% exercise-argmax
def hidden_and_shown():
    hides = [0.4, 0.4, 0.2], [0.5, 0.4, 0.1]
    shows = [0.4, 0.4, 0.2], [0.2, 0.2, 0.6]
    return hides, shows
""",
        },
    ),
    "by races": Submission(
        "Gumbel and exponential races for the categorical draw, which no walk can follow: they are counted.",
        {
            "02": """
# %% + imports
def raced(weights, rng):
    noise = -np.log1p(-rng.random(len(weights)))
    with np.errstate(divide="ignore"):
        return int(np.argmin(noise / np.asarray(weights)))
# %% my-sampler
def my_sampler(p, q, rng):
    x = raced(q, rng)
    return x if rng.random() * q[x] < p[x] else raced(np.maximum(np.subtract(p, q), 0), rng)
# %% exercise-draws
def draws_needed(p, width):
    from fractions import Fraction as F
    from math import ceil
    p, width = F(str(p)), F(str(width))
    return ceil(4 * p * (1 - p) / width**2)
# %% exercise-two
def two_tokens(p, q, rng):
    return fresh(p, q, rng), fresh(p, q, rng)
# %% exercise-hidden
def hidden_and_shown():
    return ([0.5, 0.3, 0.2], [0.3, 0.4, 0.3]), ([0.35, 0.35, 0.3], [0.25, 0.05, 0.7])
""",
            "04": """
# %% + imports
def gumbel(weights, rng):
    with np.errstate(divide="ignore"):
        return int(np.argmax(np.log(np.asarray(weights, float)) - np.log(-np.log1p(-rng.random(len(weights))))))
# %% exercise-audit
def mended(p, q, rng):
    x = gumbel(q, rng)
    rest = np.maximum(np.subtract(p, q, dtype=float), 0)
    if rng.random() * q[x] < p[x] or rest.sum() == 0:
        return x
    return gumbel(rest, rng)
# %% exercise-cut
def best_cut(p, q):
    def cut(k):
        return -overlap(p, top_k(q, k)).round(12), k

    return min(map(cut, range(1, len(p) + 1)))[1]
# %% exercise-argmax
def hidden_and_shown():
    return ([0.45, 0.35, 0.2], [0.5, 0.3, 0.2]), ([0.45, 0.35, 0.2], [0.2, 0.3, 0.5])
""",
        },
    ),
    "recursion": Submission(
        "Recursion in place of every loop.",
        {
            "01": """
# %% account
def account(p, q):
    if len(p) == 0:
        return [0]
    (a, *ps), (b, *qs) = p, q
    accepted, *output = account(ps, qs)
    return [accepted + min(a, b), min(a, b) + max(a - b, 0), *output]
# %% exercise-half
def half_accepted(low=0.0, high=0.7):
    middle = (low + high) / 2
    accepted = min(0.7, middle) + min(0.3, 1 - middle)
    if abs(accepted - 0.5) < 1e-12:
        return [middle, 1 - middle]
    return half_accepted(low, middle) if accepted > 0.5 else half_accepted(middle, high)
# %% exercise-inverted
def inverted(p, q, rng):
    def pick(weights, u, x=0):
        return x if u < weights[x] else pick(weights, u - weights[x], x + 1)

    x = pick(q, rng.random())
    if rng.random() * p[x] < q[x]:
        return x
    rest = [max(a - b, 0) for a, b in zip(p, q)]
    return pick(rest, rng.random() * sum(rest))
# %% exercise-blind
def blind_pair():
    return ([1, 0], [0, 1])
""",
            "05": """
# %% exercise-mean
def mean_tokens(alphas):
    if not alphas:
        return 1
    return 1 + alphas[0] * mean_tokens(alphas[1:])
# %% exercise-round
def my_round(target, draft, context, gamma, rng):
    if gamma == 0:
        return (categorical(target(context), rng),)
    p, q = target(context), draft(context)
    x = categorical(q, rng)
    rest = np.maximum(np.subtract(p, q), 0)
    if rng.random() * q[x] < p[x] or rest.sum() == 0:
        return (x,) + my_round(target, draft, context + (x,), gamma - 1, rng)
    return (categorical(rest / rest.sum(), rng),)
# %% exercise-rows
def hidden_and_shown():
    return (
        ([[0.5, 0.5]] * 2, [[0.9, 0.1], [0.2, 0.8]]),
        ([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6], [0.3, 0.3, 0.4]], [[0.2, 0.3, 0.5], [0.4, 0.4, 0.2], [0.1, 0.1, 0.8]]),
    )
""",
            "06": """
# %% exercise-ratio
def time_ratio(device, slow, quick):
    def total(name, other, runs):
        if not runs:
            return np.zeros(2)
        both = [device.time(lambda: device.submit(name)), device.time(lambda: device.submit(other))]
        return both + total(name, other, runs - 1)

    total(slow, quick, 1)
    a, b = sum((total(slow, quick, 50) for _ in range(6)), np.zeros(2))
    return a / b
# %% exercise-speedup
def speedup(alpha, gamma, c, costs):
    def tokens(n):
        return 1 if n == 0 else 1 + alpha * tokens(n - 1)

    return tokens(gamma) / (costs[gamma] + gamma * c)
# %% exercise-crossover
def crossover(tokens, plain, drafted):
    if not plain:
        return None
    batch = min(plain)
    if tokens * plain[batch] <= drafted[batch]:
        return batch
    return crossover(tokens, {b: s for b, s in plain.items() if b != batch}, drafted)
""",
        },
    ),
    "thinning": Submission(
        "The residual by rejection: candidates from p until one passes with (p − q)₊/p.",
        {
            "01": """
# %% account
def account(p, q):
    overlap_ = 1 - np.abs(np.subtract(p, q)).sum() / 2
    return [overlap_] + list(p)
# %% exercise-half
def half_accepted():
    return [F(1, 5), F(4, 5)]
# %% exercise-inverted
def inverted(p, q, rng):
    x = rng.choice(len(q), p=q)
    if p[x] == 0 or rng.random() < q[x] / p[x]:
        return x
    open_ = [y for y in range(len(p)) if p[y] > q[y]]
    while len(open_) > 1:
        y = open_.pop()
        if rng.random() * sum(p[z] - q[z] for z in (*open_, y)) < p[y] - q[y]:
            return y
    return open_[0]
# %% exercise-blind
def blind_pair():
    return [F(0), F(1)], [F(1, 3), F(2, 3)]
""",
            "02": """
# %% my-sampler
def my_sampler(p, q, rng):
    x = rng.choice(len(q), p=q)
    if rng.random() * q[x] < p[x]:
        return int(x)
    for _ in range(10_000):
        y = rng.choice(len(p), p=p)
        if rng.random() * p[y] < p[y] - q[y]:
            return int(y)
    return int(np.argmax(p - q))
# %% exercise-draws
def draws_needed(p, width):
    exact = 4 * p * (1 - p) / width**2
    return round(exact) if abs(exact - round(exact)) < 1e-6 else int(exact) + 1
# %% exercise-two
def two_tokens(p, q, rng):
    first = categorical(p, rng)
    return first, fresh(p, q, rng)
# %% exercise-hidden
def hidden_and_shown():
    hidden = [1 / 3, 1 / 3, 1 / 3], [1 / 6, 5 / 12, 5 / 12]
    shown = [1 / 3, 1 / 3, 1 / 3], [1 / 4, 1 / 6, 7 / 12]
    return hidden, shown
""",
            "03": """
# %% exercise-unseen
def unseen(draws, level=0.95):
    low, high = 0.0, 1.0
    for _ in range(200):
        p = (low + high) / 2
        if (1 - p) ** draws >= 1 - level:
            low = p
        else:
            high = p
    return low
# %% exercise-test
def my_test(counts, law):
    n = int(sum(counts))
    for k, p in zip(counts, law):
        if stats.binomtest(int(k), n, float(p)).pvalue <= 1e-6 / len(law):
            return False
    return True
# %% exercise-fool
def fooling():
    return [0.36, 0.33, 0.22, 0.09]
""",
        },
    ),
    "helpers": Submission(
        "Helpers and constants in cells of their own, some below the exercise, and other names for arguments.",
        {
            "00": """
# %% + imports
FACES = range(1, 7)
WEIGHTS = [1, 1, 1, 1, 1, 5]

# %% exercise-die
def die(generator):
    return thrown(generator.integers(sum(WEIGHTS)))

# %% +
def thrown(number):
    for face, weight in zip(FACES, WEIGHTS):
        if number < weight:
            return face
        number -= weight
""",
            "03": """
# %% + imports
ALPHA = 1e-6

def both_tails(hits, draws, chance):
    return stats.binom.cdf(hits, draws, chance), stats.binom.sf(hits - 1, draws, chance)

# %% exercise-unseen
def unseen(N, level=0.95):
    return clopper_pearson(0, N, level=1 - 2 * (1 - level))[1]

# %% exercise-test
def my_test(observed, expected_law):
    total = observed.sum()
    worst = min(min(both_tails(hits, total, chance)) for hits, chance in zip(observed, expected_law))
    return bool(worst > threshold(len(observed)))

# %% +
def threshold(tests):
    return ALPHA / 2 / tests

# %% exercise-fool
def fooling():
    return np.array([0.4, 0.3, 0.2, 0.1]) + STEP * np.array([-4, 3, 2, -1]) / 5

# %% +
STEP = 0.05
""",
            "06": """
# %% + imports
RUNS, WARM = 300, 2

# %% exercise-ratio
def time_ratio(card, first, second):
    seconds = {}
    for name in [first, second] * WARM:
        run_once(card, name)
    for _ in range(RUNS):
        for name in (first, second):
            seconds.setdefault(name, []).append(run_once(card, name))
    return average(seconds[first]) / average(seconds[second])

# %% +
def average(values):
    return sum(values) / len(values)

def run_once(card, name):
    card.synchronise()
    before = card.now()
    card.submit(name)
    card.synchronise()
    return card.now() - before

# %% exercise-speedup
def speedup(a, g, draft_cost, pass_costs):
    gained = geometric(a, g)
    return gained / (g * draft_cost + pass_costs[g])

# %% +
def geometric(a, g):
    return g + 1 if a == 1 else (1 - a ** (g + 1)) / (1 - a)

# %% exercise-crossover
def crossover(t, one, all_):
    return next((b for b in sorted(one) if gain(t, one, all_, b) <= 0), None)

# %% +
def gain(t, one, all_, b):
    return t * one[b] - all_[b]
""",
            "07": """
# %% + imports
OPINION = {"exact": 0.4, "first token": 0.2, "joint": 0.3, "declared": 0.1}

# %% exercise-brier
def my_brier(given, came):
    return sum(one_term(given[k], k == came) for k in given)

# %% +
def one_term(f, o):
    return (f - 1) ** 2 if o else f**2

# %% exercise-labels
def from_labels(inquiry):
    for sampler in inquiry.names:
        inquiry.predict(sampler, OPINION)

# %% exercise-investigate
def investigate(inquiry):
    for n, sampler in enumerate(inquiry.names):
        conclude(inquiry, sampler, inquiry.draw(sampler, TIMES, seed=100 + n, length=2))

# %% +
TIMES = 6000

def conclude(inquiry, sampler, drawn):
    found, why = judged(drawn)
    inquiry.conclude(sampler, sure(found, 0.85), because=why)

# %% exercise-counterexample
def counterexample(inquiry):
    for drawn in inquiry.log:
        found = drawn.report()
        if not found.passed:
            text = found.tokens[int(np.argmin(found.pvalues))]
            inquiry.show_counterexample(drawn, text, because="The text's law is another one than the target's.")
            return

# %% exercise-transfer
def transfer():
    return dict(quantity="first token is A", unit="probability", change={"gamma": 3}, predicted=0.6)
""",
        },
    ),
    "functional": Submission(
        "Lambdas, functools.partial, and objects with __call__ in place of functions.",
        {
            "00": """
# %% exercise-die
die = lambda rng: int(rng.integers(1, 6)) if rng.random() < 1 / 2 else 6
""",
            "01": """
# %% account
from functools import partial, reduce
account = lambda p, q: [sum(map(min, zip(p, q))), *(min(a, b) + max(a - b, 0) for a, b in zip(p, q))]
# %% exercise-half
half_accepted = lambda: [0.2, 0.8]
# %% exercise-inverted
class Sampler:
    def __init__(self, ratio):
        self.ratio = ratio

    def __call__(self, p, q, rng):
        x = rng.choice(len(q), p=q)
        if rng.random() < self.ratio(p[x], q[x]):
            return x
        return rng.choice(len(p), p=residual(p, q))

inverted = Sampler(lambda a, b: b / a if a else 1)
# %% exercise-blind
blind_pair = partial(lambda *pair: pair, [1, 0], [0.25, 0.75])
""",
            "02": """
# %% my-sampler
from functools import partial

def general(ratio, p, q, rng):
    x = categorical(q, rng)
    return x if rng.random() < ratio(p[x], q[x]) else categorical((r := np.maximum(p - q, 0)) / r.sum(), rng)

my_sampler = partial(general, lambda a, b: a / b)
# %% exercise-draws
draws_needed = lambda p, width: int(np.ceil(round(4 * p * (1 - p) / width**2, 6)))
# %% exercise-two
class Two:
    def __call__(self, p, q, rng):
        return tuple(map(lambda _: fresh(p, q, rng), range(2)))

two_tokens = Two()
# %% exercise-hidden
hidden_and_shown = lambda: (([0.7, 0.2, 0.1], [0.3, 0.4, 0.3]), ([0.4, 0.4, 0.2], [0.2, 0.1, 0.7]))
""",
            "06": """
# %% exercise-ratio
from functools import partial
from statistics import median as middle

class Stopwatch:
    def __init__(self, runs=501):
        self.runs = runs

    def __call__(self, device, slow, quick):
        took = lambda name: device.time(partial(device.submit, name))
        pairs = [(took(slow), took(quick)) for _ in range(self.runs)][1:]
        return middle(a for a, _ in pairs) / middle(b for _, b in pairs)

time_ratio = Stopwatch()
# %% exercise-speedup
speedup = lambda alpha, gamma, c, costs: sum(map(partial(pow, alpha), range(gamma + 1))) / (costs[gamma] + gamma * c)
# %% exercise-crossover
crossover = lambda tokens, plain, drafted: min(
    filter(lambda b: tokens * plain[b] <= drafted[b], plain), default=None
)
""",
        },
    ),
    "pure": Submission(
        "Pure Python: fractions, math and itertools, no NumPy.",
        {
            "01": """
# %% account
def account(p, q):
    p, q = [F(float(x)) for x in p], [F(float(x)) for x in q]
    kept = [min(pair) for pair in zip(p, q)]
    missing = [max(a - b, F(0)) for a, b in zip(p, q)]
    return [float(x) for x in (sum(kept), *map(sum, zip(kept, missing)))]
# %% exercise-half
def half_accepted():
    p = F(7, 10), F(3, 10)
    return next((F(k, 10), 1 - F(k, 10)) for k in range(11) if min(p[0], F(k, 10)) + min(p[1], 1 - F(k, 10)) == F(1, 2))
# %% exercise-inverted
def inverted(p, q, rng):
    def pick(weights):
        u = rng.random() * sum(weights)
        for x, w in enumerate(weights):
            if u < w:
                return x
            u = u - w

    x = pick([F(str(w)) for w in q])
    if rng.random() * F(str(p[x])) < F(str(q[x])):
        return x
    return pick([max(F(str(a)) - F(str(b)), 0) for a, b in zip(p, q)])
# %% exercise-blind
def blind_pair():
    return [F(1, 2), F(1, 2), F(0)], [F(1, 4), F(1, 4), F(1, 2)]
""",
            "03": """
# %% exercise-unseen
import math

def unseen(draws, level=0.95):
    return 1 - math.exp(math.log(1 - level) / draws)
# %% exercise-test
from itertools import takewhile

def my_test(counts, law):
    n, alpha = int(sum(counts)), 1e-6 / (2 * len(law))

    def chance(k, p):
        if p in (0, 1):
            return float(k == n * p)
        choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        return math.exp(choose + k * math.log(p) + (n - k) * math.log1p(-p))

    def tail(k, p, step):
        places = range(k, n + 1) if step > 0 else range(k, -1, -1)
        return sum(takewhile(lambda mass: mass > 1e-18, (chance(i, p) for i in places)))

    for k, p in zip(map(int, counts), map(float, law)):
        if tail(k, p, 1 if k >= n * p else -1) <= alpha:
            return False
    return True
# %% exercise-fool
def fooling():
    return [4 / 10 * 1.1, 3 / 10 * 0.9, 2 / 10 * 0.9, 1 / 10 * 1.1]
""",
            "05": """
# %% exercise-mean
from itertools import accumulate
from operator import mul

def mean_tokens(alphas):
    return sum(accumulate(alphas, mul, initial=1))
# %% exercise-round
def my_round(target, draft, context, gamma, rng):
    def pick(weights):
        weights = [float(w) for w in weights]
        u, last = rng.random() * sum(weights), None
        for x, w in enumerate(weights):
            if w > 0:
                if u < w:
                    return x
                u, last = u - w, x
        return last

    text, kept = tuple(context), ()
    qs = []
    while len(qs) < gamma:
        qs.append([float(w) for w in draft(text)])
        text += (pick(qs[-1]),)
    for n, q in enumerate(qs):
        p = [float(w) for w in target(text[: len(context) + n])]
        x = text[len(context) + n]
        rest = [max(a - b, 0.0) for a, b in zip(p, q)]
        if rng.random() * q[x] >= p[x] and any(rest):
            return (*kept, pick(rest))
        kept += (x,)
    return (*kept, pick(target(text)))
# %% exercise-rows
def hidden_and_shown():
    thirds = [F(1, 3)] * 3
    return (
        ([thirds] * 3, [[F(1, 2), F(1, 2), F(0)]] * 3),
        ([[F(1, 5), F(4, 5)], [F(3, 5), F(2, 5)]], [[F(1, 2), F(1, 2)], [F(9, 10), F(1, 10)]]),
    )
""",
        },
    ),
    "typed": Submission(
        "Dataclasses and annotations throughout.",
        {
            "02": """
# %% my-sampler
from __future__ import annotations

from dataclasses import dataclass

@dataclass(frozen=True)
class Law:
    masses: np.ndarray

    @classmethod
    def of(cls, weights: np.ndarray) -> Law:
        weights = np.asarray(weights, dtype=float)
        return cls(weights / weights.sum())

    def __getitem__(self, token: int) -> float:
        return float(self.masses[token])

    def __sub__(self, other: Law) -> Law:
        return Law.of(np.maximum(self.masses - other.masses, 0.0))

    def draw(self, rng: np.random.Generator) -> int:
        return int(inverse_cdf(self.masses, rng.random()))


def my_sampler(p: np.ndarray, q: np.ndarray, rng: np.random.Generator) -> int:
    target, draft = Law.of(p), Law.of(q)
    token: int = draft.draw(rng)
    return token if rng.random() * draft[token] < target[token] else (target - draft).draw(rng)
# %% exercise-draws
def draws_needed(p: float, width: float) -> int:
    needed: float = 4 * p * (1 - p) / width**2
    return int(-(-round(needed, 7) // 1))
# %% exercise-two
def two_tokens(p: np.ndarray, q: np.ndarray, rng: np.random.Generator) -> tuple[int, int]:
    i: int = my_sampler(p, q, rng)
    j: int = my_sampler(p, q, rng)
    return (i, j)
# %% exercise-hidden
Pair = tuple[list[float], list[float]]

def hidden_and_shown() -> tuple[Pair, Pair]:
    hides: Pair = [0.6, 0.2, 0.2], [0.4, 0.3, 0.3]
    shows: Pair = [0.5, 0.4, 0.1], [0.3, 0.3, 0.4]
    return hides, shows
""",
            "04": """
# %% exercise-audit
from dataclasses import dataclass, field
from typing import ClassVar

@dataclass
class Draft:
    p: np.ndarray
    q: np.ndarray
    rng: np.random.Generator
    lacking: np.ndarray = field(init=False)
    kinds: ClassVar[tuple[str, ...]] = ("kept", "redrawn")

    def __post_init__(self) -> None:
        self.lacking = np.maximum(np.subtract(self.p, self.q), 0)

    @property
    def token(self) -> int:
        x = int(inverse_cdf(self.q, self.rng.random()))
        passes = self.rng.random() * self.q[x] < self.p[x]
        return x if passes or not self.lacking.any() else int(inverse_cdf(self.lacking, self.rng.random()))

def mended(p: np.ndarray, q: np.ndarray, rng: np.random.Generator) -> int:
    return Draft(p, q, rng).token
# %% exercise-cut
def best_cut(p: list[float], q: list[float]) -> int:
    best: tuple[float, int] = (-1.0, 0)
    for k in range(len(p), 0, -1):
        best = max(best, (round(float(overlap(p, top_k(q, k))), 12), -k))
    return -best[1]
# %% exercise-argmax
def hidden_and_shown() -> tuple[tuple[list[float], list[float]], ...]:
    return ([0.5, 0.3, 0.2], [0.7, 0.2, 0.1]), ([0.5, 0.3, 0.2], [0.3, 0.3, 0.4])
""",
            "07": """
# %% exercise-brier
from collections.abc import Mapping
from dataclasses import dataclass

@dataclass(frozen=True)
class Stated:
    masses: Mapping[str, float]

    def score(self, truth: str) -> float:
        return sum((mass - float(kind == truth)) ** 2 for kind, mass in self.masses.items())

def my_brier(stated: Mapping[str, float], truth: str) -> float:
    return Stated(stated).score(truth)
# %% exercise-labels
def from_labels(case: Investigation) -> None:
    for name, mystery in MYSTERIES.items():
        told: bool = "not exact" in mystery.label
        guess = {"declared": 0.9, "exact": 0.1} if told else {"exact": 0.6, "joint": 0.2, "first token": 0.2}
        case.predict(name, guess)
# %% exercise-investigate
@dataclass
class Found:
    kind: str
    confidence: float
    because: str

    @classmethod
    def of(cls, case: Investigation, name: str, seed: int) -> "Found":
        drawn = case.draw(name, 5000, seed=seed, length=2)
        first, text = drawn.report(1), drawn.report()
        if text.passed and first.passed:
            return cls("exact", 0.8, f"p-values {min(first.pvalues):.2g} and {min(text.pvalues):.2g}.")
        if first.passed:
            return cls("joint", 0.95, "One token fits and two do not.")
        return cls("declared" if name in claims else "first token", 0.9, "The first token does not fit.")

def investigate(case: Investigation) -> None:
    for seed, name in enumerate(case.names, start=31):
        found = Found.of(case, name, seed)
        case.conclude(name, sure(found.kind, found.confidence), because=found.because)
# %% exercise-counterexample
def counterexample(case: Investigation) -> None:
    name: str = max(case.verdicts, key=lambda name: case.verdicts[name].stated["joint"])
    drawn = case.draws(name)[0]
    report = drawn.report()
    excess = np.abs(np.asarray(report.counts) / report.draws - report.p)
    case.show_counterexample(drawn, report.tokens[int(excess.argmax())], because="The second token is off.")
# %% exercise-transfer
def transfer() -> dict[str, object]:
    return {"quantity": "accepted mass", "unit": "probability", "change": {"p": [0.3, 0.7]}, "predicted": 1.0}
""",
        },
    ),
    "second thoughts": Submission(
        "A first try that is wrong, and a late cell that defines the function again, rightly.",
        {
            "00": """
# %% exercise-die
def die(rng):
    return rng.integers(1, 7)
# %% +
def die(rng):
    throw = rng.integers(10)
    return 6 if throw >= 5 else throw + 1
""",
            "01": """
# %% account
def account(p, q):
    return [np.minimum(p, q).sum(), *np.minimum(p, q)]
# %% + own-compare
def account(p, q):
    kept = np.minimum(p, q)
    return [kept.sum(), *(kept + (1 - kept.sum()) * (residual(p, q) if kept.sum() < 1 else 0))]
# %% exercise-half
def half_accepted():
    return [0.7, 0.3]
# %% + exercise-half
def half_accepted():
    return [0.2, 0.8]
# %% exercise-inverted
def inverted(p, q, rng):
    return speculative(p, q, rng)
# %% + exercise-inverted
def inverted(p, q, rng):
    x = rng.choice(len(q), p=q)
    return x if rng.random() * p[x] < q[x] else rng.choice(len(p), p=residual(p, q))
# %% + exercise-blind
def blind_pair():
    return [0, 1, 0], [1 / 3, 1 / 3, 1 / 3]
""",
            "03": """
# %% exercise-unseen
def unseen(draws, level=0.95):
    return 3 / draws
# %% +
def unseen(draws, level=0.95):
    return 1 - np.power(1 - level, 1 / draws)
# %% exercise-test
def my_test(counts, law):
    return stats.chisquare(counts, law * counts.sum()).pvalue > 1e-6
# %% +
old_test = my_test

def my_test(counts, law):
    rare = counts.sum() * law < 5
    if rare.any():
        return goodness_of_fit(counts, law).pvalue > 1e-6
    return bool(old_test(counts, law))
# %% +
def fooling():
    return np.multiply([0.4, 0.3, 0.2, 0.1], [1.1, 0.9, 0.9, 1.1])
""",
            "06": """
# %% exercise-ratio
def time_ratio(device, slow, quick):
    return device.time(lambda: device.submit(slow)) / device.time(lambda: device.submit(quick))
# %% + exercise-ratio
one_run = time_ratio

def time_ratio(device, slow, quick):
    one_run(device, slow, quick)
    return np.exp(np.mean([np.log(one_run(device, slow, quick)) for _ in range(600)]))
# %% exercise-speedup
def speedup(alpha, gamma, c, costs):
    return (1 - alpha ** (gamma + 1)) / (1 - alpha) / (1 + gamma * c)
# %% +
def speedup(alpha, gamma, c, costs):
    passes = costs[gamma]
    return np.polyval(np.ones(gamma + 1), alpha) / (passes + gamma * c)
# %% exercise-crossover
def crossover(tokens, plain, drafted):
    for batch in plain:
        if tokens * plain[batch] < drafted[batch]:
            return batch
# %% +
def crossover(tokens, plain, drafted):
    for batch in sorted(plain):
        if tokens * plain[batch] <= drafted[batch]:
            return batch
""",
        },
    ),
    "broken neighbours": Submission(
        "Right answers among cells that are broken: syntax errors, loops without end, sys.exit, magics, plots, input.",
        {
            "00": """
# %% + imports
%matplotlib inline
!pip list | head -3
# %% = kit
import sys
sys.exit("nothing to see")
# %% exercise-die
def die(rng):
    return min(int(10 * rng.random()), 5) + 1
# %% +
while True:
    pass
""",
            "02": """
# %% + imports
for i in range(10)
    print(i)
# %% = predict-agree
name = input("Who are you? ")
# %% = seeds
raise RuntimeError("half done")
# %% my-sampler
def my_sampler(p, q, rng):
    x = int(inverse_cdf(q, rng.random()))
    return x if rng.random() < p[x] / q[x] else int(inverse_cdf(np.maximum(np.subtract(p, q), 0), rng.random()))
# %% + my-sampler
%%timeit
my_sampler([0.7, 0.3], [0.4, 0.6], np.random.default_rng(1))
# %% exercise-draws
def draws_needed(p, width):
    return int(np.ceil(p * (1 - p) / (width / 2) ** 2 - 1e-6))
# %% + exercise-draws
draws_needed(0.5, 0)
# %% exercise-two
def two_tokens(p, q, rng):
    return my_sampler(p, q, rng), my_sampler(p, q, rng)
# %% exercise-hidden
def hidden_and_shown():
    return ([0.7, 0.2, 0.1], [0.5, 0.3, 0.2]), ([0.3, 0.3, 0.4], [0.1, 0.2, 0.7])
# %% +
numbers = []
while len(numbers) >= 0:
    numbers.append(len(numbers))
# %% +
import os
os._exit(3)
""",
            "06": """
# %% = imports
import numpy as np
from specdec_kit import selfcheck
from specdec_kit.timing import median
import a_package_that_is_not_there
# %% exercise-ratio
def time_ratio(device, slow, quick):
    seconds = {name: [] for name in (slow, quick)}
    for name in (slow, quick) * 301:
        start = (device.synchronise(), device.now())[1]
        device.submit(name)
        device.synchronise()
        seconds[name].append(device.now() - start)
    return np.median(seconds[slow]) / np.median(seconds[quick])
# %% + exercise-ratio
time_ratio(SimulatedDevice({"slow": 1, "quick": 2}), "slow", "slower")
# %% exercise-speedup
def speedup(alpha, gamma, c, costs):
    return np.sum(alpha ** np.arange(gamma + 1.0)) / (costs[gamma] + gamma * c)
# %% + exercise-speedup
speedup(0.5
# %% exercise-crossover
def crossover(tokens, plain, drafted):
    return min([b for b in plain if tokens * plain[b] <= drafted[b]] or [None])
# %% +
%load_ext line_profiler
import subprocess
subprocess.run(["sleep", "1000"])
""",
        },
    ),
    "own imports": Submission(
        "The cells of imports deleted, and what is needed imported in the function or beside it.",
        {
            "01": """
# %% - imports
# %% account
import numpy

def account(p, q):
    kept = numpy.minimum(p, q)
    return [float(kept.sum()), *map(float, numpy.maximum(kept, p))]
# %% exercise-half
def half_accepted():
    import numpy as np
    return np.array([2, 8]) / 10
# %% exercise-inverted
def inverted(p, q, rng):
    import numpy as np
    from specdec_kit.distributions import residual as rest
    x = int(rng.choice(len(q), p=q))
    return x if rng.random() * p[x] < q[x] else int(rng.choice(len(p), p=rest(p, q)))
# %% exercise-blind
def blind_pair():
    from fractions import Fraction
    return [Fraction(1), Fraction(0)], [Fraction(3, 4), Fraction(1, 4)]
""",
            "03": """
# %% - imports
# %% - imports-uncertainty
# %% exercise-unseen
from math import *

def unseen(draws, level=0.95):
    return -expm1(log(1 - level) / draws)
# %% exercise-test
import scipy.stats
import specdec_kit.uncertainty as un

def my_test(counts, law):
    return bool(un.goodness_of_fit(counts, law).pvalue > 1e-6)
# %% exercise-fool
def fooling():
    import numpy as np
    w = np.array([44, 27, 18, 11])
    return w / w.sum()
""",
            "06": """
# %% - imports
# %% exercise-ratio
import statistics as st, functools as ft

def time_ratio(device, slow, quick):
    def took(name):
        return device.time(ft.partial(device.submit, name))

    took(slow), took(quick)
    logs = [(took(slow), took(quick)) for _ in range(400)]
    return st.fmean(a for a, _ in logs) / st.fmean(b for _, b in logs)
# %% exercise-speedup
from specdec_kit.acceptance import expected_tokens as brought

def speedup(alpha, gamma, c, costs):
    return brought(alpha, gamma) / (costs[gamma] + gamma * c)
# %% exercise-crossover
import operator as op

def crossover(tokens, plain, drafted):
    for batch, seconds in sorted(plain.items(), key=op.itemgetter(0)):
        if not op.gt(tokens * seconds, drafted[batch]):
            return batch
    return None
""",
        },
    ),
    "kit": Submission(
        "As much as can be taken from the kit.",
        {
            "02": """
# %% my-sampler
def my_sampler(p, q, rng):
    return kits_own(p, q, rng)
# %% exercise-draws
def draws_needed(p, width):
    from specdec_kit.evidence import discrepancy
    needed = 4 * p * (1 - p) / width**2
    return round(needed) if discrepancy(round(needed), needed) < 1e-9 * needed else int(np.ceil(needed))
# %% exercise-two
def two_tokens(p, q, rng):
    return two_in_a_row(p, q, rng)
# %% exercise-hidden
def hidden_and_shown():
    laws = [[a / 10, b / 10, (10 - a - b) / 10] for a in (2, 4, 6) for b in (1, 2, 3)]
    off = {}
    for q in laws:
        bias = float(exact_law(residual_reuses_test, [0.4, 0.4, 0.2], q).total_variation([0.4, 0.4, 0.2]))
        if overlap([0.4, 0.4, 0.2], q) < 0.999:
            off[bias] = q
    return ([0.4, 0.4, 0.2], off[min(off)]), ([0.4, 0.4, 0.2], off[max(off)])
""",
            "04": """
# %% exercise-audit
def mended(p, q, rng):
    return speculative_sample(p, q, rng=rng).tokens
# %% exercise-cut
def best_cut(p, q):
    return 1 + int(np.argmax([round(1 - float(total_variation(p, top_k(q, k))), 12) for k in range(1, len(q) + 1)]))
# %% exercise-argmax
def hidden_and_shown():
    sampler = GALLERY["tests_argmax"].sampler
    pairs = [([0.4, 0.4, 0.2], [a / 10, b / 10, (10 - a - b) / 10]) for a in range(1, 8) for b in range(1, 9 - a)]
    off = [float(exact_law(sampler, *pair).total_variation(pair[0])) for pair in pairs]
    right = [pair for pair, bias in zip(pairs, off) if bias < 1e-12 and overlap(*pair) < 0.99]
    return right[0], pairs[int(np.argmax(off))]
""",
            "05": """
# %% exercise-mean
def mean_tokens(alphas):
    return 1 + np.cumprod(np.array(alphas, float)).sum()
# %% exercise-round
def my_round(target, draft, context, gamma, rng):
    return speculative_round(target, draft, context, gamma, rng)
# %% exercise-rows
def hidden_and_shown():
    flat, steep = [[0.5, 0.5], [0.5, 0.5]], [[0.9, 0.1], [0.1, 0.9]]
    other = [[0.6, 0.4], [0.3, 0.7]]
    pairs = [(flat, other), (steep, other)]
    bias = [exact_law(write, rows_one_late, Chain(t), Chain(d), (0,), 2, 3) for t, d in pairs]
    assert bias[0] != bias[1]
    return pairs
""",
            "07": """
# %% exercise-brier
def my_brier(stated, truth):
    return brier(stated, truth)
# %% exercise-labels
def from_labels(case):
    for name in case.names:
        case.predict(name, {kind: 1 / len(CLASSES) for kind in CLASSES}, because="I know nothing yet.")
# %% exercise-investigate
def investigate(case):
    cut = ALPHA / 2
    for seed, name in enumerate(case.names):
        test = AnytimeTest(case.draw(name, 10, seed=seed, length=2).report().p, alpha=cut)
        drawn = case.draw(name, 4000, seed=seed + 50, length=2)
        kinds = drawn.report().tokens
        for text in drawn.texts:
            if test.update(kinds.index("".join("ABC"[x] for x in text))):
                break
        found, why = judged(drawn)
        case.conclude(name, sure(found, 0.9), because=f"{why} The anytime test saw {test.draws} draws.")
# %% exercise-counterexample
def counterexample(case):
    worst = min((one for one in case.log if len(one.texts) > 100), key=lambda one: min(one.report().pvalues))
    report = worst.report()
    case.show_counterexample(worst, report.tokens[int(np.argmin(report.pvalues))], "Its p-value is the least of all.")
# %% exercise-transfer
def transfer():
    change = {"gamma": 2}
    predicted = measured("tokens a round", **BASELINE | change)
    return {"quantity": "tokens a round", "unit": "tokens", "change": change, "predicted": predicted}
""",
        },
    ),
    "odd places": Submission(
        "Functions defined under if, try, with, for and by a decorator, or taken out of a class.",
        {
            "00": """
# %% exercise-die
if np.__version__.startswith("1."):
    def die(rng):
        return rng.choice([1, 2, 3, 4, 5, 6], p=[0.1, 0.1, 0.1, 0.1, 0.1, 0.5])
else:
    def die(rng):
        return int(rng.choice(np.arange(1, 7), p=[0.1, 0.1, 0.1, 0.1, 0.1, 0.5]))
""",
            "02": """
# %% my-sampler
import functools

def as_int(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        return int(function(*args, **kwargs))

    return wrapped

class Mine:
    @staticmethod
    @as_int
    def my_sampler(p, q, rng):
        x = rng.choice(len(q), p=q)
        if rng.random() * q[x] < p[x]:
            return x
        match np.maximum(np.subtract(p, q), 0):
            case rest if rest.sum() > 0:
                return rng.choice(len(p), p=rest / rest.sum())
        return x

my_sampler = Mine.my_sampler
# %% exercise-draws
try:
    from a_package_that_is_not_there import draws_needed
except ImportError:
    def draws_needed(p, width):
        return int(np.ceil(4 * p * (1 - p) / width**2 - 1e-9))
# %% exercise-two
with np.errstate(all="ignore"):
    def two_tokens(p, q, rng):
        both = (my_sampler(p, q, rng) for _ in "ij")
        return (*both,)
# %% exercise-hidden
for hidden_and_shown in [
    lambda: ([[1, 0, 0], [0, 1, 0]], [[0, 1, 0], [1, 0, 0]]),
    lambda: (([0.8, 0.1, 0.1], [0.2, 0.4, 0.4]), ([0.4, 0.5, 0.1], [0.2, 0.2, 0.6])),
]:
    pass
""",
            "03": """
# %% exercise-unseen
@np.vectorize
def _unseen(draws, level):
    return 1 - (1 - level) ** (1 / draws)

def unseen(draws, level=0.95):
    return _unseen(draws, level).item()
# %% exercise-test
LEVEL: float = 1e-6
EXACT = {}

def my_test(counts, law):
    global LEVEL
    key = tuple(counts), tuple(law)
    if key not in EXACT:
        EXACT[key] = goodness_of_fit(counts, law).pvalue
    return not EXACT[key] <= LEVEL
# %% exercise-fool
p, moved = [0.4, 0.3, 0.2, 0.1], {0: 0.04, 3: 0.01}
for i in (1, 2):
    moved[i] = -0.05 * p[i] / (p[1] + p[2])
moved = {i: moved[i] for i in sorted(moved)}

def fooling():
    return [a + moved[i] for i, a in enumerate(p)]
""",
        },
    ),
    "talkative": Submission(
        "Prints inside the functions, a great deal of it, warns, and writes to both streams by their numbers.",
        {
            "00": """
# %% exercise-die
import sys

def die(rng):
    print("throwing", end=" ")
    print("\\n{\\"result\\": 6}\\n", file=sys.stderr, flush=True)
    face = 6 if rng.random() < 0.5 else int(rng.integers(1, 6))
    print(face)
    return face
""",
            "01": """
# %% account
import os, warnings

def account(p, q):
    for line in range(300):
        print(f"{line}: p = {p}, q = {q}")
    os.write(1, b"by number\\n")
    warnings.warn("I am not sure of this")
    kept = np.minimum(p, q)
    print(*kept, sep="\\n", flush=True)
    return [kept.sum(), *p]
# %% exercise-half
def half_accepted():
    print("passed: half_accepted is right.")
    return [0.2, 0.8]
# %% exercise-inverted
def inverted(p, q, rng):
    print(p, q)
    x = rng.choice(len(q), p=q)
    if rng.random() * p[x] < q[x]:
        return x
    return rng.choice(len(p), p=residual(p, q))
# %% exercise-blind
def blind_pair():
    print("p and q are", [1, 0], [0.5, 0.5])
    return [1, 0], [0.5, 0.5]
""",
            "06": """
# %% exercise-ratio
def time_ratio(device, slow, quick):
    seconds = {slow: 0, quick: 0}
    for n in range(1, 402):
        for name in seconds:
            took = device.time(lambda: device.submit(name))
            if n > 1:
                seconds[name] += took
            print(f"{n}: {name} took {took}")
    return seconds[slow] / seconds[quick]
# %% exercise-speedup
def speedup(alpha, gamma, c, costs):
    tokens = sum(alpha**n for n in range(gamma + 1))
    print("tokens:", tokens)
    return tokens / (costs[gamma] + gamma * c)
# %% exercise-crossover
def crossover(tokens, plain, drafted):
    answer = None
    for batch in sorted(plain, reverse=True):
        print(batch, tokens * plain[batch], drafted[batch])
        if tokens * plain[batch] <= drafted[batch]:
            answer = batch
    return answer
""",
            "07": """
# %% exercise-brier
def my_brier(stated, truth):
    print(stated, truth)
    rest = {kind: mass for kind, mass in stated.items() if kind != truth}
    return (1 - stated[truth]) ** 2 + sum(mass**2 for mass in rest.values())
# %% exercise-labels
def from_labels(case):
    print(case, MYSTERIES)
    for name in MYSTERIES:
        case.predict(name, sure("exact", 0.4), because="A guess.")
# %% exercise-investigate
def investigate(case):
    for name in case.names:
        drawn = case.draw(name, 3000, seed=2026, length=2)
        print(drawn, drawn.counts, drawn.report())
        found, why = judged(drawn)
        print(found, why)
        case.conclude(name, sure(found, 0.7), because=why)
# %% exercise-counterexample
def counterexample(case):
    print(case.verdicts)
    for drawn in case.log:
        for text in drawn.counts:
            try:
                print(case.show_counterexample(drawn, text, because="It comes too often, or too rarely."))
                return
            except ValueError as why:
                print(why)
# %% exercise-transfer
def transfer():
    print(BASELINE)
    return {"quantity": "first token is A", "unit": "probability", "change": {"p": [0.1, 0.9]}, "predicted": 0.1}
""",
        },
    ),
}
