// The distance of a report, evaluated from its tables in float64 as Python does it.

/** What makes a distance of the sum: a power of it, or straight pieces, the last of which has no end. */
function makeLink({ exponent, bends, slopes }) {
  if (!slopes.length) {
    if (exponent === 1) return (sum) => sum;
    return exponent === 0.5 ? (sum) => Math.sqrt(sum) : (sum) => Math.pow(sum, exponent);
  }
  return (sum) => {
    let [value, from] = [0, 0];
    for (let piece = 0; piece < bends.length && bends[piece] < sum; piece++) {
      value += slopes[piece] * (bends[piece] - from);
      from = bends[piece];
    }
    return value + slopes[bends.filter((bend) => bend < sum).length] * (sum - from);
  };
}

/** The numbers that Python has packed: little-endian float64 or int32 in base64. */
function unpack(packed) {
  const text = atob(packed.base64);
  const view = new DataView(new ArrayBuffer(text.length));
  for (let k = 0; k < text.length; k += 1) view.setUint8(k, text.charCodeAt(k));
  if (packed.type === "i4") return Int32Array.from({ length: text.length / 4 }, (_, k) => view.getInt32(4 * k, true));
  return Float64Array.from({ length: text.length / 8 }, (_, k) => view.getFloat64(8 * k, true));
}

/** A flat array cut into parts of the given lengths. */
function split(flat, counts) {
  let start = 0;
  return counts.map((count) => flat.subarray(start, (start += count)));
}

/** The remainder with the sign of the divisor, as NumPy has it. */
function modulo(value, period) {
  const rest = value % period;
  return rest !== 0 && rest < 0 !== period < 0 ? rest + period : rest;
}

function clip(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

/** The cell of a finite number among increasing knots: its lower vertex, its upper vertex and its fraction. */
function cellOf(knots, value) {
  if (knots.length < 2) return { lower: 0, upper: 0, fraction: 0 };
  let lower = 0;
  let end = knots.length - 1;
  while (end - lower > 1) {
    const middle = (lower + end) >> 1;
    if (knots[middle] < value) lower = middle;
    else end = middle;
  }
  const fraction = (value - knots[lower]) / (knots[lower + 1] - knots[lower]);
  return { lower, upper: lower + 1, fraction: clip(fraction, 0, 1) };
}

/** The side, 0 or 1, to which an encoded item goes at a node of a tree. */
function sideOf(trees, node, raw) {
  const value = raw[trees.feature[node]];
  if (Number.isNaN(value)) return trees.missingLeft[node] === 1 ? 0 : 1;
  return value <= trees.threshold[node] ? 0 : 1;
}

/** The leaf that an encoded item reaches in a tree. */
function leafOf(trees, tree, raw) {
  const root = trees.start[tree];
  let node = root;
  while (trees.feature[node] >= 0) node = root + trees.children[2 * node + sideOf(trees, node, raw)];
  return trees.leaf[node];
}

/** The feature at whose node two encoded items part in a tree; -1 if they share a leaf. */
function partingFeature(trees, tree, x, y) {
  const root = trees.start[tree];
  let node = root;
  while (trees.feature[node] >= 0) {
    const side = sideOf(trees, node, x);
    if (side !== sideOf(trees, node, y)) return trees.feature[node];
    node = root + trees.children[2 * node + side];
  }
  return -1;
}

/** The values of a table between its vertices a and b, as a function. */
function tableValues(part, numbers) {
  const size = part.points;
  const values = numbers.subarray(part.start, part.start + part.count);
  if (part.shape === "one") return (a, b) => (a === b ? 0 : values[0]);
  if (part.shape === "full") return (a, b) => values[a * size + b];
  return (a, b) => {
    if (a === b) return 0;
    const i = a < b ? a : b;
    return values[i * size - (i * (i + 1)) / 2 + (a < b ? b : a) - i - 1];
  };
}

/** The values of a table of which only some vertices have weights; the others have those of a weighted L1 distance. */
function sparseValues(part, numbers, grid) {
  const of = new Map();
  const [a, b] = [unpack(part.a), unpack(part.b)];
  a.forEach((left, k) => of.set(`${left},${b[k]}`, numbers[part.start + k]));
  const strides = part.sizes.map((_, k) => part.sizes.slice(k + 1).reduce((product, size) => product * size, 1));
  const places = (point) => strides.map((stride, k) => Math.floor(point / stride) % part.sizes[k]);
  const withoutSeam = (point) =>
    places(point).reduce((rest, at, k) => (part.seams[k] && at === part.seams[k] ? rest - at * strides[k] : rest), point);
  return (x, y) => {
    let [left, right] = [withoutSeam(x), withoutSeam(y)];
    if (part.zeroDiagonal && left === right) return 0;
    if (part.oneWeight && left !== right) [left, right] = [0, 1];
    if (part.byDifference) [left, right] = [Math.max(left - right, 0), Math.max(right - left, 0)];
    if (part.tied && left > right) [left, right] = [right, left];
    const known = of.get(`${left},${right}`);
    if (known !== undefined) return known;
    const [u, v] = [places(x), places(y)];
    return part.features.reduce((sum, f, k) => sum + part.slopes[k] * grid.gap(f, u[k], v[k]), 0);
  };
}

/** The value of a table at two points of its features: barycentric coordinates in the simplex of their cell. */
function interpolate(part, x, y) {
  if (part.shape === "scale") return Math.abs(onScale(part, x[0]) - onScale(part, y[0]));
  const n = part.features.length;
  const axes = [];
  let a = 0;
  let b = 0;
  for (let k = 0; k < n; k += 1) {
    axes.push({ ofX: true, fraction: x[k].fraction, step: (x[k].upper - x[k].lower) * part.strides[k] });
    axes.push({ ofX: false, fraction: y[k].fraction, step: (y[k].upper - y[k].lower) * part.strides[k] });
    a += x[k].upper * part.strides[k];
    b += y[k].upper * part.strides[k];
  }
  axes.sort((one, other) => one.fraction - other.fraction);
  const swapped = part.swap && precedes(x, y);
  const value = swapped ? (i, j) => part.value(j, i) : part.value;
  let sum = 0;
  let reached = 0;
  for (const axis of axes) {
    if (axis.fraction !== reached) sum += (axis.fraction - reached) * value(a, b);
    reached = axis.fraction;
    if (axis.ofX) a -= axis.step;
    else b -= axis.step;
  }
  return reached === 1 ? sum : sum + (1 - reached) * value(a, b);
}

function onScale(part, place) {
  const low = part.scale[place.lower];
  return low + place.fraction * (part.scale[place.upper] - low);
}

/** Whether a point comes before another in the order of the features of a group, which decides a swap. */
function precedes(x, y) {
  for (let k = 0; k < x.length; k += 1) {
    const sign = Math.sign(x[k].lower - y[k].lower) || Math.sign(x[k].fraction - y[k].fraction);
    if (sign) return sign < 0;
  }
  return false;
}

/** The grid of a distance: where values lie between its knots, and how far they lie outside. */
function makeGrid(model) {
  const knots = split(unpack(model.knots), model.counts);
  const { kinds, missing } = model;
  const range = (f) => [knots[f][0], knots[f][knots[f].length - 1]];

  function locate(f, value) {
    if (Number.isNaN(value)) {
      const last = knots[f].length;
      return missing[f] ? { lower: last - 1, upper: last, fraction: 1 } : { lower: 0, upper: 0, fraction: NaN };
    }
    if (kinds[f] !== "periodic") return cellOf(knots[f], value);
    const [low, high] = range(f);
    return cellOf(knots[f], low + 2 * modulo(value / 2 - low / 2, (high - low) / 2));
  }

  function excess(f, value) {
    const [low, high] = range(f);
    return kinds[f] === "numeric" && !Number.isNaN(value) ? value - clip(value, low, high) : 0;
  }

  function width(f) {
    const [low, high] = range(f);
    const factor = { numeric: 1, periodic: 0.5 }[kinds[f]] || 0;
    return factor * (high - low) || 1;
  }

  /** The gap between two vertices of a feature in the Gower distance. */
  function gap(f, a, b) {
    if (kinds[f] === "categorical") return a === b ? 0 : 1;
    const last = knots[f].length - 1;
    if (a > last || b > last) return a > last && b > last ? 0 : width(f) / 2;
    const out = Math.abs(knots[f][a] - knots[f][b]);
    if (kinds[f] !== "periodic") return out;
    return Math.min(out, Math.max(knots[f][last] - knots[f][0] - out, 0));
  }

  return { knots, kinds, missing, range, locate, excess, gap };
}

/** The linear directions and the leaves of trees, which follow the raw features of an item. */
function makeDirections(given, nRaw) {
  const trees = given.trees && {
    start: unpack(given.trees.start), feature: unpack(given.trees.feature), threshold: unpack(given.trees.threshold),
    children: unpack(given.trees.children), missingLeft: unpack(given.trees.missingLeft), leaf: unpack(given.trees.leaf),
  };
  const nTrees = trees ? trees.start.length - 1 : 0;
  const bends = given.bends && split(unpack(given.bends), given.bendCounts);
  const cellsOf = bends ? bends.map((knots) => knots.length - 1) : new Array(nRaw).fill(1);
  const matrix = split(unpack(given.matrix), new Array(given.linear).fill(cellsOf.reduce((sum, n) => sum + n, 0)));
  const firstOf = cellsOf.map((_, f) => cellsOf.slice(0, f).reduce((sum, n) => sum + n, 0));
  const columnsOf = (f) => ({ from: firstOf[f], to: firstOf[f] + cellsOf[f] });
  const usesLinear = matrix.map((row) => firstOf.map((from, f) => row.subarray(from, from + cellsOf[f]).some((m) => m !== 0)));
  const usesTree = Array.from({ length: nTrees }, (_, t) => {
    const asked = new Set(trees.feature.subarray(trees.start[t], trees.start[t + 1]));
    return firstOf.map((_, f) => asked.has(f));
  });
  const uses = [...usesLinear, ...usesTree];

  /** What the matrix maps: the raw values, or how far each has risen through its cells; 0 where one is missing. */
  function cells(raw) {
    const filled = Array.from(raw, (value) => (Number.isNaN(value) ? 0 : value));
    if (!bends) return filled;
    return filled.flatMap((value, f) => {
      const place = cellOf(bends[f], value);
      return Array.from({ length: cellsOf[f] }, (_, k) => clip(place.lower + place.fraction - k, 0, 1));
    });
  }

  function values(raw) {
    const mapped = cells(raw);
    const linear = matrix.map((row, k) => {
      if (uses[k].some((used, f) => used && Number.isNaN(raw[f]))) return NaN;
      let sum = 0;
      for (let c = 0; c < row.length; c += 1) sum += mapped[c] * row[c];
      return sum;
    });
    return [...linear, ...Array.from({ length: nTrees }, (_, t) => leafOf(trees, t, raw))];
  }

  /** By how much each raw feature moves a direction from x to y, as a function of the number of the direction. */
  function steps(x, y) {
    const [left, right] = [cells(x), cells(y)];
    return (k) => {
      if (k >= given.linear) {
        const parting = partingFeature(trees, k - given.linear, x, y);
        return firstOf.map((_, f) => (f === parting ? 1 : 0));
      }
      const lost = [x, y].map((side) => uses[k].some((used, f) => used && Number.isNaN(side[f])));
      return firstOf.map((from, f) => {
        if (lost[0] && lost[1]) return 0;
        if (lost[0] || lost[1]) return uses[k][f] && Number.isNaN(x[f]) !== Number.isNaN(y[f]) ? 1 : 0;
        let sum = 0;
        for (let c = from; c < from + cellsOf[f]; c += 1) sum += (right[c] - left[c]) * matrix[k][c];
        return sum;
      });
    };
  }

  return { values, steps, uses, trees, bends, matrix, columnsOf, linear: given.linear };
}

/** The distance of a model: `terms`, `features` and `distance` of two points that `place` makes of encoded items. */
function makeDistance(model) {
  const grid = makeGrid(model);
  const nRaw = model.raw;
  const directions = model.directions && makeDirections(model.directions, nRaw);
  const epsilon = unpack(model.epsilon);
  const numbers = unpack(model.numbers);
  const link = makeLink(model.link);
  const parts = model.parts.map((given) => {
    const part = { ...given, strides: given.sizes.map((_, k) => given.sizes.slice(k + 1).reduce((p, size) => p * size, 1)) };
    if (part.shape === "scale") part.scale = numbers.subarray(part.start, part.start + part.count);
    else part.value = part.shape === "sparse" ? sparseValues(part, numbers, grid) : tableValues(part, numbers);
    return part;
  });

  /** An encoded item on the grid. */
  function place(raw) {
    const values = directions ? [...raw, ...directions.values(raw)] : Array.from(raw);
    const excess = values.map((value, f) => grid.excess(f, value));
    return {
      raw: Array.from(raw), values, places: values.map((value, f) => grid.locate(f, value)), excess,
      rise: excess.map((length, f) => length * epsilon[2 * f + (length > 0 ? 1 : 0)]),
    };
  }

  const term = (part, x, y) => interpolate(part, part.features.map((f) => x.places[f]), part.features.map((f) => y.places[f]));

  /** What every table, and at the end what lies outside the range, adds to the sum before the link. */
  function terms(x, y) {
    const outside = x.rise.reduce((sum, risen, f) => sum + Math.abs(risen - y.rise[f]), 0);
    return [...parts.map((part) => term(part, x, y)), outside];
  }

  /** What every member of a joint table adds: the mean over the orders round a circle of the members, both ways. */
  function members(part, x, y) {
    const chosen = part.features.map((_, k) => k).sort((one, other) => part.features[one] - part.features[other]);
    const n = chosen.length;
    const [left, right] = [x, y].map((side) => part.features.map((f) => side.places[f]));
    const value = (start, length) => {
      const mixed = left.slice();
      chosen.forEach((k, m) => {
        if ((((m - start) % n) + n) % n < length) mixed[k] = right[k];
      });
      return interpolate(part, left, mixed);
    };
    const [none, whole] = [value(0, 0), value(0, n)];
    const of = chosen.map((_, s) => [none, ...Array.from({ length: n - 1 }, (_, k) => value(s, k + 1)), whole]);
    return chosen.map((k, m) => {
      let added = 0;
      for (let step = 0; step < n; step += 1) {
        const back = of[(((m - step) % n) + n) % n];
        added += back[step + 1] - back[step] + of[m][step + 1] - of[(m + 1) % n][step];
      }
      return { feature: part.features[k], added: added / (2 * n) + none / n };
    });
  }

  /** What every raw feature adds: what joint tables and directions add is divided among the features that make them. */
  function features(x, y) {
    const added = x.rise.map((risen, f) => Math.abs(risen - y.rise[f]));
    for (const part of parts) {
      if (part.features.length === 1) added[part.features[0]] += term(part, x, y);
      else for (const member of members(part, x, y)) added[member.feature] += member.added;
    }
    if (!directions) return added;
    const stepsOf = directions.steps(x.raw, y.raw);
    directions.uses.forEach((uses, k) => {
      if (added[nRaw + k] === 0) return;
      const steps = stepsOf(k);
      const way = Math.sign(steps.reduce((sum, step) => sum + step, 0));
      const kinds = [
        steps.map((step) => Math.max(way * step, 0)), steps.map(Math.abs), uses.map(Number),
      ];
      const total = (shares) => shares.reduce((sum, share) => sum + share, 0);
      const shares = kinds.find((each) => total(each) !== 0);
      if (shares) shares.forEach((share, f) => (added[f] += (added[nRaw + k] * share) / total(shares)));
    });
    return added.slice(0, nRaw);
  }

  const sumOf = (x, y) => terms(x, y).reduce((sum, part) => sum + part, 0);
  const distance = (x, y) => link(sumOf(x, y));

  /** The value of the table of a group between values of its features. */
  function between(g, left, right) {
    const [x, y] = [left, right].map((side) => parts[g].features.map((f, k) => grid.locate(f, side[k])));
    return interpolate(parts[g], x, y);
  }

  return { grid, parts, directions, epsilon, place, terms, features, sumOf, distance, link, between };
}

if (typeof module !== "undefined") module.exports = { makeDistance, unpack };
