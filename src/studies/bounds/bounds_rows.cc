#include "studies/bounds/bounds_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include <fmt/format.h>

#include "result/statistics.h"
#include "studies/bounds/bounds_tally.h"
#include "view/number_text.h"
#include "view/view.h"

namespace rankfall {
namespace {

// A theorem's depth form: c^((3^l - 1)/2) |R_0|^(3^l).
struct DepthForm {
  std::string name;
  Reason fails = Reason::kNone;
  double log10_c = 0;
};

class BoundsRows {
 public:
  BoundsRows(const Network& network, const std::vector<WeightNorms>& norms, const std::vector<BoundsSample>& samples)
      : network_(network), samples_(samples) {
    for (std::size_t l = 0; l < network.layers.size(); ++l) {
      if (network.layers[l].attention()) {
        attention_.push_back(&network.layers[l]);
        norms_.push_back(&norms[l]);
      } else {
        mlps_.push_back(&norms[l]);
      }
    }
  }

  std::vector<Row> make() {
    for (std::size_t b = 0; b < attention_.size(); ++b) block(b);
    for (const DepthForm& form : depth_forms()) depth(form);
    floors();
    sentences();
    return std::move(rows_);
  }

 private:
  Row& add(std::string metric, std::optional<Index> layer, std::optional<Index> head = {}) {
    return rows_.emplace_back(Row{.layer = layer, .head = head, .metric = std::move(metric)});
  }

  // A bound at one place: itself, what was measured, and how close they come.
  void add(const std::string& name, Index layer, std::optional<Index> head, const BoundTally& tally) {
    set(add("log10_bound." + name, layer, head), tally.bound);
    set(add("log10_measured." + name, layer, head), tally.measured);
    Row& tightness = add("log10_tightness." + name, layer, head);
    if (std::isfinite(tally.shown())) tightness.mean = tally.shown();
    tightness.n = tally.n();
    tightness.status = tally.status();
    tightness.reason = tally.reason();
    tightness.verdict = tally.verdict();
    for (Row& row : std::span(rows_).last(3)) label(row, tally);
  }

  static void label(Row& row, const BoundTally& tally) {
    row.kind = tally.is_estimate ? "estimate" : tally.is_proved ? "proved" : "claimed";
    row.basis = tally.is_a_priori ? Basis::kWeights : Basis::kData;
  }

  void block(std::size_t b) {
    const Index layer = attention_[b]->block;
    add("beta", layer).mean = norms_[b]->beta();
    Statistics star;
    for (const BoundsSample& sample : samples_) star.add(sample.blocks[b].beta_star);
    set(add("beta_star", layer), star);
    for (std::size_t h = 0; h < norms_[b]->heads.size(); ++h) head(b, h);
    lambda("lambda.measured", "", b, &AttentionBounds::lambda_measured);
    lambda("lambda.proved", "proved", b, &AttentionBounds::lambda_proved);
    lambda("lambda.claimed", "claimed", b, &AttentionBounds::lambda_claimed);

    std::map<std::pair<std::string, std::optional<Index>>, BoundTally> tallies;
    std::vector<std::pair<std::string, std::optional<Index>>> order;
    for (const BoundsSample& sample : samples_) {
      for (const Inequality& i : sample.blocks[b].inequalities) {
        const auto [found, is_new] = tallies.try_emplace({i.name, i.head});
        if (is_new) order.push_back(found->first);
        found->second.add(shifted(i));
      }
    }
    for (const auto& key : order) {
      const BoundTally& tally = tallies.at(key);
      const auto& [name, which] = key;
      add(name, layer, which, tally);
      theorems_[name].add(tally);
    }
  }

  void lambda(const char* metric, const char* kind, std::size_t b, std::optional<double> AttentionBounds::*member) {
    Statistics values;
    for (const BoundsSample& sample : samples_) {
      if (const std::optional<double> value = sample.blocks[b].*member) values.add(*value);
    }
    if (values.n() == 0) return;
    Row& row = add(metric, attention_[b]->block);
    set(row, values);
    row.kind = kind;
  }

  void head(std::size_t b, std::size_t h) {
    const Index layer = attention_[b]->block;
    const auto index = static_cast<Index>(h);
    add("beta", layer, index).mean = norms_[b]->heads[h].beta();
    if (norms_[b]->heads[h].logit_limit) add("logit_limit", layer, index).mean = norms_[b]->heads[h].logit_limit;
    Statistics range;
    Statistics gamma;
    Statistics dobrushin;
    double largest = 0;
    for (const BoundsSample& sample : samples_) {
      const HeadFigures& figures = sample.blocks[b].heads[h];
      largest = std::max(largest, figures.range);
      if (std::isfinite(figures.range)) range.add(figures.range);
      gamma.add(figures.gamma);
      dobrushin.add(figures.dobrushin);
    }
    set(add("range", layer, index), range);
    Row& row = add("range", layer, index);
    row.kind = "largest";
    row.n = std::ssize(samples_);
    if (std::isfinite(largest)) {
      row.mean = largest;
      row.status = largest <= kLargestRange ? Status::kHolds : Status::kNotApplicable;
      if (largest > kLargestRange) row.reason = Reason::kLogitRange;
      row.verdict = largest <= kLargestRange ? "within 1.256" : "beyond 1.256";
      largest_range_ = std::max(largest_range_, largest);
    } else {
      row.status = Status::kNotApplicable;
      row.reason = Reason::kDifferentKeys;
      row.verdict = std::string(reason_words(row.reason));
    }
    set(add("gamma", layer, index), gamma);
    Statistics sharpening;
    Statistics sharpens;
    for (const BoundsSample& sample : samples_) {
      if (sample.blocks[b].sharpening.size() <= h || !sample.blocks[b].sharpening[h]) continue;
      sharpening.add(*sample.blocks[b].sharpening[h]);
      // Equal ones differ by rounding.
      sharpens.add(*sample.blocks[b].sharpening[h] > 1 + 1e-9 ? 1 : 0);
    }
    if (sharpening.n() > 0) {
      set(add("sharpening", layer, index), sharpening);
      set(add("sharpening.share", layer, index), sharpens);
    }
    set(add("attention.dobrushin", layer, index), dobrushin);
  }

  std::vector<DepthForm> depth_forms() const {
    std::vector<Reason> all;  // in the order in which they are said
    double beta = 0;
    double n_heads = 1;
    for (std::size_t b = 0; b < attention_.size(); ++b) {
      const Branch& branch = *attention_[b]->with<Attention>();
      const auto& a = std::get<Attention>(branch.f);
      beta = std::max(beta, std::abs(a.scale * branch.scale) * norms_[b]->beta());
      n_heads = std::max(n_heads, static_cast<double>(a.n_heads));
      if (!a.mask.is_complete()) all.insert(all.begin(), Reason::kDifferentKeys);
      if (const Reason reason = beside_products(a); reason != Reason::kNone) all.push_back(reason);
      if (attention_[b]->skip != 0) all.push_back(Reason::kSkip);
      if (attention_[b]->branches.size() > 1) all.push_back(Reason::kParallelMlp);
    }
    const auto has_norm = [](const SubLayer& layer) {
      return layer.post || std::ranges::any_of(layer.branches, [](const Branch& b) { return b.in || b.out; });
    };
    if (std::ranges::any_of(network_.layers, has_norm) || (network_.final_norm && network_.final_norm_in_state)) {
      all.push_back(Reason::kNorm);
    }
    const Reason fails = all.empty() ? Reason::kNone : all.front();
    const Reason range = largest_range_ > kLargestRange ? Reason::kLogitRange : Reason::kNone;
    const auto first = [](std::initializer_list<Reason> reasons) {
      const auto found = std::ranges::find_if(reasons, [](Reason reason) { return reason != Reason::kNone; });
      return found == reasons.end() ? Reason::kNone : *found;
    };
    const Reason mlp = mlps_.empty() ? Reason::kNone : Reason::kMlp;
    const Reason heads = n_heads > 1 ? Reason::kSeveralHeads : Reason::kNone;
    std::vector<DepthForm> forms = {{"T2.2_depth", first({fails, mlp, heads, range}), std::log10(4 * beta)},
                                    {"T2.3_depth", first({fails, mlp, range}), std::log10(4 * beta * n_heads)}};
    double lambda = 0;
    Reason gated = Reason::kNone;
    for (const WeightNorms* norms : mlps_) {
      if (!norms->mlp_one) {
        gated = Reason::kGatedMlp;
      } else {
        lambda = std::max(lambda, std::sqrt(*norms->mlp_one * *norms->mlp_inf));
      }
    }
    const bool has_parallel = std::ranges::any_of(attention_, [](const SubLayer* l) { return l->branches.size() > 1; });
    const Reason no_mlp = mlps_.empty() && !has_parallel ? Reason::kNoMlp : Reason::kNone;
    forms.push_back({"C3.2_depth", first({no_mlp, fails, gated, range}), std::log10(4 * beta * n_heads * lambda)});
    return forms;
  }

  void depth(const DepthForm& form) {
    BoundTally& all = theorems_[form.name];
    all.is_a_priori = true;
    if (form.fails != Reason::kNone) {
      ++all.cases[{Status::kNotApplicable, form.fails}];
      return;
    }
    double power = 1;
    for (Index l = 1; l <= network_.sizes.n_blocks; ++l) {
      power *= 3;
      BoundTally tally;
      for (const BoundsSample& sample : samples_) {
        const double start = sample.log10_residual[0];
        const double log_bound = kLn10 * ((power - 1) / 2 * form.log10_c + power * start);
        const Inequality i{.name = form.name,
                           .log_measured = kLn10 * sample.log10_residual[static_cast<std::size_t>(l)],
                           .log_bound = log_bound,
                           .log_input = kLn10 * start,
                           .log_allowed = log_bound,
                           .is_a_priori = true};
        tally.add(shifted(i));
        all.add(shifted(i));
      }
      add(form.name, l, {}, tally);
    }
  }

  // What the lower bounds of all sub-layers together leave, by state.
  void floors() {
    BoundTally& all = theorems_["lower_depth"];
    all.is_proved = all.is_lower = true;
    if (network_.layers.empty()) return;
    for (Index l = 1; l <= network_.sizes.n_blocks; ++l) {
      const bool normed = l == network_.sizes.n_blocks && network_.final_norm && network_.final_norm_in_state;
      BoundTally tally;
      double least = INFINITY;
      for (const BoundsSample& sample : samples_) {
        const Floor& floor = sample.floors[static_cast<std::size_t>(l)];
        const Reason fails = floor.fails == Reason::kNone && normed ? Reason::kNorm : floor.fails;
        const Inequality i{.name = "lower_depth",
                           .log_measured = floor.log_measured,
                           .log_bound = fails == Reason::kNone ? floor.log_floor : -INFINITY,
                           .log_input = sample.floors[0].log_measured,
                           .fails = fails,
                           .is_proved = true,
                           .is_lower = true};
        tally.add(shifted(i));
        all.add(shifted(i));
        least = std::min(least, i.log_bound - i.log_input);
      }
      add("lower_depth", l, {}, tally);
      if (!std::isfinite(least)) continue;
      Row& row = add("log10_floor", l);
      row.mean = least / kLn10;
      row.n = std::ssize(samples_);
      row.kind = "proved";
    }
  }

  static Inequality shifted(Inequality i) {
    if (i.is_estimate) return i;
    i.log_bound += i.is_lower ? -log_bound_shift_for_tests : log_bound_shift_for_tests;
    return i;
  }

  // The verdict per theorem: its status with a sentence, and the number of cases of each status.
  void sentences() {
    for (const auto& [name, tally] : theorems_) {
      Row& row = add("theorem", {});
      row.claim = name;
      label(row, tally);
      row.n = tally.n();
      row.status = tally.status();
      row.reason = tally.reason();
      if (std::isfinite(tally.shown())) row.mean = tally.shown();
      row.verdict = sentence(tally);
      for (const auto& [which, count] : tally.cases) {
        Row& cases = add("theorem.cases", {});
        cases.claim = name;
        label(cases, tally);
        cases.status = which.first;
        cases.reason = which.second;
        cases.mean = static_cast<double>(count);
        cases.n = tally.n();
      }
    }
  }

  static std::string sentence(const BoundTally& tally) {
    const auto cases = [&](Status status) {
      return tally.of(status) == tally.n() ? fmt::format("all {} case{}", tally.n(), tally.n() == 1 ? "" : "s")
                                           : fmt::format("{} of {} cases", tally.of(status), tally.n());
    };
    std::string text;
    const auto say = [&](const std::string& words) { text += (text.empty() ? "" : "; ") + words; };
    if (tally.of(Status::kViolated) > 0) say(fmt::format("violated in {}", cases(Status::kViolated)));
    if (tally.of(Status::kHolds) > 0) say(fmt::format("holds in {}", cases(Status::kHolds)));
    if (tally.of(Status::kVacuous) > 0) {
      say(fmt::format("vacuous in {}: the bound exceeds the residual that enters the block", cases(Status::kVacuous)));
    }
    if (tally.of(Status::kExactlyZero) > 0) {
      say(fmt::format("nothing to bound in {}: the residual that enters is 0", cases(Status::kExactlyZero)));
    }
    if (tally.of(Status::kEstimate) > 0) say("an estimate from above, which bounds nothing");
    if (const Index n = tally.of(Status::kNotApplicable); n > 0) {
      say(n == tally.n() ? fmt::format("does not apply: {}", tally.reasons())
                         : fmt::format("does not apply in {}: {}", cases(Status::kNotApplicable), tally.reasons()));
    }
    const bool lower = tally.is_lower;
    if (tally.is_estimate) {
      if (std::isfinite(tally.tightest)) {
        text += fmt::format(". The measured value is at least {} times it", power_of_ten(0 - tally.tightest));
      }
    } else if (std::isfinite(tally.tightest)) {
      text += fmt::format(". At its tightest, {} is {} times {}", lower ? "the measured value" : "the bound",
                          power_of_ten(0 - tally.tightest), lower ? "the bound" : "the measured value");
    } else if (std::isfinite(tally.tightest_of_all)) {
      text += tally.tightest_of_all <= 0
                  ? fmt::format(". Evaluated anyway, it {} at least {}-fold",
                                lower ? "underestimates" : "overestimates", power_of_ten(0 - tally.tightest_of_all))
                  : fmt::format(". Evaluated anyway, it fails {}-fold", power_of_ten(tally.tightest_of_all));
    }
    return text;
  }

  const Network& network_;
  const std::vector<BoundsSample>& samples_;
  std::vector<const SubLayer*> attention_;
  std::vector<const WeightNorms*> norms_, mlps_;
  std::map<std::string, BoundTally> theorems_;
  double largest_range_ = 0;
  std::vector<Row> rows_;
};

}  // namespace

double log_bound_shift_for_tests = 0;

std::vector<Row> bounds_rows(const Network& network, const std::vector<WeightNorms>& norms,
                             const std::vector<BoundsSample>& samples) {
  return BoundsRows(network, norms, samples).make();
}

}  // namespace rankfall
