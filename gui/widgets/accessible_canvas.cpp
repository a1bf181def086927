// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/accessible_canvas.h"

#include <QAccessibleWidget>
#include <vector>

#include "gui/view/accessible.h"
#include "gui/view/timeline/timeline_view.h"
#include "gui/widgets/canvas.h"

namespace dprof::widgets {
namespace {

// One row. It lives as long as the canvas's interface, and is void once there are fewer rows.
class AccessibleRow final : public QAccessibleInterface {
 public:
  AccessibleRow(Canvas& canvas, QAccessibleInterface& parent, size_t index)
      : canvas_(canvas), parent_(parent), index_(index) {}

  [[nodiscard]] bool isValid() const override { return index_ < canvas_.rows(); }
  [[nodiscard]] QObject* object() const override { return nullptr; }
  [[nodiscard]] QAccessibleInterface* parent() const override { return &parent_; }
  [[nodiscard]] QAccessibleInterface* child(int) const override { return nullptr; }
  [[nodiscard]] QAccessibleInterface* childAt(int, int) const override { return nullptr; }
  [[nodiscard]] int childCount() const override { return 0; }
  [[nodiscard]] int indexOfChild(const QAccessibleInterface*) const override { return -1; }
  [[nodiscard]] QAccessible::Role role() const override { return QAccessible::ListItem; }
  void setText(QAccessible::Text, const QString&) override {}

  [[nodiscard]] QString text(QAccessible::Text kind) const override {
    if (!isValid()) return {};
    if (kind == QAccessible::Name) return to_qstring(canvas_.accessible_row(index_).name);
    if (kind == QAccessible::Value || kind == QAccessible::Description)
      return to_qstring(canvas_.accessible_value(index_));
    return {};
  }
  [[nodiscard]] QRect rect() const override {
    if (!isValid()) return {};
    const view::Box box = canvas_.accessible_row(index_).box;
    return {canvas_.mapToGlobal(QPoint(box.x, box.y + view::kHeaderHeight)), QSize(box.w, box.h)};
  }
  [[nodiscard]] QAccessible::State state() const override {
    QAccessible::State state;
    state.selectable = true;
    if (!isValid()) {
      state.invalid = true;
      return state;
    }
    const view::AccessibleRow row = canvas_.accessible_row(index_);
    state.selected = row.selected;
    state.offscreen = !row.in_view;
    return state;
  }

 private:
  Canvas& canvas_;
  QAccessibleInterface& parent_;
  size_t index_;
};

class AccessibleCanvas final : public QAccessibleWidget {
 public:
  explicit AccessibleCanvas(Canvas* canvas)
      : QAccessibleWidget(canvas, QAccessible::List), canvas_(*canvas) {}
  ~AccessibleCanvas() override {
    for (const QAccessible::Id id : ids_) QAccessible::deleteAccessibleInterface(id);
  }

  [[nodiscard]] int childCount() const override { return static_cast<int>(canvas_.rows()); }
  [[nodiscard]] QAccessibleInterface* child(int index) const override {
    if (index < 0 || static_cast<size_t>(index) >= canvas_.rows()) return nullptr;
    while (ids_.size() <= static_cast<size_t>(index)) {
      auto* self = const_cast<AccessibleCanvas*>(this);  // Qt's parents are not const
      ids_.push_back(
          QAccessible::registerAccessibleInterface(new AccessibleRow(canvas_, *self, ids_.size())));
    }
    return QAccessible::accessibleInterface(ids_[static_cast<size_t>(index)]);
  }
  [[nodiscard]] int indexOfChild(const QAccessibleInterface* child) const override {
    for (int i = 0; i < childCount(); ++i) {
      if (this->child(i) == child) return i;
    }
    return -1;
  }
  [[nodiscard]] QAccessibleInterface* childAt(int x, int y) const override {
    for (int i = 0; i < childCount(); ++i) {
      const bool seen = canvas_.accessible_row(static_cast<size_t>(i)).in_view;
      if (seen && child(i)->rect().contains(x, y)) return child(i);
    }
    return nullptr;
  }

 private:
  Canvas& canvas_;
  mutable std::vector<QAccessible::Id> ids_;
};

QAccessibleInterface* interface_of(const QString&, QObject* object) {
  if (auto* canvas = qobject_cast<Canvas*>(object)) return new AccessibleCanvas(canvas);
  return nullptr;
}

}  // namespace

void make_canvas_accessible() { QAccessible::installFactory(interface_of); }

}  // namespace dprof::widgets
