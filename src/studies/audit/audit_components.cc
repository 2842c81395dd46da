#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "result/statistics.h"
#include "studies/audit/audit_claims.h"
#include "studies/audit/audit_runs.h"
#include "view/number_text.h"

// What slows or prevents the collapse (claims 22 to 27), measured on small random networks: the change of log10 of
// the relative residual per layer, with a part and without it, on the same seeds. Each claim is decided by one rule for
// all kinds of networks, which audit.refuted_by states.

namespace rankfall {
namespace {

constexpr std::uint64_t kComparedSeeds = 12;
constexpr std::uint64_t kHeadSeeds = 48;
constexpr Index kComparedTokens = 12;
constexpr double kClear = 3;  // standard errors

// Networks of width 32 whose linear maps change lengths as those of BERT-base do (0.02 at width 768), and networks
// whose maps keep them.
constexpr const char* kBertScale = "0.098";
constexpr const char* kUnitScale = "0.177";

struct Arm {
  std::string name;  // "8 heads"
  std::string spec;
  std::string variant;
};
struct ArmPair {
  std::string network;  // "post-norm, std 0.098"
  Index n_layers = 0;
  Arm without, with;
};

struct ArmEffect {
  Statistics without, with, difference;  // over seeds, per layer

  double error() const { return difference.std().value_or(0) / std::sqrt(static_cast<double>(difference.n())); }
  double mean() const { return difference.mean().value_or(NAN); }
};

Row fall_row(const std::string& network, const std::string& kind, const Statistics& statistics) {
  Row row{.variant = network, .metric = "audit.fall", .kind = kind};
  set(row, statistics);
  return row;
}

ArmEffect compare_arms(const ArmPair& c, std::uint64_t n_seeds, std::uint64_t seed, AuditFinding& finding) {
  ArmEffect out;
  for (std::uint64_t t = 0; t < n_seeds; ++t) {
    const auto per_layer = [&](const Arm& arm) {
      ++finding.n_trials;
      const Result result = tracked(arm.spec, arm.variant, 1000 * seed + t, kComparedTokens);
      return log10_change(result, 0, c.n_layers) / static_cast<double>(c.n_layers);
    };
    const double without = per_layer(c.without);
    const double with = per_layer(c.with);
    out.without.add(without);
    out.with.add(with);
    out.difference.add(with - without);
  }
  finding.rows.push_back(fall_row(c.network, c.without.name, out.without));
  finding.rows.push_back(fall_row(c.network, c.with.name, out.with));
  finding.rows.push_back(fall_row(c.network, "difference", out.difference));
  return out;
}

std::string about_pair(const ArmPair& c, const ArmEffect& found) {
  return fmt::format("{} ({} {}, {} {}, difference {} +- {})", c.network, c.without.name,
                     trimmed(found.without.mean().value_or(NAN), 3), c.with.name,
                     trimmed(found.with.mean().value_or(NAN), 3), trimmed(found.mean(), 2), trimmed(found.error(), 1));
}

// `with` slows the collapse if the difference is positive, by three standard errors, in every kind of network; the
// claim fails if it is negative by as much in one.
AuditFinding slowed_by(const std::vector<ArmPair>& pairs, std::uint64_t seed, std::uint64_t n_seeds = kComparedSeeds) {
  AuditFinding finding;
  std::size_t n_slower = 0;
  std::size_t n_faster = 0;
  struct Clearest {
    double errors = 0;  // the difference in standard errors
    std::string text = {};
  };
  Clearest slower;
  Clearest faster;
  double least = INFINITY;
  for (const ArmPair& c : pairs) {
    const ArmEffect found = compare_arms(c, n_seeds, seed, finding);
    const double errors = found.mean() / found.error();
    n_slower += errors > kClear ? 1 : 0;
    n_faster += errors < -kClear ? 1 : 0;
    if (errors > slower.errors) slower = {errors, about_pair(c, found)};
    if (errors < faster.errors) faster = {errors, about_pair(c, found)};
    least = std::min(least, found.mean());
  }
  finding.verdict = n_faster > 0               ? Status::kViolated
                    : n_slower == pairs.size() ? Status::kMeasured
                                               : Status::kNoCounterexample;
  finding.figure = least;
  finding.evidence = fmt::format(
      "change of log10 of the relative residual per layer in {} kinds of networks, {} seeds each: slower in {}, faster "
      "in {}, within 3 standard errors in {}",
      pairs.size(), n_seeds, n_slower, n_faster, pairs.size() - n_slower - n_faster);
  if (!faster.text.empty()) finding.evidence += "; most clearly faster: " + faster.text;
  if (!slower.text.empty()) finding.evidence += "; most clearly slower: " + slower.text;
  return finding;
}

std::string component_spec(Index n_layers, const char* norm, const char* std, const std::string& rest) {
  return fmt::format("san:layers={},dim=32,vocab=200,norm={},std={}{}", n_layers, norm, std, rest);
}
std::string norm_words(std::string_view norm) { return norm == "none" ? "no norm" : fmt::format("{}-norm", norm); }
std::string network_name(const char* norm, const char* std) { return fmt::format("{}, std {}", norm_words(norm), std); }

// One comparison for each place of the norm and each size of the weights, with skips: `make` fills in the arms.
template <class Make>
std::vector<ArmPair> with_skips(Make make) {
  constexpr Index kLayers = 8;
  std::vector<ArmPair> out;
  for (const char* norm : {"post", "pre", "none"}) {
    for (const char* std : {kBertScale, kUnitScale}) {
      ArmPair c = make([&](const std::string& rest) { return component_spec(kLayers, norm, std, rest); });
      c.network = network_name(norm, std) + ", skips";
      c.n_layers = kLayers;
      out.push_back(std::move(c));
    }
  }
  return out;
}

// The same for pure attention, where four layers are enough to lose all.
template <class Make>
void add_pure(std::vector<ArmPair>& pairs, Make make) {
  constexpr Index kLayers = 4;
  for (const char* norm : {"post", "none"}) {
    ArmPair c = make([&](const std::string& rest) { return component_spec(kLayers, norm, kBertScale, rest); });
    c.network = network_name(norm, kBertScale) + ", no skips";
    c.n_layers = kLayers;
    pairs.push_back(std::move(c));
  }
}

// 22: what is left of the relative residual after 64 blocks of attention with skips, and whether it still falls.
AuditFinding skips_alone(const SearchEffort& /*effort*/, std::uint64_t seed) {
  constexpr Index kDepth = 64;
  constexpr double kClearFall = 5;  // standard errors
  AuditFinding finding;
  double worst = INFINITY;
  bool falls = false;
  const auto measure = [&](const std::string& name, auto run) {
    Statistics whole;
    Statistics later;
    for (std::uint64_t t = 0; t < kComparedSeeds; ++t) {
      const Result result = run(1000 * seed + t);
      whole.add(log10_change(result, 0, kDepth));
      later.add(log10_change(result, kDepth / 2, kDepth) / (kDepth / 2.0));
      ++finding.n_trials;
    }
    const double error = later.std().value_or(0) / std::sqrt(static_cast<double>(kComparedSeeds));
    const double left = whole.mean().value_or(NAN);
    const double slope = later.mean().value_or(NAN);
    falls = falls || (left < -1 && slope < -kClearFall * error);
    worst = std::min(worst, left);
    finding.rows.push_back(fall_row(name, "blocks 32 to 64", later));
    finding.evidence += fmt::format("{}{} {} ({} +- {})", finding.evidence.empty() ? "" : "; ", name,
                                    power_of_ten(left), trimmed(slope, 2), trimmed(error, 1));
  };
  for (const char* norm : {"post", "pre", "none"}) {
    for (const char* std : {kBertScale, kUnitScale}) {
      measure(network_name(norm, std), [&](std::uint64_t s) {
        return tracked(component_spec(kDepth, norm, std, ",heads=4"), "san+skip", s, kComparedTokens);
      });
    }
  }
  for (const char* family : {"bert", "gpt2", "llama"}) {
    measure(family,
            [&](std::uint64_t s) { return tracked(small_model(family, kDepth, s), "san+skip", s, kComparedTokens); });
  }
  finding.evidence = fmt::format(
      "share of the relative residual that is left after {} blocks with skips and without MLPs, {} seeds each (and the "
      "change of its log10 per block in the later half): {}",
      kDepth, kComparedSeeds, finding.evidence);
  finding.verdict = falls ? Status::kViolated : Status::kMeasured;
  finding.figure = worst;
  return finding;
}

// 23
AuditFinding mlps_slow(const SearchEffort& /*effort*/, std::uint64_t seed) {
  std::vector<ArmPair> pairs = with_skips([](auto spec_of) {
    const std::string both = spec_of(",heads=4,mlp=128");
    return ArmPair{{}, 0, {"without", both, "san+skip"}, {"with", both, "full"}};
  });
  add_pure(pairs, [](auto spec_of) {
    const std::string both = spec_of(",heads=4,mlp=128");
    return ArmPair{{}, 0, {"without", both, "san"}, {"with", both, "san+mlp"}};
  });
  return slowed_by(pairs, seed);
}

// 24: here the sign does not matter.
AuditFinding norm_role(const SearchEffort& /*effort*/, std::uint64_t seed) {
  constexpr Index kLayers = 8;
  constexpr double kClearEffect = 5;  // standard errors
  AuditFinding finding;
  int n_kinds = 0;
  int n_matters = 0;
  double clearest = 0;
  double largest = 0;
  std::string text;
  for (const char* std : {kBertScale, kUnitScale}) {
    for (const char* norm : {"post", "pre"}) {
      for (const bool mlp : {false, true}) {
        const std::string rest = mlp ? ",heads=4,mlp=128" : ",heads=4";
        const ArmPair c{fmt::format("std {}, skips{}", std, mlp ? " and MLPs" : ""),
                        kLayers,
                        {"no norm", component_spec(kLayers, "none", std, rest), "full"},
                        {norm_words(norm), component_spec(kLayers, norm, std, rest), "full"}};
        const ArmEffect found = compare_arms(c, kComparedSeeds, seed, finding);
        const double errors = std::abs(found.mean()) / found.error();
        n_kinds += 1;
        n_matters += errors > kClearEffect ? 1 : 0;
        if (errors > clearest) {
          clearest = errors;
          largest = found.mean();
          text = about_pair(c, found);
        }
      }
    }
  }
  finding.verdict = n_matters > 0 ? Status::kViolated : Status::kMeasured;
  finding.figure = largest;
  finding.evidence = fmt::format(
      "change of log10 of the relative residual per layer: the norm changes it by 5 standard errors in {} of {} kinds "
      "of "
      "networks, {} seeds each; most clearly: {}",
      n_matters, n_kinds, kComparedSeeds, text);
  return finding;
}

// 25: the differences are small, and 12 seeds leave the verdict to the seed.
AuditFinding heads_slow(const SearchEffort& /*effort*/, std::uint64_t seed) {
  const auto one_and_eight = [](auto spec_of) {
    return ArmPair{{}, 0, {"1 head", spec_of(",heads=1"), "full"}, {"8 heads", spec_of(",heads=8"), "full"}};
  };
  std::vector<ArmPair> pairs = with_skips(one_and_eight);
  add_pure(pairs, [](auto spec_of) {
    return ArmPair{{}, 0, {"1 head", spec_of(",heads=1"), "san"}, {"8 heads", spec_of(",heads=8"), "san"}};
  });
  return slowed_by(pairs, seed, kHeadSeeds);
}

// 26: as the claim has it, the wider network is slower. The weights' deviation stays, or falls as maps keep lengths.
AuditFinding width_slows(const SearchEffort& /*effort*/, std::uint64_t seed) {
  std::vector<ArmPair> pairs;
  struct Scale {
    const char* name;
    const char* narrow;
    const char* wide;
  };
  for (const char* norm : {"post", "pre", "none"}) {
    for (const Scale& scale :
         {Scale{"the same std 0.098", "0.098", "0.098"}, Scale{"std 1/sqrt(width)", "0.25", "0.125"}}) {
      for (const bool skips : {true, false}) {
        if (!skips && norm == std::string_view("pre")) continue;  // pure attention behind a norm: as with post-norm
        const Index n_layers = skips ? 8 : 4;
        const auto arm = [&](Index dim, const char* std) {
          return Arm{fmt::format("width {}", dim),
                     fmt::format("san:layers={},heads=4,dim={},vocab=200,norm={},std={}", n_layers, dim, norm, std),
                     skips ? "full" : "san"};
        };
        pairs.push_back({fmt::format("{}, {}, {}", norm_words(norm), scale.name, skips ? "skips" : "no skips"),
                         n_layers, arm(16, scale.narrow), arm(64, scale.wide)});
      }
    }
  }
  return slowed_by(pairs, seed);
}

// 27, of pure attention or with skips.
AuditFinding masks_slow(bool skips, std::uint64_t seed) {
  std::vector<ArmPair> pairs;
  for (const char* mask : {"window,window=2", "causal"}) {
    const std::string name = std::string(mask).substr(0, std::string_view(mask).find(','));
    const auto arms = [&](auto spec_of) {
      const char* variant = skips ? "full" : "san";
      return ArmPair{{},
                     0,
                     {"complete", spec_of(",heads=4"), variant},
                     {name, spec_of(fmt::format(",heads=4,mask={}", mask)), variant}};
    };
    std::vector<ArmPair> some;
    if (skips) some = with_skips(arms);
    if (!skips) add_pure(some, arms);
    for (ArmPair& c : some) c.network += ", " + name;
    std::ranges::move(some, std::back_inserter(pairs));
  }
  return slowed_by(pairs, seed);
}

}  // namespace

std::vector<AuditClaim> component_claims() {
  return {
      {22, "skips_alone", "skip connections alone prevent the collapse", Status::kViolated, skips_alone},
      {23, "mlps_slow", "MLPs slow the collapse", Status::kViolated, mlps_slow},
      {24, "layer_norm_no_role", "LayerNorm plays no role in the collapse of networks with skips (without: claim 12)",
       Status::kViolated, norm_role},
      {25, "heads_slow", "more heads slow the collapse", Status::kViolated, heads_slow},
      {26, "width_slows", "wider networks collapse more slowly", Status::kViolated, width_slows},
      {27, "masks_slow", "sparse masks slow the collapse of pure attention", Status::kMeasured,
       [](const SearchEffort&, std::uint64_t seed) { return masks_slow(false, seed); }},
      {27, "masks_slow_with_skips", "sparse masks slow the collapse of networks with skips, too", Status::kViolated,
       [](const SearchEffort&, std::uint64_t seed) { return masks_slow(true, seed); }},
  };
}

}  // namespace rankfall
