"""What the kit uses beyond NumPy stands behind extras: a package that is missing is said with what brings it."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needed(extra: str) -> Iterator[None]:
    """Within the block, say in one sentence which package is missing and which extra brings it.

    Parameters
    ----------
    extra : str
        An extra of pyproject.toml, such as "lab" or "models".

    Raises
    ------
    ModuleNotFoundError
        Where the block imports what is not installed.

    Examples
    --------
    >>> with needed("models"):
    ...     import a_package_of_models
    Traceback (most recent call last):
        ...
    ModuleNotFoundError: a_package_of_models is not installed: `pip install "specdec-kit[models]"` brings it
    """
    try:
        yield
    except ModuleNotFoundError as missing:
        name = (missing.name or "").partition(".")[0]
        raise ModuleNotFoundError(
            f'{name} is not installed: `pip install "specdec-kit[{extra}]"` brings it', name=name
        ) from None
