// Elements, numbers and colours. Text from data goes through textContent and attributes only, so it never becomes markup.

const SVG = "http://www.w3.org/2000/svg";
const OTHERS = 12; // bars of a chart; the rest is one bar

/** An element with attributes and children; `on` are listeners, and text children stay text. */
function element(tag, attributes = {}, ...children) {
  const made = tag.startsWith("svg:") ? document.createElementNS(SVG, tag.slice(4)) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") Object.entries(value).forEach(([event, run]) => made.addEventListener(event, run));
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, String(value));
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** A picture that says what it shows. */
function picture(width, height, label, ...children) {
  const frame = { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label };
  return element("svg:svg", frame, element("svg:title", {}, label), ...children);
}

function text(x, y, said, attributes = {}) {
  return element("svg:text", { x, y, ...attributes }, said);
}

const SHORT = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 4 });
const LONG = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 12 });
const SHARE = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });
const TINY = new Intl.NumberFormat(undefined, { notation: "scientific", maximumSignificantDigits: 3 });

/** A number as the reader's language writes it. */
function say(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "–" : String(value);
  const size = Math.abs(value);
  return value !== 0 && (size < 1e-4 || size >= 1e9) ? TINY.format(value) : SHORT.format(value);
}

function sayShare(value) {
  return Number.isFinite(value) ? SHARE.format(value) : "–";
}

function shorten(name, most = 28) {
  const letters = Array.from(name);
  return letters.length <= most ? name : `${letters.slice(0, most - 1).join("")}…`;
}

// A scale of one hue from pale to dark, read by its lightness alone; on a dark page it runs from dark to pale. What is below 0
// has another hue, and where there is some of it a legend says which.
const STOPS = {
  light: [[247, 250, 252], [205, 225, 240], [140, 188, 220], [72, 139, 190], [29, 91, 146], [10, 44, 88]],
  dark: [[27, 33, 40], [24, 58, 92], [35, 95, 146], [74, 142, 196], [141, 192, 228], [224, 241, 252]],
  lightBelow: [[247, 250, 252], [248, 222, 203], [240, 182, 139], [218, 131, 70], [173, 80, 28], [98, 42, 10]],
  darkBelow: [[27, 33, 40], [82, 45, 24], [134, 72, 36], [198, 112, 62], [234, 166, 122], [252, 232, 214]],
};

function isDark() {
  return window.matchMedia("(prefers-color-scheme: dark)").matches && !isPrinted;
}

let isPrinted = false;

/** The colour of a share of the largest value, from -1 to 1. */
function shade(share) {
  const stops = STOPS[(isDark() ? "dark" : "light") + (share < 0 ? "Below" : "")];
  const at = Math.min(Math.abs(share || 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  return stops[low].map((part, k) => Math.round(part + (at - low) * (stops[low + 1][k] - part)));
}

function css(colour) {
  return `rgb(${colour.join(",")})`;
}

/** Black or white, whichever can be read on a colour. */
function inkOn(colour) {
  const [r, g, b] = colour.map((part) => (part / 255 <= 0.04 ? part / 3294 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000" : "#fff";
}

/** Numbers as a data URL of a picture with a pixel each, the first row on top. */
function pixels(rows, largest) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [rows[0].length, rows.length];
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  rows.flat().forEach((value, k) => {
    const [r, g, b] = shade(value / largest);
    image.data.set([r, g, b, 255], 4 * k);
  });
  context.putImageData(image, 0, 0);
  return canvas.toDataURL();
}

/** The bar of shades with its ends, for heat maps; `least` is 0, or below it the opposite of the largest. */
function legend(width, largest, what, least = 0) {
  const steps = Array.from({ length: 97 }, (_, k) => (least < 0 ? k / 48 - 1 : k / 96));
  const bar = element("svg:image", {
    href: pixels([steps], 1), x: 0, y: 4, width, height: 10, preserveAspectRatio: "none",
  });
  return picture(width, 34, `Shades from ${say(least)} to ${say(largest)}: ${what}`, bar, text(0, 28, say(least)),
    text(width, 28, `${say(largest)} ${what}`, { "text-anchor": "end" }));
}

/** Round numbers from 0 to at least `top`, for an axis. */
function ticksUpTo(top, count = 4) {
  if (!(top > 0) || !Number.isFinite(top)) return [0];
  const raw = top / count;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * size).find((each) => each >= raw) || raw;
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, k) => k * step);
}

/** Round numbers between two values, for an axis. */
function ticksBetween(low, high, count = 5) {
  const step = ticksUpTo(high - low, count)[1];
  if (!(step > 0)) return [low];
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, k) => (first + k) * step);
}

/** Horizontal bars that begin where the one before ends, the first at `base`, and their sum. */
function waterfall(names, values, totals, label, base = null) {
  const order = values.map((_, k) => k).filter((k) => values[k] !== 0).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]));
  const shown = order.slice(0, OTHERS).map((k) => ({ name: names[k], value: values[k] }));
  const rest = order.slice(OTHERS);
  if (rest.length) shown.push({ name: `${rest.length} others`, value: rest.reduce((sum, k) => sum + values[k], 0), rest: true });
  const [left, width, row] = [190, 640, 24];
  const ends = shown.reduce((at, part) => [...at, at[at.length - 1] + part.value], [base ? base.value : 0]);
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const x = (value) => left + ((value - low) / (high - low || 1)) * (width - left - 90);
  const top = base ? row : 0;
  const begin = base ? element("svg:g", {}, text(left - 8, 16, shorten(base.name), { "text-anchor": "end" }),
    element("svg:line", { class: "thin", x1: x(base.value), x2: x(base.value), y1: 4, y2: row + 4 }),
    text(x(base.value) + 5, 16, say(base.value), { class: "number" })) : null;
  const drawn = shown.map((part, k) => {
    const [from, to] = [ends[k], ends[k + 1]].sort((a, b) => a - b);
    const name = part.rest ? "bar rest" : part.value < 0 ? "bar negative" : "bar";
    return element("svg:g", {},
      text(left - 8, top + row * k + 16, shorten(part.name, 25), { "text-anchor": "end" }),
      element("svg:rect", { class: name, x: x(from), y: top + row * k + 4, width: Math.max(x(to) - x(from), 1), height: row - 8 }),
      element("svg:line", { class: "thin", x1: x(ends[k + 1]), x2: x(ends[k + 1]), y1: top + row * k + 4, y2: top + row * (k + 1) + 4 }),
      text(x(to) + 5, top + row * k + 16, say(part.value), { class: "number" }));
  });
  const last = totals.map((total, k) => element("svg:g", {},
    text(left - 8, top + row * (shown.length + k) + 18, total.name, { "text-anchor": "end", class: "strong" }),
    text(x(ends[ends.length - 1]) + 5, top + row * (shown.length + k) + 18, say(total.value), { class: "number strong" })));
  return picture(width, top + row * (shown.length + totals.length) + 12, label, begin, drawn, last);
}
