// The tab of a boundary: its pieces, and a picture of its points over two columns.

function drawPiecesTab(page, panel) {
  const { columns, terms, pieces, items } = page;
  const isPlanes = page.pieceKind === "planes";
  const axes = page.featureOrder.length > 1 ? page.featureOrder.slice(0, 2) : [0, 0];
  let list = null;

  const classes = items && items.targets && items.targetName === "class" ? page.classes : null;
  const kindOf = (k) => (classes ? Math.max(classes.indexOf(items.targets[k]), 0) % 8 : 0);

  /** The ends of the line where the plane cuts the section through its centre, in pixels; null where it leaves the picture. */
  function cut(normal, centre, ends, toPixel) {
    const [a, b] = axes.map((f) => normal[f]);
    const [u, v] = axes.map((f) => centre[f]);
    const found = [];
    if (b !== 0) ends[0].forEach((x) => found.push([x, v - (a / b) * (x - u)]));
    if (a !== 0) ends[1].forEach((y) => found.push([u - (b / a) * (y - v), y]));
    const slack = ends.map(([low, high]) => 1e-9 * (high - low));
    const inside = found.filter((point) => point.every((value, k) => value >= ends[k][0] - slack[k] && value <= ends[k][1] + slack[k]))
      .sort((one, other) => one[0] - other[0] || one[1] - other[1]);
    return inside.length > 1 ? [inside[0], inside[inside.length - 1]].map(toPixel) : null;
  }

  /** Points of the boundary over two columns, those of the chosen term marked, over the items. */
  function scatter(set, isChosen, plane = null) {
    const [wide, high, left, top] = [440, 340, 62, 10];
    const points = isPlanes ? pieces.sets[set].points : pieces.points;
    const shown = items ? items.rows : [];
    const ends = axes.map((f) => {
      const every = [...points, ...shown].map((row) => row[f]).filter((v) => !Number.isNaN(v));
      const [low, most] = [every.reduce((a, b) => Math.min(a, b)), every.reduce((a, b) => Math.max(a, b))];
      const edge = 0.04 * (most - low) || 1;
      return [low - edge, most + edge];
    });
    const toPixel = ([u, v]) => [left + ((u - ends[0][0]) / (ends[0][1] - ends[0][0])) * wide, top + high - ((v - ends[1][0]) / (ends[1][1] - ends[1][0])) * high];
    const place = (row) => toPixel(axes.map((f) => row[f])).map((v) => v.toFixed(1));
    const dots = shown.map((row, k) => {
      const [x, y] = place(row);
      return text(x, Number(y) + 3, SHAPES[kindOf(k)], { "text-anchor": "middle", class: `pale mark-${kindOf(k)}` });
    });
    const marks = points.map((row, k) => {
      const [cx, cy] = place(row);
      return element("svg:circle", { cx, cy, r: isChosen(k) ? 5 : 3, class: isChosen(k) ? "mark" : "pair" });
    });
    const horizontal = ticksBetween(...ends[0]).map((v) => text(toPixel([v, 0])[0], top + high + 18, say(v), { "text-anchor": "middle" }));
    const vertical = ticksBetween(...ends[1]).map((v) => text(left - 6, toPixel([0, v])[1] + 4, say(v), { "text-anchor": "end" }));
    const line = plane && cut(plane.normal, plane.centre, ends, toPixel);
    const what = isPlanes ? "piece" : "class";
    const label = `Points of the boundary over ${columns[axes[0]].name} and ${columns[axes[1]].name}; those of the chosen ${what} are larger.` +
      `${items ? ` Small marks are items${classes ? " by their class" : ""}.` : ""}` +
      `${line ? ` The dashed line is the plane${page.nRaw > 2 ? ", where the other columns are at its centre" : ""}.` : ""}`;
    return element("figure", {}, picture(left + wide + 20, top + high + 44, label,
      element("svg:rect", { x: left, y: top, width: wide, height: high, class: "frame" }), dots, horizontal, vertical, marks,
      line ? element("svg:line", { class: "reference", x1: line[0][0], y1: line[0][1], x2: line[1][0], y2: line[1][1] }) : null,
      text(left + wide / 2, top + high + 38, shorten(columns[axes[0]].name, 40), { "text-anchor": "middle", class: "strong" }),
      text(0, 0, shorten(columns[axes[1]].name, 30), { "text-anchor": "middle", class: "strong", transform: `translate(12 ${top + high / 2}) rotate(-90)` })),
      element("figcaption", { class: "note" }, label),
      classes ? element("p", { class: "key" }, classes.map((name, k) => element("span", { class: `mark-${k % 8}` },
        element("span", { class: `mark-${k % 8}`, "aria-hidden": "true" }, SHAPES[k % 8]), element("span", {}, name)))) : null);
  }

  function axisControls() {
    if (page.nRaw < 2) return null;
    return element("div", { class: "fields" }, ["along", "upwards"].map((name, side) =>
      selectControl(`axis-${side}`, `Column ${name}`, columns.map((c, f) => [f, c.name]), axes[side], (f) => {
        axes[side] = Number(f);
        list.redraw();
        document.getElementById(`axis-${side}`).focus();
      })));
  }

  function planeDetail({ set, plane, side, items: nItems, points, right }) {
    const { centres, normals, components, steepness } = pieces.sets[set];
    const [normal, centre] = [normals[plane], centres[plane]];
    const decides = nItems === null ? "" : ` It decides ${say(nItems)} item${nItems === 1 ? "" : "s"}${right === null ? "" : `; ${sayShare(right)} of those of its classes lie on the right side`}.`;
    const order = page.featureOrder.slice().sort((a, b) => Math.abs(normal[b]) - Math.abs(normal[a]));
    return [element("p", {}, `The plane has ${say(points)} boundary point${points === 1 ? "" : "s"}.${decides}`),
      axisControls(), scatter(set, (k) => components[k] === plane, { normal, centre }),
      element("h4", {}, "The plane"),
      element("p", { class: "note" }, `The sum of direction × (value − centre) is the distance to the plane, > 0 on the side of ${side}. ` +
        `Boundary points lie around it with a standard deviation of ${say(1 / steepness[plane])}.`),
      element("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "The plane" }, element("table", {},
        element("thead", {}, element("tr", {}, ["column", "direction", "centre"].map((name) => element("th", { scope: "col" }, name)))),
        element("tbody", {}, order.map((f) => element("tr", {}, element("th", { scope: "row" }, columns[f].name),
          [normal[f], centre[f]].map((value) => element("td", { class: "number" }, say(value))))))))].filter(Boolean);
  }

  function pointDetail(c, { points }) {
    return [element("p", {}, `${say(points)} support points are of the class ${page.outputs[c]}. An item has the class of the nearest support point of all.`),
      axisControls(), scatter(0, (k) => pieces.codes[k] === c)].filter(Boolean);
  }

  function detailOf(t) {
    return [element("h3", {}, terms[t].name), ...(isPlanes ? planeDetail(terms[t]) : pointDetail(t, terms[t]))];
  }

  const said = (t) => (terms[t].items === undefined || terms[t].items === null ? `${say(terms[t].points)} points` : `${say(terms[t].items)} items`);
  list = termList(page, isPlanes ? "Pieces of the boundary" : "Support points", terms.map((term) => term.name), detailOf, said);
  panel.replaceChildren(list.columns);
  list.redraw();
  return list;
}
