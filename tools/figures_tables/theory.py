"""Tables of theory.md."""

import math
import re

from .common import CAPP, INPUTS, KWT, LLAMA, RXN, table


def audit(program):
    rows = program.rows("audit --trials 100000")
    out = []
    for row in rows:
        if row["metric"] != "audit.statement":
            continue
        claim = row["claim"]
        words = {r["metric"]: r["verdict"] for r in rows if r["claim"] == claim}
        verdict = words["audit.verdict"]
        fails = any(r["status"] == "violated" for r in rows if r["claim"] == claim)
        out.append(
            [
                claim.split()[0].lstrip("0"),
                row["verdict"].replace("|", "\\|"),
                f"{words['audit.source']}; {words['audit.refuted_by']}".replace("|", "\\|"),
                f"**{verdict}**" if fails else verdict,
                minus_signs(words["audit.evidence"]).replace("|", "\\|"),
            ]
        )
    return table(["", "claim", "source; what would refute it", "verdict", "evidence"], out)


def minus_signs(text):
    """Minus signs of numbers, but not those of exponents of ten."""
    return re.sub(r"(?<![\w^])-(?=\d)", "−", text)


def gradient_norms(program):
    """Of prediction.md: the predicted and the measured gradients of a small network."""
    rows = program.rows(
        "theory bert-mini@init --metrics gradient --compare --seeds 5 --tokens 32 --variant full --variant san"
    )

    def value(variant, layer, metric):
        found = [r for r in rows if (r["variant"], r["layer"], r["metric"]) == (variant, layer, metric)]
        if not found or found[0]["mean"] is None:
            return "rounding"
        mean = found[0]["mean"]
        return f"{mean:,.0f}" if mean >= 100 else f"{mean:.2e}" if mean < 1e-4 else f"{mean:#.3g}"

    head = ["layer"]
    columns = []
    for variant in ("full", "san"):
        for projection in ("W_Q", "W_V"):
            head += [f"{variant}, {projection}: predicted", "measured"]
            columns += [(variant, f"gradient.{projection}"), (variant, f"measured.gradient.{projection}")]
    return table(head, [[str(n), *(value(v, n, m) for v, m in columns)] for n in range(1, 5)])


BOUNDS = [
    ("BERT-base, random, full", "bounds bert-base@init --samples 2 --variant full"),
    ("the same, san", "bounds bert-base@init --samples 2 --variant san"),
    ("ALBERT, trained", f"bounds {RXN}{INPUTS[RXN]} --variant full --samples 3"),
    ("speech BERT, trained", f"bounds {KWT}{INPUTS[KWT]} --variant full --samples 3"),
    ("Llama, trained", f"bounds {LLAMA}{INPUTS[LLAMA]} --variant full"),
    ("GPT-2 (capp), trained", f"bounds {CAPP} --variant full --samples 3 --tokens 24"),
]


class Claim:
    """What became of a bound: how many cases met its condition, how many say something, and how close it came."""

    def __init__(self, rows, name):
        self.cases = {}
        self.reasons = set()
        for row in rows:
            if row["metric"] == "theorem.cases" and row["claim"] == name:
                self.cases[row["status"]] = self.cases.get(row["status"], 0) + int(row["mean"])
                self.reasons.add(row["reason"])
        found = [row["mean"] for row in rows if row["metric"] == "theorem" and row["claim"] == name]
        self.best = found[0] if found else None
        self.n = sum(self.cases.values())
        self.applies = self.n - self.cases.get("not_applicable", 0)

    def count(self, number):
        if self.n == 0 or (self.applies == 0 and self.reasons & {"different_keys", "norm", "no_skip"}):
            return "–"
        return f"{number} of {self.n}" if number else "never"

    def met(self):
        return self.count(self.applies)

    def informative(self):
        return self.count(self.cases.get("holds", 0))

    def closest(self):
        return "–" if self.best is None or self.applies == 0 else power(self.best)


def power(log10):
    return f"{10**log10:.2f}" if log10 > -2 else f"10^{log10:.1f}".replace("-", "−")


def span(rows, metric):
    values = [row["mean"] for row in rows if row["metric"] == metric]
    return f"{min(values):.2f} to {max(values):.2f}" if values else "–"


def bounds(program):
    all_rows = [program.rows(command) for _, command in BOUNDS]
    lines = []

    def add(title, cell):
        lines.append([title] + [cell(rows) for rows in all_rows])

    add("T2.2: range ≤ 3.6254, where it is proved", lambda rows: Claim(rows, "T2.2").met())
    add("T2.3: range ≤ 1.2564, as published", lambda rows: Claim(rows, "T2.3").met())
    for name in ("T2.2", "T2.3", "T2.2_proved", "certified", "dobrushin"):
        add(f"{name}: informative", lambda rows: Claim(rows, name).informative())
        add("... measured/bound at best", lambda rows: Claim(rows, name).closest())
    for name in ("lower", "lower_data", "lower_spectral"):
        add(f"{name}: positive", lambda rows: Claim(rows, name).informative())
        add("... bound/measured at best", lambda rows: Claim(rows, name).closest())
    add("lower_estimate (no bound)/measured, at most", lambda rows: Claim(rows, "lower_estimate").closest())
    for kind in ("measured", "proved", "claimed"):
        add(f"lambda.{kind}", lambda rows: span(rows, f"lambda.{kind}"))

    def sharpens(rows):
        shares = [row["mean"] for row in rows if row["metric"] == "sharpening.share"]
        return f"{sum(share > 0.5 for share in shares)} of {len(shares)}" if shares else "–"

    add("heads that sharpen, in most samples", sharpens)
    return table(["", *(name for name, _ in BOUNDS)], lines)


LIMITED = ("qwen3", "olmo2", "gemma2", "gemma3")


def weights_alone(program):
    lines = []
    for family in LIMITED:
        folder = f"tests/data/families/{family}"
        rows = program.rows(f"bounds {folder} --ids {folder}/input.safetensors --variant full")
        limits = [row["mean"] for row in rows if row["metric"] == "logit_limit"]
        best = min(
            (row["mean"], measured["mean"])
            for row in rows
            if row["metric"] == "log10_bound.dobrushin_weights"
            for measured in rows
            if (measured["metric"], measured["layer"], measured["head"])
            == ("log10_measured.dobrushin_weights", row["layer"], row["head"])
        )
        lines.append(
            [
                family,
                f"{min(limits):.1f} to {max(limits):.1f}",
                f"10^{math.log10(-math.expm1(best[0] * math.log(10))):.1f}".replace("-", "−"),
                f"{1 - 10 ** best[1]:.3f}",
            ]
        )
    return table(["family", "B", "1 − bound, at best", "1 − δ(P), measured there"], lines)
