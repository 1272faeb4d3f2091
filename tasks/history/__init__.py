"""What became of runs, for longer than PostgreSQL keeps them: ClickHouse's table, what fills it, and who reads it."""
