"""Time the models of the kit on this machine: ``python -m specdec_kit.timing``.

First the device (what its memory and its arithmetic can do), then single passes, whole rounds and drafts, then whole
texts; every part in turns, in orders drawn anew. Each time is kept.
"""

import argparse
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from specdec_kit.acceptance import tally
from specdec_kit.blocks import Tokens
from specdec_kit.clocks import Clock, HostClock, clock_of, shuffled
from specdec_kit.drafts import PromptLookup, smollm2_ngram
from specdec_kit.evidence import commit_of_kit
from specdec_kit.models import DATA_FOLDERS, Processed, shakespeare
from specdec_kit.recordings import FOLDER, Recorder, Recording, Step, Text, blocks_of
from specdec_kit.timing import forward_pass, measure, time_text, whole_round
from specdec_kit.waiting import progress_bar
from specdec_kit.workloads import WORKLOADS

Jobs = dict[tuple[str, int, int], Callable[[], Any]]
"""What to time, by its kind, batch and tokens."""


class Plan(NamedTuple):
    """How much is timed."""

    sizes: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 24, 32)
    """Tokens in a pass or round."""
    batches: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    repeats: int = 15
    """Of a pass or round; a batch of 8 or more has a third of them."""
    cached: int = 128
    """Tokens that each text of a batch has before a pass."""
    prompts: int = 8
    """Of each workload."""
    tokens: int = 64
    """That are written after a prompt."""
    text_repeats: int = 3
    sweep: tuple[int, ...] = (1, 2, 4, 15)
    """More γ of the lookup, on the copy-heavy workload at temperature 1."""
    rows: int = 64
    """Texts whose blocks are verified at once."""
    vocabulary: int = 128_256
    """Tokens of their laws."""
    megabytes: int = 256
    side: int = 2048


QUICK = Plan(
    sizes=(1, 2, 4, 5, 8, 16), batches=(1, 8), repeats=4, prompts=2, tokens=24, text_repeats=1, sweep=(), rows=8,
    vocabulary=32_768,
)  # fmt: skip
# On a card memory is faster, and time is short.
CARD = Plan(repeats=10, text_repeats=1, sweep=(2, 4), megabytes=1024, side=8192)


class Way(NamedTuple):
    """One way to write on: a draft and how many tokens it proposes."""

    name: str
    draft: Any
    gamma: Any
    most: int
    sweep: bool = False
    """One of several γ, for the copy-heavy workload at temperature 1 alone."""


class Pair(NamedTuple):
    """A target with its drafts."""

    name: str
    target: Any
    ways: tuple[Way, ...]
    encode: Callable[[str], Tokens]
    scheme: Callable[[float], Any] | None = None
    """Scheme for a temperature, where laws are reshaped and verified on the device; else NumPy does both."""
    temperatures: tuple[float, ...] = (1.0, 0.0)
    """1: drawn from the laws as they are; 0: greedy."""


class Session:
    """A run: where its rows go, its clock, its seed, and when it should end."""

    def __init__(self, recorder: Recorder, plan: Plan, device: str, seed: int, until: float, quiet: bool = False):
        self.recorder, self.plan, self.device, self.seed, self.until = recorder, plan, device, seed, until
        self.clock: Clock = clock_of(device)
        self.notes: list[str] = recorder.provenance.setdefault("notes", [])
        self.quiet = quiet

    def rng(self, *purpose: int) -> Any:
        """Stream of numbers for one purpose."""
        return np.random.default_rng([self.seed, *purpose])

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self.until

    def note(self, sentence: str) -> None:
        """Say something, and keep it with the provenance."""
        self.notes.append(sentence)
        if not self.quiet:
            print(sentence, file=sys.stderr)

    def steps(self, model: str, jobs: Jobs, repeats: int, *purpose: int) -> None:
        """Time jobs, named by what, batch and tokens, and keep the steps."""
        samples = measure(
            jobs, rng=self.rng(*purpose), repeats=repeats, clock=self.clock, until=self.until,
            progress="" if self.quiet else f"{model}: {next(iter(jobs))[0]}",
        )  # fmt: skip
        rows: list[Step] = []
        for one in samples:
            what, batch, tokens = one.job
            rows.append(Step(self.recorder.count + len(rows), model, what, batch, tokens, one.warm, one.seconds))
        self.recorder.add(*rows)


# ---- what is timed ----


def time_device(session: Session) -> None:
    """Time a copy within memory, and a product of matrices: the two ends of the roofline."""
    import torch

    plan, place = session.plan, torch.device(session.device)
    dtype = torch.bfloat16 if place.type == "cuda" else torch.float32
    source = torch.ones(plan.megabytes * 10**6 // 4, device=place)
    matrix, copy = torch.ones(plan.side, plan.side, device=place, dtype=dtype), torch.empty_like(source)
    jobs: Jobs = {
        ("copy", 1, plan.megabytes): lambda: copy.copy_(source),
        ("matmul", 1, plan.side): lambda: matrix @ matrix,
    }
    session.steps("device", jobs, max(plan.repeats, 10), 0)


def time_passes(session: Session, pair: Pair) -> None:
    """Time passes of the network: n tokens of each text of a batch."""
    plan = session.plan
    for batch in plan.batches:
        if session.late:
            session.note(f"{pair.name}: no passes from batch {batch} on, the time was up.")
            return
        sizes = list(plan.sizes)
        while sizes:
            try:
                run = forward_pass(pair.target, batch, plan.cached)
                run(sizes[-1])
                break
            except (MemoryError, RuntimeError) as error:
                if not out_of_memory(error):
                    raise
                session.note(f"{pair.name}: a pass over {sizes[-1]} tokens in a batch of {batch} is out of memory.")
                sizes.pop()
        if not sizes:
            return
        jobs: Jobs = {("pass", batch, n): partial(run, n) for n in sizes}
        session.steps(pair.name, jobs, plan.repeats if batch < 8 else max(1, plan.repeats // 3), 10 + batch)


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory is out: PyTorch has a class for a card and a mere sentence for the host."""
    said = str(error).lower()
    return isinstance(error, MemoryError) or "out of memory" in said or "can't allocate memory" in said


def time_start(session: Session, pair: Pair) -> None:
    """Time the same pass from the first one after loading on; on a card without waiting for it, too."""
    context = pair.encode(WORKLOADS["copy-heavy"][0])
    clocks = {"start": session.clock} | ({"not synchronised": HostClock()} if session.device != "cpu" else {})
    for what, clock in clocks.items():
        for n in range(10):
            pair.target.forget()
            seconds = clock.time(partial(pair.target.rows, context))
            session.recorder.add(Step(session.recorder.count, pair.name, what, 1, n, n > 0, seconds))


def time_baseline(session: Session, pair: Pair) -> None:
    """Time what writes without speculation: the kit's own way, and the ``generate`` of transformers; both greedy."""
    import torch

    network, plan, prompt = pair.target.model, session.plan, pair.encode(WORKLOADS["copy-heavy"][0])
    direct = next(way for way in pair.ways if way.name == "direct")
    target, options = settled(pair, pair.target, 0.0)
    ids = torch.tensor([prompt], device=network.device)
    writing = {"max_new_tokens": plan.tokens, "min_new_tokens": plan.tokens, "do_sample": False, "pad_token_id": 0}

    def ours() -> Any:
        options.update(gamma=0, max_new_tokens=plan.tokens, rng=session.rng(7))
        return time_text(target, direct.draft, prompt, **options)

    jobs: Jobs = {
        ("direct", 1, plan.tokens): ours,
        ("generate", 1, plan.tokens): lambda: network.generate(ids, attention_mask=torch.ones_like(ids), **writing),
    }
    session.steps(pair.name, jobs, max(1, plan.repeats // 3), 8)


def time_rounds(session: Session, pair: Pair, repeat: int) -> None:
    """Time whole rounds with drafts for nothing, at each temperature, and a call of each draft.

    A part of them comes before each repeat of the texts, so that a machine that drifts does so for both.
    """
    repeats = max(1, session.plan.repeats // session.plan.text_repeats)
    context = pair.encode(WORKLOADS["copy-heavy"][0])[-200:]
    jobs: Jobs = {}
    for temperature in pair.temperatures:
        target, scheme = settled(pair, pair.target, temperature)
        drafts = (context * max(session.plan.sizes))[: max(session.plan.sizes)]  # again, where the prompt is short
        run = whole_round(target, context, drafts, session.rng(1), **scheme)
        jobs |= {(named("round", temperature), 1, n): partial(run, n) for n in session.plan.sizes}
    session.steps(pair.name, jobs, repeats, 2, repeat)
    calls: Jobs = {}
    for way in pair.ways:
        if way.most and not way.sweep:
            for temperature in pair.temperatures:
                draft, scheme = settled(pair, way.draft, temperature)
                own = pair.scheme and hasattr(draft, "rows")  # then it drafts on the device, as a target writes
                call = partial(whole_round(draft, context, (), session.rng(1), **scheme), 1) if own else None
                calls[named(f"draft {way.name}", temperature), 1, 1] = call or partial(draft, context)
    session.steps(pair.name, calls, 2 * repeats, 3, repeat)


def named(what: str, temperature: float) -> str:
    """Name of a step, at a temperature."""
    return what if temperature else f"{what}, greedy"


def settled(pair: Pair, model: Any, temperature: float) -> tuple[Any, dict[str, Any]]:
    """A model at a temperature, with what `speculative_decode` needs to know of it."""
    if pair.scheme is not None:
        return model, {"scheme": pair.scheme(temperature)}
    return (model if temperature == 1 else Processed(model, temperature=temperature)), {}


def time_texts(session: Session, pair: Pair, repeat: int) -> None:
    """Time whole texts, in every way, in an order of their own."""
    plan = session.plan
    jobs = [
        (workload, prompt, temperature, way)
        for workload in WORKLOADS
        for prompt in range(plan.prompts)
        for temperature in pair.temperatures
        for way in pair.ways
        if not way.sweep or (workload, temperature) == ("copy-heavy", 1.0)
    ]
    with progress_bar("" if session.quiet else f"{pair.name}: texts {repeat + 1}", len(jobs)) as gone_on:
        for n in shuffled(len(jobs), session.rng(4, repeat)):
            if session.late:
                session.note(f"{pair.name}: texts end in repeat {repeat + 1}, the time was up.")
                return
            session.recorder.add(timed(session, pair, *jobs[n], repeat))
            gone_on()


def timed(
    session: Session, pair: Pair, workload: str, prompt: int, temperature: float, way: Way, repeat: int, **said: Any
) -> Text:
    """Row of one text."""
    seed = 100 * repeat + prompt
    target, options = settled(pair, pair.target, temperature)
    draft, _ = settled(pair, way.draft, temperature)
    done = time_text(
        target, draft, pair.encode(WORKLOADS[workload][prompt]), clock=session.clock, gamma=way.gamma,
        max_new_tokens=session.plan.tokens, rng=session.rng(5, seed), **options, **said,
    )  # fmt: skip
    sums = tally(done.rounds)
    return Text(
        session.recorder.count, pair.name, workload, prompt, temperature, way.name, way.most, repeat, seed, sums.tokens,
        blocks_of(done.rounds), sums.tested, sums.accepted, done.prompt, done.decoding,
    )  # fmt: skip


def time_repeated_prompts(session: Session, pair: Pair) -> None:
    """Time each open-ended prompt twice, with a target and a draft that remember the first time: how not to time."""
    if session.late:
        session.note(f"{pair.name}: no repeated prompts, the time was up.")
        return
    for prompt in range(session.plan.prompts):
        lookup = Remembering(len(pair.target.vocabulary))
        way = Way("lookup that remembers", lookup, lookup.gamma(7), 7)
        for repeat in range(2):
            row = timed(session, pair, "open-ended", prompt, 0.0, way, repeat, fresh=repeat == 0)
            session.recorder.add(row._replace(workload="repeated prompt"))
            lookup.memory = lookup.seen


class Remembering(PromptLookup):
    """A lookup that finds its tokens in the text that it helped to write before, too."""

    memory: Tokens = ()
    seen: Tokens = ()

    def proposal(self, context: Sequence[int]) -> int | None:
        """Token that followed the latest of the longest matches, in the memory and then in the text."""
        self.seen = tuple(context)
        return super().proposal(self.memory + self.seen)


def time_verification(session: Session) -> None:
    """Time the verification alone, on the device: tests, residual and draw of one draft in each of many texts."""
    import torch

    from specdec_kit.torch_blocks import verify_blocks

    plan, place = session.plan, torch.device(session.device)
    made = torch.Generator(place).manual_seed(session.seed)
    # Several sets of laws, in turns, so that none is still in the device's cache.
    sets = []
    for _ in range(4):
        p, q = (torch.rand(plan.rows, n, plan.vocabulary, generator=made, device=place) for n in (2, 1))
        drafted = torch.randint(plan.vocabulary, (plan.rows, 1), generator=made, device=place)
        uniforms = torch.rand(plan.rows, 2, generator=made, device=place)
        sets.append((p / p.sum(-1, keepdim=True), q / q.sum(-1, keepdim=True), drafted, uniforms))
    verifiers = {"verify": verify_blocks, "verify, compiled": torch.compile(verify_blocks, fullgraph=True)}
    try:
        verifiers["verify, compiled"](*sets[0])
    except Exception as why:  # a compiler that is missing, or that fails, in whatever way
        session.note(f"The verification is not compiled here: {type(why).__name__}.")
        del verifiers["verify, compiled"]
    turns = cycle(sets)
    jobs: Jobs = {
        (name, plan.rows, plan.vocabulary): partial(lambda verify: verify(*next(turns)), verify)
        for name, verify in verifiers.items()
    }
    session.steps("device", jobs, 4 * plan.repeats, 6)


# ---- models ----


def smollm2_pair(device: str, plan: Plan) -> Pair:
    """SmolLM2-135M-Instruct with the drafts of lesson 05."""
    from specdec_kit.language_models import load_smollm2

    target = load_smollm2(device=device, dtype="bfloat16" if device.startswith("cuda") else "float32")
    return Pair("smollm2", target, lookups(target, plan, ("n-gram", smollm2_ngram())), target.encode, on(device))


def lookups(target: Any, plan: Plan, *others: tuple[str, Any]) -> tuple[Way, ...]:
    """No draft, a lookup with 7 drafts and with other numbers of them, and other drafts with 4."""
    lookup = PromptLookup(len(target.vocabulary))
    return (
        Way("direct", lookup, 0, 0),
        Way("lookup", lookup, lookup.gamma(7), 7),
        *(Way(name, draft, 4, 4) for name, draft in others),
        *(Way(f"lookup, gamma {n}", lookup, lookup.gamma(n), n, sweep=True) for n in plan.sweep),
    )


def on(device: str) -> Callable[[float], Any] | None:
    """Scheme for a temperature, on a card; None on a host, where NumPy verifies."""
    if not device.startswith("cuda"):
        return None
    from specdec_kit.torch_blocks import on_device

    return on_device


def shape_pair(target: str, draft: str, share: float, device: str) -> Pair:
    """Llama-shaped models with random weights: honest costs, and an acceptance that is set."""
    from specdec_kit.random_models import random_llama
    from specdec_kit.torch_blocks import on_device

    dtype = "bfloat16" if device.startswith("cuda") else "float32"
    # Each with weights of its own: of one size and one seed the two would be one model, and every draft would pass.
    big, small = (random_llama(size, device=device, dtype=dtype, seed=n) for n, size in enumerate((target, draft)))
    name = f"llama {target} by {draft}, acceptance set to {share:g} and more"
    ways = (Way("direct", small, 0, 0), Way("draft", small, 4, 4))
    return Pair(
        name, big, ways, lambda text: tuple(ord(c) % 256 for c in text), partial(on_device, share=share), (1.0,)
    )


def hub_pair(target: str, draft: str, device: str, plan: Plan) -> Pair:
    """Models by their names on the hub, or from folders."""
    from specdec_kit.language_models import load

    dtype = "bfloat16" if device.startswith("cuda") else "float32"
    big, small = (load(name, device=device, dtype=dtype) for name in (target, draft))
    name = f"{without_folders(target)} by {without_folders(draft)}"
    return Pair(name, big, lookups(big, plan, ("draft", small)), big.encode, on(device))


def character_pair() -> Pair:
    """Character models, with NumPy alone: tables both, so that a pass over n characters costs n."""
    target, draft = shakespeare(5), shakespeare(1)
    ways = (Way("direct", draft, 0, 0), Way("order 1", draft, 4, 4))

    def encode(text: str) -> Tokens:
        known = "".join(c for c in text.lower() if c in target.alphabet)
        return target.encode(known[-200:])

    return Pair("characters", target, ways, encode)


# ---- the command ----


def provenance(device: str, seed: int, command: str) -> dict[str, Any]:
    """Where the times come from."""
    kind = "cuda" if device.startswith("cuda") else "cpu"
    found: dict[str, Any] = {"kind": kind, "name": processor(), "cores": os.cpu_count()}
    versions = {"python": platform.python_version()}
    for package in ("specdec-kit", "numpy", "torch", "transformers"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    threads = 1
    if "torch" in versions:
        import torch

        threads = torch.get_num_threads()
        if kind == "cuda":
            card = torch.cuda.get_device_properties(device)
            found |= {
                "name": card.name, "memory_bytes": card.total_memory, "cuda": torch.version.cuda, "driver": driver()
            }  # fmt: skip
    started = datetime.now(UTC).isoformat(timespec="seconds")
    return {
        "device": found, "system": platform.system(), "versions": versions, "threads": threads, "seed": seed,
        "command": command, "commit": commit_of_kit(), "started": started, "notes": [],
    }  # fmt: skip


def processor() -> str:
    """Name of the processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = re.findall(r"^model name\s*: (.+)$", file.read(), flags=re.MULTILINE)
    except OSError:
        names = []
    return names[0].strip() if names else platform.processor() or platform.machine()


def driver() -> str:
    """Version of the card's driver."""
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            return file.readline().strip()
    except OSError:
        return "unknown"


def without_folders(argument: str) -> str:
    """An argument whose path, if it is a whole one, is its last part: the rest says only whose machine it was."""
    option, sign, path = argument.rpartition("=")
    return option + sign + (Path(path).name if Path(path).is_absolute() else path)


def folder_of(said: dict[str, Any], out: Path | None, name: str | None = None) -> Path:
    """Where a recording goes: into data/timing of a clone, else into timing/ here."""
    device = said["device"]
    cores = "" if device["kind"] == "cuda" else f" {device['cores']} cores"
    slug = re.sub(r"[^a-z0-9]+", "-", (name or device["name"] + cores).lower()).strip("-")
    clone = DATA_FOLDERS[1]
    return (out or (clone / FOLDER if clone.is_dir() else Path(FOLDER))) / slug


def pairs(options: argparse.Namespace, plan: Plan, session: Session) -> Iterator[Pair]:
    """Pairs to time, one after the other, so that one is gone before the next is loaded."""
    device, target, draft = options.device, options.target, options.draft
    if target == "none":
        return
    if target == "characters":
        yield character_pair()
    elif target == "smollm2":
        yield smollm2_pair(device, plan)
    elif target and target.startswith("llama-"):
        draft = draft or target
        yield shape_pair(target.removeprefix("llama-"), draft.removeprefix("llama-"), options.share, device)
    elif target:
        yield hub_pair(target, draft or target, device, plan)
    else:
        try:
            yield smollm2_pair(device, plan)
        except (ModuleNotFoundError, OSError) as why:
            session.note(f"SmolLM2 is not timed: {why}.")
            if device == "cpu":
                yield character_pair()
        if device != "cpu":
            for size in ("8B", "3B", "1B"):
                try:
                    yield shape_pair(size, "1B", options.share, device)
                    break
                except MemoryError as why:
                    session.note(f"{why}; the next smaller one is taken.")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m specdec_kit.timing", description=str(__doc__).replace("``", ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--record", action="store_true", help="keep every time in data/timing/, in a folder of its own")
    parser.add_argument("--quick", action="store_true", help="less of everything: two minutes on two cores")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, cuda:1, …; default: %(default)s")
    parser.add_argument(
        "--target", help="smollm2, characters, llama-SIZE (random weights: tiny, 135M, 1B, 3B, 8B), a name on the hub, "
        "or none for the device alone; default: smollm2, and on a card llama-8B too",
    )  # fmt: skip
    parser.add_argument("--draft", help="draft of a llama or of a model of the hub: llama-SIZE, or a name")
    parser.add_argument("--share", type=float, default=0.7, help="acceptance of a llama's draft; default: %(default)s")
    parser.add_argument(
        "--minutes", type=float, help="begin nothing new after so long; default: 7 on a card, else none"
    )
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument("--name", help="of the folder to record into; default: that of the device")
    parser.add_argument("--out", type=Path, help="where that folder is to be; default: data/timing")
    return parser.parse_args(arguments)


def plan_of(options: argparse.Namespace) -> tuple[Plan, float]:
    """How much to time, and the minutes after which nothing new begins."""
    card = options.device.startswith("cuda")
    minutes = options.minutes if options.minutes is not None else 7.0 if card else float("inf")
    return QUICK if options.quick else CARD if card else Plan(), minutes


def main(arguments: Sequence[str] | None = None) -> int:
    """Time, and print what came out; with --record keep it."""
    options = parse(arguments)
    given = map(without_folders, sys.argv[1:] if arguments is None else arguments)
    command = " ".join(["python -m specdec_kit.timing", *given])
    plan, minutes = plan_of(options)
    try:
        clock_of(options.device)
        said = provenance(options.device, options.seed, command)
        return record(options, plan, said, time.monotonic() + 60 * minutes)
    except (ValueError, MemoryError, ModuleNotFoundError, OSError) as error:
        print(f"Nothing was timed: {error}", file=sys.stderr)
        return 2


def record(options: argparse.Namespace, plan: Plan, said: dict[str, Any], until: float) -> int:
    """Run all parts, one after the other."""
    from tempfile import TemporaryDirectory

    with nullcontext() if options.record else TemporaryDirectory() as scratch:
        recorder = Recorder(folder_of(said, options.out if options.record else Path(str(scratch)), options.name), said)
        session = Session(recorder, plan, options.device, options.seed, until)
        start = time.monotonic()
        try:
            run(options, plan, session)
        except (KeyboardInterrupt, ValueError, MemoryError, ModuleNotFoundError, OSError) as why:
            if not (recorder.count or isinstance(why, KeyboardInterrupt)):
                raise
            kept = f"{recorder.count} rows are kept in {recorder.folder.name}" if options.record else "nothing is kept"
            session.note(f"{str(why) or 'Broken off'}, after {time.monotonic() - start:.0f} seconds; {kept}.")
            recorder.write()
            return 130 if isinstance(why, KeyboardInterrupt) else 1
        recorder.write(finished=True, seconds=round(time.monotonic() - start, 1))
        recording = Recording(recorder.folder)
        print(recording, *summary(recording), sep="\n")
        if options.record:
            print(f"recorded in {recorder.folder.parent.name}/{recorder.folder.name}: list its files in data/README.md")
    return 0


def run(options: argparse.Namespace, plan: Plan, session: Session) -> None:
    """Time the device, then each pair."""
    networks = options.target != "characters" and "torch" in session.recorder.provenance["versions"]
    if networks:
        time_device(session)
        time_verification(session)
    for pair in pairs(options, plan, session):
        network = networks and hasattr(pair.target, "model")
        if network:
            time_start(session, pair)
            time_passes(session, pair)
            time_baseline(session, pair)
        for repeat in range(plan.text_repeats):
            time_rounds(session, pair, repeat)
            time_texts(session, pair, repeat)
            if session.late and repeat + 1 < plan.text_repeats:
                session.note(f"{pair.name}: {repeat + 1} of {plan.text_repeats} repeats, the time was up.")
                break
        if pair.name == "smollm2" and session.device == "cpu":
            time_repeated_prompts(session, pair)
        del pair  # before the next is loaded


def summary(recording: Recording) -> Iterable[str]:
    """What came out, a line for each case: speed-up measured and predicted."""
    for case in recording.cases():
        predicted, (measured, low, high) = recording.predicted(case), recording.measured(case)
        yield (
            f"{case.workload}, temperature {case.temperature:g}, {case.method}: "
            f"{measured:.2f} times as fast ({low:.2f} – {high:.2f}), predicted {predicted:.2f}"
        )
