#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/errors.h"
#include "io/atomic_file.h"
#include "io/mapped_file.h"
#include "result/manifest.h"
#include "result/prose_format.h"
#include "studies/audit/algebra_claims.h"
#include "studies/audit/audit_claims.h"
#include "studies/audit/claim_sources.h"
#include "view/number_text.h"
#include <rankfall/audit.h>
#include <rankfall/process.h>

namespace rankfall {
namespace {

constexpr std::uintmax_t kLargestWitness = 1 << 20;

std::string words(const AuditClaim& claim, const AuditFinding& finding) {
  switch (finding.verdict) {
    case Status::kHolds:
      return claim.by_definition ? "holds (true by definition)" : "holds (proved)";
    case Status::kNoCounterexample:
      if (!claim.is_search) return "neither shown nor refuted (measured)";
      return fmt::format("no violation found (best ratio {}, {} trials)", trimmed(finding.figure.value_or(0), 4),
                         finding.n_trials);
    case Status::kViolated:
      return fmt::format("fails{} ({})", claim.as_recorded ? " as recorded" : "",
                         !claim.has_witness ? "construction"
                         : finding.witness  ? "witness"
                                            : "measured");
    default:
      return "holds (measured)";
  }
}

// The same before anything is tried.
std::string expected_words(const AuditClaim& claim) {
  switch (claim.expected) {
    case Status::kHolds:
      return claim.by_definition ? "holds (true by definition)" : "holds (proved)";
    case Status::kNoCounterexample:
      return claim.is_search ? "no violation known" : "neither shown nor refuted";
    case Status::kViolated:
      return claim.as_recorded ? "fails as recorded" : "fails";
    default:
      return "holds (measured)";
  }
}

// All claims in the order of their numbers; parts of one number get letters.
struct Numbered {
  std::string id;  // "04b composite_triangle"
  AuditClaim claim;
};
std::vector<Numbered> all_claims() {
  std::vector<AuditClaim> claims = matrix_claims();
  std::ranges::move(network_claims(), std::back_inserter(claims));
  std::ranges::stable_sort(claims, {}, &AuditClaim::number);
  std::vector<Numbered> out;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const auto same = [&](std::size_t k) { return k < claims.size() && claims[k].number == claims[i].number; };
    const bool after = i > 0 && same(i - 1);
    const char* letter = after ? "b" : same(i + 1) ? "a" : "";
    out.push_back({fmt::format("{:02}{} {}", claims[i].number, letter, claims[i].name), claims[i]});
  }
  return out;
}

std::vector<Numbered> chosen_claims(const std::vector<Index>& numbers) {
  std::vector<Numbered> claims = all_claims();
  const Index last = claims.back().claim.number;
  for (const Index number : numbers) {
    if (number < 1 || number > last) throw usage_error("claim {}: there are claims 1 to {}", number, last);
  }
  if (!numbers.empty()) {
    std::erase_if(claims,
                  [&](const Numbered& n) { return std::ranges::find(numbers, n.claim.number) == numbers.end(); });
  }
  return claims;
}

}  // namespace

std::vector<AuditedClaim> audited_claims(const std::vector<Index>& numbers) {
  std::vector<AuditedClaim> out;
  for (const Numbered& n : chosen_claims(numbers)) {
    const ClaimSource& source = source_of(n.claim.name);
    out.push_back({n.id, n.claim.statement, std::string(source.source), std::string(source.refuted_by),
                   n.claim.expected, expected_words(n.claim)});
  }
  return out;
}

Result audit(const AuditOptions& options) {
  if (options.n_trials < 1) throw usage_error("trials of a search: expected at least 1");
  if (!(options.seconds >= 0)) throw usage_error("seconds of the searches: expected 0 or more");
  if (!options.witnesses.empty() && !std::filesystem::is_directory(options.witnesses)) {
    throw usage_error("{}: no such directory for witnesses", options.witnesses.string());
  }
  if (!options.witnesses.empty()) AtomicFile(options.witnesses / "witness");  // throws where nothing can be written
  const std::vector<Numbered> claims = chosen_claims(options.claims);
  const auto n_searches = std::ranges::count_if(claims, [](const Numbered& n) { return n.claim.is_search; });
  const SearchEffort effort{
      options.n_trials, options.seconds / static_cast<double>(std::max<std::ptrdiff_t>(1, n_searches)), options.models};
  const std::string limit = options.seconds > 0 ? fmt::format(" --seconds {}", options.seconds) : "";  // a command line

  Result result{"audit", {}, {}};
  add(result.manifest, "seed", options.seed);
  add(result.manifest, "trials", std::int64_t{options.n_trials});
  if (options.seconds > 0) add(result.manifest, "seconds", options.seconds);
  add(result.manifest, "threads", std::int64_t{threads()});
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const std::string& id = claims[i].id;
    const AuditClaim& claim = claims[i].claim;
    if (options.progress) options.progress(static_cast<double>(i), static_cast<double>(claims.size()), id);
    const AuditFinding finding = claim.run(effort, options.seed);
    const auto text = [&](const char* metric, std::string words) -> Row& {
      return result.rows.emplace_back(Row{.metric = metric, .claim = id, .verdict = std::move(words)});
    };
    const ClaimSource& source = source_of(claim.name);
    text("audit.statement", claim.statement);
    text("audit.source", std::string(source.source));
    text("audit.refuted_by", std::string(source.refuted_by));
    Row& verdict = text("audit.verdict", words(claim, finding));
    verdict.status = finding.verdict;
    verdict.mean = finding.figure;
    verdict.n = finding.n_trials;
    if (claim.by_definition) verdict.basis = Basis::kDefinition;
    verdict.kind = finding.verdict == claim.expected ? "expected" : "unexpected";
    text("audit.evidence", finding.evidence);
    for (Row row : finding.rows) {
      row.claim = id;
      result.rows.push_back(std::move(row));
    }
    if (finding.n_planned) {
      Row& stopped =
          text("audit.stopped",
               fmt::format("the time limit ended the search after {} of {} trials; another run may stop elsewhere",
                           finding.n_trials, *finding.n_planned));
      stopped.status = Status::kWarning;
      stopped.n = finding.n_trials;
      stopped.k = *finding.n_planned;
    }
    constexpr const char* kCommand = "rankfall audit --claims {} --seed {} --trials {}{}";  // a command line
    text("audit.command", fmt::format(kCommand, claim.number, options.seed, options.n_trials, limit));
    if (finding.witness && !options.witnesses.empty()) {
      const auto file = options.witnesses / (id.substr(0, id.find(' ')) + "_" + claim.name + ".json");
      write_file_atomically(without_link(file), to_json(*finding.witness));
      text("audit.witness", file.string());
    }
  }
  return result;
}

CheckedWitness check_witness_file(const std::filesystem::path& file) {
  const auto mapped = MappedFile::open(file);
  if (mapped->bytes().size() > kLargestWitness) {
    throw input_error("{}: {} bytes, expected a witness of at most {}", file.string(), mapped->bytes().size(),
                      kLargestWitness);
  }
  const auto bytes = mapped->bytes();
  const Witness witness = witness_from_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.string());
  check_witness(witness, file.string());
  const AlgebraClaim& claim = *algebra_claim(witness.claim);
  const Sides sides = exact_sides(witness);
  const std::vector<AuditClaim> claims = matrix_claims();
  const auto recorded = std::ranges::find(claims, claim.name, &AuditClaim::name);
  const bool fails = recorded != claims.end() && recorded->expected == Status::kViolated && recorded->has_witness;
  return {claim.name,       claim.statement,          sides.left, sides.right, sides.applies,
          sides.violated(), sides.violated() == fails};
}

std::vector<std::string> unexpected_verdicts(const Result& result) {
  std::vector<std::string> claims;
  for (const Row& row : result.rows) {
    if (row.metric == "audit.verdict" && row.kind == "unexpected")
      claims.push_back(fmt::format("{}: {}", row.claim, row.verdict));
  }
  return claims;
}

}  // namespace rankfall
