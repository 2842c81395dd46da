#!/usr/bin/env bash
# bench/long_inputs.sh RANKFALL [LAYERS=2]: one sample of n tokens through BERT-base's shape and a llama's (complete and causal
# attention): time per token beside n = 512, and the largest resident memory beyond a run of 16 tokens, which has the same
# weights. Layers are alike in time, and memory does not grow with them but for their weights.
set -euo pipefail

rankfall=$1
layers=${2:-2}
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
mkdir "$work/llama"
cat > "$work/llama/config.json" << END
{"model_type": "llama", "hidden_size": 768, "intermediate_size": 2048, "num_hidden_layers": $layers, "num_attention_heads": 12,
 "num_key_value_heads": 12, "hidden_act": "silu", "rms_norm_eps": 1e-5, "vocab_size": 1000, "max_position_embeddings": 65536,
 "initializer_range": 0.02}
END
for model in "san:layers=$layers,heads=12,dim=768,mlp=3072" "$work/llama@init"; do
  echo "${model#"$work"/}"
  weights=0
  base=0
  for n in 16 512 2048 8192 32768; do
    read -r seconds kilobytes < <(/usr/bin/time -f '%e %M' "$rankfall" measure "$model" --variant full --samples 1 --tokens "$n" \
      --metrics attention.entropy,attention.sink -q -o "$work/result.json" 2>&1 | tail -n 1)
    if [[ $n == 16 ]]; then
      weights=$kilobytes
      start=$seconds
      continue
    fi
    # Without what starting and drawing the weights take.
    per_token=$(awk -v s="$seconds" -v o="$start" -v n="$n" 'BEGIN { print (s - o) / n * 1e6 }')
    [[ $n == 512 ]] && base=$per_token
    awk -v n="$n" -v p="$per_token" -v b="$base" -v m="$(((kilobytes - weights) / 1024))" \
      'BEGIN { printf "  n = %5d: %8.0f us a token, %5.1f times n = 512, %5d MB beyond the weights\n", n, p, p / b, m }'
  done
done
