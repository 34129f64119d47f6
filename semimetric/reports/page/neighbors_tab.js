// The tab of neighbours: the nearest items of one, and what separates them.

const PARTS_TOLD = 3; // largest parts of a distance that a row names

function drawNeighborsTab(page, panel, compare) {
  const { distance, items } = page;
  if (!items) {
    panel.replaceChildren(element("h2", {}, "Neighbours"), element("p", {}, "The report was made without items; give X to find neighbours."));
    return { redraw: () => {} };
  }
  let [chosen, k, only] = [0, 10, ""];
  const found = element("div", { "aria-live": "polite" });
  const classes = items.targets && items.targetName === "class" ? [...new Set(items.targets)].filter((name) => name !== null).sort() : [];
  const isOther = items.nGiven < items.n; // neighbours are those that were learned from, and other items were given
  const pool = isOther ? items.numbersOf.slice(items.nGiven) : items.numbersOf;
  const poolTargets = items.targets && items.targets.map((target, k) => (isOther && k < items.nGiven ? null : target));

  /** All items by their distances, by the tables where the page computes them, else the nearest as Python found them. */
  function ordered() {
    const near = page.computes ? pool.filter((other) => other !== chosen).map((other) => ({ other, distance: page.between(chosen, other) }))
      : page.known(chosen); // none, where neither can
    return near.sort((a, b) => a.distance - b.distance || a.other - b.other);
  }

  function told(other) {
    if (!distance) return "";
    const parts = distance.features(page.point(chosen), page.point(other));
    const total = parts.reduce((sum, part) => sum + part, 0);
    const order = parts.map((_, f) => f).filter((f) => parts[f] > 0).sort((a, b) => parts[b] - parts[a]).slice(0, PARTS_TOLD);
    if (!order.length) return page.computes ? "equal in every column" : "";
    return order.map((f) => `${shorten(page.columns[f].name, 20)} ${sayShare(parts[f] / total)}`).join(", ");
  }

  function draw() {
    const every = ordered();
    const near = (only === "" ? every : every.filter(({ other }) => items.targets[other] === only)).slice(0, k);
    if (!page.computes && !page.nKnown) {
      found.replaceChildren(element("p", {}, page.whyNot));
      return;
    }
    const most = Math.max(...near.map((each) => each.distance), 1e-300);
    const rule = page.computes && every.length ? page.votes : null;
    const vote = rule && voteOf(rule, every, poolTargets, items.targetName === "class" ? classes : null);
    const head = ["rank", "item", ...(items.targets ? [items.targetName] : []), "distance", ...(rule ? ["share of the votes"] : []), page.computes || !distance ? "what separates them" : "what separates them in the tables", ""];
    const body = near.map((each, place) => element("tr", { "data-item": each.other },
      element("td", { class: "number" }, say(place + 1)),
      element("th", { scope: "row" }, items.names[each.other]),
      items.targets ? element("td", {}, mark(items.targets[each.other])) : null,
      element("td", { class: "number" }, say(each.distance), element("meter", { min: 0, max: most, value: each.distance, "aria-hidden": "true" })),
      rule ? element("td", { class: "number", "data-vote": vote.share.get(each.other) || 0 }, vote.share.has(each.other) ? sayShare(vote.share.get(each.other)) : "–") : null,
      element("td", {}, told(each.other)),
      element("td", {}, compare ? element("button", { type: "button", on: { click: () => compare(chosen, each.other) } }, "compare") : "")));
    const own = items.targets && items.targets[chosen] !== null ? element("p", {}, `${items.targetName} of ${items.names[chosen]}: `, mark(items.targets[chosen])) : "";
    found.replaceChildren(own, rule ? verdict(vote) : votes(near), element("div", { class: "scroll" }, element("table", {},
      element("caption", {}, `The nearest of ${items.names[chosen]}${isOther ? ", among those that were learned from" : ""}${items.sampled ? `${isOther ? " and are in" : ", among the items of"} this page` : ""}`),
      element("thead", {}, element("tr", {}, head.map((name) => (name ? element("th", { scope: "col" }, name) : element("td"))))), element("tbody", {}, body))), proof());
    if (map) map.draw(chosen, near.map((each) => each.other));
  }

  /** Why no item that is left out can be nearer. */
  function proof() {
    const among = items.sampled ? "the items of this page, a random sample" : isOther ? "all items that were learned from" : "all items";
    return element("p", { class: "note" }, page.computes
      ? `Exact among ${among}: the page computes the distance of every one of them.`
      : `Exact among ${among}: Python has computed the distance of every one of them.`);
  }

  /** What the other items say of the chosen one by the votes of the model. */
  function verdict(vote) {
    const said = vote.classes ? vote.classes.filter(([, share]) => share > 0).slice(0, 4).flatMap(([name, share], place) =>
      [place ? ", " : "", mark(name), ` ${sayShare(share)}`]) : [say(vote.value)];
    return element("p", { id: "verdict", "data-first": vote.classes ? vote.classes[0][0] : vote.value, "data-share": vote.classes ? vote.classes[0][1] : "" },
      `Without its own ${items.targetName}, by ${page.votes.said}: `, said);
  }

  /** A class with a mark of its own shape and colour, or a value as a number. */
  function mark(target) {
    if (target === null) return "–";
    if (items.targetName !== "class") return say(target);
    const kind = classes.indexOf(target);
    return element("span", {}, element("span", { class: `mark-${kind % 8}`, "aria-hidden": "true" }, "●▲■◆▼★✚✖"[kind % 8]), ` ${target}`);
  }

  function votes(near) {
    if (!classes.length || !near.length) return "";
    const counts = classes.map((name) => [name, near.filter(({ other }) => items.targets[other] === name).length]).filter(([, n]) => n);
    return element("p", { class: "note" }, "Of these: ", counts.sort((a, b) => b[1] - a[1]).flatMap(([name, n], place) =>
      [place ? ", " : "", mark(name), ` ${say(n)}`]));
  }

  const most = page.computes ? [5, 10, 20, 50] : [5, 10, 20].filter((n) => n <= page.nKnown);
  const pick = itemControl(page, "item-near", "The neighbours of", chosen, (number) => { chosen = number; draw(); });
  const count = selectControl("k", "How many", most.map((n) => [n, say(n)]), k, (value) => { k = Number(value); draw(); });
  const filter = classes.length > 1 ? selectControl("only", "Only the class", [["", "all"], ...classes.map((c) => [c, c])], only, (value) => { only = value; draw(); }) : "";
  const direction = page.symmetric ? "" : element("p", { class: "note" }, "The distance is not symmetric: these are distances from the item to the others.");
  const choose = (number) => {
    chosen = number;
    pick.querySelector("input").value = items.names[number];
    draw();
  };
  const map = page.map ? itemMap(page, classes, choose) : null;
  panel.replaceChildren(element("h2", {}, "Neighbours"), element("div", { class: "fields" }, pick, count, filter), direction,
    element("div", { class: "beside" }, found, map ? map.figure : ""));
  draw();
  return { redraw: draw };
}
