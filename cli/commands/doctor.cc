#include "studies/doctor/doctor.h"

#include <algorithm>
#include <memory>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/process.h"
#include <rankfall/error.h>

namespace rankfall::cli {

void bind_doctor(CLI::App& sub) {
  auto output = std::make_shared<OutputOptions>();
  sub.footer("Example:\n  rankfall doctor");
  add_threads_option(sub);
  add_output_options(sub, *output);
  sub.callback([output] {
    Result result = doctor();
    Row training;
    training.metric = "doctor.training";
    const auto program = training_program();
    training.verdict = program ? program->string() : "not built: train and circle need libtorch";
    result.rows.insert(result.rows.begin() + 2, training);
    write_result(result, *output);
    if (std::ranges::any_of(result.rows, [](const Row& row) { return row.status == Status::kFailed; })) {
      throw Error(ErrorKind::kClaim, "doctor: a check failed");
    }
  });
}

}  // namespace rankfall::cli
