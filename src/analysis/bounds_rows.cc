#include "analysis/bounds_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>

#include <fmt/format.h>

#include "result/statistics.h"

namespace rankfall {
namespace {

constexpr double kLn10 = 2.302585092994045684;
// Bounds and measurements are rounded; this much above 1 is no violation.
constexpr double kTolerance = 1e-9;

// Of one inequality. kExactlyZero: nothing enters, so there is nothing to bound.
Status status_of(const Inequality& i) {
  if (i.fails != Reason::kNone) return Status::kNotApplicable;
  if (std::isnan(i.log_bound) || std::isnan(i.log_measured)) return Status::kViolated;
  if (std::isfinite(i.log_bound) && std::isfinite(i.log_measured)) {
    // Logarithms themselves are rounded, far below everything they are large.
    const double rounding = 64 * std::numeric_limits<double>::epsilon() * std::abs(i.log_bound);
    if (i.log_tightness() > kTolerance + rounding) return Status::kViolated;
  } else if (i.is_lower ? i.log_bound > i.log_measured : i.log_measured > i.log_bound) {
    return Status::kViolated;
  }
  if (i.log_input == -INFINITY) return Status::kExactlyZero;
  if (!i.is_lower && i.name != "dobrushin_tanh" && i.log_allowed >= i.log_input) return Status::kVacuous;
  return Status::kHolds;
}

// The first of these that occurs is the status of several cases together.
constexpr Status kGravest[] = {Status::kViolated, Status::kHolds, Status::kVacuous, Status::kExactlyZero,
                               Status::kNotApplicable};

std::string reason_words(Reason reason) {
  switch (reason) {
    case Reason::kNone:
      break;
    case Reason::kDifferentKeys:
      return "tokens see different keys";
    case Reason::kPositions:
      return "positions in the logits";
    case Reason::kLogitRange:
      return "logits of a row differ by more than 1.256";
    case Reason::kSkip:
      return "skip present";
    case Reason::kNorm:
      return "norm present";
    case Reason::kMlp:
      return "MLP present";
    case Reason::kNoMlp:
      return "no MLP";
    case Reason::kSeveralHeads:
      return "more than one head";
    case Reason::kGatedMlp:
      return "gated MLPs are not Lipschitz";
    case Reason::kSkipMayCancel:
      return "attention may undo the skip";
  }
  return "";
}

// One bound, at one place over samples, or everywhere.
struct Tally {
  Statistics bound, measured;
  double tightest = -INFINITY;  // of those that apply; of all if none does
  double tightest_of_all = -INFINITY;
  std::map<std::pair<Status, Reason>, Index> cases;
  bool is_proved = false, is_a_priori = false;

  void add(const Inequality& i) {
    const Status status = status_of(i);
    ++cases[{status, i.fails}];
    is_proved = i.is_proved;
    is_a_priori = i.is_a_priori;
    if (std::isfinite(i.log_bound)) bound.add(i.log_bound / kLn10);
    if (std::isfinite(i.log_measured)) measured.add(i.log_measured / kLn10);
    const double tightness = i.log_tightness() / kLn10;
    if (!std::isfinite(tightness)) return;
    tightest_of_all = std::max(tightest_of_all, tightness);
    if (status != Status::kNotApplicable) tightest = std::max(tightest, tightness);
  }
  void add(const Tally& other) {
    is_proved = other.is_proved;
    is_a_priori = other.is_a_priori;
    tightest = std::max(tightest, other.tightest);
    tightest_of_all = std::max(tightest_of_all, other.tightest_of_all);
    for (const auto& [which, count] : other.cases) cases[which] += count;
  }
  double shown() const { return std::isfinite(tightest) ? tightest : tightest_of_all; }

  Index of(Status status) const {
    Index sum = 0;
    for (const auto& [which, count] : cases) sum += which.first == status ? count : 0;
    return sum;
  }
  Index n() const {
    Index sum = 0;
    for (const auto& [which, count] : cases) sum += count;
    return sum;
  }
  Status status() const {
    const auto found = std::ranges::find_if(kGravest, [&](Status status) { return of(status) > 0; });
    return found == std::end(kGravest) ? Status::kNone : *found;
  }
  // The most frequent one, if it applies nowhere.
  Reason reason() const {
    if (status() != Status::kNotApplicable) return Reason::kNone;
    return std::ranges::max_element(cases, {}, [](const auto& of) { return of.second; })->first.second;
  }
  std::string reasons() const {
    std::string words;
    for (const auto& [which, count] : cases) {
      if (which.second != Reason::kNone) words += (words.empty() ? "" : ", ") + reason_words(which.second);
    }
    return words;
  }

  // In words; the rarer outcomes with how often.
  std::string verdict() const {
    std::string text;
    const auto say = [&](Status status, const std::string& words) {
      if (of(status) == 0) return;
      if (!text.empty()) text += "; ";
      text += of(status) == n() ? words : fmt::format("{} in {} of {}", words, of(status), n());
    };
    say(Status::kViolated, "applies and is violated");
    say(Status::kHolds, "applies and holds");
    say(Status::kVacuous, "vacuous");
    say(Status::kExactlyZero, "nothing to bound: the residual that enters is 0");
    say(Status::kNotApplicable, "condition fails: " + reasons());
    return text;
  }
};

// A theorem's depth form: c^((3^l - 1)/2) |R_0|^(3^l).
struct DepthForm {
  std::string name;
  Reason fails = Reason::kNone;
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
    tightness.status = tally.status();
    tightness.reason = tally.reason();
    tightness.verdict = tally.verdict();
    for (Row& row : std::span(rows_).last(3)) label(row, tally);
  }

  static void label(Row& row, const Tally& tally) {
    row.kind = tally.is_proved ? "proved" : "claimed";
    row.basis = tally.is_a_priori ? Basis::kWeights : Basis::kData;
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
        found->second.add(shifted(i));
      }
    }
    for (const auto& key : order) {
      const Tally& tally = tallies.at(key);
      const auto& [name, which] = key;
      add(name, layer, which, tally);
      theorems_[name].add(tally);
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
      row.status = largest <= kLargestRange ? Status::kHolds : Status::kNotApplicable;
      if (largest > kLargestRange) row.reason = Reason::kLogitRange;
      row.verdict = largest <= kLargestRange ? "within 1.256" : "beyond 1.256";
      largest_range_ = std::max(largest_range_, largest);
    } else {
      row.status = Status::kNotApplicable;
      row.reason = Reason::kDifferentKeys;
      row.verdict = reason_words(row.reason);
    }
    set(add("gamma", layer, index), gamma);
    set(add("attention.dobrushin", layer, index), dobrushin);
  }

  std::vector<DepthForm> depth_forms() const {
    std::vector<Reason> all;  // in the order in which they are said
    double beta = 0;
    double n_heads = 1;
    for (std::size_t b = 0; b < attention_.size(); ++b) {
      const auto& a = std::get<Attention>(attention_[b]->f);
      beta = std::max(beta, std::abs(a.scale * attention_[b]->branch) * norms_[b]->beta());
      n_heads = std::max(n_heads, static_cast<double>(a.n_heads));
      if (!a.mask.is_complete()) all.insert(all.begin(), Reason::kDifferentKeys);
      if (!std::holds_alternative<NoPositions>(a.positions)) all.push_back(Reason::kPositions);
      if (attention_[b]->skip != 0) all.push_back(Reason::kSkip);
    }
    const auto has_norm = [](const SubLayer& layer) { return layer.pre || layer.post; };
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
    const Reason no_mlp = mlps_.empty() ? Reason::kNoMlp : Reason::kNone;
    forms.push_back({"C3.2_depth", first({no_mlp, fails, gated, range}), std::log10(4 * beta * n_heads * lambda)});
    return forms;
  }

  void depth(const DepthForm& form) {
    Tally& all = theorems_[form.name];
    all.is_a_priori = true;
    if (form.fails != Reason::kNone) {
      ++all.cases[{Status::kNotApplicable, form.fails}];
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
                           .fails = Reason::kNone,
                           .is_a_priori = true};
        tally.add(shifted(i));
        all.add(shifted(i));
      }
      add(form.name, l, {}, tally);
    }
  }

  static Inequality shifted(Inequality i) {
    i.log_bound += i.is_lower ? -log_bound_shift_for_tests : log_bound_shift_for_tests;
    return i;
  }

  // What became of each theorem: its status with a sentence, and how many cases had which.
  void sentences() {
    for (const auto& [name, tally] : theorems_) {
      Row& row = add("theorem", {});
      row.claim = name;
      label(row, tally);
      row.n = tally.n();
      row.status = tally.status();
      row.reason = tally.reason();
      if (std::isfinite(tally.shown())) row.mean = tally.shown();
      row.verdict = sentence(name, tally);
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

  static std::string sentence(const std::string& name, const Tally& tally) {
    const auto share = [&](Status status) { return fmt::format("{} of {}", tally.of(status), tally.n()); };
    const char* ratio = name == "lower" ? "bound/measured" : "measured/bound";
    std::string text;
    const auto say = [&](const std::string& words) { text += (text.empty() ? "" : "; ") + words; };
    if (tally.of(Status::kViolated) > 0) say(fmt::format("violated in {}", share(Status::kViolated)));
    if (tally.of(Status::kHolds) > 0) say(fmt::format("applies and holds in {}", share(Status::kHolds)));
    if (tally.of(Status::kVacuous) > 0) {
      say(fmt::format("vacuous in {}: it allows more than what enters", share(Status::kVacuous)));
    }
    if (tally.of(Status::kExactlyZero) > 0) {
      say(fmt::format("nothing to bound in {}: the residual that enters is 0", share(Status::kExactlyZero)));
    }
    if (tally.of(Status::kNotApplicable) > 0) {
      say(fmt::format("does not apply in {} ({})", share(Status::kNotApplicable), tally.reasons()));
    }
    if (std::isfinite(tally.tightest)) {
      say(fmt::format("at best {} = {}", ratio, power_of_ten(tally.tightest)));
    } else if (std::isfinite(tally.tightest_of_all)) {
      say(fmt::format("taken nevertheless, {} = {} at most", ratio, power_of_ten(tally.tightest_of_all)));
    }
    return text;
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
  double largest_range_ = 0;
  std::vector<Row> rows_;
};

}  // namespace

double log_bound_shift_for_tests = 0;

std::vector<Row> bounds_rows(const std::string& model, const std::string& variant, const Network& network,
                             const std::vector<WeightNorms>& norms, const std::vector<BoundsSample>& samples) {
  return BoundsRows(model, variant, network, norms, samples).make();
}

}  // namespace rankfall
