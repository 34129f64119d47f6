// Measured distances beside those of the model, on the tab of evidence.

function drawMeasuredPairs(page, place) {
  if (!page.pairs || !place) return;
  const [measured, learned] = [page.pairs.measured, page.pairs.learned];
  const [left, size] = [56, 320];
  const top = Math.max(...measured, ...learned, 1e-300) * 1.03;
  const x = (value) => left + (value / top) * size;
  const y = (value) => 10 + size - (value / top) * size;
  const ticks = ticksUpTo(top).map((v) => element("svg:g", {},
    element("svg:line", { class: "grid", x1: left, x2: left + size, y1: y(v), y2: y(v) }),
    text(left - 6, y(v) + 4, say(v), { "text-anchor": "end" }), text(x(v), size + 26, say(v), { "text-anchor": "middle" })));
  const dots = Array.from(measured, (value, k) => element("svg:circle", { class: "pair", cx: x(value).toFixed(1), cy: y(learned[k]).toFixed(1), r: 2.5 }));
  place.replaceChildren(picture(left + size + 20, size + 52, "Measured distances, along, and distances of the model, upwards; the line is where they are equal",
    ticks, element("svg:line", { class: "reference", x1: x(0), y1: y(0), x2: x(top), y2: y(top) }), dots,
    text(left + size / 2, size + 46, "measured", { "text-anchor": "middle", class: "strong" }),
    text(0, 0, "of the model", { "text-anchor": "middle", class: "strong", transform: `translate(12 ${10 + size / 2}) rotate(-90)` })));
}
