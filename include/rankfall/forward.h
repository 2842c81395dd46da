#pragma once

#include <span>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/matrix.h>
#include <rankfall/model.h>
#include <rankfall/network.h>
#include <rankfall/process.h>
#include <rankfall/sample.h>

namespace rankfall {

// Before a branch's function, behind it, behind the sub-layer's sum, behind the last block.
enum class NormPlace { kPre, kOut, kPost, kFinal };

// `layer` is the index in Network::layers, -1 for the final norm; `branch` counts within the sub-layer.
struct NormSite {
  Index layer = 0;
  NormPlace place = NormPlace::kPre;
  Index branch = 0;
};

// What an observer asks for; what nobody asks for is not formed.
struct Needs {
  enum class Attention {
    kNone,
    kMeasures,  // of each row of P, which is never formed where samples are long
    kRows,      // blocks of rows of P, as they are made
    kWhole,     // P of a head at once: n x n for each head that is being worked on
  };
  bool hidden = false;
  Attention attention = Attention::kNone;
  bool values = false;
  bool logits = false;
  bool norm_scales = false;
  bool branches = false;
};

// Watches the forward pass of one sample. Calls arrive in the order of the layers; within a layer, attention(),
// attention_rows(), attention_measures() and logits() may come from several threads at once for different heads, or
// different rows of one head, in any order: write to separate places. References are valid during the call only.
template <class T>
class RANKFALL_API Observer {
 public:
  virtual ~Observer() = default;
  virtual Needs needs() const = 0;

  // Hidden state 0..L.
  virtual void hidden(Index /*state*/, const MatrixRef<T>& /*x*/) {}
  // What P of the heads multiplies, x W_V + b_V: n x (n_kv_heads d_head), head h of H reads the d_head columns of
  // key/value head h n_kv_heads / H. Before the block's attention arrives.
  virtual void values(Index /*block*/, const MatrixRef<T>& /*v*/) {}
  // P of one head, n x n; masked entries are 0.
  virtual void attention(Index /*block*/, Index /*head*/, const MatrixRef<T>& /*p*/) {}
  // Rows first_row.. of P of one head.
  virtual void attention_rows(Index /*block*/, Index /*head*/, Index /*first_row*/, const MatrixRef<T>& /*rows*/) {}
  // Of rows first_row.. of P of one head: entropy in nats, and mass on the first token that is no padding.
  virtual void attention_measures(Index /*block*/, Index /*head*/, Index /*first_row*/,
                                  const RowVectorRef<double>& /*entropy*/, const RowVectorRef<double>& /*sink*/) {}
  // Of rows first_row.. of the logits of one head, positions and soft cap included: the smallest and the largest among
  // the keys that each query sees; infinity and minus infinity where it sees none. Only where P is a softmax of logits.
  virtual void logits(Index /*block*/, Index /*head*/, Index /*first_row*/, const RowVectorRef<double>& /*smallest*/,
                      const RowVectorRef<double>& /*largest*/) {}
  // The divisor sqrt(var + eps) (or root mean square) of each token; ones where the norm has no statistics.
  virtual void norm_scales(const NormSite& /*site*/, const RowVectorRef<T>& /*scales*/) {}
  // f(in(x)) of a branch, before the norm of its output and its scale.
  virtual void branch(Index /*layer*/, Index /*branch*/, const MatrixRef<T>& /*y*/) {}
};

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
