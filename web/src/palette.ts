// Colours in specs and series are chosen for white paper; on dark ground each has a lighter partner.
const PARTNERS: Record<string, string> = {
  "#0072b2": "#56B4E9",
  "#d55e00": "#FF8A3D",
  "#009e73": "#34C79A",
  "#e69f00": "#F2B93B",
  "#aa4499": "#DD88CC",
  "#56b4e9": "#9AD4F5",
  "#8c6d1f": "#D9BC6B",
  "#6b6b6b": "#A8A8A8",
  "#000000": "#F0F0F0",
  "#7b5fd9": "#A892F5",
  "#c2314f": "#F0708A",
  "#5e8f1e": "#97C74F",
  "#2b8f9e": "#5CC3D1",
  "#c46be0": "#DDA0F0",
  "#b05a3c": "#E09A80",
  "#4f6e8f": "#9AB6D1",
  "#e0559a": "#F58FC0",
};

export type Scheme = "light" | "dark";

export function colourFor(colour: string, scheme: Scheme): string {
  return scheme === "light" ? colour : (PARTNERS[colour.toLowerCase()] ?? colour);
}

// A copy of the spec, or any JSON, with every colour of the palette replaced, also those inside expressions.
export function recoloured<Json>(json: Json, scheme: Scheme): Json {
  const replace = (value: unknown): unknown => {
    if (typeof value === "string") return value.replace(/#[0-9a-f]{6}\b/gi, (colour) => colourFor(colour, scheme));
    if (Array.isArray(value)) return value.map(replace);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replace(inner)]));
  };
  return replace(json) as Json;
}
