// Which piece of a boundary decides an item, and how far the item is from it.

/** The number of the nearest of some points, and its distance; of equally near ones the first. */
function nearestOf(distances, numbers) {
  let best = -1;
  for (const k of numbers) if (best < 0 || distances(k) < distances(best)) best = k;
  return { point: best, distance: distances(best) };
}

function euclidean(x, y) {
  let sum = 0;
  for (let f = 0; f < x.length; f += 1) sum += (x[f] - y[f]) ** 2;
  return Math.sqrt(sum);
}

const FARTHEST = 1e140; // units to a plane that count

/** Planes near boundary points: the plane of the nearest point decides (paper 3, equation 24). */
function makePlanes(given, n) {
  const rows = (flat) => split(flat, new Array(flat.length / n).fill(n));
  const sets = given.sets.map((set) => ({
    points: rows(unpack(set.points)), components: unpack(set.components), centres: rows(unpack(set.centres)),
    normals: rows(unpack(set.normals)), steepness: unpack(set.steepness),
  }));
  sets.forEach((set) => { set.numbers = set.points.map((_, k) => k); });

  /** The plane that decides an item, the boundary point that chose it, and what every column adds to the height above it. */
  function decide(k, raw) {
    const set = sets[k];
    const found = nearestOf((p) => euclidean(raw, set.points[p]), set.numbers);
    const plane = set.components[found.point];
    const parts = Array.from(set.normals[plane], (length, f) => length * (raw[f] - set.centres[plane][f]));
    return { ...found, plane, parts, height: parts.reduce((sum, part) => sum + part, 0), steepness: set.steepness[plane] };
  }

  const all = (raw) => sets.map((_, k) => decide(k, raw));
  if (!given.pairs) return { sets, decide, scores: (raw) => all(raw).map((found) => found.height) };

  const { classes, units } = given.pairs;
  const nClasses = 1 + Math.max(...classes.map((pair) => pair[1]));

  /** The votes of pairs for every class, what its distances from the others sum to, and what every column adds to that sum. */
  function votes(raw) {
    const counted = Array.from({ length: nClasses }, () => ({ votes: 0, sum: 0, parts: new Array(n).fill(0) }));
    all(raw).forEach((found, k) => classes[k].forEach((c, isPositive) => {
      const side = (isPositive ? 1 : -1) / units[k];
      counted[c].votes += (found.height > 0) === (isPositive === 1) ? 1 : 0;
      counted[c].sum += Math.min(Math.max(side * found.height, -FARTHEST), FARTHEST);
      found.parts.forEach((part, f) => { counted[c].parts[f] += side * part; });
    }));
    return counted;
  }

  const score = ({ votes: count, sum }) => count + sum / (3 * (Math.abs(sum) + 1));
  return { sets, decide, votes, score, scores: (raw) => votes(raw).map(score) };
}

/** Support points: the class of the nearest decides, under the Euclidean distance or a learned one. */
function makePoints(given, n, nClasses) {
  const flat = unpack(given.points);
  const points = split(flat, new Array(flat.length / n).fill(n));
  const codes = unpack(given.codes);
  const learned = given.distance && makeDistance(given.distance);
  const placed = learned && points.map(learned.place);
  const ofClass = Array.from({ length: nClasses }, (_, c) => points.map((_, k) => k).filter((k) => codes[k] === c));
  const from = (raw) => {
    if (!learned) return (k) => euclidean(raw, points[k]);
    const x = learned.place(raw);
    const known = new Map();
    return (k) => {
      if (!known.has(k)) known.set(k, learned.distance(x, placed[k]));
      return known.get(k);
    };
  };
  const decide = (c, raw) => nearestOf(from(raw), ofClass[c]);

  /** What every column adds to the distance of an item to a point, before the last step that makes a distance of the sum. */
  function parts(raw, k) {
    if (learned) return learned.features(learned.place(raw), placed[k]);
    return Array.from(raw, (value, f) => (value - points[k][f]) ** 2);
  }

  return {
    points, codes, parts, decide, last: learned ? given.link : "square root", isLinked: !learned || given.link !== "identity",
    scores: (raw) => {
      const distances = from(raw);
      return ofClass.map((numbers) => nearestOf(distances, numbers).distance);
    },
  };
}

if (typeof module !== "undefined") module.exports = { makePlanes, makePoints };
