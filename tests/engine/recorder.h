#pragma once

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <rankfall/forward.h>
#include <rankfall/matrix.h>

namespace rankfall {

// Keeps everything a forward pass shows.
template <class T>
class Recorder final : public Observer<T> {
 public:
  explicit Recorder(
      Needs needs = {.hidden = true, .attention = Needs::Attention::kWhole, .norm_scales = true, .branches = true})
      : needs_(needs) {}

  Needs needs() const override { return needs_; }
  void hidden(Index state, const MatrixRef<T>& x) override {
    EXPECT_EQ(state, static_cast<Index>(states.size()));
    states.emplace_back(x);
  }
  void attention(Index block, Index head, const MatrixRef<T>& p) override {
    const std::lock_guard lock(mutex_);
    attentions[{block, head}] = p;
  }
  void attention_rows(Index block, Index head, Index first_row, const MatrixRef<T>& rows) override {
    const std::lock_guard lock(mutex_);
    Matrix<T>& p = attentions[{block, head}];
    if (p.size() == 0) p.setZero(rows.cols(), rows.cols());
    p.middleRows(first_row, rows.rows()) = rows;
  }
  void norm_scales(const NormSite& site, const RowVectorRef<T>& scale) override {
    scales[{site.layer, site.place}] = scale;
  }
  void branch(Index layer, Index branch, const MatrixRef<T>& y) override {
    if (branch == 0) branches[layer] = y;
  }

  std::vector<Matrix<T>> states;
  std::map<std::pair<Index, Index>, Matrix<T>> attentions;
  std::map<std::pair<Index, NormPlace>, RowVector<T>> scales;
  std::map<Index, Matrix<T>> branches;

 private:
  Needs needs_;
  std::mutex mutex_;
};

}  // namespace rankfall
