"""Tables of theory.md."""

import re

from .common import table


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
