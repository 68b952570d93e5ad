"""What a page needs so that everybody can read it; each check takes HTML and returns a sentence for each fault."""

import re
from collections import defaultdict

import mistune
from bs4 import BeautifulSoup
from matplotlib.colors import to_rgb

NOWHERE = re.compile(
    r"(click |see |read )?(here|this|that|link|more|details|this (page|link|one|lesson))", re.IGNORECASE
)
FILE_NAME = re.compile(r"\S*\.(png|jpe?g|svg|gif)|image|picture|figure|plot|chart", re.IGNORECASE)

as_html = mistune.create_markdown(escape=False, plugins=["table"])


def parsed(html):
    return BeautifulSoup(html, "html.parser")


def said(element):
    return " ".join(element.get_text().split())


def headings(page):
    """One first heading of level 1, then down by one level at a time."""
    found, last = [], 0
    for heading in page.find_all(re.compile("^h[1-6]$")):
        level = int(heading.name[1])
        if level > last + 1:
            found.append(f"{said(heading)!r} is of level {level}, below one of level {last}.")
        if level == 1 and last:
            found.append(f"{said(heading)!r} is a second heading of level 1.")
        if not said(heading):
            found.append(f"A heading of level {level} is empty.")
        last = level
    return found if last else ["There is no heading."]


def links(page):
    """Read by itself, a link's text says where it leads, and one text leads to one place."""
    found, places = [], defaultdict(set)
    for link in page.find_all("a", href=True):
        text = said(link) or link.get("aria-label", "")
        places[text].add(link["href"])
        if NOWHERE.fullmatch(text.strip(" .")) or not re.search(r"[^\W\d]{2}", text):
            found.append(f"The link {text!r} to {link['href']} does not say where it leads.")
        if re.match(r"(https?:)?//|www\.", text):
            found.append(f"The link to {link['href']} is a bare address.")
    return found + [f"{text!r} leads to {len(to)} places." for text, to in places.items() if len(to) > 1]


def tables(page):
    """Every column has a header, and a header has words."""
    found = []
    for table in page.find_all("table"):
        first = table.find("tr")
        cells = first.find_all(["td", "th"]) if first else []
        if not cells or any(cell.name != "th" or not said(cell) for cell in cells):
            found.append(f"The table with {said(first)[:40] if first else ''!r} has a column without header.")
    return found


def images(page):
    """An alt text says what is seen."""
    return [fault for image in page.find_all("img") for fault in alt_text(image.get("alt", ""))]


def alt_text(alt):
    """A sentence, not a file's name."""
    if FILE_NAME.fullmatch(alt.strip()) or len(alt.split()) < 3:
        return [f"The alt text {alt!r} does not say what is seen."]
    return []


def colours(page):
    """Text that is coloured brings its ground with it, in a contrast of 4.5."""
    found = []
    for element in page.find_all(style=True):
        pairs = (part.partition(":") for part in element["style"].split(";"))
        style = {name.strip(): value.strip() for name, _, value in pairs}
        ground, ink = style.get("background", style.get("background-color")), style.get("color")
        if (ground is None) != (ink is None):
            found.append(f"{said(element)[:40]!r} sets one of colour and background without the other.")
        elif ink and contrast(ink, ground) < 4.5:
            found.append(f"{said(element)[:40]!r} has a contrast of {contrast(ink, ground):.2f}, under 4.5.")
    return found


CHECKS = (headings, links, tables, images, colours)


def luminance(colour):
    """Relative luminance by WCAG 2.2."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """Contrast ratio by WCAG 2.2, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
