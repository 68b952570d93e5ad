"""A generator that keeps a ledger is still the same generator; a script hands out what is written, and no more."""

import numpy as np
import pytest

from specdec_kit import categorical, direct_sample, speculative_sample
from specdec_kit.streams import Ledger, Scripted

P = [0.1, 0.0, 0.6, 0.3]


def generator():
    return np.random.default_rng(2026)


@pytest.mark.parametrize("size", [None, 1, 5, (2, 3), (0,), ()])
def test_a_ledger_hands_out_its_generators_stream(size):
    plain, ledger = generator(), Ledger(generator())
    for _ in range(3):
        due, drawn = plain.random(size), ledger.random(size)
        assert np.array_equal(drawn, due) and np.shape(drawn) == np.shape(due)
        assert ledger.taken() == np.ravel(due).tolist()


def test_what_was_taken_is_told_once_and_in_order():
    plain, ledger = generator(), Ledger(generator())
    assert ledger.taken() == []
    ledger.random(), ledger.random(2), ledger.choice(4, p=P), ledger.choice(4, (2, 1), p=P)
    assert ledger.taken() == plain.random(6).tolist()
    assert ledger.taken() == []
    ledger.random()
    assert ledger.taken() == [plain.random()]


def test_what_was_taken_is_no_view_of_what_was_drawn():
    ledger = Ledger(generator())
    drawn = ledger.random(2)
    drawn[:] = 0
    assert 0 not in ledger.taken()


@pytest.mark.parametrize("size", [None, 1, 1000, (10, 20)])
@pytest.mark.parametrize("values", [4, np.int64(4), [10, 20, 30, 40], np.array(list("ABCD"))])
def test_choice_draws_what_the_generator_draws(values, size):
    due = generator().choice(values, size, p=P)
    drawn = Ledger(generator()).choice(values, size, p=P)
    assert np.array_equal(drawn, due) and np.shape(drawn) == np.shape(due)


def test_the_ledger_of_a_sampler():
    ledger = Ledger(generator())
    assert categorical(P, ledger) == categorical(P, generator())
    assert len(ledger.taken()) == 1
    assert np.array_equal(direct_sample(P, 50, rng=ledger), direct_sample(P, 51, rng=generator())[1:])
    assert len(ledger.taken()) == 50
    draws = speculative_sample([0.7, 0.3], [0.4, 0.6], 1000, rng=ledger)
    assert len(ledger.taken()) == 1000 + 1000 + (~draws.accepted).sum(), (
        "draft, test, and a residual for each rejection"
    )


@pytest.mark.parametrize("rng", [Ledger(generator()), Scripted([0.5])])
def test_integers_are_refused(rng):
    with pytest.raises(TypeError, match=r"^the ledger notes uniforms only: draw by rng\.random\(\) or rng\.choice"):
        rng.integers(6)
    with pytest.raises(TypeError, match="uniforms only"):
        rng.integers(0, high=6, size=2)
    assert rng.taken() == []


def test_a_script_is_read_in_order():
    script = Scripted(u / 8 for u in range(8))
    assert script.random() == 0 and isinstance(script.random(), float)
    assert script.random(2).tolist() == [0.25, 0.375]
    assert script.random((2, 1)).tolist() == [[0.5], [0.625]]
    assert script.taken() == [0, 0.125, 0.25, 0.375, 0.5, 0.625]
    assert script.random(0).shape == (0,)
    # P(0) = 1/10 and P(2) = 6/10 end at 7/10: 0.75 selects token 3.
    assert script.choice(4, p=P) == 3 and script.taken() == [0.75]


def test_a_script_at_the_ends_of_a_law():
    assert Scripted([0.0]).choice(3, p=[0, 0.5, 0.5]) == 1, "u = 0 selects no token with p = 0"
    assert Scripted([np.nextafter(1, 0)]).choice(3, p=[0.5, 0.5, 0]) == 1
    assert Scripted([0.5]).choice(2, p=[0.5, 0.5]) == 1, "the first whose cumulative probability exceeds u"


def test_a_script_that_has_run_out_says_so():
    script = Scripted([0.5, 0.25])
    script.random()
    with pytest.raises(ValueError, match=r"^the script holds 1 more uniforms and 3 are asked for: write more$"):
        script.random(3)
    assert script.random() == 0.25, "a refused call takes nothing"
    with pytest.raises(ValueError, match="holds 0 more uniforms and 1 are asked for"):
        script.random()
    assert script.taken() == [0.5, 0.25]


@pytest.mark.parametrize("outside", [1, 1.5, -1e-9, float("nan"), float("inf")])
def test_a_script_holds_uniforms_only(outside):
    with pytest.raises(ValueError, match=rf"^{float(outside)} is no uniform: script numbers of at least 0 and below 1"):
        Scripted([0.5, outside])


def test_the_ends_of_the_unit_interval_can_be_scripted():
    assert Scripted([0, np.nextafter(1, 0)]).random(2).tolist() == [0, 1 - 2**-53]
