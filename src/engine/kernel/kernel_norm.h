#pragma once

#include "engine/kernel/gram.h"

namespace rankfall {

// K_ij / sqrt((K_ii + eps) (K_jj + eps)).
Gram normalised(double eps, const Gram& k, const Tokens& tokens);

// K_ij - m_i m_j, m the means over channels.
Gram without_channel_means(Gram k, const RowVector<double>& means, const Tokens& tokens);

}  // namespace rankfall
