#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "base/errors.h"
#include "base/random.h"
#include <rankfall/sample.h>

namespace rankfall {
namespace {

void check_length(const Network& network, Index n_tokens) {
  if (n_tokens < 1) throw usage_error("a sample of {} tokens; expected at least 1", n_tokens);
  const Index limit = network.sizes.max_positions;
  if (limit > 0 && n_tokens > limit) {
    throw usage_error("a sample of {} tokens; the model has positions for {} at most (InputOptions::n_tokens)",
                      n_tokens, limit);
  }
}

void check_width(const char* what, Index found, Index expected) {
  if (found != expected) throw usage_error("a sample with {} {} a token; the model takes {}", found, what, expected);
}

template <class V>
void check_beside(const char* what, const std::vector<V>& values, Index n_tokens) {
  if (!values.empty() && std::ssize(values) != n_tokens) {
    throw usage_error("a sample of {} tokens with {} {} entries", n_tokens, values.size(), what);
  }
}

void check_content(const Network& network, const TokenIds& ids) {
  const auto* input = std::get_if<TokenInput>(&network.input.source);
  if (!input) throw usage_error("a sample of token ids; the model takes real features or images");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= input->words.rows) {
      throw usage_error("token id {} at position {}; the model's vocabulary has ids 0 to {}", ids[i], i,
                        input->words.rows - 1);
    }
  }
}

void check_content(const Network& network, const Features& features) {
  const auto* input = std::get_if<FeatureInput>(&network.input.source);
  if (!input) throw usage_error("a sample of real features; the model takes token ids");
  check_width("features", features.values.cols(), input->n_features);
}

void check_content(const Network& network, const Pixels& pixels) {
  const auto* input = std::get_if<PatchInput>(&network.input.source);
  if (!input) throw usage_error("a sample of pixels; the model takes no images");
  const Index n_pixels = input->image * input->image;
  if (pixels.values.rows() != input->channels || pixels.values.cols() != n_pixels) {
    throw usage_error("an image of {} channels with {} pixels each; the model takes {} channels of {} x {}",
                      pixels.values.rows(), pixels.values.cols(), input->channels, input->image, input->image);
  }
  if (pixels.n_tokens != input->n_tokens()) {
    throw usage_error("an image said to be {} tokens; the model makes {}", pixels.n_tokens, input->n_tokens());
  }
}

void check_content(const Network& network, const HiddenState& hidden) {
  check_width("channels", hidden.values.cols(), network.sizes.d_model);
}

// ALiBi counts positions without padding, and the engine by distance: the same unless padding stands between tokens.
void check_padding(const Network& network, const std::vector<std::uint8_t>& valid) {
  const auto has_alibi = [](const SubLayer& layer) {
    return layer.attention() && std::holds_alternative<AlibiPositions>(layer.attention()->positions);
  };
  if (valid.empty() || std::ranges::none_of(network.layers, has_alibi)) return;
  const auto first = std::ranges::find_if(valid, [](auto v) { return v != 0; });
  const auto behind = std::find_if(valid.rbegin(), valid.rend(), [](auto v) { return v != 0; }).base();
  const auto hole = std::find(first, behind, std::uint8_t{0});
  if (hole != behind) {
    throw usage_error("padding at position {}, between tokens; a model with ALiBi takes it in front or behind only",
                      hole - valid.begin());
  }
}

// Ids of a vocabulary with probability 1/rank, up to a factor.
class ZipfTokens {
 public:
  ZipfTokens(std::uint64_t seed, Index vocab)
      : ids_(static_cast<std::size_t>(vocab)), cumulative_(static_cast<std::size_t>(vocab)) {
    std::vector<std::uint32_t> order(ids_.size());
    fill_bits(random_key(seed, "zipf ranks"), 0, order);
    std::iota(ids_.begin(), ids_.end(), 0);
    std::ranges::stable_sort(ids_, {}, [&](std::int32_t id) { return order[static_cast<std::size_t>(id)]; });
    double sum = 0;
    for (std::size_t r = 0; r < cumulative_.size(); ++r) cumulative_[r] = sum += 1.0 / static_cast<double>(r + 1);
  }

  void draw(RandomKey key, TokenIds& out) const {
    std::vector<std::uint32_t> words(out.size());
    fill_bits(key, 0, words);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double u = (static_cast<double>(words[i]) + 0.5) * 0x1p-32 * cumulative_.back();
      const auto rank = std::ranges::upper_bound(cumulative_, u) - cumulative_.begin();
      out[i] = ids_[static_cast<std::size_t>(rank)];
    }
  }

 private:
  TokenIds ids_;                    // by rank
  std::vector<double> cumulative_;  // sum of 1/rank up to and with this one
};

Matrix<double> normal_matrix(RandomKey key, Index rows, Index cols) {
  Matrix<float> values(rows, cols);
  fill_normal(key, 0, {values.data(), static_cast<std::size_t>(values.size())}, 1.0);
  return values.cast<double>();
}

}  // namespace

Index Sample::n_tokens() const {
  if (const auto* ids = std::get_if<TokenIds>(&content)) return static_cast<Index>(ids->size());
  if (const auto* features = std::get_if<Features>(&content)) return features->values.rows();
  if (const auto* pixels = std::get_if<Pixels>(&content)) return pixels->n_tokens;
  return std::get<HiddenState>(content).values.rows();
}

void check_sample(const Network& network, const Sample& sample) {
  std::visit([&](const auto& content) { check_content(network, content); }, sample.content);
  check_length(network, sample.n_tokens());
  check_beside("validity", sample.valid, sample.n_tokens());
  check_beside("segment", sample.segments, sample.n_tokens());
  if (!sample.valid.empty() && std::ranges::none_of(sample.valid, [](auto v) { return v != 0; })) {
    throw usage_error("a sample that is all padding");
  }
  check_padding(network, sample.valid);
  const auto* input = std::get_if<TokenInput>(&network.input.source);
  const Index n_segments = input && input->segments ? input->segments->rows : 0;
  for (const std::int32_t segment : sample.segments) {
    if (segment < 0 || (n_segments > 0 && segment >= n_segments)) {
      throw usage_error("segment {}; the model has segments 0 to {}", segment, n_segments - 1);
    }
  }
}

std::vector<Sample> random_samples(const Network& network, std::uint64_t seed, Index n_samples, Index n_tokens,
                                   TokenLaw law) {
  const auto* images = std::get_if<PatchInput>(&network.input.source);
  check_length(network, images ? images->n_tokens() : n_tokens);
  const auto* tokens = std::get_if<TokenInput>(&network.input.source);
  std::optional<ZipfTokens> zipf;
  if (tokens && law == TokenLaw::kZipf) zipf.emplace(seed, tokens->words.rows);
  std::vector<Sample> samples(static_cast<std::size_t>(std::max<Index>(n_samples, 0)));
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const RandomKey key = random_key(seed, fmt::format("sample {}", s));
    TokenIds ids(static_cast<std::size_t>(n_tokens));
    if (zipf) {
      zipf->draw(key, ids);
      samples[s].content = std::move(ids);
    } else if (tokens) {
      fill_integers(key, 0, ids, static_cast<std::int32_t>(tokens->words.rows));
      samples[s].content = std::move(ids);
    } else if (images) {
      samples[s].content =
          Pixels{normal_matrix(key, images->channels, images->image * images->image), images->n_tokens()};
    } else {
      samples[s].content =
          Features{normal_matrix(key, n_tokens, std::get<FeatureInput>(network.input.source).n_features)};
    }
  }
  return samples;
}

}  // namespace rankfall
