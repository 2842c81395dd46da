#!/usr/bin/env python3
"""make_checkpoint.py DIR [--gigabytes 8] [--shards 4] [--dim 4096]: a synthetic sharded BF16 checkpoint.

A llama network of that width and of as many layers as fill the size, weights drawn from N(0, 0.02): what bench/big_model.sh
measures. Needs numpy. Writes to temporary names and renames at the end."""

import argparse
import json
import os
import struct

import numpy as np

VOCAB = 32000


def bf16(values):
    """Rounds float32 to bfloat16, half to even."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def tensors_of_layer(layer, dim, inner):
    stem = f"model.layers.{layer}."
    yield stem + "input_layernorm.weight", (dim,)
    for name in "qkvo":
        yield stem + f"self_attn.{name}_proj.weight", (dim, dim)
    yield stem + "post_attention_layernorm.weight", (dim,)
    for name, shape in (("gate", (inner, dim)), ("up", (inner, dim)), ("down", (dim, inner))):
        yield stem + f"mlp.{name}_proj.weight", shape


def write_shard(path, tensors, rng):
    header, offset = {}, 0
    for name, shape in tensors:
        size = 2 * int(np.prod(shape))
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path + ".part", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, shape in tensors:
            if len(shape) == 1:
                file.write(bf16(np.ones(shape, np.float32)).tobytes())
                continue
            for first in range(0, shape[0], 1024):
                rows = min(1024, shape[0] - first)
                file.write(bf16(0.02 * rng.standard_normal((rows, shape[1]), np.float32)).tobytes())
    os.rename(path + ".part", path)
    return offset


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory")
    parser.add_argument("--gigabytes", type=float, default=8)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--dim", type=int, default=4096)
    options = parser.parse_args()
    dim = options.dim
    inner = 11 * dim // 4 // 256 * 256
    per_layer = 2 * (4 * dim * dim + 3 * dim * inner)
    n_layers = max(1, round((options.gigabytes * 1e9 - 2 * VOCAB * dim) / per_layer))
    os.makedirs(options.directory, exist_ok=True)
    shards = [[] for _ in range(options.shards)]
    shards[0].append(("model.embed_tokens.weight", (VOCAB, dim)))
    for layer in range(n_layers):
        shards[layer * options.shards // n_layers].extend(tensors_of_layer(layer, dim, inner))
    shards[-1].append(("model.norm.weight", (dim,)))
    rng = np.random.default_rng(0)
    total, weight_map = 0, {}
    for number, tensors in enumerate(shards, 1):
        name = f"model-{number:05}-of-{options.shards:05}.safetensors"
        total += write_shard(os.path.join(options.directory, name), tensors, rng)
        weight_map.update({tensor: name for tensor, _ in tensors})
    config = {
        "model_type": "llama",
        "hidden_size": dim,
        "intermediate_size": inner,
        "num_hidden_layers": n_layers,
        "num_attention_heads": dim // 128,
        "num_key_value_heads": dim // 128,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "vocab_size": VOCAB,
        "max_position_embeddings": 8192,
        "initializer_range": 0.02,
    }
    for name, content in (("config.json", config), ("model.safetensors.index.json", {"weight_map": weight_map})):
        path = os.path.join(options.directory, name)
        with open(path + ".part", "w") as file:
            json.dump(content, file, indent=1)
        os.rename(path + ".part", path)
    print(f"{options.directory}: {n_layers} layers, {total / 1e9:.2f} GB in {options.shards} files")


if __name__ == "__main__":
    main()
