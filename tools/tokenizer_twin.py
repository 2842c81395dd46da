"""The pipeline of a tokenizer.json, written a second time in Python from its published definition.

The C++ tokenizer is compared with this one: tools/make_tokenizer_golden.py makes test files with it. It is written for
clarity, not for speed, and needs the module `regex` (Debian: python3-regex). A word is a pair (text, at_start), where
at_start says that the word begins where the whole text begins.
"""

import functools
import unicodedata

import regex

SPACE = "\u2581"


# ---- characters


def is_space(c):
    return regex.match(r"\p{White_Space}", c) is not None


def is_word(c):
    return regex.match(r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]", c) is not None


def is_punctuation(c):
    return unicodedata.category(c)[0] == "P" or c in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


def is_numeric(c):
    return unicodedata.category(c)[0] == "N"


def is_cjk(c):
    blocks = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
              (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)]
    return any(first <= ord(c) <= last for first, last in blocks)


@functools.cache
def byte_alphabet():
    """GPT-2's alphabet: printable bytes stand for themselves, the others for U+0100 and following."""
    printable = set(range(0x21, 0x7F)) | set(range(0xA1, 0xAD)) | set(range(0xAE, 0x100))
    rest = [b for b in range(256) if b not in printable]
    return {b: chr(b) if b in printable else chr(0x100 + rest.index(b)) for b in range(256)}


def to_bytes(text):
    return "".join(byte_alphabet()[b] for b in text.encode())


GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


@functools.cache
def compiled(pattern):
    # ^ and $ match at every line, as in Oniguruma's Ruby syntax; V1 allows sets inside sets.
    return regex.compile(pattern, regex.V1 | regex.MULTILINE)


# Oniguruma's \w has the superscripts and fractions of Latin-1, but no joiners; its \h is a hexadecimal digit.
WORD = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u00b2\u00b3\u00b9\u00bc-\u00be]"
ONIGURUMA = {"w": WORD, "h": "[0-9a-fA-F]", "b": f"(?:(?<={WORD})(?!{WORD})|(?<!{WORD})(?={WORD}))"}


def pattern_of(node):
    pattern = node["pattern"]
    if "String" in pattern:
        return compiled(regex.escape(pattern["String"]))
    return compiled(regex.sub(r"\\(.)", lambda m: ONIGURUMA.get(m[1], m[0]), pattern["Regex"]))


# ---- normalizers: text to text


def bert_normalize(node, text):
    if node.get("clean_text", True):
        dropped = ("Cc", "Cf", "Co", "Cs")  # unassigned code points are kept
        kept = [c for c in text if c in "\t\n\r" or not (c in "\0\ufffd" or unicodedata.category(c) in dropped)]
        text = "".join(" " if is_space(c) else c for c in kept)
    if node.get("handle_chinese_chars", True):
        text = "".join(f" {c} " if is_cjk(c) else c for c in text)
    strip = node.get("strip_accents")
    if strip or (strip is None and node.get("lowercase", True)):
        text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
    return "".join(c.lower() for c in text) if node.get("lowercase", True) else text


def nmt(text):
    dropped = {*range(1, 9), 0xB, *range(0xE, 0x20), 0x7F, 0x8F, 0x9F}
    spaces = {9, 0xA, 0xC, 0xD, 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD}
    return "".join(" " if ord(c) in spaces else c for c in text if ord(c) not in dropped)


def strip(text, left, right):
    while left and text and is_space(text[0]):
        text = text[1:]
    while right and text and is_space(text[-1]):
        text = text[:-1]
    return text


def normalize(node, text):
    if node is None:
        return text
    kind = node["type"]
    if kind == "Sequence":
        for step in node["normalizers"]:
            text = normalize(step, text)
        return text
    if kind in ("NFC", "NFD", "NFKC", "NFKD"):
        return unicodedata.normalize(kind, text)
    if kind == "Lowercase":
        return "".join(c.lower() for c in text)
    if kind == "StripAccents":
        return "".join(c for c in text if unicodedata.category(c)[0] != "M")
    if kind == "Strip":
        return strip(text, node["strip_left"], node["strip_right"])
    if kind == "Prepend":
        return node["prepend"] + text if text else text
    if kind == "Replace":
        out, last = "", 0
        for first, end in matches(pattern_of(node))(text):
            out += text[last:first] + node["content"]
            last = end
        return out + text[last:]
    if kind == "BertNormalizer":
        return bert_normalize(node, text)
    if kind == "Nmt":
        return nmt(text)
    if kind == "ByteLevel":
        return to_bytes(text)
    raise ValueError(f"normalizer {kind}")


# ---- pre-tokenizers: words to words


def split(text, ranges, behavior, invert=False):
    """Cuts [(start, text)] at matches [(first, end)], which are then kept apart, removed or joined to a neighbour."""
    parts, last = [], 0
    for first, end in ranges:
        if first > last:
            parts.append([last, first, invert])
        parts.append([first, end, not invert])
        last = end
    if last < len(text):
        parts.append([last, len(text), invert])
    if behavior == "Removed":
        parts = [p for p in parts if not p[2]]
    elif behavior in ("MergedWithPrevious", "MergedWithNext", "Contiguous"):
        backwards = behavior == "MergedWithNext"
        joined, previous = [], False
        for first, end, match in reversed(parts) if backwards else parts:
            join = match == previous if behavior == "Contiguous" else match and not previous
            if join and joined:
                joined[-1] = [first, joined[-1][1]] if backwards else [joined[-1][0], end]
            else:
                joined.append([first, end])
            previous = match
        parts = reversed(joined) if backwards else joined
    elif behavior != "Isolated":
        raise ValueError(behavior)
    return [(p[0], text[p[0]:p[1]]) for p in parts if p[1] > p[0]]


def split_at(words, ranges_of, behavior, invert=False):
    return [(part, at_start and first == 0) for text, at_start in words
            for first, part in split(text, ranges_of(text), behavior, invert)]


def each(predicate):
    return lambda text: [(i, i + 1) for i, c in enumerate(text) if predicate(c)]


def matches(pattern):
    """Spans of the matches; empty ones count, but not directly behind another."""
    def find(text):
        spans = []
        for m in pattern.finditer(text):
            if m.end() > m.start() or not spans or spans[-1][1] != m.start():
                spans.append(m.span())
        return spans

    return find


def metaspace(node, words):
    mark = node.get("replacement", SPACE)
    scheme = node.get("prepend_scheme", "always")
    if node.get("add_prefix_space") is False:
        scheme = "never"
    out = []
    for text, at_start in words:
        text = text.replace(" ", mark)
        if not text.startswith(mark) and (scheme == "always" or (scheme == "first" and at_start)):
            text = mark + text
        out.append((text, at_start))
    if node.get("split") is False:
        return out
    return split_at(out, each(lambda c: c == mark), "MergedWithNext")


def byte_level(node, words):
    if node.get("add_prefix_space", True):
        words = [(text if text.startswith(" ") else " " + text, at_start) for text, at_start in words]
    if node.get("use_regex", True):
        words = split_at(words, matches(compiled(GPT2)), "Isolated")
    return [(to_bytes(text), at_start) for text, at_start in words]


def pre_tokenize(node, words):
    if node is None:
        return words
    kind = node["type"]
    if kind == "Sequence":
        for step in node["pretokenizers"]:
            words = pre_tokenize(step, words)
        return words
    if kind == "Split":
        return split_at(words, matches(pattern_of(node)), node["behavior"], node.get("invert", False))
    if kind == "ByteLevel":
        return byte_level(node, words)
    if kind == "Metaspace":
        return metaspace(node, words)
    if kind == "Digits":
        return split_at(words, each(is_numeric), "Isolated" if node["individual_digits"] else "Contiguous")
    if kind == "Punctuation":
        return split_at(words, each(is_punctuation), node.get("behavior", "Isolated"))
    if kind == "Whitespace":
        return split_at(words, matches(compiled(r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+|"
                                                r"[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}\s]+")),
                        "Removed", True)
    if kind == "WhitespaceSplit":
        return split_at(words, each(is_space), "Removed")
    if kind == "BertPreTokenizer":
        return split_at(split_at(words, each(is_space), "Removed"), each(is_punctuation), "Isolated")
    if kind == "CharDelimiterSplit":
        return split_at(words, each(lambda c: c == node["delimiter"]), "Removed")
    if kind == "FixedLength":
        n = node["length"]
        return split_at(words, lambda text: [(i, min(i + n, len(text))) for i in range(0, len(text), n)], "Isolated")
    raise ValueError(f"pre-tokenizer {kind}")


# ---- models: a word to ids


def merges_of(model):
    return [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in model["merges"]]


class BytePairs:
    def __init__(self, model):
        self.model, self.vocab = model, model["vocab"]
        self.prefix = model.get("continuing_subword_prefix") or ""
        self.suffix = model.get("end_of_word_suffix") or ""
        self.rules = {}
        for rank, (a, b) in enumerate(merges_of(model)):
            self.rules[self.vocab[a], self.vocab[b]] = (rank, self.vocab[a + b[len(self.prefix):]])

    def symbols(self, word):
        out, unknown = [], []  # unknown: those not yet in `out`
        for i, c in enumerate(word):
            c = (self.prefix if i > 0 else "") + c + (self.suffix if i == len(word) - 1 else "")
            if c in self.vocab:
                out += [*unknown, self.vocab[c]]
                unknown = []
                continue
            as_bytes = [self.vocab.get(f"<0x{b:02X}>") for b in c.encode()]
            if self.model.get("byte_fallback") and None not in as_bytes:
                out += as_bytes
            elif self.model.get("unk_token") is not None:
                if unknown and not self.model.get("fuse_unk"):
                    out += unknown
                unknown = [self.vocab[self.model["unk_token"]]]
        return out + unknown

    def encode(self, word):
        if self.model.get("ignore_merges") and word in self.vocab:
            return [self.vocab[word]]
        ids = self.symbols(word)
        while True:
            found = [(self.rules[pair], i) for i, pair in enumerate(zip(ids, ids[1:])) if pair in self.rules]
            if not found:
                return ids
            (_, result), i = min(found, key=lambda f: (f[0][0], f[1]))
            ids[i:i + 2] = [result]


class Words:
    def __init__(self, model):
        self.vocab, self.unknown = model["vocab"], model["unk_token"]

    def encode(self, word):
        return [self.vocab[word if word in self.vocab else self.unknown]]


class WordPieces(Words):
    def __init__(self, model):
        super().__init__(model)
        self.prefix = model.get("continuing_subword_prefix", "##")
        self.longest = model.get("max_input_chars_per_word", 100)

    def encode(self, word):
        ids, first = [], 0
        while first < len(word) <= self.longest:
            ends = range(len(word), first, -1)
            pieces = ((self.prefix if first else "") + word[first:end] for end in ends)
            found = next(((end, p) for end, p in zip(ends, pieces) if p in self.vocab), None)
            if found is None:
                return [self.vocab[self.unknown]]
            ids.append(self.vocab[found[1]])
            first = found[0]
        return ids if len(word) <= self.longest else [self.vocab[self.unknown]]


class Unigram:
    def __init__(self, model):
        self.model = model
        self.vocab, self.scores = {}, {}
        for i, (piece, score) in enumerate(model["vocab"]):
            self.vocab[piece], self.scores[piece] = i, score
        self.longest = max(map(len, self.vocab))
        self.unknown_score = min(self.scores.values()) - 10

    def encode(self, word):
        best = [(0.0, 0, None)] + [(None, 0, None)] * len(word)  # score, where the last piece begins, its id
        for first in range(len(word)):
            single = False
            for end in range(first + 1, min(len(word), first + self.longest) + 1):
                piece = word[first:end]
                if piece not in self.vocab:
                    continue
                single = single or end == first + 1
                score = best[first][0] + self.scores[piece]
                if best[end][0] is None or score > best[end][0]:
                    best[end] = (score, first, self.vocab[piece])
            if not single:
                score = best[first][0] + self.unknown_score
                if best[first + 1][0] is None or score > best[first + 1][0]:
                    best[first + 1] = (score, first, None)
        pieces, end = [], len(word)
        while end > 0:
            _, first, number = best[end]
            number = None if number == self.model["unk_id"] else number
            if number is None and pieces and pieces[0][0] is None:
                pieces[0] = (None, word[first:end] + pieces[0][1])  # neighbouring unknown characters are one piece
            else:
                pieces.insert(0, (number, word[first:end]))
            end = first
        ids = []
        for number, text in pieces:
            as_bytes = [self.vocab.get(f"<0x{b:02X}>") for b in text.encode()]
            if number is None and text in self.vocab:
                ids.append(self.vocab[text])
            elif number is None and self.model.get("byte_fallback") and None not in as_bytes:
                ids += as_bytes
            else:
                ids.append(self.model["unk_id"] if number is None else number)
        return ids


MODELS = {"BPE": BytePairs, "WordLevel": Words, "WordPiece": WordPieces, "Unigram": Unigram}


# ---- the whole


def around(node, ids):
    """Adds the special tokens of a post-processor."""
    if node is None or node["type"] == "ByteLevel":
        return ids
    if node["type"] == "Sequence":
        for step in node["processors"]:
            ids = around(step, ids)
        return ids
    if node["type"] in ("BertProcessing", "RobertaProcessing"):
        return [node["cls"][1], *ids, node["sep"][1]]
    out = []
    for item in node["single"]:
        out += ids if "Sequence" in item else node["special_tokens"][item["SpecialToken"]["id"]]["ids"]
    return out


class Tokenizer:
    def __init__(self, file):
        self.file = file
        self.model = MODELS[file["model"]["type"]](file["model"])
        tokens = file.get("added_tokens", [])
        self.plain = [t for t in tokens if not t["normalized"]]
        self.normalized = [{**t, "content": normalize(file.get("normalizer"), t["content"])}
                           for t in tokens if t["normalized"]]

    @staticmethod
    def cut(text, tokens):
        """[(text, where it begins) or id]: at each place the longest token counts."""
        out, first, at = [], 0, 0  # first: of what is not yet in `out`
        while at < len(text):
            found = max((t for t in tokens if t["content"] and text.startswith(t["content"], at)),
                        key=lambda t: len(t["content"]), default=None)
            if found is None:
                at += 1
                continue
            begin, end = at, at + len(found["content"])
            at = end
            if found.get("single_word") and ((begin > 0 and is_word(text[begin - 1])) or
                                             (end < len(text) and is_word(text[end]))):
                continue
            if found.get("lstrip"):
                begin = max(first, len(strip(text[:begin], False, True)))
            if found.get("rstrip"):
                end = len(text) - len(strip(text[end:], True, False))
            if begin > first:
                out.append((text[first:begin], first))
            out.append(found["id"])
            first = end
        if first < len(text):
            out.append((text[first:], first))
        return out

    def words(self, text, at_start=True):
        return [w for w, _ in pre_tokenize(self.file.get("pre_tokenizer"), [(text, at_start)] if text else [])]

    def encode(self, text, special=True):
        ids = []
        for part in self.cut(text, self.plain):
            if isinstance(part, int):
                ids.append(part)
                continue
            for piece in self.cut(normalize(self.file.get("normalizer"), part[0]), self.normalized):
                if isinstance(piece, int):
                    ids.append(piece)
                    continue
                for word in self.words(piece[0], part[1] == 0 and piece[1] == 0):
                    ids += self.model.encode(word)
        return around(self.file.get("post_processor"), ids) if special else ids
