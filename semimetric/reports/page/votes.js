// Votes of neighbours, as semimetric/neighbors/voting.py counts them.

const TIED = 1 + 1e-12; // distances that differ by less are tied, since rounding may part them

/** The weight of the vote of each of the items, which are in the order of their distances; those after the last voter have 0. */
function voteWeights(rule, distances) {
  const nth = (n) => distances[Math.min(n, distances.length) - 1];
  const [nearest, last] = [nth(1), nth(rule.neighbors)];
  const width = rule.bandwidth * (rule.bandwidthNeighbor === null ? 1 : nth(rule.bandwidthNeighbor));
  return distances.map((d) => {
    if (d > last * TIED) return 0;
    if (rule.weights === "uniform" || d <= nearest * TIED) return 1;
    if (rule.weights === "distance") return nearest / d;
    const falling = Math.exp(-(d - nearest) / width);
    return Number.isNaN(falling) ? 0 : falling;
  });
}

/** The share that each voter has of all votes, and the shares of the classes in falling order, or the mean or median value. */
function voteOf(rule, every, targets, classes) {
  const weights = voteWeights(rule, every.map((each) => each.distance));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const voters = every.map((each, k) => ({ ...each, weight: weights[k] })).filter(({ weight }) => weight > 0);
  const share = new Map(voters.map(({ other, weight }) => [other, weight / (total + rule.smoothing)]));
  if (!classes) return { share, classes: null, value: averageOf(rule, voters.map(({ other, weight }) => [targets[other], weight])) };
  const own = new Map(classes.map((name) => [name, 0]));
  const known = targets.filter((name) => name !== null);
  known.forEach((name) => own.set(name, own.get(name) + 1 / known.length));
  const counted = new Map(classes.map((name) => [name, rule.smoothing * own.get(name)]));
  voters.forEach(({ other, weight }) => counted.set(targets[other], counted.get(targets[other]) + weight));
  const shares = classes.map((name) => [name, counted.get(name) / (total + rule.smoothing)]);
  return { share, classes: shares.sort((a, b) => b[1] - a[1]), value: null };
}

/** The weighted mean of values, or the weighted median: the mean of the least and the largest that part the weights evenly. */
function averageOf(rule, given) {
  const total = given.reduce((sum, [, weight]) => sum + weight, 0);
  if (rule.average === "mean") return given.reduce((sum, [value, weight]) => sum + value * weight, 0) / total;
  const sorted = given.slice().sort((a, b) => a[0] - b[0]);
  let below = 0;
  const sums = sorted.map(([, weight]) => (below += weight));
  const first = sums.findIndex((sum) => sum >= total / 2 * (1 - 1e-12));
  const second = sums.findIndex((sum) => sum > total / 2 * (1 + 1e-12));
  return (sorted[first][0] + sorted[second < 0 ? sorted.length - 1 : second][0]) / 2;
}

if (typeof module !== "undefined") module.exports = { voteOf };
