#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>

#include "base/dcheck.h"
#include "base/parallel.h"
#include "base/random.h"
#include <rankfall/model.h>

namespace rankfall {
namespace {

using Buffer = std::vector<float>;

class DrawnWeights final : public WeightSource {
 public:
  DrawnWeights(std::vector<TensorSpec> tensors, std::uint64_t seed, std::uint64_t keep_bytes)
      : tensors_(std::move(tensors)), seed_(seed), keep_bytes_(keep_bytes) {}

  TensorData rows(int tensor, Index first, Index count) const override {
    const TensorSpec& spec = tensors_[static_cast<std::size_t>(tensor)];
    RANKFALL_DCHECK(first >= 0 && count >= 0 && first + count <= spec.matrix_rows());
    const bool whole = first == 0 && count == spec.matrix_rows();
    if (const auto kept = find(tensor)) return view(spec, kept, first, count);
    const std::shared_ptr<const Buffer> drawn = draw(spec, first, count);
    if (!whole) return view(spec, drawn, 0, count);
    return view(spec, keep(tensor, drawn), 0, count);
  }

 private:
  static TensorData view(const TensorSpec& spec, const std::shared_ptr<const Buffer>& buffer, Index first,
                         Index count) {
    const auto cols = static_cast<std::size_t>(spec.matrix_cols());
    const std::span<const float> all(*buffer);
    return {DType::kF32,
            std::as_bytes(all.subspan(static_cast<std::size_t>(first) * cols, static_cast<std::size_t>(count) * cols)),
            buffer};
  }

  std::shared_ptr<const Buffer> find(int tensor) const {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(tensor);
    return found == kept_.end() ? nullptr : found->second;
  }

  // Another thread may have drawn the same tensor meanwhile; the values are equal, the first one stays.
  std::shared_ptr<const Buffer> keep(int tensor, std::shared_ptr<const Buffer> buffer) const {
    const std::uint64_t bytes = buffer->size() * sizeof(float);
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find(tensor); found != kept_.end()) return found->second;
    if (bytes <= keep_bytes_ - kept_size_) {
      kept_size_ += bytes;
      kept_.emplace(tensor, buffer);
    }
    return buffer;
  }

  // Not called with the lock held: it runs in parallel, and a thread that waits may start work that wants the lock.
  std::shared_ptr<const Buffer> draw(const TensorSpec& spec, Index first_row, Index count) const {
    constexpr Index kChunk = 1 << 16;
    const Index cols = spec.matrix_cols();
    const Index size = count * cols;
    auto buffer = std::make_shared<Buffer>(static_cast<std::size_t>(size));
    const RandomKey key = random_key(seed_, spec.name);
    parallel_for((size + kChunk - 1) / kChunk, [&](Index chunk) {
      const Index begin = chunk * kChunk;
      const std::span<float> out = std::span<float>(*buffer).subspan(
          static_cast<std::size_t>(begin), static_cast<std::size_t>(std::min(kChunk, size - begin)));
      const Index element = first_row * cols + begin;
      switch (spec.init.kind) {
        case Init::Kind::kConstant:
          std::fill(out.begin(), out.end(), static_cast<float>(spec.init.scale));
          break;
        case Init::Kind::kNormal:
          fill_normal(key, element, out, spec.init.scale);
          break;
        case Init::Kind::kTruncatedNormal:
          fill_truncated_normal(key, element, out, spec.init.scale);
          break;
        case Init::Kind::kUniform:
          fill_uniform(key, element, out, spec.init.scale);
          break;
      }
    });
    return buffer;
  }

  std::vector<TensorSpec> tensors_;
  std::uint64_t seed_;
  std::uint64_t keep_bytes_;
  mutable std::mutex mutex_;
  mutable std::map<int, std::shared_ptr<const Buffer>> kept_;
  mutable std::uint64_t kept_size_ = 0;
};

}  // namespace

double AlibiPositions::slope(Index head) const {
  Index m = 1;
  while (2 * m <= n_heads) m *= 2;
  const Index k = first + head;
  const Index power = k < m ? 2 * (k + 1) : 2 * (k - m) + 1;  // of 2^(-4/m)
  return std::exp2(-4.0 * static_cast<double>(power) / static_cast<double>(m));
}

TensorSlice outputs_of(TensorSlice slice, bool is_vector, Index first, Index count) {
  if (slice.run > 0) {
    const bool within = first % slice.run + count <= slice.run;
    RANKFALL_DCHECK(within || (first % slice.run == 0 && count % slice.run == 0));
    first = first / slice.run * slice.period + first % slice.run;
    if (within) slice.run = slice.period = 0;
  }
  (is_vector ? slice.col : slice.row) += first;
  (is_vector ? slice.cols : slice.rows) = count;
  return slice;
}

Index TensorSpec::matrix_rows() const { return shape.size() < 2 ? 1 : shape[0]; }

Index TensorSpec::matrix_cols() const {
  Index n = 1;
  for (std::size_t i = shape.size() < 2 ? 0 : 1; i < shape.size(); ++i) n *= shape[i];
  return n;
}

std::shared_ptr<const WeightSource> draw_weights(std::vector<TensorSpec> tensors, std::uint64_t seed,
                                                 std::uint64_t keep_bytes) {
  return std::make_shared<DrawnWeights>(std::move(tensors), seed, keep_bytes);
}

}  // namespace rankfall
