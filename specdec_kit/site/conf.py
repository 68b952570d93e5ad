"""Sphinx's settings for the site of the lessons; no page needs a network."""

project = "specdec-kit"
html_title = "specdec-kit"
extensions = ["myst_parser"]
language = "en"
smartquotes = False  # a quotation in a lesson may be code

html_theme = "furo"
templates_path = ["templates"]
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_theme_options = {"navigation_with_keys": False}
html_show_sphinx = False
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
html_use_index = False
