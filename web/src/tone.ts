// Good, bad or neither: by a sign and by a colour, never by the colour alone.
import { element } from "./dom";
import type { Tone } from "./page";

const SIGNS: Record<Tone, string> = { good: "✓", bad: "✗", neutral: "•" };

const VERDICTS: [RegExp, Tone][] = [
  [/^(holds|agrees|expected|applies and holds)\b/i, "good"],
  [/^(fails|violated|disagrees|does not agree|unexpected|applies and is violated)\b/i, "bad"],
];

export function sign(tone: Tone): HTMLElement {
  return element("span", { class: "sign", "aria-hidden": "true" }, SIGNS[tone]);
}

export function badge(tone: Tone, text: string): HTMLElement {
  return element("span", { class: `badge ${tone}` }, sign(tone), text);
}

// By the first word.
export function verdictTone(text: string): Tone {
  return VERDICTS.find(([words]) => words.test(text))?.[1] ?? "neutral";
}
