// The map of the items on the tab of neighbours.

const SHAPES = ["●", "▲", "■", "◆", "▼", "★", "✚", "✖"];

/** A picture of all items, in which one is chosen by a click; the field of names does the same by keyboard. */
function itemMap(page, classes, choose) {
  const { items, map } = page;
  const [wide, high, edge] = [440, 400, 16];
  const [low, top] = [[map.x, map.y].map((side) => Math.min(...side)), [map.x, map.y].map((side) => Math.max(...side))];
  const unit = Math.max(top[0] - low[0], top[1] - low[1]) || 1;
  const scale = Math.min((wide - 2 * edge) / unit, (high - 2 * edge) / unit);
  const place = (k) => [edge + (map.x[k] - low[0]) * scale, high - edge - (map.y[k] - low[1]) * scale];
  const figure = element("figure", { class: "map" });

  function dot(k, kind) {
    const [x, y] = place(k);
    const target = items.targets && items.targetName === "class" ? Math.max(classes.indexOf(items.targets[k]), 0) : 0;
    const said = items.targets && items.targets[k] !== null ? `${items.names[k]}: ${items.targetName === "class" ? items.targets[k] : say(items.targets[k])}` : items.names[k];
    return element("svg:text", {
      x: x.toFixed(1), y: (y + 4).toFixed(1), "text-anchor": "middle", class: `item mark-${target % 8} ${kind}`, "data-map": k,
      on: { click: () => choose(k) },
    }, element("svg:title", {}, said), SHAPES[target % 8]);
  }

  function draw(chosen, near) {
    const close = new Set(near);
    const others = items.numbersOf.filter((k) => k !== chosen && !close.has(k));
    const [x, y] = place(chosen);
    const lines = near.map((k) => {
      const [ex, ey] = place(k);
      return element("svg:line", { class: "grid", x1: x, y1: y, x2: ex, y2: ey });
    });
    figure.replaceChildren(
      picture(wide, high, `Map of ${items.n} items; ${items.names[chosen]} and its nearest are marked`,
        others.map((k) => dot(k, "far")), lines, near.map((k) => dot(k, "near")),
        element("svg:circle", { cx: x, cy: y, r: 9, class: "mark" }), dot(chosen, "near")),
      element("figcaption", { class: "note" }, "A click chooses an item. Two coordinates by classical scaling of the distances; " +
        `trustworthiness ${sayShare(map.trust)} of the ${say(map.k)} nearest, so where it is low rely on the table.`));
  }

  return { figure, draw };
}
