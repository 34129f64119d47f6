// Pictures of how good predictions are, and of importances with their bars.

const LIST = 15; // columns of a picture until all are asked for

/** A square of two axes from `low` to `high`, its diagonal, and what `draw(x, y)` gives, where x and y turn values into pixels. */
function square(label, [low, high], names, said, draw) {
  const [left, top, size] = [58, 10, 250];
  const x = (v) => left + ((v - low) / (high - low || 1)) * size;
  const y = (v) => top + size - ((v - low) / (high - low || 1)) * size;
  const grid = ticksBetween(low, high, 4).map((v) => element("svg:g", {},
    element("svg:line", { class: "grid", x1: x(low), x2: x(high), y1: y(v), y2: y(v) }),
    element("svg:line", { class: "grid", x1: x(v), x2: x(v), y1: y(low), y2: y(high) }),
    text(left - 6, y(v) + 4, said(v), { "text-anchor": "end" }), text(x(v), top + size + 17, said(v), { "text-anchor": "middle" })));
  const titles = [text(left + size / 2, top + size + 36, names[0], { "text-anchor": "middle", class: "strong" }),
    text(0, 0, names[1], { "text-anchor": "middle", class: "strong", transform: `translate(12 ${top + size / 2}) rotate(-90)` })];
  return element("figure", { class: "chart" }, picture(left + size + 22, top + size + 44, label, grid,
    element("svg:line", { class: "reference", x1: x(low), x2: x(high), y1: y(low), y2: y(high) }), draw(x, y), titles),
  element("figcaption", { class: "note" }, label));
}

function calibrationChart({ of, rows, apart }) {
  const label = `Calibration: how often the probability ${of} comes true, by tenths of it, with 95 % intervals. On average they differ by ${sayShare(apart)}.`;
  return square(label, [0, 1], ["predicted probability", "came true"], sayShare, (x, y) => rows.map((row) => element("svg:g", {},
    element("svg:title", {}, `${say(row.n)} items: predicted ${sayShare(row.said)}, came true ${sayShare(row.true)}`),
    element("svg:line", { class: "whisker", x1: x(row.said), x2: x(row.said), y1: y(row.low), y2: y(row.high) }),
    element("svg:circle", { class: "dot", cx: x(row.said), cy: y(row.true), r: 5 }))));
}

function rocChart({ of, wrong, right, area }) {
  const label = `ROC curve of ${of}: of the items of this class, the share that is found, against that of the others taken for it. Area ${say(area)}.`;
  return square(label, [0, 1], ["others taken for it", "found"], sayShare, (x, y) => element("svg:path", {
    class: "line", d: wrong.map((v, k) => `${k ? "L" : "M"}${x(v).toFixed(1)} ${y(right[k]).toFixed(1)}`).join(""),
  }));
}

function valuesChart({ true: truth, predicted, low, high }) {
  const every = [...truth, ...predicted, ...(low ?? []), ...(high ?? [])];
  const ends = [every.reduce((a, b) => Math.min(a, b)), every.reduce((a, b) => Math.max(a, b))];
  const missed = low ? truth.map((v, k) => v < low[k] || v > high[k]) : [];
  const intervals = low ? ` Lines are 90 % intervals; ${say(missed.filter(Boolean).length)} miss the true value, and are of another colour.` : "";
  const label = `Predicted against true values of ${say(truth.length)} items; on the dashed line both are equal.${intervals}`;
  return square(label, ends, ["true", "predicted"], say, (x, y) => [
    ...(low ? truth.map((v, k) => element("svg:line", { class: `interval${missed[k] ? " missed" : ""}`, x1: x(v).toFixed(1), x2: x(v).toFixed(1), y1: y(low[k]).toFixed(1), y2: y(high[k]).toFixed(1) })) : []),
    ...truth.map((v, k) => element("svg:circle", { class: "pair", cx: x(v).toFixed(1), cy: y(predicted[k]).toFixed(1), r: 3.5 }))]);
}

/** The first figure of each group with its interval, and a dashed line at that of all items. */
function groupChart({ by, rows }) {
  const shown = rows.map(({ name, n, figures: [first] }) => ({ ...first, group: name, n }));
  const [all, ...groups] = shown;
  const [left, wide, row] = [190, 640, 26];
  const ends = shown.flatMap(({ value, low, high }) => [value, low ?? value, high ?? value]);
  const [least, most] = [ends.reduce((a, b) => Math.min(a, b)), ends.reduce((a, b) => Math.max(a, b))];
  const x = (v) => left + ((v - least) / (most - least || 1)) * (wide - left - 80);
  const said = all.is_share ? sayShare : say;
  const tall = row * groups.length;
  const drawn = groups.map(({ group, n, value, low, high }, k) => {
    const at = row * k + row / 2;
    const told = low === null ? said(value) : `${said(value)}, 95 % interval from ${said(low)} to ${said(high)}`;
    return element("svg:g", {}, element("svg:title", {}, `${group}: ${told}, ${say(n)} items`),
      text(left - 12, at + 4, shorten(group, 25), { "text-anchor": "end" }),
      low === null ? null : element("svg:path", { class: "whisker", d: `M${x(low)} ${at - 5}V${at + 5}M${x(low)} ${at}H${x(high)}M${x(high)} ${at - 5}V${at + 5}` }),
      element("svg:circle", { class: "dot", cx: x(value), cy: at, r: 5 }), text(x(high ?? value) + 9, at + 4, said(value), { class: "number" }));
  });
  const label = `The ${all.name} of each group of ${shorten(by, 25)} with its 95 % interval; the dashed line is that of all items, ${said(all.value)}.`;
  return element("figure", {}, picture(wide, tall + 4, label,
    element("svg:line", { class: "reference", x1: x(all.value), x2: x(all.value), y1: 0, y2: tall }), drawn), element("figcaption", { class: "note" }, label));
}

/** Which class a line is of, from pairs of a number and a name. */
function lineKey(lines) {
  return element("p", { class: "key" }, lines.map(([k, name]) => element("span", { class: `mark-${k % 8}` },
    element("svg:svg", { width: 34, height: 10, "aria-hidden": "true" },
      element("svg:line", { x1: 0, x2: 34, y1: 5, y2: 5, class: "line of-class", "stroke-dasharray": DASHES[k % 8] })), element("span", {}, name))));
}

/** Mean predictions over the values of a column, a line and a band for each output; categories have dots with whiskers. */
function effectChart(distance, columns, f, { values, mean, low, high }, label) {
  const [left, wide, tall] = [58, 420, 190];
  const axis = axisOf(distance, columns, f, wide);
  const ends = [low.flat().reduce((a, b) => Math.min(a, b)), high.flat().reduce((a, b) => Math.max(a, b))];
  const y = (v) => 10 + tall - ((v - ends[0]) / (ends[1] - ends[0] || 1)) * tall;
  const at = values.map((v) => {
    const level = axis.parts.find((part) => part.values.length === 1 && part.values[0] === v);
    return left + (level ? (level.from + level.to) / 2 : axis.toPixel(v));
  });
  const drawn = mean.map((line, k) => {
    const kind = mean.length > 1 ? ` of-class mark-${k % 8}` : "";
    const path = (points) => points.map(([px, py], n) => `${n ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");
    const over = at.map((px, n) => [px, y(high[k][n])]);
    const under = at.map((px, n) => [px, y(low[k][n])]);
    if (!axis.isNumber) {
      return at.map((px, n) => element("svg:g", {}, element("svg:line", { class: "whisker", x1: px, x2: px, y1: under[n][1], y2: over[n][1] }),
        element("svg:circle", { class: `dot${kind}`, cx: px, cy: y(line[n]), r: 4.5 })));
    }
    return element("svg:g", {}, element("svg:path", { class: `band${kind}`, d: `${path([...over, ...under.reverse()])}Z` }),
      element("svg:path", { class: `line${kind}`, d: path(at.map((px, n) => [px, y(line[n])])), "stroke-dasharray": mean.length > 1 ? DASHES[k % 8] : null }));
  });
  const grid = ticksBetween(ends[0], ends[1], 4).map((v) => element("svg:g", {},
    element("svg:line", { class: "grid", x1: left, x2: left + wide, y1: y(v), y2: y(v) }), text(left - 6, y(v) + 4, say(v), { "text-anchor": "end" })));
  const ticks = axis.ticks.map((tick) => text(left + tick.at, tall + (tick.level && axis.isNumber ? 43 : 28), shorten(tick.said, 12), { "text-anchor": "middle" }));
  return picture(left + wide + 30, tall + 52, label, grid, drawn, ticks);
}

/** Bars of shares with whiskers from `low` to `high`, the first so many of them. */
function shareBars(rows, count) {
  const shown = rows.slice(0, count);
  const [left, wide, row] = [190, 640, 24];
  const most = shown.reduce((top, each) => Math.max(top, each.high ?? each.share), 1e-300);
  const least = shown.reduce((low, each) => Math.min(low, each.low ?? 0, each.share), 0);
  const x = (v) => left + ((v - least) / (most - least)) * (wide - left - 70);
  const drawn = shown.map((each, k) => {
    const [at, end] = [row * k, each.high ?? each.share];
    const said = each.low === null ? sayShare(each.share) : `${sayShare(each.share)}, bar from ${sayShare(each.low)} to ${sayShare(each.high)}`;
    return element("svg:g", {}, element("svg:title", {}, `${each.name}: ${said}`),
      text(left - 8, at + 16, shorten(each.name, 25), { "text-anchor": "end" }),
      element("svg:rect", { class: "bar faint", x: Math.min(x(0), x(each.share)), y: at + 5, width: Math.max(Math.abs(x(each.share) - x(0)), 1), height: row - 10 }),
      each.low === null ? null : element("svg:path", {
        class: "whisker", d: `M${x(each.low)} ${at + 7}V${at + 17}M${x(each.low)} ${at + 12}H${x(end)}M${x(end)} ${at + 7}V${at + 17}`,
      }), text(x(end) + 6, at + 16, sayShare(each.share), { class: "number" }));
  });
  const told = shown.slice(0, 3).map((each) => `${each.name} ${sayShare(each.share)}`).join(", ");
  return picture(wide, row * shown.length + 6, `Importances of ${shown.length} columns, the largest first: ${told}`, drawn,
    least < 0 ? element("svg:line", { class: "thin", x1: x(0), x2: x(0), y1: 0, y2: row * shown.length }) : null);
}
