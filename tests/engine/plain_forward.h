#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "engine/position_tables.h"
#include "io/dtype.h"
#include "network/attention/bigbird.h"
#include <rankfall/matrix.h>
#include <rankfall/network.h>
#include <rankfall/sample.h>

// A second, naive forward pass: one number at a time, straight from the definitions, no Eigen products, no sharing with
// the engine. Slow; for tests only.

namespace rankfall::plain {

template <class T>
using Table = std::vector<std::vector<T>>;

// Whether a block of keys is drawn for a block of queries, and whether a query may see a key.
inline bool draws(const Mask& mask, Index query_block, Index key_block, Index n_tokens) {
  if (mask.random == 0 || !has_lot(mask, query_block, key_block)) return false;
  Index n_lower = 0;
  for (Index other = 0; other * mask.block < n_tokens; ++other) {
    const bool lower = lot(mask, query_block, other) < lot(mask, query_block, key_block);
    if (lower && has_lot(mask, query_block, other)) ++n_lower;
  }
  return n_lower < mask.random;
}
inline bool allows(const Mask& mask, Index query, Index key, Index n_tokens) {
  if (mask.causal && key > query) return false;
  return mask.window == 0 || std::abs(query - key) <= mask.window || std::min(query, key) < mask.global ||
         draws(mask, query / mask.block, key / mask.block, n_tokens);
}

template <class T>
class Forward {
 public:
  Forward(const Network& network, const WeightSource& source) : network_(network), source_(source) {}
  virtual ~Forward() = default;

  std::vector<Table<T>> states(const Sample& sample) {
    sample_ = &sample;
    Table<T> x = input(sample);
    std::vector<Table<T>> states = {x};
    for (std::size_t l = 0; l < network_.layers.size(); ++l) {
      const SubLayer& layer = network_.layers[l];
      Table<T> z = x;
      for (auto& row : z) {
        for (T& v : row) v *= T(layer.skip);
      }
      for (const Branch& branch : layer.branches) {
        const Table<T> in = branch.in ? norm(*branch.in, x) : x;
        Table<T> y = std::visit([&](const auto& f) { return apply(f, in); }, branch.f);
        if (branch.out) y = norm(*branch.out, y);
        for (std::size_t i = 0; i < x.size(); ++i) {
          for (std::size_t j = 0; j < x[i].size(); ++j) z[i][j] += T(branch.scale) * y[i][j];
        }
      }
      x = layer.post ? norm(*layer.post, z) : z;
      const bool last = l + 1 == network_.layers.size() || network_.layers[l + 1].block != layer.block;
      if (last) states.push_back(x);
    }
    if (network_.final_norm && network_.final_norm_in_state) states.back() = norm(*network_.final_norm, x);
    return states;
  }

 protected:
  // The divisor of a norm.
  virtual T norm_scale(const std::vector<T>& row, const T& mean, double eps) const {
    using std::sqrt;
    T var = T(0);
    for (const T& v : row) var += (v - mean) * (v - mean) / T(static_cast<double>(row.size()));
    return sqrt(T(var + T(eps)));
  }

  // In place, over the keys that are seen; nothing seen: all zero.
  virtual void softmax(std::vector<T>& logits, const std::vector<bool>& seen) const {
    using std::exp;
    T sum = T(0);
    for (std::size_t j = 0; j < logits.size(); ++j) {
      logits[j] = seen[j] ? exp(logits[j]) : T(0);
      sum += logits[j];
    }
    for (T& p : logits) p = sum > T(0) ? T(p / sum) : T(0);
  }

  // w[o][i] of the logical [out, in] matrix.
  T weight(const TensorSlice& slice, Index out, Index in) const {
    const TensorSpec& spec = network_.tensors[static_cast<std::size_t>(slice.tensor)];
    Index row = slice.transposed ? in : out;
    Index col = slice.transposed ? out : in;
    if (slice.run > 0) {
      Index& output = spec.shape.size() == 1 ? col : row;
      output = output / slice.run * slice.period + output % slice.run;
    }
    row += slice.row;
    col += slice.col;
    const TensorData data = source_.rows(slice.tensor, row, 1);
    std::vector<double> values(static_cast<std::size_t>(spec.matrix_cols()));
    widen<double>(data.dtype, data.bytes, std::span<double>(values));
    return T(values[static_cast<std::size_t>(col)]) + T(spec.offset);
  }

  Table<T> linear(const Linear& f, const Table<T>& x) const {
    Table<T> y(x.size(), std::vector<T>(static_cast<std::size_t>(f.n_out()), T(0)));
    for (Index o = 0; o < f.n_out(); ++o) {
      for (std::size_t i = 0; i < x.size(); ++i) y[i][static_cast<std::size_t>(o)] = f.b ? weight(*f.b, 0, o) : T(0);
      for (Index k = 0; k < f.n_in(); ++k) {
        const T w = weight(f.w, o, k);
        for (std::size_t i = 0; i < x.size(); ++i) {
          y[i][static_cast<std::size_t>(o)] += w * x[i][static_cast<std::size_t>(k)];
        }
      }
    }
    return y;
  }

  Table<T> norm(const Norm& norm, Table<T> x) const {
    for (auto& row : x) {
      const T d = T(static_cast<double>(row.size()));
      T mean = T(0);
      if (norm.kind == Norm::Kind::kLayer) {
        for (const T& v : row) mean += v / d;
      }
      const T scale = norm.kind == Norm::Kind::kAffine ? T(1) : norm_scale(row, mean, norm.eps);
      for (std::size_t j = 0; j < row.size(); ++j) {
        row[j] = (row[j] - mean) / scale * (norm.gain ? weight(*norm.gain, 0, static_cast<Index>(j)) : T(1)) +
                 (norm.bias ? weight(*norm.bias, 0, static_cast<Index>(j)) : T(0));
      }
    }
    return x;
  }

 private:
  static T act(Activation a, const T& x) {
    using std::erf;
    using std::exp;
    using std::sqrt;
    using std::tanh;
    switch (a) {
      case Activation::kIdentity:
        return x;
      case Activation::kRelu:
        return x > T(0) ? x : T(0);
      case Activation::kGelu:
        return x / T(2) * (T(1) + erf(T(x / sqrt(T(2)))));
      case Activation::kGeluTanh: {
        const T inner = sqrt(T(2) / T(3.14159265358979323846)) * (x + T(0.044715) * x * x * x);
        return x / T(2) * (T(1) + tanh(inner));
      }
      case Activation::kGeluBloom:
        return x / T(2) * (T(1) + tanh(T(T(0.79788456) * x * (T(1) + T(0.044715) * x * x))));
      case Activation::kGeluFast:
        return x / T(2) * (T(1) + tanh(T(T(0.7978845608) * x * (T(1) + T(0.044715) * x * x))));
      case Activation::kSilu:
        return x / (T(1) + exp(T(-x)));
      case Activation::kTanh:
        return tanh(x);
    }
    return x;
  }

  Table<T> apply(const Elementwise& f, Table<T> x) const {
    for (auto& row : x) {
      for (T& v : row) v = act(f.act, v);
    }
    return x;
  }

  Table<T> apply(const Mlp& mlp, const Table<T>& x) const {
    Table<T> inner = apply(Elementwise{mlp.act}, linear(mlp.gate ? *mlp.gate : mlp.up, x));
    if (mlp.gate) {
      const Table<T> up = linear(mlp.up, x);
      for (std::size_t i = 0; i < x.size(); ++i) {
        for (std::size_t j = 0; j < up[i].size(); ++j) inner[i][j] *= up[i][j];
      }
    }
    return linear(mlp.down, inner);
  }

  // Logit of query i, key j of a head, before the scale.
  T logit(const Attention& a, Index head, Index i, Index j, const Table<T>& q, const Table<T>& k) const {
    const Index d = a.d_head;
    const Index kv = head * a.n_kv_heads / a.n_heads;
    T z = T(0);
    const auto* xlnet = std::get_if<XlnetPositions>(&a.positions);
    if (const auto* t5 = std::get_if<T5Positions>(&a.positions)) {
      // Not scaled, while the caller scales: the scale of every T5 is 1, and this divides it out for any other.
      z += weight(t5->bias, t5_bucket(j - i, t5->bias.rows, t5->max_distance), head) / T(a.scale);
    }
    if (const auto* alibi = std::get_if<AlibiPositions>(&a.positions)) {
      z += T(alibi->slope(head)) * T(static_cast<double>(j)) / (alibi->before_scale ? T(1) : T(a.scale));
    }
    for (Index c = 0; c < d; ++c) {
      const T query = q[static_cast<std::size_t>(i)][static_cast<std::size_t>(head * d + c)];
      const T key = k[static_cast<std::size_t>(j)][static_cast<std::size_t>(kv * d + c)];
      z += (query + (xlnet ? weight(xlnet->u, head, c) : T(0))) * key;
      if (!xlnet) continue;
      T r = T(0);
      const Index width = xlnet->r.n_in();
      for (Index m = 0; m < width / 2; ++m) {
        // The table is data (position_tables_test.cc looks at it); row n - 1 - (i - j).
        const Matrix<float> table = xlnet_sinusoid(sample_->n_tokens(), width);
        const Index t = sample_->n_tokens() - 1 - (i - j);
        r += T(table(t, m)) * weight(xlnet->r.w, head * d + c, m) +
             T(table(t, m + width / 2)) * weight(xlnet->r.w, head * d + c, m + width / 2);
      }
      z += (query + weight(xlnet->v, head, c)) * r;
      if (!sample_->segments.empty()) {
        const bool other =
            sample_->segments[static_cast<std::size_t>(i)] != sample_->segments[static_cast<std::size_t>(j)];
        z += (query + weight(xlnet->s, head, c)) * weight(xlnet->segment_embedding, other ? 1 : 0, head * d + c);
      }
    }
    return z;
  }

 protected:
  // Complex multiplication of (x_c, x_{c + d/2}) by e^{i p w_c} in each head.
  static Table<T> rotated(const Attention& a, Table<T> x) {
    const auto* rotary = std::get_if<RotaryPositions>(&a.positions);
    if (!rotary) return x;
    const auto d = static_cast<std::size_t>(a.d_head);
    const auto m = rotary->channels > 0 ? static_cast<std::size_t>(rotary->channels) : d;
    // The table is data (position_tables_test.cc looks at it).
    const RotaryTable<double> table = rotary_table(static_cast<Index>(x.size()), a.d_head, *rotary);
    for (std::size_t p = 0; p < x.size(); ++p) {
      for (std::size_t first = 0; first < x[p].size(); first += d) {
        for (std::size_t c = 0; c < m / 2; ++c) {
          const T cosine = T(table.cos(static_cast<Index>(p), static_cast<Index>(c)));
          const T sine = T(table.sin(static_cast<Index>(p), static_cast<Index>(c)));
          T& one = x[p][first + (rotary->interleaved ? 2 * c : c)];
          T& other = x[p][first + (rotary->interleaved ? 2 * c + 1 : c + m / 2)];
          const T re = one;
          const T im = other;
          one = re * cosine - im * sine;
          other = re * sine + im * cosine;
        }
      }
    }
    return x;
  }

 private:
  Table<T> apply(const Attention& a, const Table<T>& x) const {
    const Index n = static_cast<Index>(x.size());
    const Table<T> q = rotated(a, normed(a.q_norm, a.d_head, linear(a.q, x)));
    const Table<T> k = rotated(a, normed(a.k_norm, a.d_head, linear(a.k, x)));
    const Table<T> v = linear(a.v, x);
    Table<T> mixed(x.size(), std::vector<T>(static_cast<std::size_t>(a.n_heads * a.d_head), T(0)));
    for (Index h = 0; h < a.n_heads; ++h) {
      for (Index i = 0; i < n; ++i) {
        std::vector<T> p(x.size(), T(0));
        std::vector<bool> seen(x.size(), false);
        for (Index j = 0; j < n; ++j) {
          const auto at = static_cast<std::size_t>(j);
          seen[at] = allows(a.mask, i, j, n) && (sample_->valid.empty() || sample_->valid[at] != 0);
          if (!seen[at]) continue;
          p[at] = logit(a, h, i, j, q, k) * T(a.scale);
          using std::tanh;
          if (a.soft_cap > 0) p[at] = T(a.soft_cap) * tanh(T(p[at] / T(a.soft_cap)));
        }
        softmax(p, seen);
        for (Index j = 0; j < n; ++j) {
          for (Index c = 0; c < a.d_head; ++c) {
            const Index kv = h * a.n_kv_heads / a.n_heads;
            mixed[static_cast<std::size_t>(i)][static_cast<std::size_t>(h * a.d_head + c)] +=
                p[static_cast<std::size_t>(j)] *
                v[static_cast<std::size_t>(j)][static_cast<std::size_t>(kv * a.d_head + c)];
          }
        }
      }
    }
    return linear(a.o, mixed);
  }

  Table<T> normed(const std::optional<HeadNorm>& of_heads, Index d_head, Table<T> x) const {
    if (!of_heads) return x;
    if (!of_heads->per_head) return norm(of_heads->norm, x);
    const auto d = static_cast<std::size_t>(d_head);
    for (auto& row : x) {
      for (std::size_t first = 0; first < row.size(); first += d) {
        const auto begin = row.begin() + static_cast<std::ptrdiff_t>(first);
        const Table<T> part = norm(of_heads->norm, {std::vector<T>(begin, begin + d_head)});
        std::copy(part[0].begin(), part[0].end(), begin);
      }
    }
    return x;
  }

  Table<T> input(const Sample& sample) const {
    Table<T> x;
    if (const auto* hidden = std::get_if<HiddenState>(&sample.content)) return rows_of(hidden->values);
    if (const auto* image = std::get_if<Pixels>(&sample.content)) return patches_of(image->values);
    if (const auto* features = std::get_if<Features>(&sample.content)) {
      x = rows_of(features->values);
    } else {
      const auto& tokens = std::get<TokenInput>(network_.input.source);
      const auto& ids = std::get<TokenIds>(sample.content);
      x.assign(ids.size(), std::vector<T>(static_cast<std::size_t>(tokens.words.cols), T(0)));
      for (std::size_t i = 0; i < ids.size(); ++i) {
        // RoBERTa: the number of tokens up to this one that are no padding.
        Index position = static_cast<Index>(i) + tokens.position_offset;
        if (tokens.padding_id) {
          const auto n = std::count_if(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                       [&](std::int32_t id) { return id != *tokens.padding_id; });
          position = ids[i] == *tokens.padding_id ? *tokens.padding_id : n + *tokens.padding_id;
        }
        // OPT: the same by the sample's mask.
        if (tokens.skips_padding && !sample.valid.empty()) {
          const auto n = std::count(sample.valid.begin(), sample.valid.begin() + static_cast<std::ptrdiff_t>(i) + 1, 1);
          position = (sample.valid[i] != 0 ? n : 0) - 1 + tokens.position_offset;
        }
        for (Index c = 0; c < tokens.words.cols; ++c)
          x[i][static_cast<std::size_t>(c)] = weight(tokens.words, ids[i], c);
        if (tokens.projection) x[i] = linear(*tokens.projection, {x[i]})[0];
        for (Index c = 0; c < std::ssize(x[i]); ++c) {
          T& out = x[i][static_cast<std::size_t>(c)];
          if (tokens.positions) out += weight(*tokens.positions, position, c);
          if (tokens.segments) out += weight(*tokens.segments, sample.segments.empty() ? 0 : sample.segments[i], c);
        }
      }
    }
    for (const auto& stage : network_.input.stages) {
      if (const auto* f = std::get_if<Linear>(&stage)) x = linear(*f, x);
      if (const auto* n = std::get_if<Norm>(&stage)) x = norm(*n, x);
      if (const auto* a = std::get_if<Activation>(&stage)) x = apply(Elementwise{*a}, x);
      if (const auto* factor = std::get_if<Factor>(&stage)) {
        for (auto& row : x) {
          for (T& v : row) v *= T(factor->value);
        }
      }
    }
    return x;
  }

  // A convolution whose stride is its size, then the class token and the positions.
  Table<T> patches_of(const Matrix<double>& pixels) const {
    const auto& input = std::get<PatchInput>(network_.input.source);
    const Index side = input.image / input.patch;
    const Index d = input.projection.n_out();
    Table<T> x(static_cast<std::size_t>(input.n_tokens()), std::vector<T>(static_cast<std::size_t>(d)));
    for (Index t = 0; t < input.n_tokens(); ++t) {
      for (Index o = 0; o < d; ++o) {
        T sum = t == 0 ? weight(input.class_token, 0, o) : weight(*input.projection.b, 0, o);
        for (Index c = 0; t > 0 && c < input.channels; ++c) {
          for (Index r = 0; r < input.patch; ++r) {
            for (Index k = 0; k < input.patch; ++k) {
              const Index row = (t - 1) / side * input.patch + r;
              const Index col = (t - 1) % side * input.patch + k;
              sum += weight(input.projection.w, o, (c * input.patch + r) * input.patch + k) *
                     T(pixels(c, row * input.image + col));
            }
          }
        }
        x[static_cast<std::size_t>(t)][static_cast<std::size_t>(o)] = sum + weight(input.positions, 0, t * d + o);
      }
    }
    return x;
  }

  static Table<T> rows_of(const Matrix<double>& values) {
    Table<T> x(static_cast<std::size_t>(values.rows()), std::vector<T>(static_cast<std::size_t>(values.cols())));
    for (Index i = 0; i < values.rows(); ++i) {
      for (Index j = 0; j < values.cols(); ++j)
        x[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = T(values(i, j));
    }
    return x;
  }

  const Network& network_;
  const WeightSource& source_;
  const Sample* sample_ = nullptr;
};

}  // namespace rankfall::plain
