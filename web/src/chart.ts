// One chart on the page: drawn when it comes near, again when the colours change, wider or narrower with its column.
import type { View } from "vega";
import type { TopLevelSpec } from "vega-lite";
import { compileSpec, makeView, withFrozenScales } from "./compiled";
import { element } from "./dom";
import { recoloured } from "./palette";
import type { Dataset, Panel, Series } from "./page";
import { visibleRows } from "./rows";
import { currentScheme, isPrinting, onSchemeChange } from "./scheme";
import { withoutEndLabels, withoutSeriesLegends } from "./spec";
import { chartConfig } from "./theme";
import { hideTooltip, tooltipFor } from "./tooltip";

// SVG is sharp and can be copied; beyond this many rows a canvas is what keeps the page quick.
const LARGEST_SVG = 1500;
// What fits on A4 and Letter between the margins, in CSS pixels.
const PRINTED_WIDTH = 640;
// Below this a chart has no room for names beside its curves; page.css shows the legend of the first figure instead.
const NARROW = 480;
const NOBODY: ReadonlySet<string> = new Set();

const near = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) if (entry.isIntersecting) drawSoon(entry.target);
  },
  { rootMargin: "300px" },
);
const widths = new ResizeObserver((entries) => {
  for (const entry of entries) charts.get(entry.target)?.fit(entry.contentRect.width);
});
const charts = new Map<Element, Chart>();
const waiting: Element[] = [];

// One chart a task: the first is seen while the next is made, and scrolling stays smooth.
function drawSoon(chart: Element): void {
  waiting.push(chart);
  setTimeout(() => charts.get(waiting.shift() ?? chart)?.draw());
}

onSchemeChange(() => {
  hideTooltip();
  for (const chart of charts.values()) {
    if (isPrinting()) chart.redraw();
    else chart.refresh();
  }
});

interface WithParameters {
  params?: { name: string; bind?: unknown }[];
  layer?: WithParameters[];
}

// The interval selection bound to the scales, if the spec has one: its zoom can be reset.
function zoomParameter(spec: WithParameters): string | undefined {
  const found = spec.params?.find((param) => param.bind === "scales")?.name;
  return found ?? spec.layer?.map(zoomParameter).find((name) => name !== undefined);
}

function fillsContainer(spec: TopLevelSpec): boolean {
  return "width" in spec && spec.width === "container";
}

export class Chart {
  readonly element: HTMLElement;
  // Called when the chart is zoomed, and when it is no longer.
  onZoom: (zoomed: boolean) => void = () => {};
  private view: View | undefined;
  private shown = 0;
  private hidden = NOBODY;
  // The width it was laid out for. (Vega's own is that of the plot, without the axes.)
  private fitted = 0;
  // The scales are held because every series is hidden.
  private frozen = false;

  constructor(
    readonly panel: Panel,
    private readonly dataset: Dataset,
    readonly series: Series[],
  ) {
    this.element = element("div", { class: "chart", role: "img", "aria-label": panel.description });
    // Room before drawing, so that nothing below moves when the chart comes.
    const height = "height" in this.spec && typeof this.spec.height === "number" ? this.spec.height : 200;
    this.element.style.minHeight = `${height + 50}px`;
    charts.set(this.element, this);
    near.observe(this.element);
  }

  get spec(): TopLevelSpec {
    const view = this.panel.views[this.shown] ?? this.panel.views[0];
    if (view === undefined) throw new Error(`panel ${this.panel.id} has no view`);
    return view.spec;
  }

  get label(): string {
    return this.panel.views[this.shown]?.label ?? "";
  }

  get rows() {
    return visibleRows(this.dataset, this.hidden);
  }

  // The view of that label; a chart that has none stays as it is.
  show(label: string): void {
    const place = this.panel.views.findIndex((view) => view.label === label);
    if (place < 0 || place === this.shown) return;
    this.shown = place;
    this.redraw();
  }

  filter(hidden: ReadonlySet<string>): void {
    this.hidden = hidden;
    if (this.view === undefined) return;
    const rows = this.rows;
    if (this.frozen || rows.length === 0) this.redraw();
    else void this.view.data("rows", rows).runAsync();
  }

  // Draws unless it is drawn already.
  draw(): void {
    if (this.view !== undefined || this.element.clientWidth === 0) return;
    try {
      this.make();
    } catch (error) {
      console.error(error);
      this.element.replaceChildren(element("p", { class: "notes" }, `This chart could not be drawn: ${String(error)}`));
    }
  }

  // Draws afresh if it was drawn, or if paper waits for it.
  redraw(): void {
    if (this.view === undefined && !isPrinting()) return;
    this.forget();
    this.draw();
  }

  // Draws afresh when it is near, which may be now.
  refresh(): void {
    this.forget();
    near.unobserve(this.element);
    near.observe(this.element);
  }

  fit(width: number): void {
    if (this.view === undefined || !fillsContainer(this.spec) || width === 0 || isPrinting()) return;
    if (Math.abs(this.fitted - width) < 1) return;
    this.fitted = width;
    void this.view.width(width).runAsync();
  }

  private forget(): void {
    this.view?.finalize();
    this.view = undefined;
    this.onZoom(false);
  }

  private make(): void {
    const rows = this.rows;
    // Where there are buttons, they are the legend of the series.
    const bare = this.series.length > 0 ? withoutSeriesLegends(this.spec) : this.spec;
    const narrow = !isPrinting() && this.element.clientWidth < NARROW;
    let spec = compileSpec(recoloured(narrow ? withoutEndLabels(bare) : bare, currentScheme()), chartConfig(currentScheme()));
    this.frozen = rows.length === 0 && this.dataset.rows.length > 0;
    if (this.frozen) spec = withFrozenScales(spec, visibleRows(this.dataset, NOBODY));
    const view = makeView(spec, rows, this.dataset.rows.length > LARGEST_SVG ? "canvas" : "svg");
    view.tooltip(tooltipFor(this.dataset.columns, this.series)).initialize(this.element);
    if (isPrinting() && fillsContainer(this.spec)) view.width(PRINTED_WIDTH);
    view.run();
    // Vega makes its container a graphics-document; with its own labels off, an image with a description says more.
    this.element.setAttribute("role", "img");
    this.element.setAttribute("aria-label", this.panel.description);
    this.element.removeAttribute("aria-roledescription");
    const zoom = zoomParameter(this.spec as WithParameters);
    if (zoom !== undefined && !this.frozen) {
      view.addSignalListener(zoom, (_name, value: object) => this.onZoom(Object.keys(value ?? {}).length > 0));
    }
    this.view = view;
    this.element.closest<HTMLElement>("[data-panel]")?.setAttribute("data-view", this.label);
    this.fitted = this.element.clientWidth;
    widths.observe(this.element);
  }
}
