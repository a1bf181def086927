// SPDX-License-Identifier: Apache-2.0
#include "gui/view/docks/flame_dock.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "gui/view/docks/range_title.h"
#include "gui/view/drawing/choice.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/session/dock.h"

namespace dprof::view {
namespace {

constexpr int kFlameTitleHeight = 36;
constexpr int kPitch = 19;
constexpr int kBar = 18;
constexpr int kLeastText = 40;  // pixels that a label needs

// As much of "forward 71.0 ms (23 %)" as fits.
std::string label_of(const FlameNode& node, double share, int room, const TextMeasure& measure) {
  const std::string figures =
      fmt::format("  {} ({})", format_duration({node.total_ns}), format_share(share));
  const int rest = room - measure.width(figures, Font::kLabel);
  if (rest >= std::min(kLeastText, measure.width(node.name, Font::kLabel)))
    return elided(node.name, rest, Font::kLabel, measure) + figures;
  return elided(node.name, room, Font::kLabel, measure);
}

void draw_nodes(Selecting& selecting, const FlameTree& tree, int width, const TextMeasure& measure,
                Panel& panel) {
  const auto whole = static_cast<double>(tree.nodes.front().total_ns);
  const int room = width - 2 * kDockMargin;
  const auto pixel = [&](int64_t ns) {
    return kDockMargin + static_cast<int>(static_cast<double>(ns) / whole * room);
  };
  for (size_t i = 1; i < tree.nodes.size(); ++i) {
    const FlameNode& node = tree.nodes[i];
    const int left = pixel(node.offset_ns);
    const int right = pixel(node.offset_ns + node.total_ns);
    if (right <= left) continue;
    const int line = tree.callers + (node.depth > 0 ? node.depth - 1 : node.depth);
    const Box box{left, kFlameTitleHeight + line * kPitch, std::max(right - left - 1, 1), kBar};
    const Role role = role_of(node.phase);
    panel.list.rect(box, role);
    if (selecting.selection().name == node.name) panel.list.frame(box, Role::kAccent, 0, 2);
    panel.links.push_back(
        {box, [&selecting, name = std::string(node.name)] { selecting.select_name(name); }});
    if (box.w < kLeastText) continue;
    panel.list.text({box.x + 4, box.y, box.w - 6, box.h},
                    label_of(node, static_cast<double>(node.total_ns) / whole, box.w - 6, measure),
                    {.role = role, .font = Font::kLabel, .on_fill = true});
  }
}

std::string nothing_text(const EventFigures& events, const Selecting& selecting) {
  if (events.flame_order() != FlameOrder::kSandwich)
    return say("No range was recorded here: choose a longer time, or record at detail standard.");
  const std::string name = selecting.name();
  if (name.empty())
    return say(
        "Choose a name (an event, a node, or a search) to see its callers above it and what it called below.");
  return say("No range named {} was recorded here.", name);
}

}  // namespace

Panel draw_flame_dock(const Model& model, EventFigures& events, Selecting& selecting, int width,
                      int height, const TextMeasure& measure) {
  const FlameTree& tree = events.flame();
  Panel panel;
  panel.height = kFlameTitleHeight + (tree.callers + tree.depth) * kPitch + 8;
  DrawList& list = panel.list;
  list.rect({0, 0, width, std::max(height, panel.height)}, Role::kWindow);
  int x = kDockMargin;
  for (size_t o = 0; o < kFlameOrders.size(); ++o) {
    const auto order = static_cast<FlameOrder>(o);
    const Box box = draw_choice({x, 4}, translated(kFlameOrders[o]), events.flame_order() == order,
                                measure, list);
    panel.links.push_back({box, [&events, order] { events.show_flame_order(order); }});
    x += box.w + kChoiceGap;
  }
  const size_t chosen = selecting.selection().ranks.size();
  std::string title = range_title(model, selecting, chosen == 0 ? model.ranks.size() : chosen);
  const bool counting = events.is_counting_flame();
  if (counting) title += say(" · counting …");
  if (!tree.nodes.empty() && tree.nodes.front().total_ns > 0) {
    if (!counting) {
      title += say(" · {} of thread time in {} events",
                   format_duration({tree.nodes.front().total_ns}), format_count(tree.events));
    }
    draw_nodes(selecting, tree, width, measure, panel);
  } else if (!counting) {
    list.text({kDockMargin, kFlameTitleHeight, width - 2 * kDockMargin, kBar},
              nothing_text(events, selecting), {.role = Role::kTextDim});
  }
  const int room = width - x - 2 * kDockMargin;
  list.text({x + 14, 0, room, kFlameTitleHeight - 2}, elided(title, room, Font::kBody, measure),
            {.role = Role::kTextDim});
  return panel;
}

}  // namespace dprof::view
