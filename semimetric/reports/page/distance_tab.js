// Tabs of the terms of the distance, of columns or of what is made of them: by their shares, with the table of the chosen one.

function drawTermsTab(page, panel, tab, title) {
  const { distance, terms, columns } = page;
  const references = new Map();
  const list = termList(page, title, terms.map((term) => term.name), detailOf, undefined, (t) => terms[t].tab === tab, (t) => {
    const raw = page.order && distance && distance.parts[t] ? Math.min(...distance.parts[t].features.map((f) => page.order.indexOf(f))) : -1;
    return page.order && raw < 0 ? page.nRaw : raw; // what is no column comes last
  });

  function detailOf(t) {
    const term = terms[t];
    const head = element("h3", {}, term.name);
    const shared = element("p", {}, `${sayShare(page.shares.terms[t])} of ${page.shares.of}.`);
    if (term.kind === "outside") return [head, shared, slopes()];
    if (term.kind === "base") return [head, shared, element("p", {}, `A base distance of the weight ${say(term.weight)}: only Python computes it.`)];
    if (!distance) return [head, shared, element("p", {}, page.whyNot)];
    const part = distance.parts[t];
    if (part.features.length > 1) return [head, shared, ...jointTable(t, part)];
    return [head, shared, ...singleTable(t, part)];
  }

  function slopes() {
    const rows = columns.map((column, f) => [column.name, page.slopes[2 * f], page.slopes[2 * f + 1]]).filter((row) => row[1] + row[2] > 0);
    return element("table", {}, element("caption", {}, "What a step outside of the range of a column adds, in units of the column"),
      element("thead", {}, element("tr", {}, ["column", "below", "above"].map((title) => element("th", { scope: "col" }, title)))),
      element("tbody", {}, rows.map(([name, below, above]) => element("tr", {}, element("th", { scope: "row" }, name),
        [below, above].map((slope) => element("td", { class: "number" }, say(slope)))))));
  }

  /** The value of a feature that a curve starts from: the middle of the data until another is chosen. */
  function reference(f) {
    if (!references.has(f)) references.set(f, page.middles[f]);
    return references.get(f);
  }

  function referenceControl(f) {
    const column = columns[f];
    const label = `Reference value of ${column.name}`;
    const changed = (value) => {
      if (value === null) return;
      references.set(f, value);
      list.redraw();
      list.detail.querySelector(`[data-reference="${f}"]`)?.focus();
    };
    const [low, high] = distance.grid.range(f);
    if (column.kind === "categorical" || low === high) {
      const made = valueControl(column, reference(f), label, changed);
      made.dataset.reference = f;
      return element("p", { class: "field" }, element("span", {}, label), made);
    }
    const slider = element("input", {
      type: "range", min: low, max: high, step: "any", value: Number.isNaN(reference(f)) ? low : reference(f), "aria-label": label,
      "aria-valuetext": sayValue(columns, f, reference(f)), "data-reference": f,
      on: { input: (event) => changed(Number(event.target.value)) },
    });
    const gone = column.missing ? element("label", {}, element("input", {
      type: "checkbox", checked: Number.isNaN(reference(f)), on: { change: (event) => changed(event.target.checked ? NaN : page.middles[f]) },
    }), " missing") : null;
    return element("p", { class: "field" }, element("span", {}, label), slider,
      element("output", {}, sayValue(columns, f, reference(f))), gone);
  }

  function singleTable(t, part) {
    const [f] = part.features;
    const column = columns[f];
    const between = (u, v) => distance.between(t, [u], [v]);
    const counts = page.counts[f];
    const isNumber = column.kind !== "categorical";
    const effect = page.effects && page.effects.columns[f];
    const parts = effect ? effectOf(f, effect) : [];
    if (isNumber && distance.grid.knots[f].length > 1) {
      const from = (v) => between(reference(f), v);
      const pictures = element("div", { class: "pictures" }, curve(distance, columns, f, from, reference(f), counts));
      if (column.kind === "periodic") pictures.append(ring(distance, columns, f, from, reference(f)));
      parts.push(element("h4", {}, "What a value adds to the distance from the reference"), referenceControl(f), pictures);
      if (part.shape === "scale") parts.push(element("h4", {}, "The scale: distances are differences along it"), scaleCurve(part, f));
    }
    if (part.shape === "one") parts.push(element("p", {}, `Any two different ${column.tree ? "leaves" : "values"} are ${say(between(0, 1))} apart.`));
    else if (distance.grid.knots[f].length > 1 || column.missing) {
      const size = isNumber ? 300 : Math.max(180, Math.min(24 * (column.categories.length + 1), 460));
      const axes = [axisOf(distance, columns, f, size), axisOf(distance, columns, f, size)];
      parts.push(element("h4", {}, "The table: what any two values add"),
        heatMap(...axes, between, `Table of ${column.name}`, [`${column.name} of one item`, `${column.name} of the other`]));
    }
    if (column.made) parts.push(element("h4", {}, "What it is made of"), madeOf(f));
    if (counts && !isNumber) parts.push(countsOf(f, counts));
    return parts;
  }

  /** What is predicted, on average, if all items had a value of the column. */
  function effectOf(f, effect) {
    const { names, n } = page.effects;
    const label = `The mean ${names.length > 1 ? "probability of each class" : names[0]} of items if all of them had this value of ${columns[f].name}, ` +
      `with two standard deviations among ${n} refits to either side.`;
    return [element("h4", {}, "What a value does to the prediction"), element("p", { class: "note" }, label),
      element("div", { class: "pictures" }, effectChart(distance, columns, f, effect, label)),
      names.length > 1 ? lineKey(names.map((name, k) => [k, name])) : null].filter(Boolean);
  }

  function scaleCurve(part, f) {
    const zero = distance.grid.knots[f][0];
    return curve(distance, columns, f, (v) => distance.between(distance.parts.indexOf(part), [zero], [v]), zero, page.counts[f]);
  }

  function countsOf(f, counts) {
    const column = columns[f];
    const said = counts.bins.map((count, code) => [sayValue(columns, f, code), count]).filter(([, count]) => count > 0);
    if (counts.missing) said.push(["(missing)", counts.missing]);
    const shown = said.slice(0, 60);
    return element("details", {}, element("summary", {}, `Where the data lie: ${said.length} ${column.tree ? "leaves" : "categories"}`),
      element("table", {}, element("tbody", {}, shown.map(([name, count]) => element("tr", {},
        element("th", { scope: "row" }, name), element("td", { class: "number" }, say(count)))))));
  }

  function jointTable(t, part) {
    const [first, second, ...rest] = part.features;
    const fixed = rest.map((f) => reference(f));
    const value = (u, v) => distance.between(t, part.features.map(reference), [u, v, ...fixed]);
    const axes = [axisOf(distance, columns, first, 320), axisOf(distance, columns, second, 300)];
    const also = rest.length ? ` The others keep their reference values: ${rest.map((f) => columns[f].name).join(", ")}.` : "";
    const names = [columns[first].name, columns[second].name];
    const mark = axes.every((axis) => axis.isNumber) ? [[reference(first), reference(second)]] : [];
    return [element("h4", {}, "What values add together to the distance from the reference"),
      ...part.features.map(referenceControl),
      heatMap(...axes, value, `Joint table of ${names.join(" and ")}, from the reference`, names, mark),
      element("p", { class: "note" }, `The joint table of ${part.features.length} columns holds ${say(part.points)} grid points.${also}`),
      ...part.features.filter((f) => columns[f].made).flatMap((f) => [element("h4", {}, `What ${columns[f].name} is made of`), madeOf(f)])];
  }

  /** A direction as how far each column moves it across the range of the column; a tree as the questions that it asks. */
  function madeOf(f) {
    const k = f - page.nRaw;
    const { directions } = distance;
    if (columns[f].tree) return treeOf(k - directions.linear);
    const moved = Array.from({ length: page.nRaw }, (_, raw) => {
      const { from, to } = directions.columnsOf(raw);
      const [low, high] = distance.grid.range(raw);
      const row = directions.matrix[k].subarray(from, to);
      return directions.bends ? row.reduce((sum, m) => sum + m, 0) : row[0] * (high - low);
    });
    const used = moved.map((value, raw) => ({ value, raw })).filter(({ raw }) => directions.uses[k][raw])
      .sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    const most = Math.max(...used.map(({ value }) => Math.abs(value)), 1e-300);
    const row = 22;
    const shown = used.slice(0, 30);
    const bars = shown.map(({ value, raw }, place) => {
      const size = (Math.abs(value) / most) * 150;
      return element("svg:g", {}, text(182, row * place + 15, shorten(columns[raw].name), { "text-anchor": "end" }),
        element("svg:rect", { class: value < 0 ? "bar negative" : "bar", x: value < 0 ? 350 - size : 350, y: row * place + 3, width: size, height: row - 7 }),
        text(value < 0 ? 354 : 346, row * place + 15, say(value), { class: "number", "text-anchor": value < 0 ? "start" : "end" }));
    });
    const inWords = [[1, "rises with"], [-1, "falls with"]].map(([sign, verb]) => {
      const named = used.slice(0, 6).filter(({ value }) => Math.sign(value) === sign).map(({ raw }) => columns[raw].name);
      return named.length ? `${verb} ${named.join(", ")}` : "";
    }).filter(Boolean).join(" and ");
    const note = `How far ${columns[f].name} moves as a column goes through its range${directions.bends ? "; it bends at knots" : ""}` +
      `${used.length > shown.length ? `; the first ${shown.length} of ${used.length} columns` : ""}.`;
    return element("div", {}, element("p", {}, `${columns[f].name} mostly ${inWords || "does not move"}.`), element("p", { class: "note" }, note),
      picture(520, row * shown.length + 6, note, element("svg:line", { class: "thin", x1: 350, x2: 350, y1: 0, y2: row * shown.length }), bars));
  }

  function treeOf(t) {
    const { trees } = distance.directions;
    const root = trees.start[t];
    const list = (node) => {
      const f = trees.feature[node];
      if (f < 0) return element("li", { class: "leaf" }, `leaf ${trees.leaf[node]}`);
      const gone = columns[f].missing ? (trees.missingLeft[node] ? ", or missing" : ", and not missing") : "";
      const [yes, no] = [0, 1].map((side) => list(root + trees.children[2 * node + side]));
      return element("li", {}, `${question(f, trees.threshold[node])}${gone}`,
        element("ul", {}, element("li", { class: "branch" }, "yes", element("ul", {}, yes)), element("li", { class: "branch" }, "no", element("ul", {}, no))));
    };
    return element("details", { open: trees.start[t + 1] - root < 24 }, element("summary", {}, "The questions of the tree"),
      element("ul", { class: "tree" }, list(root)));
  }

  function question(f, threshold) {
    const column = columns[f];
    if (column.kind !== "categorical") return `${column.name} ≤ ${column.time === "scale" ? sayTime(threshold) : LONG.format(threshold)}`;
    return `${column.name} in ${column.categories.filter((_, code) => code <= threshold).join(", ")}`;
  }

  panel.replaceChildren(list.columns);
  list.redraw();
  return list;
}
