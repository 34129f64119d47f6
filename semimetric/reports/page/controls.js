// Controls for values of features and for items.

/** A control for a value of a feature; `changed` gets the encoded value, or null where what was typed is none. */
function valueControl(column, value, label, changed) {
  if (column.kind === "categorical") {
    const options = [...column.categories.map((name, code) => [code, name]), [column.categories.length, column.other]];
    if (column.missing) options.push([NaN, "(missing)"]);
    const made = options.map(([code, name]) => element("option", { value: code, selected: Object.is(code, value) }, name));
    return element("select", { "aria-label": label, on: { change: (e) => changed(Number(e.target.value)) } }, made);
  }
  if (column.time === "scale") {
    const moment = new Date(Math.round(value * 86400000));
    const shown = Number.isNaN(moment.getTime()) ? "" : moment.toISOString().slice(0, 23);
    return element("input", {
      type: "datetime-local", step: "any", value: shown, "aria-label": `${label}${column.zone ? " (UTC)" : ""}`,
      on: { input: (e) => changed(encoded(column, e.target.value === "" ? "" : Date.parse(`${e.target.value}Z`) / 86400000)) },
    });
  }
  return element("input", {
    type: "number", step: "any", value: Number.isNaN(value) ? "" : value, "aria-label": label,
    placeholder: column.missing ? "(missing)" : "",
    on: { input: (e) => changed(e.target.validity.badInput ? null : encoded(column, e.target.value)) },
  });
}

/** What was typed as the schema encodes it; null where it is no value of the feature. */
function encoded(column, typed) {
  if (typed === "") return column.missing ? NaN : null;
  const value = Number(typed);
  if (!Number.isFinite(value)) return null;
  if (column.kind !== "periodic") return value;
  const turned = modulo(value, column.period);
  return turned === column.period ? 0 : turned;
}

/** A search field for an item by its name; `chosen` gets its number. */
function itemControl(page, id, label, number, chosen) {
  const field = element("input", {
    id, type: "search", list: "item-names", autocomplete: "off", value: number === null ? "" : page.items.names[number],
    on: {
      change: (event) => {
        const found = page.items.numbers.get(event.target.value);
        event.target.setCustomValidity(found === undefined ? "There is no such item." : "");
        event.target.reportValidity();
        if (found !== undefined) chosen(found);
      },
    },
  });
  return element("p", { class: "field" }, element("label", { for: id }, label), field);
}

/** Say in the search field which item is shown; none where it is null. */
function nameItem(page, id, number) {
  if (page.items) document.getElementById(id).value = number === null ? "" : page.items.names[number];
}

function selectControl(id, label, options, chosen, changed) {
  const made = options.map(([value, said]) => element("option", { value, selected: String(value) === String(chosen) }, said));
  return element("p", { class: "field" }, element("label", { for: id }, label),
    element("select", { id, on: { change: (event) => changed(event.target.value) } }, made));
}

const MOST_ROWS = 60; // columns whose values have a row until all are asked for

/** A table of the values of one item or several, each with a control, and of what every column adds; `items` are changed in place. */
function valuesTable(page, sides, items, changed) {
  const { columns } = page;
  const rows = [];
  const body = element("tbody");
  let count = MOST_ROWS;

  function draw() {
    rows.length = 0;
    body.replaceChildren(...page.featureOrder.slice(0, count).map((f) => {
      const added = element("td", { class: "number" });
      rows.push({ f, added });
      const controls = sides.map((name, side) => {
        const label = name ? `${columns[f].name} of the ${name} item` : columns[f].name;
        const control = valueControl(columns[f], items[side][f], label, (value) => {
          control.setAttribute("aria-invalid", String(value === null));
          if (value === null) return;
          items[side][f] = value;
          changed();
        });
        control.dataset.feature = f;
        control.dataset.side = name;
        return element("td", {}, control);
      });
      return element("tr", {}, element("th", { scope: "row" }, columns[f].name), controls, added);
    }));
  }

  const more = page.nRaw > MOST_ROWS ? element("p", { class: "note" }, `The ${MOST_ROWS} columns that count most. `, element("button", {
    type: "button", on: { click: () => {
      count = Infinity;
      more.remove();
      draw();
      changed();
    } },
  }, `Show all ${say(page.nRaw)}`)) : null;
  const head = ["column", ...sides.map((name) => name || "value"), "adds"];
  const table = element("div", {}, more, element("div", { class: "scroll" }, element("table", { class: "values" },
    element("thead", {}, element("tr", {}, head.map((name) => element("th", { scope: "col" }, name)))), body)));
  return { table, draw, tell: (parts) => rows.forEach(({ f, added }) => { added.textContent = parts[f] === 0 ? "" : say(parts[f]); }) };
}
