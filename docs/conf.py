"""The settings of the documentation site, which `make docs` builds; `tools/site_pages.py` writes what is made from the code."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import site_docstrings  # noqa: E402
import site_gallery  # noqa: E402
import site_pages  # noqa: E402

import semimetric  # noqa: E402

project = "semimetric"
author = "The developers of semimetric"
copyright = f"2026, {author}"
version = release = semimetric.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "myst_parser",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
exclude_patterns = ["_build", "_templates", "gallery/*.md5", "gallery/*.ipynb", "gallery/*.py"]
templates_path = ["_templates"]
language = "en"

# Markdown: pages are written for a code host, whose links and anchors are those of GitHub.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Docstrings: names in single backticks are links where the site has a page of them, and code elsewhere.
default_role = "py:obj"
autosummary_generate = True
autodoc_typehints = "none"  # types stand in the docstrings, where they are shorter than in signatures
autodoc_member_order = "groupwise"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "site_pages.OrderOfExamples",
    "doc_module": ("semimetric",),
    "backreferences_dir": "generated/backreferences",
    "write_computation_times": False,  # that page loads a script from another host
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "matplotlib_animations": False,
    "image_scrapers": ("site_gallery.scraper",),
    "thumbnail_size": site_gallery.THUMBNAIL,
    "plot_gallery": "True",
    "parallel": os.cpu_count() or 1,
}

html_theme = "pydata_sphinx_theme"
html_title = f"semimetric {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = True
html_copy_source = True
html_theme_options = {
    "logo": {"text": f"semimetric {release}"},
    "header_links_before_dropdown": 8,
    "footer_start": ["version"],
    "footer_end": ["theme-version"],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc", "sourcelink"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}


def setup(app: object) -> None:
    """Connect what is made from the code: pages before they are read, links while they are, and what is told to machines."""
    site_pages.connect(app, ROOT)
    site_gallery.connect(app, ROOT)
    site_docstrings.connect(app)
