#include "study/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <thread>

namespace sharpen::study {

Schedule::Schedule(const std::vector<Job>& jobs, Limits limits, const Log& log)
    : jobs_(jobs),
      limits_(limits),
      log_(log),
      waits_for_(jobs.size(), 0),
      urgency_(jobs.size(), 0.0),
      left_(static_cast<Index>(jobs.size())) {
  for (Index job = 0; job < left_; ++job) {
    const Job& each = jobs_[at(job)];
    waits_for_[at(job)] = (each.training >= 0 ? 1 : 0) + (each.oracle >= 0 ? 1 : 0);
    // What waits for a job makes it more urgent.
    double after = 0.0;
    for (const Index cell : each.cells) after += jobs_[at(cell)].seconds;
    urgency_[at(job)] = each.seconds + after;
    if (waits_for_[at(job)] == 0) ready_.push_back(job);
  }
}

int Schedule::threads_for_next() const {
  const auto others = static_cast<int>(
      std::min<Index>(limits_.workers, static_cast<Index>(ready_.size()) + running_));
  return std::max(1, limits_.workers / std::max(1, others));
}

Index Schedule::take() {
  // First among equals is the first of the plan.
  std::sort(ready_.begin(), ready_.end(), [&](Index a, Index b) {
    return std::pair(urgency_[at(a)], -a) < std::pair(urgency_[at(b)], -b);
  });
  for (auto it = ready_.rbegin(); it != ready_.rend(); ++it) {
    const double need = jobs_[at(*it)].gigabytes;
    if (running_ > 0 && in_use_ + need > limits_.gigabytes) continue;
    if (need > limits_.gigabytes)
      log_.warning(fmt::format(
          "a job needs about {:.2g} GB, more than the {:.2g} GB it may use: it runs alone", need,
          limits_.gigabytes));
    const Index job = *it;
    ready_.erase(std::next(it).base());
    return job;
  }
  return -1;
}

void Schedule::finish(Index job) {
  --running_;
  --left_;
  in_use_ -= jobs_[at(job)].gigabytes;
  if (running_ == 0) in_use_ = 0.0;  // what sums of doubles leave over
  for (const Index cell : jobs_[at(job)].cells)
    if (--waits_for_[at(cell)] == 0) ready_.push_back(cell);
}

void Schedule::worker(const Work& work, const std::function<bool()>& stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (stopped_ || left_ == 0) return;
    bool ends = true;
    try {
      ends = stop && stop();
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
    }
    if (ends) {
      stopped_ = true;
      changed_.notify_all();
      return;
    }
    const int threads = threads_for_next();
    const Index job = take();
    if (job < 0) {
      // Woken now and then, to see whether to stop.
      changed_.wait_for(lock, std::chrono::milliseconds(200));
      continue;
    }
    ++running_;
    in_use_ += jobs_[at(job)].gigabytes;
    lock.unlock();
    std::exception_ptr failure;
    try {
      work(job, threads);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    finish(job);
    if (failure && !failure_) failure_ = failure;
    stopped_ = stopped_ || failure;
    changed_.notify_all();
  }
}

void Schedule::run(const Work& work, const std::function<bool()>& stop) {
  std::vector<std::thread> others;
  const auto workers = std::min<Index>(limits_.workers, left_);
  try {
    for (Index i = 1; i < workers; ++i) others.emplace_back([&] { worker(work, stop); });
  } catch (const std::system_error& error) {
    log_.warning(fmt::format("only {} of {} threads could be started: {}", others.size() + 1,
                             workers, error.what()));
  }
  worker(work, stop);
  for (std::thread& other : others) other.join();
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace sharpen::study
