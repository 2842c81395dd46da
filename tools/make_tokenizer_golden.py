"""Makes tests/data/tokenizers/families: small tokenizers with the pipelines of the families, texts, and their ids.

    python3 tools/make_tokenizer_golden.py tests/data/tokenizers/families

Pipelines and added tokens are those of the published tokenizer.json of each family; vocabularies are trained here on a
few lines of text. Ids come from tools/tokenizer_twin.py. Files of a family are read as a model's directory is; stages.json
has one tokenizer for each stage, whose vocabulary is the words that the stage gives.
"""

import collections
import itertools
import json
import pathlib
import sys

import tokenizer_twin as twin

SPACE = twin.SPACE

TRAINING = """
Attention is not all you need: pure attention loses rank doubly exponentially with depth.
The output of a self-attention network is a sum over paths, and each path is a sequence of attention heads.
Without skip connections or multi-layer perceptrons the output converges to a rank-1 matrix; the tokens become identical.
It's what we've seen, they're what you'd expect, and I'm sure he'll say they don't: IT'S SO, WE'LL SEE.
In 2021, 12 layers of 768 channels had 110,000,000 parameters; 3.14159 and 2.71828 are not whole numbers, 1e-5 is small.
for (int i = 0; i < n; ++i) {\n    sum += x[i] * w[i];\n    if (sum > 1000) return sum;\n}\n\n\n
def measure(model, text):\n\tids = model.tokenizer(text)\n\treturn [norm(x - x.mean(axis=0)) for x in model(ids)]\n
Les réseaux de neurones sans connexions résiduelles perdent leur rang; c'est déjà l'été à la forêt.
Die Größe der Aufmerksamkeit fällt doppelt exponentiell mit der Tiefe, und über Wörter lässt sich streiten.
Внимание это не всё, что вам нужно: ранг падает с глубиной сети. Внимание, внимание.
注意力不是你所需要的一切，纯注意力随着深度以双指数速度失去秩。注意力机制。
アテンションだけでは足りない。深さとともに、ランクは急速に失われます。
주의는 필요한 전부가 아니다. 깊이가 늘면 순위를 잃는다.
الانتباه ليس كل ما تحتاجه، العمق يفقد الرتبة।  ध्यान ही सब कुछ नहीं है।
"""

TEXTS = [
    "",
    " ",
    "  ",
    "\n",
    "\t\n  \n",
    "a",
    " a",
    "Attention is not all you need.",
    "  leading and trailing  ",
    "runs of     spaces,\ttabs\t\tand\n\nnew\r\nlines \n \n\n end",
    "It's they're I'M he'LL don't 'S we'Ve 'tis o'clock ''quoted''",
    "2021 12 768 110,000,000 3.14159 1e-5 x2y33z444 \u0663\u0664\u0665 \u00bd \u00b2 \u2167 12345678901234567890",
    "注意力不是一切。アテンション　カナ 주의는 全角ＡＢＣ１２３",
    "emoji \U0001F600\U0001F468\u200D\U0001F469\u200D\U0001F467 \U0001F1E9\U0001F1EA \u2764\uFE0F!",
    "combining: e\u0301 n\u0303 A\u030A \u1e9b\u0323 \u0958 \ufb01 \u01c4 \u1109\u1161\u11a8 \uac01",
    "İstanbul STRASSE Straße ΑΣΣ \u017ft 'ſ \u212a",
    "control \x01\x02\x7f\x80\x85\x9f\u200b\u200e\ufeff\ufffd\u00ad chars \x0b\x0c\x1c\x1f",
    "spaces \u00a0\u2003\u3000\u2028\u2029\u1680 end\u00a0",
    "Внимание! الانتباه، ध्यान है। \u06d4 … 。，、",
    "snake_case camelCase UPPERCase __init__ a/b\\c #include <x.h> {}[]()<>|||~`^ sumIt sumit2 (SUMIT) user1 users user",
    "for (int i = 0; i < n; ++i) {\n    sum += x[i];\n\treturn;\n}\n",
    "\u2581 mark \u2581\u2581a b\u2581",
    "<s>a</s> <unk> <pad>  x <|endoftext|>  y<|endoftext|><bos>z\n<eos>",
    "[CLS] a [MASK] b[SEP][PAD]  [UNK]",
    "<|im_start|>user\nhi<|im_end|> \n<|begin_of_text|> <|eot_id|>\n<think> x</think>[INST] y [/INST]",
    "<|user|>\n hi <|end|> \n<|assistant|>  <|padding|> |||PHONE_NUMBER||| \u0120a \u010a",
    "<0x0A> <0xE2> \\n < s > <S>",
    "\u00e9\u00c9 \U00010348 \U0001D54F \U000E0001",
    "a" * 70 + " " * 40 + "1" * 30 + "!" * 20 + "\n" * 12 + "e\u0301" * 6,
    "The output converges; tokens become identical. 注意力 Wörter über x[i] = 3.14\n" * 8,
]

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
          r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|"
          r"\s*[\r\n]+|\s+(?!\S)|\s+")
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
CLIP = (r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+")


# ---- training


def train(file, vocab, n_merges):
    """Byte-pair rules for the words of the training text, added to `vocab`; ties go to the smaller pair."""
    prefix = file["model"].get("continuing_subword_prefix") or ""
    suffix = file["model"].get("end_of_word_suffix") or ""
    tokenizer = twin.Tokenizer({**file, "added_tokens": [], "model": {"type": "WordLevel", "vocab": {}, "unk_token": ""}})
    counts = collections.Counter()
    for line in TRAINING.split("\n"):
        for part in (line, line + "\n"):
            text = twin.normalize(file.get("normalizer"), part)
            counts.update(tokenizer.words(text) if text else [])
    if file["model"].get("byte_fallback"):  # without a pre-tokenizer a word is a line: train on its words
        shorter = collections.Counter()
        for line, n in counts.items():
            for word in line.replace(SPACE, " " + SPACE).split(" "):
                shorter[word] += n
        counts = shorter
    words = {}
    for word, n in counts.items():
        symbols = [(prefix if i else "") + c + (suffix if i == len(word) - 1 else "") for i, c in enumerate(word)]
        if all(ord(c) < 0x3000 or ord(c) % 3 for c in word):  # some characters remain unknown
            words[word] = (symbols, n)
    for symbols, _ in words.values():
        for symbol in symbols:
            vocab.setdefault(symbol, len(vocab))
    merges = []
    while len(merges) < n_merges:
        pairs = collections.Counter()
        for symbols, n in words.values():
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] += n
        if not pairs:
            break
        pair = min(pairs, key=lambda p: (-pairs[p], p))
        joined = pair[0] + pair[1][len(prefix):]
        merges.append(pair)
        vocab.setdefault(joined, len(vocab))
        for symbols, _ in words.values():
            i = 0
            while i + 1 < len(symbols):
                if (symbols[i], symbols[i + 1]) == pair:
                    symbols[i:i + 2] = [joined]
                i += 1
    return merges


# ---- pieces of files


def added(content, special=True, normalized=False, lstrip=False, rstrip=False, single_word=False):
    return {"id": None, "content": content, "single_word": single_word, "lstrip": lstrip, "rstrip": rstrip,
            "normalized": normalized, "special": special}


def byte_level(add_prefix_space=False, use_regex=True):
    return {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": True, "use_regex": use_regex}


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def words(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def replace(pattern, content, kind="String"):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def template(*items):
    """Items are names of special tokens, or None for the text."""
    return {"type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "A", "type_id": 0}} if i is None else
                       {"SpecialToken": {"id": i, "type_id": 0}} for i in items],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {i: {"id": i, "ids": None, "tokens": [i]} for i in items if i is not None}}


LLAMA_NORMALIZER = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": SPACE}, replace(" ", SPACE)]}


def runs(character, first, last):
    return [added(character * n, special=False, normalized=True) for n in range(last, first - 1, -1)]


def build(first, tokens, behind=(), n_merges=420, bytes_as_tokens=False, pairs=False, normalizer=None, pre_tokenizer=None,
          post_processor=None, **model):
    """A tokenizer.json: `first` are added tokens with the first ids, `tokens` is the model's initial alphabet or None for
    bytes, `behind` are added tokens behind the model's vocabulary."""
    file = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer, "post_processor": post_processor, "decoder": None,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                      **model}}
    vocab = {}
    for token in first:
        token["id"] = vocab.setdefault(token["content"], len(vocab))
    if bytes_as_tokens:
        for byte in range(256):
            vocab.setdefault(f"<0x{byte:02X}>", len(vocab))
    for token in tokens if tokens is not None else [twin.byte_alphabet()[b] for b in range(256)]:
        vocab.setdefault(token, len(vocab))
    merges = train(file, vocab, n_merges)
    for i, token in enumerate(behind):
        token["id"] = len(vocab) + i
    file["added_tokens"] = [*first, *behind]
    file["model"]["vocab"] = vocab
    file["model"]["merges"] = [list(m) for m in merges] if pairs else [" ".join(m) for m in merges]
    ids = {**vocab, **{t["content"]: t["id"] for t in file["added_tokens"]}}

    def fill(node):
        for step in node.get("processors", []):
            fill(step)
        for name, token in node.get("special_tokens", {}).items():
            token["ids"] = [ids[name]]
        for key in ("cls", "sep"):
            if key in node:
                node[key][1] = ids[node[key][0]]

    if post_processor:
        fill(post_processor)
    return file


def families():
    sentencepiece = dict(bytes_as_tokens=True, byte_fallback=True, fuse_unk=True, unk_token="<unk>")
    yield "gpt_neox", build(
        [added("<|endoftext|>"), added("<|padding|>")], None, runs(" ", 2, 24), normalizer={"type": "NFC"},
        pre_tokenizer=byte_level(), post_processor=byte_level(True)), {}
    yield "mistral", build(
        [added("<unk>"), added("<s>"), added("</s>")], [], pre_tokenizer=None, normalizer=LLAMA_NORMALIZER,
        post_processor=template("<s>", None), **sentencepiece), {"add_bos_token": True, "bos_token": "<s>"}
    yield "mistral-v3", build(
        [added(t) for t in ("<unk>", "<s>", "</s>", "[INST]", "[/INST]")], [],
        pre_tokenizer={"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "first", "split": False},
        post_processor=template("<s>", None), pairs=True, **sentencepiece), {"bos_token": {"content": "<s>"}}
    yield "mistral-tekken", build(
        [added(t) for t in ("<unk>", "<s>", "</s>", "[INST]", "[/INST]")], None, ignore_merges=True, pairs=True,
        pre_tokenizer=words(split(TEKKEN), byte_level(use_regex=False)), post_processor=template("<s>", None)), {}
    yield "qwen2", build(
        [], None, [added("<|endoftext|>"), added("<|im_start|>"), added("<|im_end|>")], normalizer={"type": "NFC"},
        pre_tokenizer=words(split(QWEN2), byte_level(use_regex=False)), post_processor=byte_level(),
        continuing_subword_prefix="", end_of_word_suffix=""), {"add_bos_token": False, "bos_token": None}
    yield "qwen3", build(
        [], None, [added("<|endoftext|>"), added("<|im_start|>"), added("<|im_end|>"),
                   added("<think>", special=False), added("</think>", special=False)], normalizer={"type": "NFC"},
        pre_tokenizer=words(split(QWEN2), byte_level(use_regex=False)), post_processor=byte_level(), pairs=True,
        continuing_subword_prefix="", end_of_word_suffix=""), {}
    yield "gemma2", build(
        [added(t) for t in ("<pad>", "<eos>", "<bos>", "<unk>", "<mask>")] +
        [added("\n" * n, special=False) for n in range(2, 8)] + [added(SPACE * n, special=False) for n in range(2, 8)],
        [], normalizer=replace(" ", SPACE), pre_tokenizer=split(" ", "MergedWithPrevious", kind="String"),
        post_processor=template("<bos>", None), **sentencepiece), {"bos_token": "<bos>"}
    yield "llama3", build(
        [], None, [added("<|begin_of_text|>"), added("<|end_of_text|>"), added("<|eot_id|>")], ignore_merges=True,
        pre_tokenizer=words(split(LLAMA3), byte_level(use_regex=False)),
        post_processor={"type": "Sequence", "processors": [byte_level(True), template("<|begin_of_text|>", None)]}), {}
    yield "olmo2", build(
        [], None, [added("|||PHONE_NUMBER|||", special=False), added("<|endoftext|>"), added("<|pad|>")], pairs=True,
        pre_tokenizer=words(split(LLAMA3), byte_level(use_regex=False)), post_processor=None), {
            "add_bos_token": False, "bos_token": "<|endoftext|>"}
    yield "phi3", build(
        [added("<unk>"), added("<s>"), added("</s>", special=False, rstrip=True)], [],
        [added("<|endoftext|>"), added("<|assistant|>", rstrip=True), added("<|user|>", rstrip=True),
         added("<|end|>", rstrip=True)], normalizer=LLAMA_NORMALIZER, post_processor=template(None), **sentencepiece), {
             "add_bos_token": False, "bos_token": "<s>"}
    yield "modernbert", build(
        [added("|||IP_ADDRESS|||", special=False, normalized=True), added("<|padding|>")], None,
        runs(" ", 2, 8) + [added("|||PHONE_NUMBER|||", special=False, normalized=True), added("<|endoftext|>"),
                           added("[UNK]"), added("[CLS]"), added("[SEP]"), added("[PAD]"), added("[MASK]", lstrip=True)],
        normalizer={"type": "NFC"}, pre_tokenizer=byte_level(), post_processor=template("[CLS]", None, "[SEP]")), {}
    yield "bloom", build(
        [added(t) for t in ("<unk>", "<s>", "</s>", "<pad>")], None, unk_token=None,
        pre_tokenizer=words(split(BLOOM), byte_level(use_regex=False)), post_processor=byte_level(True)), {}
    yield "clip", build(
        [], [c for b in range(256) for c in (twin.byte_alphabet()[b], twin.byte_alphabet()[b] + "</w>")],
        [added("<|startoftext|>", normalized=True), added("<|endoftext|>")],
        normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}, replace(r"\s+", " ", "Regex"),
                                                        {"type": "Lowercase"}]},
        pre_tokenizer=words(split(CLIP, "Removed", True), byte_level()), continuing_subword_prefix="",
        end_of_word_suffix="</w>",
        post_processor={"type": "RobertaProcessing", "sep": ["<|endoftext|>", 0], "cls": ["<|startoftext|>", 0],
                        "trim_offsets": False, "add_prefix_space": False}), {}
    yield "digits", build(
        [added("<|endoftext|>")], None, [added("user", special=False, single_word=True),
                                         added("SumIt", special=False, normalized=True, single_word=True)],
        normalizer={"type": "Lowercase"}, post_processor=None,
        pre_tokenizer=words({"type": "Digits", "individual_digits": True}, byte_level())), {
            "add_bos_token": True, "add_eos_token": True, "bos_token": {"content": "<|endoftext|>"},
            "eos_token": "<|endoftext|>"}
    yield "unknown", build(
        [added("[UNK]")], [], [], n_merges=200, unk_token="[UNK]", fuse_unk=True, continuing_subword_prefix="##",
        normalizer={"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "StripAccents"}]},
        pre_tokenizer={"type": "Whitespace"}), {}


def unigrams():
    """Unigram models behind stages that SentencePiece does not have; scores fall with the length of pieces' history."""
    for name, byte_fallback in (("unigram", False), ("unigram-bytes", True)):
        file = build(
            [added("<unk>"), added("<s>"), added("</s>")], [], n_merges=250, bytes_as_tokens=byte_fallback,
            normalizer={"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "NFKC"},
                                                            replace(" {2,}", " ", "Regex")]},
            pre_tokenizer=words({"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "first", "split": True},
                                {"type": "Digits", "individual_digits": True}),
            post_processor=template("<s>", None, "</s>"))
        vocab = file["model"]["vocab"]
        file["added_tokens"] = file["added_tokens"][1:]  # <unk> in a text is a piece as any other
        file["model"] = {"type": "Unigram", "unk_id": 0, "byte_fallback": byte_fallback,
                         "vocab": [[piece, -round(1 + 0.013 * i + 0.11 * (i % 7), 3)] for piece, i in vocab.items()]}
        yield name, file, {}


def model_type(name):
    return {"gemma2": "gemma2", "llama3": "llama"}.get(name, name.split("-")[0])


# ---- one tokenizer for each stage


def stages():
    for kind in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Nmt", "ByteLevel"):
        yield {"type": kind}, None
    yield {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]}, None
    for left, right in ((True, True), (True, False), (False, True)):
        yield {"type": "Strip", "strip_left": left, "strip_right": right}, None
    yield {"type": "Prepend", "prepend": "\u2581x"}, None
    yield replace("a", "<aa>"), None
    yield replace("x*", "-", "Regex"), None
    yield replace(r"[aeiou]+|\s{2,}|^.|\d$", "\\1", "Regex"), None
    for lower, accents, clean in ((True, None, True), (False, None, True), (False, True, False)):
        yield {"type": "BertNormalizer", "clean_text": clean, "handle_chinese_chars": clean, "strip_accents": accents,
               "lowercase": lower}, None
    for behavior in ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        yield None, split(r"\s", behavior)
        yield None, split(r"\p{L}+|[0-9]{2}", behavior, invert=True)
        yield None, split("i", behavior, kind="String")
        yield None, {"type": "Punctuation", "behavior": behavior}
    for prefix in (True, False):
        for use_regex in (True, False):
            yield None, byte_level(prefix, use_regex)
    yield None, words(byte_level(True), split("\u0120", "MergedWithNext", kind="String"))
    for individual in (True, False):
        yield None, {"type": "Digits", "individual_digits": individual}
    for kind in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer"):
        yield None, {"type": kind}
    for scheme in ("always", "first", "never"):
        for cut in (True, False):
            yield None, {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": cut}
    yield None, words({"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "first"})
    yield None, {"type": "Metaspace", "replacement": "_", "add_prefix_space": True}
    yield None, {"type": "CharDelimiterSplit", "delimiter": "i"}
    yield None, {"type": "FixedLength", "length": 7}
    yield None, words(split(QWEN2), {"type": "Digits", "individual_digits": False}, {"type": "Punctuation"})
    for pattern in (LLAMA3, TEKKEN, BLOOM, CLIP, r"(?i)ss|\h+|$", r"\b", r"^.", r"[[:alpha:]&&[^a-m]]+", r"(?<=\s)\w+"):
        yield None, split(pattern)


STAGE_TEXTS = [0, 1, 2, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]


def stage_file(normalizer, pre_tokenizer):
    file = {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [], "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": None,
            "decoder": None, "model": {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}}
    tokenizer = twin.Tokenizer(file)
    for i in STAGE_TEXTS:
        text = twin.normalize(normalizer, TEXTS[i])
        for word in tokenizer.words(text) if text else []:
            file["model"]["vocab"].setdefault(word, len(file["model"]["vocab"]))
    return file, [tokenizer.encode(TEXTS[i]) for i in STAGE_TEXTS]


# ---- writing


def dump(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def around_by_settings(settings, vocab, ids):
    def number(key):
        token = settings[key]
        return vocab[token["content"] if isinstance(token, dict) else token]

    front = [number("bos_token")] if settings.get("add_bos_token") else []
    back = [number("eos_token")] if settings.get("add_eos_token") else []
    return front + ids + back


def main():
    folder = pathlib.Path(sys.argv[1])
    (folder).mkdir(parents=True, exist_ok=True)
    (folder / "texts.json").write_text(json.dumps(TEXTS, indent=0) + "\n")
    expected = {}
    for name, file, settings in itertools.chain(families(), unigrams()):
        place = folder / name
        place.mkdir(exist_ok=True)
        (place / "config.json").write_text(dump({"model_type": model_type(name)}) + "\n")
        (place / "tokenizer.json").write_text(dump(file) + "\n")
        if settings:
            (place / "tokenizer_config.json").write_text(dump(settings) + "\n")
        tokenizer = twin.Tokenizer(file)
        expected[name] = [tokenizer.encode(text) for text in TEXTS]
        if name == "digits":  # no post-processor: tokenizer_config.json decides
            vocab = file["model"]["vocab"]
            expected[name] = [around_by_settings(settings, vocab, ids) for ids in expected[name]]

    # OPT has vocab.json and merges.txt; tokenizer_config.json puts </s> in front.
    opt = build([added("<s>"), added("<pad>"), added("</s>", normalized=True), added("<unk>")], None,
                pre_tokenizer=byte_level())
    place = folder / "opt"
    place.mkdir(exist_ok=True)
    settings = {"add_bos_token": True, "add_prefix_space": False, "tokenizer_class": "GPT2Tokenizer",
                "bos_token": {"__type": "AddedToken", "content": "</s>"}, "errors": "replace",
                "pad_token": {"__type": "AddedToken", "content": "<pad>"}}
    (place / "config.json").write_text(dump({"model_type": "opt"}) + "\n")
    (place / "tokenizer_config.json").write_text(dump(settings) + "\n")
    (place / "vocab.json").write_text(dump(opt["model"]["vocab"]) + "\n")
    (place / "merges.txt").write_text("#version: 0.2\n" + "\n".join(opt["model"]["merges"]) + "\n")
    special = [added(t) for t in ("</s>", "<pad>")]
    for token in special:
        token["id"] = opt["model"]["vocab"][token["content"]]
    opt["added_tokens"] = special
    expected["opt"] = [[opt["model"]["vocab"]["</s>"], *twin.Tokenizer(opt).encode(text)] for text in TEXTS]
    (folder / "ids.json").write_text("{" + ",\n".join(f"{dump(k)}:{dump(v)}" for k, v in expected.items()) + "}\n")

    lines = []
    for normalizer, pre_tokenizer in stages():
        file, ids = stage_file(normalizer, pre_tokenizer)
        lines.append(dump({"file": file, "ids": ids}))
    (folder / "stages.json").write_text(f'{{"texts":{dump(STAGE_TEXTS)},"stages":[\n' + ",\n".join(lines) + "]}\n")


if __name__ == "__main__":
    main()
