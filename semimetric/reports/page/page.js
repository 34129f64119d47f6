// The page: what Python has written into it, its tabs, and its check of itself.

const AGREE = 1e-9; // to which the page must compute the distances that Python has computed

/** What the data of the page say, unpacked; the distance is computed only if it agrees with Python's on the probes. */
function readPage(given) {
  const distance = given.distance && makeDistance(given.distance);
  const nRaw = given.nRaw;
  const page = {
    ...given, distance, nRaw, computes: Boolean(distance) && given.whyNot === "", cache: new Map(),
    slopes: unpack(given.slopes), middles: unpack(given.middles),
  };
  page.map = given.map && { ...given.map, x: unpack(given.map.x), y: unpack(given.map.y) };
  page.pairs = given.pairs && { measured: unpack(given.pairs.measured), learned: unpack(given.pairs.learned) };
  page.featureOrder = Array.from({ length: nRaw }, (_, f) => f);
  if (page.shares.features) page.featureOrder.sort((a, b) => page.shares.features[b] - page.shares.features[a]);
  if (given.items) {
    const values = unpack(given.items.values);
    page.items = {
      ...given.items, rows: split(values, new Array(given.items.n).fill(nRaw)),
      numbers: new Map(given.items.names.map((name, k) => [name, k])), numbersOf: given.items.names.map((_, k) => k),
    };
  }
  page.startItem = (number) => (page.items && number !== null ? Array.from(page.items.rows[Math.min(number, page.items.n - 1)]) : Array.from(page.middles.subarray(0, nRaw)));
  page.point = (number) => {
    if (!page.cache.has(number)) page.cache.set(number, distance.place(page.items.rows[number]));
    return page.cache.get(number);
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
  checkProbes(page, given.probes);
  return page;
}

/** Distances are shown only if those of the probes are Python's. */
function checkProbes(page, probes) {
  if (!page.computes || !probes) return;
  const expected = unpack(probes.distances);
  const [left, right] = [probes.left, probes.right].map((side) => split(unpack(side), new Array(expected.length).fill(page.nRaw)));
  const wrong = expected.findIndex((value, k) => {
    const found = page.distance.distance(page.distance.place(left[k]), page.distance.place(right[k]));
    return !(Math.abs(found - value) <= AGREE * Math.max(1, Math.abs(value)));
  });
  if (wrong < 0) return;
  page.computes = false;
  page.whyNot = "This page does not compute the distances that Python has computed, so it shows none of its own; please report it.";
  const warning = document.getElementById("warning");
  warning.textContent = page.whyNot;
  warning.hidden = false;
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
  show(tabs[0], false);
  const byId = (id) => tabs.find((tab) => tab.id === id);
  return { show: (id) => show(byId(id)), of: (id) => ensure(byId(id)), redraw: () => drawn.forEach((tab) => tab.redraw()), all: () => tabs.map(ensure) };
}

function begin() {
  const page = readPage(JSON.parse(document.getElementById("report-data").textContent));
  document.querySelectorAll("data.number").forEach((place) => { place.textContent = say(Number(place.value)); });
  if (page.items) {
    document.body.append(element("datalist", { id: "item-names" }, page.items.names.map((name) => element("option", { value: name }))));
  }
  const tabs = makeTabs({
    "tab-distance": (panel) => drawDistanceTab(page, panel),
    "tab-items": (panel) => drawItemsTab(page, panel),
    "tab-neighbors": (panel) => drawNeighborsTab(page, panel, (one, other) => {
      tabs.of("tab-items").compare(one, other);
      tabs.show("tab-items");
    }),
    "tab-evidence": () => ({ redraw: drawMeasuredPairs(page, document.getElementById("measured-pairs")) || (() => {}) }),
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tabs.redraw);
  window.addEventListener("beforeprint", () => {
    isPrinted = true;
    tabs.all();
    tabs.redraw();
    const first = tabs.of("tab-distance");
    if (first.detail) first.detail.replaceChildren(...first.everything());
  });
  window.addEventListener("afterprint", () => {
    isPrinted = false;
    tabs.redraw();
  });
  document.documentElement.dataset.ready = "true";
}

begin();
