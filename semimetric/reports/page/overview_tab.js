// The tab of the overview: Python has written its words and tables, and here are its pictures.

function drawOverviewTab({ overview }) {
  const place = (id) => document.getElementById(id);
  const { quality, importances, groups, cases } = overview;
  let count = LIST;

  function drawImportances() {
    const { rows } = importances;
    const more = rows.length > count ? element("button", {
      type: "button", on: { click: () => { count = Infinity; drawImportances(); } },
    }, `Show all ${say(rows.length)} columns`) : null;
    place("importance-bars").replaceChildren(shareBars(rows, count), ...(more ? [element("p", {}, more)] : []));
  }

  function drawCase(parts) {
    const { contributions } = cases[Number(parts.dataset.case)];
    if (!contributions) return;
    const names = contributions.rows.map(([name, value]) => `${shorten(name, 16)} = ${typeof value === "number" ? say(value) : shorten(value, 12)}`);
    const values = contributions.rows.map((row) => row[2]);
    const sum = values.reduce((total, value) => total + value, contributions.base);
    parts.replaceChildren(waterfall(names, values, [{ name: shorten(contributions.of, 25), value: sum }],
      `What columns add to the ${contributions.of} or take from it, ${say(sum)}`, { name: contributions.base_is, value: contributions.base }));
  }

  if (quality) {
    const charts = [[quality.calibration, calibrationChart], [quality.roc, rocChart], [quality.drawn, valuesChart]];
    place("quality-pictures").replaceChildren(...charts.filter(([facts]) => facts).map(([facts, draw]) => draw(facts)));
  }
  document.querySelectorAll(".group-picture").forEach((parts) => parts.replaceChildren(groupChart(groups[Number(parts.dataset.table)])));
  if (importances) drawImportances();
  document.querySelectorAll(".case-parts").forEach(drawCase);
  return { redraw: () => {} };
}
