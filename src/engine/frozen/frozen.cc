#include "engine/frozen/frozen.h"

#include <algorithm>

#include "base/parallel.h"
#include "engine/frozen/freezing.h"

namespace rankfall {
namespace {

// A place in PathSums::sums.
struct Cell {
  std::size_t origin, length;
};

std::vector<Cell> cells_of(const PathSums& x) {
  std::vector<Cell> cells;
  for (std::size_t o = 0; o < x.sums.size(); ++o) {
    for (std::size_t k = 0; k < x.sums[o].size(); ++k) {
      if (x.sums[o][k].rows() > 0) cells.push_back({o, k});
    }
  }
  return cells;
}

void for_each(const std::vector<Cell>& cells, const std::function<void(const Cell&)>& body) {
  parallel_for(std::ssize(cells), [&](Index i) { body(cells[static_cast<std::size_t>(i)]); });
}

}  // namespace

FrozenSums Frozen::nothing() const {
  State x;
  x.origins.push_back({Origin::Kind::kEmbedding, {}});
  for (const auto kind : {Origin::Kind::kMlp, Origin::Kind::kBias}) {
    if (origins_ == Origins::kMerged) x.origins.push_back({kind, {}});
    for (Index b = 0; b <= n_blocks_ && origins_ == Origins::kByBlock; ++b) x.origins.push_back({kind, b});
  }
  x.sums.resize(x.origins.size());
  return x;
}

FrozenSums Frozen::start(const MatrixRef<double>& x) const {
  State state = nothing();
  state.sums[0].push_back(x);
  return state;
}

void Frozen::inject(Origin::Kind kind, const MatrixRef<double>& y, State& x) const {
  if (origins_ == Origins::kEmbedding || y.rows() == 0) return;
  const auto which = kind == Origin::Kind::kMlp ? 0 : 1;
  const Index origin = origins_ == Origins::kMerged ? 1 + which : 1 + which * (n_blocks_ + 1) + layer().block;
  auto& sums = x.sums[static_cast<std::size_t>(origin)];
  if (sums.empty()) sums.emplace_back();
  add_to(sums[0], y);
}

FrozenSums Frozen::norm(const Norm& norm, NormPlace place, State x) const {
  const FrozenNorm f = frozen(norm, place);
  for_each(cells_of(x), [&](const Cell& cell) {
    Matrix<double>& y = x.sums[cell.origin][cell.length];
    y = norm_linear(f, std::move(y));
  });
  const RowVector<double> shift = norm_shift(f);
  if (shift.size() == 0) return x;
  if (place == NormPlace::kPre) {
    x.shift = shift;
  } else {
    inject(Origin::Kind::kBias, shift.replicate(f.scales.size(), 1), x);
  }
  return x;
}

FrozenSums Frozen::attend(const Attention& attention, const State& x) const {
  State y = nothing();
  for (std::size_t o = 0; o < x.sums.size(); ++o) {
    if (!x.sums[o].empty()) y.sums[o].resize(x.sums[o].size() + 1);
  }
  for_each(cells_of(x), [&](const Cell& cell) {
    y.sums[cell.origin][cell.length + 1] = attention_linear(layer(), attention, x.sums[cell.origin][cell.length]);
  });
  if (origins_ != Origins::kEmbedding) {
    inject(Origin::Kind::kBias, attention_constant(layer(), attention, x.shift), y);
  }
  return y;
}

FrozenSums Frozen::branch(const State& /*x*/) const {
  State y = nothing();
  inject(Origin::Kind::kMlp, output(), y);
  return y;
}

FrozenSums Frozen::combine(double skip, State x, double branch, State y) const {
  return sum(branch, std::move(y), skip, std::move(x));
}

FrozenSums Frozen::sum(double fy, State y, double fx, State x) const {
  for_each(cells_of(y), [&](const Cell& cell) { scale(fy, y.sums[cell.origin][cell.length]); });
  if (fx == 0) return y;
  for (std::size_t o = 0; o < x.sums.size(); ++o) {
    y.sums[o].resize(std::max(y.sums[o].size(), x.sums[o].size()));
  }
  for_each(cells_of(x), [&](const Cell& cell) {
    Matrix<double>& from = x.sums[cell.origin][cell.length];
    scale(fx, from);
    add_to(y.sums[cell.origin][cell.length], std::move(from));
  });
  return y;
}

Index PathSums::n_lengths() const {
  std::size_t n = 1;
  for (const auto& lengths : sums) n = std::max(n, lengths.size());
  return static_cast<Index>(n);
}

Matrix<double> PathSums::of_length(Index length) const {
  Matrix<double> sum;
  for (const auto& lengths : sums) {
    const auto k = static_cast<std::size_t>(length);
    if (k < lengths.size() && lengths[k].rows() > 0) add_to(sum, lengths[k]);
  }
  return sum;
}

Matrix<double> PathSums::of_origin(std::size_t origin) const {
  Matrix<double> sum;
  for (const Matrix<double>& y : sums[origin]) {
    if (y.rows() > 0) add_to(sum, y);
  }
  return sum;
}

Matrix<double> PathSums::total() const {
  Matrix<double> sum;
  for (std::size_t o = 0; o < sums.size(); ++o) {
    const Matrix<double> part = of_origin(o);
    if (part.rows() > 0) add_to(sum, part);
  }
  return sum;
}

namespace {

// Takes path sums along with the forward pass.
class PathSumsRun final : public FrozenObserver {
 public:
  PathSumsRun(Origins origins, const Network& network, const MatrixRef<double>& input, PathSumsObserver* observer)
      : domain_(origins, network.sizes.n_blocks), state_(domain_.start(input)), observer_(observer) {}

  void layer(const FrozenLayer& f) override { state_ = domain_.advance(f, std::move(state_)); }
  void hidden(Index state, const MatrixRef<double>& x) override {
    if (observer_) observer_->hidden(state, x, state_);
  }
  PathSums take() { return std::move(state_); }

 private:
  Frozen domain_;
  FrozenSums state_;
  PathSumsObserver* observer_;
};

}  // namespace

std::vector<Decomposition> decompose(const Network& network, const WeightSource& weights,
                                     std::span<const Sample> samples, Origins origins,
                                     std::span<PathSumsObserver* const> observers, const ForwardOptions& options) {
  check_observers(observers.size(), samples.size());
  std::vector<Matrix<double>> outputs;
  auto runs = freeze_with<PathSumsRun>(
      network, weights, samples, options,
      [&](std::size_t s, const Matrix<double>& input) {
        return PathSumsRun(origins, network, input, observers.empty() ? nullptr : observers[s]);
      },
      &outputs);
  std::vector<Decomposition> result(samples.size());
  for (std::size_t s = 0; s < samples.size(); ++s) result[s] = {std::move(outputs[s]), runs[s].take()};
  return result;
}

}  // namespace rankfall
