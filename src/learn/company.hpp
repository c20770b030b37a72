// The members of an ensemble, trained together: epoch by epoch where a validation of them all says
// when to stop, each by itself where nothing does.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "learn/member.hpp"
#include "learn/validation.hpp"
#include "sharpen/base/control.hpp"

namespace sharpen::learn {

class Company {
 public:
  // data, settings and control must outlive it. identity: of the training (checkpoint.hpp).
  Company(const Dataset& data, const TrainSettings& settings, const TrainControl& control,
          double periods_per_year, std::uint64_t identity);

  // To the end, or until a member has diverged: what is kept depends on no thread. Throws
  // Interrupted.
  void run(const Threads& threads);

  // The best so far of every member that has any.
  std::vector<Member> results() const;
  // Why the first of the members that diverged did; "": none has.
  std::string fault() const;

 private:
  using Body = std::function<void(Index member, Workspace& workspace, const Threads& threads)>;
  // Members side by side; threads that are left over go inside. One that diverges leaves the others
  // alone.
  void for_each_member(const Threads& threads, const Body& body);
  EpochReport run_epoch(MemberTraining& training, Workspace& workspace, const Threads& threads);
  void train_alone(Index member, Workspace& workspace, const Threads& threads);
  void train_in_step(const Threads& threads);
  void catch_up(const Threads& threads);
  void judge(std::vector<EpochReport>& reports, const Threads& threads);
  bool finished(const MemberState& state) const;
  bool restore(MemberTraining& training, Index member);
  void store(const MemberTraining& training, Index member) const;

  const Dataset* data_;
  const TrainSettings* settings_;
  const TrainControl* control_;
  std::uint64_t identity_;
  Index steps_;  // of an epoch, at most
  Conductor conductor_;
  std::vector<std::unique_ptr<Workspace>> workspaces_;  // of every thread
  std::optional<Validation> validation_;
  std::vector<MemberTraining> members_;  // of those in step
  std::vector<std::optional<Member>> results_;
  std::vector<std::string> faults_;
};

}  // namespace sharpen::learn
