#pragma once

#include <gtest/gtest.h>

#include <rankfall/metric_info.h>
#include <rankfall/result.h>

namespace rankfall {

// Every row's metric is in the registry, for this study, and is described as the row has it.
inline void expect_registered(const Result& result) {
  EXPECT_FALSE(result.rows.empty());
  for (const Row& row : result.rows) {
    const auto info = find_metric(row.metric);
    const MetricUse* use = info ? info->use_in(result.command) : nullptr;
    ASSERT_NE(use, nullptr) << row.metric << " of " << result.command << " is not in src/result/metric_table.cc";
    if (!row.mean) continue;
    EXPECT_EQ(use->has_layer, row.layer.has_value()) << row.metric << " of " << result.command;
    EXPECT_TRUE(use->has_head || !row.head) << row.metric << " of " << result.command;
  }
}

}  // namespace rankfall
