// The tab of one item: its values can be changed, and its scores and what makes them follow at once.

function drawScoreTab(page, panel) {
  const { columns, outputs } = page;
  const items = [page.startItem(0)];
  let number = page.items ? 0 : null;
  let [explained, by] = [null, "features"]; // the output whose parts are shown; null is that of the class that is predicted
  const result = element("div", { class: "result" });
  const values = valuesTable(page, [""], items, drawResult);

  function choose(chosen) {
    number = chosen;
    items[0] = page.startItem(number);
    values.draw();
    drawResult();
  }

  /** The class that is predicted, or the value, and the score and the probability of every class. */
  function verdict({ scores, probabilities, code }) {
    if (!page.classes) {
      return element("p", { class: "total", "aria-live": "polite" }, `${outputs[0]} `,
        element("output", { class: "distance", id: "score", "data-value": scores[0] }, LONG.format(Number(scores[0].toPrecision(8)))));
    }
    const said = page.scoreName;
    const ofClass = (c) => (outputs.length === page.classes.length ? scores[c] : c === 1 ? scores[0] : -scores[0]);
    const order = page.classes.map((_, c) => c).sort((a, b) => (b === code) - (a === code) || (probabilities ? probabilities[b] - probabilities[a] : 0));
    return element("div", {},
      element("p", { class: "total", "aria-live": "polite" }, "class ", element("output", { class: "distance", id: "predicted", "data-value": code }, page.classes[code])),
      element("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Classes" }, element("table", {},
        element("thead", {}, element("tr", {}, ["class", said, ...(probabilities ? ["probability"] : [])].map((name) => element("th", { scope: "col" }, name)))),
        element("tbody", {}, order.map((c) => element("tr", {}, element("th", { scope: "row" }, page.classes[c]),
          element("td", { class: "number", "data-score": c, "data-value": ofClass(c) }, say(ofClass(c))),
          probabilities ? element("td", { class: "number", "data-probability": c, "data-value": probabilities[c] }, sayShare(probabilities[c]),
            element("meter", { min: 0, max: 1, value: probabilities[c], "aria-hidden": "true" })) : null))))));
  }

  function ownTarget() {
    if (!page.items || !page.items.targets || number === null) return "";
    const own = page.items.targets[number];
    return element("p", { class: "note" }, `${page.items.targetName} of ${page.items.names[number]} that was given: ${page.items.targetName === "class" ? own : say(own)}`);
  }

  function drawResult() {
    page.told(items);
    if (!page.computes) {
      result.replaceChildren(element("p", {}, page.whyNot));
      return;
    }
    const found = page.judge(items[0]);
    if (!found.scores.every(Number.isFinite)) {
      result.replaceChildren(element("p", { role: "alert" }, "A value lies so far outside its range that the score overflows; correct it."));
      return;
    }
    const k = explained === null ? (outputs.length === 1 ? 0 : found.code) : explained;
    const { parts, names, totals, adds, notes, label, base } = page.explain(items[0], k, by);
    values.tell(adds);
    const out = columns.filter((_, f) => page.isOutside(f, items[0][f])).map((column) => column.name);
    result.replaceChildren(verdict(found), ownTarget(),
      out.length ? element("p", { class: "warning" }, `Outside the range of the fit: ${out.join(", ")}. ${page.outsideSaid}`) : "",
      outputs.length > 1 ? selectControl("explained", page.explainSaid, outputs.map((name, c) => [c, name]), k, (c) => {
        explained = Number(c);
        drawResult();
        document.getElementById("explained").focus();
      }) : "", ...notes.map((note) => element("p", {}, note)), waterfall(names, parts, totals, label, base));
  }

  const pick = page.items ? itemControl(page, "item-chosen", "The item", 0, choose)
    : element("p", { class: "note" }, "The report was made without items: this one has the middle of every column. Change any value.");
  const kinds = page.hasPairs ? selectControl("by", "The parts are those of", [["features", "columns"], ["terms", "functions"]], by, (value) => {
    by = value;
    drawResult();
  }) : "";
  panel.replaceChildren(element("h2", {}, "An item"), element("div", { class: "columns even" },
    element("div", {}, pick, values.table), element("div", {}, page.computes ? kinds : "", result)));
  values.draw();
  drawResult();
  return {
    redraw: drawResult,
    put: ([row], [chosen]) => {
      [items[0], number] = [row, chosen];
      nameItem(page, "item-chosen", chosen);
      values.draw();
      drawResult();
    },
  };
}
