"""What is not installed is said in one sentence, with the extra that brings it."""

import doctest
import re
import subprocess
import sys

import pytest

from specdec_kit import extras
from specdec_kit.extras import needed


def test_the_example_gives_what_it_says():
    done = doctest.testmod(extras)
    assert done.attempted == 1 and not done.failed


@pytest.mark.parametrize("module", ["a_missing_one", "a_missing_one.of_its_parts"])
def test_the_package_is_named_whichever_part_of_it_is_asked_for(module):
    sentence = 'a_missing_one is not installed: `pip install "specdec-kit[lab]"` brings it'
    with pytest.raises(ModuleNotFoundError, match=f"^{re.escape(sentence)}$") as caught, needed("lab"):
        __import__(module)
    assert caught.value.name == "a_missing_one" and caught.value.__suppress_context__


def test_another_error_stays_what_it_is():
    with pytest.raises(ZeroDivisionError), needed("lab"):
        1 / 0  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name"), needed("lab"):
        from math import no_such_name  # noqa: F401


@pytest.mark.parametrize(
    ("package", "code"),
    [
        ("scipy", "import specdec_kit.uncertainty"),
        ("matplotlib", "import specdec_kit.plots"),
        ("tqdm", "import specdec_kit; specdec_kit.exact_law(lambda rng: 0, progress=True)"),
        ("torch", "from specdec_kit.adapters import transformers_round; transformers_round()"),
        ("torch", "from specdec_kit.language_models import load; load('a')"),
        ("gguf", "from specdec_kit.language_models import load_smollm2; load_smollm2()"),
    ],
)
def test_each_extra_is_named_where_it_is_needed(package, code):
    stubs = "import sys, types; sys.modules['accelerate'] = types.ModuleType('accelerate'); "
    done = subprocess.run(
        [sys.executable, "-c", f"{stubs}sys.modules[{package!r}] = None; {code}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    extra = "models" if package in {"torch", "gguf"} else "lab"
    assert done.returncode == 1 and "During handling" not in done.stderr
    assert done.stderr.splitlines()[-1] == (
        f'ModuleNotFoundError: {package} is not installed: `pip install "specdec-kit[{extra}]"` brings it'
    )
