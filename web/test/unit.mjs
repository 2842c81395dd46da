import assert from "node:assert/strict";
import test from "node:test";
import { escapeForScript } from "../build.mjs";
import { load } from "./load.mjs";

const { formatNumber, formatLog10, formatValue, withMinusSigns, withPowers } = await load("numbers");
const { visibleRows, toCsv } = await load("rows");
const { recoloured, colourFor } = await load("palette");
const { withoutSeriesLegends, withSeriesTitles } = await load("spec");

const written = ({ text, power }) => (power === "" ? text : `${text}^${power}`);

test("numbers have up to four digits, and powers of ten where they are small or large", () => {
  const cases = [
    [0, "0"],
    [12, "12"],
    [-3, "−3"],
    [1234567, "1234567"],
    [0.5983214, "0.5983"],
    [0.598, "0.598"],
    [1, "1"],
    [0.001, "0.001"],
    [0.00099996, "10^−3"],
    [4.3e-7, "4.3×10^−7"],
    [-1.23456e-9, "−1.235×10^−9"],
    [3.4e12, "3.4×10^12"],
    [51234.24, "51234"],
    [123456.7, "1.235×10^5"],
    [5e-324, "5×10^−324"],
  ];
  for (const [value, expected] of cases) assert.equal(written(formatNumber(value)), expected, String(value));
});

test("logarithms are shown as the numbers they stand for", () => {
  const cases = [
    [0, "1"],
    [-0.2, "0.631"],
    [-3.2, "6.3×10^−4"],
    [-3.0001, "10^−3"],
    [-77.5, "3.2×10^−78"],
    [-51234.2, "10^−51234.2"],
    [5.5, "3.2×10^5"],
  ];
  for (const [value, expected] of cases) assert.equal(written(formatLog10(value)), expected, String(value));
  assert.equal(written(formatValue(null, "log10")), "–");
  assert.equal(written(formatValue("~2e-07", "number")), "~2e-07");
});

test("numbers in sentences have the style of the page, names are left alone", () => {
  const cases = [
    ["largest distance 1.5e-05, limit 2e-05", "largest distance 1.5×10^-5, limit 2×10^-5"],
    ["below 1e-6.", "below 10^-6."],
    ["(7.0e-07)", "(7×10^-7)"],
    ["2.33e+13 paths", "2.33×10^13 paths"],
    ["differ by 0e+00 at most", "differ by 0 at most"],
    ["san:std=1e-3,dim=4", "san:std=1e-3,dim=4"],
    ["run-1e5/model", "run-1e5/model"],
    ["0x1e5 and abc1e5", "0x1e5 and abc1e5"],
  ];
  for (const [text, expected] of cases) assert.equal(withPowers(text), expected);
});

test("hyphens before numbers in sentences are minus signs", () => {
  assert.equal(withMinusSigns("L0H1 -1.1×10^-5 and (-2); run-2, 2-3, -attn_skip"), "L0H1 −1.1×10^-5 and (−2); run-2, 2-3, -attn_skip");
});

const dataset = {
  title: "",
  columns: ["series", "layer", "value"].map((name) => ({ name, title: name, kind: "text" })),
  rows: [
    ["full", 0, 0.5],
    ["san", 0, null],
    [null, 1, 1e-300],
    ['a "quoted", name\n', 1, 2],
  ],
};

test("CSV follows RFC 4180 and keeps numbers in full", () => {
  assert.equal(toCsv(dataset), 'series,layer,value\r\nfull,0,0.5\r\nsan,0,\r\n,1,1e-300\r\n"a ""quoted"", name\n",1,2\r\n');
});

test("hidden series leave the rows, others stay", () => {
  assert.equal(visibleRows(dataset, new Set()).length, 4);
  const rows = visibleRows(dataset, new Set(["san"]));
  assert.deepEqual(rows.map((row) => row.series), ["full", null, 'a "quoted", name\n']);
  assert.deepEqual(rows[0], { series: "full", layer: 0, value: 0.5 });
  assert.notEqual(visibleRows(dataset, new Set())[0], visibleRows(dataset, new Set())[0]);
  const without = { ...dataset, columns: dataset.columns.map((column) => ({ ...column, name: `${column.name}_` })) };
  assert.equal(visibleRows(without, new Set(["san"])).length, 4);
});

test("colours have partners on dark ground, each replaced once", () => {
  const spec = { range: ["#0072B2", "#56b4e9", "#123456"], mark: { color: "datum.x ? '#D55E00' : '#000000'" }, height: 3, none: null };
  assert.deepEqual(recoloured(spec, "dark"), {
    range: ["#56B4E9", "#9AD4F5", "#123456"],
    mark: { color: "datum.x ? '#FF8A3D' : '#F0F0F0'" },
    height: 3,
    none: null,
  });
  assert.deepEqual(recoloured(spec, "light"), spec);
  assert.equal(colourFor("#6b6b6b", "dark"), "#A8A8A8");
});

test("only the legends of series are taken away", () => {
  const spec = { layer: [{ encoding: { color: { field: "series", legend: { title: "x" } }, x: { field: "series" }, size: { field: "n" } } }] };
  assert.deepEqual(withoutSeriesLegends(spec), {
    layer: [{ encoding: { color: { field: "series", legend: null }, x: { field: "series" }, size: { field: "n" } } }],
  });
});

test("exported legends have the series' titles, however they are spelt", () => {
  const spec = { encoding: { color: { field: "series", legend: { title: "x" } }, shape: { field: "series", legend: null }, size: { field: "n" } } };
  const labelExpr = '({"a\\"":"</script>"})[datum.label] || datum.label';
  assert.deepEqual(withSeriesTitles(spec, [{ name: 'a"', title: "</script>" }]).encoding, {
    color: { field: "series", legend: { title: "x", labelExpr } },
    shape: { field: "series", legend: null },
    size: { field: "n" },
  });
});

test("titles with line separators stay one expression", () => {
  const spec = { encoding: { color: { field: "series" } } };
  const { labelExpr } = withSeriesTitles(spec, [{ name: "a\u2028b", title: "c\u2029d" }]).encoding.color.legend;
  assert.equal(labelExpr, '({"a\\u2028b":"c\\u2029d"})[datum.label] || datum.label');
});

test("the script cannot end its element", () => {
  assert.equal(escapeForScript('"</script>" "</SCRIPT" "<!--" a<b'), '"\\x3c/script>" "\\x3c/SCRIPT" "\\x3c!--" a<b');
});
