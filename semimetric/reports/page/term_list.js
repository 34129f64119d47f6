// A list of terms by their shares; what is known of the one that is chosen stands beside it.

const MOST_TERMS = 40; // that are listed at first

/** `detailOf(t)` gives the elements of a term; `columns` and `detail` are returned, and `redraw` draws the chosen term again. */
function termList(page, title, names, detailOf, said = (t) => sayShare(page.shares.terms[t]), isListed = () => true, rank = () => 0) {
  const shares = page.shares.terms;
  const order = names.map((_, t) => t).filter(isListed).sort((a, b) => rank(a) - rank(b) || shares[b] - shares[a]);
  const largest = order.reduce((most, t) => Math.max(most, shares[t]), 1e-300);
  const detail = element("div", { class: "detail", "aria-live": "polite" });
  let chosen = order[0];
  const redraw = () => detail.replaceChildren(...detailOf(chosen));
  const buttonOf = (t) => element("button", {
    type: "button", class: "term", "data-term": t, "aria-pressed": String(t === chosen), on: { click: () => choose(t) },
  }, element("span", { class: "name" }, names[t]), element("span", { class: "number" }, said(t)),
  element("meter", { min: 0, max: largest, value: shares[t], "aria-hidden": "true" }));
  const buttons = order.slice(0, MOST_TERMS).map(buttonOf);
  const more = order.length > MOST_TERMS ? element("button", {
    type: "button", on: { click: () => {
      const rest = order.slice(MOST_TERMS).map(buttonOf);
      buttons.push(...rest);
      more.replaceWith(...rest);
      rest[0].focus();
    } },
  }, `Show all ${say(order.length)}`) : null;

  function choose(t) {
    chosen = t;
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(Number(button.dataset.term) === t)));
    redraw();
  }

  const columns = element("div", { class: "columns" },
    element("div", { class: "terms" }, element("h2", {}, title), element("p", { class: "note" },
      `${page.order ? "In the order in which they matter to the predictions. " : ""}${page.shares.note}`), ...buttons, more), detail);
  return { columns, detail, redraw, everything: () => order.slice(0, OTHERS).flatMap(detailOf) };
}
