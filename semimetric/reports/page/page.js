// The page: what Python has written into it, its tabs, and its check of itself.

const AGREE = 1e-9; // to which the page must compute what Python has computed
const MOST_SAID = 8; // values of a point that a sentence tells

/** What the data of the page say, unpacked; anything is computed only if it agrees with what Python computed of the probes. */
function readPage(given) {
  const nRaw = given.nRaw;
  if (given.kind === "static") return { ...given, pairs: readPairs(given), computes: false };
  const page = { ...given, computes: given.whyNot === "", middles: unpack(given.middles) };
  page.featureOrder = Array.from({ length: nRaw }, (_, f) => f);
  if (given.order) page.featureOrder = given.order;
  else if (page.shares.features) page.featureOrder.sort((a, b) => page.shares.features[b] - page.shares.features[a]);
  if (given.items) {
    page.items = {
      ...given.items, rows: rowsOf(given.items.values, nRaw),
      numbers: new Map(given.items.names.map((name, k) => [name, k])), numbersOf: given.items.names.map((_, k) => k),
    };
  }
  page.startItem = (number) => (page.items && number !== null ? Array.from(page.items.rows[Math.min(number, page.items.n - 1)]) : Array.from(page.middles.subarray(0, nRaw)));
  const wrong = { distance: readDistance, machine: readMachine, pieces: readPieces }[given.kind](page, given);
  if (page.computes && given.probes && wrong(given.probes)) {
    page.computes = false;
    page.whyNot = "This page does not compute what Python has computed, so it shows nothing of its own; please report it.";
    const warning = document.getElementById("warning");
    warning.textContent = page.whyNot;
    warning.hidden = false;
  }
  return page;
}

function rowsOf(packed, n) {
  const values = unpack(packed);
  return split(values, new Array(values.length / n).fill(n));
}

function differs(found, expected) {
  return !(Math.abs(found - expected) <= AGREE * Math.max(1, Math.abs(expected)));
}

function readPairs({ pairs }) {
  return pairs && { measured: unpack(pairs.measured), learned: unpack(pairs.learned) };
}

/** A distance, with which the page computes, and what Python has found; the result says whether a probe differs. */
function readDistance(page, given) {
  const distance = given.distance && makeDistance(given.distance);
  page.distance = distance;
  page.computes = page.computes && Boolean(distance);
  page.slopes = unpack(given.slopes);
  page.map = given.map && { ...given.map, x: unpack(given.map.x), y: unpack(given.map.y) };
  page.pairs = readPairs(given);
  const cache = new Map();
  page.point = (number) => {
    if (!cache.has(number)) cache.set(number, distance.place(page.items.rows[number]));
    return cache.get(number);
  };
  page.between = (one, other) => distance.distance(page.point(one), page.point(other));
  page.nKnown = 0;
  page.known = () => [];
  if (given.neighbors) {
    const [near, far] = [unpack(given.neighbors.items), unpack(given.neighbors.distances)];
    page.nKnown = given.neighbors.k;
    page.known = (number) => Array.from({ length: page.nKnown }, (_, k) => ({
      other: near[number * page.nKnown + k], distance: far[number * page.nKnown + k],
    }));
  }
  return (probes) => {
    const [left, right] = [probes.left, probes.right].map((side) => rowsOf(side, page.nRaw));
    return unpack(probes.distances).some((value, k) => differs(distance.distance(distance.place(left[k]), distance.place(right[k])), value));
  };
}

/** What machines and pieces have in common: the range of each column, and scores that probes check. */
function readScores(page, given, scores, probabilities, code) {
  const knots = split(unpack(given.knots), given.knotCounts);
  page.grid = { knots, missing: page.columns.map((column) => column.missing), range: (f) => [knots[f][0], knots[f][knots[f].length - 1]] };
  page.judge = (raw) => {
    const found = scores(raw);
    return { scores: found, probabilities: probabilities && probabilities(found, raw), code: page.classes ? code(found) : null };
  };
  return (probes) => {
    const [expected, shares] = [unpack(probes.scores), probes.probabilities && unpack(probes.probabilities)];
    return rowsOf(probes.items, page.nRaw).some((raw, row) => {
      const found = page.judge(raw);
      const off = (side, told) => side.some((value, k) => differs(value, told[row * side.length + k]));
      return off(found.scores, expected) || (shares && off(found.probabilities, shares));
    });
  };
}

function largest(scores) {
  return scores.length === 1 ? Number(scores[0] > 0) : scores.indexOf(Math.max(...scores));
}

function readMachine(page, given) {
  const machine = makeMachine(given.machine, given.terms.map((term) => term.features));
  const [names, what] = [given.terms.map((term) => term.name), given.classes ? "score" : "value"];
  page.machine = machine;
  page.hasPairs = given.terms.length > page.nRaw;
  page.scoreName = "score";
  page.explainSaid = `What makes the ${what} of`;
  page.outsideSaid = "";
  page.explain = (raw, k, by) => {
    const parts = machine.terms(raw).map((part) => part[k]);
    const adds = new Array(page.nRaw).fill(0);
    given.terms.forEach(({ features }, t) => features.forEach((f) => { adds[f] += parts[t] / features.length; }));
    const [told, shown] = by === "terms" || !page.hasPairs ? [names, parts] : [page.columns.map((c) => c.name), adds];
    const value = machine.scores(raw)[k];
    return {
      base: { name: given.items ? "mean of the items" : "constant", value: machine.intercept[k] }, names: told, parts: shown, totals: [{ name: what, value }], adds, notes: [],
      label: `What makes the ${what}${given.classes ? ` of ${given.outputs[k]}` : ""}, ${say(value)}`,
    };
  };
  const wrong = readScores(page, given, machine.scores, makeProbabilities(given.probability, given.outputs.length === 1), largest);
  page.isOutside = (f, value) => value < page.grid.range(f)[0] || value > page.grid.range(f)[1];
  return wrong;
}

function readPieces(page, given) {
  page.pieceKind = given.pieces.kind;
  page.hasPairs = false;
  page.isOutside = () => false;
  if (page.pieceKind === "planes") return readPlanes(page, given);
  const points = makePoints(given.pieces, page.nRaw, given.classes.length);
  page.pieces = points;
  const sayPoint = (point) => page.featureOrder.slice(0, MOST_SAID).map((f) => `${page.columns[f].name} ${say(point[f])}`).join(", ") + (page.nRaw > MOST_SAID ? ", …" : "");
  page.scoreName = "distance to its nearest support point";
  page.explainSaid = "What makes the distance to the nearest support point of";
  page.explain = (raw, c) => {
    const found = points.decide(c, raw);
    const parts = points.parts(raw, found.point);
    const sum = { name: "sum", value: parts.reduce((total, part) => total + part, 0) };
    return {
      names: page.columns.map((column) => column.name), parts, adds: parts,
      notes: [`The nearest support point of ${given.outputs[c]} is row ${given.pieces.rows[found.point]} of the fit: ${sayPoint(points.points[found.point])}.`],
      totals: points.isLinked ? [sum, { name: `distance (${points.last})`, value: found.distance }] : [{ name: "distance", value: found.distance }],
      label: `What columns add to the distance to the nearest support point of ${given.outputs[c]}`,
    };
  };
  return readScores(page, given, points.scores, null, (found) => found.indexOf(Math.min(...found)));
}

function readPlanes(page, given) {
  const planes = makePlanes(given.pieces, page.nRaw);
  page.pieces = planes;
  if (planes.votes) return readVotes(page, given, planes);
  page.scoreName = "distance to the plane, > 0 on its side";
  page.explainSaid = "What makes the distance to the plane of";
  page.explain = (raw, k) => {
    const found = planes.decide(k, raw);
    const { name } = given.terms.find((term) => term.set === k && term.plane === found.plane);
    return {
      names: page.columns.map((column) => column.name), parts: found.parts, adds: found.parts,
      totals: [{ name: "distance to the plane", value: found.height }],
      notes: [`It is decided by ${name}: the nearest boundary point is one of that piece, ${say(found.distance)} away.`],
      label: `What columns add to the distance to the plane of ${name}, ${say(found.height)}`,
    };
  };
  const probabilities = given.probability && ((scores, raw) => {
    const share = normalShare(scores[0] * planes.decide(0, raw).steepness);
    return [1 - share, share];
  });
  return readScores(page, given, planes.scores, probabilities, largest);
}

function readVotes(page, given, planes) {
  page.scoreName = "votes of pairs of classes, and less than a third of a vote for its distances";
  page.explainSaid = "What makes the distances from the other classes of";
  page.explain = (raw, c) => {
    const found = planes.votes(raw)[c];
    return {
      names: page.columns.map((column) => column.name), parts: found.parts, adds: found.parts,
      totals: [{ name: "sum of its distances from the other classes", value: found.sum }, { name: "votes, with the share of the sum", value: planes.score(found) }],
      notes: [`${given.outputs[c]} has ${found.votes} of ${given.outputs.length - 1} votes: a pair of classes votes for the one on whose side of its plane the item lies.`],
      label: `What columns add to the distances from the other classes of ${given.outputs[c]}, ${say(found.sum)}`,
    };
  };
  return readScores(page, given, planes.scores, null, largest);
}

/** Tabs as WAI-ARIA describes them: arrows, Home and End move between them, and each panel is drawn when it is first seen. */
function makeTabs(draw) {
  const tabs = Array.from(document.querySelectorAll("[role=tab]"));
  const drawn = new Map();

  function panelOf(tab) {
    return document.getElementById(tab.getAttribute("aria-controls"));
  }

  function ensure(tab) {
    if (!drawn.has(tab.id)) drawn.set(tab.id, draw[tab.id] ? draw[tab.id](panelOf(tab)) : { redraw: () => {} });
    return drawn.get(tab.id);
  }

  function show(tab, focus = true) {
    for (const each of tabs) {
      const isShown = each === tab;
      each.setAttribute("aria-selected", String(isShown));
      each.tabIndex = isShown ? 0 : -1;
      panelOf(each).hidden = !isShown;
    }
    ensure(tab);
    if (focus) tab.focus();
  }

  tabs.forEach((tab, k) => {
    tab.addEventListener("click", () => show(tab));
    tab.addEventListener("keydown", (event) => {
      const to = { ArrowRight: (k + 1) % tabs.length, ArrowLeft: (k + tabs.length - 1) % tabs.length, Home: 0, End: tabs.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      show(tabs[to]);
    });
  });
  const byId = (id) => tabs.find((tab) => tab.id === id);
  return { begin: () => show(tabs[0], false), has: (id) => Boolean(byId(id)), show: (id, focus) => show(byId(id), focus), of: (id) => ensure(byId(id)), redraw: () => drawn.forEach((tab) => tab.redraw()), all: () => tabs.map(ensure) };
}

function begin() {
  const page = readPage(JSON.parse(document.getElementById("report-data").textContent));
  page.told = () => {}; // gets the items that are edited, in a widget
  document.querySelectorAll("data.number").forEach((place) => { place.textContent = say(Number(place.value)); });
  document.querySelectorAll("data.share").forEach((place) => { place.textContent = sayShare(Number(place.value)); });
  if (page.items) {
    document.body.append(element("datalist", { id: "item-names" }, page.items.names.map((name) => element("option", { value: name }))));
  }
  const tabs = makeTabs({
    "tab-overview": () => drawOverviewTab(page),
    "tab-columns": (panel) => (page.kind === "distance" ? drawTermsTab(page, panel, "columns", "Columns of the distance") : drawShapesTab(page, panel)),
    "tab-components": (panel) => drawTermsTab(page, panel, "components", "Components and trees"),
    "tab-items": (panel) => (page.kind === "distance" ? drawItemsTab(page, panel) : drawScoreTab(page, panel)),
    "tab-neighbors": (panel) => drawNeighborsTab(page, panel, tabs.has("tab-items") && ((one, other) => {
      tabs.of("tab-items").compare(one, other);
      tabs.show("tab-items");
    })),
    "tab-pieces": (panel) => drawPiecesTab(page, panel),
    "tab-evidence": () => ({ redraw: drawMeasuredPairs(page, document.getElementById("measured-pairs")) || (() => {}) }),
  });
  tabs.begin();
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tabs.redraw);
  window.addEventListener("beforeprint", () => {
    isPrinted = true;
    tabs.all();
    tabs.redraw();
    tabs.all().filter((tab) => tab.detail).forEach((tab) => tab.detail.replaceChildren(...tab.everything()));
  });
  window.addEventListener("afterprint", () => {
    isPrinted = false;
    tabs.redraw();
  });
  document.documentElement.dataset.ready = "true";
  return { page, tabs };
}

const opened = begin();
