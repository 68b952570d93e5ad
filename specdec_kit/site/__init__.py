"""The executed lessons as a static site: `make site`, or ``python -m specdec_kit.site``.

`pages` turns a notebook into Markdown, `front` and `gallery` make the first and the last page, `build` hands all of
it to Sphinx. Nothing is executed: what a reader sees are the outputs that the notebooks store. With `make lite` the
lessons run in the reader's browser too: `pyodide` brings Python there, `lite` the lessons.
"""
