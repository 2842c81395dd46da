"""What the tables share."""

VARIANTS = ("full", "san", "san+mlp", "san+skip")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(line.replace("|  |", "| |") for line in lines) + "\n"


def one(rows, **wanted):
    """The one row that has these values; fields that are not named must be absent where they tell rows apart."""
    for key in ("layer", "head", "seed", "sample", "length"):
        wanted.setdefault(key, None)
    found = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    if len(found) != 1:
        raise RuntimeError(f"{len(found)} rows with {wanted}, expected one")
    return found[0]


def minus(text):
    return text.replace("-", "−")

# Trained checkpoints and their inputs.
RXN, LLAMA, KWT, CAPP = (
    f"{{models}}/{name}" for name in ("albert-rxnmapper", "llama-babyllama", "kwt1-speech-bert", "gpt2-capp")
)
INPUTS = {
    RXN: f" --ids {RXN}/input.safetensors",
    LLAMA: f" --ids {LLAMA}/input.safetensors",
    KWT: f" --hidden {KWT}/hidden.safetensors",
    CAPP: " --samples 8 --tokens 64",
}
