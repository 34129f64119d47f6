"""Draw thumbnails of the gallery for their size, divide its page into groups, and open each example with its picture.

`docs/conf.py` names `scraper` to Sphinx-Gallery and calls `connect`. The gallery's own thumbnails are whole figures made
small, so that wide ones cannot be read. Ours show one panel of the first figure, with larger text. Groups are those of
docs/examples.md.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

THUMBNAIL = (520, 364)  # pixels, twice what the page shows
MANY = 6  # panels of a figure that shows a collection, whose thumbnail is the whole figure
LARGER = 1.3  # times the size of the text of a panel


def connect(app: Any, root: Path) -> None:
    """Connect to a Sphinx application: after the gallery is made, take our thumbnails, and order its pages."""
    gallery = root / "docs" / "gallery"

    def finish(app: Any) -> None:
        for small in (gallery / "images" / "small").glob("*.png"):
            shutil.copyfile(small, gallery / "images" / "thumb" / f"sphx_glr_{small.stem}_thumb.png")
        for example in gallery.glob("plot_*.rst"):
            example.write_text(with_picture_first(example.read_text("utf-8")), "utf-8")
        page = gallery / "index.rst"
        page.write_text(divided(page.read_text("utf-8"), (root / "docs" / "examples.md").read_text("utf-8")), "utf-8")

    app.connect("builder-inited", finish, priority=900)  # after Sphinx-Gallery, whose priority is 500


def scraper(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures of a block as Sphinx-Gallery does, and the first one of an example as a thumbnail too."""
    import matplotlib.pyplot as plt
    from sphinx_gallery.scrapers import matplotlib_scraper

    if len(block_vars["image_path_iterator"]) == 0 and plt.get_fignums():
        folder = Path(gallery_conf["src_dir"]) / gallery_conf["gallery_dirs"] / "images" / "small"
        folder.mkdir(parents=True, exist_ok=True)
        before = plt.figure(plt.get_fignums()[0])
        save_thumbnail(before, folder / f"{Path(block_vars['src_file']).stem}.png")
    return str(matplotlib_scraper(block, block_vars, gallery_conf))


def save_thumbnail(figure: Figure, path: Path) -> None:
    """Write the largest panel of a figure, or all of it if it has many, as a picture of the size of a thumbnail."""
    from matplotlib.text import Text

    figure.canvas.draw()
    panels = [ax for ax in figure.axes if ax.get_visible() and ax.get_label() != "<colorbar>"]
    part = largest(panels) if len(panels) <= MANY else None
    texts = [] if part is None else [text for text in part.findobj(Text) if text.get_text()]
    sizes = [text.get_fontsize() for text in texts]
    hidden = [] if part is None else [each for each in [*figure.axes, *figure.texts] if each is not part and each.get_visible()]
    layout = figure.get_layout_engine()
    figure.set_layout_engine("none")
    for text, size in zip(texts, sizes, strict=True):
        text.set_fontsize(LARGER * size)
    for each in hidden:
        each.set_visible(False)
    figure.canvas.draw()
    box = figure.get_tightbbox() if part is None else part.get_tightbbox().transformed(figure.dpi_scale_trans.inverted())
    figure.savefig(path, bbox_inches=framed(box), dpi=THUMBNAIL[0] / framed(box).width, metadata={"Software": None})
    for text, size in zip(texts, sizes, strict=True):
        text.set_fontsize(size)
    for each in hidden:
        each.set_visible(True)
    figure.set_layout_engine(layout)


def largest(panels: list[Axes]) -> Axes | None:
    """Return the panel of the largest area, the first among equals."""
    return max(panels, key=lambda ax: round(ax.bbox.width * ax.bbox.height, -2), default=None)


def framed(box: Bbox) -> Bbox:
    """Return a box of the shape of a thumbnail around another, in inches, with a small margin."""
    from matplotlib.transforms import Bbox

    width, height = box.width + 0.1, box.height + 0.1
    width, height = max(width, height * THUMBNAIL[0] / THUMBNAIL[1]), max(height, width * THUMBNAIL[1] / THUMBNAIL[0])
    middle = ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)
    return Bbox.from_bounds(middle[0] - width / 2, middle[1] - height / 2, width, height)


def with_picture_first(page: str) -> str:
    """Return the text of an example's page with its first picture before its first code."""
    picture = re.search(r"^\.\. image-sg::.*\n(?: +.*\n)*\n*", page, flags=re.MULTILINE)
    code = re.search(r"^\.\. GENERATED FROM PYTHON SOURCE LINES .*\n\n\.\. code-block:: Python\n", page, flags=re.MULTILINE)
    if picture is None or code is None or picture.start() < code.start():
        return page
    return page[: code.start()] + picture[0] + page[code.start() : picture.start()] + page[picture.end() :]


def divided(page: str, examples: str) -> str:
    """Return the text of the gallery's page with a heading before the first example of each group of docs/examples.md."""
    for group in re.split(r"^## ", examples, flags=re.MULTILINE)[1:]:
        title, first = group.splitlines()[0], re.search(r"\]\(\.\./examples/(\w+)\.py\)", group)
        if first is None:
            continue
        entry = page[: page.index(f":doc:`/gallery/{first[1]}`")].rindex(
            '.. raw:: html\n\n    <div class="sphx-glr-thumbcontainer"'
        )
        start = "" if "sphx-glr-group" not in page[:entry] else "    </div>\n"
        opened = f'    <h2 class="sphx-glr-group">{title}</h2>\n    <div class="sphx-glr-thumbnails">\n\n'
        page = f"{page[:entry]}.. raw:: html\n\n{start}{opened}{page[entry:]}"
    return page.replace('    <div class="sphx-glr-thumbnails">\n\n.. thumbnail-parent-div-open\n', "    <div>\n\n", 1)
