#include "engine/dense/low_rank_head_impl.h"

namespace rankfall {

template class LowRankHead<float>;
template class LowRankHead<double>;

}  // namespace rankfall
