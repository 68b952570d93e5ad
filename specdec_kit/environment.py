"""Is everything here that a lesson needs? If not, what to do."""

import sys
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec


def check_environment() -> bool:
    """Print a line for each thing that the lessons need, with the remedy where one is missing or too old.

    Returns
    -------
    bool
        Whether all is well.
    """
    remedy = 'run `make lab` in the folder of the course, or here `%pip install -e "..[lab]"`, then restart the kernel'
    if find_spec("packaging") is None:
        print(f"packaging: missing; {remedy}")
        return False
    from packaging.requirements import Requirement

    well = sys.version_info >= (3, 11)
    print(f"Python 3.11 or newer: {'ok' if well else 'this is ' + sys.version.split()[0] + '; install a newer one'}")
    try:
        needs = requires("specdec-kit") or ()
    except PackageNotFoundError:
        print(f"specdec-kit: not installed; {remedy}")
        return False
    for line in needs:
        needed = Requirement(line)
        if needed.marker is not None and not needed.marker.evaluate({"extra": "lab"}):
            continue
        try:
            found = version(needed.name)
        except PackageNotFoundError:
            state = f"missing; {remedy}"
        else:
            good = needed.specifier.contains(found, prereleases=True)
            state = "ok" if good else f"{found} is too old; {remedy}"
        print(f"{needed.name} {needed.specifier}: {state}")
        well = well and state == "ok"
    return well
