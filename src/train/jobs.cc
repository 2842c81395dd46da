#include "train/jobs.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "linalg/gemm.h"
#include <rankfall/error.h>

namespace rankfall {
namespace {

std::atomic<bool> stop_asked = false;

extern "C" void ask_to_stop(int /*signal*/) { stop_asked = true; }

// SIGINT and SIGTERM ask to stop, for as long as this lives; a second one ends the program.
class StopSignals {
 public:
  StopSignals() {
    stop_asked = false;
    struct sigaction action = {};
    action.sa_handler = ask_to_stop;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, &interrupt_);
    sigaction(SIGTERM, &action, &terminate_);
  }
  ~StopSignals() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  struct sigaction interrupt_ = {}, terminate_ = {};
};

class Jobs {
 public:
  Jobs(const std::vector<TrainJob>& jobs, const JobOptions& options)
      : jobs_(jobs), options_(options), status_(jobs.size()), trained_(jobs.size()), errors_(jobs.size()) {}

  std::vector<Trained> run() {
    const StopSignals signals;
    const BlasThreads one(1);
    std::vector<std::thread> threads;
    const auto n = std::clamp<std::size_t>(static_cast<std::size_t>(options_.n_threads), 1, jobs_.size());
    n_running_ = n;
    threads.reserve(n);
    try {
      for (std::size_t t = 0; t < n; ++t) {
        threads.emplace_back([this] {
          work();
          const std::lock_guard lock(mutex_);
          --n_running_;
          changed_.notify_all();
        });
      }
    } catch (const std::system_error&) {  // no more threads are allowed: those that there are do the work
      const std::lock_guard lock(mutex_);
      n_running_ -= n - threads.size();
    }
    if (threads.empty()) work();
    watch();
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& error : errors_) {
      if (error) std::rethrow_exception(error);
    }
    return std::move(trained_);
  }

 private:
  void work() {
    for (std::size_t j = next_++; j < jobs_.size(); j = next_++) {
      trained_[j].complete = false;
      if (stop_asked) continue;
      TrainOptions options;
      options.resume = options_.resume;
      options.monitor = options_.monitor;
      options.step = [this, j](const TrainStatus& status) {
        const std::lock_guard lock(mutex_);
        status_[j] = status;
        latest_ = j;
        return !stop_asked.load();
      };
      try {
        trained_[j] = run_training(jobs_[j].settings, jobs_[j].directory, options);
      } catch (const Error& error) {
        errors_[j] = std::make_exception_ptr(Error(error.kind(), fmt::format("{}: {}", jobs_[j].name, error.what())));
      } catch (...) {
        errors_[j] = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      status_[j].step = std::max<Index>(1, status_[j].n_steps);  // also where nothing was left to do
    }
  }

  // Shows progress until all threads are done.
  void watch() {
    std::unique_lock lock(mutex_);
    while (n_running_ > 0) {
      changed_.wait_for(lock, std::chrono::milliseconds(100));
      if (!options_.progress || n_running_ == 0) continue;
      double done = 0;
      for (const TrainStatus& status : status_) {
        done += static_cast<double>(status.step) / static_cast<double>(std::max<Index>(1, status.n_steps));
      }
      const TrainStatus& now = status_[latest_];
      std::string what = fmt::format("{} epoch {} loss {:.3g}", jobs_[latest_].name, now.epoch + 1, now.loss);
      if (now.accuracy > 0) what += fmt::format(" accuracy {:.3f}", now.accuracy);
      lock.unlock();  // a terminal that blocks must not block training
      options_.progress(done, static_cast<double>(jobs_.size()), what);
      lock.lock();
    }
  }

  const std::vector<TrainJob>& jobs_;
  const JobOptions& options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<TrainStatus> status_;
  std::size_t latest_ = 0;
  std::vector<Trained> trained_;
  std::vector<std::exception_ptr> errors_;
  std::atomic<std::size_t> next_ = 0;

  std::size_t n_running_ = 0;
};

}  // namespace

std::vector<Trained> run_jobs(const std::vector<TrainJob>& jobs, const JobOptions& options) {
  return Jobs(jobs, options).run();
}

}  // namespace rankfall
