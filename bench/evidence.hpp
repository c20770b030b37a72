// What the programs behind `make evidence` share: results that are kept from run to run, and the
// figures that are made of them.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace sharpen::bench {

// Numbers by key, one line of a file each: "key\tnumber number ...".
class Cells {
 public:
  // A line of fewer numbers was cut short, and is run again.
  Cells(std::string file, std::size_t least) : file_(std::move(file)) {
    std::ifstream in(file_);
    for (std::string line; std::getline(in, line);) {
      const auto tab = line.find('\t');
      if (tab == std::string::npos) continue;
      std::istringstream texts(line.substr(tab + 1));
      std::vector<double> numbers;
      for (std::string text; texts >> text;) numbers.push_back(std::stod(text));  // nan, too
      if (numbers.size() >= least) found_[line.substr(0, tab)] = numbers;
    }
  }

  // nullptr: not there yet.
  const std::vector<double>* find(const std::string& key) const {
    const auto found = found_.find(key);
    return found == found_.end() ? nullptr : &found->second;
  }
  void add(const std::string& key, const std::vector<double>& numbers) {
    found_[key] = numbers;
    std::ofstream out(file_, std::ios::app);
    out << '\n' << key << '\t';
    for (const double x : numbers) out << fmt::format("{:.6g} ", x);
    out << '\n';
  }

 private:
  std::string file_;
  std::map<std::string, std::vector<double>> found_;
};

struct Moments {
  double mean = 0.0, sd = 0.0;
  std::size_t count = 0;

  double standard_error() const { return sd / std::sqrt(static_cast<double>(count)); }
};

inline Moments moments(const std::vector<double>& x) {
  Moments m{.count = x.size()};
  for (const double v : x) m.mean += v / static_cast<double>(x.size());
  for (const double v : x) m.sd += (v - m.mean) * (v - m.mean);
  m.sd = x.size() > 1 ? std::sqrt(m.sd / static_cast<double>(x.size() - 1)) : 0.0;
  return m;
}

}  // namespace sharpen::bench
