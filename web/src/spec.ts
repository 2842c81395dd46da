// Changes to the legends of a spec before it is compiled.
import type { Series } from "./page";

interface Channel {
  field?: string;
  legend?: object | null;
}

const LEGEND_CHANNELS = new Set(["color", "fill", "stroke", "shape", "strokeDash", "strokeWidth", "opacity", "size"]);

// A copy with every channel that can have a legend replaced by `change` of it.
function withChannels<Json>(spec: Json, change: (channel: Channel) => Channel): Json {
  const visit = (value: unknown, name: string): unknown => {
    if (Array.isArray(value)) return value.map((each) => visit(each, ""));
    if (value === null || typeof value !== "object") return value;
    const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, visit(inner, key)]));
    return LEGEND_CHANNELS.has(name) && "field" in copy ? change(copy) : copy;
  };
  return visit(spec, "") as Json;
}

// Without the legends of the column "series", which the figure's buttons replace; those of other columns stay. (config.legend.disable would
// not do: Vega-Lite ignores it where a channel describes its legend, and it would take the colour bar of a heat map away.)
export function withoutSeriesLegends<Json>(spec: Json): Json {
  return withChannels(spec, (channel) => (channel.field === "series" ? { ...channel, legend: null } : channel));
}

interface Layered {
  layer?: { mark?: { clip?: boolean } }[];
}

// Without the names at the ends of curves: on a phone they would take a third of the width. They alone may stand outside the plot.
export function withoutEndLabels<Json>(spec: Json): Json {
  const { layer } = spec as Layered;
  return layer === undefined ? spec : { ...spec, layer: layer.filter(({ mark }) => mark?.clip !== false) };
}

// The legend with the series' titles in place of their names.
export function withSeriesTitles<Json>(spec: Json, series: Series[]): Json {
  const named = JSON.stringify(Object.fromEntries(series.map(({ name, title }) => [name, title])));
  // For Vega's parser of expressions these two end a line, also inside quotes.
  const titles = named.replace(/\u2028/g, "\\u2028").replace(/\u2029/g, "\\u2029");
  const labelExpr = `(${titles})[datum.label] || datum.label`;
  return withChannels(spec, (channel) =>
    channel.field === "series" && channel.legend !== null ? { ...channel, legend: { ...channel.legend, labelExpr } } : channel,
  );
}
