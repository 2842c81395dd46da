#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

#include "base/errors.h"
#include "base/parallel.h"
#include "linalg/gemm.h"
#include "linalg/norms.h"
#include "linalg/norms_impl.h"
#include "linalg/rank_one.h"
#include "result/statistics.h"
#include "studies/part_of.h"
#include "studies/paths/path_draws.h"
#include "studies/paths/path_sums.h"
#include "studies/paths/path_views.h"
#include "studies/published/published_table.h"
#include <rankfall/measure.h>

namespace rankfall {
namespace {

struct Quartile {
  const char* name;
  double share;
};
constexpr std::array kQuartiles = {Quartile{"q1", 0.25}, Quartile{"median", 0.5}, Quartile{"q3", 0.75}};

// By metric, one value a path; NaN where there is none.
using Values = std::map<std::string, std::vector<double>>;

// The rows that are no padding.
Matrix<double> valid_part(const MatrixRef<double>& m, std::span<const std::uint8_t> valid) {
  return m(valid_rows(m.rows(), valid), Eigen::all);
}

struct TermValues {
  double relative_residual = NAN, ratio = NAN, remainder = NAN;
};

TermValues values_of(const CentredMatrix& m, std::span<const std::uint8_t> valid) {
  const Matrix<double> residual = valid_part(m.residual, valid);
  Matrix<double> whole = residual;
  whole.rowwise() += m.mean;
  TermValues values;
  const double size = norms<double>(whole).composite();
  if (size == 0) return values;
  values.relative_residual = norms<double>(residual).composite() / size;
  const RankOneDistance distance = rank_one_distance(m.mean, residual);
  values.ratio = distance.ratio;
  values.remainder = distance.remainder;
  return values;
}

double cosine(const MatrixRef<double>& a, const MatrixRef<double>& b) {
  return a.cwiseProduct(b).sum() / (a.norm() * b.norm());
}

// LayerNorm without gain, as after every layer of a path that runs by itself.
Matrix<double> layer_normed(Matrix<double> x) {
  for (Index i = 0; i < x.rows(); ++i) {
    x.row(i).array() -= x.row(i).mean();
    const double norm = x.row(i).norm();
    if (norm > 0) x.row(i) *= std::sqrt(static_cast<double>(x.cols())) / norm;
  }
  return x;
}

// The product of a path's own attention matrices when it runs by itself.
class RerunAttention final : public Observer<double> {
 public:
  Needs needs() const override { return {.attention = Needs::Attention::kWhole}; }
  void attention(Index /*block*/, Index /*head*/, const MatrixRef<double>& p) override {
    if (product.rows() == 0) {
      product = p;
      return;
    }
    product = rankfall::product<double>(false, false, p, product);
  }
  Matrix<double> product;
};

class Sampling {
 public:
  explicit Sampling(const PathsJob& job) : job_(job) {}

  std::vector<Row> make(const Progress& progress) {
    std::vector<Index> lengths = possible_lengths(job_.network);
    std::erase(lengths, 0);
    if (lengths.empty()) {
      throw usage_error(
          "no path leads from the embedding to the output through a head: without mlp_skip every path restarts "
          "at an MLP");
    }
    // In the order of samples, so that each sample's forward pass is needed once or a few times.
    std::vector<DrawnPath> drawn;
    for (const Index k : lengths) {
      auto some = draw_paths(job_.network, job_.options.seed, k, job_.options.n_draws, job_.samples.size());
      std::ranges::move(some, std::back_inserter(drawn));
    }
    std::ranges::stable_sort(drawn, {}, &DrawnPath::sample);
    const auto n_tokens = static_cast<double>(size_of(job_.samples).n_tokens);
    const double bytes = 3 * n_tokens * (n_tokens + static_cast<double>(job_.network.sizes.d_model)) * sizeof(double);
    for_groups(drawn.size(), bytes, [&](std::size_t first, std::size_t count) {
      const auto n_drawn = static_cast<double>(drawn.size());
      batch(std::span(drawn).subspan(first, count),
            part_of(progress, static_cast<double>(first), n_drawn, "random paths", static_cast<double>(count)));
    });
    for (const Index k : lengths) {
      for (auto& [metric, all] : values_[k]) quartiles(k, metric, std::move(all));
    }
    if (job_.options.as_published && job_.model.name == "bert-base@init" && job_.variant.name == "full") published();
    return std::move(rows_);
  }

 private:
  void quartiles(Index k, const std::string& metric, std::vector<double> all) {
    std::erase_if(all, [](double x) { return !std::isfinite(x); });
    for (const Quartile& quartile : kQuartiles) {
      Row& row = rows_.emplace_back(Row{.metric = metric, .n = std::ssize(all), .length = k, .kind = quartile.name});
      if (all.empty()) continue;
      row.mean = quantile(all, quartile.share);
      // Chained attention has its mean apart and no floor; other matrices are rounded as a whole.
      const bool apart = metric.starts_with("path.attention") || metric.starts_with("path.term.relative_residual");
      const bool is_distance = metric.find("cosine") == std::string::npos && !metric.ends_with("attention_distance");
      if (!apart && is_distance && *row.mean <= kFloorEpsilons * std::numeric_limits<double>::epsilon()) {
        set_rounding_floor(row);
      }
    }
  }

  void batch(std::span<const DrawnPath> drawn, const Progress& progress) {
    // The samples that occur, each with its paths.
    std::map<std::size_t, std::vector<std::size_t>> by_sample;
    for (std::size_t i = 0; i < drawn.size(); ++i) by_sample[drawn[i].sample].push_back(i);
    std::vector<Sample> samples;
    std::vector<std::vector<Path>> paths;
    struct Place {
      std::size_t sample, path;
    };
    std::vector<Place> place(drawn.size());
    for (const auto& [sample, numbers] : by_sample) {
      auto& list = paths.emplace_back();
      for (const std::size_t i : numbers) {
        place[i] = {samples.size(), list.size()};
        list.push_back(drawn[i].path);
      }
      samples.push_back(job_.samples[sample]);
    }
    const auto terms = follow(job_.network, *job_.model.weights, samples, paths,
                              {.attention = true, .published_order = job_.options.as_published},
                              {.progress = part_of(progress, 0, 2, "random paths")});

    const bool published = job_.options.as_published;
    std::vector<TermValues> attention(drawn.size());
    std::vector<TermValues> term(drawn.size());
    std::vector<double> f32(drawn.size());
    parallel_for(std::ssize(drawn), [&](Index n) {
      const auto i = static_cast<std::size_t>(n);
      const PathTerm& path = terms[place[i].sample][place[i].path];
      const auto& valid = samples[place[i].sample].valid;
      attention[i] = values_of(path.attention, valid);
      term[i] = values_of(path.term, valid);
      if (published) f32[i] = rank_one_remainder_f32(valid_part(path.attention.joined(), valid));
    });
    const auto put = [&](const std::string& what, const std::vector<TermValues>& all) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        Values& values = values_of_length(drawn[i]);
        values[what + ".relative_residual.composite"].push_back(all[i].relative_residual);
        values[what + ".rank1_distance"].push_back(all[i].ratio);
        values[what + ".rank1_remainder.composite"].push_back(all[i].remainder);
      }
    };
    put(published ? "path.attention_reversed" : "path.attention", attention);
    put("path.term", term);
    for (std::size_t i = 0; i < drawn.size() && published; ++i) {
      values_of_length(drawn[i])["path.attention_reversed.rank1_remainder_f32.composite"].push_back(f32[i]);
    }
    for (std::size_t i = 0; i < drawn.size() && job_.options.rerun; ++i) {
      rerun(drawn[i], terms[place[i].sample][place[i].path]);
      if (progress) progress(1 + static_cast<double>(i + 1) / static_cast<double>(drawn.size()), 2, "random paths");
    }
  }

  Values& values_of_length(const DrawnPath& drawn) { return values_[std::ssize(drawn.path.heads)]; }

  void rerun(const DrawnPath& drawn, const PathTerm& frozen) {
    Values& values = values_of_length(drawn);
    const Sample& sample = job_.samples[drawn.sample];
    const Network network = rerun_network(job_.network, drawn.path);
    RerunAttention watch;
    const std::vector<Observer<double>*> observers = {&watch};
    const auto states = forward<double>(network, *job_.model.weights, std::span(&sample, 1), observers);
    const Matrix<double> again = valid_part(states[0], sample.valid);
    const Matrix<double> term = layer_normed(valid_part(frozen.term.joined(), sample.valid));
    const CentredNorms norms = centred_norms<double>(again, {});
    values["rerun.relative_residual.composite"].push_back(norms.residual.composite() / norms.state.composite());
    values["rerun.cosine"].push_back(cosine(again, term));
    values["rerun.cosine_residual"].push_back(cosine(centred_rows<double>(again, {}), centred_rows<double>(term, {})));
    if (job_.options.as_published) return;
    const Matrix<double> p = valid_part(frozen.attention.joined(), sample.valid);
    const Matrix<double> own = valid_part(watch.product, sample.valid);
    values["rerun.attention_distance"].push_back((p - own).cwiseAbs().rowwise().sum().mean() / 2);
  }

  // model,state,path_depth,q1,median,q3
  void published() {
    for (const auto& fields : published_table(kPublishedBoxplot)) {
      if (fields[0] != "bert-base-cased" || fields[1] != "init") continue;
      for (std::size_t q = 0; q < kQuartiles.size(); ++q) {
        rows_.push_back({.metric = "published.rank1_remainder.composite",
                         .mean = published_number<double>(fields[3 + q]),
                         .length = published_number<Index>(fields[2]),
                         .kind = kQuartiles.at(q).name});
      }
    }
  }

  const PathsJob& job_;
  std::map<Index, Values> values_;  // by length
  std::vector<Row> rows_;
};

}  // namespace

std::vector<Row> drawn_path_rows(const PathsJob& job, const Progress& progress) { return Sampling(job).make(progress); }

}  // namespace rankfall
