// Vega-Lite as rankfall writes it.
const SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json";

export const ZOOM = {
  name: "zoom",
  select: {
    type: "interval",
    zoom: "wheel![event.ctrlKey || event.metaKey]",
    translate: "[mousedown, window:mouseup] > window:mousemove!",
  },
  bind: "scales",
};

// Colour, dash and shape of the column "series", all with one domain so that Vega-Lite makes one legend of the three.
export function seriesEncodings(series) {
  const domain = series.map(({ name }) => name);
  const channel = (range) => ({ field: "series", type: "nominal", title: "variant", scale: { domain, range }, sort: null });
  return {
    color: channel(series.map(({ colour }) => colour)),
    strokeDash: channel(series.map(({ dash }) => (dash.length > 0 ? dash : [1, 0]))),
    shape: channel(series.map(({ shape }) => shape)),
  };
}

// Lines with points and, where the rows have `low` and `high`, bands.
export function lines(series, { x, y, height = 260, scale = {}, yAxis = {}, tooltip, band = true, sources }) {
  const { color, ...looks } = seriesEncodings(series);
  // Where dashes and shapes tell sources apart, they have a legend of their own.
  const bySource = (range) => ({ field: "source", type: "nominal", title: "source", scale: { domain: sources, range }, sort: null });
  const strokeDash = sources ? bySource([[1, 0], [5, 3]]) : looks.strokeDash;
  const shape = sources ? bySource(["circle", "diamond"]) : looks.shape;
  const layers = [
    { mark: { type: "line", clip: true }, encoding: { color, strokeDash, y: { field: y.field, type: "quantitative" } } },
    {
      mark: { type: "point", filled: true, clip: true },
      encoding: { color, shape, y: { field: y.field, type: "quantitative" }, tooltip },
    },
  ];
  if (band) {
    layers.unshift({
      mark: { type: "area", clip: true },
      encoding: { color, y: { field: "low", type: "quantitative" }, y2: { field: "high" } },
    });
  }
  for (const layer of layers) {
    layer.encoding.y = { ...layer.encoding.y, title: y.title, scale, axis: yAxis };
    layer.encoding.x = { field: x.field, type: "quantitative", title: x.title, axis: { tickMinStep: 1 }, scale: { nice: false, padding: 8 } };
  }
  // In one layer only: Vega-Lite copies parameters at the top into every layer, where their signals collide.
  layers[0].params = [ZOOM];
  return { $schema: SCHEMA, data: { name: "rows" }, width: "container", height, layer: layers };
}

export function bars(series, { x, y, height = 260, tooltip }) {
  const { color } = seriesEncodings(series);
  return {
    $schema: SCHEMA,
    data: { name: "rows" },
    width: "container",
    height,
    mark: { type: "bar", clip: true },
    encoding: {
      x: { field: x.field, type: "ordinal", title: x.title, axis: { labelAngle: 0 } },
      xOffset: { field: "series", sort: series.map(({ name }) => name) },
      y: { field: y.field, type: "quantitative", title: y.title },
      color,
      tooltip,
    },
  };
}

export function heatMap({ x, y, colour, height = 300, tooltip }) {
  return {
    $schema: SCHEMA,
    data: { name: "rows" },
    width: "container",
    height,
    mark: { type: "rect" },
    encoding: {
      x: { field: x.field, type: "ordinal", title: x.title, axis: { labelAngle: 0 } },
      y: { field: y.field, type: "ordinal", title: y.title },
      color: { field: colour.field, type: "quantitative", title: colour.title, scale: { scheme: "viridis" } },
      tooltip,
    },
  };
}

// Paths in the plane, in the order of a column.
export function trajectories(series, { x, y, order, height = 320, tooltip }) {
  const { color, strokeDash, shape } = seriesEncodings(series);
  const xy = {
    x: { field: x.field, type: "quantitative", title: x.title, scale: { zero: false } },
    y: { field: y.field, type: "quantitative", title: y.title, scale: { zero: false } },
  };
  return {
    $schema: SCHEMA,
    data: { name: "rows" },
    width: "container",
    height,
    layer: [
      { mark: { type: "line", clip: true, opacity: 0.6 }, encoding: { ...xy, color, strokeDash, order: { field: order, type: "quantitative" } } },
      { params: [ZOOM], mark: { type: "point", filled: true, clip: true }, encoding: { ...xy, color, shape, tooltip } },
    ],
  };
}
