// The frameworks there are, that is where mu comes from: one row each. Settings, front doors,
// reports and documentation go by these rows.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace sharpen::learn {

enum class Framework {
  rolling,   // mu and Sigma of the window at every rebalance
  historic,  // mu of the training part
  signal,    // mu from the user's own file
  pfl,       // mu of networks trained to predict
  dfl,       // mu of networks trained to decide
};

struct FrameworkInfo {
  Framework framework;
  std::string_view name;      // "pfl": what the setting `framework` says
  std::string_view label;     // "PFL": in reports
  std::string_view sentence;  // what it does, for help and documentation
  bool learns = false;        // networks are trained for it
  bool decides = false;       // they are trained for their decisions too: alpha counts
  bool needs_file = false;    // its signal is the user's
  // One mean of the training part serves every decision: assets must be there throughout, and the
  // covariance may be that of the same rows.
  bool training_mean = false;

  // It needs rows to train on, before those it is tested on.
  bool trains() const { return learns || training_mean; }
};

std::span<const FrameworkInfo> frameworks();
// The choices of the setting `framework`.
std::vector<std::string_view> framework_names();
const FrameworkInfo& info(Framework framework);
// nullptr: there is none of that name.
const FrameworkInfo* find_framework(std::string_view name);
// Throws InputError for a name that is none.
const FrameworkInfo& framework_named(std::string_view name);
// That of networks trained with this weight of their decisions.
const FrameworkInfo& framework_of(double alpha);

inline std::string_view name(Framework framework) { return info(framework).name; }
inline bool learns(Framework framework) { return info(framework).learns; }

}  // namespace sharpen::learn
