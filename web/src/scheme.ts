// Light or dark: what the reader chose, else what the system says; paper is always light.
import type { Scheme } from "./palette";

export const CHOICES = ["auto", "light", "dark"] as const;

const systemIsDark = window.matchMedia("(prefers-color-scheme: dark)");
const listeners: (() => void)[] = [];
let chosen: (typeof CHOICES)[number] = "auto";
let printing = false;
let scheme: Scheme = "light";

function update(): void {
  const wanted = chosen === "auto" ? (systemIsDark.matches ? "dark" : "light") : chosen;
  scheme = printing ? "light" : wanted;
  document.documentElement.dataset["scheme"] = scheme;
  for (const listener of listeners) listener();
}

export function currentScheme(): Scheme {
  return scheme;
}

export function isPrinting(): boolean {
  return printing;
}

export function chooseScheme(place: number): void {
  chosen = CHOICES[place] ?? "auto";
  update();
}

// Calls when the scheme changes and before and after printing.
export function onSchemeChange(listener: () => void): void {
  listeners.push(listener);
}

export function watchScheme(): void {
  systemIsDark.addEventListener("change", update);
  for (const event of ["beforeprint", "afterprint"]) {
    window.addEventListener(event, () => {
      printing = event === "beforeprint";
      update();
    });
  }
  update();
}
