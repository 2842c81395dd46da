// Charts in the output of a notebook, where this script runs once. Each output leaves the id of its element and a Vega-Lite spec with its
// data in window.rankfallQueue and calls window.rankfallDraw, if it is there yet; so the order of outputs and script does not matter.
import { parse, View } from "vega";
import { expressionInterpreter } from "vega-interpreter";
import type { TopLevelSpec } from "vega-lite";
import { compileSpec } from "./compiled";
import { recoloured, type Scheme } from "./palette";
import { chartConfig } from "./theme";

interface Waiting {
  id: string;
  spec: TopLevelSpec;
}

declare global {
  interface Window {
    rankfallQueue?: Waiting[];
    rankfallDraw?: () => void;
  }
}

// What the notebook is: its background, not the system's choice.
function schemeOf(element: Element): Scheme {
  for (let at: Element | null = element; at !== null; at = at.parentElement) {
    const colour = /rgba?\(([^)]+)\)/.exec(getComputedStyle(at).backgroundColor)?.[1]?.split(",").map(Number);
    if (colour === undefined || colour[3] === 0) continue;
    const [red = 255, green = 255, blue = 255] = colour;
    return 0.3 * red + 0.59 * green + 0.11 * blue < 128 ? "dark" : "light";
  }
  return "light";
}

function draw({ id, spec }: Waiting): void {
  const element = document.getElementById(id);
  if (element === null || element.childElementCount > 0) return;
  element.textContent = "";
  const scheme = schemeOf(element);
  const compiled = compileSpec(recoloured(spec, scheme), chartConfig(scheme));
  const view = new View(parse(compiled, undefined, { ast: true }), { expr: expressionInterpreter, renderer: "svg" });
  void view.initialize(element).hover().runAsync();
}

window.rankfallDraw = () => {
  for (const waiting of (window.rankfallQueue ?? []).splice(0)) {
    try {
      draw(waiting);
    } catch (error) {
      const element = document.getElementById(waiting.id);
      if (element !== null) element.textContent = `This chart could not be drawn: ${String(error)}`;
    }
  }
};
window.rankfallDraw();
