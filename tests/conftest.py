"""What holds for all tests."""

from hypothesis import settings

# These machines are shared: no test is to fail because it was slow.
settings.register_profile("kit", deadline=None)
settings.load_profile("kit")
