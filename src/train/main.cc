#include "cli/app.h"
#include "train/commands.h"

int main(int argc, char** argv) {
  using namespace rankfall;
  cli::run_app(argc, argv, "rankfall", "rankfall-train: training for rankfall, which starts it", [](CLI::App& app) {
    train::add_train_command(app);
    train::add_circle_command(app);
  });
}
