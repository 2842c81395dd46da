#include "report/sketch_tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "report/number_text.h"
#include "report/screen_text.h"
#include "report/text_grid.h"

namespace rankfall {
namespace {

constexpr int kMostName = 32;  // longer names of kinds are cut

class SketchTables {
 public:
  SketchTables(const Rows& rows, TableText& out) : rows_(rows), out_(out) {}

  void make() {
    std::vector<std::string> claims;
    std::map<std::string, Claim> by_claim;
    std::map<Index, const Row*> claimed;  // one k for all claims and kinds of w
    for (const Row* row : rows_) {
      if (!row->metric.starts_with("jl.") || row->metric == "jl.statement") continue;
      if (row->metric == "jl.k_claimed") {
        if (row->tokens) claimed[*row->tokens] = row;
        continue;
      }
      if (!by_claim.contains(row->claim)) claims.push_back(row->claim);
      by_claim[row->claim].add(*row);
    }
    for (const std::string& claim : claims) sketch(claim, by_claim[claim], claimed);
    std::set<std::tuple<std::string_view, std::optional<Index>, std::optional<Index>>> said;
    for (const Row* row : with_metric(rows_, "jl.statement")) {
      if (row->verdict.empty() || !said.insert({row->claim, row->layer, row->tokens}).second) continue;
      out_.lines((row->claim.empty() ? "" : harmless(row->claim) + ": ") + screen_prose(row->verdict, true));
      out_.text += '\n';
    }
  }

 private:
  // Of the claim's kinds of w, by number of tokens.
  struct Claim {
    struct Failure {
      std::optional<double> rate, low, high;
    };
    struct OfTokens {
      const Row* needed = nullptr;
      std::map<Index, Failure> failures;  // by k
    };
    std::vector<std::string> kinds;
    std::map<std::string, std::map<Index, OfTokens>> by_kind;
    std::vector<const Row*> growth;
    std::set<Index> tokens;

    void add(const Row& row) {
      if (row.metric == "jl.growth") growth.push_back(&row);
      if (!row.tokens || row.metric == "jl.growth") return;
      if (!by_kind.contains(row.kind)) {
        if (kinds.size() == kMostKinds) return;
        kinds.push_back(row.kind);
      }
      tokens.insert(*row.tokens);
      OfTokens& of = by_kind[row.kind][*row.tokens];
      if (row.metric == "jl.k_needed") of.needed = &row;
      if (!row.k) return;
      if (row.metric == "jl.failure") of.failures[*row.k].rate = finite(row.mean);
      if (row.metric == "jl.failure.low") of.failures[*row.k].low = finite(row.mean);
      if (row.metric == "jl.failure.high") of.failures[*row.k].high = finite(row.mean);
    }
    const OfTokens* find(const std::string& kind, Index n) const {
      const auto of_kind = by_kind.find(kind);
      if (of_kind == by_kind.end()) return nullptr;
      const auto found = of_kind->second.find(n);
      return found == of_kind->second.end() ? nullptr : &found->second;
    }
  };

  static std::string count_text(const Row* row) {
    if (!row || !finite(row->mean)) return "-";
    const bool is_whole = *row->mean == std::floor(*row->mean) && std::abs(*row->mean) < 1e15;
    return is_whole ? fmt::format("{:.0f}", *row->mean) : significant(*row->mean);
  }

  // "k >= n", or how far beyond what was tried it is.
  static std::string beyond(const Row* row) {
    if (!row) return "";
    if (row->status == Status::kNoSaving) return "k >= n";
    if (row->status != Status::kNotFound) return "";
    return row->k && row->tokens && *row->tokens > 0 ? fmt::format("above {} n", *row->k / *row->tokens) : "k >= n";
  }

  // What fails at the k that is claimed.
  static const Claim::Failure* at_claimed(const Claim::OfTokens& of, const Row* claimed) {
    if (!claimed || !finite(claimed->mean) || std::abs(*claimed->mean) > 1e15) return nullptr;
    for (const double k : {std::ceil(*claimed->mean), std::floor(*claimed->mean)}) {
      const auto found = of.failures.find(static_cast<Index>(k));
      if (found != of.failures.end()) return &found->second;
    }
    return nullptr;
  }

  void sketch(const std::string& claim, const Claim& of, const std::map<Index, const Row*>& claimed) {
    if (!of.tokens.empty()) {
      lowrank_title(
          *rows_[0],
          fmt::format("Johnson-Lindenstrauss, claim \"{}\": {}; by kind of w: share of draws of R that fail at the k "
                      "claimed, interval of 95 %, and the smallest k that suffices",
                      harmless(claim), formula_of(claim)),
          out_);
      std::vector<TextGrid::Column> columns = {
          {"", "tokens"}, {"", "k claimed"}, {.group = "", .name = "", .left = true}};
      for (const std::string& kind : of.kinds) {
        std::string name = screen_name(kind, out_.options.unicode);
        if (display_width(name) > kMostName) name = fit(name, kMostName, Align::kLeft, out_.options.unicode);
        columns.push_back({name, "fails", true});
        columns.push_back({.group = name, .name = "", .with_next = true, .left = true, .dim = true});
        columns.push_back({name, "k needed", true});
        columns.push_back({.group = name, .name = "", .left = true});
      }
      TextGrid grid(3, std::move(columns));
      for (const Index n : of.tokens) {
        const auto found = claimed.find(n);
        grid.line(sketch_line(of, n, found == claimed.end() ? nullptr : found->second));
      }
      grid.write(out_);
    }
    for (const Row* row : of.growth) {
      std::string text = screen_prose(row->verdict, true);
      if (text.empty() && finite(row->mean)) text = fmt::format("k needed goes with n^{}", power_text(*row));
      if (!text.empty()) out_.lines(fmt::format("{}: {}", harmless(row->kind), text));
    }
    if (!of.growth.empty()) out_.text += '\n';
  }

  std::vector<std::string> sketch_line(const Claim& of, Index n, const Row* claimed) const {
    std::vector<std::string> cells = {fmt::format("{}", n), count_text(claimed), beyond(claimed)};
    for (const std::string& kind : of.kinds) {
      const Claim::OfTokens* found = of.find(kind, n);
      const Claim::Failure* failure = found ? at_claimed(*found, claimed) : nullptr;
      cells.push_back(failure ? number(failure->rate) : "-");
      cells.push_back(failure && failure->low && failure->high
                          ? fmt::format("{}..{}", significant(*failure->low, 2), significant(*failure->high, 2))
                          : "");
      const Row* needed = found ? found->needed : nullptr;
      cells.push_back(count_text(needed));
      cells.push_back(beyond(needed));
    }
    return cells;
  }

  static std::string formula_of(const std::string& claim) {
    if (claim == "relative") return "‖P R^T R w − P w‖ <= eps ‖P w‖";
    if (claim == "norms") return "‖P R^T R w − P w‖ <= eps ‖P‖_F ‖w‖";
    return "P R^T R w for P w";
  }

  const Rows& rows_;
  TableText& out_;
};

}  // namespace

std::optional<double> finite(std::optional<double> value) {
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string number(std::optional<double> value) { return finite(value) ? significant(*value) : "-"; }

std::string harmless(const std::string& text) { return screen_name(text, true); }

std::string power_text(const Row& row) {
  return significant(*row.mean, 3) + (finite(row.std) ? fmt::format(" +- {}", significant(*row.std, 2)) : "");
}

void lowrank_title(const Row& row, const std::string& words, TableText& out) {
  const std::string name = screen_name(fmt::format("{} {}", row.model, row.variant), out.options.unicode);
  const int width = std::min(display_width(name), out.options.width);
  out.text += out.paint(Colour::kBold, fit(name, width, Align::kLeft, out.options.unicode)) + '\n';
  out.lines(words, 2);
  out.text += '\n';
}

void add_sketches(const Rows& rows, TableText& out) { SketchTables(rows, out).make(); }

}  // namespace rankfall
