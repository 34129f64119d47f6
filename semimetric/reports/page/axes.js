// Axes of features, heat maps over two of them, curves over one, and rings of angles.

const SAMPLES = 56; // points along a feature of a heat map
const MOST_LEVELS = 60; // categories along an axis
const LEVEL = 26; // pixels of a level that is none of the numbers

/** What a person calls a value of an embedded feature. */
function sayValue(columns, f, value) {
  const column = columns[f];
  if (Number.isNaN(value)) return "(missing)";
  if (column.kind === "categorical") return column.categories[value] ?? column.other;
  if (column.time === "scale") return sayTime(value);
  return say(value);
}

function sayTime(days) {
  const moment = new Date(days * 86400000);
  if (Number.isNaN(moment.getTime())) return say(days);
  const style = days % 1 ? { dateStyle: "short", timeStyle: "short" } : { dateStyle: "short" };
  return new Intl.DateTimeFormat(undefined, { ...style, timeZone: "UTC" }).format(moment);
}

/** An axis of an embedded feature, in pixels from 0 to `length`: a stretch of numbers, levels beside it, and ticks. */
function axisOf(distance, columns, f, length) {
  const column = columns[f];
  const knots = distance.grid.knots[f];
  const all = column.kind === "categorical" ? (column.order || Array.from(knots, (_, k) => k)) : [];
  const levels = all.slice(0, MOST_LEVELS);
  if (distance.grid.missing[f]) levels.push(NaN);
  const isNumber = column.kind !== "categorical" && knots.length > 1;
  if (column.kind !== "categorical" && !isNumber) levels.unshift(knots[0]);
  const size = isNumber ? LEVEL : Math.min(length / Math.max(levels.length, 1), 44);
  const end = isNumber ? length - (levels.length ? LEVEL + 6 : 0) : 0;
  const [low, high] = distance.grid.range(f);
  const toPixel = (value) => (end * (Math.min(Math.max(value, low), high) - low)) / (high - low || 1);
  const parts = isNumber ? [{
    from: 0, to: end, values: Array.from({ length: SAMPLES }, (_, k) => low + ((k + 0.5) / SAMPLES) * (high - low)),
  }] : [];
  const ticks = [];
  if (isNumber) {
    let last = -Infinity;
    for (const knot of knots) {
      if (toPixel(knot) - last < 46) continue;
      last = toPixel(knot);
      ticks.push({ at: last, said: sayValue(columns, f, knot) });
    }
  }
  levels.forEach((level, k) => {
    const from = isNumber ? length - LEVEL : k * size;
    parts.push({ from, to: from + size, values: [level] });
    ticks.push({ at: from + size / 2, said: sayValue(columns, f, level), level: true });
  });
  return { f, parts, ticks, toPixel, end, isNumber, length: isNumber ? length : size * levels.length, levels, left: all.length - MOST_LEVELS };
}

/** A heat map over two axes; `value(u, v)` is that at u along x and v along y. */
function heatMap(horizontal, vertical, value, label, names, marks = []) {
  const values = vertical.parts.map((down) => horizontal.parts.map((along) =>
    down.values.slice().reverse().map((v) => along.values.map((u) => value(u, v)))));
  const largest = Math.max(...values.flat(3).map(Math.abs), 0) || 1;
  const isSigned = values.flat(3).some((each) => each < 0);
  const [left, top] = [122, 8];
  const height = vertical.length;
  const upside = (at) => top + height - at;
  const wide = horizontal.length + left + 34;
  const cells = vertical.parts.flatMap((down, i) => horizontal.parts.map((along, j) => {
    const frame = { x: left + along.from, y: upside(down.to), width: along.to - along.from, height: down.to - down.from };
    const rows = values[i][j];
    if (rows.length > 1 || rows[0].length > 1) {
      return element("svg:image", { ...frame, href: pixels(rows, largest), preserveAspectRatio: "none" });
    }
    const colour = shade(rows[0][0] / largest);
    const said = `${horizontal.ticks.find((t) => t.at > along.from && t.at < along.to)?.said} – ` +
      `${vertical.ticks.find((t) => t.at > down.from && t.at < down.to)?.said}: ${say(rows[0][0])}`;
    const written = frame.width >= 34 && frame.height >= 18
      ? text(frame.x + frame.width / 2, frame.y + frame.height / 2 + 4, say(rows[0][0]),
        { "text-anchor": "middle", class: "cell", fill: inkOn(colour) }) : null;
    return element("svg:g", {}, element("svg:title", {}, said), element("svg:rect", { ...frame, fill: css(colour), class: "box" }), written);
  }));
  const slanted = !horizontal.isNumber; // names of categories; beside numbers the one level has a line of its own
  const below = upside(0) + 14;
  const ticks = [
    ...vertical.ticks.filter((_, k) => k % Math.ceil(vertical.ticks.length / (height / 13)) === 0)
      .map((tick) => text(left - 6, upside(tick.at) + 4, shorten(tick.said, 13), { "text-anchor": "end" })),
    ...horizontal.ticks.filter((_, k) => k % Math.ceil(horizontal.ticks.length / (horizontal.length / 13)) === 0)
      .map((tick) => (slanted
        ? text(left + tick.at, below, shorten(tick.said, 13),
          { "text-anchor": "end", transform: `rotate(-40 ${left + tick.at} ${below})` })
        : text(left + tick.at, below + (tick.level ? 15 : 0), tick.said, { "text-anchor": "middle" }))),
  ];
  const tall = below + (slanted ? 58 : horizontal.levels.length ? 22 : 8);
  const titles = [text(left + horizontal.length / 2, tall + 12, shorten(names[0], 40), { "text-anchor": "middle", class: "strong" }),
    text(0, 0, shorten(names[1], 30), {
      "text-anchor": "middle", class: "strong", transform: `translate(12 ${top + height / 2}) rotate(-90)`,
    })];
  const marked = marks.map(([u, v]) => element("svg:circle", {
    cx: left + horizontal.toPixel(u), cy: upside(vertical.toPixel(v)), r: 6, class: "mark",
  }));
  const cut = [horizontal, vertical].filter((axis, k) => axis.left > 0 && (k === 0 || axis.f !== horizontal.f))
    .map((axis) => element("p", { class: "note" }, `${say(axis.left)} more categories are not drawn.`));
  return element("figure", {}, cut, picture(wide, tall + 20, label, cells, ticks, titles, marked), legend(220, largest, "added", isSigned ? -largest : 0));
}

/** The curve of a table from a reference value, over the counts of the data. */
function curve(distance, columns, f, value, reference, counts) {
  const [low, high] = distance.grid.range(f);
  const places = [...distance.grid.knots[f], reference].filter((v) => v >= low && v <= high);
  const label = `What a value of ${columns[f].name} adds to the distance from ${sayValue(columns, f, reference)}. The bars count the data.`;
  return curves(distance, columns, f, [{ value, number: null }], counts, label, reference, places);
}

/** Curves over a feature, one for each of `lines`, over the counts of the data; `more` are places at which they bend. */
function curves(model, columns, f, lines, counts, label, reference, more) {
  const [left, wide, high] = [56, 420, 190];
  const axis = axisOf(model, columns, f, wide);
  const along = axis.isNumber ? [...more, ...axis.parts[0].values].sort((a, b) => a - b) : [];
  const drawn = lines.map(({ value, number }) => ({
    number, points: along.map((v) => [left + axis.toPixel(v), value(v)]), beside: axis.levels.map((level) => ({ level, value: value(level) })),
  }));
  const every = drawn.flatMap(({ points, beside }) => [...points.map((p) => p[1]), ...beside.map((b) => b.value)]);
  const [least, most] = [every.reduce((a, b) => Math.min(a, b), 0), every.reduce((a, b) => Math.max(a, b), 0)];
  const size = most - least || 1;
  const y = (v) => 10 + high - ((v - least) / size) * high;
  const fullest = counts ? Math.max(...counts.bins, counts.missing || 0, 1) : 1;
  const bar = (x, width, count) => element("svg:rect", {
    class: "data", x, y: 10 + high - (count / fullest) * 60, width: Math.max(width, 0.5), height: (count / fullest) * 60,
  });
  const bars = counts && axis.isNumber
    ? counts.bins.map((count, k) => bar(left + (axis.end * k) / counts.bins.length + 0.5, axis.end / counts.bins.length - 1, count)) : [];
  const grid = ticksBetween(least, least + size, 4).map((v) => element("svg:g", {},
    element("svg:line", { class: v === 0 && least < 0 ? "grid zero" : "grid", x1: left, x2: left + wide, y1: y(v), y2: y(v) }),
    text(left - 6, y(v) + 4, say(v), { "text-anchor": "end" })));
  const placeOf = (level) => {
    const part = axis.parts.find((each) => each.values.length === 1 && Object.is(each.values[0], level));
    return left + (part.from + part.to) / 2;
  };
  const gone = counts && axis.levels.some(Number.isNaN) ? bar(placeOf(NaN) - 8, 16, counts.missing) : null;
  const shapes = drawn.map(({ number, points, beside }) => {
    const kind = number === null ? "" : ` of-class mark-${number % 8}`;
    const path = points.map(([px, v], k) => `${k ? "L" : "M"}${px.toFixed(2)} ${y(v).toFixed(2)}`).join("");
    return element("svg:g", {},
      path ? element("svg:path", { class: `line${kind}`, d: path, "stroke-dasharray": number === null ? null : DASHES[number % 8] }) : null,
      beside.map((b) => element("svg:circle", { class: `dot${kind}`, cx: placeOf(b.level), cy: y(b.value), r: 4.5 })));
  });
  const ticks = axis.ticks.map((tick) =>
    text(left + tick.at, high + (tick.level ? 43 : 28), shorten(tick.said, 12), { "text-anchor": "middle" }));
  const at = axis.isNumber && !Number.isNaN(reference) ? left + axis.toPixel(reference) : null;
  return picture(left + wide + 30, high + 52, label, grid, bars, gone, shapes, ticks,
    at === null ? null : element("svg:line", { class: "reference", x1: at, x2: at, y1: 10, y2: 10 + high }));
}

/** An angle as a ring, shaded by the distance from the reference. */
function ring(distance, columns, f, value, reference) {
  const [low, high] = distance.grid.range(f);
  const n = 72;
  const [middle, outer, inner] = [110, 88, 58];
  const at = (share, radius) => {
    const turn = 2 * Math.PI * share - Math.PI / 2;
    return `${(middle + radius * Math.cos(turn)).toFixed(2)} ${(middle + radius * Math.sin(turn)).toFixed(2)}`;
  };
  const values = Array.from({ length: n }, (_, k) => value(low + ((k + 0.5) / n) * (high - low)));
  const largest = Math.max(...values) || 1;
  const segments = values.map((v, k) => element("svg:path", {
    d: `M${at(k / n, outer)} A${outer} ${outer} 0 0 1 ${at((k + 1.04) / n, outer)} L${at((k + 1.04) / n, inner)} ` +
      `A${inner} ${inner} 0 0 0 ${at(k / n, inner)}Z`, fill: css(shade(v / largest)),
  }));
  const said = [0, 0.25, 0.5, 0.75].map((share) => {
    const [x, y] = at(share, outer + 13).split(" ");
    return text(x, Number(y) + 4, say(modulo(low + share * (high - low), high - low)), { "text-anchor": "middle" });
  });
  const [x, y] = at((modulo(reference - low, high - low)) / (high - low), (outer + inner) / 2).split(" ");
  return picture(2 * middle, 2 * middle, `${columns[f].name} as a ring, shaded by the distance from ${say(reference)}`,
    segments, said, Number.isNaN(reference) ? null : element("svg:circle", { cx: x, cy: y, r: 6, class: "mark" }));
}
