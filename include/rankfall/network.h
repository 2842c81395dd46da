#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/index.h>

// The description of a network: a flat list of sub-layers, plain data without weights and without a scalar type.
// Families (model.h) make one, variants (variants.h) rewrite it, domains (src/engine/) run it. Nothing else in
// rankfall knows what a transformer looks like.

namespace rankfall {

// What a forward pass computes in.
enum class Precision { kF32, kF64 };

// How a tensor is drawn when there is no file. kNormal and kTruncatedNormal (cut at two standard deviations): scale is
// the standard deviation; kUniform: on [-scale, scale]; kConstant: every entry is scale.
struct Init {
  enum class Kind { kConstant, kNormal, kTruncatedNormal, kUniform };
  Kind kind = Kind::kConstant;
  double scale = 0;
};

// One stored tensor of a model. As a matrix it has shape[0] rows and the product of the rest as columns; a vector is
// one row.
struct TensorSpec {
  std::string name;
  std::vector<Index> shape;
  Init init;
  double offset = 0;  // what is meant is the stored tensor plus this: Gemma stores the gain 1 + w of a norm as w

  RANKFALL_API Index matrix_rows() const;
  RANKFALL_API Index matrix_cols() const;
};

// A rectangle of a stored tensor (TensorSpec says how a tensor is a matrix). `transposed` means it is stored as [in,
// out] where [out, in] is meant; rows, cols, row and col are always those of the stored side.
//
// With `run` > 0 the slice is made of runs of so many outputs, `period` stored ones from one to the next: GPT-NeoX
// stores query, key and value of one head after the other. Outputs are rows, or the columns of a vector, which is one
// row.
struct TensorSlice {
  int tensor = 0;
  Index row = 0, col = 0;
  Index rows = 0, cols = 0;
  bool transposed = false;
  Index run = 0, period = 0;

  bool operator==(const TensorSlice&) const = default;
};

// Outputs first .. first + count of a slice of a matrix, or of a vector. Of a slice in runs: whole runs, or outputs
// within one.
RANKFALL_API TensorSlice outputs_of(TensorSlice slice, bool is_vector, Index first, Index count);

// y = x w^T + b, w: [out, in].
struct Linear {
  TensorSlice w;
  std::optional<TensorSlice> b = {};

  Index n_out() const { return w.transposed ? w.cols : w.rows; }
  Index n_in() const { return w.transposed ? w.rows : w.cols; }
};

// kLayer: y = (x - mean) / sqrt(var + eps) * gain + bias, over channels, var with 1/d.  kRms: the same without the
// mean.  kAffine: x * gain + bias, which normalises nothing: LayerScale, MobileBERT's "no_norm".
struct Norm {
  enum class Kind { kLayer, kRms, kAffine };
  Kind kind = Kind::kLayer;
  double eps = 1e-12;
  std::optional<TensorSlice> gain = {}, bias = {};
};

// kGelu is x Phi(x) with erf; kGeluTanh its tanh approximation ("gelu_new"), kGeluBloom and kGeluFast the same with the
// root of 2/pi cut to eight and to ten digits.
enum class Activation { kIdentity, kRelu, kGelu, kGeluTanh, kGeluBloom, kGeluFast, kSilu, kTanh };

// Which keys a query may see, besides padding, which belongs to the sample.
struct Mask {
  bool causal = false;     // key j <= query i
  Index window = 0;        // |i - j| <= window; 0: no window, and then neither of the next two
  Index global = 0;        // the first `global` tokens see and are seen by all, whatever the window
  Index random = 0;        // BigBird: each block of queries sees so many blocks of keys more, drawn from `seed`
  std::uint64_t seed = 0;  // causality still holds for both
  Index block = 64;        // tokens of a block of `random`; a power of two

  bool operator==(const Mask&) const = default;
  bool is_complete() const { return !causal && window == 0; }
};

// How the weights P of a head come from its queries and keys, with z the logits (scaled, positions included). The last
// three stand for P by a product of a matrix of n x k and one of k x n, so that time and memory grow with n and not
// with n^2; they are made of products of queries and keys, hence neither with XLNet's and T5's positions nor with masks
// (random features: causal masks, too). variants.h, docs/math.md.
struct SoftmaxWeights {  // P = softmax(z)
  bool operator==(const SoftmaxWeights&) const = default;
};
struct GaussianWeights {  // P = softmax(z_ij - scale |k_j|^2 / 2): without positions e^(-scale |q_i - k_j|^2 / 2)
  bool operator==(const GaussianWeights&) const = default;
};
// Random numbers differ by head and block. A head that is run by itself (decompose.h, rerun_network) keeps its own:
// these are added to its numbers.
struct DrawnFor {
  Index block = 0, head = 0;
  bool operator==(const DrawnFor&) const = default;
};
struct LinformerWeights {  // P = softmax(scale Q (E K)^T) E, E: k x n; rows of P need not sum to one
  Index k = 64;
  bool pooled = false;     // E takes means of k runs of tokens; otherwise E has entries N(0, 1/k)
  std::uint64_t seed = 0;  // of E
  DrawnFor shift = {};
  bool operator==(const LinformerWeights&) const = default;
};
struct NystromWeights {  // P = softmax(scale Q K'^T) softmax(scale Q' K'^T)^+ softmax(scale Q' K^T), ' means of runs
  Index landmarks = 64;
  bool operator==(const NystromWeights&) const = default;
};
struct FeatureWeights {  // P_ij = f(q_i) . f(k_j) / sum over j, E f(q) . f(k) = e^(scale q . k): positive features
  Index features = 256;
  std::uint64_t seed = 0;  // of the directions, orthogonal in groups of d_head
  DrawnFor shift = {};
  bool operator==(const FeatureWeights&) const = default;
};
using AttentionWeights =
    std::variant<SoftmaxWeights, GaussianWeights, LinformerWeights, NystromWeights, FeatureWeights>;

struct NoPositions {};

// Transformer-XL / XLNet. With r_m = sinusoid(m) W_r the logit of query i and key j is
// ((q_i + u) . k_j + (q_i + v) . r_{i-j} + (q_i + s) . g_{segment i differs from segment j}) * scale.
// u, v, s: [heads, d_head]; segment_embedding g: [2, heads * d_head]. Samples without segments have no third term.
struct XlnetPositions {
  Linear r;
  TensorSlice u, v;
  TensorSlice s, segment_embedding;
};

// T5: the logit of query i and key j gets bias[bucket(j - i), head], not scaled. bias: [buckets, heads]; half of the
// buckets are for keys behind the query, half for those ahead, each half exact up to its middle and logarithmic up to
// max_distance.
struct T5Positions {
  TensorSlice bias;
  Index max_distance = 128;
};

// How the frequencies w_c of rotary positions are changed in models that are stretched to longer inputs. n is the
// number of tokens of the sample.
struct LinearScaling {  // w_c / factor
  double factor = 1;
};
struct DynamicScaling {  // base * (factor n / original - (factor - 1))^(m / (m - 2)) in samples longer than `original`
  double factor = 1;
  double original = 1;
};
// w_c / factor where it turns less than `low` times in `original` tokens, w_c where more than `high` times, and in
// between a mixture by the number of turns.
struct Llama3Scaling {
  double factor = 1;
  double original = 1;
  double low = 1, high = 4;
};
// The same with a mixture by c, between the pairs that turn `fast` and `slow` times; `truncate` takes whole ones.
struct YarnScaling {
  double factor = 1;
  double original = 1;
  double fast = 32, slow = 1;
  bool truncate = true;
};
struct LongScaling {  // longrope: w_c / short_factors[c], or long_factors in samples longer than `original`
  std::vector<double> short_factors, long_factors;
  double original = 1;
};
using RotaryScaling =
    std::variant<std::monostate, LinearScaling, DynamicScaling, Llama3Scaling, YarnScaling, LongScaling>;

// Llama: with m = `channels` (0: d_head), channels c and c + m/2 of a head's queries and keys are turned as a pair by
// the angle position * w_c, w_c = base^(-2c/m); `interleaved`: channels 2c and 2c + 1. The others stay. Cosine and sine
// are multiplied by `magnitude`.
struct RotaryPositions {
  double base = 10000;
  Index channels = 0;
  bool interleaved = false;
  RotaryScaling scaling = {};
  double magnitude = 1;
};

// ALiBi: the logit of query i and key j gets slope * (j - i), after scaling or (Falcon) before it. Slopes are powers of
// 2^(-8/m), m the largest power of two among n_heads, and for the other heads every other one of 2m heads; head h of an
// attention has that of `first` + h.
struct AlibiPositions {
  Index n_heads = 1;
  Index first = 0;
  bool before_scale = false;

  RANKFALL_API double slope(Index head) const;
};

using Positions = std::variant<NoPositions, XlnetPositions, T5Positions, RotaryPositions, AlibiPositions>;

// Queries or keys are normed before positions act on them: each head's channels, with one gain for all heads, or the
// whole width.
struct HeadNorm {
  Norm norm;
  bool per_head = true;
};

// Multi-head attention; head h reads outputs h * d_head .. of q and, with g = h * n_kv_heads / n_heads, g * d_head ..
// of k, v. Its output is the heads' P V side by side through o.
struct Attention {
  Index n_heads = 1, n_kv_heads = 1, d_head = 1;
  double scale = 1;  // factor of the logits, 1/sqrt(d_head) in most families
  Linear q, k, v, o;
  Positions positions;
  Mask mask;
  AttentionWeights weights;
  std::optional<HeadNorm> q_norm = {}, k_norm = {};
  double soft_cap = 0;  // c > 0: logits z, positions included, become c tanh(z / c)
};

// down(act(up(x))), or with a gate down(act(gate(x)) * up(x)).
struct Mlp {
  Activation act = Activation::kGelu;
  Linear up, down;
  std::optional<Linear> gate = {};
};

// act(x): what remains of ALBERT's MLP in the published experiments.
struct Elementwise {
  Activation act = Activation::kGelu;
};

using Function = std::variant<Attention, Mlp, Elementwise>;

// scale * out(f(in(x))).
struct Branch {
  Function f;
  std::optional<Norm> in = {}, out = {};
  double scale = 1;
};

// y = post(skip * x + the sum of its branches): one branch in most families, attention and MLP side by side in parallel
// blocks. At most one is attention.
struct SubLayer {
  std::vector<Branch> branches;
  double skip = 1;
  std::optional<Norm> post = {};
  Index block = 0;  // a hidden state is complete after a block's last sub-layer

  // The branch whose function is an F; null if there is none.
  template <class F>
  const Branch* with() const {
    for (const Branch& branch : branches) {
      if (std::holds_alternative<F>(branch.f)) return &branch;
    }
    return nullptr;
  }
  const Attention* attention() const {
    const Branch* branch = with<Attention>();
    return branch ? std::get_if<Attention>(&branch->f) : nullptr;
  }
};

// Word table, through `projection` where there is one (OPT-350m), plus, where present, position and segment tables;
// position p is row p + position_offset. With a padding id (RoBERTa) only other tokens count as positions, and padding
// is at row position_offset - 1; with `skips_padding` (OPT) the same holds for what the sample says is padding.
struct TokenInput {
  TensorSlice words;
  std::optional<TensorSlice> positions = {}, segments = {};
  Index position_offset = 0;
  std::optional<std::int32_t> padding_id = {};
  bool skips_padding = false;
  std::optional<Linear> projection = {};
};

// Real features, n x n_features, given by the sample.
struct FeatureInput {
  Index n_features = 0;
};

// An image of image x image pixels cut into squares, each through a linear map of its pixels (channel, row, column),
// with a class token in front and a position added to each. class_token: one row; positions: all rows one after the
// other.
struct PatchInput {
  Index image = 0, patch = 0, channels = 0;
  Linear projection;
  TensorSlice class_token, positions;

  Index n_tokens() const { return (image / patch) * (image / patch) + 1; }
};

// x times a constant: Gemma's embedding is multiplied by the root of the width.
struct Factor {
  double value = 1;
};

// Input = source, then the stages in order; the result is hidden state 0.
struct InputMap {
  std::variant<TokenInput, FeatureInput, PatchInput> source;
  std::vector<std::variant<Linear, Norm, Activation, Factor>> stages;
};

struct Sizes {
  Index n_blocks = 0;
  Index n_heads = 0;
  Index d_model = 0;
  Index vocab = 0;          // 0: takes no tokens
  Index max_positions = 0;  // 0: any length
};

struct Network {
  std::string family;  // config.json's model_type
  Sizes sizes;
  InputMap input;
  std::vector<SubLayer> layers;
  // Applied to the last state. In the field's convention hidden state L includes it for some families and not for
  // others.
  std::optional<Norm> final_norm;
  bool final_norm_in_state = true;
  std::optional<Linear> head;  // task head, applied to the last state after final_norm
  std::vector<TensorSpec> tensors;
};

// A sub-layer in one line: "y = LayerNorm(x + attention(x))".
RANKFALL_API std::string formula(const SubLayer& layer);

// The whole network for people: sizes, input, every sub-layer by its formula with what it is made of; blocks that are
// alike are described once. Several lines, without an end of the last one.
RANKFALL_API std::string describe(const Network& network);

}  // namespace rankfall
