// The scores of a machine, evaluated from its functions of one column and of two as semimetric/reports/additive_model.py does it.

/** The value of a Chebyshev series at t, by Clenshaw's recurrence. */
function chebyshev(series, start, degree, t) {
  let [one, two] = [0, 0];
  for (let j = degree; j > 0; j -= 1) [one, two] = [2 * t * one - two + series[start + j], one];
  return t * one - two + series[start];
}

/** The functions of one column, as an array of the values of all outputs. */
function makeCurve(given, outputs) {
  const [breaks, series, missing, slopes] = [given.breaks, given.series, given.missing, given.slopes].map(unpack);
  const cells = Math.max(breaks.length - 1, 1);
  const size = given.degree + 1;
  const [low, high] = [breaks[0], breaks[breaks.length - 1]];
  return {
    breaks, isStraight: given.degree <= 1,
    at: (value) => {
      if (Number.isNaN(value)) return Array.from(missing);
      const { lower } = cellOf(breaks, value);
      const whole = breaks.length < 2 ? 0 : 2 * (value - breaks[lower]) / (breaks[lower + 1] - breaks[lower]) - 1;
      const t = given.outside === "series" ? whole : clip(whole, -1, 1);
      return Array.from({ length: outputs }, (_, k) => {
        const inside = chebyshev(series, (k * cells + lower) * size, given.degree, t);
        if (given.outside !== "line") return inside;
        return inside + Math.min(value - low, 0) * slopes[2 * k] + Math.max(value - high, 0) * slopes[2 * k + 1];
      });
    },
  };
}

/** The function of two columns, linear on the triangles of its cells; the last vertex of a column is that of missing values. */
function makeSurface(given, outputs, curves) {
  const values = unpack(given.values);
  const sizes = given.features.map((f) => curves[f].breaks.length + 1);
  const place = (f, value) => (Number.isNaN(value)
    ? { lower: curves[f].breaks.length, upper: curves[f].breaks.length, fraction: 0 } : cellOf(curves[f].breaks, value));
  return (first, second) => {
    const [x, y] = [place(given.features[0], first), place(given.features[1], second)];
    const at = (k, a, b) => values[(k * sizes[0] + a) * sizes[1] + b];
    const [small, large] = [Math.min(x.fraction, y.fraction), Math.max(x.fraction, y.fraction)];
    return Array.from({ length: outputs }, (_, k) => small * at(k, x.upper, y.upper) + (1 - large) * at(k, x.lower, y.lower) +
      (large - small) * (x.fraction <= y.fraction ? at(k, x.lower, y.upper) : at(k, x.upper, y.lower)));
  };
}

/** A machine: `terms` of an encoded item, an array of what each output gets for every term, and its `scores`. */
function makeMachine(given, features) {
  const intercept = unpack(given.intercept);
  const curves = given.curves.map((curve) => makeCurve(curve, given.outputs));
  const surfaces = given.tables.map((table) => makeSurface(table, given.outputs, curves));
  const value = (term, values) => (values.length === 1 ? curves[term].at(values[0]) : surfaces[term - curves.length](...values));
  const terms = (raw) => features.map((members, term) => value(term, members.map((f) => raw[f])));
  const scores = (raw) => {
    const parts = terms(raw);
    return Array.from(intercept, (base, k) => parts.reduce((sum, part) => sum + part[k], base));
  };
  return { intercept, curves, value, terms, scores };
}

/** The distribution function of the normal distribution (the series of Marsaglia 2004). */
function normalShare(z) {
  if (Math.abs(z) > 8) return z > 0 ? 1 : 0;
  let [sum, term] = [z, z];
  for (let k = 3; sum + term !== sum || k === 3; k += 2) sum += (term *= (z * z) / k);
  return 0.5 + sum * Math.exp(-0.5 * z * z - 0.91893853320467274178);
}

/** Linear between the places of a function that rises in steps, and constant outside of them. */
function between(places, values, at) {
  const { lower, upper, fraction } = cellOf(places, at);
  return values[lower] + fraction * (values[upper] - values[lower]);
}

/** What makes probabilities of all classes of the scores; null where a model has none. */
function makeProbabilities(given, isOne) {
  if (!given) return null;
  const share = (of) => (isOne ? [1 - of[0], of[0]] : of.map((each) => {
    const total = of.reduce((sum, part) => sum + part, 0);
    return total > 0 ? each / total : 1 / of.length;
  }));
  if (given.kind === "logistic") return (scores) => share([1 / (1 + Math.exp(-scores[0]))]);
  if (given.kind === "softmax") return (scores) => share(scores.map((score) => Math.exp(score - Math.max(...scores))));
  const curves = given.curves.map(({ numbers, isSteps }) => {
    const found = unpack(numbers);
    const half = found.length / 2;
    return isSteps ? (f) => between(found.subarray(0, half), found.subarray(half), f) : (f) => 1 / (1 + Math.exp(found[0] * f + found[1]));
  });
  return (scores) => share(curves.map((curve, k) => curve(scores[k])));
}

if (typeof module !== "undefined") module.exports = { makeMachine, makeProbabilities, normalShare };
