// Good, bad or neither: by a sign and by a colour, never by the colour alone.
import { element } from "./dom";
import type { Tone } from "./page";

const SIGNS: Record<Tone, string> = { good: "✓", warning: "!", bad: "✗", neutral: "•" };

export function sign(tone: Tone): HTMLElement {
  return element("span", { class: "sign", "aria-hidden": "true" }, SIGNS[tone]);
}

export function badge(tone: Tone, text: string): HTMLElement {
  return element("span", { class: `badge ${tone}` }, sign(tone), text);
}
