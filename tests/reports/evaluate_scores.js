// Scores and probabilities of the page's own scripts, for tests: the data of a page and items come in by standard input, as JSON.
const vm = require("vm");
const fs = require("fs");
const [, , folder] = process.argv;
const script = ["distance", "machine", "pieces", "page"].map((name) => fs.readFileSync(`${folder}/${name}.js`, "utf8")).join("\n");
const body = script.replace(/\nconst opened = begin\(\);\s*$/, "").replace(/^if \(typeof module.*$/gm, "");
const readPage = vm.runInThisContext(`(() => { const say = String; ${body}\nreturn readPage; })()`);
const { page: given, items } = JSON.parse(fs.readFileSync(0, "utf8"));
const page = readPage(given);
const rows = items.map((row) => row.map((value) => (value === null ? NaN : value)));
console.log(JSON.stringify({
  computes: page.computes,
  found: rows.map((row) => {
    const found = page.judge(row);
    const explained = found.scores.map((_, k) => page.explain(row, k, "terms"));
    const columns = found.scores.map((_, k) => page.explain(row, k, "features"));
    const sum = (parts) => parts.reduce((total, part) => total + part, 0);
    return { ...found, sums: explained.map(({ parts, base }) => sum(parts) + (base ? base.value : 0)), ofColumns: columns.map(({ parts, base }) => sum(parts) + (base ? base.value : 0)), totals: explained.map(({ totals }) => totals[0].value) };
  }),
}));
