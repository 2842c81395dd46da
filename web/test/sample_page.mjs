// A report with every feature the page has, and with names nobody should use.
import { bars, heatMap, lines, trajectories } from "./specs.mjs";

const LAYERS = 13;
const PALETTE = ["#0072B2", "#D55E00", "#009E73", "#E69F00", "#AA4499", "#56B4E9", "#8C6D1F", "#6B6B6B", "#000000"];
const SHAPES = ["circle", "square", "diamond", "triangle-up", "cross", "triangle-down"];
const number = (field, title) => ({ field, title, type: "quantitative" });
const text = (field, title) => ({ field, title, type: "nominal" });
// Axis labels of a column of base-10 logarithms.
const POWERS = { labelExpr: "datum.value == 0 ? '1' : '1e' + datum.label" };

// The same numbers every time.
function randomNumbers(seed) {
  return () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
}

function seriesOf(names) {
  return names.map(([name, title], place) => ({
    name,
    title,
    colour: PALETTE[place % PALETTE.length],
    mark: "line",
    width: 1.75,
    dash: [],
    shape: SHAPES[place % SHAPES.length],
  }));
}

const VARIANTS = seriesOf([
  ["full", "transformer"],
  ["san", "pure attention"],
  ["san_mlp", "attention and MLP"],
  ["san_skip", "attention and skip"],
]);
const PUBLISHED = VARIANTS.map((series) => ({
  ...series,
  name: `${series.name}/published`,
  title: `${series.title}, published`,
  dash: [5, 4],
  shape: "",
}));

function residualAt(variant, layer) {
  const base = variant.split("/")[0];
  if (base === "full") return 0.607 * Math.exp(-0.033 * layer);
  if (base === "san_skip") return 0.607 * Math.exp(-0.036 * layer) + 0.004 * Math.sin(layer);
  return layer === 0 ? 0.607 : layer === 1 ? 0.02 : 4.3e-7 * (1 + (base === "san_mlp" ? 0.2 : 0));
}

function residuals(title, seed) {
  const random = randomNumbers(seed);
  const rows = [];
  for (const { name } of [...VARIANTS, ...PUBLISHED]) {
    for (let layer = 0; layer < LAYERS; ++layer) {
      const published = name.includes("/");
      const value = residualAt(name, layer) * (1 + 0.08 * (random() - 0.5) * (published ? 2 : 1));
      const deviation = published ? null : value * (0.03 + 0.04 * random());
      rows.push([name, layer, value, deviation, deviation && value - deviation, deviation && value + deviation]);
    }
  }
  const columns = [
    ["series", "variant", "text"],
    ["layer", "layer", "number"],
    ["value", "relative residual", "number"],
    ["deviation", "deviation", "number"],
    ["low", "", "number"],
    ["high", "", "number"],
  ];
  return { title, columns: columns.map(([name, columnTitle, kind]) => ({ name, title: columnTitle, kind })), rows };
}

function residualPanel(id, title, data) {
  const y = { field: "value", title: "relative residual" };
  const x = { field: "layer", title: "layer" };
  const tooltip = [text("series", "variant"), number("layer", "layer"), number("value", "relative residual"), number("deviation", "deviation")];
  const all = [...VARIANTS, ...PUBLISHED];
  return {
    id,
    title,
    description: `${title}: relative residual by layer. Pure attention falls to the rounding floor at layer 2; the transformer stays above 0.4.`,
    views: [
      { label: "linear", spec: lines(all, { x, y, tooltip, scale: { zero: true } }) },
      { label: "log", spec: lines(all, { x, y, tooltip, scale: { type: "log" }, yAxis: { format: ".0e" } }) },
    ],
    data,
    wide: false,
  };
}

function collapse() {
  const series = seriesOf([["san", "pure attention"], ["float32", "what float32 shows"], ["float64", "what float64 shows"]]);
  const rows = [];
  let logarithm = -0.2;
  for (let layer = 0; layer < 11; ++layer) {
    rows.push(["san", layer, logarithm], ["float32", layer, Math.max(logarithm, -7.1)], ["float64", layer, Math.max(logarithm, -15.8)]);
    logarithm = logarithm * 3 - 0.3;
  }
  rows.push(["san", 11, -51234.2], ["float32", 11, null], ["float64", 11, null]);
  const dataset = {
    title: "Residual below the rounding",
    columns: [
      { name: "series", title: "arithmetic", kind: "text" },
      { name: "layer", title: "layer", kind: "number" },
      { name: "log10_residual", title: "residual", kind: "log10" },
    ],
    rows,
  };
  const tooltip = [text("series", "arithmetic"), number("layer", "layer"), number("log10_residual", "residual")];
  const spec = lines(series, {
    x: { field: "layer", title: "layer" },
    y: { field: "log10_residual", title: "relative residual" },
    yAxis: { ...POWERS, values: [0, -1, -10, -100, -1000, -10000] },
    scale: { type: "symlog", nice: false },
    height: 300,
    tooltip,
    band: false,
  });
  const figure = {
    id: "fig-collapse",
    title: "Below the rounding: the fall is doubly exponential",
    caption: "Each layer triples the exponent, as the bound of Dong et al. says; floating point sees two layers of it.",
    findings: [{ subject: "san", tone: "bad", text: "doubly exponential: 10^−77 at layer 4" }, { subject: "full", tone: "good", text: "keeps 0.41 of 0.60" }, { subject: "<b>", tone: "warning", text: "falls" }], notes: ["Exact in double precision: mean and residual are never added to each other."],
    collapsed: false,
    series,
    panels: [{ id: "collapse-exact", title: "", description: "Residual by layer on a scale of powers of ten.", views: [{ label: "log", spec }], data: "collapse", wide: true }],
    tables: ["collapse"],
  };
  return { figure, dataset };
}

// Two sources for each series, told apart by dashes: one legend stays in the chart.
function sources() {
  const rows = [];
  for (const { name } of VARIANTS) {
    for (let layer = 0; layer < LAYERS; ++layer) {
      rows.push([name, "rankfall", layer, residualAt(name, layer)], [name, "published", layer, residualAt(name, layer) * (1.02 + 0.03 * Math.sin(layer))]);
    }
  }
  const columns = [["series", "variant", "text"], ["source", "source", "text"], ["layer", "layer", "number"], ["value", "residual", "number"]];
  const dataset = { title: "By source", columns: columns.map(([name, title, kind]) => ({ name, title, kind })), rows };
  const tooltip = [text("series", "variant"), text("source", "source"), number("layer", "layer"), number("value", "residual")];
  const x = { field: "layer", title: "layer" };
  const y = { field: "value", title: "residual" };
  const spec = lines(VARIANTS, { x, y, tooltip, band: false, sources: ["rankfall", "published"] });
  const panel = (id, title) => ({ id, title, description: `${title}: residual by layer and source.`, views: [{ label: "linear", spec }], data: "sources", wide: false });
  const figure = {
    id: "fig-sources",
    title: "Ours and theirs",
    caption: "Colours are variants, dashes are sources.",
    findings: [], notes: [],
    collapsed: false,
    series: VARIANTS,
    panels: [panel("sources-a", "bert-base"), panel("sources-b", "albert-base")],
    tables: ["sources"],
  };
  return { figure, dataset };
}

function ranks() {
  const random = randomNumbers(5);
  const rows = [];
  for (const { name } of VARIANTS) for (const layer of [0, 4, 8, 12]) rows.push([name, layer, 1 + 30 * random() ** (name.startsWith("san") ? 4 : 0.5)]);
  const dataset = {
    title: "Effective rank",
    columns: [
      { name: "series", title: "variant", kind: "text" },
      { name: "layer", title: "layer", kind: "number" },
      { name: "rank", title: "effective rank", kind: "number" },
    ],
    rows,
  };
  const heat = { title: "Entropy", columns: [], rows: [] };
  heat.columns = ["layer", "head", "entropy"].map((name) => ({ name, title: name, kind: "number" }));
  for (let layer = 1; layer < LAYERS; ++layer) for (let head = 0; head < 12; ++head) heat.rows.push([layer, head, 4.85 - 2.5 * random() ** 3 - 0.02 * layer]);
  const bar = bars(VARIANTS, { x: { field: "layer", title: "layer" }, y: { field: "rank", title: "effective rank" }, tooltip: [text("series", "variant"), number("rank", "effective rank")] });
  const map = heatMap({
    x: { field: "layer", title: "layer" },
    y: { field: "head", title: "head" },
    colour: { field: "entropy", title: "nats" },
    tooltip: [number("layer", "layer"), number("head", "head"), number("entropy", "entropy")],
  });
  return {
    datasets: { ranks: dataset, entropy: heat },
    figures: [
      {
        id: "fig-ranks",
        title: "How many directions are left",
        caption: "Effective rank of the centred states: only skips keep it.",
        findings: [], notes: [],
        collapsed: false,
        series: VARIANTS.map((series) => ({ ...series, mark: "bar" })),
        panels: [{ id: "ranks", title: "", description: "Effective rank, four variants at four layers.", views: [{ label: "", spec: bar }], data: "ranks", wide: true }],
        tables: ["ranks"],
      },
      {
        id: "fig-entropy",
        title: "Attention entropy by layer and head",
        caption: "log 128 = 4.85 nats is uniform attention, which averages all tokens.",
        findings: [], notes: [],
        collapsed: true,
        series: [],
        panels: [{ id: "entropy", title: "", description: "Entropy of each head of each layer.", views: [{ label: "", spec: map }], data: "entropy", wide: true }],
        tables: ["entropy"],
      },
    ],
  };
}

function circle() {
  const series = seriesOf([["token 1", "token 1"], ["token 2", "token 2"], ["token 3", "token 3"], ["token 4", "token 4"], ["token 5", "token 5"], ["token 6", "token 6"]]);
  const rows = [];
  series.forEach(({ name }, token) => {
    for (let layer = 0; layer < 25; ++layer) {
      const angle = token + layer * 0.12;
      const radius = Math.exp(-layer / 9);
      rows.push([name, layer, radius * Math.cos(angle), radius * Math.sin(angle)]);
    }
  });
  const columns = [["series", "token", "text"], ["layer", "layer", "number"], ["x", "x", "number"], ["y", "y", "number"]];
  const dataset = { title: "Tracks", columns: columns.map(([name, title, kind]) => ({ name, title, kind })), rows };
  const spec = trajectories(series, { x: { field: "x", title: "first coordinate" }, y: { field: "y", title: "second coordinate" }, order: "layer", tooltip: [text("series", "token"), number("layer", "layer"), number("x", "x"), number("y", "y")] });
  const panel = (id, title) => ({ id, title, description: `${title}: six tokens spiral into one point.`, views: [{ label: "", spec }], data: "tracks", wide: false });
  const figure = {
    id: "fig-circle",
    title: "Six tokens become one",
    caption: "Tracks of six tokens through 24 layers of attention.",
    findings: [], notes: [],
    collapsed: false,
    series,
    panels: [panel("tracks-a", "Trained"), panel("tracks-b", "At initialisation")],
    tables: ["tracks"],
  };
  return { figure, dataset };
}

function verdicts() {
  return {
    title: "Claims of the paper",
    columns: [
      { name: "claim", title: "claim", kind: "prose" },
      { name: "verdict", title: "verdict", kind: "verdict" },
      { name: "points", title: "points", kind: "number" },
      { name: "worst", title: "largest deviation", kind: "number" },
      { name: "residual", title: "residual at the end", kind: "log10" },
    ],
    rows: [
      ["Pure attention loses rank doubly exponentially", { tone: "good", text: "holds" }, 52, 0.0123, -51234.2],
      ["Skip connections prevent it", { tone: "good", text: "holds for 3 of 3 models" }, 39, 1.2e-9, -0.2],
      ["MLPs slow it down", { tone: "bad", text: "fails at layer 2" }, 39, 3.4e12, -3.2],
      ["XLNet state 0 agrees with the published one", { tone: "bad", text: "disagrees by 6.1 standard deviations" }, 1, 0.0208, null],
      ["Layer norm plays no role", { tone: "neutral", text: "not decided" }, null, null, null],
    ],
  };
}

function hostile() {
  const names = ["<script>alert(1)</script>", "</script>", "{{style}}", "long ".repeat(60).trim(), "נתוני אימון", "x".repeat(300), "'\"&<!--"];
  const series = seriesOf(names.map((name) => [name, name]));
  const random = randomNumbers(9);
  const rows = [];
  for (const name of names) for (let layer = 0; layer < 6; ++layer) rows.push([name, layer, layer === 3 ? null : random(), null, null, null]);
  const columns = [["series", "<b>variant</b>", "text"], ["layer", "layer", "number"], ["value", "</script>", "number"], ["deviation", "", "number"], ["low", "", "number"], ["high", "", "number"]];
  const dataset = { title: "<img src=x onerror=alert(1)>", columns: columns.map(([name, title, kind]) => ({ name, title, kind })), rows };
  const tooltip = [text("series", "<b>variant</b>"), number("value", "</script>")];
  const spec = lines(series, { x: { field: "layer", title: "<i>layer</i>" }, y: { field: "value", title: "</script>" }, tooltip });
  const figure = {
    id: "fig-hostile",
    title: "Names as files may have them: </script><script>alert(1)</script> {{data}}",
    caption: "Nothing of this is markup: <b>bold</b> &amp; <!-- comment -->",
    findings: [], notes: ["שלום", "n = 32 <samples>"],
    collapsed: false,
    series,
    panels: [{ id: "hostile/../panel", title: "{{script}}", description: "</script>", views: [{ label: "linear", spec }], data: "hostile", wide: true }],
    tables: ["hostile", "long"],
  };
  return { figure, dataset };
}

function longTable() {
  const rows = [];
  for (let row = 0; row < 1200; ++row) rows.push([`row ${row}`, row / 7, -row]);
  return {
    title: "1200 rows",
    columns: [
      { name: "name", title: "name", kind: "text" },
      { name: "share", title: "share", kind: "number" },
      { name: "power", title: "power", kind: "log10" },
    ],
    rows,
  };
}

// As rankfall writes it: floors shaded and named, curves named at their ends.
function headline() {
  const series = VARIANTS.slice(0, 2);
  const y = { field: "value", type: "quantitative", title: "relative residual", scale: { type: "symlog", domain: [-500, 0.5] } };
  const x = { field: "layer", type: "quantitative", title: "layer" };
  const colour = { field: "series", type: "nominal", scale: { domain: series.map(({ name }) => name), range: series.map(({ colour: one }) => one) } };
  const floors = [{ low: -16, high: -7.2, name: "below float32" }, { low: -500, high: -16, name: "below float64" }];
  const label = (text, at, color) => ({
    data: { values: [{ label: text }] },
    mark: { type: "text", align: "left", baseline: "middle", dx: 9, clip: false, color },
    encoding: { x: { value: "width" }, y: { value: at }, text: { field: "label", type: "nominal" } },
  });
  const spec = {
    data: { name: "rows" },
    width: "container",
    height: 300,
    layer: [
      {
        data: { values: floors },
        layer: [
          { mark: { type: "rect", color: "#6B6B6B", opacity: 0.15 }, encoding: { y: { ...y, field: "high" }, y2: { field: "low" } } },
          { mark: { type: "text", align: "right", baseline: "top", dx: -8 }, encoding: { x: { value: "width" }, y: { ...y, field: "high" }, text: { field: "name", type: "nominal" } } },
        ],
      },
      { mark: "line", encoding: { x, y, color: colour } },
      label("transformer", 20, series[0].colour),
      label("pure attention", 290, series[1].colour),
    ],
  };
  return {
    figure: {
      id: "headline",
      title: "Pure attention makes all tokens alike.",
      caption: "Relative residual by layer.",
      findings: [],
      notes: [],
      collapsed: false,
      series,
      panels: [{ id: "headline", title: "", description: "Relative residual by layer.", views: [{ label: "log of the exponent", spec }], data: "headline", wide: true }],
      tables: ["headline"],
    },
    numbers: [
      { value: "10^-403010", sentence: "is what remains after 12 layers." },
      { value: "layer 2", sentence: "is the first that float32 cannot resolve." },
      { value: "68 %", sentence: "is what the transformer retains." },
    ],
  };
}

function headlineData() {
  const rows = [];
  for (let layer = 0; layer < 6; ++layer) rows.push(["full", layer, -0.2 - 0.01 * layer], ["san", layer, -0.2 * 3.3 ** layer]);
  return { title: "Headline", columns: ["series", "layer", "value"].map((name) => ({ name, title: name, kind: name === "value" ? "log10" : "text" })), rows };
}

export function samplePage() {
  const exact = collapse();
  const rank = ranks();
  const tracks = circle();
  const published = sources();
  const names = hostile();
  return {
    title: "Rank collapse in BERT, ALBERT and XLNet at initialisation",
    subtitle: "bert-base@init, albert-base@init, xlnet-base@init · rankfall measure --seeds 10 --random-tokens zipf --compare-published · 32 samples of 128 tokens",
    version: "0.9.0",
    facts: [
      { label: "Paper", text: "Dong, Cordonnier, Loukas: Attention is not all you need", link: "https://arxiv.org/abs/2103.03404" },
      { label: "Command", text: "rankfall report 'a </dl><script>.json'", link: "" },
      { label: "<b>", text: "javascript", link: "javascript:alert(1)" },
    ],
    headline: headline(),
    summary: [
      { question: "What collapses?", answer: "Pure attention, with or without MLPs: at the float32 rounding floor from layer 2 on.", tone: "bad" },
      { question: "What does not?", answer: "Everything with skip connections: the transformer keeps 0.41 of 0.61 at layer 12.", tone: "good" },
      { question: "How fast?", answer: "Doubly exponentially: each layer triples the exponent, 10^−77 at layer 4.", tone: "neutral" },
      { question: "Does it agree with the paper?", answer: "153 of 156 published points agree (98.1 %); one lies beyond the outer limit, by 0.0004.", tone: "bad" },
    ],
    sections: [
      {
        id: "residuals",
        title: "Relative residual",
        chapter: "What collapses",
        intro: "How far the tokens are from their mean, as a share of their size. One means unrelated tokens, zero means that all tokens are the same vector and the layer's output has rank one.",
        figures: [
          {
            id: "fig-residual",
            title: "Residual by layer, measured and published",
            caption: "Without skip connections two layers are enough; with them the residual falls slowly and alike in all variants.",
            findings: [], notes: ["Mean of 32 samples of 128 tokens; bands: standard deviation over 10 seeds.", "Dashed: Figure 2 of Dong, Cordonnier and Loukas (2021), one draw of the weights."],
            collapsed: false,
            series: [...VARIANTS, ...PUBLISHED],
            panels: [residualPanel("residual-bert", "bert-base@init", "residual_bert"), residualPanel("residual-albert", "albert-base@init", "residual_albert"), residualPanel("residual-xlnet", "xlnet-base@init", "residual_xlnet")],
            tables: ["residual_bert", "residual_albert"],
          },
          { id: "fig-claims", title: "The paper's claims", caption: "Criteria are in docs/math.md.", findings: [], notes: [], collapsed: false, series: [], panels: [], tables: ["claims"] },
        ],
      },
      { id: "collapse", title: "Below the rounding", intro: "Floating point sees two or three layers of pure attention; then all is rounding.", figures: [exact.figure, published.figure] },
      { id: "ranks", title: "Ranks and attention", intro: "", figures: rank.figures },
      { id: "circle", title: "Tracks", intro: "", figures: [tracks.figure] },
      { id: "hostile", title: "Hostile names <script>", intro: "", figures: [names.figure] },
    ],
    manifests: [
      {
        name: "rankfall measure bert-base@init",
        entries: [["models", "bert-base@init, albert-base@init"], ["seed", "0"], ["samples", "32"], ["cpu", "AMD EPYC (AVX2)"], ["blas", "OpenBLAS 0.3.21"], ["weights_sha256", "9f".repeat(32)], ["<b>", "</script>"]],
      },
    ],
    datasets: {
      headline: headlineData(),
      residual_bert: residuals("bert-base@init: residuals", 1),
      residual_albert: residuals("albert-base@init: residuals", 2),
      residual_xlnet: residuals("xlnet-base@init: residuals", 3),
      claims: verdicts(),
      collapse: exact.dataset,
      sources: published.dataset,
      ...rank.datasets,
      tracks: tracks.dataset,
      hostile: names.dataset,
      long: longTable(),
    },
  };
}

// 200 layers, 16 variants, 8 metrics.
export function bigPage() {
  const series = seriesOf(Array.from({ length: 16 }, (_, place) => [`variant_${place}`, `variant ${place}`]));
  const random = randomNumbers(3);
  const datasets = {};
  const figures = [];
  for (let metric = 0; metric < 8; ++metric) {
    const rows = [];
    series.forEach(({ name }, place) => {
      for (let layer = 0; layer <= 200; ++layer) {
        const value = Math.exp((-layer * (place + 1)) / 1000) * (1 + 0.05 * random());
        rows.push([name, layer, value, value * 0.03, value * 0.97, value * 1.03]);
      }
    });
    const columns = [["series", "variant", "text"], ["layer", "layer", "number"], ["value", "value", "number"], ["deviation", "deviation", "number"], ["low", "", "number"], ["high", "", "number"]];
    datasets[`metric_${metric}`] = { title: `Metric ${metric}`, columns: columns.map(([name, title, kind]) => ({ name, title, kind })), rows };
    const tooltip = [text("series", "variant"), number("layer", "layer"), number("value", "value")];
    const spec = lines(series, { x: { field: "layer", title: "layer" }, y: { field: "value", title: "value" }, tooltip });
    figures.push({
      id: `fig-${metric}`,
      title: `Metric ${metric}`,
      caption: "",
      findings: [], notes: [],
      collapsed: false,
      series,
      panels: [{ id: `metric-${metric}`, title: "", description: "value by layer", views: [{ label: "linear", spec }], data: `metric_${metric}`, wide: true }],
      tables: [`metric_${metric}`],
    });
  }
  const sections = figures.map((figure, place) => ({ id: `s${place}`, title: figure.title, intro: "", figures: [figure] }));
  return { title: "A big result", subtitle: "", version: "0.9.0", summary: [], sections, manifests: [], datasets };
}
