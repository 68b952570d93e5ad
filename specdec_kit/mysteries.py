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
from specdec_kit.lines import wrapped
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
        told = wrapped(f"{self.name}: {self.truth} ({CLASSES[self.truth]})\n{self.why}", 0)
        return f"{told}\n\n{self.source.rstrip()}"


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
        "eNp1Uk2vmzAQ/CsrTqbi0eYaKYdeeu2hR4KetrCAFbB59jrwXtX/3jVfSSuVHOysZmZnZ/0rYRe4S86Q0IwVJxkkU/ce/3+FqrO6IuAO"
        "GRhv5CFA4+wAaEAbJnfHHmwDmj30ZFru5MD7ggtGN9YNMGnutMA5hx/siKuOamALxZcMTqnUQXtAD621dTwNTRl4C9YQmDD8JAdeGokm"
        "wtTZnsDZYOo8GvU2uIqi15qatf6qGF1LnEHtsJGjsmJ0lkuLw4AZONOm56sB+a5J/H2XRrtZXEXO0klGxj2Abahl0t0Nd+JPhPNVZVUM"
        "cIkNcoemtoNKr2atR3t+JFOriXTbsd8txM9Y09tKkgyPWo+eRUtCVmbMmx5ZUB/k7CFQvJzK9EGYBT1ooyJDmzs5T69V3ezwDEKaZovs"
        "E8l36EiIGwg+77fch8X9DoxzqQAvK6M4z+WKSIWylubygZYtB2dgPqaPm6A6tp+8KI3OjtaT+s+GlqC25s4uDF9ZR8dmD8JfwhtD9ggm"
        "AzVnMGbwJi/MAMlDIodM6kOP6mBF8ZUrTdnpii/fsPeUPm/nRiNv2Z5EUgaVmd/keIpH79uVXaFz+K6KSJMHLpHFWylJXS5wetJ9Ckp9"
        "2iwVZ1Nu86seq5s2rVqGSPc4/iHs4DhJscRXRmjy+w/1bTqk"
    ),
    "Birch": (
        "eNp1UUFu2zAQ/MpAJyohDOQqIAFy6QdydIyAllY2G4mkSaqyG+Tec3/Sj/QReUmWpK0kh1AHkqud2ZnhSxX9FPdVg+qn1SZWEtW8P6X7"
        "PQK11nTovOojdMAzuYh5T56gI5wKgYKE4pal2KthCHwIcINqKaEYPhvuohnbE+82cjO8nUy3woNlrIrgGjwF3U1qgJ0pIFou8p+Fx9Av"
        "xjmluyYPGNScyqM2wkkcalxD3ODtz1/8/1fDrZKVYCffUnLTUV9mPomo/I6iLL4k2GOkIx92ahyVhDe7unk04PVYpe/+Q9lix5rhdHZt"
        "7DmhWZ0j2lJvcxyrQlDIchN1MgkPuIXz1tlA4hsZgxq3ncKhyRPFoQirC5e3mSK0PGfxszB8mXRGsCIYCXGUKGlpAzLTSF5FEr+1Ewsq"
        "kResRIhet/H2hxoC1ZdY0tJ90rPy/Pp2FDWucFgfN7hjX7x/asxyKU7eXHStG7MByxHZGD/vsza78obFpLy4LDBxtUjLiKRvnVPaLKFU"
        "r+9VDevh"
    ),
    "Cedar": (
        "eNp1Us1O3DAQfpVPOTlgRVVPKBJIXCr1CXpYVmhIJhsXx07GDlmo+u7YybJikXAOtmb8/Y3zr4gyx76oUbTcWBJuC41i6V9z6XdE"
        "6zlg6SnCxABLT2wR6DXUSCWmpkcr1EVuMVpqGLHndGuBCfhR3WDEddp/Yqrwp2fJ/UwV8Oz84kCuxUIuw81adh4dzTZW2UXwszS8"
        "eesgfnbto4okB456k9VofEIf0+FAw0Aa4g5l/eCQ1kORv3sI/+UmS6yQVZzHCLJ2dRtoYA3vkjczMIxDZ1642tAb0ymizskCbjGK"
        "H31g9Y0HS8NTS5jqDFzUtLkqNy7xK0VovPA5zJnhQumE6LzAaaijxqgxldkiu3lgocjqzYzqjMrkG1YjRDFNvP1FNnD5MZO8TJf9"
        "VJKG7wdV4grT7rjHXcqV9/wmF/3USE/4iWCNwXEWB3V10t7Vbq+3vOk/eDbuoFazl9m/gE6A7Hq3zm5/vl78fwdYT9b1"
    ),
    "Dogwood": (
        "eNp1UsFu2zAM/ZUHn+RCMHLpJWgG7LJf6CENCsWmY6G25FAynGzYv4+S0mApNvkggeR7fHz0ryryEodqi6q3HCKi/yBXaVTrcE3R7yWC"
        "OBhJDoRo+EQRo2k/Ao5XjBRCyjpsms0zJBfgfBysO6FnP2UQU7DdYkYN47ockQrikMphBREGw9SkvsEv3FJq3VEP9ovr3lVpqtGx6eVq"
        "vYt0kcfJTJPRYHeqt28Oct6q9L3+U63vYW7j2CTSBsKRRr9m6U2BFprciDotyDVgh5n97AOp/wgYzXTsDM7bBFzVuUiqCxf7TBFaz3Sf"
        "5M7w0OmG6D3DaaiLxqxxrmEdyC0TsYmkftpZ3VGJvGA1QmTbxt0PMwaqPw1Jx/ZJT8Nivp9UjSec95cDvslccv9VmOWS/Aa7bJnsUGUB"
        "jxXtSLLuHdzcrLJFUhnykl3U2OhMUX9ljQs7qKeb8v3WHXRxq9CJxvxojLuKRJIZMs+jlV9YbgzJhH1exeFeXv3+A0sw6dM="
    ),
    "Elm": (
        "eNp1UUtu2zAQvcqDgAJUwBpIlgKSRRfZ5gCOUdDSSGIjkTI5rO0G3XedI+YkGUqy0RQoCYik+OZ9hq8Fh8R9UaH44a3jQqM49ud8TjCu"
        "wS3e/7xB9oGw99wjOdv6MGpEDzJ1D6bI2J9hOdLQwkYE2/W8wbfEOPYkhdwTWhsEN5kYqYF3MIijGQYkPV9Hqr3IjUQc5W4woSOBUYXO"
        "/iQ3Y6ZArT1pUVp4Ith7BLE2nDfZefQp1JTNN9Qi+OSa74ozFWs0wbSyiAzTSTadGUejEVxXVs8OMp6LPJ8cXUJCPsgmc8YI34qzmbVa"
        "bbtLf9aT9Kkz1m0WpoV11qVGS6ZjxL2k8JOPpP7jZzDjvjE4VLnwqA6Lw3LhCn6miLUPdA12ZfiktFYkgQvBJshj+lGtf3Mup6GkmZPG"
        "oYR1IJdGCoZJ/bKTunJlyYVRnpyDrfn+0QyRykvX8rAt1C2+iprsHL7gDiQYpBI3OGxPOzxIcFn/qpnzEKfgoG5WuW3ldnoJPpj6xbpO"
        "zf4+N+GforUgG93OTdxd4cXvD8qI8DU="
    ),
    "Fir": (
        "eNp1UtGOmzAQ/JURLzV3Fh+Amkp9uZ+4nE4bWMDF2MQ2R3JV/702JlFOas2D1+vdmdnBv4vgljAUNQq+UBMKiWIdrun8smiNk7bN6KGt"
        "HUEeqoOxYVCmx8qOwR/s4PgXN4HbCj+7EM+0Z5Q1CAPHkw9QfosDuZ7DNw+7GolgRzY4XXNQ52rVDwGaVgkKW2Z2qmHYDpONlDN5z75K"
        "Qr1dXMNJa8sdnF1M+y4yg0TrqItbY03gSwx6miaScKYv66NBXMciff/WnFHQKa2z8M2IJFUFz7qrcnMG2qi4lUm1xyEKtrP1LP4jQdN0"
        "agnnOjWu4pxFlRnL2Q3CN3HW+yx3hC9Me0e6iR37Vc511iH6Ky4Ss8S5hDJgs0zsKLD4VLO4IyXCjCfhQ7Q6HF5Iey5vNqUV/3vUWDky"
        "rZ1EiSecXy9v+BFnjftD4YMg8bRzvNbmTeZZNTVjfDxiE/Vl7ts6OaYxp9ZBaYZmIxJiie+H7OAD3Ub1HLk2dDNX5Mk5uu7Oid04PG+V"
        "5U4pb15zWJzZro6m+PMXcUL9Lg=="
    ),
}
