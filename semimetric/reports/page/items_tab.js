// The tab of two items: their values can be changed, and the distance follows at once.

function drawItemsTab(page, panel) {
  const { distance, columns } = page;
  const items = [page.startItem(0), page.startItem(1)];
  const numbers = page.items ? [0, Math.min(1, page.items.n - 1)] : [null, null];
  let by = "features";
  const sides = ["first", "second"];
  const result = element("div", { class: "result" });
  const values = valuesTable(page, sides, items, drawResult);

  function choose(side, number) {
    numbers[side] = number;
    items[side] = page.startItem(number);
    values.draw();
    drawResult();
  }

  function drawPickers() {
    if (!page.items) return [element("p", { class: "note" }, "The report was made without items: these two have the middle of every column. Change any value.")];
    return sides.map((name, side) => itemControl(page, `item-${name}`, `The ${name} item`, numbers[side], (n) => choose(side, n)));
  }

  /** Distances, terms and shares of the two items as they are. */
  function drawResult() {
    page.told(items);
    if (!page.computes) {
      result.replaceChildren(element("p", {}, page.whyNot), ...partOfTables());
      return;
    }
    const [x, y] = items.map(distance.place);
    const parts = distance.features(x, y);
    const [there, back] = [distance.distance(x, y), page.symmetric ? null : distance.distance(y, x)];
    values.tell(parts);
    if (!Number.isFinite(there)) {
      result.replaceChildren(element("p", { role: "alert" }, "A value lies so far outside its range that the distance overflows; correct it."));
      return;
    }
    const sum = distance.sumOf(x, y);
    const totals = page.link === "identity" ? [{ name: "distance", value: sum }]
      : [{ name: "sum", value: sum }, { name: `distance (${page.link})`, value: there }];
    const [names, shown] = by === "features" ? [columns.map((c) => c.name), parts] : [page.terms.map((t) => t.name), distance.terms(x, y)];
    const found = element("output", { class: "distance", "data-value": there, id: "distance" }, LONG.format(Number(there.toPrecision(8))));
    result.replaceChildren(
      element("p", { class: "total", "aria-live": "polite" }, "distance ", found,
        back === null ? "" : ` – the other way ${say(back)}`),
      outsideNote(x, y) ?? "",
      waterfall(names, shown, totals, `What ${by === "features" ? "columns" : "tables"} add to the distance of ${say(there)}`),
      nearer(y));
  }

  /** The part of a distance that its tables add, where only Python computes the rest. */
  function partOfTables() {
    if (!distance) return [];
    const [x, y] = items.map(distance.place);
    const parts = distance.features(x, y);
    values.tell(parts);
    const sum = parts.reduce((total, part) => total + part, 0);
    return [waterfall(columns.map((c) => c.name), parts, [{ name: "learned part", value: sum }],
      "What columns add to the learned part of the sum")];
  }

  function outsideNote(x, y) {
    const out = columns.slice(0, page.nRaw).map((column, f) => ({ column, f }))
      .filter(({ f }) => x.excess[f] !== 0 || y.excess[f] !== 0).map(({ column }) => column.name);
    return out.length ? element("p", { class: "warning" }, `Outside the range of the fit, where the distance goes on at a constant slope: ${out.join(", ")}.`) : null;
  }

  /** The distances if one column of the first item took the value of the second. */
  function nearer(y) {
    const found = page.featureOrder.filter((f) => !Object.is(items[0][f], items[1][f])).map((f) => {
      const moved = items[0].slice();
      moved[f] = items[1][f];
      return { f, distance: distance.distance(distance.place(moved), y) };
    }).sort((a, b) => a.distance - b.distance).slice(0, 6);
    if (!found.length) return "";
    return element("div", {}, element("h3", {}, "What would bring them nearer"),
      element("table", {}, element("caption", {}, "The distance if one value of the first item became that of the second"),
        element("thead", {}, element("tr", {}, ["column", "from", "to", "distance"].map((name) => element("th", { scope: "col" }, name)))),
        element("tbody", {}, found.map((each) => element("tr", {},
          element("th", { scope: "row" }, columns[each.f].name),
          items.map((item) => element("td", {}, sayValue(columns, each.f, item[each.f]))),
          element("td", { class: "number" }, say(each.distance)))))));
  }

  const kinds = selectControl("by", "The parts are those of", [["features", "columns"], ["terms", "tables"]], by, (value) => {
    by = value;
    drawResult();
  });
  panel.replaceChildren(element("h2", {}, "Two items"),
    element("div", { class: "columns even" },
      element("div", {}, drawPickers(), values.table),
      element("div", {}, page.computes ? kinds : "", result)));
  values.draw();
  drawResult();

  /** Show two items, by their values and their numbers, null for those that are none of the page. */
  function put(rows, chosen) {
    sides.forEach((name, side) => {
      [items[side], numbers[side]] = [rows[side], chosen[side]];
      nameItem(page, `item-${name}`, chosen[side]);
    });
    values.draw();
    drawResult();
  }

  return { redraw: drawResult, put, compare: (one, other) => put([page.startItem(one), page.startItem(other)], [one, other]) };
}
