"""What people configure, read from YAML with the line of every fault. Below `defs` and `cli` only."""
