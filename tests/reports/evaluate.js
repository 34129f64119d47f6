// Distances of the page's own scripts, for tests: the distance and pairs of encoded items come in by standard input, as JSON.
const [, , script] = process.argv;
const { makeDistance, unpack } = require(script);
const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
const d = makeDistance(given.model);
const rows = (side) => {
  const flat = unpack(side);
  return Array.from({ length: flat.length / given.raw }, (_, k) => d.place(flat.subarray(k * given.raw, (k + 1) * given.raw)));
};
const [x, y] = [rows(given.x), rows(given.y)];
const of = (name) => x.map((point, k) => d[name](point, y[k]));
console.log(JSON.stringify({ distance: of("distance"), terms: of("terms"), features: of("features") }));
