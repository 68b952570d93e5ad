"""Prompts to measure speed on: eight whose text copies itself, row by row, and eight that leave all open.

What speculation gains depends on the text more than on anything else, so a speed-up without its workload says nothing.
None of the prompts was left out for what came of it.
"""


def _rows(form: str, *values: tuple[object, ...]) -> str:
    """Rows of one form, the last one begun: it breaks off before its last value."""
    *rows, last = (form.format(*row) for row in values)
    start = last.rindex(str(values[-1][-1]))
    return "".join(rows) + last[:start]


COPY_HEAVY = (
    "<table>\n<tr><th>Day</th><th>State</th><th>From</th><th>To</th></tr>\n"
    + _rows(
        "<tr><td>{}</td><td>open</td><td>09:00</td><td>{}</td></tr>\n",
        ("Monday", "17:00"), ("Tuesday", "17:00"), ("Wednesday", "17:00"), ("Thursday", "17:00"), ("Friday", "17:00"),
    ),
    _rows(
        "INSERT INTO stations (id, name, country, active) VALUES ({}, '{}', 'Norway', TRUE);\n",
        (1, "Bergen"), (2, "Oslo"), (3, "Trondheim"), (4, "Stavanger"), (5, "Bodo"), (6, "Hamar"),
    ),
    _rows(
        "2024-03-04 12:00:0{} INFO server.worker: request finished with status 200 in {} ms\n",
        (1, 14), (2, 12), (3, 15), (5, 11), (6, 13), (8, 12),
    ),
    "date,station,sensor,unit,value,state\n"
    + _rows(
        "2024-07-0{},Old Harbour,thermometer,degrees Celsius,{},valid\n",
        (1, 18.5), (2, 19.0), (3, 17.5), (4, 18.0), (5, 19.5), (6, 20.0),
    ),
    "[\n"
    + _rows(
        '  {{"id": {}, "type": "sensor", "unit": "celsius", "active": true, "location": "hall {}"}},\n',
        (1, 11), (2, 12), (3, 13), (4, 14), (5, 15), (6, 16),
    ),
    "def test_roman_numerals():\n"
    + _rows(
        '    assert to_roman({0}) == "{1}"\n    assert from_roman("{1}") == {0}\n',
        (1, "I"), (2, "II"), (3, "III"), (4, "IV"), (5, "V"), (6, "VI"),
    ),
    "| Part | Material | Length | Finish | In stock |\n| --- | --- | --- | --- | --- |\n"
    + _rows(
        "| Screw M{} | stainless steel | {} mm | polished | yes |\n",
        (3, 20), (4, 25), (5, 30), (6, 35), (8, 40), (10, 50),
    ),
    _rows(
        "server {{\n    listen 80;\n    server_name {0}.org;\n    index index.html;\n    root /srv/www/{1};\n}}\n",
        ("mail", "mail"), ("wiki", "wiki"), ("blog", "blog"), ("shop", "shop"), ("docs", "docs"),
    ),
)  # fmt: skip

OPEN_ENDED = (
    "The lighthouse keeper had not spoken to anyone for a month when",
    "Tell me something about glass. Glass is",
    "Dear Sir or Madam,\n\nI am writing to you because",
    "There are three reasons why people keep bees. The first",
    "My grandmother's kitchen smelled of",
    "Once upon a time a snail wanted to see the sea. So",
    "The history of the bicycle begins",
    "To learn a language as an adult, you should",
)

WORKLOADS = {"copy-heavy": COPY_HEAVY, "open-ended": OPEN_ENDED}
