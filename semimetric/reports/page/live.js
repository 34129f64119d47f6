// The page in a widget of a notebook: what is edited is told to Python, and what Python gives is shown.

/** Carry items between the page and the frame around it, by the port that the first message of the frame brings. */
function goLive({ page, tabs }) {
  const sides = page.kind === "distance" ? [0, 1] : [0];
  let known = textOf(sides.map((side) => page.startItem(page.items ? side : null)));

  function textOf(rows) {
    return JSON.stringify(rows); // in which NaN, a missing value, is null
  }

  function isOfPage(rows) {
    return Array.isArray(rows) && rows.length === sides.length && rows.every((row) => Array.isArray(row) && row.length === page.nRaw
      && row.every((value, f) => (value === null ? page.columns[f].missing : Number.isFinite(value))));
  }

  /** The number of the item that has these values; null if there is none. */
  function numberOf(values) {
    const found = page.items ? page.items.rows.findIndex((row) => values.every((value, f) => Object.is(row[f], value))) : -1;
    return found < 0 ? null : found;
  }

  function receive(rows) {
    if (!isOfPage(rows) || textOf(rows) === known) return;
    known = textOf(rows);
    const items = rows.map((row) => row.map((value) => (value === null ? NaN : value)));
    tabs.show("tab-items", false);
    tabs.of("tab-items").put(items, items.map(numberOf));
  }

  window.addEventListener("message", function begin(event) {
    if (event.source !== window.parent || event.ports.length !== 1) return;
    window.removeEventListener("message", begin);
    const [port] = event.ports;
    page.told = (rows) => {
      if (textOf(rows) === known) return;
      known = textOf(rows);
      port.postMessage(JSON.parse(known));
    };
    port.onmessage = ({ data }) => receive(data);
    receive(event.data);
  });
}

goLive(opened);
