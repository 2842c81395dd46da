#include "analysis/bounds_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>

#include <fmt/format.h>

#include "result/statistics.h"

namespace rankfall {
namespace {

constexpr double kLn10 = 2.302585092994045684;
// Bounds and measurements are rounded; this much above 1 is no violation.
constexpr double kTolerance = 1e-9;

enum class Outcome { kHolds, kVacuous, kNothing, kFails, kViolated };

Outcome outcome_of(const Inequality& i) {
  if (!i.fails.empty()) return Outcome::kFails;
  if (std::isnan(i.log_bound) || std::isnan(i.log_measured)) return Outcome::kViolated;
  if (std::isfinite(i.log_bound) && std::isfinite(i.log_measured)) {
    // Logarithms themselves are rounded, far below everything they are large.
    const double rounding = 64 * std::numeric_limits<double>::epsilon() * std::abs(i.log_bound);
    if (i.log_tightness() > kTolerance + rounding) return Outcome::kViolated;
  } else if (i.is_lower ? i.log_bound > i.log_measured : i.log_measured > i.log_bound) {
    return Outcome::kViolated;
  }
  if (i.log_input == -INFINITY) return Outcome::kNothing;
  if (!i.is_lower && i.name != "dobrushin_tanh" && i.log_allowed >= i.log_input) return Outcome::kVacuous;
  return Outcome::kHolds;
}

// One bound at one place, over samples.
struct Tally {
  Statistics bound, measured;
  double tightest = -INFINITY;  // of those that apply; of all if none does
  double tightest_of_all = -INFINITY;
  std::map<Outcome, int> outcomes;
  std::string reason;
  bool is_proved = false, is_a_priori = false;

  void add(const Inequality& i) {
    const Outcome outcome = outcome_of(i);
    ++outcomes[outcome];
    is_proved = i.is_proved;
    is_a_priori = i.is_a_priori;
    if (outcome == Outcome::kFails && reason.empty()) reason = i.fails;
    if (std::isfinite(i.log_bound)) bound.add(i.log_bound / kLn10);
    if (std::isfinite(i.log_measured)) measured.add(i.log_measured / kLn10);
    const double tightness = i.log_tightness() / kLn10;
    if (!std::isfinite(tightness)) return;
    tightest_of_all = std::max(tightest_of_all, tightness);
    if (outcome != Outcome::kFails) tightest = std::max(tightest, tightness);
  }
  double shown() const { return std::isfinite(tightest) ? tightest : tightest_of_all; }

  int of(Outcome outcome) const {
    const auto found = outcomes.find(outcome);
    return found == outcomes.end() ? 0 : found->second;
  }
  int n() const {
    int sum = 0;
    for (const auto& [outcome, count] : outcomes) sum += count;
    return sum;
  }

  // In words; the rarer outcomes with how often.
  std::string verdict() const {
    std::string text;
    const auto say = [&](Outcome outcome, const std::string& words) {
      if (of(outcome) == 0) return;
      if (!text.empty()) text += "; ";
      text += of(outcome) == n() ? words : fmt::format("{} in {} of {}", words, of(outcome), n());
    };
    say(Outcome::kViolated, "applies and is violated");
    say(Outcome::kHolds, "applies and holds");
    say(Outcome::kVacuous, "vacuous");
    say(Outcome::kNothing, "nothing to bound: the residual that enters is 0");
    say(Outcome::kFails, "condition fails: " + reason);
    return text;
  }
};

// A theorem's depth form: c^((3^l - 1)/2) |R_0|^(3^l).
struct DepthForm {
  std::string name, fails;
  double log10_c = 0;
};

class BoundsRows {
 public:
  BoundsRows(const std::string& model, const std::string& variant, const Network& network,
             const std::vector<WeightNorms>& norms, const std::vector<BoundsSample>& samples)
      : model_(model), variant_(variant), network_(network), samples_(samples) {
    for (std::size_t l = 0; l < network.layers.size(); ++l) {
      if (std::holds_alternative<Attention>(network.layers[l].f)) {
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
    sentences();
    return std::move(rows_);
  }

 private:
  Row& add(std::string metric, std::optional<Index> layer, std::optional<Index> head = {}) {
    Row& row = rows_.emplace_back();
    row.model = model_;
    row.variant = variant_;
    row.layer = layer;
    row.head = head;
    row.metric = std::move(metric);
    return row;
  }

  // A bound at one place: itself, what was measured, and how close they come.
  void add(const std::string& name, Index layer, std::optional<Index> head, const Tally& tally) {
    set(add("log10_bound." + name, layer, head), tally.bound);
    set(add("log10_measured." + name, layer, head), tally.measured);
    Row& tightness = add("log10_tightness." + name, layer, head);
    if (std::isfinite(tally.shown())) tightness.mean = tally.shown();
    tightness.n = tally.n();
    tightness.verdict = tally.verdict();
    for (Row& row : std::span(rows_).last(3)) label(row, tally);
  }

  static void label(Row& row, const Tally& tally) {
    row.kind = tally.is_proved ? "proved" : "claimed";
    row.origin = tally.is_a_priori ? "weights" : "data";
  }

  void block(std::size_t b) {
    const Index layer = attention_[b]->block;
    add("beta", layer).mean = norms_[b]->beta();
    Statistics star;
    for (const BoundsSample& sample : samples_) star.add(sample.blocks[b].beta_star);
    set(add("beta_star", layer), star);
    for (std::size_t h = 0; h < norms_[b]->heads.size(); ++h) head(b, h);

    std::map<std::pair<std::string, std::optional<Index>>, Tally> tallies;
    std::vector<std::pair<std::string, std::optional<Index>>> order;
    for (const BoundsSample& sample : samples_) {
      for (const Inequality& i : sample.blocks[b].inequalities) {
        const auto [found, is_new] = tallies.try_emplace({i.name, i.head});
        if (is_new) order.push_back(found->first);
        found->second.add(i);
      }
    }
    for (const auto& key : order) {
      const Tally& tally = tallies.at(key);
      const auto& [name, which] = key;
      add(name, layer, which, tally);
      Tally& all = theorems_[name];
      all.is_proved = tally.is_proved;
      all.is_a_priori = tally.is_a_priori;
      all.tightest = std::max(all.tightest, tally.tightest);
      all.tightest_of_all = std::max(all.tightest_of_all, tally.tightest_of_all);
      for (const auto& [outcome, n] : tally.outcomes) all.outcomes[outcome] += n;
      if (!tally.reason.empty()) {  // without its number
        const std::string words = tally.reason.substr(0, tally.reason.find_first_of("0123456789"));
        reasons_[name].insert(words.substr(0, words.find_last_not_of(' ') + 1));
      }
    }
  }

  void head(std::size_t b, std::size_t h) {
    const Index layer = attention_[b]->block;
    const auto index = static_cast<Index>(h);
    add("beta", layer, index).mean = norms_[b]->heads[h].beta();
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
    row.n = static_cast<Index>(samples_.size());
    if (std::isfinite(largest)) {
      row.mean = largest;
      row.verdict = largest <= kLargestRange ? "within 1.256" : "beyond 1.256";
      largest_range_ = std::max(largest_range_, largest);
    } else {
      row.verdict = "tokens see different keys";
    }
    set(add("gamma", layer, index), gamma);
    set(add("attention.dobrushin", layer, index), dobrushin);
  }

  std::vector<DepthForm> depth_forms() const {
    std::string fails;
    double beta = 0;
    double n_heads = 1;
    for (std::size_t b = 0; b < attention_.size(); ++b) {
      const auto& a = std::get<Attention>(attention_[b]->f);
      beta = std::max(beta, std::abs(a.scale * attention_[b]->branch) * norms_[b]->beta());
      n_heads = std::max(n_heads, static_cast<double>(a.n_heads));
      if (!a.mask.is_complete()) fails = "tokens see different keys";
      if (!std::holds_alternative<NoPositions>(a.positions) && fails.empty()) fails = "positions in the logits";
      if (attention_[b]->skip != 0 && fails.empty()) fails = "skip present";
    }
    for (const SubLayer& layer : network_.layers) {
      if ((layer.pre || layer.post) && fails.empty()) fails = "norm present";
    }
    if (network_.final_norm && network_.final_norm_in_state && fails.empty()) fails = "norm present";
    const std::string range = largest_range_ > kLargestRange ? fmt::format("range {:.3g} > 1.256", largest_range_) : "";
    const auto first = [](std::initializer_list<std::string> reasons) {
      for (const std::string& reason : reasons) {
        if (!reason.empty()) return reason;
      }
      return std::string();
    };
    const std::string mlp = mlps_.empty() ? "" : "MLP present";
    std::vector<DepthForm> forms = {
        {"T2.2_depth", first({fails, mlp, n_heads > 1 ? "more than one head" : "", range}), std::log10(4 * beta)},
        {"T2.3_depth", first({fails, mlp, range}), std::log10(4 * beta * n_heads)}};
    double lambda = 0;
    std::string gated;
    for (const WeightNorms* norms : mlps_) {
      if (!norms->mlp_one) {
        gated = "gated MLPs are not Lipschitz";
      } else {
        lambda = std::max(lambda, std::sqrt(*norms->mlp_one * *norms->mlp_inf));
      }
    }
    forms.push_back({"C3.2_depth", first({mlps_.empty() ? "no MLP" : "", fails, gated, range}),
                     std::log10(4 * beta * n_heads * lambda)});
    return forms;
  }

  void depth(const DepthForm& form) {
    Tally& all = theorems_[form.name];
    all.is_a_priori = true;
    if (!form.fails.empty()) {
      ++all.outcomes[Outcome::kFails];
      reasons_[form.name].insert(form.fails);
      return;
    }
    double power = 1;
    for (Index l = 1; l <= network_.sizes.n_blocks; ++l) {
      power *= 3;
      Tally tally;
      for (const BoundsSample& sample : samples_) {
        const double start = sample.log10_residual[0];
        const double log_bound = kLn10 * ((power - 1) / 2 * form.log10_c + power * start);
        const Inequality i{.name = form.name,
                           .head = {},
                           .log_measured = kLn10 * sample.log10_residual[static_cast<std::size_t>(l)],
                           .log_bound = log_bound,
                           .log_input = kLn10 * start,
                           .log_allowed = log_bound,
                           .fails = "",
                           .is_a_priori = true};
        tally.add(i);
        all.add(i);
      }
      add(form.name, l, {}, tally);
    }
  }

  // What became of each theorem, in words.
  void sentences() {
    for (const auto& entry : theorems_) {
      const std::string& name = entry.first;
      const Tally& tally = entry.second;
      Row& row = add("theorem", {});
      row.claim = name;
      label(row, tally);
      row.n = tally.n();
      std::string reason;
      for (const std::string& r : reasons_[name]) reason += (reason.empty() ? "" : ", ") + r;
      const auto share = [&](Outcome outcome) { return fmt::format("{} of {}", tally.of(outcome), tally.n()); };
      const char* ratio = name == "lower" ? "bound/measured" : "measured/bound";
      std::string text;
      const auto say = [&](const std::string& words) { text += (text.empty() ? "" : "; ") + words; };
      if (tally.of(Outcome::kViolated) > 0) say(fmt::format("violated in {}", share(Outcome::kViolated)));
      if (tally.of(Outcome::kHolds) > 0) say(fmt::format("applies and holds in {}", share(Outcome::kHolds)));
      if (tally.of(Outcome::kVacuous) > 0) {
        say(fmt::format("vacuous in {}: it allows more than what enters", share(Outcome::kVacuous)));
      }
      if (tally.of(Outcome::kNothing) > 0) {
        say(fmt::format("nothing to bound in {}: the residual that enters is 0", share(Outcome::kNothing)));
      }
      if (tally.of(Outcome::kFails) > 0) {
        say(fmt::format("does not apply in {} ({})", share(Outcome::kFails), reason));
      }
      if (std::isfinite(tally.tightest)) {
        row.mean = tally.tightest;
        say(fmt::format("at best {} = {}", ratio, power_of_ten(tally.tightest)));
      } else if (std::isfinite(tally.tightest_of_all)) {
        row.mean = tally.tightest_of_all;
        say(fmt::format("taken nevertheless, {} = {} at most", ratio, power_of_ten(tally.tightest_of_all)));
      }
      row.verdict = text;
    }
  }

  static std::string power_of_ten(double log10_value) {
    return log10_value > -4 ? fmt::format("{:.2g}", std::pow(10, log10_value)) : fmt::format("10^{:.1f}", log10_value);
  }

  std::string model_, variant_;
  const Network& network_;
  const std::vector<BoundsSample>& samples_;
  std::vector<const SubLayer*> attention_;
  std::vector<const WeightNorms*> norms_, mlps_;
  std::map<std::string, Tally> theorems_;
  std::map<std::string, std::set<std::string>> reasons_;
  double largest_range_ = 0;
  std::vector<Row> rows_;
};

}  // namespace

std::vector<Row> bounds_rows(const std::string& model, const std::string& variant, const Network& network,
                             const std::vector<WeightNorms>& norms, const std::vector<BoundsSample>& samples) {
  return BoundsRows(model, variant, network, norms, samples).make();
}

}  // namespace rankfall
