// SPDX-License-Identifier: Apache-2.0
// untranslated file: SQL
#include "gui/widgets/sql_highlighter.h"

#include <QRegularExpression>
#include <QSet>

namespace dprof::widgets {
namespace {

enum State : int { kPlain = -1, kInComment = 1, kInString = 2 };  // at the end of a line

// What reading needs; those of statements that write are refused anyway.
const QSet<QString>& keywords() {
  static const QSet<QString> words = [] {
    const QString all = QStringLiteral(
        "ALL AND AS ASC BETWEEN BY CASE CAST COLLATE CROSS CURRENT DESC DISTINCT ELSE END ESCAPE "
        "EXCEPT EXISTS EXPLAIN FILTER FIRST FOLLOWING FROM FULL GLOB GROUP HAVING IN INNER "
        "INTERSECT IS ISNULL JOIN LAST LEFT LIKE LIMIT MATCH MATERIALIZED NATURAL NOT NOTNULL "
        "NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PLAN PRAGMA PRECEDING QUERY RANGE "
        "RECURSIVE REGEXP RIGHT ROW ROWS SELECT THEN UNBOUNDED UNION USING VALUES WHEN WHERE "
        "WINDOW WITH");
    const QStringList each = all.split(u' ');
    return QSet<QString>(each.begin(), each.end());
  }();
  return words;
}

// Strings and block comments may have no end in this line.
const QRegularExpression& token() {
  static const QRegularExpression expression(
      QStringLiteral("(?<comment>--.*$|/\\*.*?(?:\\*/|(?<open_comment>$)))"
                     "|(?<string>'(?:[^']|'')*(?:'|(?<open_string>$)))"
                     "|(?<number>\\b\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?\\b)"
                     "|(?<word>\\b[A-Za-z_]\\w*\\b)"));
  return expression;
}

}  // namespace

SqlHighlighter::SqlHighlighter(Look& look, QTextDocument* document)
    : QSyntaxHighlighter(document), look_(look) {}

void SqlHighlighter::highlightBlock(const QString& text) {
  const QColor comment = look_.colour(view::Role::kTextFaint);
  const QColor string = look_.colour(view::Role::kWarnText);
  setCurrentBlockState(kPlain);
  qsizetype from = 0;
  if (previousBlockState() == kInComment || previousBlockState() == kInString) {
    const bool in_comment = previousBlockState() == kInComment;
    const QString end = in_comment ? QStringLiteral("*/") : QStringLiteral("'");
    const qsizetype at = text.indexOf(end);
    from = at < 0 ? text.size() : at + end.size();
    setFormat(0, static_cast<int>(from), in_comment ? comment : string);
    if (at < 0) setCurrentBlockState(previousBlockState());
  }
  auto matches = token().globalMatch(text, from);
  while (matches.hasNext()) {
    const QRegularExpressionMatch match = matches.next();
    const auto has = [&](const char* group) {
      return match.capturedStart(QString::fromLatin1(group)) >= 0;
    };
    const auto paint = [&](const QColor& colour) {
      setFormat(static_cast<int>(match.capturedStart()), static_cast<int>(match.capturedLength()),
                colour);
    };
    if (has("comment")) paint(comment);
    if (has("string")) paint(string);
    if (has("number")) paint(look_.colour(view::Role::kInfoText));
    if (has("word") && keywords().contains(match.captured().toUpper()))
      paint(look_.colour(view::Role::kAccent));
    if (has("open_comment")) setCurrentBlockState(kInComment);
    if (has("open_string")) setCurrentBlockState(kInString);
  }
}

}  // namespace dprof::widgets
