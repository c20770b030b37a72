#include "sharpen/base/log.hpp"

#include <mutex>

namespace sharpen {

struct Log::Shared {
  std::mutex one_at_a_time;
  Sink sink;
};

Log::Log(Sink sink, LogLevel least) : least_(least) {
  if (!sink) return;
  shared_ = std::make_shared<Shared>();
  shared_->sink = std::move(sink);
}

void Log::write(LogLevel level, std::string_view message) const {
  if (!wants(level)) return;
  const std::lock_guard lock(shared_->one_at_a_time);
  shared_->sink(level, message);
}

}  // namespace sharpen
