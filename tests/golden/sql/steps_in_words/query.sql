SELECT * FROM step_text ORDER BY step_index
