// A list of terms by their shares; what is known of the one that is chosen stands beside it.

const MOST_TERMS = 300; // that are listed

/** `detailOf(t)` gives the elements of a term; `columns` and `detail` are returned, and `redraw` draws the chosen term again. */
function termList(page, title, names, detailOf, said = (t) => sayShare(page.shares.terms[t])) {
  const shares = page.shares.terms;
  const order = names.map((_, t) => t).sort((a, b) => shares[b] - shares[a]);
  const largest = Math.max(...shares, 1e-300);
  const detail = element("div", { class: "detail", "aria-live": "polite" });
  let chosen = order[0];
  const redraw = () => detail.replaceChildren(...detailOf(chosen));
  const buttons = order.slice(0, MOST_TERMS).map((t) => element("button", {
    type: "button", class: "term", "data-term": t, "aria-pressed": String(t === chosen), on: { click: () => choose(t) },
  }, element("span", { class: "name" }, names[t]), element("span", { class: "number" }, said(t)),
  element("meter", { min: 0, max: largest, value: shares[t], "aria-hidden": "true" })));

  function choose(t) {
    chosen = t;
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(Number(button.dataset.term) === t)));
    redraw();
  }

  /** The shares of columns, where terms are of other things too. */
  function ofColumns() {
    if (!page.shares.features) return null;
    const sorted = page.shares.features.map((share, f) => [page.shares.names[f], share]).sort((a, b) => b[1] - a[1]);
    return element("details", {}, element("summary", {}, "Importances of the columns"),
      element("table", {}, element("tbody", {}, sorted.map(([name, share]) => element("tr", {},
        element("th", { scope: "row" }, name), element("td", { class: "number" }, sayShare(share)))))));
  }

  const columns = element("div", { class: "columns" },
    element("div", { class: "terms" }, element("h2", {}, title), element("p", { class: "note" }, page.shares.note), ...buttons,
      order.length > MOST_TERMS ? element("p", { class: "note" }, `${say(order.length - MOST_TERMS)} smaller terms are not listed.`) : null,
      ofColumns()), detail);
  return { columns, detail, redraw, everything: () => order.slice(0, OTHERS).flatMap(detailOf) };
}
