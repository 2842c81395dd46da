#include "studies/effectiveness/effectiveness.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/errors.h"
#include "result/manifest.h"
#include "result/statistics.h"
#include "studies/effectiveness/task_file.h"
#include "studies/part_of.h"
#include "studies/paths/path_draws.h"
#include "studies/paths/path_sums.h"
#include <rankfall/decompose.h>
#include <rankfall/forward.h>

namespace rankfall {
namespace {

using Labels = std::vector<std::int32_t>;
using States = std::vector<Matrix<double>>;

// Right answers and cross-entropy over labelled tokens.
struct Score {
  double n_right = 0, loss = 0, n = 0;

  void add(const Matrix<double>& logits, const Labels& labels) {
    for (std::size_t t = 0; t < labels.size(); ++t) {
      if (labels[t] < 0) continue;
      const auto row = logits.row(static_cast<Index>(t));
      Index best = 0;
      const double largest = row.maxCoeff(&best);
      n_right += best == labels[t] ? 1 : 0;
      loss += largest + std::log((row.array() - largest).exp().sum()) - row(labels[t]);
      n += 1;
    }
  }
};

// LayerNorm without gain.
Matrix<double> normalised(const Matrix<double>& x, double eps) {
  Matrix<double> out = x.colwise() - x.rowwise().mean();
  for (Index i = 0; i < out.rows(); ++i) {
    out.row(i) /= std::sqrt(out.row(i).squaredNorm() / static_cast<double>(out.cols()) + eps);
  }
  return out;
}

// What is measured, by kind, paths of a set and length.
struct Key {
  std::string kind;
  std::optional<Index> set, length;

  auto operator<=>(const Key&) const = default;
};

class Effectiveness {
 public:
  Effectiveness(const Model& model, const TaskFile& task, const EffectivenessOptions& options, const Progress& progress)
      : model_(model), network_(model.network), task_(task), options_(options), progress_(progress) {
    for (const SubLayer& layer : network_.layers) {
      if (layer.post) eps_ = layer.post->eps;
    }
    for (const Index length : possible_lengths(network_)) {
      for (const Index size : options.set_sizes) {
        for (Index d = 0; d < options.n_draws; ++d) draw(length, size, d);
      }
    }
  }

  // One value for each draw; of what is not drawn one value.
  std::map<Key, std::vector<Score>> run() {
    // All frozen sums, and the states of the sets that are being added up.
    const auto n_tokens = size_of_samples();
    const double state = n_tokens * static_cast<double>(network_.sizes.d_model) * sizeof(double);
    const double sets = 2.0 * static_cast<double>(sets_.size());
    const double bytes = path_sum_bytes(network_, static_cast<Index>(n_tokens), false) + (sets + 4) * state;
    for_groups(task_.samples.size(), bytes, [&](std::size_t first, std::size_t count) {
      samples_ = std::span(task_.samples).subspan(first, count);
      first_ = first;
      say(0);
      whole();
      sums();
      say(0.1);
      drawn();
    });
    return std::move(scores_);
  }

 private:
  struct Set {
    Key rerun, frozen;
    std::size_t draw = 0;
    std::vector<std::size_t> paths;  // indices into paths_, which may repeat
  };

  double size_of_samples() const {
    Index largest = 0;
    for (const Sample& sample : task_.samples) largest = std::max(largest, sample.n_tokens());
    return static_cast<double>(largest);
  }

  void say(double share) const {
    if (!progress_) return;
    const auto n = static_cast<double>(task_.samples.size());
    progress_(static_cast<double>(first_) + share * static_cast<double>(samples_.size()), n, "paths by length");
  }

  void draw(Index length, Index size, Index number) {
    Set set;
    set.rerun = {"rerun", size, length};
    set.frozen = {"frozen", size, length};
    set.draw = static_cast<std::size_t>(number);
    // Each set has its own stream.
    const std::uint64_t seed =
        options_.seed + 1'000'003 * static_cast<std::uint64_t>(number + 1) + 7'919 * static_cast<std::uint64_t>(size);
    for (const DrawnPath& drawn : draw_paths(network_, seed, length, size, 1)) {
      const auto found = std::ranges::find(paths_, drawn.path);
      set.paths.push_back(static_cast<std::size_t>(found - paths_.begin()));
      if (found == paths_.end()) paths_.push_back(drawn.path);
    }
    sets_.push_back(std::move(set));
  }

  void score(const Key& key, std::size_t number, const States& states) {
    const States logits = apply_head<double>(network_, *model_.weights, states);
    auto& scores = scores_[key];
    if (scores.size() <= number) scores.resize(number + 1);
    for (std::size_t s = 0; s < logits.size(); ++s) scores[number].add(logits[s], task_.labels[first_ + s]);
  }

  void whole() { score({"model", {}, {}}, 0, forward<double>(network_, *model_.weights, samples_, {})); }

  // The exact sums over all paths of a length, and up to a length.
  void sums() {
    const auto parts = decompose(network_, *model_.weights, samples_, Origins::kMerged, {});
    States up_to(samples_.size());
    for (Index k = 0; k <= network_.sizes.n_blocks; ++k) {
      States of(samples_.size());
      for (std::size_t s = 0; s < samples_.size(); ++s) {
        of[s] = Matrix<double>::Zero(parts[s].x.rows(), parts[s].x.cols());
        if (k < parts[s].sums.n_lengths()) {
          const Matrix<double> sum = parts[s].sums.of_length(k);
          if (sum.rows() > 0) of[s] = sum;
        }
        up_to[s] = k == 0 ? of[s] : Matrix<double>(up_to[s] + of[s]);
      }
      score({"exact", {}, k}, 0, of);
      score({"cumulative", {}, k}, 0, up_to);
    }
  }

  // Every path once, added to all sets that have it.
  void drawn() {
    std::vector<States> rerun(sets_.size());
    std::vector<States> frozen(sets_.size());
    const auto add = [&](std::vector<States>& sums, std::size_t path, const States& terms) {
      for (std::size_t i = 0; i < sets_.size(); ++i) {
        const auto times = static_cast<double>(std::ranges::count(sets_[i].paths, path));
        if (times == 0) continue;
        sums[i].resize(terms.size());
        for (std::size_t s = 0; s < terms.size(); ++s) {
          sums[i][s] =
              sums[i][s].size() == 0 ? Matrix<double>(times * terms[s]) : Matrix<double>(sums[i][s] + times * terms[s]);
        }
      }
    };
    for (std::size_t p = 0; p < paths_.size(); ++p) {
      add(rerun, p, forward<double>(rerun_network(network_, paths_[p]), *model_.weights, samples_, {}));
      say(0.1 + 0.6 * static_cast<double>(p) / static_cast<double>(paths_.size()));
    }
    constexpr std::size_t kAtOnce = 64;
    for (std::size_t p = 0; p < paths_.size(); p += kAtOnce) {
      const auto end = std::min(paths_.size(), p + kAtOnce);
      const std::vector<Path> some(paths_.begin() + static_cast<std::ptrdiff_t>(p),
                                   paths_.begin() + static_cast<std::ptrdiff_t>(end));
      const auto terms = follow(network_, *model_.weights, samples_, std::vector(samples_.size(), some));
      for (std::size_t i = 0; i < some.size(); ++i) {
        States of;
        of.reserve(terms.size());
        for (const auto& sample : terms) of.push_back(sample[i].term.joined());
        add(frozen, p + i, of);
      }
      say(0.7 + 0.3 * static_cast<double>(end) / static_cast<double>(paths_.size()));
    }
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      for (auto [key, states] : {std::pair(&sets_[i].rerun, &rerun[i]), {&sets_[i].frozen, &frozen[i]}}) {
        for (Matrix<double>& state : *states) state = normalised(state, eps_);
        score(*key, sets_[i].draw, *states);
      }
    }
  }

  const Model& model_;
  const Network& network_;
  const TaskFile& task_;
  const EffectivenessOptions& options_;
  const Progress& progress_;
  double eps_ = 1e-12;
  std::vector<Path> paths_;
  std::vector<Set> sets_;
  std::span<const Sample> samples_;
  std::size_t first_ = 0;
  std::map<Key, std::vector<Score>> scores_;
};

// Shares of right answers of what does not look at the sequence.
std::map<std::string, double> baselines(const TaskFile& task) {
  std::map<std::string, double> out;
  using Counts = std::map<std::int32_t, Index>;
  const auto most = [](const Counts& counts) {
    return std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; })->first;
  };
  std::map<std::size_t, Counts> by_position;
  Counts all;
  for (const Labels& labels : task.train_labels) {
    for (std::size_t t = 0; t < labels.size(); ++t) {
      if (labels[t] < 0) continue;
      ++by_position[t][labels[t]];
      ++all[labels[t]];
    }
  }
  double n = 0;
  double position = 0;
  double majority = 0;
  double ceiling = 0;
  for (std::size_t s = 0; s < task.labels.size(); ++s) {
    std::map<std::int32_t, Counts> by_token;
    const auto* ids = std::get_if<TokenIds>(&task.samples[s].content);
    for (std::size_t t = 0; t < task.labels[s].size(); ++t) {
      const std::int32_t label = task.labels[s][t];
      if (label < 0) continue;
      n += 1;
      if (by_position.contains(t) && most(by_position[t]) == label) position += 1;
      if (!all.empty() && most(all) == label) majority += 1;
      if (ids) ++by_token[(*ids)[t]][label];
    }
    for (const auto& [token, counts] : by_token) ceiling += static_cast<double>(counts.at(most(counts)));
  }
  if (n == 0) return out;
  if (!all.empty()) {
    out["baseline.position"] = position / n;
    out["baseline.majority"] = majority / n;
  }
  if (ceiling > 0) out["ceiling.without_positions"] = ceiling / n;
  return out;
}

// A directory of a training, or the ones in it.
std::vector<std::string> trainings(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(fs::path(directory) / "config.json", error)) return {directory};
  std::vector<std::string> found;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code other;
    if (fs::exists(entry->path() / "config.json", other) && fs::exists(entry->path() / "task.safetensors", other)) {
      found.push_back(entry->path().string());
    }
  }
  if (error) throw input_error("{}: {}", directory, error.message());
  if (found.empty()) {
    throw input_error(
        "{}: no training in it; expected a directory that rankfall train wrote "
        "(config.json, model.safetensors, task.safetensors)",
        directory);
  }
  // seed-2 before seed-10
  std::ranges::sort(found, [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  });
  return found;
}

// Values of one directory and of all of them.
class Rows {
 public:
  Rows(std::string model, Result& result) : model_(std::move(model)), result_(result) {}

  void add(const std::map<Key, std::vector<Score>>& scores, const std::map<std::string, double>& others, Index number) {
    for (const auto& [key, draws] : scores) {
      Statistics accuracy;
      Statistics loss;
      for (const Score& score : draws) {
        accuracy.add(score.n_right / score.n);
        loss.add(score.loss / score.n);
      }
      put("accuracy", key, accuracy, number);
      put("loss", key, loss, number);
    }
    for (const auto& [kind, value] : others) {
      Statistics one;
      one.add(value);
      put("accuracy", {kind, {}, {}}, one, number);
    }
  }

  void finish() {
    for (const auto& [key, statistics] : all_) set(row(key.first, key.second), statistics);
  }

 private:
  Row& row(const std::string& metric, const Key& key) {
    return result_.rows.emplace_back(
        Row{.model = model_, .metric = metric, .length = key.length, .kind = key.kind, .k = key.set});
  }

  void put(const std::string& metric, const Key& key, const Statistics& statistics, Index number) {
    Row& one = row(metric, key);
    set(one, statistics);
    one.seed = static_cast<std::uint64_t>(number);
    if (statistics.mean()) all_[{metric, key}].add(*statistics.mean());
  }

  std::string model_;
  Result& result_;
  std::map<std::pair<std::string, Key>, Statistics> all_;
};

}  // namespace

Result effectiveness(std::span<const std::string> directories, const EffectivenessOptions& options) {
  if (options.n_draws < 1) throw usage_error("no draws; expected at least 1");
  std::vector<std::vector<std::string>> groups;
  double n_all = 0;
  for (const std::string& directory : directories) {
    n_all += static_cast<double>(groups.emplace_back(trainings(directory)).size());
  }
  Result result{"effectiveness", base_manifest(), {}};
  add(result.manifest, "seed", options.seed);
  add(result.manifest, "draws", std::int64_t{options.n_draws});
  add(result.manifest, "threads", std::int64_t{threads()});
  double done = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    Rows rows(directories[g], result);
    Sizes first;
    for (std::size_t i = 0; i < groups[g].size(); ++i) {
      const Model model = open_model(groups[g][i], 0);
      if (i == 0) first = model.network.sizes;
      const Sizes& sizes = model.network.sizes;
      if (sizes.n_blocks != first.n_blocks || sizes.n_heads != first.n_heads || sizes.vocab != first.vocab) {
        throw usage_error(
            "{} and {}: different networks or tasks; trainings of one directory are "
            "averaged",
            groups[g][0], groups[g][i]);
      }
      TaskFile task = read_task(model);
      if (options.n_samples && *options.n_samples < std::ssize(task.samples)) {
        task.samples.resize(static_cast<std::size_t>(*options.n_samples));
        task.labels.resize(task.samples.size());
      }
      const Progress progress = part_of(options.progress, done++, n_all, groups[g][i]);
      rows.add(Effectiveness(model, task, options, progress).run(), baselines(task), static_cast<Index>(i));
    }
    rows.finish();
  }
  return result;
}

}  // namespace rankfall
