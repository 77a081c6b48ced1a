"""The commands for physics problems, one file each."""
