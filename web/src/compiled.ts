// From a Vega-Lite spec to a Vega view that evaluates no code: expressions are walked as syntax trees, as the page's policy demands.
import { parse, View, type Legend, type Mark, type Renderers, type Spec } from "vega";
import { expressionInterpreter } from "vega-interpreter";
import { compile, type Config, type TopLevelSpec } from "vega-lite";
import type { Row } from "./rows";

// Vega-Lite's `aria` does not reach every kind of mark; the chart's element describes the whole.
function withoutAria(marks: Mark[]): Mark[] {
  return marks.map((mark) => ("marks" in mark && mark.marks ? { ...mark, aria: false, marks: withoutAria(mark.marks) } : { ...mark, aria: false }));
}

// What has dashes is shown as a piece of line: dashes around a small symbol are a smudge.
function withLine(legend: Legend): Legend {
  if (legend.strokeDash === undefined) return legend;
  const { fill, shape: _shape, size: _width, encode, ...rest } = legend;
  const stroke = legend.stroke ?? fill;
  return {
    ...rest,
    ...(stroke === undefined ? {} : { stroke }),
    encode: { ...encode, symbols: {} },
    symbolType: "stroke",
    symbolSize: 500,
  } as Legend;
}

export function compileSpec(spec: TopLevelSpec, config: Config): Spec {
  const compiled = compile(spec, { config }).spec;
  return { ...compiled, marks: withoutAria(compiled.marks ?? []), legends: (compiled.legends ?? []).map(withLine) };
}

export function makeView(spec: Spec, rows: Row[], renderer: Renderers | "none"): View {
  const view = new View(parse(spec, undefined, { ast: true }), { expr: expressionInterpreter, renderer: renderer as Renderers });
  return view.data("rows", rows);
}

// The spec with its scales held at the domains that `rows` give: the axes stay when no row is left.
export function withFrozenScales(spec: Spec, rows: Row[]): Spec {
  const view = makeView(spec, rows, "none").run();
  const scales = (spec.scales ?? []).map((scale) => {
    const domain = (view.scale(scale.name) as { domain(): unknown[] }).domain();
    return { ...scale, domain, domainRaw: undefined, zero: undefined, nice: undefined };
  });
  view.finalize();
  return { ...spec, scales } as Spec;
}
