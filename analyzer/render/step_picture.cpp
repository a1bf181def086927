// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/step_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyzer/render/mean_step.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

// Characters for a whole step, in wide and in narrow reports.
constexpr size_t kWideBar = 32;
constexpr size_t kNarrowBar = 20;
constexpr size_t kWideReport = 96;
// Smaller parts of a step are summed up, and left out if even their sum is smaller.
constexpr double kRestShare = 0.001;

// One row of the picture.
struct Part {
  std::string title;
  double ns = 0;
  std::vector<std::string> notes;
  Style style = Style::kBar;
};

// Whom the waiting was for: by the summed waits of the collectives to which a rank came last.
std::string whom_for(const Report& report) {
  std::map<int, double> waited_for;
  double sum = 0;
  for (const CollectiveSummary& c : report.collectives.value_or(std::vector<CollectiveSummary>())) {
    const double wait = static_cast<double>(c.n) * static_cast<double>(c.wait_ns);
    sum += wait;
    if (c.last_arriver) waited_for[c.last_arriver->rank] += wait * c.last_arriver->share;
  }
  for (const PointToPoint& p : report.point_to_point.value_or(std::vector<PointToPoint>())) {
    const double wait = static_cast<double>(p.n) * static_cast<double>(p.wait_ns.value_or(0));
    sum += wait;
    if (p.from) waited_for[*p.from] += wait;
  }
  std::string whom;
  for (const auto& [rank, wait] : waited_for) {
    if (wait >= 0.5 * sum && sum > 0)
      whom = fmt::format("{} for rank {}", wait >= 0.9 * sum ? "" : ", mostly", rank);
  }
  return whom;
}

class StepPicture {
 public:
  StepPicture(const Report& report, const MeanStep& mean, size_t width, const Painter& paint)
      : report_(report),
        mean_(mean),
        unit_(mean.wall_ns),
        width_(width),
        bar_width_(width >= kWideReport ? kWideBar : kNarrowBar),
        paint_(paint) {}

  [[nodiscard]] std::string render() const {
    const std::vector<Part> parts = parts_of_step();
    size_t title_width = 0;
    size_t bar_width = 0;
    for (const Part& part : parts) {
      title_width = std::max(title_width, display_width(part.title));
      bar_width = std::max(bar_width, display_width(bar(part.ns / mean_.wall_ns, bar_width_)));
    }
    const size_t note_column = 2 + title_width + 2 + 9 + 2 + 5 + 2 + bar_width + 2;
    std::string text;
    for (const Part& part : parts) text += line_of(part, title_width, note_column);
    return text;
  }

 private:
  [[nodiscard]] double ns_of(Category c) const { return mean_.category_ns[static_cast<size_t>(c)]; }
  [[nodiscard]] std::vector<Part> parts_of_step() const;
  [[nodiscard]] std::vector<std::string> exposed_notes(double wait_ns, double transfer_ns) const;
  [[nodiscard]] std::vector<std::string> detail_notes(Category category) const;
  [[nodiscard]] std::string line_of(const Part& part, size_t title_width, size_t note_column) const;

  const Report& report_;
  const MeanStep& mean_;
  StepUnit unit_;
  size_t width_;
  size_t bar_width_;
  const Painter& paint_;
};

std::vector<std::string> StepPicture::exposed_notes(double wait_ns, double transfer_ns) const {
  std::vector<std::string> notes;
  if (wait_ns > 0)
    notes.push_back(fmt::format("{} waiting{}", unit_.text(wait_ns), whom_for(report_)));
  if (transfer_ns > 0) notes.push_back(fmt::format("{} transfer", unit_.text(transfer_ns)));
  return notes;
}

std::vector<std::string> StepPicture::detail_notes(Category category) const {
  const std::string prefix = std::string(key_of(category)) + ".";
  std::vector<std::pair<double, std::string>> details;
  bool known = false;
  for (const auto& [key, ns] : mean_.detail_ns) {
    if (!key.starts_with(prefix) || !(ns > 0)) continue;
    std::string name = printable(key.substr(prefix.size()));
    known = known || name != "unattributed";
    std::ranges::replace(name, '_', ' ');
    details.emplace_back(ns, std::move(name));
  }
  if (!known) return {};
  std::ranges::stable_sort(details, std::greater(), [](const auto& d) { return d.first; });
  std::vector<std::string> notes;
  for (size_t i = 0; i < std::min<size_t>(2, details.size()); ++i) {
    notes.push_back(fmt::format("{} {}", unit_.text(details[i].first), details[i].second));
  }
  return notes;
}

std::vector<Part> StepPicture::parts_of_step() const {
  std::vector<Part> parts;
  double overlapped = ns_of(Category::kOverlapped);
  for (const Category c :
       {Category::kForward, Category::kBackward, Category::kOptimizer, Category::kOtherCompute}) {
    const auto detail = mean_.detail_ns.find(fmt::format("overlapped.{}", key_of(c)));
    const double hides = detail == mean_.detail_ns.end() ? 0 : detail->second;
    overlapped -= hides;
    Part part{std::string(title_of(c)), ns_of(c) + hides};
    if (hides > 0) part.notes = {fmt::format("{} of it beside communication", unit_.text(hides))};
    parts.push_back(std::move(part));
  }
  if (overlapped > 0.5) {
    parts.push_back({"overlapped", overlapped, {"compute and communication at once"}});
  }
  const double wait = ns_of(Category::kExposedWait);
  const double transfer = ns_of(Category::kExposedTransfer);
  parts.push_back({"exposed comm", wait + transfer, exposed_notes(wait, transfer), Style::kAccent});
  for (size_t c = static_cast<size_t>(Category::kCopy); c < kCategories; ++c) {
    const auto category = static_cast<Category>(c);
    parts.push_back(
        {std::string(title_of(category)), ns_of(category), detail_notes(category), Style::kWarn});
  }
  double rest = 0;
  std::erase_if(parts, [&](const Part& part) {
    if (part.ns >= kRestShare * mean_.wall_ns) return false;
    rest += part.ns;
    return true;
  });
  if (rest >= kRestShare * mean_.wall_ns) parts.push_back({"rest", rest, {}, Style::kFaint});
  return parts;
}

std::string StepPicture::line_of(const Part& part, size_t title_width, size_t note_column) const {
  const double share = part.ns / mean_.wall_ns;
  const std::string percent = share < 0.005 ? "<1" : fmt::format("{:.0f}", share * 100);
  std::string text = fmt::format("  {}  {}  {:>3} %  ", pad_right(part.title, title_width),
                                 pad_left(unit_.text(part.ns), 9), percent);
  const std::string picture = bar(share, bar_width_);
  const size_t used = display_width(text) + display_width(picture);
  text += paint_(part.style, picture);
  if (part.notes.empty()) return text + '\n';
  text += std::string(note_column > used ? note_column - used : 2, ' ');
  size_t at = note_column;
  for (size_t i = 0; i < part.notes.size(); ++i) {
    const std::string note = (i > 0 ? "· " : "") + part.notes[i];
    if (i > 0 && at + 1 + display_width(note) > width_) {
      text += '\n' + std::string(note_column, ' ');
      at = note_column;
    } else if (i > 0) {
      text += ' ';
      ++at;
    }
    text += paint_(Style::kFaint, note);
    at += display_width(note);
  }
  return text + '\n';
}

}  // namespace

std::string step_section(const Report& report, const TextOptions& options, const Painter& paint) {
  const std::string title = paint(Style::kStrong, "WHERE A STEP GOES");
  const std::optional<MeanStep> mean = mean_step(report);
  if (!mean) return fmt::format("{}   not known: no breakdown could be made of this run\n", title);
  const std::vector<RankBreakdown>& ranks = report.breakdown->per_rank;
  const std::string whose = is_seen_from_one_rank(report)
                                ? fmt::format("rank {}, mean over steady steps", ranks.front().rank)
                                : "mean over ranks and steady steps";
  return fmt::format("{}   {}, {}\n", title, whose, StepUnit(mean->wall_ns).text(mean->wall_ns)) +
         StepPicture(report, *mean, static_cast<size_t>(options.width), paint).render();
}

}  // namespace dprof::analyzer
