SELECT function, sequence, bytes, dtype, reduction, start_ns, end_ns, state
FROM collective_text WHERE end_ns IS NULL ORDER BY id
