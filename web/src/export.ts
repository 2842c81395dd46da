// Charts and tables as files. A chart is compiled apart: with legend and title, light on white, at one width, whatever the window is.
import type { View } from "vega";
import type { TopLevelSpec } from "vega-lite";
import type { Chart } from "./chart";
import { compileSpec, makeView } from "./compiled";
import { withSeriesTitles } from "./spec";
import { chartConfig } from "./theme";

const WIDTH = 720;
const PNG_SCALE = 2;

export function download(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 100);
  link.click();
  // The browser reads the blob after the click has been handled.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

async function exportView(chart: Chart, title: string): Promise<View> {
  const subtitle = chart.panel.title;
  const spec = {
    ...withSeriesTitles(chart.spec, chart.series),
    title: subtitle === "" ? { text: title } : { text: title, subtitle },
    width: WIDTH,
    autosize: { type: "fit-x", contains: "padding" },
    background: "white",
    padding: 12,
  } as TopLevelSpec;
  const config = chartConfig("light");
  config.legend = { ...config.legend, columns: 3 };
  const view = makeView(compileSpec(spec, config), chart.rows, "none");
  return view.runAsync();
}

export async function exportSvg(chart: Chart, title: string): Promise<void> {
  const view = await exportView(chart, title);
  download(`${chart.panel.id}.svg`, new Blob([await view.toSVG()], { type: "image/svg+xml" }));
  view.finalize();
}

export async function exportPng(chart: Chart, title: string): Promise<void> {
  const view = await exportView(chart, title);
  const canvas = await view.toCanvas(PNG_SCALE);
  view.finalize();
  canvas.toBlob((blob) => blob && download(`${chart.panel.id}.png`, blob), "image/png");
}
