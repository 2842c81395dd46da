// The look of all charts, as a Vega-Lite configuration.
import type { Config } from "vega-lite";
import { colourFor, type Scheme } from "./palette";

const FONT = '"Source Sans 3", "Segoe UI", system-ui, -apple-system, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, sans-serif';

const INK = {
  light: { text: "#1d2126", quiet: "#4d545c", line: "#8b9299", grid: "#e6e8ea" },
  dark: { text: "#e8eaed", quiet: "#b4bbc2", line: "#79828b", grid: "#2e343a" },
};

export function chartConfig(scheme: Scheme): Config {
  const ink = INK[scheme];
  const mark = colourFor("#0072B2", scheme);
  return {
    aria: false,
    background: "transparent",
    font: FONT,
    padding: 4,
    view: { stroke: null },
    mark: { color: mark },
    line: { strokeWidth: 2, strokeJoin: "round", strokeCap: "round" },
    point: { size: 40, filled: true },
    area: { opacity: 0.16, line: false },
    rule: { color: ink.line },
    text: { color: ink.text, fontSize: 12 },
    title: {
      anchor: "start",
      color: ink.text,
      fontSize: 15,
      fontWeight: 600,
      offset: 12,
      subtitleColor: ink.quiet,
      subtitleFontSize: 12.5,
      subtitlePadding: 4,
    },
    header: { labelColor: ink.text, titleColor: ink.quiet, labelFontSize: 12, titleFontSize: 12 },
    axis: {
      labelColor: ink.quiet,
      titleColor: ink.quiet,
      labelFontSize: 12,
      titleFontSize: 12.5,
      titleFontWeight: "normal",
      titlePadding: 8,
      labelPadding: 5,
      labelLimit: 200,
      gridColor: ink.grid,
      domainColor: ink.line,
      tickColor: ink.line,
      tickSize: 4,
    },
    axisY: { domain: false, ticks: false, tickCount: 6 },
    axisX: { grid: false, labelOverlap: "parity", labelFlush: false },
    // Below the chart, where long names do not take its width.
    legend: {
      orient: "bottom",
      direction: "horizontal",
      gradientLength: 200,
      labelColor: ink.text,
      titleColor: ink.quiet,
      labelFontSize: 12,
      titleFontSize: 12,
      titleFontWeight: "normal",
      labelLimit: 260,
      symbolStrokeWidth: 2,
      symbolOpacity: 1,
      symbolBaseStrokeColor: ink.quiet,
    },
  };
}
