"""A widget in a browser, in a page that stands for a notebook: what is edited comes to Python, and what Python gives is shown.

``make test-browser`` runs this too. The notebook's side of the contract of anywidget is a small model here: it loads the script
as a module, calls its ``render({model, el})``, and passes the state of the widget in both directions.
"""

import json

import numpy as np
import pytest
from report_pages import HOSTILE
from reports_cases import MACHINES, PREDICTORS, of_every_kind, scores_of

import semimetric as sm

pytest.importorskip("anywidget", reason="anywidget, of the extra widget, is not installed")

# The policy of a notebook in VS Code where it has one (backLayerWebView.ts), without the address of its own files, and with
# blob:, by which the script is loaded here.
VSCODE = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob:; style-src 'unsafe-inline'; "
    "img-src https: http: data:; font-src https:; connect-src https:; child-src https: data:"
)
NOTEBOOK = """<!doctype html><html><head><meta charset="utf-8">{policy}</head>
<body><p style="height: 300px">above</p><div id="cells"></div><p style="height: 3000px">below</p><script>
const views = [];
async function show(esm, state, number) {{
  const url = URL.createObjectURL(new Blob([esm], {{ type: "text/javascript" }}));
  const listeners = [];
  const model = {{
    listeners,
    get: (name) => state[name],
    set: (name, value) => {{
      state[name] = value;
      listeners.filter(([event]) => event === `change:${{name}}`).forEach(([, f]) => f());
    }},
    save_changes: () => sent(number, JSON.stringify(state._items)),
    on: (event, f) => {{ listeners.push([event, f]); }},
    off: (event, f) => {{ listeners.splice(listeners.findIndex(([e, g]) => e === event && g === f), 1); }},
  }};
  const el = document.createElement("div");
  document.getElementById("cells").append(el);
  const {{ default: widget }} = await import(url);
  views[number] = {{ model, el, close: await widget.render({{ model, el }}) }};
}}
</script></body></html>"""


class Notebook:
    """A page that shows widgets as notebooks do, in a browser that has no network."""

    def __init__(self, browser, folder, *widgets, policy="", **options):
        path = folder / "notebook.html"
        meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">' if policy else ""
        path.write_text(NOTEBOOK.format(policy=meta))
        self.page, self.widgets = browser.new_page(**options), widgets
        self.wrong, self.requests = [], []
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.expose_function("sent", self._sent)
        self.page.goto(path.as_uri())
        for number, widget in enumerate(widgets):
            state = {name: getattr(widget, name) for name in ("_html", "_title", "_height", "_items")}
            self.page.evaluate("([esm, state, number]) => show(esm, state, number)", [widget._esm, state, number])
            self.frame(number).locator("html[data-ready]").wait_for(state="attached", timeout=20_000)

    def _sent(self, number, items):
        self.widgets[number].set_state({"_items": json.loads(items)})

    def frame(self, number=0):
        return self.page.frame_locator(f"#cells > div:nth-child({number + 1}) iframe")

    def give(self, number=0):
        """Pass the items of Python to the page, as a notebook does after an assignment."""
        items = self.widgets[number]._items
        self.page.evaluate("([items, number]) => views[number].model.set('_items', items)", [items, number])

    def wait_for(self, right):
        """Wait until something is right, which is looked at while messages arrive."""
        for _ in range(200):
            if right():
                return
            self.page.wait_for_timeout(25)
        raise AssertionError("it did not become right")

    def close(self):
        assert self.wrong == []
        assert [url for url in self.requests if not url.startswith(("file:", "blob:", "data:", "about:"))] == []
        self.page.close()


def shown_scores(frame):
    """The scores of all classes that the page shows, by their numbers."""
    places = frame.locator("[data-score]").all()
    return {int(e.get_attribute("data-score")): float(e.get_attribute("data-value")) for e in places}


@pytest.mark.parametrize("policy", ["", VSCODE], ids=["no policy", "the policy of VS Code"])
@pytest.mark.parametrize("name", ["PL1 with gaps", "planes of three classes"])
def test_an_item_that_is_edited_is_scored_in_python_as_on_the_page(name, policy, browser, tmp_path):
    model, X, y = PREDICTORS[name]()
    widget = sm.report(model, X, y).widget()
    notebook = Notebook(browser, tmp_path, widget, policy=policy)
    frame = notebook.frame()
    frame.locator("#tab-items").click()
    frame.locator('[data-feature="0"]').fill("")
    frame.locator('[data-feature="0"]').press_sequentially("0.625")  # a message for each key
    notebook.wait_for(lambda: widget.row[0, 0] == 0.625)
    assert frame.locator('[data-feature="0"]').input_value() == "0.625"
    expected = scores_of(model, widget.row)[0]
    assert [shown_scores(frame)[k] for k in range(3)] == pytest.approx(expected.tolist(), rel=1e-9, abs=1e-9)
    assert frame.locator("#predicted").inner_text() == str(model.predict(widget.row)[0])
    if np.isnan(X).any():
        frame.locator('[data-feature="1"]').fill("")
        notebook.wait_for(lambda: np.isnan(widget.row[0, 1]))
        expected = scores_of(model, widget.row)[0]
        assert [shown_scores(frame)[k] for k in range(3)] == pytest.approx(expected.tolist(), rel=1e-9, abs=1e-9)
    assert widget.ignored == ""
    notebook.close()


def test_values_of_every_kind_come_back_as_those_of_the_user(browser, tmp_path):
    model, table, y = of_every_kind()
    widget = sm.report(model, table, y).widget()
    notebook, d = Notebook(browser, tmp_path, widget), model.semimetric_
    frame = notebook.frame()
    frame.locator("#tab-items").click()
    number = {name: d.feature_names.index(name) for name in table.columns}
    control = {name: frame.locator(f'[data-feature="{f}"][data-side="second"]') for name, f in number.items()}
    typed = {"age": "41", "pay": "", "rooms": "2.5", "hour": "25", "member": "0", "when": "2024-07-04T12:30"}
    for name, value in typed.items():
        control[name].fill(value)
    control["colour"].select_option(label="green")
    control["town"].select_option(label="(missing)")
    control["land"].select_option(label="(other)")
    notebook.wait_for(lambda: widget.row["land"].tolist() == ["(other)"])
    row = widget.row.iloc[0]
    assert row[["age", "rooms", "hour", "member", "colour"]].tolist() == [41, 2.5, 1, False, "green"]
    assert row[["pay", "town"]].isna().all()
    assert str(row["when"]) == "2024-07-04 12:30:00"
    same = [name for name in table.columns if name != "rooms"]  # which holds whole numbers, and no 2.5
    assert widget.row[same].dtypes.equals(table[same].dtypes)
    shown = float(frame.locator("#distance").get_attribute("data-value"))
    assert d.pairwise(widget.rows)[0, 1] == pytest.approx(shown, rel=1e-9)
    assert model.predict(widget.row).shape == (1,)
    notebook.close()


def test_a_row_of_python_is_shown_and_other_widgets_keep_theirs(browser, tmp_path):
    model, X, y = MACHINES["PL2"]()
    report = sm.report(model, X, y)
    one, other = report.widget(), report.widget()
    one.row = X[[5]]  # before it is shown
    notebook = Notebook(browser, tmp_path, one, other)
    frame = notebook.frame()
    assert frame.locator("#panel-items").is_visible()
    assert frame.locator("#item-chosen").input_value() == "row 5"
    other_frame = notebook.frame(1)
    other_frame.locator("#tab-items").click()
    one.row = X[[7]] + 0.25
    notebook.give(0)
    assert float(frame.locator('[data-feature="0"]').input_value()) == X[7, 0] + 0.25
    assert frame.locator("#item-chosen").input_value() == ""  # an item that is none of the page
    assert other_frame.locator("#item-chosen").input_value() == "row 0"
    other_frame.locator('[data-feature="0"]').fill("0.125")
    notebook.wait_for(lambda: other.row[0, 0] == 0.125)
    np.testing.assert_array_equal(one.row, X[[7]] + 0.25)
    notebook.close()


def test_two_items_are_shown_by_name_and_compared(browser, tmp_path):
    model, table, y = of_every_kind()
    widget = sm.report(model, table, y).widget()
    notebook = Notebook(browser, tmp_path, widget)
    frame = notebook.frame()
    widget.rows = table.iloc[[3, 4]]
    notebook.give()
    assert [frame.locator(f"#item-{side}").input_value() for side in ("first", "second")] == ["row 3", "row 4"]
    frame.locator("#tab-neighbors").click()
    frame.locator("#panel-neighbors tr[data-item] button").first.click()
    nearest = int(frame.locator("#item-second").input_value().removeprefix("row "))
    notebook.wait_for(lambda: widget.rows.loc[1, "age"] == table["age"].iloc[nearest])
    assert widget.rows.loc[0, "age"] == table["age"].iloc[0]
    notebook.close()


def test_text_stays_text_and_strangers_are_not_heard(browser, tmp_path):
    rng = np.random.default_rng(0)
    model = sm.EmbeddedLinearClassifier(sm.PL1Embedding(3)).fit(rng.random((70, 2)), HOSTILE * 10)
    widget = sm.report(model, rng.random((20, 2)), title=HOSTILE[0]).widget()
    notebook = Notebook(browser, tmp_path, widget)
    page, frame = notebook.page, notebook.frame()
    before = widget._items
    page.evaluate(
        """() => {
          const { contentWindow } = document.querySelector("iframe"), { port1, port2 } = new MessageChannel();
          contentWindow.postMessage([[9, 9]], "*", [port2]);  // a second port is not taken
          port1.postMessage([[8, 8]]);
          for (const bad of [null, "<img src=x onerror=window.hit=1>", [["1", 2]], [[1]], [[1, null]], [[1, Infinity]], {}]) {
            views[0].model.set("_items", bad);  // nor are items that are none
          }
        }"""
    )
    frame.locator("#tab-items").click()
    assert [float(frame.locator(f'[data-feature="{f}"]').input_value()) for f in range(2)] == before[0]
    assert page.evaluate("window.hit") is None
    assert frame.locator("body").evaluate("() => window.hit") is None
    assert page.locator("iframe").get_attribute("sandbox") == "allow-scripts"
    reached = frame.locator("body").evaluate("() => { try { return parent.document.title; } catch (e) { return e.name; } }")
    assert reached == "SecurityError"
    notebook.close()


def test_the_page_takes_a_port_of_the_frame_around_it_alone(browser, tmp_path):
    model, X, y = MACHINES["PL2"]()
    notebook = Notebook(browser, tmp_path)
    stranger = """<script>
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = ({ data }) => parent.postMessage({ stolen: data }, "*");
      parent.frames[0].postMessage([[1, 1, 1]], "*", [port2]);
      parent.postMessage("posted", "*");
    </script>"""
    notebook.page.evaluate(
        """async (pages) => {
          window.got = [];
          const posted = new Promise((resolve) => {
            addEventListener("message", ({ data }) => { window.got.push(data); resolve(); });
          });
          for (const srcdoc of pages) {
            const frame = document.createElement("iframe");
            [frame.sandbox, frame.srcdoc] = ["allow-scripts", srcdoc];
            const loaded = new Promise((resolve) => { frame.onload = resolve; });
            document.getElementById("cells").append(frame);
            await loaded;
          }
          await posted;
        }""",
        [sm.report(model, X, y).widget()._html, stranger],
    )
    frame = notebook.page.frame_locator("iframe >> nth=0")
    frame.locator("#tab-items").click()
    frame.locator('[data-feature="0"]').fill("0.5")
    notebook.page.wait_for_timeout(200)
    assert notebook.page.evaluate("window.got") == ["posted"]
    assert float(frame.locator('[data-feature="1"]').input_value()) == X[0, 1]
    notebook.close()


def test_a_widget_that_is_closed_leaves_nothing_and_one_that_is_moved_keeps_its_item(browser, tmp_path):
    model, X, y = MACHINES["PL2"]()
    widget = sm.report(model, X, y).widget()
    notebook = Notebook(browser, tmp_path, widget)
    frame = notebook.frame()
    frame.locator("#tab-items").click()
    frame.locator('[data-feature="0"]').fill("0.375")
    notebook.wait_for(lambda: widget.row[0, 0] == 0.375)
    notebook.page.evaluate("document.getElementById('cells').prepend(views[0].el)")  # which loads a frame anew
    notebook.page.evaluate("(() => { const { el } = views[0]; el.remove(); document.getElementById('cells').append(el); })()")
    frame.locator("html[data-ready]").wait_for(state="attached", timeout=20_000)
    frame.locator("#panel-items").wait_for(state="visible")
    assert frame.locator('[data-feature="0"]').input_value() == "0.375"
    frame.locator('[data-feature="0"]').fill("0.5")
    notebook.wait_for(lambda: widget.row[0, 0] == 0.5)
    assert notebook.page.evaluate("views[0].model.listeners.length") == 1
    notebook.page.evaluate("views[0].close()")
    assert notebook.page.locator("iframe").count() == 0
    assert notebook.page.evaluate("views[0].model.listeners.length") == 0
    notebook.page.evaluate("views[0].model.set('_items', [[1, 1, 1]])")
    notebook.close()


def test_the_wheel_leaves_the_frame_at_its_end(browser, tmp_path):
    model, X, y = MACHINES["PL2"]()
    notebook = Notebook(browser, tmp_path, sm.report(model, X, y).widget(height=500), viewport={"width": 900, "height": 700})
    page = notebook.page
    assert page.locator("iframe").bounding_box()["height"] == 500
    page.mouse.move(450, 600)
    for _ in range(60):
        page.mouse.wheel(0, 300)
        page.wait_for_timeout(20)
    assert page.evaluate("scrollY") > 500
    notebook.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_are_those_of_the_page(scheme, browser, tmp_path):
    model, X, y = MACHINES["PL2"]()
    notebook = Notebook(browser, tmp_path, sm.report(model, X, y).widget(), color_scheme=scheme)
    ground = notebook.frame().locator("body").evaluate("(body) => getComputedStyle(body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(19, 23, 28)"}[scheme]
    assert notebook.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgba(0, 0, 0, 0)"
    notebook.close()
