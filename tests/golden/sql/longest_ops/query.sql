SELECT string.value AS name, COUNT(*) AS n, SUM(duration_ns) AS total_ns
FROM host_range JOIN string ON string.id = name_id
GROUP BY name_id ORDER BY total_ns DESC, name LIMIT 12
