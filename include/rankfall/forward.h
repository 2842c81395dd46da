#pragma once

#include <span>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/matrix.h>
#include <rankfall/network.h>
#include <rankfall/observer.h>
#include <rankfall/progress.h>
#include <rankfall/sample.h>
#include <rankfall/weights.h>

namespace rankfall {

struct ForwardOptions {
  Progress progress;  // in units of multiplications; empty: silent
};

// Runs the network on the samples in T = float or double: layers outside, samples in parallel inside, weights asked for
// one sub-layer at a time. `observers` is empty or holds one pointer per sample (may be null). Returns the last states,
// final norm applied: what the head reads. Bit-identical for every number of threads, and each sample's numbers do not
// depend on the other samples, unless the position scheme's tables do (XLNet, by rounding, on the longest sample).
// Throws Error(kNumerical) with block and place when a NaN or infinity appears.
// While it runs, OpenBLAS, which is global to the process, is set to one thread: calls may not overlap in time.
template <class T>
RANKFALL_API std::vector<Matrix<T>> forward(const Network& network, const WeightSource& weights,
                                            std::span<const Sample> samples, std::span<Observer<T>* const> observers,
                                            const ForwardOptions& options = {});

// The task head on last states as forward() returns them: y = x w^T + b, one matrix [n, labels] a sample. Error(kUsage)
// when the network has no head.
template <class T>
RANKFALL_API std::vector<Matrix<T>> apply_head(const Network& network, const WeightSource& weights,
                                               std::span<const Matrix<T>> last_states);

extern template RANKFALL_API std::vector<Matrix<float>> forward(const Network&, const WeightSource&,
                                                                std::span<const Sample>,
                                                                std::span<Observer<float>* const>,
                                                                const ForwardOptions&);
extern template RANKFALL_API std::vector<Matrix<double>> forward(const Network&, const WeightSource&,
                                                                 std::span<const Sample>,
                                                                 std::span<Observer<double>* const>,
                                                                 const ForwardOptions&);

extern template RANKFALL_API std::vector<Matrix<float>> apply_head(const Network&, const WeightSource&,
                                                                   std::span<const Matrix<float>>);
extern template RANKFALL_API std::vector<Matrix<double>> apply_head(const Network&, const WeightSource&,
                                                                    std::span<const Matrix<double>>);

}  // namespace rankfall
