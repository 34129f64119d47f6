"""Run the six stories of docs/examples.md as the notebooks that the site offers: each shows a picture, and ends in a report.

    python tools/run_notebooks.py FOLDER

sphinx-gallery makes the notebooks, as it does for the site, and nbclient runs them in a kernel of their own. What they show is
kept in FOLDER, as notebooks that any viewer opens.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from sphinx_gallery.gen_gallery import DEFAULT_GALLERY_CONF
from sphinx_gallery.notebook import jupyter_notebook, save_notebook
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = (
    "plot_which_customers_leave_by_a_table_as_it_comes",
    "plot_how_people_see_colours",
    "plot_which_features_tell_wines_apart",
    "plot_which_words_are_near_by_edits",
    "plot_approximate_emd",
    "plot_what_does_a_prediction_depend_on",
)
SECONDS = 300


def shown(notebook: nbformat.NotebookNode) -> set[str]:
    """The kinds of what the cells of a notebook show."""
    return {kind for cell in notebook.cells for output in cell.get("outputs", ()) for kind in output.get("data", ())}


def run(name: str, folder: Path) -> None:
    """Make, run and keep one notebook; refuse one that lacks a picture or a report."""
    path = folder / f"{name}.ipynb"
    blocks = split_code_and_text_blocks(EXAMPLES / f"{name}.py")[1]
    save_notebook(jupyter_notebook(blocks, DEFAULT_GALLERY_CONF, str(EXAMPLES)), path)
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=SECONDS, kernel_name="python3").execute()
    nbformat.write(notebook, path)
    last = notebook.cells[-1].outputs[-1].get("data", {}).get("text/html", "")
    if "image/png" not in shown(notebook) or "<iframe srcdoc=" not in last:
        sys.exit(f"{path.name} shows {sorted(shown(notebook))}, and ends in {last[:60]!r}: a picture and a report are required")
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, with its picture and its report")


def main() -> None:
    """Run all of them."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        run(name, folder)


if __name__ == "__main__":
    main()
