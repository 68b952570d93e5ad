"""Six samplers of unknown worth, for readers who are to find out: `MYSTERIES`, told apart by the names of trees.

Each makes one round, ``round_(target, draft, context, gamma, rng) -> tuple of tokens``, and carries the label that its
vendor gave it. What it does, and what it is worth, is kept packed: neither this file nor `inspect.getsource` gives it
away before `reveal` is asked. Until then `specdec_kit.investigation` runs it, and counts the draws.
"""

import base64
import json
import linecache
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from specdec_kit.blocks import Tokens, propose, score
from specdec_kit.distributions import Law
from specdec_kit.models import Chain
from specdec_kit.sampling import inverse_cdf

CLASSES = {
    "exact": "any text has the target's law",
    "first token": "the first token of a round has another law than the target's",
    "joint": "each first token of a round has the target's law, and several tokens together have not",
    "declared": "another law than the target's, and it is the one that the label states",
}
"""What a sampler of this module may be."""

TARGET = Chain(np.array([[20, 50, 30], [60, 10, 30], [30, 30, 40]]) / 100, start=np.array([50, 33, 17]) / 100)
DRAFT = Chain(np.array([[50, 20, 30], [20, 50, 30], [40, 40, 20]]) / 100, start=np.array([30, 30, 40]) / 100)
"""The bench: row i is the law after token i, `start` that of the first token."""


@dataclass(frozen=True)
class Mystery:
    """A sampler before it is revealed."""

    name: str
    label: str
    """What its vendor says of it."""


MYSTERIES = {
    name: Mystery(name, label)
    for name, label in (
        ("Alder", "Thrifty: a single random number for each round, however long the block."),
        ("Birch", "Wastes nothing: every draft that passed its test is kept, and only then is the target asked again."),
        ("Cedar", "Quick, not exact: a rejected draft gets a second chance, one in five. At each drafted place the law "
                  "is 0.8 p + 0.2 q."),
        ("Dogwood", "Clean: numerical noise in the residual is filtered out."),
        ("Elm", "Steady: long blocks and short ones even out within each round."),
        ("Fir", "Full blocks, always: γ + 1 tokens from every round."),
    )
}  # fmt: skip


# ---- what the samplers share ----


def draw(weights: Law, rng: Any) -> int:
    """Token of a law that need not be normalised, by inverse CDF."""
    return int(inverse_cdf(weights, rng.random()))


def lacking(p: Law, q: Law) -> Law:
    """(p − q)₊; where p = q but for rounding nothing is lacking, and p itself does no harm."""
    rest = np.maximum(p - q, 0)
    return rest if rest.any() else p


# ---- opened ----


@dataclass(frozen=True)
class Revealed:
    """A sampler with its source. Printed, it tells all."""

    name: str
    label: str
    truth: str
    """One of `CLASSES`."""
    why: str
    source: str
    round_: Callable[..., Tokens] = field(repr=False)

    def __repr__(self) -> str:
        return f"{self.name}: {self.truth} ({CLASSES[self.truth]})\n{self.why}\n\n{self.source.rstrip()}"


@cache
def _unpacked(name: str) -> tuple[dict[str, str], Callable[..., Tokens]]:
    told = json.loads(zlib.decompress(base64.b64decode(_PACKED[name])))
    rooms = {"np": np, "inverse_cdf": inverse_cdf, "propose": propose, "score": score, "draw": draw, "lacking": lacking}
    exec(compile(told["source"], f"<{name}>", "exec"), rooms)
    return told, rooms["round_"]  # type: ignore[return-value]


def known(name: str) -> str:
    """`name`, if it is a mystery's; else a ValueError that lists them."""
    if name not in MYSTERIES:
        raise ValueError(f"{name!r} is none of the six: they are {', '.join(MYSTERIES)}")
    return name


def sealed(name: str) -> Callable[..., Tokens]:
    """The round itself, for whoever runs it without looking."""
    return _unpacked(known(name))[1]


def reveal(name: str) -> Revealed:
    """Open one: what it is, why, and its source.

    Parameters
    ----------
    name : str
        One of `MYSTERIES`.

    Returns
    -------
    Revealed
        From now on `inspect.getsource` shows the source of its round too.

    Raises
    ------
    ValueError
        Where there is no such sampler.
    """
    told, round_ = _unpacked(known(name))
    lines = told["source"].splitlines(keepends=True)
    linecache.cache[f"<{name}>"] = (len(told["source"]), None, lines, f"<{name}>")
    return Revealed(name, MYSTERIES[name].label, **told, round_=round_)


# What each is, packed: UTF-8, JSON, zlib, base64.
_PACKED = {
    "Alder": (
        "eNp1Uk2PnDAM/SsWp1Blaec60hx66XUPPTKjlQsGogWHzcfAbtX/XoePmWmrgiDB+D37PednFlwMXXaEjGasQqYhm7r39P0Vqs6a"
        "iiB0GCDgK3mI0Dg7ADIYDuSu2INtwAQPPXEbOlnwuuRFNo11A0wmdEbSQwHfg6NQdVRDsFB+0XDIJQ7GA3pora3TyjRp8BYsE3Ac"
        "fpADL4WEE2HqbE/gbOS6SI16G11FqdeamjX+ogK6loKG2mEjS2Wl0Vk2LQ4DanDc5sczg1znLN3PUmhvVl6ilh4LHeVD5ONuxiZw"
        "UZ1a9/+K0uJPDX4kFlyLhou10lo1wik1UThJsoPKz7zGk4SEqdVEpu2C39tMF1vubSVux3tsFqLBsJJJyHMl5+mlqpsdriHm0kr6"
        "y2PR9BiE5IOcvfGXT4dLnt8JfYeOhHT7D5/3XeHj0uiemCSoCE8rojzOlzUjF8gami/3bPEnOob5JjQNhmoNPU5emEZnR+tJ/Wdg"
        "iydbcWcXhK+so9ugb4A/iDdEmihrULOGUcObHDgGknNFDgOpDzOqGyqRr1idpmqqcPqGvaf8cRCvNIbN94NQilDR/CbLgz1mH6T4"
        "js7huyoTTI6GWJZ24jqcTnB44H0wSn3aWiqPfNn0qx6rV8OtWkTsQ/sbsCcnJeVi3zLf7NdvkndAog=="
    ),
    "Birch": (
        "eNp1krFu2zAQhl/lhyYqJQx0VZACXbp07OgYBS2dbCYUSZNUZSfI3rlv0hfpQ/RJeiRjtRlKDaRO99/934nPTQpzOjYdmgenbWok"
        "muV4ye8fEal3dsAQ1JigIx7JJyxHCgSd4FWMFCUUp6zBURkT+RDhjeopq1i+WM6iBfsL7y5xMoKb7bDBF8dalcAxBIp6mJWBWygi"
        "OQ7yl7WOpW+s80oPXWlg1JLDk7bCS5xavIN4j9/ff+DXzxZ+k1Gim0NPmWagsfb8KpIKB0qyckkwY6IzHw5qmpREsIe2u7fgdd/k"
        "5zORj8VhUUTsaXSMmyOjDjGx8wfqk3b2FuovxsrurLm8jijTa3sAmUhY3GwGrgZDY9rUZrVxaUSDzJARd/DBeRdJ/MeyUdN+UDh1"
        "paE4VYi21gqulIg9e17Z1wpvOr0qmA5WQpwl6mS1Bdl5oqASiSftxarKxatWIqag+3T3STFbex1hXnrMfjaBb4qbRIsbnLbnHT4w"
        "F+//JBa7lOZgr762nd2B7YgCxlfhkadX/3eFlFfKKhM3q7WiyP62ZUq7dSjNyx/RYvxY"
    ),
    "Cedar": (
        "eNp1Us1O3DAQfpVPOTlgRVVPKBJIXCr1CXpYVmhIJhsXx07GDlmo+u7YybJikXAOtmb8/Y3zr4gyx76oUbTcWBJuC41i6V9z6XdE"
        "6zlg6SnCxABLT2wR6DXUSCWmpkcr1EVuMVpqGLHndGuBCfhR3WDEddp/Yqrwp2fJ/UwV8Oz84kCuxUIuw81adh4dzTZW2UXwszS8"
        "eesgfnbto4okB456k9VofEIf0+FAw0Aa4g5l/eCQ1kORv3sI/+UmS6yQVZzHCLJ2dRtoYA3vkjczMIxDZ1642tAb0ymizskCbjGK"
        "H31g9Y0HS8NTS5jqDFzUtLkqNy7xK0VovPA5zJnhQumE6LzAaaijxqgxldkiu3lgocjqzYzqjMrkG1YjRDFNvP1FNnD5MZO8TJf9"
        "VJKG7wdV4grT7rjHXcqV9/wmF/3USE/4iWCNwXEWB3V10t7Vbq+3vOk/eDbuoFazl9m/gE6A7Hq3zm5/vl78fwdYT9b1"
    ),
    "Dogwood": (
        "eNp1ksFu2zAMhl/lh09yIRi57BIsBXbZK/SQBINq07FQW3IoGUla9N1LSVnQBJt8kECRH3/+8kcVeYlDtUbVWw4R0b+RqzSq03BJ"
        "0V8lgjgYuRwI0fCBIkbTvgW8XjBSCOnWYdWsfkDuApyPg3UH9OynXMQUbLeYUcO4LkckgzikdFipCINhalLf4BduKbXuqAf7xXV/"
        "VGmq0bHpZWu9i3SWw8FMk9Fgd6jXOwdZuyp9L/9U63uY6zitcKWtSVptIJxEDYkS2PAwUVOIhZ77U6cFeArYYGY/+0DqP7pGM712"
        "Bsd1KjypY1FaFxb7jAitZ7oNeCPcdbpW9J7hNNRZY9Y41rAO5JaJ2ERS73ZWt6oEL7UaIbJt4+a3GQPVf31Ky/ZJT8PyJn5SNZ5w"
        "3J73eJa5ZP+WmOWS/B2b7KQ8rcoC7jPakcSzDdzcZDtVLvmZXdRY6YyoH6lxYQf1dFW+Xbu9Lm4VnGjMh8a4i0gkmSFz7q18oFwJ"
        "yYRtfor9Lb36/ALun/Ik"
    ),
    "Elm": (
        "eNp1Us2O0zAQfpVPkZCclam0HCMtBw5ceYButXKTSWJw7NQeb1sQd848Ik/COOl2u0g4UuzY33w/4/yoOGYeqwbV12A9VxrVcTyX"
        "7wzjO9zjz6/fkHUk7AOPyN72IU4aKYBMO4IpMfZnWE7ketiEaIeRN/iUGceRpJBHQm+j4GaTEnUIHgZpMs4h6+U4URtEbiLiJGfO"
        "xIEERg0G+0x+wcyRenvSorTyJHAIiGLNnTfFeQo5tlTMd9Qjhuy7J8WFijW6aHqZRIbpJIvBTJPRiH6om0cPGY9Veb54egkJeaGY"
        "LBkTQi/OFtamdIRvcznTkn7tFt+E0q8bPNrYbVadVXNxRYJx5pjwIBnDHBKp/7h1Ztp3BoemFB7VYfVfr1wxLBSpDZGusa8Mb5Qu"
        "FVngQrCJctVhUpfdktprKGn1rHGoYT3I54miYVLf7ayuXEVyZZQfgqNt+eGzcYnql56WYXuoe7wXNVl5vMMHkGCQa9zhsD3t8FGC"
        "y3xTs+QhztFD3V3kto3f6TW4tPub9YNa/L1twj9Fl4JidLs0cXeFVz//Al5r+r0="
    ),
    "Fir": (
        "eNp1Ut1u2yAUfpVPvhluUR4gWibtpi/RVBWxj21mDA4c10mnvfv4caJU2uACOBy+P/G7Yr/wUO1R0UU1XElU63BN55fFGJyMa8YA"
        "49wIFaA7WMeDtj1W8gT6IA9Pv6hhanf42XE8q62inQUPFE+BoUPes/I98bcAt1oJdiNZnK5lsy/duh8YRq0SinNl9rohuA6Ti5Sz"
        "CoHCLgkNbvENJa0tdfBuse27KAwSrVddXBpnmS5x06tpUhLe9vX+aBHHsUrz35oLClavmaLYLFJzINNJLJa1yV05nWSti1ntCl7B"
        "zuzUymQk4BA9uNkFEv9RZdR0ahXO+/RwFeeisy5Y3mWI0ET7d3t3hC9M24t0E19sV6XWOY8YubhIzBLnGtqC7DKRV0ziU8/ijpQI"
        "C55E4Jg+H16UCVTfkksjfoWoceeVbd0kajzh/Hp5w4/oNa4PjQ+CxNPG8bq3b7J4NaoZ438SWdQX37dx8qTGUloHbQiGrEiINb4f"
        "SoIPdJnqOXJldDvvVFDeq+uWnNiCw3PurDdKecuaePE2Xx1t9ecvDsYEBQ=="
    ),
}
