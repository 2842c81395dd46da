// Numbers as people write them: four digits, and powers of ten where zeros would have to be counted.
import { element } from "./dom";
import type { ColumnKind, Value } from "./page";

// `text`, followed by ten to the `power` where there is one.
export interface NumberText {
  text: string;
  power: string;
}

const MISSING = "–";
// Below this magnitude of a logarithm its fraction still gives two digits of the number worth reading.
const LARGEST_EXPONENT_WITH_DIGITS = 1000;

function withMinus(text: string): string {
  return text.replace("-", "−");
}

// No zeros at the end: 0.5980 claims a digit that "up to four" does not.
function significant(value: number, digits: number): string {
  return withMinus(String(Number(value.toPrecision(digits))));
}

function scientific(mantissa: number, exponent: number, digits: number): NumberText {
  const rounded = Number(mantissa.toPrecision(digits));
  // 9.96 rounds to 10: one more power.
  const carried = Math.abs(rounded) >= 10;
  const shown = significant(carried ? rounded / 10 : rounded, digits);
  return { text: shown === "1" ? "10" : `${shown}×10`, power: withMinus(String(exponent + (carried ? 1 : 0))) };
}

export function formatNumber(value: number): NumberText {
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return { text: withMinus(String(value)), power: "" };
  if (size >= 1e-3 && size < 1e5) return { text: significant(value, size >= 1e3 ? 5 : 4), power: "" };
  const [mantissa, exponent] = value.toExponential().split("e");
  return scientific(Number(mantissa), Number(exponent), 4);
}

// The number whose base-10 logarithm is given; it may be far below what a double holds.
export function formatLog10(logarithm: number): NumberText {
  if (logarithm === 0) return { text: "1", power: "" };
  if (Math.abs(logarithm) >= LARGEST_EXPONENT_WITH_DIGITS) return { text: "10", power: withMinus(logarithm.toFixed(1)) };
  if (logarithm >= -3 && logarithm < 4) return { text: significant(10 ** logarithm, 3), power: "" };
  const exponent = Math.floor(logarithm);
  return scientific(10 ** (logarithm - exponent), exponent, 2);
}

export function formatValue(value: Value, kind: ColumnKind): NumberText {
  if (value === null) return { text: MISSING, power: "" };
  if (typeof value === "string") return { text: value, power: "" };
  if (typeof value === "object") return { text: value.text, power: "" };
  return kind === "log10" ? formatLog10(value) : formatNumber(value);
}

export function numberNodes(shown: NumberText): (Node | string)[] {
  return shown.power === "" ? [shown.text] : [shown.text, element("sup", {}, shown.power)];
}

// Numbers as programs write them, 1.5e-05, as people do. Not inside names: std=1e-3 stays.
export function withPowers(text: string): string {
  return text.replace(/(^|[\s(±×<>≤≥≈])([-−]?[0-9]+(?:\.[0-9]+)?)e([-+]?)0*([0-9]+)(?=$|[\s),;:%]|\.(?:\s|$))/g, (_, before: string, mantissa: string, sign: string, power: string) => {
    if (Number(mantissa.replace("−", "-")) === 0) return `${before}0`;
    const digits = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
    return `${before}${digits === "1" ? "" : `${withMinus(digits)}×`}10^${sign === "-" ? "-" : ""}${power}`;
  });
}

// A hyphen before a number that stands by itself is a minus sign: not in names (run-2), ranges (2-3) or powers (10^-5).
export function withMinusSigns(text: string): string {
  return text.replace(/(^|[\s(])-(?=[0-9])/g, "$1−");
}

// Plain text with its powers, written 10^-77, 1e-77 or n^-0.5, as powers.
export function prose(text: string): (Node | string)[] {
  const parts = withMinusSigns(withPowers(text)).split(/\b(10|n)\^([-−+]?[0-9]+(?:\.[0-9]+)?)/);
  return parts.map((part, place) => (place % 3 === 2 ? element("sup", {}, withMinus(part)) : part));
}
