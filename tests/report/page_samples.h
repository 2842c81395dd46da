#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "result/manifest.h"
#include <rankfall/report.h>
#include <rankfall/result.h>

// A small result of each command, as its rows look.

namespace rankfall {

inline constexpr const char* kRelative = "relative_residual.composite";

inline Row row(const std::string& model, const std::string& variant, const std::string& metric,
               std::optional<double> mean) {
  Row row;
  row.model = model;
  row.variant = variant;
  row.metric = metric;
  row.mean = mean;
  return row;
}

inline Result measured(const std::string& model, const std::vector<std::string>& variants, Index n_layers) {
  Result result;
  result.command = "measure";
  for (const std::string& variant : variants) {
    for (Index layer = 0; layer <= n_layers; ++layer) {
      const bool dies = variant.starts_with("san") && variant != "san+skip" && layer >= 2;
      Row one = row(model, variant, kRelative, dies ? 2e-7 : 0.6 - 0.01 * static_cast<double>(layer));
      one.layer = layer;
      one.std = 0.02;
      one.n = 32;
      if (dies) one.status = Status::kRoundingFloor;
      result.rows.push_back(one);
      one.metric = "cosine.mean";
      one.mean = 0.5;
      result.rows.push_back(one);
      if (layer == n_layers) continue;
      one.metric = "attention.entropy";
      for (one.head = 0; *one.head < 2; ++*one.head) result.rows.push_back(one);
      one.head.reset();
    }
  }
  return result;
}

inline Result collapsed() {
  Result result;
  result.command = "collapse";
  for (const char* kind : {"exact", "f32", "f64"}) {
    for (Index layer = 0; layer < 5; ++layer) {
      Row one = row("bert", "san", "log10_relative_residual.composite", -std::pow(3.0, static_cast<double>(layer)));
      one.kind = kind;
      one.layer = layer;
      result.rows.push_back(one);
      if (std::string_view(kind) != "exact") continue;
      one.sample = 0;
      result.rows.push_back(one);
      one.sample.reset();
      one.metric = "local_exponent";
      one.mean = 3;
      result.rows.push_back(one);
      one.variant = "full";  // a curve without any value is no series
      one.mean.reset();
      result.rows.push_back(one);
    }
  }
  Row decay = row("bert", "san", "decay", std::nullopt);
  decay.kind = "residual";
  decay.status = Status::kDoublyExponential;
  decay.verdict = "doubly exponential: local exponent 3.00";
  result.rows.push_back(decay);
  return result;
}

inline Result walked() {
  Result result;
  result.command = "paths";
  const auto add = [&](const char* metric, double value) -> Row& {
    result.rows.push_back(row("bert", "full", metric, value));
    return result.rows.back();
  };
  for (Index length = 0; length < 3; ++length) {
    for (const char* origin : {"embedding", "mlp", "all"}) {
      for (const char* metric : {"paths.share.residual", "paths.share.projection"}) {
        Row& one = add(metric, std::string_view(origin) == "all" ? 1.0 / 3 : 1.0 / 6);
        one.layer = 2;
        one.length = length;
        one.origin = origin_from(origin);
      }
    }
    for (const char* kind : {"q1", "median", "q3"}) {
      for (const char* metric :
           {"path.attention_reversed.rank1_remainder.composite", "published.rank1_remainder.composite"}) {
        Row& one = add(metric, 0.1);
        one.length = length + 1;
        one.kind = kind;
      }
    }
    Row& gram = add("paths.gram.residual", length == 1 ? -0.5 : 0.5);
    gram.length = length;
    gram.k = 0;
    Row& top = add("path.share.residual", 0.2);
    top.length = length;
    top.origin = length == 0 ? Origin{Origin::Kind::kMlp, 1} : Origin{};
    top.path = length == 0 ? Heads{} : length == 1 ? Heads{{0, 1}} : Heads{{0, 0}, {1, 1}};
    top.k = length + 1;
  }
  for (Index block = 0; block < 2; ++block) {
    for (Index head = 0; head < 2; ++head) {
      Row& one = add("head.share.residual", 0.1);
      one.layer = block;
      one.head = head;
    }
  }
  return result;
}

inline Result counted() {
  Result result;
  result.command = "counts";
  for (Index length = 0; length <= 6; ++length) {
    for (const char* metric : {"paths.proportion", "published.proportion"}) {
      Row one = row("DistilBert", "", metric, 0.1);
      one.length = length;
      result.rows.push_back(one);
    }
  }
  Row total = row("DistilBert", "", "paths.total", std::nullopt);
  total.exact = "4826809";
  result.rows.push_back(total);
  return result;
}

inline Result bounded() {
  Result result;
  result.command = "bounds";
  for (Index block = 0; block < 3; ++block) {
    Row one = row("bert", "san", "log10_tightness.T2.3", -8.0);
    one.layer = block;
    one.kind = "claimed";
    one.status = Status::kHolds;
    one.verdict = "applies and holds";
    result.rows.push_back(one);
    one.metric = "log10_tightness.T2.2";
    for (const double tightness : {-7.0, -3.0, -5.0}) {  // heads: the closest counts
      one.mean = tightness;
      one.head = one.head ? *one.head + 1 : 0;
      result.rows.push_back(one);
    }
  }
  Row theorem = row("bert", "san", "theorem", std::nullopt);
  theorem.claim = "T2.3";
  theorem.n = 3;
  theorem.status = Status::kHolds;
  theorem.verdict = "applies and holds in 3 of 3; at best measured/bound = 10^-8.0";
  result.rows.push_back(theorem);
  Row cases = row("bert", "san", "theorem.cases", 3.0);
  cases.claim = "T2.3";
  cases.n = 3;
  cases.status = Status::kHolds;
  result.rows.push_back(cases);
  return result;
}

inline Result claims(const std::string& command) {
  Result result;
  result.command = command;
  for (const char* what : {command == "audit" ? "statement" : "criterion", "verdict", "evidence"}) {
    Row one = row("", "", command + "." + what, std::nullopt);
    one.claim = "01 one";
    one.verdict = "words";
    if (std::string_view(what) == "verdict") {
      one.status = command == "audit" ? Status::kHolds : Status::kAgrees;
      one.verdict = command == "audit" ? "holds (proved)" : "agrees";
    }
    result.rows.push_back(one);
  }
  return result;
}

inline Result effective() {
  Result result;
  result.command = "effectiveness";
  for (const std::optional<std::uint64_t> seed : {std::optional<std::uint64_t>(0), std::optional<std::uint64_t>()}) {
    for (Index length = 0; length < 3; ++length) {
      for (const char* kind : {"exact", "rerun"}) {
        Row one = row("sort", "", "accuracy", length == 1 ? 0.9 : 0.2);
        one.kind = kind;
        one.length = length;
        one.seed = seed;
        if (std::string_view(kind) == "rerun") one.k = 5;
        result.rows.push_back(one);
      }
    }
    Row whole = row("sort", "", "accuracy", 0.99);
    whole.kind = "model";
    whole.seed = seed;
    result.rows.push_back(whole);
  }
  return result;
}

inline Result circled() {
  Result result;
  result.command = "circle";
  for (Index step = 0; step < 4; ++step) {
    for (Index token = 0; token < 2; ++token) {
      for (const char* metric : {"track.x", "track.y"}) {
        Row one = row("width 32", "attention", metric, 0.3 - 0.1 * static_cast<double>(step));
        one.step = step;
        one.k = token;
        one.seed = 0;
        result.rows.push_back(one);
      }
    }
    Row distance = row("width 32", "attention", "distance", step == 3 ? 0.0 : 0.5);
    distance.step = step;
    distance.seed = 0;
    result.rows.push_back(distance);
  }
  return result;
}

inline Result trained() {
  Result result;
  result.command = "train";
  for (Index step = 0; step < 4; ++step) {
    Row one = row("sort", "", "loss", 1.0 / static_cast<double>(step + 1));
    one.step = step;
    result.rows.push_back(one);
  }
  return result;
}

inline Result low_rank() {
  Result result;
  result.command = "lowrank";
  const auto add = [&](const char* metric, std::optional<double> value) -> Row& {
    result.rows.push_back(row("bert", "full", metric, value));
    return result.rows.back();
  };
  for (Index block = 0; block < 2; ++block) {
    for (Index head = 0; head < 2; ++head) {
      const auto of_head = [&](const char* metric, double value) -> Row& {
        Row& one = add(metric, value);
        one.layer = block;
        one.head = head;
        one.n = 4;
        return one;
      };
      of_head("attention.sigma2", head == 0 ? 0.2 : 0.3);
      of_head("attention.gap", 0.7);
      of_head("attention.entropy", 3.5);
      Row& rank = of_head("attention.rank.numerical", 12);
      rank.kind = "eps=0.1";
      rank.status = Status::kAtLeast;
      for (const Index k : {1, 2, 4, 16}) {
        of_head("attention.singular", 1.0 / static_cast<double>(k)).k = k;
        of_head("attention.energy", k == 1 ? 0.6 : 0.9).k = k;
      }
      of_head("attention.singular.error", 0.001);
    }
  }
  for (const char* kind : {"model", "independent"}) {
    const bool model = std::string_view(kind) == "model";
    for (const Index n : {64, 256}) {
      Row& one = add("scaling.sigma2", model ? 0.5 : 1 / std::sqrt(static_cast<double>(n)));
      one.layer = 0;
      one.tokens = n;
      one.kind = kind;
    }
    Row& fit = add("scaling.exponent", model ? -0.01 : -0.5);
    fit.std = 0.01;
    fit.kind = kind;
    if (model) fit.verdict = "slower than the theorem";
  }
  for (const Index n : {64, 256}) {
    Row& claimed = add("jl.k_claimed", n == 64 ? 167 : 222);
    claimed.tokens = n;
    if (n == 64) claimed.status = Status::kNoSaving;
  }
  for (const char* claim : {"relative", "norms"}) {
    for (const char* kind : {"values", "gaussian"}) {
      const auto of_kind = [&](const char* metric, std::optional<double> value) -> Row& {
        Row& one = add(metric, value);
        one.layer = 0;
        one.claim = claim;
        one.kind = kind;
        return one;
      };
      for (const Index n : {64, 256}) {
        for (const Index k : {Index{8}, Index{n == 64 ? 167 : 222}}) {
          for (const auto& [metric, value] :
               {std::pair("jl.failure", 0.03), std::pair("jl.failure.low", 0.02), std::pair("jl.failure.high", 0.05)}) {
            Row& one = of_kind(metric, k == 8 ? value + 0.5 : value);
            one.tokens = n;
            one.k = k;
          }
        }
        Row& needed = of_kind("jl.k_needed", n == 64 ? std::optional(10.0) : std::nullopt);
        needed.tokens = n;
        if (n != 256) continue;
        needed.status = Status::kNotFound;
        needed.k = 1024 * n;
      }
      of_kind("jl.growth", 0.2).verdict = "it grows like log n";
    }
  }
  add("jl.statement", std::nullopt).verdict = "the printed form does not hold";
  for (const char* kind : {"window:w=16", "nystrom:m=32"}) {
    for (Index layer = 0; layer <= 2; ++layer) {
      for (const char* metric : {"state.distance", "state.distance.residual"}) {
        Row& one = add(metric, 0.1 * static_cast<double>(layer));
        one.variant = kind;
        one.layer = layer;
      }
    }
  }
  for (const std::string kind : {"linformer:k=32", "performer:m=32"}) {
    Row& refused = add("state.distance", std::nullopt);
    refused.variant = kind;
    refused.status = Status::kRefused;
    refused.verdict = "attention " + kind + ": positions are relative";
  }
  return result;
}

inline Result costly() {
  Result result;
  result.command = "layer_costs";
  for (const char* kind : {"full", "window:w=64"}) {
    for (const Index n : {256, 512, 1024}) {
      for (const char* metric : {"layer.seconds", "layer.memory_mb", "layer.gflop", "layer.sequential"}) {
        Row one = row("d=64 H=4", kind, metric, 0.001 * static_cast<double>(n));
        one.tokens = n;
        result.rows.push_back(one);
      }
    }
    for (const char* of : {"seconds", "memory", "flops"}) {
      Row one = row("d=64 H=4", kind, "layer.exponent", 1.0);
      one.kind = of;
      one.verdict = "O(n d)";
      result.rows.push_back(one);
    }
  }
  return result;
}

inline std::vector<NamedResult> all_results() {
  Result other = measured("odd", {"full"}, 2);
  other.command = "unheard_of";
  return {{"measure", measured("bert", {"full", "san", "san+mlp", "san+skip"}, 4)},
          {"collapse", collapsed()},
          {"paths", walked()},
          {"counts", counted()},
          {"bounds", bounded()},
          {"audit", claims("audit")},
          {"agreement", claims("agreement")},
          {"effectiveness", effective()},
          {"circle", circled()},
          {"train", trained()},
          {"lowrank", low_rank()},
          {"layer_costs", costly()},
          {"unheard_of", other}};
}

}  // namespace rankfall
