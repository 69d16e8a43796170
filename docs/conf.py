"""The site: `make docs` builds it into build/docs, without a network, and nothing in it asks for one."""

project = "Overstory"
author = "The Overstory authors"
copyright = author
extensions = ["myst_parser"]
root_doc = "index"
myst_heading_anchors = 3
nitpicky = True
html_theme = "furo"
html_title = "Overstory"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}
highlight_language = "none"
