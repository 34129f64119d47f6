// Controls for values of features and for items.

/** A control for a value of a feature; `changed` gets the encoded value, or null where what was typed is none. */
function valueControl(column, value, label, changed) {
  if (column.kind === "categorical") {
    const options = [...column.categories.map((name, code) => [code, name]), [column.categories.length, "(other)"]];
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

function selectControl(id, label, options, chosen, changed) {
  const made = options.map(([value, said]) => element("option", { value, selected: String(value) === String(chosen) }, said));
  return element("p", { class: "field" }, element("label", { for: id }, label),
    element("select", { id, on: { change: (event) => changed(event.target.value) } }, made));
}
