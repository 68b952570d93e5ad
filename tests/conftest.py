"""What holds for all tests."""

import pytest
from hypothesis import settings

# These machines are shared: no test is to fail because it was slow.
settings.register_profile("kit", deadline=None)
settings.load_profile("kit")


@pytest.fixture(scope="module")
def one_thread():
    """PyTorch on one thread: on small models more wait for each other, and the order of sums is always the same."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: `make test-models` brings it")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torch
    torch.set_num_threads(threads)
