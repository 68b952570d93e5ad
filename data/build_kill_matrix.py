"""Audit every sampler, round and decoder of the galleries, and write what found it: `python data/build_kill_matrix.py`.

Takes about two minutes. The audits draw from fixed seeds, so the table is the same each time.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from specdec_kit.audit import audit_decoder, audit_sampler
from specdec_kit.battery import KINDS
from specdec_kit.blocks import speculative_round
from specdec_kit.faults import GALLERY, Fault
from specdec_kit.files import write_whole
from specdec_kit.round_faults import DECODERS, ROUNDS
from specdec_kit.waiting import progress_bar

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


def main() -> None:
    """Audit them all, then replace the file whole."""
    text, faults = io.StringIO(), list(entries())
    table = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    table.writeheader()
    with progress_bar("audits", len(faults)) as gone_on:
        for fault in faults:
            table.writerow(row(fault))
            gone_on()
    write_whole(FILE, text.getvalue())
    print(f"{FILE.name}: {len(faults)} rows")


if __name__ == "__main__":
    main()
