
#include "base/errors.h"
#include <rankfall/decompose.h>

namespace rankfall {
namespace {

TensorSlice rows_of(TensorSlice slice, Index first, Index count) {
  slice.row += first;
  slice.rows = count;
  return slice;
}
TensorSlice columns_of(TensorSlice slice, Index first, Index count) {
  slice.col += first;
  slice.cols = count;
  return slice;
}

// Outputs first .. first + count of a linear map.
Linear outputs_of(Linear f, Index first, Index count) {
  f.w = f.w.transposed ? columns_of(f.w, first, count) : outputs_of(f.w, false, first, count);
  if (f.b) f.b = outputs_of(*f.b, true, first, count);
  return f;
}

Linear inputs_of(Linear f, Index first, Index count) {
  f.w = f.w.transposed ? rows_of(f.w, first, count) : columns_of(f.w, first, count);
  return f;
}

Positions positions_of(const NoPositions& none, Index /*head*/, Index /*d*/) { return none; }
Positions positions_of(const RotaryPositions& rotary, Index /*head*/, Index /*d*/) { return rotary; }
Positions positions_of(AlibiPositions alibi, Index head, Index /*d*/) {
  alibi.first += head;
  return alibi;
}
Positions positions_of(T5Positions t5, Index head, Index /*d*/) {
  t5.bias = columns_of(t5.bias, head, 1);
  return t5;
}
Positions positions_of(XlnetPositions xlnet, Index head, Index d) {
  xlnet.r = outputs_of(xlnet.r, head * d, d);
  for (TensorSlice* table : {&xlnet.u, &xlnet.v, &xlnet.s}) *table = rows_of(*table, head, 1);
  xlnet.segment_embedding = columns_of(xlnet.segment_embedding, head * d, d);
  return xlnet;
}

// Attention with one of its heads; the output's bias stays. Its block's number was larger by block_shift.
Attention head_of(const Attention& all, Index head, Index block_shift) {
  const Index d = all.d_head;
  const Index kv_head = head * all.n_kv_heads / all.n_heads;
  for (const auto& norm : {all.q_norm, all.k_norm}) {
    if (!norm || norm->per_head || all.n_heads == 1) continue;
    throw usage_error(
        "a head cannot be run by itself: queries and keys are normed over all heads together; expected a norm of each "
        "head, or none");
  }
  Attention one = all;
  one.n_heads = one.n_kv_heads = 1;
  one.q = outputs_of(all.q, head * d, d);
  one.k = outputs_of(all.k, kv_head * d, d);
  one.v = outputs_of(all.v, kv_head * d, d);
  one.o = inputs_of(all.o, head * d, d);
  one.positions = std::visit([&](const auto& p) { return positions_of(p, head, d); }, all.positions);
  std::visit(
      [&](auto& weights) {
        if constexpr (requires { weights.shift; }) {
          weights.shift.block += block_shift;
          weights.shift.head += head;
        }
      },
      one.weights);
  return one;
}

}  // namespace

Network rerun_network(const Network& network, const Path& path) {
  if (path.origin.kind != Origin::Kind::kEmbedding) {
    throw usage_error("a path from {} cannot be run again by itself; expected the embedding", to_string(path.origin));
  }
  Network out = network;
  out.layers.clear();
  Index n_blocks = 0;
  for (const Head& head : path.heads) {
    for (SubLayer layer : network.layers) {
      if (layer.block != head.block) continue;
      for (Branch& branch : layer.branches) {
        auto* attention = std::get_if<Attention>(&branch.f);
        if (!attention) continue;
        if (head.head < 0 || head.head >= attention->n_heads) {
          throw usage_error("head L{}H{}: the block has {} heads", head.block, head.head, attention->n_heads);
        }
        // LayerNorm without gain; its eps is the model's own where it has one.
        Norm plain;
        for (const auto& own : {layer.post, branch.out, branch.in}) {
          if (!own) continue;
          plain.eps = own->eps;
          break;
        }
        *attention = head_of(*attention, head.head, head.block - n_blocks);
        layer.skip = 0;
        layer.post = plain;
      }
      layer.block = n_blocks;
      out.layers.push_back(layer);
    }
    ++n_blocks;
  }
  out.sizes.n_blocks = n_blocks;
  out.sizes.n_heads = 1;
  return out;
}

}  // namespace rankfall
