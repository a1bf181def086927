// SPDX-License-Identifier: Apache-2.0
#include "gui/view/model/rank_groups.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "gui/view/drawing/texts.h"

namespace dprof::view {
namespace {

constexpr size_t kNowhere = SIZE_MAX;
constexpr std::string_view kDigits = "0123456789";

struct RoleInfo {
  std::string_view title;
  std::string_view line;
  std::string_view division;
};
constexpr std::array<RoleInfo, 8> kRoles = {{
    {english("stage"), english("pipeline"), english("stage")},
    {english("tensor"), english("tensor group"), english("tensor group")},
    {english("context"), english("context group"), english("context group")},
    {english("data"), english("data group"), english("data group")},
    {english("expert"), english("expert group"), english("expert group")},
    {english("group"), english("group"), english("group")},
    {english("host"), english("host"), english("host")},
    {english("device"), english("device"), english("device")},
}};
const RoleInfo& info_of(RankRole role) { return kRoles[static_cast<size_t>(role)]; }

// From the words in its communicators' names: "tensor_3", "mesh_tp", "DATA_PARALLEL_GROUP".
RankRole role_of(std::string_view name) {
  static const std::map<std::string_view, RankRole> kWords = {
      {"pipeline", RankRole::kPipeline}, {"pipe", RankRole::kPipeline},
      {"pp", RankRole::kPipeline},       {"tensor", RankRole::kTensor},
      {"tp", RankRole::kTensor},         {"model", RankRole::kTensor},
      {"mp", RankRole::kTensor},         {"context", RankRole::kContext},
      {"cp", RankRole::kContext},        {"sequence", RankRole::kContext},
      {"sp", RankRole::kContext},        {"data", RankRole::kData},
      {"dp", RankRole::kData},           {"ddp", RankRole::kData},
      {"fsdp", RankRole::kData},         {"shard", RankRole::kData},
      {"replicate", RankRole::kData},    {"zero", RankRole::kData},
      {"expert", RankRole::kExpert},     {"ep", RankRole::kExpert},
  };
  std::string word;
  for (const char letter : std::string(name) + " ") {
    if (std::isalpha(static_cast<unsigned char>(letter)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
      continue;
    }
    if (const auto known = kWords.find(word); known != kWords.end()) return known->second;
    word.clear();
  }
  return RankRole::kGroup;
}

using Members = std::vector<size_t>;  // positions of ranks, ascending

// Lines that cover each rank exactly once.
struct Partition {
  RankRole role{};
  std::vector<Members> lines;
  std::vector<std::string> names;
};

class GridFinder {
 public:
  explicit GridFinder(std::span<const int> ranks) : ranks_(ranks) {}

  std::vector<GridAxis> find(std::span<const analyzer::MatchedCollective> collectives,
                             std::span<const analyzer::MatchedMessage> messages) {
    std::vector<Partition> found = partitions_of(communicators(collectives));
    if (std::optional<Partition> pipelines = pipelines_of(messages)) {
      std::erase_if(found, [&](const Partition& one) { return one.lines == pipelines->lines; });
      found.push_back(*std::move(pipelines));
    }
    // If two contain each other, the better known role wins, then the smaller one.
    std::ranges::stable_sort(found, {}, [](const Partition& one) {
      return std::pair(one.role, one.lines.front().size());
    });
    for (Partition& one : found) take(std::move(one));
    if (axes_.empty() || !add_rest()) return {};
    std::ranges::stable_sort(axes_, {}, [this](const GridAxis& axis) { return stride(axis); });
    return std::move(axes_);
  }

 private:
  [[nodiscard]] size_t count() const { return ranks_.size(); }

  [[nodiscard]] size_t position(int rank) const {
    const auto at = std::ranges::lower_bound(ranks_, rank);
    return at == ranks_.end() || *at != rank ? kNowhere : static_cast<size_t>(at - ranks_.begin());
  }

  // Names by members.
  [[nodiscard]] std::map<Members, std::string> communicators(
      std::span<const analyzer::MatchedCollective> collectives) const {
    std::map<Members, std::string> found;
    Members members;
    for (const analyzer::MatchedCollective& one : collectives) {
      const size_t size = one.members.size();
      if (!one.complete || size < 2 || size == count()) continue;
      members.clear();
      for (const analyzer::CollectiveMember& member : one.members)
        members.push_back(position(member.rank));
      std::ranges::sort(members);
      if (members.back() != kNowhere && !found.contains(members))
        found.emplace(members, one.communicator);
    }
    return found;
  }

  // Groups of one size without common ranks belong together. They come in the order of their first
  // ranks, so that each finds its neighbours.
  [[nodiscard]] std::vector<Partition> partitions_of(
      const std::map<Members, std::string>& communicators) const {
    struct Open {
      Partition partition;
      std::vector<bool> taken;
    };
    constexpr size_t kMostOfASize = 16;
    std::map<size_t, std::vector<Open>> by_size;
    for (const auto& [members, name] : communicators) {
      std::vector<Open>& all = by_size[members.size()];
      const auto fits = [&, &members = members](const Open& open) {
        return std::ranges::none_of(members, [&](size_t r) { return open.taken[r]; });
      };
      auto open = std::ranges::find_if(all, fits);
      if (open == all.end()) {
        if (all.size() == kMostOfASize) continue;
        all.push_back({{.role = role_of(name)}, std::vector<bool>(count())});
        open = std::prev(all.end());
      }
      for (const size_t r : members) open->taken[r] = true;
      open->partition.lines.push_back(members);
      open->partition.names.push_back(name);
    }
    std::vector<Partition> whole;
    for (auto& [size, all] : by_size) {
      for (Open& open : all) {
        if (open.partition.lines.size() * size == count())
          whole.push_back(std::move(open.partition));
      }
    }
    return whole;
  }

  // Activations go one way and gradients the other: each rank has one or two neighbours, or
  // interleaved stages form a ring.
  [[nodiscard]] std::optional<Partition> pipelines_of(
      std::span<const analyzer::MatchedMessage> messages) const {
    std::set<std::pair<size_t, size_t>> edges;
    for (const analyzer::MatchedMessage& one : messages) {
      if (!one.from || !one.to || *one.from == *one.to) continue;
      const std::pair edge{position(*one.from), position(*one.to)};
      if (edge.first != kNowhere && edge.second != kNowhere) edges.insert(edge);
    }
    std::vector<Members> neighbours(count());
    for (const auto& [from, to] : edges) {
      if (!edges.contains({to, from})) return std::nullopt;
      neighbours[from].push_back(to);
    }
    Partition pipelines{.role = RankRole::kPipeline};
    std::vector<bool> seen(count());
    for (size_t first = 0; first < count(); ++first) {
      if (seen[first]) continue;
      Members chain{first};
      seen[first] = true;
      for (size_t i = 0; i < chain.size(); ++i) {
        if (neighbours[chain[i]].empty() || neighbours[chain[i]].size() > 2) return std::nullopt;
        for (const size_t next : neighbours[chain[i]]) {
          if (!seen[next]) chain.push_back(next);
          seen[next] = true;
        }
      }
      std::ranges::sort(chain);
      pipelines.lines.push_back(std::move(chain));
    }
    const size_t size = pipelines.lines.empty() ? 0 : pipelines.lines.front().size();
    const bool alike = std::ranges::all_of(pipelines.lines,
                                           [&](const Members& one) { return one.size() == size; });
    if (!alike || size < 2) return std::nullopt;
    return pipelines;
  }

  // Along a line of one axis the position in the other is constant, and vice versa.
  [[nodiscard]] bool cross(const GridAxis& one, const GridAxis& other) const {
    const auto constant = [this](const GridAxis& along, const GridAxis& of) {
      std::vector<size_t> place(count() / along.size, kNowhere);
      for (size_t r = 0; r < count(); ++r) {
        size_t& known = place[along.line[r]];
        if (known == kNowhere) known = of.at[r];
        if (known != of.at[r]) return false;
      }
      return true;
    };
    return constant(one, other) && constant(other, one);
  }

  [[nodiscard]] size_t product() const {
    return std::accumulate(axes_.begin(), axes_.end(), size_t{1},
                           [](size_t so_far, const GridAxis& axis) { return so_far * axis.size; });
  }

  void take(Partition partition) {
    GridAxis axis{.role = partition.role,
                  .size = partition.lines.front().size(),
                  .at = Members(count()),
                  .line = Members(count())};
    if (count() % (product() * axis.size) != 0) return;
    for (size_t l = 0; l < partition.lines.size(); ++l) {
      for (size_t i = 0; i < axis.size; ++i) {
        axis.at[partition.lines[l][i]] = i;
        axis.line[partition.lines[l][i]] = l;
      }
    }
    if (!std::ranges::all_of(axes_, [&](const GridAxis& one) { return cross(one, axis); })) return;
    axis.names = names_of(partition);
    axes_.push_back(std::move(axis));
  }

  // From its communicators' names if these are distinct, else numbers.
  [[nodiscard]] static std::vector<std::string> names_of(const Partition& partition) {
    constexpr size_t kLongest = 24;
    const auto is_word = [](const std::string& name) {
      return name.size() <= kLongest && !name.starts_with("0x") &&
             name.find_first_not_of(kDigits) != std::string::npos;
    };
    const std::unordered_set<std::string> distinct(partition.names.begin(), partition.names.end());
    if (distinct.size() == partition.lines.size() && std::ranges::all_of(partition.names, is_word))
      return partition.names;
    std::vector<std::string> names;
    for (size_t l = 0; l < partition.lines.size(); ++l)
      names.push_back(fmt::format("{} {}", line_title_of(partition.role), l));
    return names;
  }

  // Ranks not connected by any line get an axis of their own. False: the lines do not form a grid.
  bool add_rest() {
    std::map<Members, size_t> places;  // on the known axes
    std::map<size_t, size_t> blocks;   // by the first of the ranks connected by lines
    const Members first = first_connected();
    GridAxis rest{.role = RankRole::kGroup,
                  .size = count() / product(),
                  .at = {},
                  .line = {},
                  .names = {},
                  .communicates = false};
    std::set<std::pair<size_t, size_t>> cells;
    for (size_t r = 0; r < count(); ++r) {
      Members place;
      for (const GridAxis& axis : axes_) place.push_back(axis.at[r]);
      rest.at.push_back(blocks.try_emplace(first[r], blocks.size()).first->second);
      rest.line.push_back(places.try_emplace(std::move(place), places.size()).first->second);
      cells.emplace(rest.at.back(), rest.line.back());
    }
    if (cells.size() != count() || blocks.size() != rest.size) return false;
    if (rest.size > 1) axes_.push_back(std::move(rest));
    return true;
  }

  // By rank, the first rank connected to it by lines.
  [[nodiscard]] Members first_connected() const {
    Members first(count());
    std::iota(first.begin(), first.end(), size_t{0});
    const auto root = [&](size_t r) {
      while (first[r] != r) r = first[r] = first[first[r]];
      return r;
    };
    for (const GridAxis& axis : axes_) {
      Members heads(count() / axis.size, kNowhere);
      for (size_t r = 0; r < count(); ++r) {
        size_t& head = heads[axis.line[r]];
        if (head == kNowhere) head = r;
        const size_t one = root(head);
        const size_t other = root(r);
        first[std::max(one, other)] = std::min(one, other);
      }
    }
    for (size_t r = 0; r < count(); ++r) first[r] = root(r);
    return first;
  }

  // The distance between the first two ranks of a line.
  [[nodiscard]] size_t stride(const GridAxis& axis) const {
    size_t begin = 0;
    for (size_t r = 0; r < count(); ++r) {
      if (axis.line[r] != 0) continue;
      if (axis.at[r] == 0) begin = r;
      if (axis.at[r] == 1) return r - begin;
    }
    return count();
  }

  std::span<const int> ranks_;
  std::vector<GridAxis> axes_;
};

// Groups by name, in the order of their first ranks.
RankDivision division_by(std::string title, std::span<const std::string> name_of) {
  RankDivision division{.title = std::move(title)};
  std::map<std::string_view, size_t> known;
  for (const std::string& name : name_of) {
    const auto [at, added] = known.try_emplace(name, known.size());
    if (added) division.names.push_back(name);
    division.group.push_back(at->second);
  }
  return division;
}

// Stages by their position in the pipelines, other groups by communicator.
RankDivision division_by(const GridAxis& axis) {
  std::string title(translated(info_of(axis.role).division));
  if (axis.role != RankRole::kPipeline) return {std::move(title), axis.names, axis.line};
  RankDivision stages{.title = std::move(title), .names = {}, .group = axis.at};
  for (size_t stage = 0; stage < axis.size; ++stage)
    stages.names.push_back(say("stage {} of {}", stage + 1, axis.size));
  return stages;
}

// Hosts with the same number of ranks, in the order of their first ranks.
std::vector<GridAxis> grid_of_hosts(const RankDivision& hosts) {
  const size_t count = hosts.group.size();
  const size_t size = count / hosts.names.size();
  GridAxis device{.role = RankRole::kDevice, .size = size, .communicates = false};
  GridAxis host{.role = RankRole::kHost, .size = hosts.names.size(), .communicates = false};
  std::vector<size_t> so_far(hosts.names.size());
  for (const size_t group : hosts.group) {
    const size_t place = so_far[group]++;
    device.at.push_back(place);
    device.line.push_back(group);
    host.at.push_back(group);
    host.line.push_back(place);
  }
  if (std::ranges::any_of(so_far, [&](size_t ranks) { return ranks != size; })) return {};
  device.names = hosts.names;
  return {std::move(device), std::move(host)};
}

}  // namespace

std::string_view title_of(RankRole role) { return translated(info_of(role).title); }

std::string_view line_title_of(RankRole role) { return translated(info_of(role).line); }

std::string rack_of(std::string_view host) {
  host = host.substr(0, host.find('.'));
  const size_t last = host.find_last_of(kDigits);
  if (last == std::string_view::npos) return {};
  const size_t before = host.find_last_not_of(kDigits, last);
  if (before == std::string_view::npos) return {};
  const size_t rack = host.find_last_of(kDigits, before);
  return rack == std::string_view::npos ? std::string() : std::string(host.substr(0, rack + 1));
}

RankGroups rank_groups_of(std::span<const int> ranks, std::span<const std::string> hosts,
                          std::span<const analyzer::MatchedCollective> collectives,
                          std::span<const analyzer::MatchedMessage> messages) {
  RankGroups groups;
  groups.axes = GridFinder(ranks).find(collectives, messages);
  RankDivision by_host = division_by(say("host"), hosts);
  const bool hosts_differ = by_host.names.size() > 1;
  if (groups.axes.empty() && hosts_differ) groups.axes = grid_of_hosts(by_host);
  if (hosts_differ) groups.divisions.push_back(by_host);
  std::vector<std::string> racks;
  for (const std::string& host : hosts) racks.push_back(rack_of(host));
  RankDivision by_rack = division_by(say("rack"), racks);
  const bool all_in_racks = std::ranges::none_of(racks, &std::string::empty);
  if (all_in_racks && by_rack.names.size() > 1 && by_rack.names.size() < by_host.names.size())
    groups.divisions.push_back(std::move(by_rack));
  for (const GridAxis& axis : groups.axes) {
    if (axis.communicates) groups.divisions.push_back(division_by(axis));
  }
  return groups;
}

}  // namespace dprof::view
