// The tab of a machine: its functions of one column as curves, and of two as heat maps.

const MOST_LINES = 8; // outputs that are drawn in one picture
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "12 4", "4 2 1 2", "1 2", "6 6"];
const FINE = 240; // places at which a bent curve is drawn

function drawShapesTab(page, panel) {
  const { machine, columns, terms, outputs } = page;
  const isMany = outputs.length > 1;
  const what = page.classes ? "score" : "value";
  let chosen = isMany && outputs.length <= MOST_LINES ? -1 : 0; // -1 is all of them
  let list = null;

  function outputControl(withAll) {
    if (!isMany) return null;
    const options = [...(withAll && outputs.length <= MOST_LINES ? [[-1, "all classes"]] : []), ...outputs.map((name, k) => [k, name])];
    const shown = withAll ? chosen : Math.max(chosen, 0);
    return selectControl("output", `The ${what} of`, options, shown, (k) => {
      chosen = Number(k);
      list.redraw();
      document.getElementById("output").focus();
    });
  }

  function singleDetail(t, f) {
    const numbers = chosen < 0 ? outputs.map((_, k) => k) : [chosen];
    const lines = numbers.map((k) => ({ name: outputs[k], number: isMany ? k : null, value: (v) => machine.value(t, [v])[k] }));
    const [low, high] = page.grid.range(f);
    const more = machine.curves[f].isStraight ? Array.from(machine.curves[f].breaks)
      : Array.from({ length: FINE }, (_, k) => low + (k / (FINE - 1)) * (high - low));
    const label = `What a value of ${columns[f].name} adds to the ${what}${isMany ? "s of the classes" : ""}. The bars count the data.`;
    return [outputControl(true), element("p", { class: "note" }, label),
      element("div", { class: "pictures" }, curves(page, columns, f, lines, page.counts[f], label, NaN, more)),
      isMany ? lineKey(numbers.map((k) => [k, outputs[k]])) : null];
  }

  function pairDetail(t, [first, second]) {
    const k = Math.max(chosen, 0);
    const axes = [axisOf(page, columns, first, 380), axisOf(page, columns, second, 320)];
    const names = [columns[first].name, columns[second].name];
    const label = `What ${names.join(" and ")} add together to the ${what}${isMany ? ` of ${outputs[k]}` : ""}, beyond what each adds alone`;
    return [outputControl(false), element("p", { class: "note" }, `${label}.`), heatMap(...axes, (u, v) => machine.value(t, [u, v])[k], label, names)];
  }

  function detailOf(t) {
    const { name, features } = terms[t];
    const drawn = features.length === 1 ? singleDetail(t, features[0]) : pairDetail(t, features);
    return [element("h3", {}, name), element("p", {}, `${sayShare(page.shares.terms[t])} of ${page.shares.of}.`), ...drawn].filter(Boolean);
  }

  list = termList(page, "Functions of the machine", terms.map((term) => term.name), detailOf);
  panel.replaceChildren(list.columns);
  list.redraw();
  return list;
}
