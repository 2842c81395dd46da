#include "train/task_data.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "io/sha256.h"
#include "train/text_ids.h"
#include <rankfall/error.h>
#include <rankfall/model.h>

namespace rankfall {
namespace {

std::vector<std::int32_t> integers(const TrainSettings& s, const std::string& name, Index count, std::int32_t bound) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(count));
  fill_integers(random_key(s.seed, "task " + s.task + " " + name), 0, out, bound);
  return out;
}

TaskSet sorting(const TrainSettings& s, const char* part, Index n) {
  const auto digits = integers(s, part, n * s.n_tokens, static_cast<std::int32_t>(s.n_symbols));
  TaskSet out;
  for (Index i = 0; i < n; ++i) {
    const auto first = digits.begin() + i * s.n_tokens;
    TokenIds ids(first, first + s.n_tokens);
    out.labels.push_back(ids);
    std::ranges::sort(out.labels.back());
    out.samples.emplace_back().content = std::move(ids);
  }
  return out;
}

TaskSet hulls(const TrainSettings& s, const char* part, Index n) {
  const std::string name = fmt::format("task hull {}", part);
  std::vector<float> uniform(static_cast<std::size_t>(2 * n * s.n_tokens));
  fill_uniform(random_key(s.seed, name), 0, uniform, 5);
  std::vector<float> shifts(static_cast<std::size_t>(2 * n));
  fill_normal(random_key(s.seed, name + " shift"), 0, shifts, 3.3);
  TaskSet out;
  for (Index i = 0; i < n; ++i) {
    Matrix<double> points(s.n_tokens, 2);
    for (Index t = 0; t < s.n_tokens; ++t) {
      for (Index c = 0; c < 2; ++c) {
        points(t, c) = 5.0 + double{uniform[static_cast<std::size_t>(2 * (i * s.n_tokens + t) + c)]} +
                       double{shifts[static_cast<std::size_t>(2 * i + c)]};
      }
    }
    auto& labels = out.labels.emplace_back();
    for (const bool corner : hull_corners(points)) labels.push_back(corner ? 1 : 0);
    out.samples.emplace_back().content = Features{std::move(points)};
  }
  return out;
}

TaskSet memories(const TrainSettings& s, TaskData& data) {
  TaskSet out;
  if (s.text.empty()) {
    const Network network = network_from_config(network_config(s).dump(), "config.json");
    out.samples = random_samples(network, s.seed, s.n_train, s.n_tokens, TokenLaw::kZipf);
  } else {
    out.samples = text_ids(s);
    for (const Sample& sample : out.samples) {
      for (const std::int32_t id : std::get<TokenIds>(sample.content)) {
        data.n_symbols = std::max(data.n_symbols, Index{id} + 1);
      }
    }
  }
  const auto bits = integers(s, "labels", static_cast<Index>(out.samples.size()) * s.n_tokens, 2);
  for (std::size_t i = 0; i < out.samples.size(); ++i) {
    auto& labels = out.labels.emplace_back();
    for (std::size_t t = 0; t < static_cast<std::size_t>(s.n_tokens); ++t) {
      const bool is_token = out.samples[i].valid.empty() || out.samples[i].valid[t] != 0;
      labels.push_back(is_token ? bits[i * static_cast<std::size_t>(s.n_tokens) + t] : -1);
    }
  }
  return out;
}

// Items of 1000 points on a circle: points i and i + 499, to be followed by i + 1 and i + 500; `offset` of a step.
TaskSet circle(const TrainSettings& s, double offset, Index n) {
  constexpr double kRadius = 0.3;
  constexpr double kStep = 2 * std::numbers::pi / 1000;
  TaskSet out;
  for (Index i = 0; i < n; ++i) {
    Matrix<double> from(s.n_tokens, 2);
    Matrix<double> to(s.n_tokens, 2);
    for (Index t = 0; t < s.n_tokens; ++t) {
      const double angle = kStep * (offset + static_cast<double>(i + 499 * t));
      from.row(t) << kRadius * std::cos(angle), kRadius * std::sin(angle);
      to.row(t) << kRadius * std::cos(angle + kStep), kRadius * std::sin(angle + kStep);
    }
    out.samples.emplace_back().content = Features{std::move(from)};
    out.targets.push_back(std::move(to));
  }
  return out;
}

// The published outer skip: the input of an item is its own and that of the item one batch before.
void add_previous_batch(Index batch, TaskSet& set) {
  for (auto i = static_cast<Index>(set.samples.size()) - 1; i >= batch; --i) {
    const auto at = static_cast<std::size_t>(i);
    std::get<Features>(set.samples[at].content).values +=
        std::get<Features>(set.samples[at - static_cast<std::size_t>(batch)].content).values;
  }
}

}  // namespace

std::string digest_of(const TaskSet& set) {
  std::vector<std::int32_t> all;
  for (const Sample& sample : set.samples) {
    const auto& ids = std::get<TokenIds>(sample.content);
    all.insert(all.end(), ids.begin(), ids.end());
  }
  return sha256(std::as_bytes(std::span(all)));
}

std::vector<bool> hull_corners(const Matrix<double>& points) {
  const auto n = static_cast<std::size_t>(points.rows());
  std::vector<bool> is_corner(n, false);
  std::vector<Index> order(n);
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::sort(order, [&](Index a, Index b) {
    return std::pair(points(a, 0), points(a, 1)) < std::pair(points(b, 0), points(b, 1));
  });
  const auto turn = [&](Index a, Index b, Index c) {
    return (points(b, 0) - points(a, 0)) * (points(c, 1) - points(a, 1)) -
           (points(b, 1) - points(a, 1)) * (points(c, 0) - points(a, 0));
  };
  // Andrew's two chains, below and above.
  for (int side = 0; side < 2; ++side) {
    std::vector<Index> chain;
    for (const Index next : order) {
      while (chain.size() >= 2 && turn(chain[chain.size() - 2], chain.back(), next) <= 0) chain.pop_back();
      chain.push_back(next);
    }
    for (const Index corner : chain) is_corner[static_cast<std::size_t>(corner)] = true;
    std::ranges::reverse(order);
  }
  return is_corner;
}

TaskData make_task(const TrainSettings& settings) {
  check_settings(settings);
  TaskData data;
  data.n_symbols = settings.n_symbols;
  if (settings.task == "sort") {
    data.train = sorting(settings, "train", settings.n_train);
    data.eval = sorting(settings, "eval", settings.n_eval);
  } else if (settings.task == "hull") {
    data.train = hulls(settings, "train", settings.n_train);
    data.eval = hulls(settings, "eval", settings.n_eval);
  } else if (settings.task == "memorize") {
    data.train = memories(settings, data);
    data.eval = data.train;
    const auto n = std::min(data.eval.samples.size(), static_cast<std::size_t>(settings.n_eval));
    data.eval.samples.resize(n);
    data.eval.labels.resize(n);
  } else {
    data.train = circle(settings, 0, settings.n_train);
    data.eval = circle(settings, 0.5, settings.n_eval);  // between the points of training
    if (settings.outer_skip) add_previous_batch(settings.batch, data.train);
  }
  return data;
}

}  // namespace rankfall
