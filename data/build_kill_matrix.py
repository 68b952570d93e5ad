"""Audit every sampler, round and decoder of the galleries, and write what found it: `python data/build_kill_matrix.py`.

Takes about two minutes. The audits draw from fixed seeds, so the table is the same each time.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

from specdec_kit.audit import audit_decoder, audit_sampler
from specdec_kit.battery import KINDS
from specdec_kit.blocks import speculative_round
from specdec_kit.faults import GALLERY, Fault
from specdec_kit.round_faults import DECODERS, ROUNDS

FILE = Path(__file__).with_name("kill_matrix.csv")
COLUMNS = ["name", "kind", "passed", *(kind for kind in KINDS if kind != "cache")]


def row(fault: Fault) -> dict[str, str]:
    """What the audit says of one entry of the galleries."""
    if fault.name in GALLERY:
        report = audit_sampler(fault.sampler)
    elif fault.name in ROUNDS:
        report = audit_decoder(fault.sampler)
    else:
        report = audit_decoder(speculative_round, decode=fault.sampler)
    return {"name": fault.name, "kind": fault.kind, "passed": "yes" if report.passed else "no", **report.kinds}


def entries() -> Iterator[Fault]:
    for gallery in (GALLERY, ROUNDS, DECODERS):
        yield from gallery.values()


if __name__ == "__main__":
    with FILE.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        table.writeheader()
        table.writerows(row(fault) for fault in entries())
    print(f"{FILE.name}: {sum(1 for _ in entries())} rows")
